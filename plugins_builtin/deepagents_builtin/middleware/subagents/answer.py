"""The text that a child hands back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from deepagents_builtin.middleware.subagents.errors import ChildResultError

#: Stands where a report should be, so that silence can't be taken for success.
NO_TEXT: Final = (
    "(The subagent ended without writing a report. Whatever it did is done, but nothing is known about the "
    "outcome: check it, or delegate again and ask for an explicit report.)"
)


def answer_text(subagent: str, result: Any) -> str:
    """What the parent model reads: the structured response if there is one, else the last text.

    Raises:
        ChildResultError: the result is not a mapping with messages.
    """
    messages = _messages(subagent, result)
    structured = result.get("structured_response")
    if structured is not None:
        return to_json(structured)
    return _last_text(messages) or NO_TEXT


def to_json(value: Any) -> str:
    """JSON of a structured response; what JSON can't hold becomes text instead of an error."""
    try:
        if isinstance(value, BaseModel):
            return value.model_dump_json()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = dataclasses.asdict(value)
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return _lenient_json(value)


def _lenient_json(value: Any) -> str:
    try:
        return json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)
    except Exception:  # the child's work is done; an unprintable part must not lose it
        return str(value)


def _messages(subagent: str, result: Any) -> Sequence[Any]:
    if not isinstance(result, Mapping):
        raise ChildResultError(subagent, f"{type(result).__name__} instead of a mapping")
    messages = result.get("messages")
    if not isinstance(messages, list | tuple):
        got = "a state without 'messages'" if messages is None else f"{type(messages).__name__} as 'messages'"
        raise ChildResultError(subagent, got)
    return messages


def _last_text(messages: Sequence[Any]) -> str:
    for message in _newest_first(messages):
        if isinstance(message, AIMessage):
            text = str(message.text).rstrip()
            if text:
                return text
    return ""


def _newest_first(messages: Sequence[Any]) -> Iterator[BaseMessage]:
    for message in reversed(messages):
        if isinstance(message, BaseMessage):
            yield message
            continue
        try:
            # Remote graphs and foreign runnables speak in dicts.
            yield from convert_to_messages([message])
        except (NotImplementedError, ValueError, TypeError, KeyError):
            continue
