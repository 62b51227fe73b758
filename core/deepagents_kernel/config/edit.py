"""Changing a configuration file for a user: what is not meant stays as it is, byte for byte.

What is new is put into the text where it belongs. What is there already is changed with tomlkit, which keeps
comments and layout. Whatever comes out is parsed and compared before it is written.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.config.document import Document, dotted, read_document
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.insertion import literal, with_entry, with_line, with_table
from deepagents_kernel.config.lines import statements
from deepagents_kernel.config.paths import absolute_path, read_regular, shown_path
from deepagents_kernel.config.search import is_there
from deepagents_kernel.config.values import described, name_fault
from deepagents_kernel.config.writing import write_file

if TYPE_CHECKING:
    from deepagents_kernel.config.source import Key

#: Makes a new text of a text and the path of its ``[plugins]``.
Change = Callable[[str, "Key"], str]

_BOM = b"\xef\xbb\xbf"


def switch(path: Path, name: str, *, on: bool) -> str:
    """Switch a plugin on or off in a ``deepagents.toml`` or a ``pyproject.toml``.

    Its name goes into ``enable`` or ``disable`` of ``[plugins]`` and out of the other list. File, table and
    list are made if there are none.

    Returns:
        What was changed, in words.

    Raises:
        ConfigError: the file can't be read, understood or written; it is left as it is.
    """
    document = _read(path)
    name = name.strip()
    if fault := name_fault(name):
        raise ConfigError(str(document.path), fault, "give one name")
    into, out = ("enable", "disable") if on else ("disable", "enable")
    draft = _Draft(document, _unified(document.text))
    done = []
    if name not in _names(document, into):
        names = [*_entries(document, into), name]
        draft = draft.put(into, names, lambda text, path: _with_name(text, path, into, name))
        done.append(f"added {name} to {into}")
    if name in _names(document, out):
        names = [item for item in _entries(document, out) if item.strip() != name]
        draft = draft.put(out, names, lambda text, path: _without_name(text, path, out, name))
        done.append(f"removed {name} from {out}")
    if not done:
        return f"{shown_path(document.path)}: {name} stands in {into} already"
    draft.write()
    return f"{shown_path(document.path)}: {', '.join(done)}"


def set_lock(path: Path, lock_relative: str) -> str:
    """Name the lock file in a ``deepagents.toml`` or a ``pyproject.toml``.

    Args:
        path: the configuration file; it is made if there is none.
        lock_relative: path of the lock file, relative to the folder of the configuration file.

    Returns:
        What was changed, in words.

    Raises:
        ConfigError: the file can't be read, understood or written; it is left as it is.
    """
    document = _read(path)
    if not lock_relative.strip():
        raise ConfigError(str(document.path), "the path of the lock file is empty")
    # A path is meant as it is, also where it looks like a variable.
    value = lock_relative.replace("${", "$${")
    if _plugins(document).get("lock") == value:
        return f"{shown_path(document.path)}: lock is {lock_relative} already"
    draft = _Draft(document, _unified(document.text))
    draft.put("lock", value, lambda text, path: _with_value(text, path, "lock", value)).write()
    return f"{shown_path(document.path)}: set lock to {lock_relative}"


# -- what is there -----------------------------------------------------------------------------------------


def _read(path: Path) -> Document:
    try:
        path = absolute_path(path)
    except ValueError as error:
        raise ConfigError(str(path), f"the file can't be read: {error}") from error
    return read_document(path) if is_there(path) and not _is_dangling(path) else Document(path, "", {})


def _is_dangling(path: Path) -> bool:
    return path.is_symlink() and not is_there(Path(os.path.realpath(path)))


def _plugins(document: Document) -> Mapping[str, Any]:
    whole = {} if document.table is None else document.table
    return _table(document, ("plugins",), _table(document, (), whole).get("plugins", {}))


def _table(document: Document, key: Key, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise document.error(key, f"expected a table, got {described(value)}", "mend it, then try again")
    return value


def _entries(document: Document, name: str) -> list[str]:
    found = _plugins(document).get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise document.error(("plugins", name), f"expected a list of names, got {described(found)}")
    return found


def _names(document: Document, name: str) -> list[str]:
    return [item.strip() for item in _entries(document, name)]


# -- what is to be there -----------------------------------------------------------------------------------


@frozen(eq=False)
class _Draft:
    """A file with some of its changes made; line ends are plain ones if they were all alike."""

    document: Document
    text: str
    wanted: tuple[tuple[str, Any], ...] = ()

    def put(self, key: str, value: Any, change: Change) -> _Draft:
        """Have *change* give *key* of ``[plugins]`` this *value*."""
        try:
            text = change(self.text, (*self.document.prefix, "plugins"))
        except Exception as error:
            # Whatever the parser stumbles over, the way out is the same.
            raise self._stuck(((key, value),)) from error
        return _Draft(self.document, text, (*self.wanted, (key, value)))

    def write(self) -> None:
        """Write the file.

        Raises:
            ConfigError: something else would change, or the file can't be written.
        """
        if not self._is_as_wanted():
            raise self._stuck(self.wanted)
        path, before = self.document.path, self.document.text
        text = self.text.replace("\n", "\r\n") if before != _unified(before) else self.text
        try:
            content = read_regular(path) if path.exists() else b""
            if content.removeprefix(_BOM) != before.encode():
                raise OSError("somebody else has just changed it")
            write_file(path, (_BOM if content.startswith(_BOM) else b"") + text.encode())
        except OSError as error:
            reason = error.strerror or str(error)
            raise ConfigError(str(path), f"the file can't be written: {reason}") from error

    def _is_as_wanted(self) -> bool:
        # Numbers as they are written: one that is not a number does not even equal itself.
        try:
            expected = tomllib.loads(self.document.text, parse_float=str)
            found = tomllib.loads(self.text, parse_float=str)
        except ValueError:
            return False
        table = expected
        for name in (*self.document.prefix, "plugins"):
            table = table.setdefault(name, {})
        table.update(self.wanted)
        return found == expected

    def _stuck(self, wanted: tuple[tuple[str, Any], ...]) -> ConfigError:
        lines = "; ".join(f"{key} = {literal(value)}" for key, value in wanted)
        hint = f"write it yourself, below [{dotted((*self.document.prefix, 'plugins'))}]: {lines}"
        reason = "its layout is one that can't be changed without touching something else"
        return ConfigError(str(self.document.path), reason, hint)


# -- how it gets there -------------------------------------------------------------------------------------


def _with_value(text: str, path: Key, key: str, value: Any) -> str:
    table: Any = tomllib.loads(text)
    for name in path:
        table = None if table is None else table.get(name)
    line = f"{key} = {literal(value)}"
    if table is None:
        return with_table(text, path, line)
    own = [statement for statement in statements(text) if statement.table == path]
    if key not in table and own and own[0].is_header:
        return with_line(text, own[-1], line)
    return _with_tomlkit(text, path, lambda found: found.update({key: value}))


def _with_name(text: str, path: Key, key: str, name: str) -> str:
    table: Any = tomllib.loads(text)
    for part in path:
        table = table.get(part, {})
    if key not in table:
        return _with_value(text, path, key, [name])
    longer = with_entry(text, (*path, key), name)
    return longer or _with_tomlkit(text, path, lambda found: found[key].append(name))


def _without_name(text: str, path: Key, key: str, name: str) -> str:
    def remove(table: Any) -> None:
        items = table[key]
        for place in reversed(range(len(items))):
            if items[place].strip() == name:
                del items[place]

    return _with_tomlkit(text, path, remove)


def _with_tomlkit(text: str, path: Key, change: Callable[[Any], None]) -> str:
    import tomlkit

    parsed = tomlkit.parse(text)
    table: Any = parsed
    for name in path:
        table = table[name]
    change(table)
    return parsed.as_string()


def _unified(text: str) -> str:
    """*text* with plain line ends if all of its lines end with carriage return and line feed."""
    return text.replace("\r\n", "\n") if text.count("\r\n") == text.count("\n") else text
