"""What ``ls`` and ``read_file`` answered: listings, windows of lines, sizes and headings.

Sizes are of the text as the tool shows it: *lines* is their number, *characters* is the length of all lines
plus one for each line's end, *bytes* is the same text in UTF-8. For an ordinary UTF-8 file that ends with a
line feed this is the size of the file.

*Headings* are, in files named ``.md``, ``.mdx``, ``.markdown``, ``.rst`` or ``.txt``, the lines of one to six
``#``, white space and a title, except between lines that begin with three backquotes or tildes; in all other
files the lines that begin, after white space, with ``def``, ``async def`` or ``class`` and a name.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_kernel.files.text import steers_display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deepagents_builtin.models.offline.transcript import Exchange

#: Lines asked for in one call.
WINDOW = 500
#: Windows read of one file; the rest of a longer file is left out, and the report says so.
MAX_WINDOWS = 40

_HEADER = re.compile(r"^@@ lines (\d+)-(\d+)(?: of (\d+))?((?: \| [^|\n]*)*) @@$", re.MULTILINE)
_NEXT = re.compile(r" \| next offset (\d+)(?= \||$)")
_MARKUP = (".md", ".mdx", ".markdown", ".rst", ".txt")
_TITLE = re.compile(r"#{1,6}\s+\S")
_DEFINITION = re.compile(r"\s*(?:async\s+def|def|class)\s+\w")
_FENCE = ("```", "~~~")
_SEPARATORS = "\u2028\u2029"


@frozen
class Listing:
    """One folder: paths of its folders (with the slash), of its files, and what else the tool said."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@frozen
class Window:
    """Lines of a file.

    Attributes:
        first: number of the first line, counted from 1.
        last: number of the last line.
        total: lines of the whole file, ``None`` when the tool doesn't know.
        next_offset: where the tool says that it goes on.
        cut: whether a line is shown in part only.
        text: the whole answer; its lines are taken out only when they are needed.
        start: where the first line begins in it.
    """

    first: int
    last: int
    total: int | None
    next_offset: int | None
    cut: bool
    text: str
    start: int

    def rows(self) -> list[str]:
        """The lines; what stands behind the window is a remark of the tool."""
        count = self.last - self.first + 1
        rows = self.text[self.start :].split("\n")[:count]
        return rows + [""] * (count - len(rows))

    @property
    def resume(self) -> int | None:
        """The offset of the next window, ``None`` at the end of the file."""
        if self.next_offset is not None:
            return self.next_offset
        # A line that is cut has no successor by the tool's own account; the lines below it can be had.
        return self.last if self.total is not None and self.last < self.total else None


@frozen
class Progress:
    """How far the reading of one file has come.

    Attributes:
        windows: what has been read, without gaps.
        offset: where to go on, ``None`` when there is nothing more to ask for.
        problem: why a file is not, or not wholly, there; empty when it is.
    """

    windows: tuple[Window, ...] = ()
    offset: int | None = 0
    problem: str = ""

    @property
    def lines(self) -> int:
        """How many lines have been read."""
        return self.windows[-1].last if self.windows else 0

    def text(self) -> list[str]:
        """The lines read so far."""
        return [row for window in self.windows for row in window.rows()]


def parse_listing(text: str) -> Listing | None:
    """The listing in an answer of ``ls``; ``None`` if there is none."""
    head, _, rest = text.strip().partition("\n")
    if not head.startswith("["):
        # An empty folder is told in words.
        return Listing((), (), () if head == "No files found" else (text.strip(),))
    try:
        found = ast.literal_eval(head)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    entries = [entry for entry in found if isinstance(entry, str)] if isinstance(found, list) else []
    paths = [entry for entry in entries if entry.startswith("/")]
    remarks = [entry for entry in (*entries, rest.strip()) if entry and not entry.startswith("/")]
    return Listing(
        tuple(sorted({path for path in paths if path.endswith("/")})),
        tuple(sorted({path for path in paths if not path.endswith("/")})),
        tuple(remarks),
    )


def parse_window(text: str) -> Window | None:
    """The window in an answer of ``read_file``; ``None`` for an answer without a header."""
    match = _HEADER.search(text)
    if match is None:
        return None
    first, last, total, fields = match.groups()
    following = _NEXT.search(fields)
    return Window(
        first=int(first),
        last=int(last),
        total=None if total is None else int(total),
        next_offset=None if following is None else int(following[1]),
        cut="truncated mid-line" in fields,
        text=text,
        start=match.end() + 1,
    )


def progress_of(exchanges: Iterable[Exchange]) -> Progress:
    """Put together what was asked of one file, in the order of the calls."""
    windows: list[Window] = []
    problems: list[str] = []
    for exchange in exchanges:
        window = None if exchange.problem else parse_window(exchange.text)
        covered = windows[-1].last if windows else 0
        if window is None or window.first != covered + 1 or window.last < window.first:
            problems.append(_trouble(exchange, window, covered))
            return Progress(tuple(windows), None, "; ".join(problems))
        windows.append(window)
        if window.cut:
            problems.append(f"line {window.last} is longer than the tool shows")
        if window.resume is None:
            return Progress(tuple(windows), None, "; ".join(problems))
        if len(windows) == MAX_WINDOWS:
            problems.append(f"only the first {window.last} lines were read")
            return Progress(tuple(windows), None, "; ".join(problems))
    return Progress(tuple(windows), windows[-1].resume if windows else 0, "; ".join(problems))


def sizes(lines: Sequence[str]) -> tuple[int, int, int]:
    """Lines, characters and bytes."""
    # A lone surrogate has no UTF-8; three bytes is what it would be.
    count = sum(len(line.encode("utf-8", "surrogatepass")) for line in lines)
    return len(lines), sum(map(len, lines)) + len(lines), count + len(lines)


def heading_lines(path: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    """Number and text, stripped, of the headings of a file."""
    if not path.casefold().endswith(_MARKUP):
        return [(n, line.strip()) for n, line in enumerate(lines, 1) if _DEFINITION.match(line)]
    found = []
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(_FENCE):
            fenced = not fenced
        elif not fenced and _TITLE.match(line):
            found.append((number, line.strip()))
    return found


def one_line(text: str, limit: int = 200) -> str:
    """The words of a text on one printable line, cut to *limit* characters."""
    joined = " ".join(text.split())
    return printable(joined if len(joined) <= limit else f"{joined[:limit]}...")


def printable(text: str) -> str:
    """The text with control characters and lone surrogates escaped: one line, that any file can hold."""
    return "".join(
        char.encode("unicode_escape").decode() if char in _SEPARATORS or steers_display(char) else char
        for char in text
    )


def _trouble(exchange: Exchange, window: Window | None, covered: int) -> str:
    if exchange.problem:
        return exchange.problem
    if window is None:
        return f"no text shown, the tool said: {one_line(exchange.text)}"
    return f"the tool showed lines {window.first}-{window.last} where line {covered + 1} was due"
