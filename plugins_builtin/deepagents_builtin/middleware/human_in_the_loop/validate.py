"""Look over a finished plan: is every approval that is wanted asked for, does every name mean a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_builtin.middleware.human_in_the_loop.approvals import (
    SLOT,
    collect_demands,
    merged_approvals,
)
from deepagents_builtin.middleware.human_in_the_loop.unasked import unasked
from deepagents_kernel.errors import PlanError, Problem, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deepagents_builtin.middleware.human_in_the_loop.approvals import Demand
    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import AgentPlan, StackPlan


def plan_problems(plan: AgentPlan) -> Iterator[Problem]:
    """Approvals that nobody would ask for (errors) and approvals of tools that don't exist (warnings)."""
    accepted: list[tuple[StackPlan, Mapping[str, Demand]]] = []
    inherited: dict[str, tuple[Any, ...]] = {}  # by path; a parent comes before its children
    for stack in plan.stacks():
        context = stack.context
        for child in context.children:
            if child.inherit == "all":
                inherited[f"{stack.path}/{child.name}"] = context.middleware
        demands = _accepted(context)
        if demands is None or not (demands or _callers_say(stack, inherited)):
            continue  # refused already, or nobody asks for anything here
        accepted.append((stack, demands))
        yield from unasked(stack, demands, inherited.get(stack.path, ()))
        if context.parent is None or "interrupt_on" in context.spec:
            yield from _unknown_tools(stack)
    yield from _unknown_demands(plan, accepted)


def _callers_say(stack: StackPlan, inherited: Mapping[str, Any]) -> bool:
    """Whether a caller may have said something about approvals, in ``interrupt_on`` or with a middleware."""
    return bool(stack.context.interrupt_on or stack.context.middleware or stack.path in inherited)


def _accepted(context: StackContext) -> Mapping[str, Demand] | None:
    """What rules demand of a stack; ``None`` if that, or the caller's answer to it, was refused already."""
    try:
        demands = collect_demands(context)
        merged_approvals(context, demands)
    except PlanError:
        # The slot was planned from the same, so this has been reported there.
        return None
    return demands


def _unknown_tools(stack: StackPlan) -> Iterator[Problem]:
    names = list(stack.context.interrupt_on or {})
    if not names:
        return
    known = _tools(_scope(stack))
    for name in names:
        if name not in known:
            yield Problem(
                f"interrupt_on names {name!r}, and no tool has that name",
                stack=stack.path,
                entry=SLOT,
                hint=nearest_hint(name, known),
                severity="warning",
            )


def _unknown_demands(
    plan: AgentPlan, accepted: list[tuple[StackPlan, Mapping[str, Demand]]]
) -> Iterator[Problem]:
    # Rules are written for every agent, and most of them for every stack: one that has the tool will do.
    if not any(demands for _, demands in accepted):
        return
    known = _tools(plan.stacks())
    told: set[tuple[str, tuple[str, ...]]] = set()
    for stack, demands in accepted:
        for tool, demand in demands.items():
            if tool in known or (tool, demand.plugins) in told:
                continue
            told.add((tool, demand.plugins))
            yield Problem(
                f"rules of {demand.origin} demand an approval of {tool!r}, and no tool has that name",
                stack=stack.path,
                entry=SLOT,
                plugin=", ".join(demand.plugins),
                hint=nearest_hint(tool, known),
                severity="warning",
            )


def _tools(stacks: Iterator[StackPlan]) -> set[str]:
    from deepagents_kernel.assembly.tools import stack_tool_names

    return {tool for stack in stacks for tool in stack_tool_names(stack)}


def _scope(stack: StackPlan) -> Iterator[StackPlan]:
    """The stack and those below that inherit its ``interrupt_on``: a name may mean a tool of theirs alone."""
    yield stack
    for child in stack.children:
        if "interrupt_on" not in child.context.spec:
            yield from _scope(child)
