"""What the offline model does next, worked out from the messages alone.

As a main agent: list the workspace, read its files, hand one part of them to a sub-agent, write the report,
and name it. As the sub-agent: read the files named in its task and answer with summary lines. Nothing here
remembers anything; the same messages and tools always give the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_builtin.models.offline.placing import REPORT, earlier_reports, find_place, is_report_name
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
from deepagents_builtin.models.offline.survey import Survey, survey
from deepagents_builtin.models.offline.transcript import read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.messages import BaseMessage

    from deepagents_builtin.models.offline.transcript import Exchange, Transcript

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
    passed_over = delegated | earlier_reports(transcript)
    progress = _progress(transcript, [path for path in found.files if path not in passed_over])
    calls.extend(_reads(transcript, tools, progress)[: BATCH - len(calls)])
    if calls:
        return Turn(calls=tuple(calls))
    own = _settled(progress, tools)
    written = transcript.last("write_file")
    if written is not None and not written.problem:
        return Turn(_last_words(written, own, answer or Part()))
    problems = (
        *_missing_tools(tools),
        *found.problems,
        *_stopped(transcript, found),
        *_refusal(transcript, answer),
    )
    findings = Findings(transcript.task, summarise(own), answer or Part(), problems)
    return _report_turn(transcript, tools, found, findings)


def _last_words(written: Exchange, own: Mapping[str, Progress], answer: Part) -> str:
    read = [found for found in own.values() if found.windows]
    theirs = [note for note in answer.files if note.read]
    lines = sum(found.lines for found in read) + sum(note.lines for note in theirs)
    files = len(own) + len(answer.files)
    return final_answer(
        str(written.args.get("file_path")), files, len(read) + len(theirs), len(theirs), lines
    )


def _report_turn(transcript: Transcript, tools: frozenset[str], found: Survey, findings: Findings) -> Turn:
    written = transcript.last("write_file")
    path, why = REPORT, "the tool write_file is not bound"
    if written is not None:
        path, why = str(written.args.get("file_path")), written.problem
    elif "write_file" in tools:
        place = find_place(transcript, found, may_read=_may_read(transcript, tools))
        if place.unread:
            return Turn(calls=(("read_file", {"file_path": place.unread, "offset": 0, "limit": 1}),))
        if place.path:
            return Turn(calls=(("write_file", {"file_path": place.path, "content": render(findings)}),))
        why = "it can't be told whether somebody else's file is there"
    return Turn(f"The report could not be written to {path} ({why}). It follows.\n\n{render(findings)}")


def _delegation(
    transcript: Transcript, tools: frozenset[str], found: Survey
) -> tuple[tuple[str, ...], Part | None]:
    """What is, or is to be, given to a sub-agent, and its answer if there is a usable one."""
    asked = transcript.last("task")
    if asked is None:
        # Files that may be reports are looked at by whoever has to know whether they are.
        files = [path for path in found.files if not is_report_name(path)]
        return (_last_group(files) if "task" in tools and _may_read(transcript, tools) else ()), None
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
    if not _may_read(transcript, tools):
        return ()
    waiting = ((path, found.offset) for path, found in progress.items() if found.offset is not None)
    calls = [
        ("read_file", {"file_path": path, "offset": offset, "limit": WINDOW}) for path, offset in waiting
    ]
    return tuple(calls[:BATCH])


def _may_read(transcript: Transcript, tools: frozenset[str]) -> bool:
    return "read_file" in tools and transcript.turns < MAX_TURNS


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
