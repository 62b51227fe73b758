"""Writing a configuration file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Put *content* in the place of a file, or make it with its folder.

    Whoever reads meanwhile sees the old content or the new one. The file keeps its mode and owner, and a
    link to it stays a link.

    Raises:
        OSError: it can't be written, or is protected.
    """
    target = Path(os.path.realpath(path))
    previous = _previous(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if previous is None else 0o600
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if previous is not None:
            _keep_owner_and_mode(temporary, previous)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _previous(target: Path) -> os.stat_result | None:
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    # Renaming over a file asks for no permission on it, and root needs none: its own protection is meant.
    if not stat.S_IMODE(found.st_mode) & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError("it is read-only")
    return found


def _keep_owner_and_mode(path: Path, previous: os.stat_result) -> None:
    own = path.stat()
    if (own.st_uid, own.st_gid) != (previous.st_uid, previous.st_gid):
        with contextlib.suppress(OSError):
            os.chown(path, previous.st_uid, previous.st_gid)
    path.chmod(stat.S_IMODE(previous.st_mode))
