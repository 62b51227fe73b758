"""Whatever the history, mending it answers every call exactly once and keeps the rest in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from deepagents_builtin.middleware.patch_tool_calls.middleware import PatchToolCallsMiddleware

IDS = ["", "c1", "c2", "c3"]


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    with_ids = draw(st.booleans())
    kinds = draw(st.lists(st.sampled_from(["human", "calls", "tool"]), max_size=9))
    messages: list[Any] = []
    for number, kind in enumerate(kinds):
        message_id = f"m{number}" if with_ids or draw(st.booleans()) else None
        if kind == "human":
            messages.append(HumanMessage(str(number), id=message_id))
        elif kind == "tool":
            messages.append(ToolMessage(str(number), tool_call_id=draw(st.sampled_from(IDS)), id=message_id))
        else:
            valid = draw(st.lists(st.sampled_from([None, *IDS]), max_size=3, unique=True))
            invalid = draw(st.lists(st.sampled_from([None, *IDS]), max_size=2, unique=True))
            messages.append(
                AIMessage(
                    str(number),
                    id=message_id,
                    tool_calls=[{"name": "x", "args": {}, "id": call_id} for call_id in valid],
                    invalid_tool_calls=[
                        {"name": "x", "args": "{", "id": i, "error": None, "type": "invalid_tool_call"}
                        for i in invalid
                    ],
                )
            )
    return messages


def moved(messages: list[Any], update: list[Any]) -> list[Any]:
    """Apply a write as a deep agent's channel does: what is removed and added again moves."""
    kept = list(messages)
    for message in update:
        if not isinstance(message, RemoveMessage):
            kept.append(message)
        elif message.id == REMOVE_ALL_MESSAGES:
            kept = []
        else:
            assert sum(item.id == message.id for item in kept) == 1, "a removal must mean one message"
            kept = [item for item in kept if item.id != message.id]
    return kept


def mend(messages: list[Any], rewrite: Any) -> list[Any]:
    update = PatchToolCallsMiddleware(rewrite=rewrite).before_agent({"messages": messages}, None)
    return messages if update is None else moved(messages, update["messages"])


def open_calls(messages: list[Any]) -> tuple[int, int]:
    """Calls without a result, and results without a call, counted message by message the slow way."""
    unanswered = 0
    taken: set[int] = set()
    for index, message in enumerate(messages):
        if not isinstance(message, AIMessage):
            continue
        ids = {call["id"] for call in [*message.tool_calls, *message.invalid_tool_calls] if call["id"]}
        for call_id in ids:
            answers: list[int] = []
            for later in range(index + 1, len(messages)):
                candidate = messages[later]
                if isinstance(candidate, AIMessage):
                    again = [*candidate.tool_calls, *candidate.invalid_tool_calls]
                    if any(call["id"] == call_id for call in again):
                        break
                elif isinstance(candidate, ToolMessage) and candidate.tool_call_id == call_id:
                    answers.append(later)
            unanswered += not answers
            taken.update(answers[:1])
    results = [
        i for i, message in enumerate(messages) if isinstance(message, ToolMessage) and message.tool_call_id
    ]
    return unanswered, sum(index not in taken for index in results)


@pytest.mark.spec("PTC-002", "PTC-003", "PTC-009", "PTC-010")
@given(histories(), st.sampled_from(["suffix", "all"]))
def test_every_call_is_answered_exactly_once(history: list[Any], rewrite: str):
    assert open_calls(mend(history, rewrite)) == (0, 0)


@pytest.mark.spec("PTC-005", "PTC-007")
@given(histories(), st.sampled_from(["suffix", "all"]))
def test_stored_messages_keep_their_order_and_identity(history: list[Any], rewrite: str):
    after = mend(history, rewrite)
    old = [message for message in after if any(message is item for item in history)]
    dropped = [message for message in history if not any(message is item for item in after)]
    assert old == [message for message in history if not any(message is item for item in dropped)]
    assert all(isinstance(message, ToolMessage) for message in dropped)
    for position, message in enumerate(after):
        if not any(message is item for item in history):
            previous = after[position - 1]
            new_answer = isinstance(previous, ToolMessage) and not any(previous is item for item in history)
            assert isinstance(previous, AIMessage) or new_answer


@pytest.mark.spec("PTC-006")
@given(histories(), st.sampled_from(["suffix", "all"]))
def test_a_mended_history_needs_no_mending(history: list[Any], rewrite: str):
    after = mend(history, rewrite)
    assert PatchToolCallsMiddleware().before_agent({"messages": after}, None) is None


@given(histories())
def test_the_full_rewrite_means_the_same_under_the_standard_reducer(history: list[Any]):
    stamped = add_messages([], [message.model_copy() for message in history])
    update = PatchToolCallsMiddleware(rewrite="all").before_agent({"messages": stamped}, None)
    if update is not None:
        expected = [(message.type, message.content) for message in moved(stamped, update["messages"])]
        assert [(m.type, m.content) for m in add_messages(stamped, update["messages"])] == expected
