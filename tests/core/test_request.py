"""Arguments that can't be meant are refused before anything is resolved, in words that help."""

import pytest
from pydantic import BaseModel

from deepagents_kernel import Kernel, PlanError, create_deep_agent, hookimpl, make_request
from deepagents_kernel.testing import ScriptedChatModel

CHILD = {"name": "d", "description": "d"}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("store", 5),
        ("cache", "x"),
        ("checkpointer", "x"),
        ("context_schema", "abc"),
        ("state_schema", {}),
        ("state_schema", object()),
        ("debug", "no"),
        ("name", 3),
        ("interrupt_on", ["ls"]),
        ("skills", "x"),
        ("subagents", "x"),
        ("subagents", {"name": "d"}),
    ],
)
def test_a_wrong_type_names_argument_and_value(argument, value):
    with pytest.raises(PlanError, match=f"{argument}= takes") as caught:
        create_deep_agent(ScriptedChatModel(["done"]), **{argument: value})
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("kernel", [5, "", {}, []])
def test_a_kernel_is_a_kernel(kernel):
    with pytest.raises(TypeError, match="kernel= takes a Kernel"):
        create_deep_agent(ScriptedChatModel(["done"]), kernel=kernel)


@pytest.mark.parametrize("value", [5, "json"])
def test_a_response_format_is_checked_in_every_stack(value):
    model = ScriptedChatModel(["done"])
    with pytest.raises(TypeError, match=r"stack main\].*response_format"):
        create_deep_agent(model, response_format=value)
    with pytest.raises(TypeError, match=r"stack main/d\].*response_format"):
        create_deep_agent(model, subagents=[{**CHILD, "response_format": value}])


def test_response_formats_that_the_host_takes_are_taken():
    class Answer(BaseModel):
        text: str

    model = ScriptedChatModel([[("Answer", {"text": "x"})]])
    for wanted in (Answer, {"title": "Answer", "description": "d", "type": "object", "properties": {}}):
        assert Kernel().plan(make_request(model, response_format=wanted))


@pytest.mark.spec("ASM-028")
def test_plugins_can_not_change_what_the_caller_passed():
    class Nasty:
        @hookimpl
        def deepagents_tools(self, context):
            for change in (
                lambda: context.interrupt_on.clear(),
                lambda: context.request.subagents[0].update(tools=[]),
            ):
                with pytest.raises(AttributeError):
                    change()

    spec = dict(CHILD)
    asked = {"ls": True}
    kernel = Kernel([("middleware.nasty", Nasty())])
    kernel.plan(make_request(ScriptedChatModel(["done"]), subagents=[spec], interrupt_on=asked))
    assert (spec, asked) == (CHILD, {"ls": True})
