"""OpenAI's Responses API on this machine; see ``wire_server``."""

from __future__ import annotations

import json
from typing import Any

from wire_server import Request, WireServer


class ResponsesServer(WireServer):
    """Answers ``POST /v1/responses``."""

    path = "/v1/responses"

    @property
    def base_url(self) -> str:
        """What a client takes as ``base_url``."""
        return f"{self.url}/v1"

    def body(self, turn: Any, request: Request) -> dict[str, Any]:
        output = [_text(turn)] if isinstance(turn, str) else [self._call(*call) for call in turn]
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": request.json["model"],
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 15,
            },
        }

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        call = self.call_id()
        return {
            "type": "function_call",
            "id": f"fc_{call}",
            "call_id": call,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }


def _text(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def system_of(request: Request) -> str:
    """Everything that the request says as system or developer."""
    said = [item for item in request.json["input"] if item.get("role") in ("system", "developer")]
    parts = [item["content"] for item in said]
    texts = [part if isinstance(part, str) else "".join(block["text"] for block in part) for part in parts]
    return "\n".join([request.json.get("instructions") or "", *texts])


def tools_of(request: Request) -> list[str]:
    """Names of the tools that the request offers."""
    return [tool["name"] for tool in request.json.get("tools", [])]
