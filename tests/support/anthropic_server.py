"""Anthropic's Messages API on this machine; see ``wire_server``."""

from __future__ import annotations

from typing import Any

from wire_server import Request, WireServer


class AnthropicServer(WireServer):
    """Answers ``POST /v1/messages``."""

    path = "/v1/messages"

    @property
    def base_url(self) -> str:
        """What a client takes as ``base_url``."""
        return self.url

    def body(self, turn: Any, request: Request) -> dict[str, Any]:
        text = isinstance(turn, str)
        content = [{"type": "text", "text": turn}] if text else [self._call(*call) for call in turn]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request.json["model"],
            "content": content,
            "stop_reason": "end_turn" if text else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"type": "tool_use", "id": self.call_id(), "name": name, "input": arguments}


def system_of(request: Request) -> list[dict[str, Any]]:
    """The system blocks of a request, whichever way they were sent."""
    system = request.json.get("system", [])
    return [{"type": "text", "text": system}] if isinstance(system, str) else system


def tools_of(request: Request) -> list[str]:
    """Names of the tools that the request offers."""
    return [tool["name"] for tool in request.json.get("tools", [])]
