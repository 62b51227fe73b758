"""A configuration file as it stands on disk: its text, what it holds, and where in it each key is."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.paths import PYPROJECT, PYPROJECT_TABLE, absolute_path, read_regular, shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from deepagents_kernel.config.lines import Statement
    from deepagents_kernel.config.source import Key

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_POSITION = re.compile(r"\(at line (\d+), column \d+\)$")
_TWICE = (
    "Cannot overwrite a value",
    "Cannot declare",
    "Cannot mutate immutable namespace",
    "Duplicate inline table key",
)


@frozen(eq=False)
class Document:
    """A configuration file that was read and parsed.

    Attributes:
        path: the file, absolute.
        text: its text, without a byte order mark.
        data: everything in it.
    """

    path: Path
    text: str = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)

    @property
    def prefix(self) -> Key:
        """The table that holds the configuration; empty when it is the whole file."""
        return PYPROJECT_TABLE if self.path.name == PYPROJECT else ()

    @property
    def table(self) -> Any:
        """What that table holds; ``None`` when the file has no such table."""
        found: Any = self.data
        for name in self.prefix:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    @cached_property
    def index(self) -> Mapping[Key, Statement]:
        """Each key of the file with the statement that first mentions it."""
        # Imported when a place has to be named, which is when something is wrong or explained.
        from deepagents_kernel.config.lines import index_lines

        return index_lines(self.text)

    def where(self, key: Key) -> str:
        """``deepagents.toml:4`` for a key, or an entry of a list; an empty string for what is not there."""
        line = self._line((*self.prefix, *key))
        return "" if line is None else f"{shown_path(self.path)}:{line}"

    def error(self, key: Key, reason: str, hint: str = "", *, entry: str = "") -> ConfigError:
        """The error for a key, with its line, or that of an *entry* of its list."""
        path = (*self.prefix, *key)
        places = [(*path, entry), *(path[:end] for end in range(len(path), 0, -1))]
        line = next((found for place in places if (found := self._line(place)) is not None), None)
        return ConfigError(str(self.path), reason, hint, key=dotted(path), line=line)

    def _line(self, key: Key) -> int | None:
        from deepagents_kernel.config.lines import line_of

        return line_of(self.index, key)


def read_document(path: Path) -> Document:
    """Read a file.

    Raises:
        ConfigError: it can't be read, is not UTF-8, or not TOML.
    """
    try:
        path = absolute_path(path)
        content = _content(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(str(path), f"the file can't be read: {reason}") from error
    text = _decoded(path, content)
    return Document(path, text, _parsed(path, text))


def dotted(key: Key) -> str:
    """A key as TOML writes it: ``plugin."middleware.filesystem".read_limit``."""
    return ".".join(name if _BARE.fullmatch(name) else f'"{name}"' for name in key)


def _content(path: Path) -> bytes:
    # The null device is how one says "no file".
    return b"" if str(path) == os.devnull else read_regular(path)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "save the file in the encoding UTF-8"
        raise ConfigError(str(path), "the file is not UTF-8", hint, line=line) from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(str(path), "values are nested too deeply") from None
    except ValueError as error:
        position = _POSITION.search(str(error))
        line = int(position[1]) if position else None
        hint = "a key or a table stands there for the second time" if str(error).startswith(_TWICE) else ""
        raise ConfigError(str(path), f"not valid TOML: {error}", hint, line=line) from error
