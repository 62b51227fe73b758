"""Look over a finished plan: is every demanded approval really asked for, does every name mean a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

from deepagents_builtin.middleware.human_in_the_loop.approvals import SLOT, collect_demands
from deepagents_kernel.errors import Problem, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.assembly.plan import AgentPlan, StackPlan


def plan_problems(plan: AgentPlan) -> Iterator[Problem]:
    """Approvals that nobody would ask for (errors) and approvals of tools that don't exist (warnings)."""
    for stack in plan.stacks():
        yield from _unasked(stack)
        if stack.context.parent is None or "interrupt_on" in stack.context.spec:
            yield from _unknown_tools(stack)


def _unasked(stack: StackPlan) -> Iterator[Problem]:
    # Whatever removed the slot (a profile's exclusion, a takeover), a demanded approval without an approval
    # stage would let the call through in silence.
    excluded = stack.context.profile.profile.excluded_tools
    asked = _asked_tools(stack)
    for tool, demand in collect_demands(stack.context).items():
        if tool not in asked and tool not in excluded:
            yield Problem(
                f"rules of {demand.origin} demand an approval of {tool!r}, and nothing here would ask for it",
                stack=stack.path,
                entry=SLOT,
                hint=f"don't exclude or take over {SLOT} here, or change the rules to allow or deny",
            )


def _asked_tools(stack: StackPlan) -> set[str]:
    stages: list[Any] = [
        entry.instance for entry in stack.entries if isinstance(entry.instance, HumanInTheLoopMiddleware)
    ]
    return {tool for stage in stages for tool in stage.interrupt_on}


def _unknown_tools(stack: StackPlan) -> Iterator[Problem]:
    from deepagents_kernel.assembly.tools import stack_tool_names

    names = list(stack.context.interrupt_on or {})
    if not names:
        return
    known = {tool for scope in _scope(stack) for tool in stack_tool_names(scope)}
    for name in names:
        if name not in known:
            yield Problem(
                f"interrupt_on names {name!r}, and no tool has that name",
                stack=stack.path,
                entry=SLOT,
                hint=nearest_hint(name, known),
                severity="warning",
            )


def _scope(stack: StackPlan) -> Iterator[StackPlan]:
    """The stack and those below that inherit its ``interrupt_on``: a name may mean a tool of theirs alone."""
    yield stack
    for child in stack.children:
        if "interrupt_on" not in child.context.spec:
            yield from _scope(child)
