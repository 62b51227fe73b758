"""What the offline model does next, worked out from the messages alone.

As a main agent: list the workspace, read its files, hand one part of them to a sub-agent, write the report,
and name it. As the sub-agent: read the files named in its task and answer with summary lines. Nothing here
remembers anything; the same messages and tools always give the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_builtin.models.offline.reading import WINDOW, Progress, one_line, progress_of
from deepagents_builtin.models.offline.report import Findings, final_answer, render
from deepagents_builtin.models.offline.summary import (
    Part,
    decode,
    describe_part,
    encode,
    parse_part,
    summarise,
)
from deepagents_builtin.models.offline.survey import REPORT, Survey, survey
from deepagents_builtin.models.offline.transcript import read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.messages import BaseMessage

    from deepagents_builtin.models.offline.transcript import Transcript

#: Calls in one turn.
BATCH = 32
#: Turns for one task; whatever is missing then is reported as missing.
MAX_TURNS = 500
#: Files given to a sub-agent at most, so that its answer stays within what a tool result may have.
MAX_DELEGATED = 40

SUBAGENT = "general-purpose"
FILE_TOOLS = frozenset({"ls", "read_file", "write_file"})


@frozen
class Turn:
    """A text, or tool calls as ``(name, arguments)``."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def next_turn(messages: Sequence[BaseMessage], tools: frozenset[str]) -> Turn:
    """The next turn of the model.

    Args:
        messages: the request.
        tools: names of the bound tools.
    """
    transcript = read_transcript(messages)
    if tools.isdisjoint(FILE_TOOLS):
        return Turn("The offline policy has no file tools here, and it does not understand the request.")
    part = parse_part(transcript.task)
    if part is not None:
        return _child_turn(transcript, tools, part)
    return _main_turn(transcript, tools)


def _child_turn(transcript: Transcript, tools: frozenset[str], paths: Sequence[str]) -> Turn:
    progress = _progress(transcript, paths)
    calls = _reads(transcript, tools, progress)
    return Turn(calls=calls) if calls else Turn(encode(summarise(_settled(progress, tools))))


def _main_turn(transcript: Transcript, tools: frozenset[str]) -> Turn:
    found = survey(transcript)
    if found.pending and "ls" in tools and transcript.turns < MAX_TURNS:
        return Turn(calls=tuple(("ls", {"path": path}) for path in found.pending[:BATCH]))
    given, answer = _delegation(transcript, tools, found)
    calls: list[tuple[str, Mapping[str, Any]]] = []
    if given and transcript.last("task") is None:
        calls.append(("task", {"description": describe_part(given), "subagent_type": SUBAGENT}))
        delegated = set(given)
    else:
        delegated = {note.path for note in answer.files} if answer else set()
    progress = _progress(transcript, [path for path in found.files if path not in delegated])
    calls.extend(_reads(transcript, tools, progress)[: BATCH - len(calls)])
    if calls:
        return Turn(calls=tuple(calls))
    problems = (
        *_missing_tools(tools),
        *found.problems,
        *_stopped(transcript, found),
        *_refusal(transcript, answer),
    )
    own = _settled(progress, tools)
    return _report_turn(transcript, tools, own, answer or Part(), problems)


def _report_turn(
    transcript: Transcript,
    tools: frozenset[str],
    own: Mapping[str, Progress],
    answer: Part,
    problems: Iterable[str],
) -> Turn:
    written = transcript.last("write_file")
    if written is not None and not written.problem:
        read = [found for found in own.values() if found.windows]
        theirs = [note for note in answer.files if note.read]
        lines = sum(found.lines for found in read) + sum(note.lines for note in theirs)
        return Turn(final_answer(len(own) + len(answer.files), len(read) + len(theirs), len(theirs), lines))
    findings = Findings(transcript.task, summarise(own), answer, tuple(problems))
    if written is None and "write_file" in tools:
        return Turn(calls=(("write_file", {"file_path": REPORT, "content": render(findings)}),))
    why = written.problem if written else "the tool write_file is not bound"
    return Turn(f"The report could not be written to {REPORT} ({why}). It follows.\n\n{render(findings)}")


def _delegation(
    transcript: Transcript, tools: frozenset[str], found: Survey
) -> tuple[tuple[str, ...], Part | None]:
    """What is, or is to be, given to a sub-agent, and its answer if there is a usable one."""
    asked = transcript.last("task")
    if asked is None:
        may = "task" in tools and "read_file" in tools and transcript.turns < MAX_TURNS
        return (_last_group(found.files) if may else ()), None
    given = parse_part(str(asked.args.get("description"))) or ()
    return given, None if asked.problem else decode(asked.text, given)


def _last_group(files: Sequence[str]) -> tuple[str, ...]:
    """The files of the last top-level folder, or the second half if all files are in one place."""
    tops = [path.split("/")[1] if path.count("/") > 1 else "" for path in files]
    last = max(tops, default="")
    chosen = [path for path, top in zip(files, tops, strict=True) if top == last]
    if len(chosen) == len(files):
        chosen = list(files[(len(files) + 1) // 2 :])
    return tuple(chosen[:MAX_DELEGATED])


def _progress(transcript: Transcript, paths: Iterable[str]) -> dict[str, Progress]:
    asked = transcript.by_argument("read_file", "file_path")
    return {path: progress_of(asked.get(path, ())) for path in paths}


def _reads(
    transcript: Transcript, tools: frozenset[str], progress: Mapping[str, Progress]
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    if "read_file" not in tools or transcript.turns >= MAX_TURNS:
        return ()
    waiting = ((path, found.offset) for path, found in progress.items() if found.offset is not None)
    calls = [
        ("read_file", {"file_path": path, "offset": offset, "limit": WINDOW}) for path, offset in waiting
    ]
    return tuple(calls[:BATCH])


def _settled(progress: Mapping[str, Progress], tools: frozenset[str]) -> dict[str, Progress]:
    """What will not be read any further, with the reason."""
    why = f"not read: {MAX_TURNS} turns were used up" if "read_file" in tools else "read_file is not bound"
    return {
        path: found if found.offset is None else Progress(found.windows, None, found.problem or why)
        for path, found in progress.items()
    }


def _missing_tools(tools: frozenset[str]) -> Iterable[str]:
    lost = {"ls": "nothing could be listed", "read_file": "nothing could be read"}
    return [f"The tool {name} is not bound: {what}." for name, what in lost.items() if name not in tools]


def _stopped(transcript: Transcript, found: Survey) -> Iterable[str]:
    if found.pending and transcript.turns >= MAX_TURNS:
        yield f"{len(found.pending)} folders were not listed: {MAX_TURNS} turns were used up"


def _refusal(transcript: Transcript, answer: Part | None) -> Iterable[str]:
    asked = transcript.last("task")
    if asked is not None and answer is None:
        why = asked.problem or f"its answer is not a summary: {one_line(asked.text)}"
        yield f"The sub-agent was of no use, its files were read here: {why}"
