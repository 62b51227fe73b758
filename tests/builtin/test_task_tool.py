"""The ``task`` tool: what the model may write, what reaches a child, and what comes back."""

import asyncio
import dataclasses
import datetime as dt
import json
import operator
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphRecursionError
from pydantic import BaseModel, ValidationError

from deepagents_builtin.middleware.subagents.answer import NO_TEXT
from deepagents_builtin.middleware.subagents.channels import ParentChannels
from deepagents_builtin.middleware.subagents.middleware import SubAgentMiddleware
from deepagents_builtin.middleware.subagents.settings import SubAgentSettings
from deepagents_builtin.middleware.subagents.state_out import Handover
from deepagents_builtin.middleware.subagents.task_schema import TaskToolSchema
from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.testing.scripted import ScriptedChatModel


class Shared(AgentState):
    plain: Any
    added: Annotated[list, operator.add]
    merged: Annotated[dict, operator.or_]
    secret: Any


def compiled(function, name="r", description="does things"):
    return {"name": name, "description": description, "runnable": RunnableLambda(function)}


def says(text, **keys):
    return lambda state: {**state, **keys, "messages": [AIMessage(text)]}


def task(name="r", description="do X", call_id=None, **extra):
    call = {"name": "task", "args": {"description": description, "subagent_type": name, **extra}}
    return call if call_id is None else {**call, "id": call_id}


def parent(*specs, calls=None, state_schema=Shared, **options):
    """An agent whose first turn is *calls* and whose second is an answer."""
    model = ScriptedChatModel([calls or [task()], "done"])
    middleware = SubAgentMiddleware(
        backend=object(), subagents=list(specs), state_schema=state_schema, **options
    )
    return create_agent(model, [], middleware=[middleware], state_schema=state_schema)


def run(*specs, calls=None, state=None, config=None, **options):
    agent = parent(*specs, calls=calls, **options)
    return agent.invoke({"messages": [HumanMessage("go")], **(state or {})}, config)


def results(outcome):
    return [message for message in outcome["messages"] if isinstance(message, ToolMessage)]


def runtime(call_id="c1", state=None):
    return ToolRuntime(
        state=state or {"messages": []},
        context=None,
        config={},
        stream_writer=lambda _: None,
        tool_call_id=call_id,
        store=None,
    )


def never(_state):
    pytest.fail("the child was started")


# ------------------------------------------------------------ arguments


@pytest.mark.spec("SUB-030")
def test_the_model_sees_two_required_strings():
    tool = SubAgentMiddleware(backend=object(), subagents=[compiled(never)]).tools[0]
    schema = tool.tool_call_schema.model_json_schema()
    assert tool.name == "task"
    assert {name: field["type"] for name, field in schema["properties"].items()} == {
        "description": "string",
        "subagent_type": "string",
    }
    assert schema["required"] == ["description", "subagent_type"]


def test_all_middleware_share_one_argument_schema():
    tools = [SubAgentMiddleware(backend=object(), subagents=[compiled(never)]).tools[0] for _ in range(2)]
    assert tools[0].args_schema is tools[1].args_schema is TaskToolSchema
    assert "runtime" not in TaskToolSchema.model_fields


@pytest.mark.spec("SUB-040", "SUB-042")
def test_an_invented_argument_is_refused_and_the_model_reads_why():
    (message,) = results(run(compiled(never), calls=[task(prompt="the real instructions")]))
    assert message.status == "error"
    assert "prompt" in message.text
    assert "description" in message.text.split("with error:")[1]


@pytest.mark.spec("SUB-041", "SUB-043")
def test_each_unknown_key_is_an_error_with_its_place():
    with pytest.raises(ValidationError) as caught:
        TaskToolSchema.model_validate({"description": "d", "prompt": 1, "zz": 2, "aa": 3})
    errors = caught.value.errors()
    assert [error["loc"] for error in errors] == [("aa",), ("prompt",), ("zz",)]
    assert {error["type"] for error in errors} == {"value_error"}
    assert [error["input"] for error in errors] == [3, 1, 2]


@pytest.mark.spec("SUB-044", "SUB-045")
def test_a_runtime_written_by_the_model_is_overwritten():
    (message,) = results(run(compiled(says("ok")), calls=[task(runtime="evil")]))
    assert (message.text, message.status) == ("ok", "success")


@pytest.mark.spec("SUB-046")
@pytest.mark.parametrize(
    "arguments", [{"description": "d"}, {"subagent_type": "r"}, {"description": 1, "subagent_type": "r"}]
)
def test_missing_and_mistyped_arguments_are_reported(arguments):
    (message,) = results(run(compiled(never), calls=[("task", arguments)]))
    assert message.status == "error"
    assert "description" in message.text or "subagent_type" in message.text


@pytest.mark.spec("SUB-047")
def test_an_empty_description_is_accepted():
    seen = []
    run(
        compiled(lambda state: seen.append(state["messages"][0].text) or says("ok")(state)),
        calls=[task(description="")],
    )
    assert seen == [""]


@pytest.mark.spec("SUB-050", "SUB-051")
def test_an_unknown_type_is_an_error_with_the_nearest_name():
    one, two = compiled(never, "researcher"), compiled(never, "writer")
    (message,) = results(run(one, two, calls=[task("reseacher")]))
    assert message.status == "error"
    assert "Did you mean `researcher`?" in message.text
    assert "`researcher`, `writer`" in message.text


@pytest.mark.spec("SUB-050")
def test_the_type_is_checked_before_the_call_id():
    tool = SubAgentMiddleware(backend=object(), subagents=[compiled(never)]).tools[0]
    unknown = tool.func(description="d", subagent_type="nope", runtime=runtime(None))
    assert unknown.status == "error"
    with pytest.raises(ValueError, match="tool call id"):
        tool.func(description="d", subagent_type="r", runtime=runtime(None))


# ------------------------------------------------------------ state in


@pytest.mark.spec("SUB-052", "SUB-059")
def test_a_child_gets_the_shared_state_and_its_task_only():
    seen = []
    everything = {
        "todos": [1], "structured_response": 1, "skills_metadata": [], "pinned_skills": [],
        "_skill_tools_disclosed": 1, "_deepagents_forked_context": True, "rubric": "r",
        "plain": "P", "secret": "S",
    }  # fmt: skip
    spec = compiled(lambda state: seen.append(state) or says("ok")(state))
    tool = SubAgentMiddleware(
        backend=object(), subagents=[spec], private_state_keys=frozenset({"secret"})
    ).tools[0]
    for description in ("one", "two"):
        state = {"messages": [HumanMessage("hi")], **everything}
        tool.func(description=description, subagent_type="r", runtime=runtime(state=state))
    assert [set(state) for state in seen] == [{"messages", "plain"}] * 2
    assert [[message.text for message in state["messages"]] for state in seen] == [["one"], ["two"]]
    assert all(isinstance(state["messages"][0], HumanMessage) for state in seen)


@pytest.mark.spec("SUB-053")
def test_a_child_that_changes_a_container_in_place_changes_its_own():
    original = {"list": [1], "dict": {"a": 1}, "set": {1}}

    def spoil(state):
        state["list"].append(2)
        state["dict"]["b"] = 2
        state["set"].add(2)
        return says("ok")(state)

    tool = SubAgentMiddleware(backend=object(), subagents=[compiled(spoil)]).tools[0]
    command = tool.func(
        description="d", subagent_type="r", runtime=runtime(state={"messages": [], **original})
    )
    assert original == {"list": [1], "dict": {"a": 1}, "set": {1}}
    assert command.update["list"] == [1, 2]
    assert command.update["dict"] == {"a": 1, "b": 2}


@pytest.mark.spec("SUB-057")
def test_by_itself_the_middleware_keeps_nothing_private():
    outcome = run(
        compiled(lambda state: says("ok", secret=state["secret"] + "!")(state)), state={"secret": "S"}
    )
    assert outcome["secret"] == "S!"


@pytest.mark.spec("SUB-057", "STATE-017")
def test_private_keys_neither_go_nor_come_back():
    seen = []
    spec = compiled(lambda state: seen.append(dict(state)) or says("ok", secret="stolen")(state))
    outcome = run(spec, state={"secret": "S"}, private_state_keys=frozenset({"secret"}))
    assert "secret" not in seen[0]
    assert outcome["secret"] == "S"


# ------------------------------------------------------------ state out


@pytest.mark.spec("SUB-070", "SUB-081")
def test_the_result_is_one_tool_message_and_the_changed_keys():
    tool = SubAgentMiddleware(backend=object(), subagents=[compiled(says("ok", plain="new", other=1))]).tools[
        0
    ]
    state = {"messages": [], "plain": "old", "same": [1], "todos": []}
    command = tool.func(description="d", subagent_type="r", runtime=runtime(state=state))
    assert set(command.update) == {"messages", "plain", "other"}
    (message,) = command.update["messages"]
    assert (message.name, message.tool_call_id, message.text) == ("task", "c1", "ok")
    assert "other" not in run(compiled(says("ok", other=1)))


TEXT = {"type": "text", "text": "bit"}


@pytest.mark.spec("SUB-071", "SUB-072", "SUB-073", "SUB-074", "BY-060")
@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([AIMessage("  the answer \n\n")], "  the answer"),
        ([AIMessage("real "), ToolMessage("t", tool_call_id="1"), AIMessage(""), AIMessage(" \n")], "real"),
        ([AIMessage([TEXT, {"type": "image", "url": "u"}, TEXT])], "bitbit"),
        ([AIMessage("with calls", tool_calls=[{"name": "x", "args": {}, "id": "1"}])], "with calls"),
        ([{"role": "assistant", "content": "from a dict"}, {"type": "ai", "content": ""}], "from a dict"),
        ([AIMessage("kept"), {"nonsense": 1}, 3], "kept"),
        ([HumanMessage("not mine")], NO_TEXT),
        ([], NO_TEXT),
    ],
)  # fmt: skip
def test_the_text_is_the_last_thing_the_child_said(messages, text):
    (message,) = results(run(compiled(lambda _: {"messages": messages})))
    assert (message.text, message.status) == (text, "success")


class Point(BaseModel):
    a: int


@dataclasses.dataclass
class Pair:
    a: int
    b: Any = None


@pytest.mark.spec("SUB-075", "SUB-076")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1}, '{"a": 1}'),
        (Point(a=1), '{"a":1}'),
        (Pair(1), '{"a": 1, "b": null}'),
        (0, "0"),
        ({}, "{}"),
        (None, "said"),
        ({"at": dt.datetime(2024, 1, 2, tzinfo=dt.UTC)}, '{"at": "2024-01-02T00:00:00Z"}'),
        ({"deep": [Point(a=2), Pair(3, {4})]}, '{"deep": [{"a": 2}, {"a": 3, "b": [4]}]}'),
        ({"odd": object}, '{"odd": "<class \'object\'>"}'),
    ],
)
def test_a_structured_response_replaces_the_text(value, text):
    spec = compiled(lambda _: {"messages": [AIMessage("said")], "structured_response": value})
    assert results(run(spec))[0].text == text


def test_a_structured_response_that_is_no_tree_is_still_handed_back():
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert "self" in results(run(compiled(lambda _: {"messages": [], "structured_response": loop})))[0].text


@pytest.mark.spec("SUB-077")
@pytest.mark.parametrize("result", [{"foo": 1}, "text", {"messages": "text"}])
def test_a_result_without_messages_is_refused(result):
    handover = Handover("r", "c1", {}, frozenset(), ParentChannels(), lambda _: True)
    with pytest.raises(ValueError, match="messages") as caught:
        handover.command(result)
    assert isinstance(caught.value, DeepAgentsError)
    (message,) = results(run(compiled(lambda _: result)))
    assert message.status == "error"
    assert "messages" in message.text


class Ambiguous:
    def __eq__(self, other):
        return [True]

    __hash__ = None


class Refusing:
    def __eq__(self, other):
        raise ValueError("ambiguous")

    __hash__ = None


@pytest.mark.spec("SUB-078")
def test_only_what_changed_beyond_doubt_is_left_out():
    inherited = {
        "same": [1],
        "equal": {"a": 1},
        "vague": Ambiguous(),
        "angry": Refusing(),
        "object": Ambiguous(),
    }
    result = {
        **inherited,
        "equal": {"a": 1},
        "vague": Ambiguous(),
        "angry": Refusing(),
        "new": None,
        "messages": [],
    }
    handover = Handover("r", "c1", inherited, frozenset(), ParentChannels(), lambda _: True)
    assert set(handover.command(result).update) == {"messages", "vague", "angry", "new"}


@pytest.mark.spec("SUB-079")
def test_parallel_children_that_leave_a_key_alone_do_not_conflict():
    outcome = run(compiled(says("ok")), calls=[task(), task()], state={"plain": "P"})
    assert outcome["plain"] == "P"
    assert len(results(outcome)) == 2


@pytest.mark.spec("SUB-079")
def test_of_parallel_changes_to_a_single_value_one_is_kept_and_the_other_reported():
    one, two = compiled(says("first", plain=1), "one"), compiled(says("second", plain=2), "two")
    outcome = run(one, two, calls=[task("one"), task("two")], state={"plain": 0})
    texts = [message.text for message in results(outcome)]
    assert [text.split("Note:")[0] for text in texts] == ["first", "second"]
    noted = [position for position, text in enumerate(texts) if "`plain`" in text]
    assert len(noted) == 1
    assert outcome["plain"] == {0: 2, 1: 1}[noted[0]]


@pytest.mark.spec("SUB-080")
@pytest.mark.parametrize("returned", [[1, 2], [2]])
def test_what_a_child_adds_to_an_additive_key_arrives_once(returned):
    outcome = run(compiled(says("ok", added=returned)), state={"added": [1]})
    assert outcome["added"] == [1, 2]


def test_parallel_children_add_to_one_key():
    one, two = compiled(says("ok", added=[1, 2]), "one"), compiled(says("ok", added=[1, 3]), "two")
    outcome = run(one, two, calls=[task("one"), task("two")], state={"added": [1]})
    assert outcome["added"] == [1, 2, 3]


@pytest.mark.spec("SUB-082")
def test_entries_that_a_child_did_not_touch_do_not_undo_its_siblings_work():
    old = {"/a": "old", "/b": "old"}
    one, two = (
        compiled(says("ok", merged={**old, "/a": "new"}), "one"),
        compiled(says("ok", merged={**old, "/b": "new"}), "two"),
    )
    outcome = run(one, two, calls=[task("one"), task("two")], state={"merged": old})
    assert outcome["merged"] == {"/a": "new", "/b": "new"}


@given(st.lists(st.integers(), max_size=4), st.lists(st.integers(), min_size=1, max_size=4))
def test_for_a_reducer_that_adds_the_parent_ends_with_the_childs_list(inherited, more):
    value = inherited + more
    update = ParentChannels([Shared]).update("added", inherited, value)
    assert inherited + update == value


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2)),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2)),
)
def test_for_a_reducer_that_merges_nothing_but_changes_is_sent(inherited, changes):
    value = inherited | changes
    update = ParentChannels([Shared]).update("merged", inherited, value)
    assert inherited | update == value
    if inherited:
        assert all(inherited.get(key) != item for key, item in update.items())


# ------------------------------------------------------------ failure and limits


def raises(error):
    def child(_state):
        raise error

    return child


@pytest.mark.spec("SUB-084", "BY-041")
def test_a_child_that_raises_fails_its_own_call_only(caplog):
    good, bad = compiled(says("fine"), "good"), compiled(raises(RuntimeError("kaput")), "bad")
    outcome = run(good, bad, calls=[task("bad"), task("good")])
    failed, fine = results(outcome)
    assert (failed.status, fine.status, fine.text) == ("error", "success", "fine")
    assert "RuntimeError: kaput" in failed.text
    assert "Traceback" not in failed.text
    assert outcome["messages"][-1].text == "done"
    (record,) = [item for item in caplog.records if getattr(item, "event", "") == "subagent_failed"]
    assert record.fields["subagent"] == "bad"


@pytest.mark.spec("BY-041")
async def test_a_child_that_raises_fails_its_own_call_only_async():
    good, bad = compiled(says("fine"), "good"), compiled(raises(RuntimeError("x" * 5000)), "bad")
    outcome = await parent(good, bad, calls=[task("bad"), task("good")]).ainvoke(
        {"messages": [HumanMessage("go")]}
    )
    failed, fine = results(outcome)
    assert (failed.status, fine.text) == ("error", "fine")
    assert len(failed.text) < 1000


@pytest.mark.spec("BY-040")
def test_a_childs_exception_can_be_let_through():
    with pytest.raises(RuntimeError, match="kaput"):
        run(compiled(raises(RuntimeError("kaput"))), settings=SubAgentSettings(raise_errors=True))


@pytest.mark.spec("BY-040")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_stops_a_run_is_not_turned_into_a_message(error):
    tool = SubAgentMiddleware(backend=object(), subagents=[compiled(raises(error))]).tools[0]
    with pytest.raises(type(error)):
        tool.func(description="d", subagent_type="r", runtime=runtime())


async def test_cancelling_the_parent_cancels_the_child():
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def wait(_state):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    agent = parent({"name": "r", "description": "d", "runnable": RunnableLambda(never, afunc=wait)})
    running = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled.is_set()


def looping(name="loop"):
    """A child that never comes to an end by itself."""

    def again() -> str:
        """Again."""
        return "again"

    model = ScriptedChatModel([("again", {})], repeat_last=True)
    return {"name": name, "description": "d", "model": model, "tools": [again]}, model


@pytest.mark.spec("SUB-091", "BY-048")
@pytest.mark.parametrize("precompiled", [False, True])
def test_the_callers_recursion_limit_bounds_a_child(precompiled):
    spec, model = looping()
    if precompiled:
        graph = create_agent(model, spec["tools"])
        spec = {"name": "loop", "description": "d", "runnable": graph}
    (message,) = results(run(spec, calls=[task("loop")], config={"recursion_limit": 20}))
    assert message.status == "error"
    assert GraphRecursionError.__name__ in message.text
    assert len(model.requests) <= 20


def test_a_limit_that_an_author_bound_stays():
    spec, model = looping()
    graph = create_agent(model, spec["tools"]).with_config({"recursion_limit": 6})
    run(
        {"name": "loop", "description": "d", "runnable": graph},
        calls=[task("loop")],
        config={"recursion_limit": 50},
    )
    assert len(model.requests) <= 6


@pytest.mark.spec("BY-066")
def test_a_limit_on_the_steps_of_one_child_never_exceeds_the_callers():
    counts = []
    for limit, steps in ((50, 10), (6, 40)):
        spec, model = looping()
        settings = SubAgentSettings(max_steps=steps)
        run(spec, calls=[task("loop")], config={"recursion_limit": limit}, settings=settings)
        counts.append(len(model.requests))
    assert 3 < counts[0] <= 10
    assert counts[1] <= 6


@pytest.mark.spec("BY-066")
def test_calls_beyond_the_fan_out_are_refused_in_order():
    calls = [task(call_id=f"c{number}") for number in range(4)]
    outcome = run(compiled(says("ok")), calls=calls, settings=SubAgentSettings(max_fan_out=2))
    assert [(message.tool_call_id, message.status) for message in results(outcome)] == [
        ("c0", "success"),
        ("c1", "success"),
        ("c2", "error"),
        ("c3", "error"),
    ]
    refused = [
        item
        for item in results(run(compiled(says("ok")), calls=[task() for _ in range(17)]))
        if item.status == "error"
    ]
    assert len(refused) == 1


@pytest.mark.spec("BY-066", "SUB-060")
@pytest.mark.parametrize(("depth", "inner_status"), [(1, "error"), (2, "success")])
def test_a_compiled_child_delegates_further_only_if_the_depth_is_opened(depth, inner_status):
    seen = []
    settings = SubAgentSettings(max_depth=depth)
    nested = create_agent(
        ScriptedChatModel([task("leaf"), lambda messages, _: seen.append(messages[-1]) or "nested"]),
        [],
        middleware=[
            SubAgentMiddleware(
                backend=object(), subagents=[compiled(says("leaf"), "leaf")], settings=settings
            )
        ],
    )
    outcome = run({"name": "r", "description": "d", "runnable": nested})
    assert results(outcome)[0].text == "nested"
    assert seen[0].status == inner_status


@pytest.mark.spec("SUB-060")
def test_a_declared_child_has_no_task_tool():
    model = ScriptedChatModel(["ok"])
    run({"name": "r", "description": "d", "model": model, "tools": []})
    assert model.requests[0].tool_names == ()


class Additive(AgentMiddleware):
    state_schema = Shared


@pytest.mark.spec("SUB-080")
def test_the_reducers_of_a_declared_child_and_its_parent_agree():
    def note(runtime: ToolRuntime) -> Any:
        """Note."""
        from langgraph.types import Command

        return Command(
            update={"added": [2], "messages": [ToolMessage("noted", tool_call_id=runtime.tool_call_id)]}
        )

    child = {
        "name": "r",
        "description": "d",
        "model": ScriptedChatModel([("note", {}), "ok"]),
        "tools": [note],
    }
    outcome = run({**child, "middleware": [Additive()]}, state={"added": [1]})
    assert outcome["added"] == [1, 2]
    assert json.dumps(outcome["added"]) == "[1, 2]"
