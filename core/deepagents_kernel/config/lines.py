"""Numbers of the lines in which keys of a TOML text stand.

The parser of the standard library gives values without positions. So the text is cut where one statement
ends and the next begins, which takes no more than knowing strings, comments and brackets, and the parser
says of each statement by itself which keys it defines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.config.source import Key

_STRING = r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_STRINGS = re.compile(_STRING, re.DOTALL)
_TOKEN = re.compile(rf"(?P<skip>{_STRING}|#[^\n]*)|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<end>\n)", re.DOTALL)


@frozen
class Statement:
    """A table header, or a key with its value.

    Attributes:
        line: number of its first line.
        start: where it begins in the whole text.
        text: the statement with its line ends and its comment.
        table: the table that its keys belong to; ``None`` within an array of tables, where no key is unique.
    """

    line: int
    start: int
    text: str
    table: Key | None = ()

    @property
    def end(self) -> int:
        """Where it ends in the whole text."""
        return self.start + len(self.text)

    @property
    def is_header(self) -> bool:
        """Whether it opens a table."""
        return self.text.lstrip().startswith("[")


def statements(text: str) -> Iterator[Statement]:
    """The statements of a valid TOML text, in order; lines without one are left out.

    Raises:
        ValueError: the text is not valid TOML.
    """
    table: Key | None = ()
    for line, start, part in _cut(text):
        if not tomllib.loads(part):
            continue
        if part.lstrip().startswith("["):
            path, is_array = _opened(part)
            table = None if is_array else path
        yield Statement(line, start, part, table)


def index_lines(text: str) -> dict[Key, Statement]:
    """Each key of a TOML text with the statement that first mentions it; empty for an invalid text."""
    found: dict[Key, Statement] = {}
    try:
        for statement in statements(text):
            for key in _defined(statement):
                found.setdefault(key, statement)
    except (ValueError, RecursionError):
        return {}
    return found


def line_of(index: Mapping[Key, Statement], key: Key) -> int | None:
    """The line of a key, or of an entry of a list of strings; ``None`` for what is not there.

    Args:
        index: as :func:`index_lines` made it.
        key: path of the key; for an entry, the path of its list and then the text of the entry, of which
            blanks around it don't count.
    """
    if key in index:
        return index[key].line
    holder = index.get(key[:-1])
    return None if holder is None or not key else _line_of_entry(holder, key[:-1], key[-1])


def _cut(text: str) -> Iterator[tuple[int, int, str]]:
    line = first = 1
    start = depth = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
        elif token["end"]:
            line += 1
            if depth == 0:
                yield first, start, text[start : token.end()]
                first, start = line, token.end()
        else:
            line += token.group().count("\n")
    if start < len(text):
        yield first, start, text[start:]


def _opened(header: str) -> tuple[Key, bool]:
    """The path that a table header names, and whether it opens one more table of an array."""
    values: Any = tomllib.loads(header)
    path: list[str] = []
    while isinstance(values, Mapping) and values:
        name, values = next(iter(values.items()))
        path.append(name)
    return tuple(path), isinstance(values, list)


def _defined(statement: Statement) -> Iterator[Key]:
    if statement.is_header:
        path, _ = _opened(statement.text)
        for end in range(1, len(path) + 1):
            yield path[:end]
    elif statement.table is not None:
        yield from _paths(tomllib.loads(statement.text), statement.table)


def _paths(values: Any, above: Key) -> Iterator[Key]:
    if isinstance(values, Mapping):
        for name, value in values.items():
            yield (*above, name)
            yield from _paths(value, (*above, name))


def first_entry(statement: Statement, key: Key, name: str) -> re.Match[str] | None:
    """Where *name* stands in the list at *key*, within the text of its statement."""
    alike = (token for token in _strings(statement.text) if _value(token).strip() == name.strip())
    return next((token for token in alike if _is_entry(statement, key, token)), None)


def last_entry(statement: Statement, key: Key) -> re.Match[str] | None:
    """Where the last string of the list at *key* stands, within the text of its statement."""
    tokens = reversed(list(_strings(statement.text)))
    return next((token for token in tokens if _is_entry(statement, key, token)), None)


def _line_of_entry(statement: Statement, key: Key, name: str) -> int | None:
    found = first_entry(statement, key, name)
    return None if found is None else statement.line + statement.text.count("\n", 0, found.start())


def _is_entry(statement: Statement, key: Key, token: re.Match[str]) -> bool:
    # A string belongs to the list if emptying it changes the list: a key, a comment or a string of another
    # list that reads the same does not.
    inside = key[len(statement.table or ()) :]
    emptied = f"{statement.text[: token.start()]}''{statement.text[token.end() :]}"
    return _list_at(emptied, inside) not in (None, _list_at(statement.text, inside))


def _strings(text: str) -> Iterator[re.Match[str]]:
    for token in _TOKEN.finditer(text):
        if token["skip"] and _STRINGS.fullmatch(token.group()):
            yield token


def _value(token: re.Match[str]) -> str:
    return str(tomllib.loads(f"value = {token.group()}")["value"])


def _list_at(text: str, key: Key) -> list[Any] | None:
    try:
        found: Any = tomllib.loads(text)
    except ValueError:
        return None
    for name in key:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, list) else None
