"""Stacks that are alike are structured, constructed and verified once.

Thirty sub-agents that differ in name, description and prompt have thirty equal stacks, often equal to that
of the general-purpose one. Every plugin is asked about each of them all the same, since it may treat one
differently; but where all of them give the very same slots (the same ``MiddlewareSpec`` objects) to a stack
of the same model, profile, tools and rules, the outcome is that of the first one. Its instances are used
again only where each slot's owner says that they may be (``MiddlewareSpec.shared``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from deepagents_kernel.assembly.context import Contribution, StackContext
    from deepagents_kernel.assembly.plan import Entry
    from deepagents_kernel.assembly.specs import ChildStack
    from deepagents_kernel.assembly.structure import Structure


@define(eq=False)
class Pattern:
    """What stacks that are alike have in common.

    Attributes:
        structure: that of the first one.
        entries: its constructed and verified entries, if others may share them.
        state_schema: the schema that they were verified with.
    """

    structure: Structure
    entries: tuple[Entry, ...] | None = None
    state_schema: type | None = None


@define(eq=False)
class Patterns:
    """The patterns of one plan."""

    _known: dict[Hashable, Pattern] = field(factory=dict)
    # The keys are made of ids, which are good only while the objects live.
    _kept: list[Any] = field(factory=list)

    def find(self, key: Hashable | None) -> Pattern | None:
        """The pattern of a stack, if one like it was structured before."""
        return None if key is None else self._known.get(key)

    def learn(
        self,
        key: Hashable | None,
        context: StackContext,
        structure: Structure,
        slots: Sequence[Contribution],
    ) -> Pattern | None:
        """Keep the structure of a stack for others that are like it; one with problems is no example."""
        if key is None or structure.problems:
            return None
        self._kept += [context, *slots]
        pattern = self._known[key] = Pattern(structure)
        return pattern


def likeness(context: StackContext, child: ChildStack, slots: Sequence[Contribution]) -> Hashable | None:
    """A key that two stacks have in common only if they are alike; ``None`` for one that is like no other.

    Args:
        context: the stack; everything in it that a slot may depend on goes into the key, but not the kind,
            the name, the path and the spec: what a plugin makes of those shows in the slots that it gives.
        child: what was asked for.
        slots: the answers of the plugins.
    """
    if context.parent is None or context.middleware or context.children:
        return None
    if child.inherit != "none" and context.parent.middleware:
        return None
    if context.profile.profile.extra_middleware:
        return None
    return (
        id(context.parent),
        id(context.model),
        id(context.profile),
        tuple(map(id, context.tools)),
        _ids(context.skills),
        _ids(context.memory),
        _ids(context.permissions),
        id(context.interrupt_on),
        id(context.response_format),
        tuple(id(item.value) for item in slots),
    )


def _ids(values: Sequence[Any] | None) -> tuple[int, ...] | None:
    # Values of any kind, hashable or not; equal ones that are not the same make a stack of its own at worst.
    return None if values is None else tuple(map(id, values))


def shareable(entries: Sequence[Entry]) -> bool:
    """Whether every instance of a stack may stand in another stack that is alike."""
    return all(
        entry.spec is not None and entry.spec.shared and entry.origin in ("plugin", "replacement")
        for entry in entries
    )
