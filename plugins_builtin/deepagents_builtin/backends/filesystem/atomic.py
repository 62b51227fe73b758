"""Writing a file whole or not at all.

The new content goes to a temporary file beside the old one, which then takes its name: whoever reads, and a
process that is killed at any moment, sees the old content or the new, never a part.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_builtin.backends.filesystem.confinement import Place

#: Names of files that are not finished, or that a killed process left; no listing shows them.
TEMPORARY_PREFIX = ".deepagents-tmp-"

_NEW_FILE_MODE = 0o644
# A fixed number of locks, so that the table needs no cleaning; two files that share one merely take turns.
_LOCKS = tuple(threading.Lock() for _ in range(64))


@contextlib.contextmanager
def writing(place: Place) -> Iterator[None]:
    """Hold the lock of a file, over all backends of this process that see it."""
    folder = os.fstat(place.directory)
    with _LOCKS[hash((folder.st_dev, folder.st_ino, place.name)) % len(_LOCKS)]:
        yield


def replace_file(place: Place, content: bytes, *, durable: bool = False) -> None:
    """Put *content* in the place of a file, which keeps its mode and owner.

    Args:
        place: where; the folder exists.
        content: all of the new content.
        durable: wait until the disk has it.

    Raises:
        OSError: something other than a regular file is there, or it can't be written.
    """
    previous = _writable_file(place)
    temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(
        temporary, flags, _NEW_FILE_MODE if previous is None else 0o600, dir_fd=place.directory
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if previous is not None:
                _keep_owner_and_mode(file.fileno(), previous)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.rename(temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.directory)
        raise
    if durable:
        _sync_directory(place)


def _writable_file(place: Place) -> os.stat_result | None:
    try:
        found = place.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode):
        # Renaming over a file asks for no permission on it; its own protection is meant all the same.
        if os.access(place.name, os.W_OK, dir_fd=place.directory):
            return found
        code = errno.EACCES
    elif stat.S_ISDIR(found.st_mode):
        code = errno.EISDIR
    else:
        code = errno.ELOOP if stat.S_ISLNK(found.st_mode) else errno.EINVAL
    raise OSError(code, os.strerror(code))


def _keep_owner_and_mode(descriptor: int, previous: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (previous.st_uid, previous.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, previous.st_uid, previous.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(previous.st_mode))


def _sync_directory(place: Place) -> None:
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.directory)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
