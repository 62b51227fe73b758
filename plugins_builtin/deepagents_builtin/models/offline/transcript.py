"""What the messages say: the task, and each tool call made for it with what came back.

This is the only memory of the offline model. A run that is resumed, in another process or by another
instance, goes on from its messages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from deepagents_builtin.models.offline.reading import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_CALL_ID = re.compile(r"offline_(\d+)_\d+")


@frozen
class Exchange:
    """A tool call and its outcome.

    Attributes:
        name: the tool.
        args: what it was called with.
        text: the text that came back.
        problem: why that text is of no use, in words; empty when it is.
    """

    name: str
    args: Mapping[str, Any] = field(hash=False)
    text: str
    problem: str = ""


@frozen
class Transcript:
    """The conversation since the last task.

    Attributes:
        task: text of the last message of the user.
        exchanges: tool calls since then, in order.
        turns: how many turns the model has had since then.
    """

    task: str
    exchanges: tuple[Exchange, ...]
    turns: int

    def of(self, tool: str) -> Iterator[Exchange]:
        """The exchanges with one tool, in order."""
        return (exchange for exchange in self.exchanges if exchange.name == tool)

    def last(self, tool: str) -> Exchange | None:
        """The last exchange with a tool, ``None`` if it was never called."""
        found = None
        for exchange in self.of(tool):
            found = exchange
        return found

    def by_argument(self, tool: str, argument: str) -> dict[str, list[Exchange]]:
        """The exchanges with a tool, grouped by one argument."""
        groups: dict[str, list[Exchange]] = {}
        for exchange in self.of(tool):
            groups.setdefault(str(exchange.args.get(argument)), []).append(exchange)
        return groups


def read_transcript(messages: Sequence[BaseMessage]) -> Transcript:
    """Read the messages of a request."""
    start = next((n for n in range(len(messages) - 1, -1, -1) if _is_task(messages[n])), -1)
    since = messages[start + 1 :]
    results = {message.tool_call_id: message for message in since if isinstance(message, ToolMessage)}
    own = [message for message in since if isinstance(message, AIMessage)]
    return Transcript(
        task=messages[start].text if start >= 0 else "",
        exchanges=tuple(
            _exchange(call["name"], call["args"], results.get(call["id"] or ""))
            for message in own
            for call in message.tool_calls
        ),
        turns=len(own),
    )


def _is_task(message: BaseMessage) -> bool:
    # Frames of a video come to the model as if the user had sent them.
    return isinstance(message, HumanMessage) and not message.additional_kwargs.get("read_file_media_result")


def _exchange(name: str, args: Mapping[str, Any], result: ToolMessage | None) -> Exchange:
    if result is None:
        return Exchange(name, args, "", "the call has no result")
    text = str(result.text)
    if result.status == "error":
        return Exchange(name, args, text, one_line(text) or "the tool failed without saying why")
    # A plain text is by far the most frequent; it must not be walked through letter by letter.
    blocks = [] if isinstance(result.content, str) else result.content
    kinds = sorted({str(block.get("type")) for block in blocks if isinstance(block, dict)} - {"text"})
    if kinds:
        return Exchange(name, args, text, f"not text: the tool gave {', '.join(kinds)}")
    # Some backends and middleware report an error as an ordinary answer.
    if text.startswith("Error:"):
        return Exchange(name, args, text, one_line(text))
    return Exchange(name, args, text)


def next_serial(messages: Sequence[BaseMessage]) -> int:
    """A number that no tool call of the conversation has in its id, earlier tasks included."""
    used = [
        int(match[1])
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if (match := _CALL_ID.fullmatch(call["id"] or ""))
    ]
    return max(used, default=0) + 1
