"""Repair arguments of the file tools that the model names wrongly, and results without content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage

from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from langchain.agents.middleware.types import ToolCallRequest
    from langgraph.types import Command

_log = get_logger(__name__)

#: Lines that ``read_file`` reads when the model names no limit.
READ_LIMIT = 500

EMPTY_RESULT = "(the tool returned no content)"

_ONE_FILE = frozenset({"read_file", "write_file", "edit_file", "delete"})


def repaired_arguments(name: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as the tool wants them; the very same mapping if they are.

    Args:
        name: the tool.
        args: what the model gave.
    """
    if name not in _ONE_FILE:
        return args
    repaired = dict(args)
    if "path" in repaired and "file_path" not in repaired:
        repaired["file_path"] = repaired.pop("path")
    if name == "read_file":
        repaired.setdefault("limit", READ_LIMIT)
    return args if repaired == args else repaired


def is_empty(content: Any) -> bool:
    """Whether the content of a result is nothing at all; whitespace is something."""
    if isinstance(content, list):
        return all(_is_empty_text(block) for block in content)
    return content is None or (isinstance(content, str) and not content)


def _is_empty_text(block: Any) -> bool:
    if isinstance(block, dict):
        return block.get("type") == "text" and not block.get("text")
    return isinstance(block, str) and not block


class NemotronToolCallShim(AgentMiddleware[AgentState[Any], Any, Any]):
    """Mends calls of the file tools before they run, and fills results that are empty."""

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run the repaired call."""
        return _filled(handler(_repaired(request)))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run the repaired call."""
        return _filled(await handler(_repaired(request)))


def _repaired(request: ToolCallRequest) -> ToolCallRequest:
    call = request.tool_call
    args = repaired_arguments(call["name"], call["args"])
    if args is call["args"]:
        return request
    _log.debug("tool_call_repaired", tool=call["name"], tool_call_id=call["id"], arguments=sorted(args))
    return request.override(tool_call={**call, "args": dict(args)})


def _filled(result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    if not isinstance(result, ToolMessage) or not is_empty(result.content):
        return result
    _log.debug("empty_tool_result_filled", tool=result.name, tool_call_id=result.tool_call_id)
    return result.model_copy(update={"content": EMPTY_RESULT})
