"""Why an edit found nothing, when only the whitespace is different.

The file and the text looked for are compared without any whitespace. Where they agree, the gaps between the
same two characters tell what differs: a tab for four blanks, blanks at the end of a line, a blank line too
many.
"""

from __future__ import annotations

import bisect
import itertools
import re

from attrs import frozen

_INK = re.compile(r"\S+")


@frozen
class _Gap:
    """Whitespace at one place: in the file, and in the text that was looked for."""

    line: int
    there: str
    wanted: str


def near_miss(content: str, wanted: str) -> str:
    r"""A hint about the place in *content* that differs from *wanted* in whitespace only.

    Args:
        content: text of the file, with ``\n`` as line ending.
        wanted: the text that wasn't found, with the same.

    Returns:
        One or two sentences; empty when there is no such place, or when *wanted* is there as it is.
    """
    if wanted in content:
        return ""
    needle = "".join(_INK.findall(wanted))
    spans = [found.span() for found in _INK.finditer(content)]
    ink = "".join(content[start:end] for start, end in spans)
    at = ink.find(needle) if needle else -1
    if at < 0:
        return ""
    begins = list(itertools.accumulate((end - start for start, end in spans), initial=0))

    def place(index: int) -> int:
        piece = bisect.bisect_right(begins, index) - 1
        return spans[piece][0] + index - begins[piece]

    start, end = place(at), place(at + len(needle) - 1) + 1
    gaps = [gap for gap in _gaps(content, start, end, wanted) if gap.there != gap.wanted]
    return _hint(gaps, ink.count(needle)) if gaps else ""


def _gaps(content: str, start: int, end: int, wanted: str) -> list[_Gap]:
    lead = wanted[: len(wanted) - len(wanted.lstrip())]
    trail = wanted[len(wanted.rstrip()) :]
    before = _leading(content[len(content[:start].rstrip()) : start], lead)
    after = _trailing(content[end : end + len(content[end:]) - len(content[end:].lstrip())], trail)
    line = content.count("\n", 0, start) + 1
    gaps = [_Gap(line - before.count("\n"), before, lead)]
    gaps += _inner_gaps(content[start:end], wanted.strip(), line)
    if not (trail == "\n" and end == len(content)):
        # Only the final newline of the file is missing there, and the error itself says so.
        gaps.append(_Gap(content.count("\n", 0, end) + 1, after, trail))
    return gaps


def _leading(found: str, wanted: str) -> str:
    """The end of *found* to compare with *wanted*: as many lines, and no more of the first than is needed."""
    lines = wanted.split("\n")
    there = found.split("\n")[-len(lines) :]
    if len(there) == len(lines) and there[0].endswith(lines[0]):
        there[0] = lines[0]
    return "\n".join(there)


def _trailing(found: str, wanted: str) -> str:
    """The start of *found* to compare with *wanted*: as many lines, no more of the last than is needed."""
    lines = wanted.split("\n")
    there = found.split("\n")[: len(lines)]
    if len(there) == len(lines) and there[-1].startswith(lines[-1]):
        there[-1] = lines[-1]
    return "\n".join(there)


def _inner_gaps(there: str, wanted: str, line: int) -> list[_Gap]:
    gaps = []
    i = j = 0
    while i < len(there) and j < len(wanted):
        here, mine = _blank(there, i), _blank(wanted, j)
        if here or mine:
            gaps.append(_Gap(line, here, mine))
            line += here.count("\n")
            i, j = i + len(here), j + len(mine)
        else:
            i, j = i + 1, j + 1
    return gaps


def _blank(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return text[start:end]


def _hint(gaps: list[_Gap], places: int) -> str:
    first = gaps[0]
    others = f", and {len(gaps) - 1} more like this" if len(gaps) > 1 else ""
    many = f" (the first of {places} such places)" if places > 1 else ""
    return f"Nearly the same text is there{many}, only its whitespace differs: {_difference(first)}{others}."


def _difference(gap: _Gap) -> str:
    there, wanted = gap.there.split("\n"), gap.wanted.split("\n")
    if len(there) != len(wanted):
        left, right = (
            name(part[0]) if len(part) == 1 else _breaks(len(part) - 1) for part in (there, wanted)
        )
        return f"at line {gap.line} the file has {left}, old_string has {right}"
    last = len(there) - 1
    number = next(index for index in range(last + 1) if there[index] != wanted[index])
    left, right = name(there[number]), name(wanted[number])
    return f"line {gap.line + number} {_verb(number, last)} {left} in the file, {right} in old_string"


def _verb(number: int, last: int) -> str:
    """What the whitespace is to its line: of the lines of a gap, the first ends and the last begins one."""
    if last == 0:
        return "has"
    if number == 0:
        return "ends with"
    return "is indented by" if number == last else "consists of"


def _breaks(count: int) -> str:
    return f"{count} line break{'' if count == 1 else 's'}"


def name(blank: str) -> str:
    """Whitespace in words: ``1 tab and 2 spaces``, or ``nothing``."""
    words = {" ": "space", "\t": "tab"}
    runs = [
        (words.get(char, f"U+{ord(char):04X}"), len(list(group))) for char, group in itertools.groupby(blank)
    ]
    return " and ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in runs) or "nothing"
