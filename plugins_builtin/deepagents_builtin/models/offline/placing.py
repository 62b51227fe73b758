"""Where the report goes: to ``/REPORT.md``, and never over a file that somebody else wrote.

A report of an earlier run is known by its first line. It is written anew, and is no source of the next one.
A file of that name that begins otherwise stays as it is, and the report goes to ``/REPORT-2.md``, or to the
next number that is free.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.models.offline.reading import progress_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_builtin.models.offline.survey import Survey
    from deepagents_builtin.models.offline.transcript import Exchange, Transcript

REPORT = "/REPORT.md"
#: First line of every report.
TITLE = "# Report of the offline policy"

_NUMBERED = re.compile(r"/REPORT-\d+\.md")
_ABSENT = re.compile(r"not[ _]found|no such|does not exist", re.IGNORECASE)


@frozen
class Place:
    """Where to write, or else what has to be read before that can be told; neither if it never can be."""

    path: str = ""
    unread: str = ""


def is_report_name(path: str) -> bool:
    """Whether a report may have this path."""
    return path == REPORT or _NUMBERED.fullmatch(path) is not None


def earlier_reports(transcript: Transcript) -> frozenset[str]:
    """The reports of earlier runs, among the files that have been read."""
    asked = transcript.by_argument("read_file", "file_path")
    return frozenset(path for path, found in asked.items() if is_report_name(path) and _is_report(found))


def find_place(transcript: Transcript, found: Survey, *, may_read: bool) -> Place:
    """The place for the report.

    Args:
        transcript: the conversation.
        found: what the listings say.
        may_read: whether a further file can be read.
    """
    asked = transcript.by_argument("read_file", "file_path")
    names = {path.casefold() for path in found.top}
    for path in itertools.chain([REPORT], (f"/REPORT-{number}.md" for number in itertools.count(2))):
        # Where case makes no difference, a file of another spelling is the same file.
        seen = path.casefold() in names
        if found.top_complete and not seen:
            return Place(path)
        exchanges = asked.get(path)
        if exchanges is None and may_read:
            return Place(unread=path)
        if exchanges and _is_report(exchanges):
            return Place(path)
        problem = exchanges[0].problem if exchanges else "unread"
        if problem and path not in found.top:
            if _ABSENT.search(problem):
                return Place(path)
            if not seen:
                return Place()
    return Place()


def _is_report(exchanges: Sequence[Exchange]) -> bool:
    windows = progress_of(exchanges[:1]).windows
    return bool(windows) and windows[0].rows()[:1] == [TITLE]
