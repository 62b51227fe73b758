"""Putting a line or an entry into a TOML text, in the layout of what stands there, and nothing else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.document import dotted
from deepagents_kernel.config.lines import index_lines, last_entry

if TYPE_CHECKING:
    from deepagents_kernel.config.lines import Statement
    from deepagents_kernel.config.source import Key

# What follows the last entry of a list that has its entries on lines of their own.
_REST_OF_LINE = re.compile(r"[ \t]*(?P<comma>,?)[ \t]*(?:#[^\n]*?)?(?P<end>\r?\n)")
_INDENT = "  "


def literal(value: Any) -> str:
    """A text or a list of texts as TOML writes it."""
    # What JSON writes is TOML too, but for one control character that it leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def with_table(text: str, path: Key, line: str) -> str:
    """*text* with a new table at its end that has one line; a text without a final newline gets none."""
    header = f"[{dotted(path)}]\n{line}\n"
    if not text:
        return header
    return f"{text}\n{header}" if text.endswith("\n") else f"{text}\n\n{header}".removesuffix("\n")


def with_line(text: str, last: Statement, line: str) -> str:
    """*text* with a line right behind the statement *last*, and indented like it."""
    indent = "" if last.is_header else _indent(last.text)
    put = f"{indent}{line}\n" if last.text.endswith("\n") else f"\n{indent}{line}"
    return f"{text[: last.end]}{put}{text[last.end :]}"


def with_entry(text: str, key: Key, name: str) -> str | None:
    """*text* with one more entry at the end of the list at *key*; ``None`` if the list has none yet."""
    statement = index_lines(text).get(key)
    last = statement and last_entry(statement, key)
    if not statement or not last:
        return None
    start = statement.start + last.end()
    rest = _REST_OF_LINE.match(text, start)
    if rest is None:
        return f"{text[:start]}, {literal(name)}{text[start:]}"
    before = statement.text[: last.start()]
    indent = _indent(before.rpartition("\n")[2]) if "\n" in before else _indent(statement.text) + _INDENT
    comma = "" if rest["comma"] else ","
    line = f"{indent}{literal(name)}{rest['comma']}{rest['end']}"
    return f"{text[:start]}{comma}{text[start : rest.end()]}{line}{text[rest.end() :]}"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
