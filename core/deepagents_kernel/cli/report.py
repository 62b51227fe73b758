"""What a run shows: as text for a person, or as one JSON object a line for a program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Protocol

from attrs import field, frozen

from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.workspace import MOST_FILES, Changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepagents_kernel.cli.events import Event
    from deepagents_kernel.cli.output import Output

Status = Literal["ok", "failed", "limit", "approval", "interrupted"]

CODES: Mapping[str, ExitCode] = {
    "ok": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "limit": ExitCode.FAILED,
    "approval": ExitCode.APPROVAL,
    "interrupted": ExitCode.INTERRUPTED,
}

_ARGUMENT = 48
_ARGUMENTS = 120
_SENTENCE = 200
_NAMED_FILES = 12


@frozen
class RunResult:
    """How a run ended.

    Attributes:
        status: ``ok``, ``failed``, ``limit`` (too many steps), ``approval`` or ``interrupted``.
        answer: the last text of the main agent, complete or not.
        seconds: how long it took.
        steps: how often a model answered.
        tokens: sums of what the models reported.
        changes: what happened to the files of the workspace.
        waiting: calls that wait for an approval.
        error: what went wrong; empty if nothing did.
    """

    status: Status
    answer: str
    seconds: float
    steps: int = 0
    tokens: Mapping[str, int] = field(factory=dict)
    changes: Changes = field(factory=Changes)
    waiting: Sequence[Mapping[str, Any]] = ()
    error: str = ""


class Report(Protocol):
    """Something that shows a run."""

    def event(self, event: Event) -> None:
        """Show one event."""

    def result(self, result: RunResult) -> None:
        """Show how it ended."""


class JsonReport:
    """One JSON object a line: every event as it comes, then ``{"event": "result", ...}``."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def event(self, event: Event) -> None:
        """Write one event."""
        self._output.json({"event": event.kind, "agent": event.agent, "depth": event.depth, **event.data})

    def result(self, result: RunResult) -> None:
        """Write the last line."""
        changes = result.changes
        self._output.json(
            {
                "event": "result",
                "status": result.status,
                "exit_code": int(CODES[result.status]),
                "answer": result.answer,
                "seconds": round(result.seconds, 3),
                "steps": result.steps,
                "tokens": dict(result.tokens),
                "files": {
                    "created": changes.created,
                    "changed": changes.changed,
                    "deleted": changes.deleted,
                    "complete": changes.complete,
                },
                "waiting": list(result.waiting),
                "error": result.error,
            }
        )


class TextReport:
    """Tool calls and sub-agents as they work, the answer as it comes, and a summary."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._open_line = False

    def event(self, event: Event) -> None:
        """Show one event; the text of sub-agents only when it is complete, so that two never mix."""
        if event.kind == "text":
            if not event.depth:
                self._output.part(event.data["text"])
                self._open_line = not event.data["text"].endswith("\n")
            return
        line = _LINES[event.kind](event)
        if line:
            self._line(
                f"{_margin(event)}{line}", "dim" if event.kind in ("tool_call", "answer") else "yellow"
            )

    def result(self, result: RunResult) -> None:
        """Show the summary; what went wrong goes to standard error."""
        self._line("")
        if result.error:
            self._output.error(result.error)
        self._line(_summary(result), "bold")
        for line in _files(result.changes):
            self._line(line)

    def _line(self, text: str, style: str = "") -> None:
        if self._open_line:
            self._output.part("\n")
            self._open_line = False
        self._output.line(text, style)


def _margin(event: Event) -> str:
    return f"{'  ' * event.depth}[{event.agent}] " if event.depth else ""


def _call(event: Event) -> str:
    parts = []
    for name, value in event.data["args"].items():
        text = json.dumps(value, ensure_ascii=False, default=str)
        parts.append(f"{name}={_cut(text, _ARGUMENT)}")
    return f"> {event.data['name']}({_cut(', '.join(parts), _ARGUMENTS)})"


def _failure(event: Event) -> str:
    if event.data["status"] != "error":
        return ""
    return f"  {event.data['name']} failed: {_cut(_one_line(event.data['text']), _SENTENCE)}"


def _waiting(event: Event) -> str:
    what = event.data.get("name") or _one_line(event.data.get("description", ""))
    return f"? waits for approval: {_cut(what, _SENTENCE)}"


_LINES = {
    "tool_call": _call,
    "tool_result": _failure,
    "answer": lambda event: f"< {_cut(_one_line(event.data['text']), _SENTENCE)}",
    "approval": _waiting,
}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


_ENDS = {
    "ok": "done",
    "failed": "failed",
    "limit": "stopped at the step limit",
    "approval": "stopped for an approval",
    "interrupted": "interrupted",
}


def _summary(result: RunResult) -> str:
    parts = [f"{_ENDS[result.status]} after {result.seconds:.1f} s"]
    parts.append(f"{result.steps} model call{'' if result.steps == 1 else 's'}")
    tokens = result.tokens
    if tokens:
        parts.append(f"{tokens.get('input_tokens', 0):,} tokens in, {tokens.get('output_tokens', 0):,} out")
    return ", ".join(parts)


def _files(changes: Changes) -> list[str]:
    lines = [
        f"{label}: {_listed(names)}"
        for label, names in (
            ("created", changes.created),
            ("changed", changes.changed),
            ("deleted", changes.deleted),
        )
        if names
    ]
    if not changes.complete:
        lines.append(f"more than {MOST_FILES:,} files: new and deleted ones are not listed")
    return lines or ["no files changed"]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED_FILES])
    rest = len(names) - _NAMED_FILES
    return f"{shown} and {rest} more" if rest > 0 else shown
