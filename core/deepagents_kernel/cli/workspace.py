"""The folder that a run works in: checked before, compared after."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_kernel.cli.call import CommandError
from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: More files than this are not compared: the summary says so instead.
MOST_FILES = 20_000
_SKIPPED = frozenset({".git", ".hg", ".svn"})


def check_workspace(text: str) -> Path:
    """The absolute path of a workspace.

    Raises:
        CommandError: there is no such folder, it is a file, or it can't be read.
    """
    path = Path(text).expanduser()
    try:
        if not path.exists():
            raise CommandError(f"no folder {text!r} to work in{_sibling(path)}")
        if not path.is_dir():
            raise CommandError(f"{text!r} is a file; --workspace takes a folder")
        with os.scandir(path):
            return path.resolve()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CommandError(f"the folder {text!r} can't be read: {reason}") from error


def _sibling(path: Path) -> str:
    try:
        names = [item.name for item in path.parent.iterdir() if item.is_dir()]
    except OSError:
        return f"; {str(path.parent)!r} can't be read either"
    hint = nearest_hint(path.name, names)
    return f"; {hint}" if hint else ""


@frozen
class Snapshot:
    """Sizes and times of the files below a folder.

    Attributes:
        files: relative path to (size, modification time in nanoseconds).
        complete: false when there were too many files to look at.
    """

    files: Mapping[str, tuple[int, int]]
    complete: bool


@frozen
class Changes:
    """What a run did to the files of its workspace.

    Attributes:
        created, changed, deleted: relative paths, sorted.
        complete: false when there were too many files to compare.
    """

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    complete: bool = True


def take_snapshot(root: Path, most: int = MOST_FILES) -> Snapshot:
    """Sizes and times of at most *most* files below *root*; links are not followed."""
    files: dict[str, tuple[int, int]] = {}
    for entry in _files(root):
        if len(files) >= most:
            return Snapshot(files, complete=False)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        files[os.path.relpath(entry.path, root)] = (status.st_size, status.st_mtime_ns)
    return Snapshot(files, complete=True)


def _files(root: Path) -> Iterator[os.DirEntry[str]]:
    waiting = deque([str(root)])
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif entry.name not in _SKIPPED:
                waiting.append(entry.path)


def compare(before: Snapshot, after: Snapshot) -> Changes:
    """What changed between two snapshots; with an incomplete one, only files that are in both can tell."""
    old, new = before.files, after.files
    changed = tuple(sorted(path for path in new if path in old and new[path] != old[path]))
    if not (before.complete and after.complete):
        return Changes(changed=changed, complete=False)
    return Changes(
        created=tuple(sorted(new.keys() - old.keys())),
        changed=changed,
        deleted=tuple(sorted(old.keys() - new.keys())),
    )
