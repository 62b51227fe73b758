"""The hook through which plugins demand approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.assembly.context import StackContext


@hookspec
def deepagents_interrupt_on(context: StackContext) -> Mapping[str, Any] | Iterable[Mapping[str, Any]] | None:
    """Tool calls of a stack that rules want a person to approve.

    Called for each stack while its middleware is collected, and again when the plan is checked: answer the
    same both times. What is returned here can be tightened by the caller, never switched off. A plugin that
    implements this declares ``requires=("middleware.human-in-the-loop",)``: with an optional implementation
    alone, nobody would ask where that plugin is off.

    :param context: the stack being planned.
    :returns: mappings of a tool name to ``True`` (all decisions), an ``InterruptOnConfig``, or ``False``
        (nothing is demanded). What two plugins demand of one tool is combined: asked when either asks,
        answered only with what both allow.
    Kind: collect.
    """
