"""What is wrong with the tool calls of a history, and the smallest write that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import field, frozen
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: How the mended messages are written: only those behind the first gap, or the whole list.
Rewrite = Literal["suffix", "all"]

_UNRECORDED = (
    "No result was recorded for the call of tool '{name}' (id '{id}'): it may have been cancelled or "
    "interrupted. Whether it had an effect is unknown; check before repeating it."
)
_MALFORMED = (
    "The call of tool '{name}' (id '{id}') was not run: its arguments were malformed or truncated. "
    "Send it again with complete arguments if it is still needed."
)


@frozen
class Repair:
    """The gaps of a history.

    Attributes:
        answers: index of an AI message to the answers that its open calls lack.
        orphans: indices of tool messages that answer no call before them, or one that has its answer.
    """

    answers: Mapping[int, tuple[ToolMessage, ...]] = field(factory=dict)
    orphans: frozenset[int] = frozenset()


def find_gaps(messages: Sequence[BaseMessage]) -> Repair | None:
    """Read a history once, forwards.

    A result answers the latest AI message before it that made a call of its id; ids that a provider uses
    again are thus told apart. Calls and results without an id (``None`` or empty) can't be matched and are
    left alone.

    Args:
        messages: the conversation.

    Returns:
        What is wrong, or ``None`` if nothing is.
    """
    open_calls: dict[str, int] = {}
    missing: dict[int, dict[str, ToolMessage]] = {}
    orphans: list[int] = []
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            if message.tool_calls or message.invalid_tool_calls:
                answers = _answers(message)
                open_calls.update(dict.fromkeys(answers, index))
                missing[index] = answers
        elif isinstance(message, ToolMessage) and message.tool_call_id:
            asked = open_calls.pop(message.tool_call_id, None)
            if asked is None:
                orphans.append(index)
            else:
                del missing[asked][message.tool_call_id]
    gaps = {index: tuple(answers.values()) for index, answers in missing.items() if answers}
    return Repair(gaps, frozenset(orphans)) if gaps or orphans else None


def mending_write(messages: Sequence[BaseMessage], repair: Repair, rewrite: Rewrite) -> list[BaseMessage]:
    """The update of ``messages`` that mends a history.

    Messages before the first gap stay as they are stored. Those behind it are removed and written again
    behind the answers, which needs a reducer that moves a message which is removed and added in one write.

    Args:
        messages: the conversation.
        repair: its gaps.
        rewrite: ``"suffix"`` if the reducer moves messages so; with ``"all"`` the whole list is written
            whenever something would have to move.
    """
    start = min(repair.answers) + 1 if repair.answers else len(messages)
    mended = _mended(messages, repair, start)
    touched = [index for index in range(len(messages)) if index >= start or index in repair.orphans]
    moves = any(index >= start and index not in repair.orphans for index in touched)
    if (moves and rewrite == "all") or not _addressable(messages, touched):
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *_mended(messages, repair, 0)]
    return [*(RemoveMessage(id=str(messages[index].id)) for index in touched), *mended]


def _answers(message: AIMessage) -> dict[str, ToolMessage]:
    # Valid calls first: an id that stands in both lists gets the answer of the call that could have run.
    answers: dict[str, ToolMessage] = {}
    for calls, text in ((message.tool_calls, _UNRECORDED), (message.invalid_tool_calls, _MALFORMED)):
        for call in calls:
            call_id, name = call.get("id"), call.get("name") or "unknown"
            if call_id and call_id not in answers:
                content = text.format(name=name, id=call_id)
                answers[call_id] = ToolMessage(content, name=name, tool_call_id=call_id, status="error")
    return answers


def _mended(messages: Sequence[BaseMessage], repair: Repair, start: int) -> list[BaseMessage]:
    mended: list[BaseMessage] = list(repair.answers.get(start - 1, ()))
    for index in range(start, len(messages)):
        if index not in repair.orphans:
            mended.append(messages[index])
        mended.extend(repair.answers.get(index, ()))
    return mended


def _addressable(messages: Sequence[BaseMessage], touched: Sequence[int]) -> bool:
    # Removing by id reaches one message only if every message concerned has an id of its own.
    counts: dict[str, int] = {}
    for message in messages:
        if message.id:
            counts[message.id] = counts.get(message.id, 0) + 1
    return all(counts.get(messages[index].id or "") == 1 for index in touched)
