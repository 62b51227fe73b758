"""Names of the file tools, and which of them a caller asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast, get_args

from deepagents_builtin.middleware.filesystem.errors import (
    FilesystemArgumentError,
    FilesystemArgumentTypeError,
)
from deepagents_kernel.errors import nearest_hint

FsToolName = Literal["ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "execute"]

#: Every name, in the order in which the tools are listed.
TOOL_NAMES: tuple[FsToolName, ...] = get_args(FsToolName)

#: Those that exist here.
AVAILABLE_TOOLS: tuple[FsToolName, ...] = ("ls", "read_file", "write_file", "edit_file", "glob", "grep")

#: The one that can't be left out: results that don't fit are continued or read back with it.
MANDATORY_TOOL: FsToolName = "read_file"


def select_tools(tools: Iterable[str] | Literal["all"] | None) -> tuple[FsToolName, ...]:
    """The tools to bind, in the fixed order.

    Args:
        tools: names, in any order and any iterable; ``"all"`` or ``None`` for every available one.

    Raises:
        FilesystemArgumentError: an unknown name, a bare string, or a selection without ``read_file``.
        FilesystemArgumentTypeError: not an iterable of strings.
    """
    if tools is None or tools == "all":
        return AVAILABLE_TOOLS
    wanted = _names(tools)
    for name in wanted:
        _check_name(name)
    if MANDATORY_TOOL not in wanted:
        raise FilesystemArgumentError(
            "tools",
            f"{MANDATORY_TOOL!r} is mandatory and missing from {sorted(wanted)}",
            f"add {MANDATORY_TOOL!r}, or pass None for all tools",
        )
    return tuple(name for name in AVAILABLE_TOOLS if name in wanted)


def _names(tools: Any) -> frozenset[str]:
    if isinstance(tools, str):
        # Taken letter by letter it would select nothing, taken as "all" it would open what was to be closed.
        raise FilesystemArgumentError(
            "tools", f"{tools!r} is a single string", f'pass a list, [{tools!r}], or "all"'
        )
    if not isinstance(tools, Iterable):
        raise FilesystemArgumentTypeError("tools", f"expected names of tools, got {type(tools).__name__}")
    names = tuple(tools)
    for name in names:
        if not isinstance(name, str):
            raise FilesystemArgumentTypeError("tools", f"names are strings, got {name!r}")
    return frozenset(cast("tuple[str, ...]", names))


def _check_name(name: str) -> None:
    if name in AVAILABLE_TOOLS:
        return
    if name in TOOL_NAMES:
        raise FilesystemArgumentError(
            "tools", f"the tool {name!r} is not available", f"available: {', '.join(AVAILABLE_TOOLS)}"
        )
    hint = nearest_hint(name, AVAILABLE_TOOLS) or f"available: {', '.join(AVAILABLE_TOOLS)}"
    raise FilesystemArgumentError("tools", f"there is no tool named {name!r}", hint)
