"""Say so when a page of a file is full, since the model takes a full page for the whole file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import frozen
from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage

from deepagents_builtin.profiles.harness.nemotron.tool_call_shim import READ_LIMIT
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from langchain.agents.middleware.types import ToolCallRequest
    from langgraph.types import Command

_log = get_logger(__name__)

_HEADER = re.compile(r"lines?\s+(\d{1,18})\s*-\s*(\d{1,18})(?:\s+of\s+(\d{1,18}))?", re.IGNORECASE)
_HEADER_ROWS = 3
# A long line that is shown in parts has rows numbered 7, 7.1, 7.2: one line of the file.
_NUMBERED = re.compile(r"^[ \t]*\d+(?:\t|→|[ \t]{2,})", re.MULTILINE)


@frozen
class ShownLines:
    """Which lines of a file a result shows.

    Attributes:
        count: how many.
        last: the number of the last one; ``None`` if the result does not say.
        total: lines of the file; ``None`` if the result does not say.
    """

    count: int
    last: int | None = None
    total: int | None = None


def shown_lines(text: str) -> ShownLines:
    """What a result of ``read_file`` shows: by its status header, or else by its numbered rows."""
    for row in text.split("\n", _HEADER_ROWS)[:_HEADER_ROWS]:
        # The header stands between signs of its own; a line of the file may talk of lines, too.
        stripped = row.strip()
        if stripped[:1] in {"@", "[", "("} and (found := _HEADER.search(stripped)):
            first, last, total = int(found[1]), int(found[2]), found[3]
            return ShownLines(max(last - first + 1, 0), last, int(total) if total else None)
    return ShownLines(len(_NUMBERED.findall(text)))


def continuation_notice(text: str, args: Mapping[str, Any]) -> str:
    """What to append to a result of ``read_file``.

    Args:
        text: the result.
        args: the arguments of the call.

    Returns:
        The notice; empty if the page is not full, or ends the file.
    """
    limit, offset = _number(args.get("limit"), READ_LIMIT), _number(args.get("offset"), 0)
    shown = shown_lines(text)
    if shown.count < max(limit, 1):
        return ""
    following = shown.last if shown.last is not None else offset + shown.count
    if shown.total is not None:
        if following >= shown.total:
            return ""
        rest = f"{shown.total - following} more lines follow"
    else:
        rest = "the end of the file may not be reached"
    return f"[This page is full (limit {limit}, offset {offset}): {rest}. Go on with offset {following}.]"


def _number(value: Any, default: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return default


class ReadFileContinuationNoticeMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Appends a notice to each page of a file that is full and not known to be the last."""

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run the call and look at its result."""
        return _noticed(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run the call and look at its result."""
        return _noticed(request, await handler(request))


def _noticed(request: ToolCallRequest, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    call = request.tool_call
    if call["name"] != "read_file" or not isinstance(result, ToolMessage) or result.status == "error":
        return result
    if not isinstance(result.content, str):
        return result
    notice = continuation_notice(result.content, call["args"])
    if not notice:
        return result
    _log.debug("read_continuation_noticed", tool_call_id=call["id"])
    return result.model_copy(update={"content": f"{result.content}\n\n{notice}"})
