"""Hooks that the filesystem plugin declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.tools import BaseTool

    from deepagents_kernel.assembly.context import StackContext


@hookspec
def deepagents_filesystem_tools(context: StackContext) -> BaseTool | Iterable[BaseTool] | None:
    """More file tools, offered along with the built-in ones.

    Called once for each stack whose file tools the plugin builds itself.

    :param context: the stack being planned; ``context.backend`` is where its files live.
    :returns: tools of LangChain, ready to run; a name that is taken already is an error.
    Kind: collect.
    """


@hookspec(firstresult=True)
def deepagents_describe_tool(name: str, description: str, context: StackContext) -> str | None:
    """Another default description for a built-in file tool.

    Called once for each tool of each stack whose file tools the plugin builds itself. What the harness
    profile says about the same tool comes before the answer.

    :param name: the tool.
    :param description: the description that it would have.
    :param context: the stack being planned.
    :returns: the description to use instead, or ``None`` to let the next plugin answer.
    Kind: resolve.
    """
