"""Move thoughts that the model wrote into its answer to where thoughts belong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState

from deepagents_kernel.behaviour.responses import map_ai_messages
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import AIMessage

_log = get_logger(__name__)

_OPEN = re.compile(r"<think>", re.IGNORECASE)
_CLOSE = re.compile(r"</think>", re.IGNORECASE)


def split_thoughts(text: str) -> tuple[str, list[str]]:
    """The text without its closed think blocks, and what stood in these.

    A block that is not closed stays where it is.
    """
    kept: list[str] = []
    thoughts: list[str] = []
    place = 0
    while opened := _OPEN.search(text, place):
        closed = _CLOSE.search(text, opened.end())
        if closed is None:
            break
        kept.append(text[place : opened.start()])
        thoughts.append(text[opened.end() : closed.start()].strip())
        place = closed.end()
    kept.append(text[place:])
    return "".join(kept), thoughts


def without_thoughts(message: AIMessage) -> AIMessage:
    """The message with its thoughts in ``reasoning_content``; the very same one if it has none in its text.

    Reasoning that the provider has split off already is kept as it is.
    """
    if not isinstance(message.content, str):
        return message
    text, thoughts = split_thoughts(message.content)
    if not thoughts:
        return message
    _log.debug("reasoning_tags_moved", blocks=len(thoughts))
    reasoning = message.additional_kwargs.get("reasoning_content") or "\n\n".join(filter(None, thoughts))
    extra = {**message.additional_kwargs, "reasoning_content": reasoning}
    return message.model_copy(update={"content": text.strip(), "additional_kwargs": extra})


class NemotronReasoningTagCleanupMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Takes closed think blocks out of what the model answers."""

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Clean the answer."""
        return map_ai_messages(handler(request), without_thoughts)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Clean the answer."""
        return map_ai_messages(await handler(request), without_thoughts)
