"""Put the slots of a stack in order: by segment, then by what they ask for, else as they came.

Whoever states a constraint moves, not the middleware it names. An entry with ``before=T`` that stands behind
``T`` takes a place just ahead of it, and whatever has to precede the entry comes along; an entry with
``after=T`` that stands ahead of ``T`` waits and follows it. An entry whose wish is fulfilled already stays
where it is, so users see only the moves they asked for. (A level-by-level topological order, such as that of
``graphlib``, would shuffle bystanders.)
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from deepagents_kernel.assembly.specs import Segment
from deepagents_kernel.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_kernel.assembly.plan import Entry
    from deepagents_kernel.assembly.specs import MiddlewareSpec

# Where an entry is heading: index of the entry that it stands at, how far ahead of that one, its own index.
_Key = tuple[int, int, int]


def arrange(entries: Sequence[Entry], guard_name: str = "") -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """The entries in order, and the constraints that can't be met.

    Args:
        entries: in natural order; the order of segments need not be right.
        guard_name: name of the guard middleware, for the error about coming after it.
    """
    if not _wishes(entries):
        return tuple(sorted(entries, key=_segment)), ()
    problems = [*_segment_problems(entries, guard_name)]
    ordered: list[Entry] = []
    for segment in Segment:
        members = [entry for entry in entries if entry.segment is segment]
        edges = constraint_edges(members)
        cycle = _cycle(members, edges)
        if cycle:
            problems.append(_cycle_problem(cycle))
            ordered += members
        else:
            ordered += _sort(members, edges)
    return tuple(ordered), tuple(problems)


def constraint_edges(entries: Sequence[Entry]) -> list[tuple[int, int, int]]:
    """``(earlier, later, declarer)`` for every constraint between two of *entries*, by index."""
    wishes = _wishes(entries)
    if not wishes:
        return []
    index = {name: position for position, entry in enumerate(entries) for name in (entry.name, entry.slot)}
    edges = []
    for position, _, spec in wishes:
        earlier = [index[name] for name in spec.after if name in index]
        later = [index[name] for name in spec.before if name in index]
        edges += [(other, position, position) for other in earlier if other != position]
        edges += [(position, other, position) for other in later if other != position]
    return edges


def _segment(entry: Entry) -> Segment:
    return entry.segment


def _wishes(entries: Sequence[Entry]) -> list[tuple[int, Entry, MiddlewareSpec]]:
    """The entries with a constraint; most stacks have none, and every stack is asked several times."""
    return [
        (position, entry, entry.spec)
        for position, entry in enumerate(entries)
        if entry.spec is not None and (entry.spec.after or entry.spec.before)
    ]


def _sort(entries: Sequence[Entry], edges: Sequence[tuple[int, int, int]]) -> list[Entry]:
    if not edges:
        return list(entries)
    keys = _keys(len(entries), edges)
    followers: dict[int, list[int]] = {}
    waiting = [0] * len(entries)
    for earlier, later, _ in set(edges):
        followers.setdefault(earlier, []).append(later)
        waiting[later] += 1
    ready = [(keys[position], position) for position in range(len(entries)) if not waiting[position]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, position = heapq.heappop(ready)
        ordered.append(entries[position])
        for later in followers.get(position, ()):
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (keys[later], later))
    return ordered


def _keys(count: int, edges: Sequence[tuple[int, int, int]]) -> list[_Key]:
    keys: list[_Key] = [(position, 0, position) for position in range(count)]
    changed = True
    # Terminates: there is no cycle, so a key is lowered at most once for each step of the longest path.
    while changed:
        changed = False
        for earlier, later, declarer in edges:
            asked_for = declarer == earlier
            moved = keys[later][1] < 0
            if not asked_for and not moved:
                continue
            anchor, level, _ = keys[later]
            ahead: _Key = (anchor, level - 1, earlier)
            if ahead < keys[earlier]:
                keys[earlier] = ahead
                changed = True
    return keys


def _cycle(entries: Sequence[Entry], edges: Sequence[tuple[int, int, int]]) -> list[Entry]:
    """A cycle of constraints as the entries on it, or an empty list."""
    followers: dict[int, list[int]] = {}
    for earlier, later, _ in edges:
        followers.setdefault(earlier, []).append(later)
    done: set[int] = set()
    for start in sorted(followers):
        path: list[int] = []
        on_path: set[int] = set()
        stack: list[tuple[int, int]] = [(start, 0)]
        while stack:
            position, step = stack.pop()
            if step == 0:
                if position in done:
                    continue
                if position in on_path:
                    return [entries[item] for item in path[path.index(position) :]]
                path.append(position)
                on_path.add(position)
            nexts = followers.get(position, [])
            if step < len(nexts):
                stack += [(position, step + 1), (nexts[step], 0)]
            else:
                done.add(position)
                on_path.discard(path.pop())
    return []


def _cycle_problem(cycle: Sequence[Entry]) -> Problem:
    names = [entry.name for entry in (*cycle, cycle[0])]
    plugins = sorted({entry.plugin for entry in cycle if entry.plugin})
    return Problem(
        f"constraints form a cycle: {' -> '.join(names)}",
        entry=cycle[0].name,
        plugin=", ".join(plugins),
        hint="drop one of the after= or before= that these plugins declare",
    )


def _segment_problems(entries: Sequence[Entry], guard_name: str) -> list[Problem]:
    by_name = {name: entry for entry in entries for name in (entry.name, entry.slot)}
    problems = []
    for _, entry, spec in _wishes(entries):
        if guard_name and guard_name in spec.after:
            hint = f"drop after=({guard_name!r},); nothing can come after the guard"
            text = f"{entry.name} asks to come after the guard ({guard_name})"
            problems.append(Problem(text, entry=entry.name, plugin=entry.plugin, hint=hint))
        for word, names, sign in (("after", spec.after, 1), ("before", spec.before, -1)):
            for name in names:
                target = by_name.get(name)
                if target is not None and (target.segment - entry.segment) * sign > 0:
                    problems.append(_contradiction(entry, word, target))
    return problems


def _contradiction(entry: Entry, word: str, target: Entry) -> Problem:
    return Problem(
        f"{entry.name} is in segment {entry.segment.name.lower()} and asks to come {word} {target.name}, "
        f"which is in segment {target.segment.name.lower()}",
        entry=entry.name,
        plugin=entry.plugin,
        hint=f"segments never mix: give it segment={target.segment.name}, or drop the constraint",
    )
