"""Whether a turn gets anywhere: limits, calls without a new result, and calls repeated in a row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import field, frozen, validators
from langchain_core.messages import AIMessage, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.behaviour.turns import AnsweredCall, Turn

#: How a result begins that tells the model nothing; compared without regard to case.
UNINFORMATIVE_STARTS = ("no files found", "no matches found", "error:")


@frozen
class TurnLimits:
    """From which size on a turn is taken for a loop.

    Attributes:
        ai_messages: messages of the model.
        tool_messages: tool results.
    """

    ai_messages: int = field(validator=validators.ge(1))
    tool_messages: int = field(validator=validators.ge(1))

    def reached(self, turn: Turn) -> bool:
        """Whether a turn has either number."""
        return len(turn.ai_messages) >= self.ai_messages or len(turn.tool_messages) >= self.tool_messages


@frozen
class Idle:
    """What a turn has spent since something last came of it.

    Attributes:
        model_calls: messages of the model.
        tool_results: tool results.
    """

    model_calls: int
    tool_results: int


def is_uninformative(text: str, starts: Iterable[str] = UNINFORMATIVE_STARTS) -> bool:
    """Whether a tool result tells nothing: it is blank, or begins like one that found nothing.

    Args:
        text: the result.
        starts: such beginnings, in lower case.
    """
    begun = text.lstrip()[:100].lower()
    return not begun or begun.startswith(tuple(starts))


def idle_since_progress(turn: Turn) -> Idle:
    """Count what came since the last progress of a turn.

    Progress is a result that tells something and that the turn has not had before from the same call.
    """
    calls: dict[str | None, str] = {}
    seen: set[tuple[str, str]] = set()
    model_calls = tool_results = 0
    for message in turn.messages:
        if isinstance(message, AIMessage) and not turn.own.owns(message):
            model_calls += 1
            calls.update({call["id"]: call_signature(call) for call in message.tool_calls})
        elif isinstance(message, ToolMessage):
            tool_results += 1
            text = message.text
            result = (calls.get(message.tool_call_id, ""), text)
            if message.status != "error" and result not in seen and not is_uninformative(text):
                model_calls = tool_results = 0
            seen.add(result)
    return Idle(model_calls, tool_results)


def repeated_calls(turn: Turn) -> int:
    """How many tool calls at the end of a turn are the same one, of equal name and arguments, to no avail.

    A call whose result tells something else than that of the equal one before it begins anew: who waits for
    something asks for it again, and gets on.
    """
    count = 0
    later: AnsweredCall | None = None
    for call in reversed(turn.calls):
        if later is not None and (_signature(call) != _signature(later) or _tells_more(later, call)):
            break
        later = call
        count += 1
    return count


def _tells_more(later: AnsweredCall, earlier: AnsweredCall) -> bool:
    return later.succeeded and later.text != earlier.text and not is_uninformative(later.text)


def _signature(call: AnsweredCall) -> str:
    return call_signature({"name": call.name, "args": call.args})


def call_signature(call: Mapping[str, Any]) -> str:
    """A tool call as a text that is the same for calls of equal name and arguments."""
    arguments = json.dumps(call["args"], sort_keys=True, default=repr, ensure_ascii=False)
    return f"{call['name']} {arguments}"
