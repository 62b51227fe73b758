"""The innermost middleware: takes excluded tools out of the request and refuses their calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage

from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware.types import (
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        ToolCallRequest,
    )
    from langchain_core.messages import AIMessage
    from langgraph.types import Command

_log = get_logger(__name__)


class _ToolExclusionMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Hide tools from the model and refuse calls of them.

    Both sides are needed: a model may call a tool that it was not offered. This keeps what is advertised and
    what can run in agreement; it calibrates a model and is no security boundary.

    Args:
        excluded: names of the tools.
    """

    def __init__(self, *, excluded: Iterable[str]) -> None:
        super().__init__()
        self.excluded = frozenset(excluded)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]:
        """Call the model without the excluded tools."""
        return handler(self._without_excluded(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]:
        """Call the model without the excluded tools."""
        return await handler(self._without_excluded(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Refuse the call of an excluded tool; run any other."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Refuse the call of an excluded tool; run any other."""
        return self._refusal(request) or await handler(request)

    def _without_excluded(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        kept = [tool for tool in request.tools if tool_name(tool) not in self.excluded]
        return request if len(kept) == len(request.tools) else request.override(tools=kept)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        name = request.tool_call["name"]
        if name not in self.excluded:
            return None
        _log.info("excluded_tool_refused", tool=name)
        return ToolMessage(
            f"Error: tool '{name}' is not available to this agent and was not run. "
            "Use one of the tools offered to you.",
            name=name,
            tool_call_id=request.tool_call.get("id") or "",
            status="error",
        )


def tool_name(tool: Any) -> str | None:
    """The name under which a model sees a tool, in any of the forms that a request may hold.

    Args:
        tool: a ``BaseTool``, a dict with a top-level ``name``, or a dict in function format.

    Returns:
        The name, or ``None`` for a provider's tool that has none.
    """
    if not isinstance(tool, Mapping):
        name = getattr(tool, "name", None)
    else:
        name = tool.get("name")
        function = tool.get("function")
        if not isinstance(name, str) and isinstance(function, Mapping):
            name = function.get("name")
    return name if isinstance(name, str) else None
