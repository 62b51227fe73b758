"""How the parent's graph merges an update into a state key, and the smallest update that has the effect.

A child hands back its whole value of a key. Where the parent's reducer adds, the part that the child
inherited would come in twice; where it merges mappings, entries that the child never touched would undo what
a sibling changed. So the update is cut down to what is new wherever the parent's own channel, tried on a
copy, comes out with the child's value.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.channels.last_value import LastValue
from langgraph.graph import StateGraph

if TYPE_CHECKING:
    from langgraph.channels.base import BaseChannel


class ParentChannels:
    """The channels of an agent's state, read from its schemas when they are first needed.

    Args:
        schemas: in the order in which the agent merges them, the last one wins.
    """

    def __init__(self, schemas: Sequence[type] = ()) -> None:
        self._schemas = tuple(dict.fromkeys(schemas))

    @cached_property
    def _channels(self) -> dict[str, BaseChannel[Any, Any, Any]]:
        found: dict[str, BaseChannel[Any, Any, Any]] = {}
        for schema in self._schemas:
            try:
                found.update(StateGraph(schema).channels)
            except Exception:  # noqa: S112 - an unreadable schema is reported where the agent is compiled
                continue
        return found

    def single(self, key: str) -> bool:
        """Whether the key is known to take one value a step."""
        return isinstance(self._channels.get(key), LastValue | EphemeralValue)

    def update(self, key: str, inherited: Any, value: Any) -> Any:
        """What to send so that the parent, who had *inherited*, has *value* afterwards."""
        channel = self._channels.get(key)
        if channel is None or isinstance(channel, LastValue):
            return value
        for part in _parts(inherited, value):
            if _yields(channel, inherited, part, value):
                return part
        return value


def _parts(inherited: Any, value: Any) -> Iterator[Any]:
    """Smaller updates that may do: what was appended, or the entries that changed."""
    if isinstance(value, list) and isinstance(inherited, list) and 0 < len(inherited) < len(value):
        yield value[len(inherited) :]
    elif isinstance(value, Mapping) and isinstance(inherited, Mapping) and inherited:
        changed = {
            key: item for key, item in value.items() if key not in inherited or not same(item, inherited[key])
        }
        yield changed
        removed = [key for key in inherited if key not in value]
        if removed:
            yield {**changed, **dict.fromkeys(removed)}


def _yields(channel: BaseChannel[Any, Any, Any], inherited: Any, part: Any, value: Any) -> bool:
    try:
        trial = channel.from_checkpoint(copy.copy(inherited))
        trial.update([part])
        return same(trial.get(), value)
    except Exception:  # a reducer that can't take the part simply gets the whole value
        return False


def same(one: Any, other: Any) -> bool:
    """Whether two values are one object, or equal beyond doubt."""
    if one is other:
        return True
    try:
        return (one == other) is True
    except Exception:  # arrays and the like refuse: counts as different
        return False
