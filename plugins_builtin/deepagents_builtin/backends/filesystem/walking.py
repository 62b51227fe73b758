"""Walking a tree: every file once, in path order, no link followed, nothing outside of the budget."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.backends.filesystem.atomic import TEMPORARY_PREFIX
from deepagents_builtin.backends.filesystem.failures import reason_of
from deepagents_builtin.backends.filesystem.ignoring import ENVIRONMENT_MARK, IGNORE_FILE, IgnoreRules
from deepagents_kernel.files.paths import InvalidPathError, check_name

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

#: Folders inside of each other; each open one costs a descriptor.
MAX_DEPTH = 256


@frozen(eq=False)
class Found:
    """A regular file or a link; valid until the walk goes on.

    Attributes:
        path: relative to the place where the walk started.
        directory: open descriptor of its folder.
        entry: the entry of that folder.
    """

    path: str
    directory: int
    entry: os.DirEntry[str]


@frozen(eq=False)
class _Level:
    directory: int
    path: str
    rules: IgnoreRules | None
    entries: Iterator[os.DirEntry[str]]


class Walk:
    """One walk, and what it left out.

    Args:
        rules: what to pass over; ``None`` passes over nothing.
        origin: path from where the rules start to where the walk starts, ending with ``/`` unless empty.
        prefix: folders that the walk goes through without looking left or right, ignored or not.
        deadline: when to stop, on the monotonic clock.

    Attributes:
        ignored: entries that the rules kept out.
        unreadable: path and reason of each folder that couldn't be listed and each name that can't be shown.
        expired: the deadline came first.
    """

    def __init__(
        self,
        rules: IgnoreRules | None,
        origin: str = "",
        prefix: Sequence[str] = (),
        deadline: float | None = None,
    ) -> None:
        self.ignored = 0
        self.unreadable: list[tuple[str, str]] = []
        self.expired = False
        self._rules = rules
        self._origin = origin
        self._prefix = tuple(prefix)
        self._deadline = float("inf") if deadline is None else deadline

    def files(self, directory: int) -> Generator[Found]:
        """Everything below an open folder that is a regular file or a link, by path."""
        stack = [self._level(directory, "", self._rules, 0)]
        try:
            while stack:
                level = stack[-1]
                entry = next(level.entries, None)
                if entry is None:
                    self._leave(stack.pop(), directory)
                    continue
                if time.monotonic() >= self._deadline:
                    self.expired = True
                    return
                if not self._wanted(entry, level, len(stack) - 1):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    self._enter(stack, entry)
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield Found(level.path + entry.name, level.directory, entry)
        finally:
            while stack:
                self._leave(stack.pop(), directory)

    @staticmethod
    def _leave(level: _Level, start: int) -> None:
        if level.directory != start:
            os.close(level.directory)

    def _enter(self, stack: list[_Level], entry: os.DirEntry[str]) -> None:
        parent = stack[-1]
        path = f"{parent.path}{entry.name}"
        try:
            if len(stack) > MAX_DEPTH:
                self.unreadable.append((path, "nested too deeply"))
                return
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            directory = os.open(entry.name, flags, dir_fd=parent.directory)
        except OSError as error:
            self.unreadable.append((path, reason_of(error)))
            return
        stack.append(self._level(directory, f"{path}/", parent.rules, len(stack)))

    def _level(self, directory: int, path: str, rules: IgnoreRules | None, depth: int) -> _Level:
        entries: list[os.DirEntry[str]] = []
        try:
            with os.scandir(directory) as listing:
                entries = list(listing)
        except OSError as error:
            self.unreadable.append((path.rstrip("/"), reason_of(error)))
        if rules is not None:
            names = {entry.name for entry in entries}
            if depth > len(self._prefix) and ENVIRONMENT_MARK in names:
                self.ignored += 1
                entries = []
            elif IGNORE_FILE in names:
                rules = rules.below(directory, self._origin + path)
        if depth < len(self._prefix):
            entries = [entry for entry in entries if entry.name == self._prefix[depth]]
        # A folder sorts with its slash, so that files come in the order of their whole paths.
        entries.sort(key=_sort_key)
        return _Level(directory, path, rules, iter(entries))

    def _wanted(self, entry: os.DirEntry[str], level: _Level, depth: int) -> bool:
        if entry.name.startswith(TEMPORARY_PREFIX):
            return False
        path = level.path + entry.name
        try:
            check_name(entry.name)
        except InvalidPathError as error:
            self.unreadable.append((path, error.reason))
            return False
        is_folder = entry.is_dir(follow_symlinks=False)
        if depth < len(self._prefix):
            return is_folder
        if level.rules is not None and level.rules.ignores(self._origin + path, is_folder=is_folder):
            self.ignored += 1
            return False
        return True


def _sort_key(entry: os.DirEntry[str]) -> str:
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
