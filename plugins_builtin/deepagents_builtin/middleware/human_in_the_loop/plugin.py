"""The ``middleware.human-in-the-loop`` plugin."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pluggy

    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import AgentPlan
    from deepagents_kernel.errors import Problem

PLUGIN = PluginInfo(
    summary="Asks a person before the tool calls that the caller, or a rule, wants approved.",
    serves=("interrupts",),
)


@hookimpl
def deepagents_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare ``deepagents_interrupt_on``."""
    from deepagents_builtin.middleware.human_in_the_loop import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@hookimpl
def deepagents_middleware(context: StackContext) -> MiddlewareSpec:
    """One slot in every stack, vacant where neither a rule nor the caller says anything about approvals."""
    from deepagents_builtin.middleware.human_in_the_loop.approvals import collect_demands, merged_approvals

    demands = collect_demands(context)
    if not demands and not context.interrupt_on:
        return _empty_slot()
    approvals = merged_approvals(context, demands)
    asked = sorted(tool for tool, value in approvals.items() if value)
    # `interrupt_on={"x": False}` says something, though there is nothing to ask.
    return _slot(approvals, f"asks before {', '.join(asked)}" if asked else "asks before no tool")


@functools.cache
def _empty_slot() -> MiddlewareSpec:
    """The slot where nobody says anything about approvals; the same object, so that stacks can be alike."""
    return _slot({}, "asks before no tool", vacant=True)


def _slot(approvals: Mapping[str, Any], summary: str, *, vacant: bool = False) -> MiddlewareSpec:
    from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

    from deepagents_builtin.middleware.human_in_the_loop.adoption import adopt, build
    from deepagents_builtin.middleware.human_in_the_loop.approvals import SLOT

    return MiddlewareSpec(
        SLOT,
        HumanInTheLoopMiddleware,
        lambda _context: build(dict(approvals)),
        segment=Segment.TAIL,
        vacant=vacant,
        heritable=False,
        summary=summary,
        adopt=adopt,
    )


@hookimpl
def deepagents_plan_validate(plan: AgentPlan) -> list[Problem]:
    """Demanded approvals that nobody would ask for; approvals of tools that don't exist."""
    from deepagents_builtin.middleware.human_in_the_loop.validate import plan_problems

    return list(plan_problems(plan))
