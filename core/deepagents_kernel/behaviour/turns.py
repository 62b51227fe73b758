"""What happened since the user last spoke.

A turn is found from the end of the conversation backwards, so that the work depends on the turn and not on
what came before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.messages import BaseMessage

    from deepagents_kernel.behaviour.messages import InternalMessages


@frozen(eq=False)
class AnsweredCall:
    """A tool call and its result.

    Attributes:
        name: the tool.
        args: its arguments.
        result: the tool message, ``None`` if there is none (yet).
    """

    name: str
    args: Mapping[str, Any]
    result: ToolMessage | None

    @property
    def succeeded(self) -> bool:
        """Whether there is a result that is no error."""
        return self.result is not None and self.result.status != "error"

    @property
    def text(self) -> str:
        """The text of the result; empty without one."""
        return "" if self.result is None else self.result.text


@frozen(eq=False)
class Turn:
    """The part of a conversation that began with the user's last message.

    Attributes:
        messages: all of it, the user's message first.
        start: place of the first of them in the conversation.
        own: the family of messages that are not the user's.
    """

    messages: Sequence[BaseMessage]
    start: int
    own: InternalMessages

    @property
    def request(self) -> HumanMessage | None:
        """The user's message; ``None`` if there is none in the conversation."""
        first = self.messages[0] if self.messages else None
        return first if isinstance(first, HumanMessage) and self.own.is_external(first) else None

    @property
    def text(self) -> str:
        """What the user wrote; empty without a message."""
        request = self.request
        return "" if request is None else request.text

    @property
    def key(self) -> str:
        """Tells this turn from others of the conversation, in every checkpoint of it."""
        request = self.request
        if request is None:
            return ""
        # Ids are given when a message enters the state; a bare list of messages may have none.
        return request.id or f"{self.start}:{request.text[:200]}"

    @property
    def last(self) -> BaseMessage | None:
        """The last message."""
        return self.messages[-1] if self.messages else None

    @property
    def ai_messages(self) -> list[AIMessage]:
        """The model's messages, in order; those that a behaviour wrote in its place are left out."""
        return [item for item in self.messages if isinstance(item, AIMessage) and not self.own.owns(item)]

    @property
    def tool_messages(self) -> list[ToolMessage]:
        """The tool results, in order."""
        return [item for item in self.messages if isinstance(item, ToolMessage)]

    @property
    def calls(self) -> list[AnsweredCall]:
        """Every tool call with its result, in the order of the calls."""
        results = {item.tool_call_id: item for item in self.tool_messages}
        return [
            AnsweredCall(call["name"], call["args"], results.get(call["id"] or ""))
            for message in self.ai_messages
            for call in message.tool_calls
        ]

    def called(self, wanted: Callable[[str], bool]) -> bool:
        """Whether a tool was called whose name satisfies *wanted*."""
        return any(wanted(call["name"]) for message in self.ai_messages for call in message.tool_calls)

    def final_answer(self) -> AIMessage | None:
        """The last message, if it ends the turn: the model's own, with text and without tool calls."""
        last = self.last
        if not isinstance(last, AIMessage) or self.own.owns(last) or last.tool_calls:
            return None
        return last if last.text.strip() else None


def current_turn(messages: Sequence[BaseMessage], own: InternalMessages) -> Turn:
    """The turn that the conversation is in.

    Args:
        messages: the conversation.
        own: the family of messages that don't begin a turn.

    Returns:
        Everything from the user's last message on; the whole conversation if the user wrote none.
    """
    start = len(messages)
    while start:
        start -= 1
        if own.is_external(messages[start]):
            break
    return Turn(messages[start:], start, own)
