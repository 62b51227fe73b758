"""Put what NVIDIA's client reads from ``additional_kwargs`` there, in copies of the messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware.types import ModelRequest

_log = get_logger(__name__)


def compatible(message: AnyMessage) -> AnyMessage:
    """A copy with the mirrored fields; the very same message if it needs none."""
    extra: dict[str, Any] = {}
    if isinstance(message, AIMessage) and message.tool_calls:
        if "tool_calls" not in message.additional_kwargs:
            extra["tool_calls"] = [_openai_call(call) for call in message.tool_calls]
    elif isinstance(message, ToolMessage) and message.name and "name" not in message.additional_kwargs:
        extra["name"] = message.name
    if not extra:
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **extra}})


def _openai_call(call: Any) -> dict[str, Any]:
    arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": arguments},
    }


class ChatNVIDIAMessageCompatibilityMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Mirrors tool calls and the names of tool results into ``additional_kwargs`` of what is sent."""

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Send copies where something has to be mirrored."""
        return handler(_mirrored(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Send copies where something has to be mirrored."""
        return await handler(_mirrored(request))


def _mirrored(request: ModelRequest[Any]) -> ModelRequest[Any]:
    messages = [compatible(message) for message in request.messages]
    changed = sum(new is not old for new, old in zip(messages, request.messages, strict=True))
    if not changed:
        return request
    _log.debug("messages_mirrored", count=changed)
    return request.override(messages=messages)
