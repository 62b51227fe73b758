"""The ``middleware.patch-tool-calls`` plugin."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.assembly.plan import StackPlan

PLUGIN = PluginInfo(summary="Answers tool calls that an interrupted run left without a result.")


@hookimpl
def deepagents_middleware() -> MiddlewareSpec:
    """One slot in every stack, behind what changes the conversation."""
    return _slot()


@functools.cache
def _slot() -> MiddlewareSpec:
    from deepagents_builtin.middleware.patch_tool_calls.middleware import PatchToolCallsMiddleware

    return MiddlewareSpec(
        "PatchToolCallsMiddleware",
        PatchToolCallsMiddleware,
        lambda _context: PatchToolCallsMiddleware(),
        segment=Segment.CORE,
        shared=True,
        summary="answers dangling tool calls when a run starts",
        bind=bind_channel,
    )


def bind_channel(middleware: Any, stack: StackPlan) -> Any:
    """The same middleware, set to write only the suffix where the stack's ``messages`` channel allows it."""
    from deepagents_builtin.middleware.patch_tool_calls.channel import moves_readded
    from deepagents_builtin.middleware.patch_tool_calls.middleware import PatchToolCallsMiddleware

    if not isinstance(middleware, PatchToolCallsMiddleware) or not moves_readded(stack.state_schema):
        return middleware
    bound = copy.copy(middleware)
    bound.rewrite = "suffix"
    return bound
