"""What a configuration may say about plugins, wherever it stands, and how an error names its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deepagents_kernel.plugins.names import PLUGIN_NAME

#: Keys of ``[plugins]`` that hold a list of names.
LISTS = ("enable", "disable", "allow", "required")
#: Keys of ``[plugins]`` that are true or false.
FLAGS = ("autoload", "strict")
#: Every key of ``[plugins]``.
SWITCH_KEYS = (*LISTS, *FLAGS, "lock")
#: The lock file that ``lock = true`` stands for.
LOCK_FILE = "deepagents.lock"
#: Nested deeper than this is no setting, and would exhaust the stack of whoever looks at it.
DEEPEST = 50

_WORDS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_SEPARATORS = re.compile(r"[,\s]")


def flag_word(text: str) -> bool | None:
    """What a word for yes or no means; ``None`` for any other text."""
    return _WORDS.get(text.strip().lower())


def flag_words() -> str:
    """The words for yes and no, for an error text."""
    return ", ".join(_WORDS)


def name_fault(name: str) -> str:
    """What keeps *name* from being one name in a list, or an empty string."""
    if not name:
        return "a name is empty"
    if _SEPARATORS.search(name):
        return f"{described(name)} is not one name"
    return ""


def is_kind(word: str) -> bool:
    """Whether *word* is a kind of plugin, the part of a name before the dot."""
    return PLUGIN_NAME.fullmatch(f"{word}.x") is not None


def too_deep(value: Any, left: int = DEEPEST) -> bool:
    """Whether mappings and lists stand in each other more than *left* times."""
    if not isinstance(value, (Mapping, list)):
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return left == 0 or any(too_deep(item, left - 1) for item in items)


def described(value: Any) -> str:
    """A value of ``[plugins]`` in an error text, short; settings are never shown, they may be secret."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
