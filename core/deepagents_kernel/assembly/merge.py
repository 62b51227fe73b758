"""Merge what a caller passed, and what a child inherits, into the slots of a stack, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from attrs import frozen

from deepagents_kernel.assembly.collect import fill, given_entry, not_middleware
from deepagents_kernel.assembly.specs import Segment
from deepagents_kernel.errors import PlanTypeError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_kernel.assembly.plan import Entry

Origin = Literal["caller", "inherited"]


@frozen(eq=False)
class Given:
    """One middleware that somebody passed, with its name, which is read once."""

    middleware: Any
    name: str
    origin: Origin
    source: str


def given(
    sequence: Sequence[Any], origin: Origin, source: str, guard_name: str
) -> tuple[tuple[Given, ...], tuple[Problem, ...]]:
    """Read the names of middleware that somebody passed; what is not middleware is a problem."""
    from langchain.agents.middleware import AgentMiddleware

    found = []
    problems = []
    for middleware in sequence:
        if not isinstance(middleware, AgentMiddleware):
            problems.append(not_middleware(middleware, source))
            continue
        try:
            name = middleware.name
        except Exception as error:
            text = f"{type(middleware).__name__}.name raised {type(error).__name__}: {error}"
            problems.append(Problem(text, cause=error))
            continue
        if not isinstance(name, str) or not name:
            text = f"{type(middleware).__name__}.name is {name!r:.60}, not a name ({source})"
            problems.append(Problem(text, hint="a name is a string that is not empty", error=PlanTypeError))
            continue
        if guard_name and name == guard_name:
            hint = "give the middleware a name of its own; to hide tools use the profile's excluded_tools"
            problems.append(Problem(f"{name} is the guard's name ({source})", entry=name, hint=hint))
            continue
        found.append(Given(middleware, name, origin, source))
    return tuple(found), tuple(problems)


def merge(entries: Sequence[Entry], items: Sequence[Given]) -> tuple[Entry, ...]:
    """Fill slots by name, the last of one name winning; new names join the end of the user segment.

    Args:
        entries: the slots, vacant ones included.
        items: what was passed: inherited first, then the stack's own. An own middleware replaces an inherited
            one of its name at that one's position. Two new middleware of one name both stand in the result:
            an exclusion may remove one of them, and if none does the final check names both.
    """
    if not items:
        return tuple(entries)
    slots = {name for entry in entries for name in (entry.name, entry.slot)}
    fillers = {item.name: item for item in items if item.name in slots}
    own = {item.name: item for item in items if item.origin == "caller"}
    novel: list[Given] = []
    for item in items:
        if item.name in slots or (item.origin == "caller" and item in novel):
            continue
        replacement = own.get(item.name) if item.origin == "inherited" else None
        novel.append(replacement or item)
    merged = [_filled(entry, fillers) for entry in entries]
    added = [
        given_entry(item.middleware, item.name, Segment.USER, item.origin, item.source) for item in novel
    ]
    cut = sum(entry.segment <= Segment.USER for entry in merged)
    return (*merged[:cut], *added, *merged[cut:])


def heritable_names(entries: Sequence[Entry]) -> frozenset[str]:
    """Names whose replacement a child takes over from its parent's caller."""
    return frozenset(
        name
        for entry in entries
        if entry.spec is None or entry.spec.heritable
        for name in (entry.name, entry.slot)
    )


def _filled(entry: Entry, fillers: dict[str, Given]) -> Entry:
    item = fillers.get(entry.slot) or fillers.get(entry.name)
    if item is None:
        return entry
    return fill(entry, given_entry(item.middleware, item.name, entry.segment, item.origin, item.source))
