"""Rows and lines about profiles, as a terminal shows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.profiles.fields import FAILED
from deepagents_kernel.cli.table import pairs, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deepagents_kernel.cli.profiles.fields import Row

#: A text of a profile may be pages long: shown is how it begins. --json has all of it.
_LONGEST, _BEGINNING = 120, 72
_NARROWEST = 30
_HEADS = ("FIELD", "LAYER", "VALUE")


def row_lines(rows: Iterable[Row], width: int | None, *, layers: bool = True) -> Iterator[str]:
    """The lines of a table, in which the entries of one list of one layer stand together.

    Args:
        rows: the rows.
        width: columns of the terminal; ``None`` for as many as it takes.
        layers: whether the numbers of the layers are shown.
    """
    cells: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        cells.setdefault((row.field, row.layer), []).append(_shortened(row))
    if not cells:
        yield "  says nothing"
    elif layers:
        found = [(name, str(layer), ", ".join(texts)) for (name, layer), texts in cells.items()]
        for text in table(_HEADS, found, None if width is None else width - 2, fixed=2):
            yield f"  {text}"
    else:
        yield from pairs([(name, ", ".join(texts)) for (name, _), texts in cells.items()], width)


def _shortened(row: Row) -> str:
    value = row.value
    text = one_line(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text:
        return json.dumps(value)
    if len(text) <= _LONGEST or row.field == FAILED:
        return text
    return f"{text[:_BEGINNING].rstrip()} ... ({len(value if isinstance(value, str) else text):,} characters)"


def wrapped(text: str, width: int | None) -> Iterator[str]:
    """The lines of a text, indented; what does not fit goes on a little further in."""
    import textwrap

    inner = text.lstrip(" ")
    start = " " * (2 + len(text) - len(inner))
    room = None if width is None else max(width - len(start) - 2, _NARROWEST)
    lines = [inner] if room is None else textwrap.wrap(inner, room, break_on_hyphens=False) or [""]
    yield f"{start}{lines[0]}"
    yield from (f"{start}  {line}" for line in lines[1:])
