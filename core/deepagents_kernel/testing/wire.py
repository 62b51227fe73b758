"""What a chat model without a provider puts on the wire: chunks of a message, names of bound tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

#: Into how many chunks a text is cut, if it has that many characters.
TEXT_CHUNKS = 4


def tool_name(tool: Any) -> str:
    """The name under which a model would call *tool*.

    Args:
        tool: anything that ``bind_tools`` takes: a ``BaseTool``, a class, a function, or a provider's dict.

    Returns:
        Its name, or the ``type`` of a provider's own tool that has no name.
    """
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        named = inner if isinstance(inner, Mapping) else tool
        return str(named.get("name") or named.get("title") or named.get("type") or "")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", None) or type(tool).__name__)


def message_chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """Cut a message into what a streaming provider would send for it.

    Text comes in up to ``TEXT_CHUNKS`` pieces, each tool call as a head (name and id) and its arguments in
    two pieces, and the last chunk carries usage and response metadata. The chunks add up to the message.
    """
    pieces: list[AIMessageChunk] = [AIMessageChunk(content=part) for part in _content_parts(message.content)]
    for index, call in enumerate(message.tool_calls):
        arguments = json.dumps(call["args"], ensure_ascii=False)
        pieces.extend(_call_chunks(index, call["name"], call["id"], arguments))
    for index, broken in enumerate(message.invalid_tool_calls, len(message.tool_calls)):
        pieces.extend(_call_chunks(index, broken["name"], broken["id"], broken["args"] or ""))
    last = AIMessageChunk(
        content="" if isinstance(message.content, str) else [],
        additional_kwargs=dict(message.additional_kwargs),
        response_metadata=dict(message.response_metadata),
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )
    for piece in (*pieces, last):
        piece.id = message.id
        yield ChatGenerationChunk(message=piece)


def _content_parts(content: str | list[Any]) -> list[Any]:
    if not content:
        return []
    if not isinstance(content, str):
        # Blocks are merged by index; one chunk for all keeps them as they are.
        return [content]
    size = -(-len(content) // TEXT_CHUNKS)
    return [content[start : start + size] for start in range(0, len(content), size)]


def _call_chunks(index: int, name: str | None, call_id: str | None, arguments: str) -> list[AIMessageChunk]:
    middle = len(arguments) // 2
    parts: list[ToolCallChunk] = [
        tool_call_chunk(name=name, args="", id=call_id, index=index),
        tool_call_chunk(name=None, args=arguments[:middle], id=None, index=index),
        tool_call_chunk(name=None, args=arguments[middle:], id=None, index=index),
    ]
    return [AIMessageChunk(content="", tool_call_chunks=[part]) for part in parts]
