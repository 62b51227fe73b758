"""How a read is shown: notes, one header line, then the lines of the file and nothing else.

Everything below the header can be copied into an edit. So that this stays true, whatever the reader has to
know stands above it.
"""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.results import Outcome, refusal, success
from deepagents_kernel.files.file_data import file_data_to_string
from deepagents_kernel.files.formatting import check_empty_content
from deepagents_kernel.files.text import split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepagents_kernel.contracts.results import ReadResult


@frozen
class Page:
    """The lines that a backend returned.

    Attributes:
        rows: the lines, without endings; behind the window there may be remarks of the backend.
        first: number of the first line, counted from 1.
        count: how many of the rows are lines of the file.
        total: lines of the file, ``None`` when unknown.
        more: whether the file goes on behind the window.
    """

    rows: Sequence[str]
    first: int
    count: int
    total: int | None
    more: bool

    def header(self, shown: int, *remarks: str) -> str:
        """The header when the first *shown* lines are."""
        last = self.first + shown - 1
        fields = [
            f"lines {self.first}-{last}"
            if self.total is None
            else f"lines {self.first}-{last} of {self.total}"
        ]
        if shown < self.count or self.more:
            fields.append(f"next offset {last}")
        return f"@@ {' | '.join([*fields, *remarks])} @@"


def render_read(
    result: ReadResult, *, file_path: str, offset: int, limit: int, budget: int | None
) -> Outcome:
    """The outcome of ``read_file``.

    Args:
        result: what the backend answered.
        file_path: the path that was asked for.
        offset: the offset that was asked for, negative ones included.
        limit: the limit that was asked for.
        budget: characters that the result may have; ``None`` for no limit.
    """
    if result.error is not None:
        return refusal(result.error)
    file_data = result.file_data
    if file_data is None:
        return refusal(f"{file_path} could not be read: the file system gave neither content nor a reason.")
    content = file_data_to_string(file_data)
    reminder = check_empty_content(content)
    if reminder:
        if result.no_lines_requested and not content:
            return success(constants.NO_LINES_REQUESTED_WARNING.format(limit=limit))
        if _is_whole_file(result):
            return success(reminder)
    if file_data.get("encoding") == "base64":
        return refusal(f"{file_path} is not a text file, so it can't be shown as text.")
    notes = []
    if offset < 0:
        notes.append(constants.CLAMPED_OFFSET_NOTICE.format(offset=offset))
    if result.source_encoding:
        notes.append(constants.SOURCE_ENCODING_NOTICE.format(encoding=result.source_encoding))
    return success(render_page(page_of(content, result, offset), notes, file_path=file_path, budget=budget))


def page_of(content: str, result: ReadResult, offset: int) -> Page:
    """The lines of *content*, placed by the backend's window or, without one, by the offset."""
    rows = split_lines(content)
    if result.start_line is None or result.end_line is None:
        return Page(rows, max(offset, 0) + 1, len(rows), None, more=False)
    count = result.end_line - result.start_line + 1
    # A line that is blank and last has nothing to show in the content; the window says that it is there.
    rows.extend([""] * (count - len(rows)))
    more = result.next_offset is not None and result.total_lines != result.end_line
    return Page(rows, result.start_line, count, result.total_lines, more=more)


def render_page(page: Page, notes: Sequence[str], *, file_path: str, budget: int | None) -> str:
    """Notes, header and lines, cut to *budget* at the end of a line."""
    text = "\n".join([*notes, page.header(page.count), *page.rows])
    if budget is None or len(text) <= budget:
        return text
    return _cut_between_lines(page, notes, file_path, budget) or _cut_within_line(
        page, notes, file_path, budget
    )


def _cut_between_lines(page: Page, notes: Sequence[str], file_path: str, budget: int) -> str | None:
    notice = constants.READ_FILE_TRUNCATION_MSG.format(file_path=file_path)

    def head(shown: int) -> str:
        return "\n".join([*notes, notice, page.header(shown, "truncated due to size")])

    sizes = list(itertools.accumulate(len(row) + 1 for row in page.rows[: page.count]))
    shown = _largest(
        bisect.bisect_right(sizes, budget), lambda shown: len(head(shown)) + sizes[shown - 1] <= budget
    )
    return "\n".join([head(shown), *page.rows[:shown]]) if shown else None


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    # Sizes grow with each line but for the field that drops out at the very end; that end is tried by itself.
    if most and fits(most):
        return most
    return bisect.bisect_left(range(1, most), x=True, key=lambda shown: not fits(shown))


def _cut_within_line(page: Page, notes: Sequence[str], file_path: str, budget: int) -> str:
    line = page.rows[0]
    notice = constants.READ_FILE_LINE_MSG.format(file_path=file_path, line=page.first)

    def head(shown: int) -> str:
        remarks = ("truncated mid-line", f"{shown} of {len(line)} chars")
        return "\n".join([*notes, notice, page.header(1, *remarks)])

    room = budget - len(head(len(line))) - 1
    shown = min(max(room, 0), len(line))
    return f"{head(shown)}\n{line[:shown]}"


def _is_whole_file(result: ReadResult) -> bool:
    # A window of a file of unknown length proves nothing about the rest of it.
    if result.start_line is None:
        return True
    return result.start_line == 1 and result.total_lines == result.end_line
