"""The chat model. A real vendor's would ask a server; this one looks around and reports what it saw."""

from collections.abc import Mapping
from typing import Any

from deepagents_kernel.testing import LocalChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import Field


class GigacorpChat(LocalChatModel):
    provider: str = "gigacorp"
    model_name: str = "small"
    region: str = "us"
    default_headers: dict[str, str] = Field(default_factory=dict)

    def answer(
        self, messages: list[BaseMessage], tools: tuple[Any, ...], options: Mapping[str, Any]
    ) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(f"I am {self.model_name} in {self.region}, and I saw: {last.text}")
        call = {"name": "ls", "args": {"path": "/"}, "id": f"call-{len(messages)}", "type": "tool_call"}
        return AIMessage("", tool_calls=[call])
