"""Finding a file below a root, link by link, without ever leaving it.

Every component is opened relative to the one before it and never through a link by the system; links are read
and followed here, so that one which leads out of the root is seen before it is taken, and a folder that is
swapped for a link at the wrong moment is refused instead of followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Links followed on the way to one file, as the system itself allows.
MAX_LINKS = 40

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# With O_PATH a folder that may be searched but not listed can still be crossed; only Linux has it.
_CROSS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY


class OutsideRootError(DeepAgentsError):
    """A link on the way leads out of the root."""


@frozen(eq=False)
class Place:
    """Where a file is, or would be.

    Attributes:
        directory: descriptor of the folder that holds it; open as long as the place is in use.
        name: its name there; ``.`` when it is that folder itself.
        parts: components below the root once links are followed.
    """

    directory: int
    name: str
    parts: tuple[str, ...]

    def lstat(self) -> os.stat_result:
        """Facts about the file, or about the link in its place."""
        return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)

    def open_file(self) -> int:
        """Open the regular file here for reading.

        Raises:
            OSError: it is missing, no regular file, or not readable.
        """
        # Opening a device can already do something, so its kind is looked at first; O_NONBLOCK, because a
        # pipe that takes the file's place in between must not make us wait for its other end.
        _require_file(self.lstat().st_mode)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self.name, flags, dir_fd=self.directory)
        try:
            _require_file(os.fstat(descriptor).st_mode)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def open_directory(self) -> int:
        """Open the folder here for listing."""
        return os.open(self.name, os.O_RDONLY | _DIRECTORY, dir_fd=self.directory)


class Root:
    """A folder that paths can't leave.

    Args:
        host_path: the folder, with links resolved; need not exist.
        spellings: further host paths of it, by which absolute links may name it.
    """

    def __init__(self, host_path: str, spellings: Sequence[str] = ()) -> None:
        self.host_path = host_path
        self._spellings = [_split(path) for path in (host_path, *spellings)]

    @contextlib.contextmanager
    def locate(
        self, parts: Sequence[str], *, follow_last: bool = True, create: bool = False
    ) -> Iterator[Place]:
        """The place of a path; the file itself need not exist.

        Args:
            parts: components below the root.
            follow_last: take the target of a link in the last place, else the link itself.
            create: make missing folders on the way.

        Raises:
            OutsideRootError: a link leads out of the root.
            OSError: a folder on the way is missing, is a file, or can't be crossed, or the links loop.
        """
        with contextlib.closing(_Descent(self, create=create)) as descent:
            name = descent.go(parts, follow_last=follow_last)
            yield descent.place(name)

    def real_parts(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Components below the root once links are followed; what doesn't exist yet is taken as written."""
        try:
            opened = _Descent(self, create=False)
        except FileNotFoundError:
            return tuple(parts)
        with contextlib.closing(opened) as descent:
            try:
                return descent.place(descent.go(parts)).parts
            except FileNotFoundError:
                return (*descent.names, *descent.pending)

    def parts_of_target(self, target: str) -> list[str]:
        """Components below the root of an absolute link target.

        Raises:
            OutsideRootError: the target is elsewhere.
        """
        parts = _split(target)
        for root in self._spellings:
            if parts[: len(root)] == root:
                return parts[len(root) :]
        raise OutsideRootError

    @property
    def is_host_root(self) -> bool:
        """Whether nothing lies outside."""
        return self.host_path == "/"


class _Descent:
    def __init__(self, root: Root, *, create: bool) -> None:
        if create:
            Path(root.host_path).mkdir(parents=True, exist_ok=True)
        self._root = root
        self._create = create
        self._stack = [os.open(root.host_path, _CROSS)]
        self._links = 0
        self.names: list[str] = []
        self.pending: deque[str] = deque()

    def close(self) -> None:
        while self._stack:
            os.close(self._stack.pop())

    def place(self, name: str) -> Place:
        parts = self.names if name == "." else [*self.names, name]
        return Place(self._stack[-1], name, tuple(parts))

    def go(self, parts: Sequence[str], *, follow_last: bool = True) -> str:
        """Descend to the folder of the last component.

        Returns:
            The name in that folder, ``.`` for the folder itself.
        """
        self.pending.extend(parts)
        while self.pending:
            part = self.pending[0]
            last = len(self.pending) == 1
            if part == "..":
                self._up()
            elif self._is_link(part) and (follow_last or not last):
                self._follow(part)
            elif last:
                self.pending.clear()
                return part
            else:
                self._down(part)
        return "."

    def _is_link(self, part: str) -> bool:
        try:
            return stat.S_ISLNK(os.stat(part, dir_fd=self._stack[-1], follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False

    def _follow(self, part: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(part, dir_fd=self._stack[-1])
        self.pending.popleft()
        if target.startswith("/"):
            components = self._root.parts_of_target(target)
            while len(self._stack) > 1:
                os.close(self._stack.pop())
            self.names.clear()
        else:
            components = _split(target)
        self.pending.extendleft(reversed(components))

    def _up(self) -> None:
        if self.names:
            os.close(self._stack.pop())
            self.names.pop()
        elif not self._root.is_host_root:
            raise OutsideRootError
        self.pending.popleft()

    def _down(self, part: str) -> None:
        if self._create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=self._stack[-1])
        self._stack.append(os.open(part, _CROSS, dir_fd=self._stack[-1]))
        self.names.append(part)
        self.pending.popleft()


def _require_file(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    # EINVAL stands for pipes, sockets and devices; a link is what O_NOFOLLOW refuses with ELOOP.
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.ELOOP if stat.S_ISLNK(mode) else errno.EINVAL
    raise OSError(code, os.strerror(code))


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]
