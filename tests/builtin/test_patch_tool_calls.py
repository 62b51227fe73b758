"""Dangling tool calls are answered when a run starts, and nothing else is touched."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Annotated, Any, Required

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, interrupt

from deepagents_builtin.middleware.patch_tool_calls.middleware import PatchToolCallsMiddleware
from deepagents_builtin.middleware.patch_tool_calls.plugin import bind_channel, deepagents_middleware
from deepagents_kernel.assembly.specs import Segment
from deepagents_kernel.contracts.state import DeepAgentState


def moving_reducer(state: list[Any] | None, writes: list[Any]) -> list[Any]:
    """Removes and adds in the order of the writes: what is removed and added again ends up last."""
    messages = list(state or [])
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            if isinstance(message, RemoveMessage):
                keep_none = message.id == REMOVE_ALL_MESSAGES
                messages = [] if keep_none else [item for item in messages if item.id != message.id]
            else:
                messages.append(message)
    return messages


class MovingState(AgentState[Any]):
    messages: Required[Annotated[list[AnyMessage], DeltaChannel(moving_reducer, snapshot_frequency=50)]]


def human(text: str = "go on", id: str | None = "h") -> HumanMessage:
    return HumanMessage(text, id=id)


def calls(
    *ids: str | None, id: str | None = "a", invalid: tuple[str | None, ...] = (), name: str = "search"
) -> AIMessage:
    return AIMessage(
        "",
        id=id,
        tool_calls=[{"name": name, "args": {}, "id": call_id} for call_id in ids],
        invalid_tool_calls=[
            {"name": name, "args": "{", "id": call_id, "error": "bad", "type": "invalid_tool_call"}
            for call_id in invalid
        ],
    )


def result(call_id: str, id: str | None = None, text: str = "found") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, id=id or f"t-{call_id}")


def write(messages: list[Any], rewrite: Any = "suffix") -> list[Any] | None:
    update = PatchToolCallsMiddleware(rewrite=rewrite).before_agent({"messages": messages}, None)
    return None if update is None else update["messages"]


def mended(messages: list[Any], rewrite: Any = "suffix") -> list[Any]:
    update = write(messages, rewrite)
    return messages if update is None else moving_reducer(messages, [update])


def shape(messages: list[Any]) -> list[str]:
    """``h`` for a message with that id, ``+c1`` for a new answer to the call c1."""
    return [message.id or f"+{message.tool_call_id}" for message in messages]


@pytest.mark.spec("PTC-003", "PTC-005")
def test_unanswered_calls_get_an_error_result_directly_after_their_message():
    history = [human(id="h1"), calls("c1", "c2", "c3", invalid=("c4",)), result("c2"), human(id="h2")]

    after = mended(history)

    assert shape(after) == ["h1", "a", "+c1", "+c3", "+c4", "t-c2", "h2"]
    answers = [message for message in after if message.id is None]
    assert {(answer.status, answer.name) for answer in answers} == {("error", "search")}


@pytest.mark.spec("PTC-003")
def test_a_call_without_a_name_is_answered_as_unknown():
    (answer,) = [m for m in mended([calls("c1", name="")]) if isinstance(m, ToolMessage)]
    assert answer.name == "unknown"


@pytest.mark.spec("PTC-004")
def test_the_text_tells_an_unrecorded_result_from_malformed_arguments():
    history = [calls("valid-id", invalid=("broken-id",), name="fetch")]
    unrecorded, malformed = [m.text for m in mended(history) if isinstance(m, ToolMessage)]

    assert "No result was recorded" in unrecorded
    assert "cancelled or interrupted" in unrecorded
    assert "malformed or truncated" in malformed
    assert "'fetch'" in unrecorded
    assert "'fetch'" in malformed
    assert "valid-id" in unrecorded
    assert "broken-id" in malformed


@pytest.mark.spec("PTC-006")
@pytest.mark.parametrize(
    "history", [[], [human()], [human(), calls("c1"), result("c1"), AIMessage("done", id="z")]]
)
async def test_a_whole_history_is_not_written(history: list[Any]):
    middleware = PatchToolCallsMiddleware()
    assert middleware.before_agent({"messages": history}, None) is None
    assert await middleware.abefore_agent({"messages": history}, None) is None


@pytest.mark.spec("PTC-006")
def test_answers_are_made_only_for_calls_that_lack_one(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    build = ToolMessage.__init__

    def counting(self: ToolMessage, *args: Any, **fields: Any) -> None:
        build(self, *args, **fields)
        made.append(self.tool_call_id)

    sound: list[Any] = []
    for number in range(20):
        call_ids = (f"c{number}", "again")
        sound += [human(id=f"h{number}"), calls(*call_ids, id=f"a{number}", invalid=(f"i{number}",))]
        sound += [result(call_id, id=f"{number}-{call_id}") for call_id in (*call_ids, f"i{number}")]
    late = [calls("again", id="a"), calls("again", "c", id="b", invalid=("c",)), result("again")]
    monkeypatch.setattr(ToolMessage, "__init__", counting)

    assert write(sound) is None
    assert made == []
    assert shape(mended([*sound, *late]))[-5:] == ["a", "+again", "b", "+c", "t-again"]
    assert made == ["again", "c"]


class OwnAnswer(AIMessage):
    """A message class of an application."""


class OwnResult(ToolMessage):
    """A message class of an application."""


@pytest.mark.spec("PTC-002", "PTC-003")
def test_messages_of_derived_classes_make_calls_and_answer_them():
    asked = [{"name": "x", "args": {}, "id": call_id} for call_id in ("c1", "c2")]
    asking = OwnAnswer("", id="a", tool_calls=asked)
    history = [asking, OwnResult("found", tool_call_id="c1", id="t-c1"), human()]
    assert shape(mended(history)) == ["a", "+c2", "t-c1", "h"]


@pytest.mark.spec("PTC-007")
def test_only_what_comes_behind_the_first_gap_is_written():
    history = [human(id="h1"), AIMessage("hi", id="a0"), human(id="h2"), calls("c1"), human(id="h3")]

    update = write(history)

    assert [type(message).__name__ for message in update] == ["RemoveMessage", "ToolMessage", "HumanMessage"]
    assert [message.id for message in update] == ["h3", None, "h3"]


@pytest.mark.spec("PTC-007")
@pytest.mark.parametrize("rewrite", ["suffix", "all"])
def test_a_gap_at_the_very_end_is_closed_by_appending(rewrite: str):
    assert [type(message).__name__ for message in write([human(), calls("c1")], rewrite)] == ["ToolMessage"]


@pytest.mark.spec("PTC-007")
@pytest.mark.parametrize(
    ("history", "rewrite"),
    [
        ([human(id="h1"), calls("c1"), human(id=None)], "suffix"),
        ([human(id="same"), calls("c1"), human(id="same")], "suffix"),
        ([human(id="h1"), calls("c1"), human(id="h2")], "all"),
    ],
    ids=["no id", "one id twice", "reducer of unknown make"],
)
def test_the_whole_list_is_written_where_ids_do_not_tell_messages_apart(history: list[Any], rewrite: str):
    update = write(history, rewrite)

    assert isinstance(update[0], RemoveMessage)
    assert update[0].id == REMOVE_ALL_MESSAGES
    assert [message for message in update[1:] if message in history] == history
    assert isinstance(update[3], ToolMessage)


@pytest.mark.spec("PTC-008")
def test_calls_without_a_usable_id_are_skipped():
    history = [calls(None, "", invalid=(None, "")), ToolMessage("refused", tool_call_id="", id="t")]
    assert write(history) is None


@pytest.mark.spec("PTC-008")
def test_an_id_among_valid_and_invalid_calls_is_answered_once():
    answers = [m for m in mended([calls("c1", invalid=("c1",))]) if isinstance(m, ToolMessage)]
    assert [answer.tool_call_id for answer in answers] == ["c1"]
    assert "No result was recorded" in answers[0].text


@pytest.mark.spec("PTC-009", "PTC-002")
def test_a_result_answers_the_latest_call_of_its_id_before_it():
    early_answer = [calls("c1", id="a1"), result("c1"), calls("c1", id="a2"), human()]
    late_answer = [calls("c1", id="a1"), calls("c1", id="a2"), result("c1"), human()]

    assert shape(mended(early_answer)) == ["a1", "t-c1", "a2", "+c1", "h"]
    assert shape(mended(late_answer)) == ["a1", "+c1", "a2", "t-c1", "h"]


@pytest.mark.spec("PTC-002")
def test_a_result_counts_however_far_behind_its_call_it_stands():
    assert write([calls("c1"), human(id="h1"), AIMessage("hm", id="b"), result("c1"), human(id="h2")]) is None


@pytest.mark.spec("PTC-010")
def test_results_without_a_call_before_them_are_dropped_and_reported(caplog: pytest.LogCaptureFixture):
    history = [result("c1", id="early"), calls("c1"), result("c1"), result("c1", id="second"), human()]

    with caplog.at_level(logging.WARNING, logger="deepagents_builtin"):
        update = write(history)

    assert [(type(message), message.id) for message in update] == [
        (RemoveMessage, "early"),
        (RemoveMessage, "second"),
    ]
    assert shape(moving_reducer(history, [update])) == ["a", "t-c1", "h"]
    (record,) = caplog.records
    assert record.event == "orphan_tool_results_dropped"
    assert record.fields["tool_call_ids"] == ["c1", "c1"]


@pytest.mark.spec("PTC-010")
@pytest.mark.parametrize("rewrite", ["suffix", "all"])
def test_orphans_and_gaps_are_mended_in_one_write(rewrite: str):
    history = [result("x", id="t0"), human(id="h1"), calls("c1"), result("y", id="t1"), human(id="h2")]
    assert shape(mended(history, rewrite)) == ["h1", "a", "+c1", "h2"]


# -- in an agent -----------------------------------------------------------------------------------


@tool
def ask_person() -> str:
    """Ask a person."""
    return str(interrupt("?"))


def agent_with(replies: list[AIMessage], middleware: PatchToolCallsMiddleware, state_schema: Any) -> Any:
    model = GenericFakeChatModel(messages=iter(replies))
    object.__setattr__(model, "bind_tools", lambda tools, **_: model)
    return create_agent(
        model, [ask_person], middleware=[middleware], checkpointer=InMemorySaver(), state_schema=state_schema
    )


@pytest.mark.spec("PTC-001")
@pytest.mark.parametrize("state_schema", [AgentState, MovingState, DeepAgentState])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_a_pending_call_survives_a_resume_and_is_answered_by_a_new_run(
    state_schema: Any, asynchronous: bool
):
    middleware = bind_channel(PatchToolCallsMiddleware(), SimpleNamespace(state_schema=state_schema))
    config: Any = {"configurable": {"thread_id": "1"}}

    async def run(agent: Any, value: Any) -> list[Any]:
        answer = await agent.ainvoke(value, config) if asynchronous else agent.invoke(value, config)
        return answer["messages"]

    pending = calls("c1", name="ask_person")
    resumed = agent_with([pending, AIMessage("done")], middleware, state_schema)
    await run(resumed, {"messages": [human(id=None)]})
    after_resume = await run(resumed, Command(resume="yes"))
    assert [m.content for m in after_resume if isinstance(m, ToolMessage)] == ["yes"]

    abandoned = agent_with([pending, AIMessage("done")], middleware, state_schema)
    await run(abandoned, {"messages": [human(id=None)]})
    after_new_run = await run(abandoned, {"messages": [human("never mind", id=None)]})
    assert [message.type for message in after_new_run] == ["human", "ai", "tool", "human", "ai"]
    assert after_new_run[2].tool_call_id == "c1"


# -- the plugin ------------------------------------------------------------------------------------


@pytest.mark.spec("PTC-007")
def test_the_plugin_writes_suffixes_only_where_the_channel_moves_messages():
    spec = deepagents_middleware()
    made = spec.factory(None)
    assert (spec.name, spec.segment) == (made.name, Segment.CORE)

    moving = bind_channel(made, SimpleNamespace(state_schema=MovingState))
    assert moving.rewrite == "suffix"
    assert bind_channel(made, SimpleNamespace(state_schema=DeepAgentState)).rewrite == "suffix"
    assert made.rewrite == "all"
    assert bind_channel(made, SimpleNamespace(state_schema=AgentState)) is made
    assert bind_channel(made, SimpleNamespace(state_schema=dict)) is made


def test_foreign_middleware_in_the_slot_is_left_alone():
    foreign = SimpleNamespace(name="PatchToolCallsMiddleware")
    assert bind_channel(foreign, SimpleNamespace(state_schema=MovingState)) is foreign


@pytest.mark.spec("PTC-005")
def test_the_full_rewrite_keeps_the_order_under_the_standard_reducer():
    history = [human(id="h1"), calls("c1"), human(id="h2")]
    after = add_messages(history, write(history, "all"))
    assert [message.type for message in after] == ["human", "ai", "tool", "human"]
