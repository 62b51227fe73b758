"""Entries of folders as results show them."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import stat
from typing import TYPE_CHECKING

from deepagents_builtin.backends.filesystem.atomic import TEMPORARY_PREFIX
from deepagents_builtin.backends.filesystem.failures import Failure
from deepagents_kernel.files.paths import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_builtin.backends.filesystem.confinement import Root
    from deepagents_kernel.contracts.results import FileInfo


def timestamp(seconds: float) -> str:
    """A file time in UTC with its offset; empty for one that no calendar holds."""
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def target_of(root: Root, parts: Sequence[str]) -> os.stat_result | None:
    """Facts about what a link leads to; ``None`` when that is outside, missing, or the link itself again."""
    with contextlib.suppress(*Failure), root.locate(parts) as place:
        return place.lstat()
    return None


def list_directory(root: Root, parts: Sequence[str], directory: int, prefix: str) -> list[FileInfo]:
    """The direct children of an open folder, by path.

    Pipes, sockets, devices and unfinished temporary files are left out; a link is listed under its own name.

    Args:
        root: what bounds the links.
        parts: the folder's components below the root.
        directory: its descriptor.
        prefix: what stands before each name, ending with ``/``.
    """
    found: list[FileInfo] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(TEMPORARY_PREFIX):
                continue
            info = _entry_info(root, parts, entry, f"{prefix}{printable(entry.name)}")
            if info is not None:
                found.append(info)
    return sorted(found, key=lambda info: info["path"])


def _entry_info(root: Root, parts: Sequence[str], entry: os.DirEntry[str], path: str) -> FileInfo | None:
    is_link = entry.is_symlink()
    facts: os.stat_result | None = None
    try:
        facts = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError:
        # The folder may be listed but not searched: the name is all there is to know.
        is_folder = entry.is_dir(follow_symlinks=False)
        return {"path": f"{path}/" if is_folder else path, "is_dir": is_folder}
    if is_link:
        facts = target_of(root, (*parts, entry.name)) or facts
    info = file_info(path, facts)
    if is_link:
        info["is_symlink"] = True
    elif not stat.S_ISDIR(facts.st_mode) and not stat.S_ISREG(facts.st_mode):
        return None
    return info


def file_info(path: str, facts: os.stat_result) -> FileInfo:
    """An entry for a file or folder; a folder has size 0 and a slash at its end."""
    is_folder = stat.S_ISDIR(facts.st_mode)
    size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
    return {
        "path": f"{path}/" if is_folder else path,
        "is_dir": is_folder,
        "size": size,
        "modified_at": timestamp(facts.st_mtime),
    }
