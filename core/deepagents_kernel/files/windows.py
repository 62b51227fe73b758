"""Windows of lines, cut from a text that need not fit into memory."""

from __future__ import annotations

import itertools
from typing import Any

from deepagents_kernel.contracts.results import FileData, ReadResult
from deepagents_kernel.files.file_data import file_data_to_string
from deepagents_kernel.files.text import LINE_ENDING, count_endings, to_lf

#: Whitespace that is kept while a file may still turn out to be blank as a whole.
_BLANK_KEPT = 1_000_000


def normalize_read_bounds(offset: Any, limit: Any) -> tuple[int, int]:
    """Offset and limit as whole numbers that are not negative."""
    return max(int(offset), 0), max(int(limit), 0)


class LineWindow:
    """Collects lines ``offset`` to ``offset + limit`` of a text that is fed piece by piece.

    Only the window is kept, however long the text is. A text of nothing but whitespace is kept whole.
    """

    def __init__(self, offset: int, limit: int) -> None:
        self.offset, self.limit = normalize_read_bounds(offset, limit)
        self._line = 0
        self._open = False
        self._held = ""
        self._pieces: list[str] = []
        self._blank: list[str] | None = []
        self._blank_size = 0

    @property
    def settled(self) -> bool:
        """Whether the rest of the text can't change the result."""
        return self.limit == 0 and self._blank is None

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        text = self._held + text
        # "\r" at the end may be half of "\r\n".
        self._held = "\r" if text.endswith("\r") else ""
        self._take(text[: len(text) - len(self._held)])

    def result(self, file_data: FileData, *, source_encoding: str | None = None) -> ReadResult:
        """The window as a result; call once, after the last :meth:`feed`.

        Args:
            file_data: everything but the content, which is put in its place.
            source_encoding: what the bytes were decoded with, when that was not UTF-8.
        """
        held, self._held = self._held, ""
        self._take(held)
        if self._blank is not None:
            whole: FileData = {**file_data, "content": "".join(self._blank)}
            return ReadResult(file_data=whole, source_encoding=source_encoding)
        if self.limit == 0:
            return ReadResult(file_data={**file_data, "content": ""}, no_lines_requested=True)
        total = self._line + self._open
        if self.offset >= total:
            lines = "1 line" if total == 1 else f"{total} lines"
            return ReadResult(error=f"Line offset {self.offset} is past the end: the file has {lines}")
        end = min(self.offset + self.limit, total)
        shown: FileData = {**file_data, "content": to_lf("".join(self._pieces))}
        return ReadResult(
            file_data=shown,
            total_lines=total,
            start_line=self.offset + 1,
            end_line=end,
            next_offset=end if end < total else None,
            source_encoding=source_encoding,
        )

    def _take(self, text: str) -> None:
        if not text:
            return
        self._keep_blank(text)
        breaks = count_endings(text)
        first, stop = self.offset - self._line, self.offset + self.limit - self._line
        if stop > 0 and breaks >= first:
            begin = _after_line(text, first)
            self._pieces.append(text[begin : _after_line(text, stop) if breaks >= stop else None])
        self._line += breaks
        self._open = not text.endswith(("\n", "\r"))

    def _keep_blank(self, text: str) -> None:
        if self._blank is None:
            return
        self._blank.append(text)
        self._blank_size += len(text)
        if self._blank_size > _BLANK_KEPT or not text.isspace():
            self._blank = None


def _after_line(text: str, count: int) -> int:
    """Where the text goes on after its first *count* lines."""
    if count <= 0:
        return 0
    return next(itertools.islice(LINE_ENDING.finditer(text), count - 1, None)).end()


def slice_read_response(file_data: FileData, offset: int, limit: int) -> ReadResult:
    r"""A window of the lines of a stored file.

    Blank content comes back as it is, without a window, whatever the bounds; so does binary content. Line
    endings inside the window become ``\n``; a missing final one stays missing.

    Args:
        file_data: the file.
        offset: lines to skip; a negative one counts as 0.
        limit: most lines to return; 0 or less returns empty content and ``no_lines_requested``.

    Returns:
        The window, or an error when *offset* is past the end.
    """
    stored: FileData = {**file_data, "content": file_data_to_string(file_data)}
    stored.setdefault("encoding", "utf-8")
    if stored["encoding"] == "base64":
        return ReadResult(file_data=stored)
    window = LineWindow(offset, limit)
    window.feed(stored["content"])
    return window.result(stored)
