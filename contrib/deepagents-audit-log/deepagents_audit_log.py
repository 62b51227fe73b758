"""A plugin for deepagents-kernel: every tool call becomes a line of JSON in a file."""

import asyncio
import json
import threading
import time
from typing import Any

from attrs import field, frozen, validators
from deepagents_kernel import MiddlewareSpec, PluginInfo, StackContext, hookimpl
from langchain.agents.middleware import AgentMiddleware, ToolCallRequest


@frozen
class AuditLogSettings:
    path: str = field(default="audit.jsonl", validator=validators.min_len(1))
    max_chars: int = field(default=200, validator=validators.ge(1))


PLUGIN = PluginInfo(summary="Records tool calls as lines of JSON.", settings=AuditLogSettings)


class AuditLogMiddleware(AgentMiddleware[Any, Any, Any]):
    lock = threading.Lock()  # one for all agents of the process: they may write to one file

    def __init__(self, context: StackContext) -> None:
        super().__init__()
        self.settings, self.stack = context.settings(AuditLogSettings), context.path

    def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:
        started, result = time.monotonic(), None
        try:
            return (result := handler(request))
        finally:
            self.record(request.tool_call, result, time.monotonic() - started)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:
        started, result = time.monotonic(), None
        try:
            return (result := await handler(request))
        finally:  # in a thread: a write to a file would hold up all other tasks
            await asyncio.to_thread(self.record, request.tool_call, result, time.monotonic() - started)

    def record(self, call: Any, result: Any, seconds: float) -> None:
        update = getattr(result, "update", {"messages": [result]})  # of a Command, or the message itself
        messages = update.get("messages", ()) if isinstance(update, dict) else ()
        failed = any(getattr(message, "status", "") == "error" for message in messages)
        entry = {"time": time.time(), "stack": self.stack, "tool": call["name"], "seconds": round(seconds, 6)}
        most = self.settings.max_chars
        entry["arguments"] = {key: str(value)[:most] for key, value in call["args"].items()}
        entry["outcome"] = "raised" if result is None else "error" if failed else "success"
        with self.lock, open(self.settings.path, "ab", buffering=0) as file:  # one write, at the end of it
            file.write((json.dumps(entry) + "\n").encode())


@hookimpl
def deepagents_middleware() -> MiddlewareSpec:
    name = "AuditLogMiddleware"
    return MiddlewareSpec(name, AuditLogMiddleware, AuditLogMiddleware, before="FilesystemMiddleware")
