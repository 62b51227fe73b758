"""The configuration file of a project: the nearest one, from a folder upwards."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.paths import OWN_FILE, PYPROJECT, PYPROJECT_TABLE, read_regular, shown_path
from deepagents_kernel.config.source import IgnoredFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.config.document import Document

_IN_WORKSPACE = "it lies in the workspace, where an agent may have written it; --trust-workspace has it read"
_NOT_YOURS = (
    "another user put it into a folder that everybody may write to; name it with --config to have it read"
)
_MENTION = ".".join(PYPROJECT_TABLE).encode()


@frozen(eq=False)
class Search:
    """A search for the file of a project.

    Attributes:
        user_file: the user's own file, which is no project's.
        fence: the folder, resolved, of which nothing is read; ``None`` for no such folder.
        ignored: files that were passed over, filled on the way.
    """

    user_file: Path
    fence: Path | None
    ignored: list[IgnoredFile] = field(factory=list)

    def nearest(self, directory: Path) -> Document | None:
        """The file of the nearest folder that has one, from *directory* upwards.

        The last folder that is looked at is the one with ``.git``, the home directory, or the root.

        Raises:
            ConfigError: a folder has two, or one that can't be read.
        """
        for folder in self._upwards(Path(os.path.realpath(directory))):
            found = [path for name in (OWN_FILE, PYPROJECT) if is_there(path := folder / name)]
            if any(is_same(path, self.user_file) for path in found):
                return None
            documents = [document for path in found if (document := self._read(path)) is not None]
            if len(documents) > 1:
                raise _both(documents[0].path, documents[1])
            if documents:
                return documents[0]
        return None

    def _upwards(self, folder: Path) -> Iterator[Path]:
        home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home() may raise
        while True:
            yield folder
            # An agent must not be able to end the search: a .git that it made would hide the rules above it.
            if is_there(folder / ".git") and not self._is_fenced(folder):
                return
            if folder in (home, folder.parent):
                return
            folder = folder.parent

    def _read(self, path: Path) -> Document | None:
        """The file, if it has configuration and may be read."""
        reason = self._objection(path)
        if reason:
            if _has_table(path):
                self.ignored.append(IgnoredFile(path, reason))
            return None
        if path.name != OWN_FILE and not _speaks_of_us(path):
            return None
        try:
            document = _document(path)
        except ConfigError as error:
            if path.name == OWN_FILE or _mentions_us(path):
                raise
            self.ignored.append(IgnoredFile(path, error.reason))
            return None
        return document if document.table is not None else None

    def _objection(self, path: Path) -> str:
        # A link leads out of the workspace or into it: either end may be the agent's work.
        if self._is_fenced(path) or self._is_fenced(Path(os.path.realpath(path))):
            return _IN_WORKSPACE
        return _NOT_YOURS if _is_planted(path) else ""

    def _is_fenced(self, path: Path) -> bool:
        return self.fence is not None and path.is_relative_to(self.fence)


def is_there(path: Path) -> bool:
    """Whether there is something of that name, be it readable or not."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def is_same(path: Path, other: Path) -> bool:
    """Whether both are one file, by whatever name."""
    return os.path.realpath(path) == os.path.realpath(other)


def _has_table(path: Path) -> bool:
    if path.name == OWN_FILE:
        return True
    try:
        return _document(path).table is not None
    except ConfigError:
        return _mentions_us(path)


def _speaks_of_us(path: Path) -> bool:
    """Whether our table may be in a file: without its name it is not, and parsing is spared."""
    try:
        return PYPROJECT_TABLE[-1].encode() in read_regular(path)
    except OSError:
        return True


def _mentions_us(path: Path) -> bool:
    try:
        return _MENTION in read_regular(path)
    except OSError:
        return False


def _is_planted(path: Path) -> bool:
    """Whether somebody else put the file where everybody may put one, as into the temporary folder."""
    if not hasattr(os, "getuid"):
        return False
    try:
        shared = stat.S_IMODE(path.parent.stat().st_mode) & stat.S_IWOTH
        return bool(shared) and path.lstat().st_uid not in (0, os.getuid())
    except OSError:
        return False


def _document(path: Path) -> Document:
    # Imported when there is a file: without one, reading configuration costs next to nothing.
    from deepagents_kernel.config.document import read_document

    return read_document(path)


def _both(own: Path, pyproject: Document) -> ConfigError:
    reason = f"{PYPROJECT} beside it has a table [{'.'.join(PYPROJECT_TABLE)}] as well"
    hint = f"keep one of the two; the table stands at {pyproject.where(()) or shown_path(pyproject.path)}"
    return ConfigError(str(own), reason, hint)
