"""How deep and how wide delegation may go."""

from __future__ import annotations

import contextlib
import contextvars
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# A context variable and not a config key: it follows the child through threads and tasks, on every graph, and
# leaves the child's config as it would be without us.
_depth: contextvars.ContextVar[int] = contextvars.ContextVar("deepagents_subagent_depth", default=0)


def depth() -> int:
    """How many delegations the present code is inside of."""
    return _depth.get()


@contextlib.contextmanager
def one_deeper() -> Iterator[None]:
    """Whatever runs inside belongs to a child."""
    token = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(token)


@frozen
class Turn:
    """The model turn that a call belongs to.

    Attributes:
        message_id: id of the assistant message, or an empty string.
        calls: ids of its ``task`` calls, in order.
    """

    message_id: str = ""
    calls: tuple[str, ...] = ()

    def position(self, call_id: str) -> int:
        """Place of a call among the ``task`` calls of the turn; 0 for a call that is not from a model."""
        return self.calls.index(call_id) if call_id in self.calls else 0


def turn_of(state: Mapping[str, Any], tool: str) -> Turn:
    """The turn that is being carried out: the last assistant message, normally the very last message."""
    messages: Sequence[Any] = state.get("messages") or ()
    for message in reversed(messages):
        calls = getattr(message, "tool_calls", None)
        if getattr(message, "type", "") in {"ai", "AIMessageChunk"}:
            found = tuple(str(call["id"]) for call in calls or () if call["name"] == tool)
            return Turn(str(message.id or ""), found)
    return Turn()
