"""Approvals that rules or the caller want in a stack, and that nothing in it would ask for.

Whatever took the approval stage away (an exclusion of a profile, another plugin, another middleware of its
name), without this check the calls would run in silence.

Rules are kept only by the stage in the slot of approvals: what stands there was built from them or had them
added. A stage that stands elsewhere never saw them, and may ask less than they demand, or never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen
from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

from deepagents_builtin.middleware.human_in_the_loop.approvals import SLOT
from deepagents_builtin.middleware.human_in_the_loop.configs import resolve
from deepagents_kernel.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from deepagents_builtin.middleware.human_in_the_loop.approvals import Demand
    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import StackPlan

Stage = HumanInTheLoopMiddleware[Any, Any, Any]

# What is wrong with a stage that does name the tool.
_UNBOUND = "in another place, where rules do not bind it"
_SOMETIMES = "on a condition of its own"


def unasked(
    stack: StackPlan, demands: Mapping[str, Demand], inherited: Sequence[Any] = ()
) -> Iterator[Problem]:
    """An error for each demand, and for each source of the caller's, that the stack does not ask for.

    A demand is settled by the stage in the slot alone. What ``interrupt_on`` wants may also be settled by
    another stage that asks always, and what a stage that was passed wants by that stage itself.

    Tools that the profile excludes are passed over: their calls are refused. So are names of the caller's
    that no tool of the stack has; rules may know of tools that come into being only at run time.

    Args:
        stack: the finished stack.
        demands: what rules demand of it; every approval in it and in ``interrupt_on`` is well-formed.
        inherited: middleware that the caller gave to a stack above, and that comes down to this one.
    """
    excluded = stack.context.profile.profile.excluded_tools
    bound = _asked(entry.instance for entry in stack.entries if entry.slot == SLOT)
    unmet = demands.keys() - bound - excluded
    for tool in sorted(unmet):
        demand = demands[tool]
        yield Problem(
            f"rules of {demand.origin} demand an approval of {tool!r}, "
            f"and {_would_ask(stack, tool, _UNBOUND)}{_reason(stack)}",
            stack=stack.path,
            entry=SLOT,
            plugin=", ".join(demand.plugins),
            hint=f"leave {SLOT} in its place, or change the rules to allow or deny",
        )
    # One error is enough for a tool; rules come first.
    yield from _callers(stack, inherited, bound, excluded | unmet)


@frozen(eq=False)
class _Wish:
    """An approval that the caller wants.

    Attributes:
        tool: what is to be approved.
        source: where that was said, for the reader.
        stage: the middleware that says it; ``None`` for ``interrupt_on``.
    """

    tool: str
    source: str
    stage: Stage | None = None


def _callers(
    stack: StackPlan, inherited: Sequence[Any], bound: Collection[str], passed_over: Collection[str]
) -> Iterator[Problem]:
    always = _asked((entry.instance for entry in stack.entries), always=True)
    lost: dict[str, str] = {}
    for wish in _wishes(stack.context, inherited):
        kept = wish.tool in bound if wish.stage is None else _stands(stack, wish.stage, wish.tool)
        if not kept and wish.tool not in always and wish.tool not in passed_over:
            lost.setdefault(wish.tool, wish.source)
    if not lost:
        return
    from deepagents_kernel.assembly.tools import stack_tool_names

    known = set(stack_tool_names(stack))
    told: dict[tuple[str, str], list[str]] = {}
    for tool in sorted(known.intersection(lost)):
        told.setdefault((lost[tool], _would_ask(stack, tool, _SOMETIMES)), []).append(tool)
    for (source, asked), tools in told.items():
        names = ", ".join(map(repr, tools))
        yield Problem(
            f"{source} wants approvals of {names}, and {asked}{_reason(stack)}",
            stack=stack.path,
            entry=SLOT,
            hint=f"leave {SLOT} in its place; if nobody has to be asked, say so in {source}",
        )


def _wishes(context: StackContext, inherited: Sequence[Any]) -> Iterator[_Wish]:
    for tool, value in (context.interrupt_on or {}).items():
        if resolve(value) is not None:
            yield _Wish(tool, "interrupt_on")
    own = {getattr(item, "name", None) for item in context.middleware}
    given = (*context.middleware, *(item for item in inherited if getattr(item, "name", None) not in own))
    for stage in _stages(given):
        for tool in _asked([stage]):
            yield _Wish(tool, f"the {type(stage).__name__} that was passed", stage)


def _stands(stack: StackPlan, stage: Stage, tool: str) -> bool:
    """Whether a stage that was passed is in the stack, itself or adopted, and asks about a tool there."""
    return any(tool in _asked([entry.instance]) for entry in stack.entries if entry.original is stage)


def _asked(middleware: Iterable[Any], *, always: bool = False) -> frozenset[str]:
    """The tools that stages among *middleware* ask about; with *always*, without a condition."""
    return frozenset(
        tool
        for stage in _stages(middleware)
        for tool, value in stage.interrupt_on.items()
        if (config := resolve(value)) is not None and not (always and config.get("when") is not None)
    )


def _would_ask(stack: StackPlan, tool: str, failing: str) -> str:
    """Who would ask about a tool for which nobody asks as is wanted, as a part of a sentence."""
    stages = _stages(entry.instance for entry in stack.entries)
    asking = ", ".join(type(stage).__name__ for stage in stages if tool in _asked([stage]))
    return f"only {asking} would ask, {failing}" if asking else "nothing here would ask"


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
