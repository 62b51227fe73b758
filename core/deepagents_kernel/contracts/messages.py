"""The reducer of the ``messages`` channel: what a write does to a conversation.

Writes are applied one after another: a message with a known id takes the place of the old one, any other
is appended, ``RemoveMessage`` takes one (or all) away. Applied strictly in sequence, the outcome can't
depend on how the host happens to batch the writes, which a delta channel needs when it replays them.

A step writes a message or two into a conversation of any length, so looking at every old message would
make a long conversation slow. The result is therefore a list that remembers where each id stands. What it
remembers is checked whenever it is used, and made anew by a scan when it can't be relied on. What is left
to do per write, apart from the work on the new messages, is to copy the list.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Known to be complete as they are; asking these two questions by isinstance costs more than all the rest.
_COMPLETE = frozenset({AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage})


class _Places:
    """Every place at which an id was put in any of the lists that share this; see :class:`MessageList`."""

    __slots__ = ("by_id", "pending")

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.by_id: dict[str, list[int]] = {}
        # Messages that had no id when they were put, which the host gives them afterwards: it tries the
        # writes of a step to choose an edge before it stamps and applies them. The objects are kept, not only
        # their places, so that each is entered once it has an id, whichever branch looks first.
        self.pending: dict[tuple[int, int], BaseMessage] = {}
        for place, message in enumerate(messages):
            self.add(message, place)

    def add(self, message: BaseMessage, place: int) -> None:
        """Note that a message was put at *place*."""
        # Single steps of dictionaries and lists, for branches that run in several threads.
        if not message.id:
            self.pending[id(message), place] = message
            return
        places = self.by_id.setdefault(message.id, [])
        if place not in places:
            places.append(place)

    def at(self, message_id: str) -> Sequence[int]:
        """The places at which an id was put."""
        for key, message in [*self.pending.items()] if self.pending else ():
            if message.id:
                self.add(message, key[1])
                self.pending.pop(key, None)
        return self.by_id.get(message_id, ())


class MessageList(list[BaseMessage]):
    """A list of messages that remembers where each id stands.

    In all else a plain list: it compares as one, and deep copies, pickles and serializes to one. Anyone who
    changes it in place only makes it forget.

    The memory is shared with the lists that grow from this one: with what becomes the next state, but also
    with what a branch of the thread makes of it, or the host when it tries a step's writes to choose an
    edge. Each adds the places at which it puts ids; none is ever taken out. Hence every id of this list is
    at one of its places in the memory, and whether it is at a given one is seen by looking there.

    Not noticed is an id that is *changed* to another one in a message that is already in the list; a replay
    of the thread from its checkpoints would not know of it either.
    """

    __slots__ = ("_places",)

    def __init__(self, messages: Iterable[BaseMessage] = (), *, places: _Places | None = None) -> None:
        super().__init__(messages)
        self._places = places

    def __copy__(self) -> MessageList:
        # list.copy gives a plain list, and that the constructor copies as a block; a subclass it iterates.
        return MessageList(self.copy(), places=self._places)

    def __reduce_ex__(self, _protocol: object) -> tuple[type[list[Any]], tuple[list[BaseMessage]]]:
        # Deep copies and pickles are plain lists: the memory is worth nothing elsewhere.
        return (list, (self.copy(),))

    def grown(self) -> MessageList | None:
        """A copy to add to, or ``None`` if the memory is lost."""
        return None if self._places is None else MessageList(self.copy(), places=self._places)

    def find(self, message_id: str | None) -> int | None:
        """The place of the message with this id, of several the last."""
        if not message_id:
            return None
        places = self._memory().at(message_id)
        here = [place for place in places if place < len(self) and self[place].id == message_id]
        return max(here, default=None)

    def put(self, message: BaseMessage) -> None:
        """Replace the message with the same id, or append."""
        place = self.find(message.id)
        if place is None:
            self._memory().add(message, len(self))
            list.append(self, message)
        else:
            list.__setitem__(self, place, message)

    def _memory(self) -> _Places:
        if self._places is None:
            self._places = _Places(self)
        return self._places


def _forgetting(name: str) -> Any:
    method = getattr(list, name)

    @functools.wraps(method)
    def change(self: MessageList, *args: Any, **kwargs: Any) -> Any:
        self._places = None
        return method(self, *args, **kwargs)

    return change


for _name in (
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    *("__delitem__", "__iadd__", "__imul__", "__setitem__"),
):
    setattr(MessageList, _name, _forgetting(_name))


def messages_reducer(state: Sequence[Any] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """Apply *writes*, in order, to a conversation.

    ``messages_reducer(messages_reducer(s, xs), ys) == messages_reducer(s, xs + ys)`` for every split. No
    argument is changed. Ids are never made here: the reducer runs again on replay, and a new id would
    differ from the one in the checkpoint.

    Args:
        state: the messages so far; ``None`` stands for none. Raw forms and chunks in it are converted.
        writes: each a list of messages or one message. A message may be a message object, a dict, a string,
            or a ``(role, text)`` pair. An empty id counts as none.

    Returns:
        A new list.

    Raises:
        NotImplementedError: something is not a message in any known form.
        ValueError: a dict or a pair looks like a message but names an unknown role or lacks a part.
    """
    incoming = _incoming(writes)
    start = _behind_last_reset(incoming)
    messages = MessageList() if start else _base(state)
    for position, message in enumerate(incoming[start:], start):
        if not isinstance(message, RemoveMessage):
            messages.put(message)
        elif messages.find(message.id) is not None:
            messages = _with_removals(messages, incoming[position:])
            break
    return cast("list[AnyMessage]", messages)


def _incoming(writes: Sequence[Any]) -> list[BaseMessage]:
    flat: list[Any] = []
    for write in writes:
        if isinstance(write, list):
            flat.extend(write)
        else:
            flat.append(write)
    return _complete(flat)


def _behind_last_reset(messages: Sequence[BaseMessage]) -> int:
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, RemoveMessage) and message.id == REMOVE_ALL_MESSAGES:
            return place + 1
    return 0


def _base(state: Sequence[Any] | None) -> MessageList:
    grown = state.grown() if isinstance(state, MessageList) else None
    return MessageList(_complete(state or ())) if grown is None else grown


def _with_removals(messages: Sequence[BaseMessage], writes: Sequence[BaseMessage]) -> MessageList:
    """The rest of a batch from the first removal on, in time linear in the conversation.

    Removing shifts what stands behind, so the memory is no use; the holes are closed once, at the end.
    """
    slots: list[BaseMessage | None] = list(messages)
    places: dict[str, list[int]] = {}
    for place, message in enumerate(messages):
        if message.id:
            places.setdefault(message.id, []).append(place)
    for message in writes:
        if isinstance(message, RemoveMessage):
            # All copies of an id that stands twice: what a caller removed must not show up again.
            for place in places.pop(message.id or "", ()):
                slots[place] = None
        elif message.id and message.id in places:
            slots[places[message.id][-1]] = message
        else:
            if message.id:
                places[message.id] = [len(slots)]
            slots.append(message)
    kept = [message for message in slots if message is not None]
    return MessageList(kept, places=_Places(kept))


def _complete(items: Iterable[Any]) -> list[BaseMessage]:
    """Every item as a full message: raw forms converted, chunks of a stream closed."""
    return [item if type(item) in _COMPLETE else _as_message(item) for item in items]


def _as_message(item: Any) -> BaseMessage:
    if isinstance(item, BaseMessageChunk):
        return message_chunk_to_message(item)
    if isinstance(item, BaseMessage):
        return item
    # A pair that has been through a checkpoint or JSON is a list; any other list within a list is a mistake.
    if isinstance(item, list) and not (len(item) == 2 and all(isinstance(part, str) for part in item)):
        raise NotImplementedError(
            f"messages are written as a list or one by one, not as a list within a list: {str(item)[:200]}"
        )
    return convert_to_messages([item])[0]
