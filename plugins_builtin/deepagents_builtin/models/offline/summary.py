"""What one reader found in its part, and the lines in which a sub-agent hands that to its parent.

The task of the sub-agent has, each on a line of its own, ``OFFLINE-PART 1``, then ``path`` and a JSON string
for each file, then ``END-OFFLINE-PART``. Its answer has ``OFFLINE-SUMMARY 1``, then ``file`` or ``sentence``
and a JSON object for each, then ``END-OFFLINE-SUMMARY`` and how many files there are. An answer without that
end, or with a line that doesn't fit, is of no use: half a summary would pass for a whole one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from deepagents_builtin.models.offline.reading import Progress, heading_lines, one_line, sizes
from deepagents_builtin.models.offline.sentences import Sentence, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Headings reported of one file, and how much of each.
MAX_HEADINGS = 12
HEADING_LENGTH = 100

_INSTRUCTION = (
    "Read exactly these files, whole, with read_file, and answer with the summary lines of the offline "
    "policy and nothing else."
)
_PART, _PART_END = "OFFLINE-PART 1", "END-OFFLINE-PART"
_SUMMARY, _SUMMARY_END = "OFFLINE-SUMMARY 1", "END-OFFLINE-SUMMARY"


@frozen
class FileNote:
    """What is reported of one file.

    Attributes:
        path: the file.
        read: whether any text of it was seen.
        lines, characters, bytes: sizes of the text that was seen.
        headings: number and text of its first headings.
        headings_left: how many more there are.
        problem: why it is not, or not wholly, there; empty when it is.
    """

    path: str
    read: bool
    lines: int = 0
    characters: int = 0
    bytes: int = 0
    headings: tuple[tuple[int, str], ...] = ()
    headings_left: int = 0
    problem: str = ""


@frozen
class Part:
    """The files of one reader, by path, and their most informative sentences."""

    files: tuple[FileNote, ...] = ()
    sentences: tuple[Sentence, ...] = ()


def summarise(progress: Mapping[str, Progress]) -> Part:
    """Work out sizes, headings and sentences of the files of a part."""
    texts = {path: found.text() for path, found in progress.items() if found.windows}
    notes = [
        _note(path, texts[path], found.problem)
        if path in texts
        else FileNote(path, read=False, problem=found.problem)
        for path, found in sorted(progress.items())
    ]
    return Part(tuple(notes), rank(texts))


def describe_part(paths: Iterable[str]) -> str:
    """The task of a sub-agent that reads *paths*."""
    listed = [f"path {json.dumps(path)}" for path in paths]
    return "\n".join([_INSTRUCTION, _PART, *listed, _PART_END])


def parse_part(task: str) -> tuple[str, ...] | None:
    """The files that a task asks a sub-agent of the offline policy to read; ``None`` for any other task."""
    lines = _between(task, _PART, _PART_END)
    if lines is None:
        return None
    paths = [_json(line, "path ") for line in lines]
    return tuple(path for path in paths if isinstance(path, str))


def encode(part: Part) -> str:
    """The answer of a sub-agent."""
    files = [f"file {json.dumps(asdict(note))}" for note in part.files]
    sentences = [f"sentence {json.dumps(asdict(sentence))}" for sentence in part.sentences]
    return "\n".join([_SUMMARY, *files, *sentences, f"{_SUMMARY_END} {len(files)}"])


def decode(answer: str, paths: Sequence[str]) -> Part | None:
    """The part in an answer of a sub-agent.

    Args:
        answer: its text.
        paths: the files that it was given; it can't speak of others.

    Returns:
        The part, or ``None`` if the answer is not a whole summary.
    """
    count = next((line for line in answer.splitlines() if line.startswith(_SUMMARY_END)), "")
    lines = _between(answer, _SUMMARY, count) if count else None
    if lines is None:
        return None
    try:
        files = tuple(_file(line) for line in lines if line.startswith("file "))
        sentences = tuple(_sentence(line) for line in lines if line.startswith("sentence "))
    except (TypeError, ValueError):
        return None
    whole = len(files) + len(sentences) == len(lines) and count == f"{_SUMMARY_END} {len(files)}"
    named = {note.path for note in files} | {sentence.path for sentence in sentences}
    return Part(files, sentences) if whole and named <= set(paths) else None


def _note(path: str, lines: Sequence[str], problem: str) -> FileNote:
    count, characters, size = sizes(lines)
    headings = heading_lines(path, lines)
    return FileNote(
        path=path,
        read=True,
        lines=count,
        characters=characters,
        bytes=size,
        headings=tuple((number, one_line(text, HEADING_LENGTH)) for number, text in headings[:MAX_HEADINGS]),
        headings_left=max(0, len(headings) - MAX_HEADINGS),
        problem=problem,
    )


def _between(text: str, first: str, last: str) -> list[str] | None:
    lines = text.splitlines()
    try:
        start = lines.index(first)
        return lines[start + 1 : lines.index(last, start)]
    except ValueError:
        return None


def _json(line: str, head: str) -> Any:
    if not line.startswith(head):
        return None
    try:
        return json.loads(line[len(head) :])
    except ValueError:
        return None


def _file(line: str) -> FileNote:
    fields = _fields(line, "file ")
    fields["headings"] = tuple((int(number), str(text)) for number, text in fields.get("headings", ()))
    note = FileNote(**fields)
    numbers = (note.lines, note.characters, note.bytes, note.headings_left)
    if not isinstance(note.path, str) or not all(isinstance(number, int) for number in numbers):
        msg = "a field of the wrong type"
        raise TypeError(msg)
    return note


def _sentence(line: str) -> Sentence:
    fields = _fields(line, "sentence ")
    return Sentence(str(fields["path"]), int(fields["line"]), str(fields["text"]), float(fields["score"]))


def _fields(line: str, head: str) -> dict[str, Any]:
    fields = _json(line, head)
    if not isinstance(fields, dict):
        msg = "no object"
        raise TypeError(msg)
    return fields
