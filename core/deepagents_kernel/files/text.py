r"""What a line is: it ends with ``\n``, ``\r\n`` or ``\r``, and with nothing else.

Readers, searches and edits share this, so that an offset and a line number mean the same everywhere.
"""

from __future__ import annotations

import re

#: One line ending.
LINE_ENDING = re.compile(r"\r\n|\r|\n")


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
