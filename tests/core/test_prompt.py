"""The system prompt of every kind of stack: USER, then BASE, then SUFFIX."""

import pytest
from langchain_core.messages import SystemMessage
from standins import full_table

from deepagents_kernel import (
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    Kernel,
    PromptPart,
    create_deep_agent,
    hookimpl,
    make_request,
)
from deepagents_kernel.testing import ScriptedChatModel

CACHED = {"type": "text", "text": "U", "cache_control": {"type": "ephemeral"}}


@pytest.fixture(scope="module")
def kernel():
    return Kernel(builtins=full_table())


@pytest.fixture
def prompts(kernel):
    """Stack name to prompt, for a profile that is registered for every stack."""

    def build(profile=None, **arguments):
        kernel.profiles.replace_harness("here:m", profile or HarnessProfile())
        model = ScriptedChatModel(["done"], provider="here", model_name="m")
        plan = kernel.plan(make_request(model, **arguments))
        return {stack.name: stack.prompt for stack in plan.stacks()}

    return build


def profile(base=None, suffix=None, **fields):
    return HarnessProfile(base_system_prompt=base, system_prompt_suffix=suffix, **fields)


@pytest.mark.spec("PRM-001")
def test_order(prompts):
    assert prompts(profile("B", "S"), system_prompt="U")["main"] == "U\n\nB\n\nS"


@pytest.mark.spec("PRM-002", "BY-046")
def test_nothing_set_means_no_system_message(prompts):
    assert prompts()["main"] is None
    assert prompts(system_prompt="")["main"] is None
    assert prompts(system_prompt=SystemMessage(""))["main"] is None
    assert prompts(system_prompt=SystemMessage([]))["main"] is None
    model = ScriptedChatModel(["done"])
    create_deep_agent(model).invoke({"messages": [("user", "hi")]})
    assert [message.type for message in model.requests[0].messages] == ["human"]


@pytest.mark.spec("PRM-003", "PRM-004", "PRM-005", "PRM-006", "HP-001")
@pytest.mark.parametrize(
    ("base", "suffix", "user", "expected"),
    [
        (None, None, "U", "U"),
        ("B", None, "U", "U\n\nB"),
        (None, "S", "U", "U\n\nS"),
        ("B", "S", None, "B\n\nS"),
        (None, "S", None, "S"),
        ("", "S", "U", "U\n\nS"),
        ("B", "", "U", "U\n\nB"),
        ("", "", "U", "U"),
        ("", "", None, None),
        ("B", "S", "", "B\n\nS"),
    ],
)
def test_only_non_empty_parts_are_joined(prompts, base, suffix, user, expected):
    assert prompts(profile(base, suffix), system_prompt=user)["main"] == expected


@pytest.mark.spec("PRM-007")
def test_a_system_message_without_additions_is_the_same_object(prompts):
    message = SystemMessage([CACHED])
    assert prompts(system_prompt=message)["main"] is message


@pytest.mark.spec("PRM-008", "PRM-009")
def test_a_system_message_is_extended_on_a_copy_that_keeps_everything(prompts):
    message = SystemMessage(
        [CACHED], id="1", additional_kwargs={"a": 1}, response_metadata={"b": 2}, name="n"
    )
    before = message.model_dump()
    extended = prompts(profile("B", "S"), system_prompt=message)["main"]
    assert extended.content == [CACHED, {"type": "text", "text": "\n\nB\n\nS"}]
    assert (extended.id, extended.name) == ("1", "n")
    assert extended.additional_kwargs == {"a": 1}
    assert extended.response_metadata == {"b": 2}
    assert message.model_dump() == before


@pytest.mark.spec("PRM-008")
def test_a_system_message_of_plain_text_is_extended_by_a_block(prompts):
    extended = prompts(profile("B"), system_prompt=SystemMessage("U"))["main"]
    assert extended.content == [{"type": "text", "text": "U"}, {"type": "text", "text": "\n\nB"}]
    assert prompts(profile("B"), system_prompt=SystemMessage(""))["main"] == "B"


@pytest.mark.spec("PRM-010", "PRM-011", "SUB-022")
def test_a_declared_child_keeps_its_own_prompt_under_its_profile(prompts):
    children = [
        {"name": "d", "description": "d", "system_prompt": "DP"},
        {"name": "e", "description": "e"},
    ]
    found = prompts(profile("B", "S"), system_prompt="U", subagents=children)
    assert found["d"] == "DP\n\nB\n\nS"
    assert found["e"] == "B\n\nS"
    assert prompts(system_prompt="U", subagents=children)["d"] == "DP"


@pytest.mark.spec("SUB-023", "BY-046")
def test_a_child_without_a_prompt_has_no_system_message(prompts):
    assert prompts(subagents=[{"name": "e", "description": "e"}])["e"] is None


@pytest.mark.spec("PRM-012", "PRM-013", "PRM-014", "SUB-008")
def test_general_purpose_prefers_its_own_text_then_the_base_then_the_built_in(prompts):
    special = GeneralPurposeSubagentProfile(system_prompt="G")
    built_in = prompts()["general-purpose"]
    assert built_in
    assert prompts(profile(None, "S"))["general-purpose"] == f"{built_in}\n\nS"
    assert prompts(profile("B", "S"), system_prompt="U")["general-purpose"] == "B\n\nS"
    assert prompts(profile("B", "S", general_purpose_subagent=special))["general-purpose"] == "G\n\nS"
    assert prompts(profile("B", "", general_purpose_subagent=special))["general-purpose"] == "G"


@pytest.mark.spec("PRM-015", "PRM-016", "PRM-017", "FORK-010", "FORK-011")
def test_a_fork_has_its_parents_prompt_and_then_its_own(prompts):
    fork = {"name": "f", "description": "f", "mode": "fork"}
    added = {**fork, "system_prompt": "ADD"}
    assert prompts(profile("B", "S"), system_prompt="U", subagents=[fork])["f"] == "U\n\nB\n\nS"
    assert prompts(profile("B", "S"), system_prompt="U", subagents=[added])["f"] == "U\n\nB\n\nS\n\nADD"
    assert prompts(subagents=[added])["f"] == "ADD"
    message = SystemMessage([CACHED])
    assert prompts(system_prompt=message, subagents=[fork])["f"] is message
    extended = prompts(system_prompt=message, subagents=[added])["f"]
    assert extended.content == [CACHED, {"type": "text", "text": "\n\nADD"}]


@pytest.mark.spec("PRM-017", "FORK-017")
def test_a_forks_own_profile_adds_nothing(kernel):
    kernel.profiles.replace_harness("here:other", profile("OB", "OS"))
    other = ScriptedChatModel(["done"], provider="here", model_name="other")
    plan = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            system_prompt="U",
            subagents=[{"name": "f", "description": "f", "mode": "fork", "model": other}],
        )
    )
    assert plan.stack("main/f").prompt == "U"


def test_plugins_add_parts_behind_base_and_suffix():
    class Parts:
        def __init__(self, letter):
            self.letter = letter

        @hookimpl
        def deepagents_system_prompt(self, context):
            yield PromptPart(f"{self.letter}suffix {context.kind}")
            yield PromptPart(f"{self.letter}base", slot="base")
            yield PromptPart("")

    kernel = Kernel([("bundle.two", Parts("2")), ("bundle.one", Parts("1"))])
    plan = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            system_prompt="U",
            profile=profile("B", "S"),
            subagents=[{"name": "d", "description": "d", "system_prompt": "DP"}],
        )
    )
    # Plugins come in the order of their names, whatever the order in which they were given.
    assert plan.main.prompt == "\n\n".join(["U", "B", "1base", "2base", "S", "1suffix main", "2suffix main"])
    child = ["DP", "1base", "2base", "1suffix subagent", "2suffix subagent"]
    assert plan.stack("main/d").prompt == "\n\n".join(child)


@pytest.mark.spec("BY-080")
def test_two_agents_on_one_model_can_differ(kernel):
    model = ScriptedChatModel(["done"])
    plans = [
        kernel.plan(make_request(model, profile=given, subagents=[{"name": "d", "description": "d"}]))
        for given in (profile(suffix="ONE"), profile(suffix="TWO"), None)
    ]
    assert [plan.main.prompt for plan in plans] == ["ONE", "TWO", None]
    assert plans[0].stack("main/general-purpose").prompt.endswith("ONE")
    # A profile given for one agent is for main and general-purpose.
    assert plans[0].stack("main/d").prompt is None
