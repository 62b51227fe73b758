"""The lock file: which installed plugins may be loaded, each with the content that it had when it was locked.

What a distribution installed is listed in its RECORD, with a hash for each file. A plugin is as it was locked
when every file is as RECORD says and RECORD says what it said then. Whatever can't be checked differs.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import fields, frozen

from deepagents_kernel.config.paths import read_regular
from deepagents_kernel.errors import DeepAgentsError, PluginError
from deepagents_kernel.plugins.loadcache import replace_file
from deepagents_kernel.plugins.names import distribution_key
from deepagents_kernel.plugins.record import RecordReader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from deepagents_kernel.plugins.installed import InstalledPlugin

FORMAT = 1

_HEADER = """\
# The installed plugins that may be loaded, as they were when this file was written. One that is not listed,
# or has changed since, is not loaded. Written by: deepagents-kernel plugins lock
"""
_REWRITE = "write it anew: deepagents-kernel plugins lock"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


class LockError(DeepAgentsError, ValueError):
    """A lock file can't be read or written; no installed plugin is loaded on the strength of it.

    Attributes:
        path: the lock file.
        reason: what is wrong.
        hint: the way out, or an empty string.
    """

    def __init__(self, path: Path, reason: str, hint: str = "") -> None:
        self.path = path
        self.reason = reason
        self.hint = hint
        text = f"lock file {str(path)!r}: {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


@frozen
class LockedPlugin:
    """A plugin as it was locked.

    Attributes:
        name: its name.
        distribution: the distribution that declares it.
        version: version of the distribution.
        digest: ``sha256:`` and the hash over the content of all files; empty for an editable installation.
        editable: whether it may be an editable installation, whose files are not checked.
    """

    name: str
    distribution: str
    version: str
    digest: str
    editable: bool = False


@frozen
class Lock:
    """A lock file.

    Attributes:
        path: where it is.
        kernel: version of the kernel that wrote it.
        plugins: sorted by name.
    """

    path: Path
    kernel: str
    plugins: tuple[LockedPlugin, ...]


def read_lock(path: str | Path) -> Lock:
    """Read a lock file.

    Raises:
        LockError: it is not there, can't be read, or is not what this kernel writes.
    """
    path = Path(path)
    table = _load(path)
    version = table.get("format")
    if type(version) is not int or version != FORMAT:
        hint = "it is that of another version of the kernel, or no lock file at all"
        raise LockError(path, f"format is {version!r}, and {FORMAT} is the known one", hint)
    kernel, rows = table.get("kernel"), table.get("plugin", [])
    unknown = sorted(set(table) - {"format", "kernel", "plugin"})
    if unknown or not isinstance(kernel, str) or not isinstance(rows, list):
        what = f"unknown key {unknown[0]!r}" if unknown else "kernel is not a text, or plugin not a list"
        raise LockError(path, what, _REWRITE)
    plugins = sorted((_locked(path, row) for row in rows), key=lambda plugin: plugin.name)
    for one, other in itertools.pairwise(plugins):
        if one.name == other.name:
            raise LockError(path, f"{one.name!r} is in it twice", _REWRITE)
    return Lock(path, kernel, tuple(plugins))


def write_lock(
    path: str | Path,
    plugins: Iterable[InstalledPlugin],
    *,
    kernel: str,
    allow_editable: Collection[str] = (),
) -> Lock:
    """Lock plugins as they are now. A reader sees the old file or the new one, never a part.

    Args:
        path: the lock file.
        plugins: what may be loaded.
        kernel: version of the kernel.
        allow_editable: plugins and distributions, by name, that may be editable installations.

    Raises:
        LockError: a plugin can't be locked (all of them are named), or the file can't be written.
    """
    path = Path(path)
    names = [allow_editable] if isinstance(allow_editable, str) else allow_editable
    allowed = {distribution_key(name) for name in names}
    rows: dict[str, LockedPlugin] = {}
    problems: list[str] = []
    reader = RecordReader()
    for plugin in plugins:
        try:
            row = lock_entry(plugin, reader)
        except PluginError as error:
            problems.append(f"{plugin.name}: {error.reason}")
            continue
        if row.editable and not allowed & {distribution_key(row.name), distribution_key(row.distribution)}:
            problems.append(f"{row.name}: it is an editable installation, and not allowed by name to be one")
        if row.name in rows:
            other = rows[row.name].distribution
            problems.append(f"{row.name}: declared by {other} and by {row.distribution}")
        rows[row.name] = row
    if problems:
        hint = "install what is at fault anew, or leave it out"
        raise LockError(path, "\n  ".join(["these plugins can't be locked", *problems]), hint)
    lock = Lock(path, kernel, tuple(rows[name] for name in sorted(rows)))
    try:
        replace_file(path, _text(lock))
    except (OSError, UnicodeEncodeError) as error:
        raise LockError(path, f"it can't be written: {error}") from error
    return lock


def lock_entry(plugin: InstalledPlugin, reader: RecordReader | None = None) -> LockedPlugin:
    """A plugin as it is now.

    Args:
        plugin: the plugin.
        reader: reads its files; one for many plugins reads those of each distribution once.

    Raises:
        PluginError: its files are not those of its RECORD, so that there is nothing to hold on to.
    """
    state = (reader or RecordReader()).state(plugin)
    if state.fault:
        hint = f"install it anew: pip install --force-reinstall {plugin.distribution}"
        raise PluginError(plugin.name, state.fault, hint)
    return LockedPlugin(plugin.name, plugin.distribution, plugin.version, state.digest, state.editable)


def difference(plugin: InstalledPlugin, lock: Lock, reader: RecordReader | None = None) -> str:
    """How an installed plugin differs from what was locked.

    Reads every file of its distribution; imports nothing.

    Args:
        plugin: the plugin.
        lock: what was locked.
        reader: reads its files; one for many plugins reads those of each distribution once.

    Returns:
        The first difference found, or an empty string when it is as it was.
    """
    locked = next((row for row in lock.plugins if row.name == plugin.name), None)
    if locked is None:
        return "it is not listed"
    if distribution_key(plugin.distribution) != distribution_key(locked.distribution):
        return f"it comes from {plugin.distribution!r}, and that of {locked.distribution!r} is locked"
    if plugin.version != locked.version:
        return f"it is version {plugin.version}, and {locked.version} is locked"
    state = (reader or RecordReader()).state(plugin)
    if state.editable != locked.editable:
        is_not_allowed = "it is an editable installation, and the lock does not allow it by name to be one"
        return (
            is_not_allowed
            if state.editable
            else "it was locked as an editable installation, and is none any more"
        )
    changed = (
        "" if state.digest == locked.digest else "its RECORD is not the one that it had when it was locked"
    )
    return state.fault or changed


def _load(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_regular(path).decode("utf-8"))
    except OSError as error:
        raise LockError(path, f"it can't be read: {error.strerror or error}", _REWRITE) from error
    except UnicodeDecodeError as error:
        raise LockError(path, f"it is not UTF-8 (byte {error.start})", _REWRITE) from error
    except (ValueError, RecursionError) as error:
        raise LockError(path, f"it is not TOML: {error}", _REWRITE) from error


def _locked(path: Path, row: Any) -> LockedPlugin:
    known = [attribute.name for attribute in fields(LockedPlugin)]
    if not isinstance(row, dict) or sorted(row) != sorted(known):
        raise LockError(path, f"a plugin has other keys than {', '.join(known)}: {row!r:.100}", _REWRITE)
    texts = [row[key] for key in known[:-1]]
    if not all(isinstance(text, str) for text in texts) or not isinstance(row["editable"], bool):
        raise LockError(path, f"a value of plugin {row['name']!r:.60} has the wrong type", _REWRITE)
    if not (not row["digest"] if row["editable"] else _DIGEST.fullmatch(row["digest"])):
        raise LockError(path, f"the digest of {row['name']!r} is none: {row['digest']!r:.60}", _REWRITE)
    return LockedPlugin(**row)


def _text(lock: Lock) -> str:
    parts = [_HEADER, f"format = {FORMAT}\nkernel = {_quoted(lock.kernel)}\n"]
    for row in lock.plugins:
        texts = {
            "name": row.name,
            "distribution": row.distribution,
            "version": row.version,
            "digest": row.digest,
        }
        lines = [f"{key} = {_quoted(text)}" for key, text in texts.items()]
        parts.append("\n".join(["[[plugin]]", *lines, f"editable = {str(row.editable).lower()}\n"]))
    return "\n".join(parts)


def _quoted(text: str) -> str:
    """A TOML string: as in JSON, but for one character that JSON leaves bare."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
