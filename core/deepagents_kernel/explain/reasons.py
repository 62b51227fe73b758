"""Why an entry stands where it does, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.assembly.specs import Segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel.assembly.plan import Entry, StackPlan
    from deepagents_kernel.plugins.info import PluginRecord


def why_here(entry: Entry, stack: StackPlan, plugins: Mapping[str, PluginRecord]) -> str:
    """The rule that put *entry* at its place: a constraint that it states, or its segment's order."""
    if entry.segment is Segment.GUARD:
        return "nothing can come after the guard"
    if entry.slot != entry.name:
        return f"takes the place of {entry.slot}"
    stated = _constraints(entry, stack)
    if stated:
        return stated
    return _by_segment(entry, plugins)


def _constraints(entry: Entry, stack: StackPlan) -> str:
    if entry.spec is None:
        return ""
    present = {other.slot for other in stack.entries} | {other.name for other in stack.entries}
    parts = [
        f"{word} {', '.join(names)}"
        for word, wanted in (("after", entry.spec.after), ("before", entry.spec.before))
        if (names := [name for name in wanted if name in present])
    ]
    return f"asks to be {' and '.join(parts)}" if parts else ""


def _by_segment(entry: Entry, plugins: Mapping[str, PluginRecord]) -> str:
    if entry.plugin:
        record = plugins.get(entry.plugin)
        if record is not None and record.builtin:
            return "place in the default order"
        if entry.segment is Segment.TAIL:
            return "opens the tail, behind what the profile adds"
        return f"end of the {entry.segment.name.lower()} segment, by plugin name"
    if entry.origin == "profile":
        return "the profile's additions open the tail"
    if entry.origin == "inherited":
        return "inherited, in the parent's order"
    return "in the caller's order, behind what plugins add"
