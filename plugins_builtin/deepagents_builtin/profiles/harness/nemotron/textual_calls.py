"""Read tool calls that a model wrote as text.

A block is read from its start to its end, part after part, so that a value may itself contain tags. What
does not read as a whole call is no call: a truncated block is never completed by guessing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_NAMED_BLOCK = re.compile(r"<function\s*=\s*[\"']?([^\s\"'<>=]+)[\"']?\s*>")
_PLAIN_BLOCK = re.compile(r"<function>\s*<name>\s*([^\s<>]+)\s*</name>")
_BLOCK_END = re.compile(r"\s*</function\s*>")
# <parameter name=KEY>, <parameter name="KEY">, <parameter=KEY>, <parameter>
_PARAMETER = re.compile(r"\s*<parameter(?:\s+name)?(?:\s*=\s*[\"']?([^\s\"'<>=]+)[\"']?)?\s*>")
_PARAMETER_END = re.compile(r"</parameter\s*>")
_PAIR = re.compile(r"\s*([A-Za-z_][\w-]*)\s*:(.*)", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_WRAPPER = re.compile(r"</?tool_call>")
_EMPTY_WRAPPER = re.compile(r"<tool_call>\s*</tool_call>")

_SHELL_ALIASES = frozenset({"bash", "sh", "shell"})


@frozen
class TextualCall:
    """A tool call in a text.

    Attributes:
        name: the tool.
        args: its arguments; in the tag formats all values are texts.
        start: where the call begins in the text.
        end: where it ends.
    """

    name: str
    args: Mapping[str, Any]
    start: int
    end: int


def tag_calls(text: str) -> Iterator[TextualCall]:
    """The calls in ``<function...>`` blocks, in order; blocks that don't read as a whole are passed over."""
    place = 0
    while (start := text.find("<function", place)) >= 0:
        call = _block(text, start)
        if call is not None:
            yield call
        place = start + 1 if call is None else call.end


def _block(text: str, start: int) -> TextualCall | None:
    opened = _NAMED_BLOCK.match(text, start) or _PLAIN_BLOCK.match(text, start)
    if opened is None:
        return None
    args: dict[str, str] = {}
    place = opened.end()
    while (ended := _BLOCK_END.match(text, place)) is None:
        begun = _PARAMETER.match(text, place)
        closed = begun and _PARAMETER_END.search(text, begun.end())
        if not begun or not closed:
            return None
        pair = _parameter(begun[1], text[begun.end() : closed.start()])
        if pair is None:
            return None
        args[pair[0]] = pair[1]
        place = closed.end()
    return TextualCall(opened[1], args, start, ended.end())


def _parameter(key: str | None, value: str) -> tuple[str, str] | None:
    if key is not None:
        return key, _unframed(value)
    pair = _PAIR.fullmatch(value)
    return (pair[1], pair[2].strip()) if pair else None


def _unframed(value: str) -> str:
    # The line breaks next to the tags belong to the layout, any others to the value.
    value = value.removeprefix("\r\n" if value.startswith("\r\n") else "\n")
    return value.removesuffix("\r\n" if value.endswith("\r\n") else "\n")


def json_call(text: str) -> TextualCall | None:
    """The call that a text consists of, if it is one JSON object with ``tool`` and arguments.

    A code fence around it may be there; any other word beside it makes the text prose, which is never a call.
    """
    whole = text.strip()
    fenced = _FENCE.match(whole)
    try:
        given = json.loads(fenced[1] if fenced else whole)
    # Deep nesting ends in a RecursionError; whatever it is, it is no call.
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not isinstance(given.get("tool"), str):
        return None
    args = _json_arguments(given)
    if args is None:
        return None
    name = given["tool"]
    return TextualCall("execute" if name in _SHELL_ALIASES else name, args, 0, len(text))


def _json_arguments(given: Mapping[str, Any]) -> dict[str, Any] | None:
    if "args" in given:
        return dict(given["args"]) if isinstance(given["args"], dict) else None
    for key in ("cmd", "command"):
        if isinstance(given.get(key), str):
            return {"command": given[key]}
    return None


def closing_calls(text: str, calls: Sequence[TextualCall]) -> list[TextualCall]:
    """The calls that a text ends with: behind them is nothing but more calls and blanks.

    Args:
        text: the text.
        calls: the calls in it, in order.
    """
    found: list[TextualCall] = []
    end = len(text)
    for call in reversed(calls):
        if _WRAPPER.sub("", text[call.end : end]).strip():
            break
        found.append(call)
        end = call.start
    return found


def without_calls(text: str, calls: Iterable[TextualCall]) -> str:
    """A text without some of the calls in it; all others stay as they are.

    Args:
        text: the text.
        calls: the calls to take out, in order.
    """
    kept: list[str] = []
    place = 0
    for call in calls:
        kept.append(text[place : call.start])
        place = call.end
    kept.append(text[place:])
    return _EMPTY_WRAPPER.sub("", "".join(kept)).strip()
