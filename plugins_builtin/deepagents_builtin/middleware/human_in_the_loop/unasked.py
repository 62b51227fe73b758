"""Approvals that rules or the caller want in a stack, and that nothing in it would ask for.

Whatever took the approval stage away (an exclusion of a profile, another plugin, another middleware of its
name), without this check the calls would run in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

from deepagents_builtin.middleware.human_in_the_loop.approvals import SLOT
from deepagents_builtin.middleware.human_in_the_loop.configs import resolve
from deepagents_kernel.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deepagents_builtin.middleware.human_in_the_loop.approvals import Demand
    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import StackPlan

Stage = HumanInTheLoopMiddleware[Any, Any, Any]


def unasked(
    stack: StackPlan, demands: Mapping[str, Demand], inherited: Sequence[Any] = ()
) -> Iterator[Problem]:
    """An error for each demand, and for each source of the caller's, that the stack does not ask for.

    Tools that the profile excludes are passed over: their calls are refused. So are names of the caller's
    that no tool of the stack has; rules may know of tools that come into being only at run time.

    Args:
        stack: the finished stack.
        demands: what rules demand of it; every approval in it and in ``interrupt_on`` is well-formed.
        inherited: middleware that the caller gave to a stack above, and that comes down to this one.
    """
    asked = {
        tool for stage in _stages(entry.instance for entry in stack.entries) for tool in stage.interrupt_on
    }
    settled = asked | stack.context.profile.profile.excluded_tools
    for tool, demand in demands.items():
        if tool not in settled:
            yield Problem(
                f"rules of {demand.origin} demand an approval of {tool!r}, "
                f"and nothing here would ask for it{_reason(stack)}",
                stack=stack.path,
                entry=SLOT,
                plugin=", ".join(demand.plugins),
                hint=f"leave {SLOT} in its place, or change the rules to allow or deny",
            )
    yield from _callers(stack, inherited, settled.union(demands))


def _callers(stack: StackPlan, inherited: Sequence[Any], settled: set[str]) -> Iterator[Problem]:
    lost: dict[str, list[str]] = {}
    for tool, source in _wishes(stack.context, inherited).items():
        if tool not in settled:
            lost.setdefault(source, []).append(tool)
    if not lost:
        return
    from deepagents_kernel.assembly.tools import stack_tool_names

    known = set(stack_tool_names(stack))
    for source, tools in lost.items():
        names = ", ".join(repr(tool) for tool in sorted(tools) if tool in known)
        if names:
            yield Problem(
                f"{source} wants approvals of {names}, and nothing here would ask for them{_reason(stack)}",
                stack=stack.path,
                entry=SLOT,
                hint=f"leave {SLOT} in its place; if nobody has to be asked, say so in {source}",
            )


def _wishes(context: StackContext, inherited: Sequence[Any]) -> dict[str, str]:
    """The tools that the caller wants a person to approve, each with where that was said."""
    wishes = {
        tool: "interrupt_on"
        for tool, value in (context.interrupt_on or {}).items()
        if resolve(value) is not None
    }
    own = {getattr(item, "name", None) for item in context.middleware}
    given = (*context.middleware, *(item for item in inherited if getattr(item, "name", None) not in own))
    for stage in _stages(given):
        for tool in stage.interrupt_on:
            wishes.setdefault(tool, f"the {type(stage).__name__} that was passed")
    return wishes


def _stages(middleware: Iterable[Any]) -> Iterator[Stage]:
    for item in middleware:
        if isinstance(item, HumanInTheLoopMiddleware):
            yield item


def _reason(stack: StackPlan) -> str:
    """What became of the approval stage, as the end of a sentence; empty if that can't be told."""
    for entry in stack.entries:
        if entry.slot == SLOT and entry.origin != "plugin":
            cls = type(entry.instance)
            return f": {entry.source} put {cls.__module__}.{cls.__qualname__} in the place of {SLOT}"
    for item in stack.dropped:
        if item.name == SLOT or issubclass(item.cls, HumanInTheLoopMiddleware):
            return f": {item.name} was {item.reason}"
    return ""
