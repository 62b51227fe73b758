"""The state that every agent starts from."""

# No `from __future__ import annotations`: subclasses in other modules inherit these as evaluated objects.
from typing import Annotated, Any, Required

from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AnyMessage

from deepagents_kernel.contracts.messages_channel import MessagesChannel


class DeepAgentState(AgentState[Any]):
    """LangChain's agent state with a conversation that is checkpointed by what was written to it.

    With the channel that ``AgentState`` declares, each checkpoint holds the whole conversation again.

    Attributes:
        messages: the conversation.
    """

    messages: Required[Annotated[list[AnyMessage], MessagesChannel()]]
