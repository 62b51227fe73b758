"""What ``deepagents_plan_modify`` works on: the entries of a stack, to be moved or annotated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from deepagents_kernel.errors import PlanError, PlanTypeError, Problem, nearest_hint

if TYPE_CHECKING:
    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import Entry


class StackDraft:
    """The entries of a stack before anything is constructed.

    Entries can be moved within their segment and annotated; they can't be added, removed or replaced, which
    is what ``deepagents_middleware`` and exclusions are for. The guard is not among them.
    """

    def __init__(self, context: StackContext, entries: tuple[Entry, ...]) -> None:
        self._context = context
        self._entries = list(entries)
        self._moved: list[str] = []

    @property
    def context(self) -> StackContext:
        """The stack being planned."""
        return self._context

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries as they stand now."""
        return tuple(self._entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(entry.name for entry in self._entries)

    def move(self, name: str, *, before: str = "", after: str = "") -> None:
        """Put an entry just before, or just after, another one of its segment.

        Args:
            name: the entry to move.
            before: the entry that shall follow it.
            after: the entry that shall precede it; exactly one of the two is given.

        Raises:
            PlanError: no such entry, or the other one is in another segment.
        """
        target = before or after
        if bool(before) == bool(after):
            raise PlanError(Problem(f"move({name!r}) takes either before= or after="))
        entry = self._entries[self._index(name)]
        other = self._entries[self._index(target)]
        if entry.segment is not other.segment:
            here, there = entry.segment.name.lower(), other.segment.name.lower()
            text = f"{name} ({here}) can't move next to {target} ({there})"
            raise PlanError(Problem(text, entry=name, hint="segments never mix"))
        if entry is other:
            return
        self._entries.remove(entry)
        self._entries.insert(self._index(target) + bool(after), entry)
        self._moved.append(entry.name)

    def annotate(self, name: str, note: str) -> None:
        """Add a note to an entry, which the plan shows.

        Raises:
            PlanError: no such entry.
        """
        if not isinstance(note, str):
            raise PlanTypeError(Problem(f"a note of {name} is {note!r:.60}, not a text", entry=name))
        index = self._index(name)
        entry = self._entries[index]
        self._entries[index] = evolve(entry, notes=(*entry.notes, note))

    def sign_moves(self, plugin: str) -> None:
        """Note on the entries moved since the last call who moved them; the planner calls this."""
        for name in dict.fromkeys(self._moved):
            self.annotate(name, f"moved by {plugin}")
        self._moved.clear()

    def _index(self, name: str) -> int:
        for index, entry in enumerate(self._entries):
            if name in (entry.name, entry.slot):
                return index
        raise PlanError(
            Problem(f"no middleware named {name!r} in this stack", hint=nearest_hint(name, self.names))
        )
