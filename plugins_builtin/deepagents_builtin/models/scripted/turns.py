"""Turns in a file: a JSON list, or JSON objects one after the other (JSONL), in UTF-8.

Each is ``{"text": "..."}``, ``{"tool_calls": [{"name": "ls", "args": {"path": "/"}}]}``, both in one object,
or ``{"error": "..."}``, which the model raises.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from langchain_core.messages import AIMessage

from deepagents_kernel.errors import DeepAgentsError, ModelSpecError, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEYS = ("text", "tool_calls", "error")
_CALL_KEYS = ("name", "args", "id")
_FORMS = 'a turn is {"text": ...}, {"tool_calls": [{"name": ..., "args": {...}}]} or {"error": ...}'
_BLANK = re.compile(r"\s*")
_SEPARATOR = re.compile(r"\s*(,|\])\s*")


class ScriptedTurnError(DeepAgentsError):
    """What a turn ``{"error": ...}`` raises, in place of an error of a provider."""


@frozen
class _Source:
    """A file that is being read, for error texts."""

    spec: str
    path: str
    text: str = field(repr=False)

    def line(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def error(self, line: int, reason: str, hint: str = "") -> ModelSpecError:
        return ModelSpecError(self.spec, f"{self.path}, line {line}: {reason}", hint or _FORMS)


def load_turns(spec: str, path: str) -> list[Any]:
    """The turns in a file, as ``ScriptedChatModel`` takes them.

    Args:
        spec: the model string, for error texts.
        path: the file; a leading ``~`` is the home folder.

    Raises:
        ModelSpecError: the file can't be read, or isn't a list of turns; file and line are named.
    """
    try:
        data = Path(path).expanduser().read_bytes()
    except (OSError, RuntimeError, ValueError) as error:
        raise ModelSpecError(
            spec, f"{path} can't be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelSpecError(spec, f"{path}, line {line}: not UTF-8", "save the file as UTF-8") from error
    source = _Source(spec, path, text)
    turns = [_turn(source, source.line(position), item) for position, item in _items(source)]
    if not turns:
        raise source.error(1, "no turns")
    return turns


def _items(source: _Source) -> Iterator[tuple[int, Any]]:
    """The values in the file, with the position at which each begins."""
    text = source.text
    position = _skip(_BLANK, text, 0)
    in_list = text.startswith("[", position)
    if in_list:
        position = _skip(_BLANK, text, position + 1)
        if text.startswith("]", position):
            return
    while position < len(text):
        start = position
        value, position = _decode(source, start)
        yield start, value
        if not in_list:
            position = _skip(_BLANK, text, position)
            continue
        separator = _SEPARATOR.match(text, position)
        if separator is None:
            raise source.error(source.line(position), "a comma or the end of the list is missing")
        position = separator.end()
        if separator[1] == "]":
            if position < len(text):
                raise source.error(source.line(position), "something stands behind the list")
            return
    if in_list:
        raise source.error(source.line(len(text)), "the list has no end")


def _decode(source: _Source, position: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(source.text, position)
    except json.JSONDecodeError as error:
        raise source.error(error.lineno, f"not JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise source.error(source.line(position), "nested too deeply") from error


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return position if found is None else found.end()


def _turn(source: _Source, line: int, item: Any) -> Any:
    if not isinstance(item, dict) or not item:
        raise source.error(line, f"{_shown(item)} is no turn")
    _check_keys(source, line, item, _KEYS)
    if "error" in item:
        if len(item) > 1:
            raise source.error(line, "a turn with 'error' can have nothing else")
        return ScriptedTurnError(_string(source, line, item, "error"))
    text = _string(source, line, item, "text") if "text" in item else ""
    if "tool_calls" not in item:
        return text
    calls = item["tool_calls"]
    if not isinstance(calls, list) or not calls:
        raise source.error(line, f"'tool_calls' must be a list of calls, not {_shown(calls)}")
    ready = [_call(source, line, call) for call in calls]
    # Calls with a text need a message, and a message needs ids; calls alone get theirs from the model.
    return _with_text(text, ready, line) if text else ready


def _with_text(text: str, calls: list[dict[str, Any]], line: int) -> AIMessage:
    named = [{**call, "id": call.get("id") or f"call_line{line}_{n}"} for n, call in enumerate(calls, 1)]
    return AIMessage(content=text, tool_calls=named)


def _call(source: _Source, line: int, call: Any) -> dict[str, Any]:
    if not isinstance(call, dict):
        raise source.error(line, f"{_shown(call)} is no tool call")
    _check_keys(source, line, call, _CALL_KEYS)
    arguments = call.get("args", {})
    if not isinstance(arguments, dict):
        raise source.error(line, f"'args' must be an object, not {_shown(arguments)}")
    ready = {"name": _string(source, line, call, "name"), "args": arguments}
    return {**ready, "id": _string(source, line, call, "id")} if "id" in call else ready


def _string(source: _Source, line: int, item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not (value or key == "text"):
        raise source.error(line, f"{key!r} must be a text, not {_shown(value)}")
    return value


def _check_keys(source: _Source, line: int, item: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in item:
        if key not in known:
            raise source.error(
                line, f"unknown key {key!r}", nearest_hint(key, known) or f"known: {', '.join(known)}"
            )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}..."
