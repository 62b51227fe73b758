"""Turn tool calls that the model wrote as text into real ones."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages.tool import tool_call

from deepagents_builtin.profiles.harness.nemotron.argument_types import parameter_schemas, typed
from deepagents_builtin.profiles.harness.nemotron.names import SHELL_TOOL, TOOLS
from deepagents_builtin.profiles.harness.nemotron.quotations import inside, quoted_spans
from deepagents_builtin.profiles.harness.nemotron.textual_calls import (
    closing_calls,
    json_call,
    tag_calls,
    without_calls,
)
from deepagents_kernel.behaviour.responses import map_ai_messages
from deepagents_kernel.behaviour.vocabulary import tool_names
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import AIMessage, ToolCall

    from deepagents_builtin.profiles.harness.nemotron.textual_calls import TextualCall

_log = get_logger(__name__)

#: Tools of the harness that change something, or let somebody else do it.
_CHANGING_TOOLS = frozenset({SHELL_TOOL, "write_file", "edit_file", "delete", "task"})

# How providers say that the output was cut off.
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})

# What stands in a thought is no call: closed, left open, or begun in the prompt and only closed here.
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)|\A(?:(?!<think>).)*?</think>", re.IGNORECASE | re.DOTALL)


class NemotronTextToolCallParser(AgentMiddleware[AgentState[Any], Any, Any]):
    """Reads tool calls out of an answer that has none, if their tools are offered.

    Who explains a call quotes it. So what stands in code or in a quotation is none, and a tool that changes
    something is only called if the answer ends with the call. JSON counts only if it is all that the answer
    says, and never for a tool that changes something. A tool of which each call is approved is treated like
    one that changes nothing.

    Args:
        approved_tools: names of changing tools of which each call is approved by somebody.
    """

    def __init__(self, *, approved_tools: Iterable[str] = ()) -> None:
        super().__init__()
        self.approved_tools = frozenset(approved_tools)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Read the answer."""
        return map_ai_messages(handler(request), lambda message: self.parsed(message, request.tools))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Read the answer."""
        return map_ai_messages(await handler(request), lambda message: self.parsed(message, request.tools))

    def parsed(self, message: AIMessage, tools: Sequence[Any]) -> AIMessage:
        """The message with its textual calls as real ones; the very same one if it has none.

        Args:
            message: the model's answer.
            tools: the tools that it was offered.
        """
        text = message.content
        if not isinstance(text, str) or message.tool_calls or not _may_hold_call(text):
            return message
        metadata = message.response_metadata
        if _CUT_OFF & {str(metadata.get(key)) for key in ("finish_reason", "stop_reason")}:
            return message
        offered = tool_names(tools)
        rest, found = self._read(text, offered)
        if not found:
            return message
        _log.debug("textual_tool_calls_parsed", tools=[call.name for call in found])
        calls = [_real(call, tools) for call in found]
        return message.model_copy(update={"content": rest, "tool_calls": calls})

    def _read(self, text: str, offered: frozenset[str]) -> tuple[str, list[TextualCall]]:
        thoughts = [found.span() for found in _THOUGHTS.finditer(text)]
        written = list(tag_calls(text))
        spans = sorted([*thoughts, *quoted_spans(text, written)])
        closing = {call.start for call in closing_calls(text, written)}
        found = [
            call
            for call in written
            if call.name in offered
            and not inside(call.start, spans)
            and (call.start in closing or self._may_run_unasked(call.name))
        ]
        if found:
            return without_calls(text, found), found
        thought = "".join(text[start:end] for start, end in thoughts)
        call = json_call(_THOUGHTS.sub("", text))
        if call is None or call.name not in offered or not self._may_run_unasked(call.name):
            return text, []
        return thought, [call]

    def _may_run_unasked(self, name: str) -> bool:
        changes = name in _CHANGING_TOOLS or TOOLS.is_mutation(name)
        if changes and name not in self.approved_tools:
            _log.debug("textual_tool_call_refused", tool=name)
            return False
        return True


def _may_hold_call(text: str) -> bool:
    return "<function" in text or '"tool"' in text


def _real(call: TextualCall, tools: Sequence[Any]) -> ToolCall:
    args = dict(call.args)
    tool = next(tool for tool in tools if call.name in tool_names([tool]))
    schemas = parameter_schemas(tool)
    args = {
        key: typed(value, schemas.get(key)) if isinstance(value, str) and key in schemas else value
        for key, value in args.items()
    }
    return tool_call(name=call.name, args=args, id=uuid.uuid4().hex)
