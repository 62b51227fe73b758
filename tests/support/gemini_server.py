"""Google's ``generateContent`` on this machine; see ``wire_server``."""

from __future__ import annotations

from typing import Any

from wire_server import Request, WireServer


class GeminiServer(WireServer):
    """Answers ``POST .../models/NAME:generateContent``."""

    path = ":generateContent"

    @property
    def base_url(self) -> str:
        """What a client takes as ``base_url``."""
        return self.url

    def body(self, turn: Any, request: Request) -> dict[str, Any]:
        parts = [{"text": turn}] if isinstance(turn, str) else [self._call(*call) for call in turn]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini"}

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": arguments}}


def system_of(request: Request) -> str:
    """The system instruction of a request."""
    instruction = request.json.get("systemInstruction") or request.json.get("system_instruction") or {}
    return "\n".join(part["text"] for part in instruction.get("parts", []))


def tools_of(request: Request) -> list[str]:
    """Names of the tools that the request offers."""
    declared = [tool.get("functionDeclarations", []) for tool in request.json.get("tools", [])]
    return [function["name"] for group in declared for function in group]
