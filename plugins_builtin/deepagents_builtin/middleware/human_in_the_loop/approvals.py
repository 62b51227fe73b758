"""The approvals of a stack: what rules demand, what the caller asks for, and both together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_builtin.middleware.human_in_the_loop.configs import (
    Approval,
    combine,
    config_problems,
    resolve,
)
from deepagents_kernel.errors import PlanError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig

    from deepagents_kernel.assembly.context import StackContext

SLOT = "HumanInTheLoopMiddleware"

Approvals = dict[str, Approval]


@frozen
class Demand:
    """An approval that rules want.

    Attributes:
        config: when to ask, and which answers count.
        plugins: the plugins whose rules want it.
    """

    config: InterruptOnConfig
    plugins: tuple[str, ...]

    @property
    def origin(self) -> str:
        """The plugins, for a text."""
        return " and ".join(self.plugins)


def collect_demands(context: StackContext) -> dict[str, Demand]:
    """What the plugins of a kernel demand of a stack, by tool.

    Raises:
        PlanError: a plugin demanded something malformed, or two plugins demand what can't both be had.
    """
    demands: dict[str, Demand] = {}
    problems: list[Problem] = []
    for contribution in context.hooks("deepagents_interrupt_on", context=context):
        found = list(_record_problems(contribution.value, contribution.plugin))
        problems.extend(found)
        if found:
            continue
        for tool, value in contribution.value.items():
            config = resolve(value)
            if config is None:
                continue
            try:
                demands[tool] = _joined(demands.get(tool), config, contribution.plugin)
            except ValueError as error:
                plugins = f"{demands[tool].origin} and {contribution.plugin}"
                problems.append(
                    Problem(f"{plugins} demand approvals of {tool!r} that exclude each other: {error}")
                )
    if problems:
        raise PlanError(_placed(problems, context))
    return demands


def merged_approvals(
    context: StackContext, demands: Mapping[str, Demand], own: Mapping[str, Any] | None = None
) -> Approvals:
    """Everything that a stack asks a person about.

    The caller's settings lie on top of each other (``interrupt_on=``, then those of a middleware passed in),
    and a demanded approval is combined with the result. Tools that the guard refuses anyway are left out:
    nobody should be asked about a call that can't run.

    Args:
        context: the stack; its ``interrupt_on`` is the caller's.
        demands: what rules want.
        own: approvals of a middleware that the caller passed, if any.

    Raises:
        PlanError: a setting is malformed, or would switch off or contradict a demanded approval.
    """
    given = {} if context.interrupt_on is None else context.interrupt_on
    problems = list(config_problems(given, "interrupt_on"))
    if problems:
        raise PlanError(_placed(problems, context))
    wanted: dict[str, Any] = {**given, **(own or {})}
    merged: Approvals = {}
    for tool, demand in demands.items():
        try:
            merged[tool] = _tightened(tool, demand, wanted.get(tool))
        except ValueError as error:
            problems.append(_refused(tool, demand, error))
    if problems:
        raise PlanError(_placed(problems, context))
    merged.update({tool: value for tool, value in wanted.items() if tool not in demands})
    excluded = context.profile.profile.excluded_tools
    return {tool: value for tool, value in merged.items() if tool not in excluded}


def _record_problems(record: Any, plugin: str) -> list[Problem]:
    source = f"deepagents_interrupt_on of {plugin}"
    return [problem.at("", plugin) for problem in config_problems(record, source)]


def _joined(known: Demand | None, config: InterruptOnConfig, plugin: str) -> Demand:
    if known is None:
        return Demand(config, (plugin,))
    plugins = known.plugins if plugin in known.plugins else (*known.plugins, plugin)
    return Demand(combine(known.config, config), plugins)


def _tightened(tool: str, demand: Demand, wanted: Approval | None) -> InterruptOnConfig:
    if wanted is None:
        return demand.config
    config = resolve(wanted)
    if config is None:
        msg = f"interrupt_on[{tool!r}] is False, which would switch that approval off"
        raise ValueError(msg)
    return combine(demand.config, config)


def _refused(tool: str, demand: Demand, error: ValueError) -> Problem:
    return Problem(
        f"rules of {demand.origin} demand an approval of {tool!r}: {error}",
        entry=SLOT,
        hint=f"drop the entry of {tool!r} or give one that asks too; to ask less, change those rules",
    )


def _placed(problems: list[Problem], context: StackContext) -> list[Problem]:
    return [problem.at(context.path) for problem in problems]
