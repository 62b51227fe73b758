"""A table of a configuration file, told apart from what is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.document import dotted

if TYPE_CHECKING:
    from deepagents_kernel.config.document import Document
    from deepagents_kernel.config.source import Key


def table(document: Document, key: Key, value: Any) -> Mapping[str, Any]:
    """*value*, if it is a table.

    Args:
        document: the file.
        key: where in it the value stands.
        value: what stands there.

    Raises:
        ConfigError: it is something else.
    """
    if not isinstance(value, Mapping):
        hint = f"write {header(document, key)} on a line of its own, and its keys below"
        raise document.error(key, f"expected a table, got {kind_of(value)}", hint)
    return value


def header(document: Document, key: Key) -> str:
    """The line that opens a table, as this file has to write it."""
    return f"[{dotted((*document.prefix, *key))}]"


def kind_of(value: Any) -> str:
    """What a value is, and not what it says: it may be a secret."""
    if isinstance(value, Mapping):
        return "a table"
    return "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a single value"
