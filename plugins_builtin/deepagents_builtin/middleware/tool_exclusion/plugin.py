"""The ``middleware.tool-exclusion`` plugin: the guard at the end of every stack."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.assembly.context import StackContext

PLUGIN = PluginInfo(
    summary="Keeps the tools that a profile excludes from being offered and from being run.",
    serves=("excluded-tools",),
)


@hookimpl
def deepagents_middleware(context: StackContext) -> MiddlewareSpec:
    """The guard's slot, filled in each stack whose own profile excludes tools.

    An empty slot is given all the same: it is how the planner knows the name that nobody else may take.
    """
    return _slot(frozenset(context.profile.profile.excluded_tools))


@functools.lru_cache(maxsize=64)
def _slot(excluded: frozenset[str]) -> MiddlewareSpec:
    from deepagents_builtin.middleware.tool_exclusion.middleware import _ToolExclusionMiddleware

    return MiddlewareSpec(
        "_ToolExclusionMiddleware",
        _ToolExclusionMiddleware,
        lambda _context: _ToolExclusionMiddleware(excluded=excluded),
        segment=Segment.GUARD,
        vacant=not excluded,
        shared=True,
        heritable=False,
        summary=f"hides and refuses {', '.join(sorted(excluded))}",
    )
