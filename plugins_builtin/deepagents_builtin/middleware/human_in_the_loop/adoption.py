"""Install approvals: in a middleware of our own making, or in a copy of the caller's."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

from deepagents_builtin.middleware.human_in_the_loop.approvals import (
    SLOT,
    Approvals,
    collect_demands,
    merged_approvals,
)
from deepagents_builtin.middleware.human_in_the_loop.configs import resolve
from deepagents_kernel.errors import PlanError, Problem

if TYPE_CHECKING:
    from deepagents_kernel.assembly.context import StackContext


def build(approvals: Approvals) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    """A new middleware that asks for *approvals*."""
    return HumanInTheLoopMiddleware(interrupt_on=dict(approvals))


def adopt(middleware: Any, context: StackContext) -> Any:
    """What to install when the caller fills the slot.

    Args:
        middleware: the caller's; never changed.
        context: the stack.

    Returns:
        The object itself if nothing has to be added to it, else a copy that also asks for what rules demand
        and for what ``interrupt_on`` says about tools that the middleware does not mention.

    Raises:
        PlanError: the object is of a class that can't carry approvals that somebody demands, or its settings
            contradict those.
    """
    demands = collect_demands(context)
    if not isinstance(middleware, HumanInTheLoopMiddleware):
        asked = {tool for tool, value in (context.interrupt_on or {}).items() if value}
        if demands or asked:
            raise PlanError(_foreign(middleware, sorted({*demands, *asked}), context))
        return middleware
    if not demands and not context.interrupt_on:
        return middleware
    own = dict(middleware.interrupt_on)
    merged = merged_approvals(context, demands, own)
    resolved = {tool: config for tool, value in merged.items() if (config := resolve(value)) is not None}
    if resolved == own:
        return middleware
    adopted = copy.copy(middleware)
    adopted.interrupt_on = resolved
    return adopted


def _foreign(middleware: Any, tools: list[str], context: StackContext) -> Problem:
    kind = f"{type(middleware).__module__}.{type(middleware).__qualname__}"
    return Problem(
        f"{kind} would take the place of the approval stage, but it is no HumanInTheLoopMiddleware, and "
        f"approvals are demanded of {', '.join(tools)}",
        stack=context.path,
        entry=SLOT,
        hint="derive the class from LangChain's, or drop the ask-rules and `interrupt_on`",
    )
