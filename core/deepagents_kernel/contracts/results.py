"""What backends return: results, file entries, and the codes that other components match on.

Third parties build, compare, change and replace these, and LangGraph stores some of them, so they are
standard dataclasses and TypedDicts with a fixed field order. A result that contradicts itself is refused
when it is built: a wrong resume point would make an agent skip lines that it never saw, and a failure that
also carries a success could be taken for either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired

# pydantic, which makes the JSON schema of the state, refuses typing.TypedDict before Python 3.12.
from typing_extensions import TypedDict

from deepagents_kernel.errors import DeepAgentsError

FileOperationError = Literal["file_not_found", "permission_denied", "is_directory", "invalid_path"]
GlobTruncationReason = Literal["budget", "unreadable", "transport"]

FILE_NOT_FOUND: Final = "file_not_found"
PERMISSION_DENIED: Final = "permission_denied"
IS_DIRECTORY: Final = "is_directory"
INVALID_PATH: Final = "invalid_path"

#: Seconds that one search engine may take.
DEFAULT_GREP_TIMEOUT: Final = 15
#: Seconds that the default ``agrep`` waits: two engines in turn, and a margin.
ASYNC_GREP_TIMEOUT: Final = 2 * DEFAULT_GREP_TIMEOUT + 5
#: Seconds that a caller should wait for ``aglob``.
ASYNC_GLOB_TIMEOUT: Final = 30


class InvalidResultError(DeepAgentsError, ValueError):
    """A result contradicts itself.

    Attributes:
        result: name of the result type.
        reason: the contradiction.
    """

    def __init__(self, result: str, reason: str) -> None:
        self.result = result
        self.reason = reason
        super().__init__(f"{result}: {reason}")


class FileInfo(TypedDict):
    """One entry of a listing; directories end with ``/``."""

    path: str
    is_dir: NotRequired[bool]
    size: NotRequired[int]
    modified_at: NotRequired[str]
    is_symlink: NotRequired[bool]


class ContextLine(TypedDict):
    """A line next to a match; ``line`` counts from 1."""

    line: int
    text: str


class GrepMatch(TypedDict):
    """A line that holds the pattern; ``line`` counts from 1, ``text`` has no line ending.

    The two context keys are on every match of a result, or on none.
    """

    path: str
    line: int
    text: str
    context_before: NotRequired[list[ContextLine]]
    context_after: NotRequired[list[ContextLine]]


class FileData(TypedDict):
    """A file as it is stored in state: text (``utf-8``) or binary (``base64``)."""

    content: str
    encoding: str
    created_at: NotRequired[str]
    modified_at: NotRequired[str]


class ExecuteArtifact(TypedDict, total=False):
    """What a command result carries beside its text."""

    exit_code: int
    truncated: bool
    output_file: str


def _no_success(result: object, **fields: Any) -> None:
    error = getattr(result, "error", None)
    given = [name for name, value in fields.items() if value is not None]
    if error is not None and given:
        raise InvalidResultError(type(result).__name__, f"error together with {', '.join(given)}")


@dataclass
class FileDownloadResponse:
    """The bytes of one file, or why they are not there."""

    path: str
    content: bytes | None = None
    error: FileOperationError | str | None = None

    def __post_init__(self) -> None:
        _no_success(self, content=self.content)


@dataclass
class FileUploadResponse:
    """The outcome of one upload; no ``error`` means stored."""

    path: str
    error: FileOperationError | str | None = None


@dataclass
class ReadResult:
    """Content of a file, or a window of its lines.

    Attributes:
        error: why there is no content.
        file_data: the content, without line numbers.
        total_lines: lines in the file, when known.
        start_line: first line shown, counted from 1; set together with ``end_line``.
        end_line: last line shown.
        next_offset: offset that continues the reading; equals ``end_line``; unset when nothing is left.
        no_lines_requested: no line was asked for, so nothing was looked at; the file may well have content.
        source_encoding: what the bytes were decoded with, when that was not UTF-8.
    """

    error: str | None = None
    file_data: FileData | None = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    no_lines_requested: bool = False
    source_encoding: str | None = None

    def __post_init__(self) -> None:
        _no_success(
            self,
            file_data=self.file_data,
            total_lines=self.total_lines,
            start_line=self.start_line,
            end_line=self.end_line,
            next_offset=self.next_offset,
        )
        problem = self._empty_request_problem() if self.no_lines_requested else self._window_problem()
        if problem:
            raise InvalidResultError(type(self).__name__, problem)

    def _empty_request_problem(self) -> str:
        if self.error is not None:
            return "no_lines_requested together with error"
        window = (self.start_line, self.end_line, self.next_offset, self.total_lines)
        return "" if window == (None,) * 4 else "no_lines_requested together with a window"

    def _window_problem(self) -> str:
        start, end, following, total = self.start_line, self.end_line, self.next_offset, self.total_lines
        if start is None or end is None:
            if start is not end:
                return "start_line and end_line are set together"
            alone = following is not None or total is not None
            return "next_offset or total_lines without a window" if alone else ""
        checks = (
            (not 1 <= start <= end, f"lines {start} to {end} are no window (1 <= start_line <= end_line)"),
            (total is not None and total < end, f"total_lines {total} is less than end_line {end}"),
            (following not in (None, end), f"next_offset {following} would skip or repeat lines after {end}"),
            (
                following is not None and following == total,
                f"next_offset {following} points past the last line",
            ),
        )
        return next((text for wrong, text in checks if wrong), "")


@dataclass
class WriteResult:
    """The path written, or why it was not."""

    error: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        _no_success(self, path=self.path)


@dataclass
class EditResult:
    """The path edited and how many places changed, or why none did."""

    error: str | None = None
    path: str | None = None
    occurrences: int | None = None

    def __post_init__(self) -> None:
        _no_success(self, path=self.path, occurrences=self.occurrences)


@dataclass
class DeleteResult:
    """The path removed, or why it was not."""

    error: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        _no_success(self, path=self.path)


@dataclass
class LsResult:
    """Direct children of a directory. ``error`` beside ``entries`` means that the listing is partial."""

    error: str | None = None
    entries: list[FileInfo] | None = None


@dataclass
class GrepResult:
    """Matching lines. ``error`` beside ``matches`` means that some files could not be searched.

    Attributes:
        error: why nothing, or not everything, was searched.
        matches: ``None`` means that the search failed as a whole.
        truncated: matches were left out, by the cap or by the time limit.
        skipped: files that are no text or too large, and so were not searched.
        ignored: entries that the ignore rule kept out of the search.
    """

    error: str | None = None
    matches: list[GrepMatch] | None = None
    truncated: bool = False
    skipped: list[str] | None = None
    ignored: int = 0


@dataclass
class GlobResult:
    """Matching files. ``error`` beside ``matches`` means that the search broke off.

    Attributes:
        error: why nothing, or not everything, was searched.
        matches: ``None`` means that the search failed as a whole.
        truncated: the search was cut short.
        truncation_reason: why; only together with ``truncated``.
        ignored: entries that the ignore rule kept out of the search.
    """

    error: str | None = None
    matches: list[FileInfo] | None = None
    truncated: bool = False
    truncation_reason: GlobTruncationReason | None = None
    ignored: int = 0

    def __post_init__(self) -> None:
        if self.truncation_reason is not None and not self.truncated:
            raise InvalidResultError(type(self).__name__, "truncation_reason without truncated")


@dataclass
class ExecuteResponse:
    """Output and exit code of a command."""

    output: str
    exit_code: int | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ExecuteOffloadResult:
    """A command whose full output went to a file, with a preview in ``response``."""

    offloaded: bool
    response: ExecuteResponse
    preview_has_truncation_marker: bool = False
