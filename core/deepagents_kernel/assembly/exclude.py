"""Apply a profile's middleware exclusions, in two passes, and audit that each one matched.

The first pass runs before the caller's middleware is merged, so that a caller can put something else into a
slot that the profile emptied by class; the second one afterwards, for what the caller brought. An exclusion
empties a slot and leaves it in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from deepagents_kernel.assembly.plan import Dropped, Entry
from deepagents_kernel.errors import Problem, nearest_hint
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.parts import pointless_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deepagents_kernel.profiles.lookup import ProfileRef

Exclusion = Any  # a middleware's name, or its exact class

_log = get_logger(__name__)


@frozen(eq=False)
class Excluded:
    """The outcome of one pass."""

    entries: tuple[Entry, ...]
    dropped: tuple[Dropped, ...]
    hits: frozenset[Exclusion]
    problems: tuple[Problem, ...]


def exclude(entries: Sequence[Entry], exclusions: Iterable[Exclusion], *, by: str) -> Excluded:
    """Empty the slots that *exclusions* match.

    Args:
        entries: the stack.
        exclusions: strings match ``.name``, classes match exactly.
        by: whose exclusions these are, for the reader.
    """
    wanted = sorted(exclusions, key=describe)
    if not wanted:
        return Excluded(tuple(entries), (), frozenset(), ())
    hits: set[Exclusion] = set()
    result: list[Entry] = []
    dropped: list[Dropped] = []
    problems: list[Problem] = []
    classes: dict[str, set[type]] = {}
    for entry in entries:
        matching = [exclusion for exclusion in wanted if matches(entry, exclusion)]
        hits.update(matching)
        if not matching or entry.vacant:
            result.append(entry)
            continue
        if entry.spec is not None and entry.spec.scaffolding:
            problems.append(_scaffolding(entry, matching[0], by))
            result.append(entry)
            continue
        for exclusion in matching:
            if isinstance(exclusion, str):
                classes.setdefault(exclusion, set()).add(entry.cls)
        reason = f"excluded by {by}"
        dropped.append(Dropped(entry.name, entry.cls, reason))
        result.append(evolve(entry, vacant=reason, instance=None, original=None))
    problems += [_collision(name, found, by) for name, found in classes.items() if len(found) > 1]
    if dropped:
        _log.debug("middleware_excluded", count=len(dropped), entries=[item.name for item in dropped], by=by)
    return Excluded(tuple(result), tuple(dropped), frozenset(hits), tuple(problems))


def matches(entry: Entry, exclusion: Exclusion) -> bool:
    """Whether *exclusion* means this entry."""
    if isinstance(exclusion, str):
        return exclusion in (entry.name, entry.slot)
    if entry.cls is exclusion:
        return True
    # A lazy stand-in is not of the class it stands for, which may not even be imported.
    stands_in = entry.origin in ("plugin", "replacement") and entry.spec is not None
    return stands_in and entry.spec is not None and _class_path(exclusion) in entry.spec.aliases


def describe(exclusion: Exclusion) -> str:
    """The exclusion as a reader would write it."""
    return exclusion if isinstance(exclusion, str) else exclusion.__name__


def unmatched(
    wanted: Iterable[Exclusion], hits: frozenset[Exclusion], *, by: str, stacks: Mapping[str, Sequence[str]]
) -> list[Problem]:
    """A problem for each exclusion that matched nothing in all the stacks that share a profile.

    Args:
        wanted: the profile's exclusions.
        hits: those that matched in some pass of some stack, empty conditional slots included.
        by: the profile, for the reader.
        stacks: path to the names that stood in that stack.
    """
    names = sorted({name for found in stacks.values() for name in found})
    problems = []
    for exclusion in sorted(set(wanted) - hits, key=describe):
        shown = repr(exclusion) if isinstance(exclusion, str) else f"class {_class_path(exclusion)}"
        problems.append(
            Problem(
                f"exclusion {shown} ({by}) matched nothing in {', '.join(stacks)}",
                entry=describe(exclusion),
                hint=nearest_hint(describe(exclusion), names) or f"middleware there: {', '.join(names)}",
            )
        )
    return problems


def pointless_restores(ref: ProfileRef) -> list[Problem]:
    """A warning for each entry that a layer of a profile takes back and no layer below it excludes."""
    if not (ref.profile.restored_tools or ref.profile.restored_middleware):
        return []
    return [
        Problem(
            f"{item.field} of profile {item.part.label} names {item.entry}, which no layer below excludes",
            plugin=item.part.owner,
            hint=item.hint,
            severity="warning",
        )
        for item in pointless_entries(ref.parts)
    ]


def _class_path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _scaffolding(entry: Entry, exclusion: Exclusion, by: str) -> Problem:
    return Problem(
        f"{describe(exclusion)} ({by}) would remove {entry.name}, which is scaffolding: "
        "it may be replaced, never removed",
        entry=entry.name,
        plugin=entry.plugin,
        hint="to hide its tools use excluded_tools; to change it pass a middleware of that name",
    )


def _collision(name: str, classes: Iterable[type], by: str) -> Problem:
    shown = ", ".join(sorted(_class_path(cls) for cls in classes))
    return Problem(
        f"exclusion {name!r} ({by}) matches middleware of several classes: {shown}",
        entry=name,
        hint="exclude the class that is meant instead of the name",
    )
