"""Tables of text that stay readable in a narrow terminal: nothing is cut, long cells go to the next line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP = "  "
_INDENT = "    "
_NO_BREAK = "\N{NO-BREAK SPACE}"
#: A cell that is longer than this does not widen its column for all other rows.
_WIDE = 60
#: A last column that is narrower than this is not worth having.
_NARROW = 24


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, *, fixed: int
) -> Iterator[str]:
    """The lines of a table.

    Args:
        heads: names of the columns.
        rows: the cells; a row of one cell is a heading, which is as wide as it likes.
        width: columns of the terminal; ``None`` for as many as it takes.
        fixed: how many columns stand side by side where not all have room; the others go to a line below.
    """
    full = [row for row in rows if len(row) > 1]
    sizes = [_size(column) for column in zip(heads, *full, strict=True)]
    start = sum(sizes[:-1]) + len(_GAP) * (len(sizes) - 1)
    if width is None or start + max(map(len, (heads[-1], *(row[-1] for row in full)))) <= width:
        room = None
    else:
        room = width - start
    if room is not None and room < _NARROW:
        yield from _stacked(heads, rows, sizes, width or 0, fixed)
        return
    for row in (heads, *rows):
        if len(row) == 1:
            yield row[0]
            continue
        lines = [row[-1]] if room is None else _wrapped(row[-1], room)
        yield _joined([*row[:-1], lines[0]], sizes)
        yield from (f"{'':{start}}{line}" for line in lines[1:])


def _size(column: Sequence[str]) -> int:
    return max((len(cell) for cell in column if len(cell) <= _WIDE), default=0)


def _stacked(
    heads: Sequence[str], rows: Sequence[Sequence[str]], sizes: Sequence[int], width: int, fixed: int
) -> Iterator[str]:
    while fixed > 1 and sum(sizes[:fixed]) + len(_GAP) * (fixed - 1) > width:
        fixed -= 1
    yield _joined(heads[:fixed], sizes)
    for row in rows:
        yield _joined(row[:fixed], sizes)
        rest = "; ".join(cell for cell in row[fixed:] if cell not in ("", "-"))
        if rest:
            yield from (f"{_INDENT}{line}" for line in _wrapped(rest, max(width, 40) - len(_INDENT)))


def _wrapped(text: str, width: int) -> list[str]:
    # Imported only where a line is too long: listings have to be fast.
    import textwrap

    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _joined(cells: Sequence[str], sizes: Sequence[int]) -> str:
    padded = [f"{cell:{size}}" for cell, size in zip(cells, sizes, strict=False)]
    return _GAP.join(padded).rstrip()


def pairs(rows: Sequence[tuple[str, str]], width: int | None, indent: str = "  ") -> Iterator[str]:
    """Lines with a label and what belongs to it; a label that comes again is not repeated.

    A no-break space in a text is a blank at which no line ends.
    """
    size = max((len(label) for label, _ in rows), default=0)
    start = f"{indent}{'':{size}}{_GAP}"
    last = ""
    for label, text in rows:
        head = f"{indent}{'' if label == last else label:{size}}{_GAP}"
        last = label
        room = None if width is None else max(width - len(start), 30)
        lines = [text] if room is None else _wrapped(text, room)
        yield f"{head}{lines[0]}".replace(_NO_BREAK, " ").rstrip()
        yield from (f"{start}{line}".replace(_NO_BREAK, " ") for line in lines[1:])
