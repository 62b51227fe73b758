"""Walking the workspace with ``ls``: breadth first, in order of names, and bounded."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.models.offline.reading import one_line, parse_listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_builtin.models.offline.transcript import Transcript

#: How deep, how many folders and how many files.
MAX_DEPTH = 12
MAX_FOLDERS = 400
MAX_FILES = 1000

#: Folders that are named in the report and not entered: other programs fill them.
SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "venv",
    }
)
#: The same for what the harness itself puts into the workspace.
ARTIFACTS = frozenset({"/conversation_history/", "/large_tool_results/"})


@frozen
class Survey:
    """The workspace as far as it has been listed.

    Attributes:
        files: paths of the files, sorted.
        pending: folders to list next.
        folders: how many folders have been listed.
        problems: what went wrong or was left out, in sentences.
        top: what is directly in the workspace, folders without their slash.
        top_complete: whether that is known to be all.
    """

    files: tuple[str, ...]
    pending: tuple[str, ...]
    folders: int
    problems: tuple[str, ...]
    top: frozenset[str] = frozenset()
    top_complete: bool = False


def survey(transcript: Transcript) -> Survey:
    """What the listings in a transcript say, and which are missing."""
    listed = transcript.by_argument("ls", "path")
    walk = _Walk()
    top: frozenset[str] = frozenset()
    top_complete = False
    for path, depth in walk.folders():
        exchanges = listed.get(path)
        if exchanges is None:
            walk.pending.append(path)
            continue
        walk.listed += 1
        listing = None if exchanges[-1].problem else parse_listing(exchanges[-1].text)
        if listing is None:
            why = exchanges[-1].problem or f"not a list: {one_line(exchanges[-1].text)}"
            walk.problems.append(f"ls {path}: {why}")
            continue
        walk.problems.extend(f"ls {path}: {one_line(remark)}" for remark in listing.remarks)
        if path == "/":
            top = frozenset(entry.rstrip("/") for entry in (*listing.files, *listing.folders))
            # A remark may say that something is missing; an empty folder is told by one.
            top_complete = not (top and listing.remarks)
        walk.add_files(listing.files)
        walk.add_folders(listing.folders, depth + 1)
    return Survey(
        files=tuple(sorted(walk.files)),
        pending=tuple(walk.pending),
        folders=walk.listed,
        problems=walk.report(),
        top=top,
        top_complete=top_complete,
    )


class _Walk:
    def __init__(self) -> None:
        self.files: list[str] = []
        self.pending: list[str] = []
        self.problems: list[str] = []
        self.listed = 0
        self._seen = {"/"}
        self._queue = deque([("/", 0)])
        self._entered = 1
        self._files_left = 0
        self._folders_left = 0

    def folders(self) -> Iterator[tuple[str, int]]:
        """The folders in the order of the walk; it grows while it is walked."""
        while self._queue:
            yield self._queue.popleft()

    def add_files(self, found: tuple[str, ...]) -> None:
        for path in self._new(found):
            if len(self.files) == MAX_FILES:
                self._files_left += 1
            else:
                self.files.append(path)

    def add_folders(self, found: tuple[str, ...], depth: int) -> None:
        for path in self._new(found):
            if path in ARTIFACTS or path.rstrip("/").rpartition("/")[2] in SKIPPED:
                self.problems.append(f"{path} was not entered: such folders are filled by programs")
            elif depth > MAX_DEPTH:
                self.problems.append(f"{path} was not entered: it is more than {MAX_DEPTH} folders deep")
            elif self._entered == MAX_FOLDERS:
                self._folders_left += 1
            else:
                self._entered += 1
                self._queue.append((path, depth))

    def report(self) -> tuple[str, ...]:
        left = ((self._folders_left, "folders", MAX_FOLDERS), (self._files_left, "files", MAX_FILES))
        return (
            *self.problems,
            *(f"{count} {what} were left out: the limit is {most}" for count, what, most in left if count),
        )

    def _new(self, found: tuple[str, ...]) -> Iterator[str]:
        for path in found:
            if path not in self._seen:
                self._seen.add(path)
                yield path
