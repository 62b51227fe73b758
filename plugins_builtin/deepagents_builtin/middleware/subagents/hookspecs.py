"""The hook that this plugin declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.assembly.context import StackContext


@hookspec
def deepagents_subagents(context: StackContext) -> Mapping[str, Any] | Iterable[Mapping[str, Any]] | None:
    """Sub-agents that a package ships.

    Called several times while a plan is made, for the main stack only: return the same specs each time.

    :param context: the main stack; its ``children`` may still be empty.
    :returns: ``SubAgent`` or ``CompiledSubAgent`` dicts. They are listed behind those of the caller; a name
        that is taken already is an error naming the plugin.
    Kind: collect.
    """
