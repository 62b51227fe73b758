"""Install approvals: in a middleware of our own making, or in a copy of the caller's."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

from deepagents_builtin.middleware.human_in_the_loop.approvals import (
    Approvals,
    collect_demands,
    merged_approvals,
)
from deepagents_builtin.middleware.human_in_the_loop.configs import resolve

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
        and for what ``interrupt_on`` says about tools that the middleware does not mention. An object of a
        class that can't carry approvals is returned as it is: whether some are lost by that, the check of
        the finished plan tells.

    Raises:
        PlanError: the settings of the object contradict what is demanded.
    """
    if not isinstance(middleware, HumanInTheLoopMiddleware):
        return middleware
    demands = collect_demands(context)
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
