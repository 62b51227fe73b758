r"""What a line is: it ends with ``\n``, ``\r\n`` or ``\r``, and with nothing else.

Readers, searches and edits share this, so that an offset and a line number mean the same everywhere.
"""

from __future__ import annotations

import re
import unicodedata

#: One line ending.
LINE_ENDING = re.compile(r"\r\n|\r|\n")

# Control, surrogate, private use, not assigned. Other format characters belong to words: joiners make Persian
# readable and families of emoji, a soft hyphen is a place to break.
_NOT_FOR_DISPLAY = frozenset({"Cc", "Cs", "Co", "Cn"})
# Embeddings, overrides and isolates make a line read otherwise than it is.
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def steers_display(char: str) -> bool:
    """Whether showing *char* could move the cursor or reorder the line, or means nothing to most."""
    if char.isprintable():
        return False
    return char in _REORDERING or unicodedata.category(char) in _NOT_FOR_DISPLAY


def to_lf(text: str) -> str:
    r"""*text* with ``\n`` for every line ending."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """The lines of *text* without their endings; an empty rest behind the last ending is no line."""
    lines = to_lf(text).split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def count_endings(text: str) -> int:
    """How many line endings there are."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
