"""What a prompt and tools cost in tokens, counted when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.errors import HookError

if TYPE_CHECKING:
    from deepagents_kernel.assembly.context import StackContext

#: Tokens of (messages, tools); tools are schemas in OpenAI format or LangChain tools.
CountTokens = Callable[[Sequence[Any], Sequence[Any]], int]

APPROXIMATION = "approximation"


@frozen
class TokenCounter:
    """Something that counts tokens, and whether to believe it.

    Attributes:
        name: the plugin that counts, or ``"approximation"``.
        count: tokens of (messages, tools).
        exact: false for the kernel's own estimate.
    """

    name: str
    count: CountTokens
    exact: bool


def approximate(messages: Sequence[Any], tools: Sequence[Any]) -> int:
    """About how many tokens *messages* and *tools* are, at four characters a token.

    Args:
        messages: messages in any form that LangChain takes.
        tools: schemas in OpenAI format, or tools as LangChain takes them.
    """
    from langchain_core.messages.utils import count_tokens_approximately

    return count_tokens_approximately(messages, tools=[tool_schema(tool) for tool in tools])


def tool_schema(tool: Any) -> dict[str, Any]:
    """The schema of a tool as the model sees it, in OpenAI format; a schema is returned as it is."""
    if isinstance(tool, dict):
        return tool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(tool)


def counter_for(context: StackContext) -> TokenCounter:
    """The counter for the model of a stack: a plugin's if one answers, else the approximation."""
    for answer in context.hooks("deepagents_token_counter", context=context):
        if not callable(answer.value):
            reason = f"returned {type(answer.value).__name__}; a function of messages and tools is expected"
            raise HookError(answer.plugin, "deepagents_token_counter", context.path, reason)
        return TokenCounter(answer.plugin, answer.value, exact=True)
    return TokenCounter(APPROXIMATION, approximate, exact=False)
