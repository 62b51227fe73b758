"""Paths as users write them, and as they are shown to users; files that others may have put there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: Name of the file that holds nothing but configuration.
OWN_FILE = "deepagents.toml"
#: Name of the file in which it is one table of many.
PYPROJECT = "pyproject.toml"
#: That table.
PYPROJECT_TABLE = ("tool", "deepagents")
#: How much of a file is read; what is larger is none of those that are looked for.
MOST_BYTES = 10_000_000


def shown_path(path: Path | str) -> str:
    """A path for a text: relative to the working directory when below it, else from ``~``, else absolute.

    A relative path is shown as it is.
    """
    found = Path(path)
    if not found.is_absolute():
        return os.fspath(path)
    working = working_directory()
    if working is not None and _is_base(working) and found.is_relative_to(working):
        return str(found.relative_to(working))
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    if home.is_absolute() and _is_base(home) and found.is_relative_to(home):
        return str("~" / found.relative_to(home))
    return str(found)


def absolute_path(text: Path | str, folder: Path | None = None) -> Path:
    """The absolute path that a user means.

    Neither ``..`` nor links are resolved: what a link leads to may change, and is looked up when it is used.

    Args:
        text: a path, absolute, from ``~``, or relative.
        folder: what a relative one is relative to; ``None`` for the working directory.

    Raises:
        ValueError: there is no such home directory, or no working directory.
    """
    try:
        path = Path(text).expanduser()
        return (path if folder is None else folder / path).absolute()
    except (RuntimeError, OSError) as error:
        raise ValueError(getattr(error, "strerror", None) or str(error)) from error


def working_directory() -> Path | None:
    """The working directory; ``None`` when it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def read_regular(path: Path) -> bytes:
    """What is in a file that anybody may have put there.

    Reading a pipe would wait forever, and a device may never end: neither is opened.

    Raises:
        OSError: it can't be read, is no regular file, or is larger than 10 MB.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    with open(path, "rb", opener=_open_at_once) as stream:
        # Another file may have taken its place since, and may be larger: what is open counts.
        size = min(os.fstat(stream.fileno()).st_size, MOST_BYTES)
        # One byte more than there should be: room for that much is made at once, for most files a little.
        content = stream.read(size + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES // 1_000_000} MB", str(path))
    return content


def _open_at_once(path: str, flags: int) -> int:
    # A pipe may have taken its place since.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_base(folder: Path) -> bool:
    # Everything is below the root: a path relative to it would not say more than the absolute one.
    return folder != folder.parent
