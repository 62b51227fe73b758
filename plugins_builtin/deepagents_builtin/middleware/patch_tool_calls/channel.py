"""Find out how the ``messages`` channel of a stack treats a message that is removed and added again."""

from __future__ import annotations

import functools

from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.graph import StateGraph

from deepagents_kernel.log import get_logger

_log = get_logger(__name__)


@functools.lru_cache(maxsize=64)
def moves_readded(state_schema: type) -> bool:
    """Whether a message removed and added in one write ends up behind what was added before it.

    The channel is asked, not recognised: two messages are put through it. Whatever goes wrong counts as no.

    Args:
        state_schema: the base state schema of a stack.
    """
    try:
        channel = StateGraph(state_schema).channels["messages"].copy()
        moved, new = HumanMessage("moved", id="moved"), HumanMessage("new", id="new")
        channel.update([[moved]])
        channel.update([[RemoveMessage(id="moved"), new, moved]])
        return [message.id for message in channel.get()] == ["new", "moved"]
    except Exception as error:
        # A schema of any make; the safe answer always works.
        _log.debug(
            "messages_channel_unknown", schema=getattr(state_schema, "__name__", ""), error=repr(error)
        )
        return False
