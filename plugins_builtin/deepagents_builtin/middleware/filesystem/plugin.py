"""The plugin ``middleware.filesystem``: file tools for every stack."""

from __future__ import annotations

import copy
import functools
from types import MappingProxyType
from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem.settings import FilesystemSettings
from deepagents_kernel.assembly.specs import MiddlewareSpec
from deepagents_kernel.errors import PlanError, Problem
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pluggy
    from langchain_core.tools import BaseTool

    from deepagents_builtin.middleware.filesystem.middleware import FilesystemMiddleware
    from deepagents_kernel.assembly.context import StackContext

NAME = "FilesystemMiddleware"

PLUGIN = PluginInfo(
    summary="File tools: ls, read_file, write_file, edit_file, glob, grep",
    settings=FilesystemSettings,
    scaffolding=True,
)


@hookimpl
def deepagents_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare the hooks for further tools and other descriptions."""
    from deepagents_builtin.middleware.filesystem import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@hookimpl
def deepagents_middleware(context: StackContext) -> MiddlewareSpec:
    """File tools, first in every stack.

    A caller's own ``FilesystemMiddleware`` is installed as it is, with the backend that it was given.
    """
    # Other plugins are asked about each stack; where they say nothing, stacks that are alike share tools.
    described, extra_tools = _described(context), _extra_tools(context)
    if not described and not extra_tools:
        return _plain_slot()
    return _slot(lambda context: build(context, described, extra_tools), shared=False)


@functools.cache
def _plain_slot() -> MiddlewareSpec:
    return _slot(build, shared=True)


def _slot(factory: Callable[[StackContext], FilesystemMiddleware], *, shared: bool) -> MiddlewareSpec:
    from deepagents_builtin.middleware.filesystem.middleware import FilesystemMiddleware

    return MiddlewareSpec(
        NAME,
        FilesystemMiddleware,
        factory,
        scaffolding=True,
        shared=shared,
        summary="file tools on the agent's backend",
    )


def build(
    context: StackContext,
    described: Mapping[str, str] = MappingProxyType({}),
    extra_tools: Sequence[BaseTool] = (),
) -> FilesystemMiddleware:
    """The middleware of one stack, from settings, profile and the answers of other plugins.

    Args:
        context: the stack.
        described: tool to the description that a plugin gives it.
        extra_tools: tools that plugins add.
    """
    from deepagents_builtin.middleware.filesystem.middleware import FilesystemMiddleware

    settings = context.settings(FilesystemSettings)
    overrides = context.profile.profile.tool_description_overrides
    # An empty text takes nothing back: it leaves what would be there without it.
    descriptions = {**described, **{name: text for name, text in overrides.items() if text}}

    def make() -> FilesystemMiddleware:
        return FilesystemMiddleware(
            backend=context.backend,
            custom_tool_descriptions=descriptions,
            tool_token_limit_before_evict=settings.tool_token_limit_before_evict,
            grep_max_count=settings.grep_max_count,
            read_limit=settings.read_limit,
            glob_timeout=settings.glob_timeout,
            result_char_limit=settings.result_char_limit,
            extra_tools=extra_tools,
        )

    # Tools keep nothing of a run: stacks that say the same to the model have them in common, and a middleware
    # each.
    key = (NAME, id(context.backend), tuple(descriptions.items()), tuple(map(id, extra_tools)))
    return copy.copy(context.once(key, make))


def _described(context: StackContext) -> dict[str, str]:
    if not context.implementers("deepagents_describe_tool"):
        return {}
    from deepagents_builtin.middleware.filesystem.descriptions import default_description
    from deepagents_builtin.middleware.filesystem.names import AVAILABLE_TOOLS

    found: dict[str, str] = {}
    read_limit = context.settings(FilesystemSettings).read_limit
    for name in AVAILABLE_TOOLS:
        description = default_description(name, read_limit)
        for answer in context.hooks(
            "deepagents_describe_tool", name=name, description=description, context=context
        ):
            found[name] = _checked_text(answer.value, answer.plugin, name)
    return found


def _checked_text(value: object, plugin: str, tool: str) -> str:
    if isinstance(value, str):
        return value
    raise PlanError(
        Problem(
            f"deepagents_describe_tool gave {type(value).__name__} for {tool!r}, not a text", plugin=plugin
        )
    )


def _extra_tools(context: StackContext) -> list[BaseTool]:
    if not context.implementers("deepagents_filesystem_tools"):
        return []
    from langchain_core.tools import BaseTool

    from deepagents_builtin.middleware.filesystem.names import TOOL_NAMES

    owners: dict[str, str] = dict.fromkeys(TOOL_NAMES, "middleware.filesystem")
    tools: list[BaseTool] = []
    problems: list[Problem] = []
    for answer in context.hooks("deepagents_filesystem_tools", context=context):
        tool = answer.value
        if not isinstance(tool, BaseTool):
            text = f"deepagents_filesystem_tools gave {type(tool).__name__}, not a tool"
            problems.append(
                Problem(text, plugin=answer.plugin, hint="make it one with langchain_core.tools.tool")
            )
        elif tool.name in owners:
            text = f"the file tool {tool.name!r} is already there, from {owners[tool.name]}"
            problems.append(Problem(text, plugin=answer.plugin, hint="give it another name"))
        else:
            owners[tool.name] = answer.plugin
            tools.append(tool)
    if problems:
        raise PlanError(problems)
    return tools
