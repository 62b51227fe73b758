"""One-shot flags that reset with each turn, and updates of several behaviours made one.

A flag is a private state key that holds the keys of turns, one for each time that the behaviour acted in
it. Only those of the latest turn are kept, so a flag stays small however long the thread lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel.behaviour.turns import Turn


def fired(state: Mapping[str, Any], flag: str, turn: Turn) -> int:
    """How often a behaviour has acted in a turn.

    Args:
        state: the state of the graph.
        flag: the behaviour's state key.
        turn: the turn that is asked about.
    """
    value = state.get(flag)
    # Anything else was written by something else; it says nothing about this turn.
    return value.count(turn.key) if isinstance(value, list) else 0


def flag_update(state: Mapping[str, Any], flag: str, turn: Turn) -> dict[str, list[str]]:
    """The state update that notes that a behaviour acts once more in this turn.

    Args:
        state: the state of the graph.
        flag: the behaviour's state key.
        turn: the present turn.
    """
    return {flag: [turn.key] * (fired(state, flag, turn) + 1)}


def merge_updates(*updates: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Several state updates as one: messages one after another, of any other key the last value.

    Args:
        *updates: the updates; ``None`` for a behaviour that has nothing to say.

    Returns:
        The update, ``None`` if there is nothing in it.
    """
    merged: dict[str, Any] = {}
    messages: list[Any] = []
    for update in updates:
        for key, value in (update or {}).items():
            if key == "messages":
                messages.extend(value)
            else:
                merged[key] = value
    if messages:
        merged["messages"] = messages
    return merged or None
