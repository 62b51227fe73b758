"""What the system's errors are called in results: codes and short texts, never a host path."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from deepagents_builtin.backends.filesystem.confinement import OutsideRootError
from deepagents_kernel.contracts.results import FILE_NOT_FOUND, INVALID_PATH, IS_DIRECTORY, PERMISSION_DENIED
from deepagents_kernel.files.paths import InvalidPathError, show_path

if TYPE_CHECKING:
    from deepagents_kernel.contracts.results import FileOperationError

#: What finding and opening a file can raise.
Failure = (OSError, OutsideRootError, InvalidPathError)

_REASONS = {
    errno.ENOENT: "not found",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: "is a directory",
    errno.ENOTDIR: "a folder in the path is a file",
    errno.ELOOP: "is a link, or a loop of links, that is not followed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EINVAL: "is no regular file",
}
_CODES: dict[int | None, FileOperationError] = {
    errno.ENOENT: FILE_NOT_FOUND,
    errno.EACCES: PERMISSION_DENIED,
    errno.EPERM: PERMISSION_DENIED,
    errno.EISDIR: IS_DIRECTORY,
    errno.ENOTDIR: INVALID_PATH,
    errno.EEXIST: INVALID_PATH,
    errno.ELOOP: INVALID_PATH,
    errno.ENAMETOOLONG: INVALID_PATH,
    errno.EINVAL: INVALID_PATH,
}


def reason_of(error: Exception) -> str:
    """A few words for *error*, the same on every host."""
    if isinstance(error, InvalidPathError):
        return error.reason
    if isinstance(error, OutsideRootError):
        return "leads out of the root through a link"
    number = error.errno if isinstance(error, OSError) else None
    return _REASONS.get(number or 0) or (os.strerror(number).lower() if number else type(error).__name__)


def describe(path: str, error: Exception) -> str:
    """*path* and what is wrong with it, for ``read``, ``write``, ``edit`` and ``delete``."""
    if isinstance(error, InvalidPathError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"File {show_path(path)} not found"
    return f"File {show_path(path)}: {reason_of(error)}"


def describe_directory(path: str, error: Exception) -> str:
    """The same for listings and searches: a code word, then the reason where the code doesn't tell it."""
    if isinstance(error, InvalidPathError):
        return str(error)
    # Below a file there is nothing, which is not the same as being a file.
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"Path {show_path(path)}: path_not_found"
    code = transfer_code(error)
    return f"Path {show_path(path)}: {code if code == PERMISSION_DENIED else f'{code}: {reason_of(error)}'}"


def transfer_code(error: Exception) -> FileOperationError | str:
    """The code of an upload or download that failed; the reason itself where there is no code for it."""
    if not isinstance(error, OSError):
        return INVALID_PATH
    return _CODES.get(error.errno) or reason_of(error)
