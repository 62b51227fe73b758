"""``glob`` and ``grep`` over a folder or a single file."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import TYPE_CHECKING

from attrs import field, frozen

from deepagents_builtin.backends.filesystem.decoding import UTF_8, BinaryContentError, candidates, decode
from deepagents_builtin.backends.filesystem.failures import reason_of
from deepagents_builtin.backends.filesystem.ignoring import IgnoreRules
from deepagents_builtin.backends.filesystem.listing import file_info, target_of
from deepagents_builtin.backends.filesystem.walking import Walk
from deepagents_kernel.contracts import results
from deepagents_kernel.contracts.results import FileInfo, GlobResult, GrepResult
from deepagents_kernel.files.grepping import MatchCollector
from deepagents_kernel.files.paths import printable, show_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_builtin.backends.filesystem.confinement import Place, Root
    from deepagents_builtin.backends.filesystem.walking import Found
    from deepagents_kernel.files.globs import GlobPattern

#: Seconds for one glob; callers wait longer than that, so that they get what was found.
GLOB_BUDGET = 5.0


@frozen(eq=False)
class Search:
    """Where and how to search.

    Attributes:
        root: what nothing leaves.
        place: the file or folder to search, links followed.
        path: what it is called in results.
        anchor: leading components of the place above which no ignore file counts.
        include_ignored: search what the ignore rule would pass over.
        max_file_size: larger files are skipped by ``grep``, in bytes.
        declared: encoding of the files, if one was declared.
    """

    root: Root
    place: Place
    path: str
    anchor: int = 0
    include_ignored: bool = False
    max_file_size: int = 0
    declared: str | None = None
    _facts: os.stat_result = field(init=False)

    @_facts.default
    def _lstat(self) -> os.stat_result:
        return self.place.lstat()

    @property
    def is_file(self) -> bool:
        """Whether a single file is searched."""
        return stat.S_ISREG(self._facts.st_mode)

    @property
    def facts(self) -> os.stat_result:
        """Facts about the file or folder."""
        return self._facts

    @property
    def prefix(self) -> str:
        """What stands before the relative path of a result."""
        return self.path.rstrip("/") + "/"

    def walk(self, seconds: float, prefix: tuple[str, ...] = ()) -> Walk:
        """A walk with the ignore rules of the folders above in force."""
        deadline = time.monotonic() + seconds
        if self.include_ignored:
            return Walk(None, prefix=prefix, deadline=deadline)
        rules = IgnoreRules()
        parts = self.place.parts
        for depth in range(self.anchor, len(parts)):
            above = "".join(f"{part}/" for part in parts[self.anchor : depth])
            with self.root.locate(parts[:depth]) as place, _closing(place.open_directory()) as directory:
                rules = rules.below(directory, above)
        origin = "".join(f"{part}/" for part in parts[self.anchor :])
        return Walk(rules, origin, prefix, deadline)


def glob_files(search: Search, pattern: GlobPattern) -> GlobResult:
    """Regular files that match, by path; links to files included, folders behind links not searched.

    Raises:
        OSError: the folder can't be listed.
    """
    if search.is_file:
        hit = pattern.matches(search.path.rpartition("/")[2])
        return GlobResult(matches=[file_info(search.path, search.facts)] if hit else [])
    matches: list[FileInfo] = []
    walk = search.walk(GLOB_BUDGET, pattern.prefix)
    with (
        _closing(search.place.open_directory()) as directory,
        contextlib.closing(walk.files(directory)) as files,
    ):
        for found in files:
            if pattern.matches(found.path):
                info = _info(search, found)
                if info is not None:
                    matches.append(info)
    reason: results.GlobTruncationReason | None = None
    if walk.expired:
        reason = "budget"
    elif walk.unreadable:
        reason = "unreadable"
    return GlobResult(
        matches=matches, truncated=reason is not None, truncation_reason=reason, ignored=walk.ignored
    )


def _info(search: Search, found: Found) -> FileInfo | None:
    path = search.prefix + found.path
    if not found.entry.is_symlink():
        try:
            return file_info(path, found.entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return None
        except OSError:
            # The folder may be listed but not searched: the name matches, and is all there is to know.
            return {"path": path, "is_dir": False}
    target = target_of(search.root, (*search.place.parts, *found.path.split("/")))
    if target is None or not stat.S_ISREG(target.st_mode):
        return None
    return {**file_info(path, target), "is_symlink": True}


def grep_files(
    search: Search, pattern: str, include: GlobPattern | None, max_count: int | None
) -> GrepResult:
    """Lines that hold *pattern*, by path; links are not followed.

    Raises:
        OSError: the folder can't be listed.
    """
    grep = _Grep(search, pattern, max_count)
    if search.is_file:
        if include is None or include.matches(search.path.rpartition("/")[2]):
            grep.search_file(search.path, search.place.directory, search.place.name)
        return grep.result()
    walk = search.walk(results.DEFAULT_GREP_TIMEOUT)
    with (
        _closing(search.place.open_directory()) as directory,
        contextlib.closing(walk.files(directory)) as files,
    ):
        for found in files:
            if found.entry.is_symlink() or (include is not None and not include.matches(found.path)):
                continue
            if not grep.search_file(search.prefix + found.path, found.directory, found.entry.name):
                break
    return grep.result(walk)


class _Grep:
    def __init__(self, search: Search, pattern: str, max_count: int | None) -> None:
        self._search = search
        self._pattern = pattern
        self._collector = MatchCollector(max_count)
        self._skipped: list[str] = []
        self._problems: list[str] = []
        encoded = pattern.encode("utf-8", "surrogatepass")
        # An ASCII text has the same bytes in UTF-8 and Latin-1: a file without them need not be decoded.
        self._telling = encoded if pattern.isascii() and not search.declared else None

    def search_file(self, path: str, directory: int, name: str) -> bool:
        """Search one file; whether to go on with the next."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            with os.fdopen(os.open(name, flags, dir_fd=directory), "rb", buffering=0) as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode) or facts.st_size > self._search.max_file_size:
                    self._skipped.append(path)
                    return True
                content = file.readall()
        except FileNotFoundError:
            return True
        except OSError as error:
            self._problems.append(f"{show_path(path)}: {reason_of(error)}")
            return True
        return self._search_content(path, content)

    def _search_content(self, path: str, content: bytes) -> bool:
        if self._telling is not None and self._telling not in content and candidates(content[:4])[0] == UTF_8:
            return True
        try:
            text = decode(content, self._search.declared).text
        except BinaryContentError:
            self._skipped.append(path)
            return True
        return self._collector.search(path, text, self._pattern)

    def result(self, walk: Walk | None = None) -> GrepResult:
        """What was found, and what couldn't be searched."""
        if walk is not None:
            self._problems += [
                f"{show_path(self._search.prefix + printable(path))}: {reason}"
                for path, reason in walk.unreadable
            ]
        return GrepResult(
            error="\n".join(sorted(self._problems)) or None,
            matches=self._collector.matches,
            truncated=self._collector.truncated or (walk is not None and walk.expired),
            skipped=self._skipped or None,
            ignored=0 if walk is None else walk.ignored,
        )


@contextlib.contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
