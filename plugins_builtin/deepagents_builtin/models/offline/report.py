"""The report: what was seen, in an order that does not depend on how it was come by."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.models.offline.placing import REPORT, TITLE
from deepagents_builtin.models.offline.reading import one_line, printable

if TYPE_CHECKING:
    from deepagents_builtin.models.offline.sentences import Sentence
    from deepagents_builtin.models.offline.summary import FileNote, Part

#: How much of the task is quoted.
QUOTED = 2000


@frozen
class Findings:
    """All that goes into a report.

    Attributes:
        task: the task, to be quoted.
        own: the part read by the agent itself.
        delegated: the part read by its sub-agent; empty without one.
        problems: what went wrong or was left out.
    """

    task: str
    own: Part
    delegated: Part
    problems: tuple[str, ...]


def render(findings: Findings) -> str:
    """The report as Markdown."""
    notes = sorted((*findings.own.files, *findings.delegated.files), key=lambda note: note.path)
    delegated = frozenset(note.path for note in findings.delegated.files)
    sections = [
        _head(findings.task),
        _overview(notes, delegated),
        _outline(notes, delegated),
        _headings(notes),
        _sentences(findings),
        _skipped(notes),
        _partial(notes),
        _problems(findings.problems),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def final_answer(path: str, files: int, read: int, delegated: int, lines: int) -> str:
    """The last words of the agent, once the report is written to *path*."""
    left = f"{REPORT} is not a report of the offline policy and was left as it is. " if path != REPORT else ""
    return (
        f"The report is in {path}. {left}{_count(files, 'file')} seen, {read} of them read as text "
        f"({delegated} by a sub-agent), {_count(lines, 'line')}. It was made by the offline policy, which "
        "follows fixed rules and does not understand the task."
    )


def _head(task: str) -> list[str]:
    quoted = task if len(task) <= QUOTED else f"{task[:QUOTED]}... ({len(task)} characters)"
    return [
        TITLE,
        "",
        "This report was made by the offline policy: fixed rules, no language model. It does not understand",
        "the text of the task and does not answer it. It lists what is in the workspace. The task was:",
        "",
        *(f"> {printable(line)}".rstrip() for line in quoted.splitlines() or ["(no task)"]),
    ]


def _overview(notes: list[FileNote], delegated: frozenset[str]) -> list[str]:
    read = [note for note in notes if note.read]
    theirs = sum(1 for note in read if note.path in delegated)
    lines, characters = sum(note.lines for note in read), sum(note.characters for note in read)
    seen = _sizes(lines, characters, sum(note.bytes for note in read))
    return [
        "## Overview",
        "",
        f"- {_count(len(notes), 'file')}: {len(read)} read as text, {len(notes) - len(read)} not",
        f"- read by a sub-agent: {theirs}",
        f"- in all {seen}",
        "",
        "Sizes are of the text as the file tool shows it: each line has one line end, bytes are UTF-8.",
    ]


def _outline(notes: list[FileNote], delegated: frozenset[str]) -> list[str]:
    lines = ["## Outline", ""]
    shown: list[str] = []
    for note in notes:
        *folders, name = note.path.strip("/").split("/")
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(shown, folders, strict=False))))
        lines.extend(f"{'  ' * n}- {_code(folders[n] + '/')}" for n in range(common, len(folders)))
        shown = folders
        what = _sizes(note.lines, note.characters, note.bytes) if note.read else "not read as text"
        reader = ", read by the sub-agent" if note.path in delegated else ""
        lines.append(f"{'  ' * len(folders)}- {_code(name)}: {what}{reader}")
    return lines if notes else [*lines, "No files were seen."]


def _headings(notes: list[FileNote]) -> list[str]:
    lines = ["## Headings"]
    for note in notes:
        if note.headings:
            lines += ["", f"{_code(note.path)}:", ""]
            lines += [f"- line {number}: {_code(text)}" for number, text in note.headings]
            lines += [f"- and {note.headings_left} more"] if note.headings_left else []
    return lines if len(lines) > 1 else []


def _sentences(findings: Findings) -> list[str]:
    parts = (("read here", findings.own), ("read by the sub-agent", findings.delegated))
    rule = "Their words are frequent in their file and in few other files. Each reader's files rank apart."
    lines = ["## Most informative sentences", "", rule]
    for where, part in parts:
        if part.sentences:
            lines += ["", f"Files {where}:", ""]
            lines += [f"{rank}. {_cited(sentence)}" for rank, sentence in enumerate(part.sentences, 1)]
    return lines if len(lines) > 3 else []


def _skipped(notes: list[FileNote]) -> list[str]:
    lines = [f"- {_code(note.path)}: {note.problem}" for note in notes if not note.read]
    return ["## Skipped files", "", *lines] if lines else []


def _partial(notes: list[FileNote]) -> list[str]:
    lines = [f"- {_code(note.path)}: {note.problem}" for note in notes if note.read and note.problem]
    return ["## Files read in part", "", *lines] if lines else []


def _problems(problems: tuple[str, ...]) -> list[str]:
    return ["## Problems and limits", "", *(f"- {problem}" for problem in problems)] if problems else []


def _cited(sentence: Sentence) -> str:
    place = f"{_code(sentence.path)}, line {sentence.line} (score {sentence.score:.4f})"
    return f"{place}: {one_line(sentence.text, 300)}"


def _sizes(lines: int, characters: int, size: int) -> str:
    return f"{_count(lines, 'line')}, {_count(characters, 'character')}, {_count(size, 'byte')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _code(text: str) -> str:
    shown = printable(text)
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"
