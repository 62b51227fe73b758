"""``OfflineChatModel``: the policy as a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call

from deepagents_builtin.models.offline.policy import next_turn
from deepagents_builtin.models.offline.transcript import next_serial
from deepagents_kernel.testing.local import LocalChatModel
from deepagents_kernel.testing.wire import tool_name

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Rules have no context window; a large one keeps the messages, which are the model's memory, uncompacted.
CONTEXT_WINDOW = 1_000_000_000


class OfflineChatModel(LocalChatModel):
    """A chat model that works by fixed rules, from the messages and the tools that it is given.

    It keeps no state and touches no files itself: one instance serves any number of agents, and a run can be
    resumed by another instance. What it does is described in the ``policy`` module. Token usage is an
    estimate, four characters a token.
    """

    provider: str = "offline"
    model_name: str = "offline"

    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=CONTEXT_WINDOW, tool_calling=True)

    def answer(
        self, messages: list[BaseMessage], tools: tuple[Any, ...], options: Mapping[str, Any]
    ) -> AIMessage:
        """The next turn of the policy; *options* are of no use to it."""
        del options
        turn = next_turn(messages, frozenset(map(tool_name, tools)))
        serial = next_serial(messages) if turn.calls else 0
        calls = [
            tool_call(name=name, args=dict(arguments), id=f"offline_{serial}_{index}")
            for index, (name, arguments) in enumerate(turn.calls, 1)
        ]
        return AIMessage(
            content=turn.text, tool_calls=calls, usage_metadata=_usage(messages, turn.text, calls)
        )


def _usage(messages: list[BaseMessage], text: str, calls: list[Any]) -> UsageMetadata:
    given = sum(len(message.text) for message in messages) // 4
    made = (len(text) + sum(len(str(call["args"])) for call in calls)) // 4
    return UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)
