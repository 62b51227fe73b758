"""What is wrong with the tool calls of a history, and the smallest write that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
    """Read a history once, forwards. Answers are made only for the calls that turn out to lack one.

    A result answers the latest AI message before it that made a call of its id; ids that a provider uses
    again are thus told apart. Calls and results without an id (``None`` or empty) can't be matched and are
    left alone.

    Args:
        messages: the conversation.

    Returns:
        What is wrong, or ``None`` if nothing is.
    """
    open_calls: dict[str, int] = {}
    missing: dict[int, set[str]] = {}
    orphans: list[int] = []
    kinds = _Kinds()
    message: Any
    for index, message in enumerate(messages):
        kind = kinds[type(message)]
        if kind is AIMessage:
            calls = message.tool_calls
            if message.invalid_tool_calls:
                calls = [*calls, *message.invalid_tool_calls]
            for call in calls:
                if call_id := call.get("id"):
                    if open_calls.get(call_id, index) != index:
                        missing.setdefault(open_calls[call_id], set()).add(call_id)
                    open_calls[call_id] = index
        elif (
            kind is ToolMessage
            and message.tool_call_id
            and open_calls.pop(message.tool_call_id, None) is None
        ):
            orphans.append(index)
    for call_id, index in open_calls.items():
        missing.setdefault(index, set()).add(call_id)
    if not missing and not orphans:
        return None
    gaps = {index: _answers(messages[index], missing[index]) for index in sorted(missing)}
    return Repair(gaps, frozenset(orphans))


class _Kinds(dict[type, type | None]):
    """Which of the two classes that matter a class of messages derives from.

    Message classes have a metaclass whose ``isinstance()`` is slow, and a history has few classes.
    """

    def __missing__(self, cls: type) -> type | None:
        self[cls] = next((kind for kind in (AIMessage, ToolMessage) if issubclass(cls, kind)), None)
        return self[cls]


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


def _answers(message: Any, missing: Collection[str]) -> tuple[ToolMessage, ...]:
    # Valid calls first: an id that stands in both lists gets the answer of the call that could have run.
    answers: dict[str, ToolMessage] = {}
    for calls, text in ((message.tool_calls, _UNRECORDED), (message.invalid_tool_calls, _MALFORMED)):
        for call in calls:
            call_id, name = call.get("id"), call.get("name") or "unknown"
            if call_id in missing and call_id not in answers:
                content = text.format(name=name, id=call_id)
                answers[call_id] = ToolMessage(content, name=name, tool_call_id=call_id, status="error")
    return tuple(answers.values())


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
