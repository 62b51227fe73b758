"""What a file tool says, and the message that carries it."""

from __future__ import annotations

from typing import Any, Literal

from attrs import frozen
from langchain_core.messages import ToolMessage

Status = Literal["success", "error"]


@frozen
class Outcome:
    """The result of a tool call before it becomes a message.

    Attributes:
        text: what the model reads.
        status: whether the tool did what was asked.
        artifact: the same for programs, or ``None``; the model doesn't see it.
    """

    text: str
    status: Status = "success"
    artifact: Any = None


def success(text: str, artifact: Any = None) -> Outcome:
    """The tool did what was asked."""
    return Outcome(text, "success", artifact)


def failure(text: str) -> Outcome:
    """The tool didn't; the text stands as it is."""
    return Outcome(text, "error")


def refusal(text: str) -> Outcome:
    """The tool didn't; the text gets the prefix ``Error: `` unless it has one."""
    return failure(text if text.startswith("Error: ") else f"Error: {text}")


def with_notes(text: str, *notes: str) -> str:
    """*text*, then each note that isn't empty in a paragraph of its own."""
    return "\n\n".join([text, *(note for note in notes if note)])


def to_message(outcome: Outcome, *, tool: str, tool_call_id: str | None) -> ToolMessage:
    """The message that answers the call."""
    return ToolMessage(
        content=printable(outcome.text),
        name=tool,
        tool_call_id=tool_call_id or "",
        status=outcome.status,
        artifact=outcome.artifact,
    )


def printable(text: str) -> str:
    r"""*text* with lone surrogates written as ``\udc80``: no provider and no checkpoint can encode them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text
