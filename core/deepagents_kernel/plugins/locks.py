"""The lock files that a configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.plugins.lockfile import Lock


def locks_of(configuration: Configuration) -> tuple[Lock, ...]:
    """The lock files that apply; those of all sources, since an inner one can't take back an outer one's.

    Raises:
        LockError: one can't be read.
        SettingsError: an inner source says that there is none.
    """
    paths: dict[Path, str] = {}
    for source in configuration.sources:
        lock = source.switches.lock
        if lock is None:
            continue
        where = source.where("plugins", "lock")
        if isinstance(lock, bool):
            if paths:
                hint = "a lock can be added by an inner source, not taken away"
                reason = f"{', '.join(paths.values())} sets a lock"
                raise SettingsError("plugins.lock", where, reason, hint)
            continue
        paths.setdefault(lock, where)
    return _read(paths) if paths else ()


def _read(paths: Iterable[Path]) -> tuple[Lock, ...]:
    # Imported only where there is a lock: listings have to be fast.
    from deepagents_kernel.plugins.lockfile import read_lock

    return tuple(read_lock(path) for path in paths)
