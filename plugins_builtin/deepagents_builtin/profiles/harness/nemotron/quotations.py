"""Where a text quotes: code fences, inline code, and lines that begin with ``>``.

The calls in the text are known before: a value in one may have any of these signs in it, and they count for
nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deepagents_builtin.profiles.harness.nemotron.textual_calls import TextualCall

Span = tuple[int, int]

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})", re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[ \t]{0,8}>.*$", re.MULTILINE)
_TICKS = re.compile(r"`+")


def quoted_spans(text: str, calls: Iterable[TextualCall] = ()) -> list[Span]:
    """The parts of a text that quote.

    Args:
        text: the text.
        calls: calls in it; what stands within one opens and closes no quotation.

    Returns:
        Start and end of each part, in order; some may overlap.
    """
    plain = _without_insides(text, calls)
    fences = _fences(plain)
    return sorted([*fences, *_inline(plain, fences), *(line.span() for line in _QUOTED_LINE.finditer(plain))])


def _without_insides(text: str, calls: Iterable[TextualCall]) -> str:
    parts, place = [], 0
    for call in calls:
        parts += [text[place : call.start], "x" * (call.end - call.start)]
        place = call.end
    return "".join([*parts, text[place:]])


def _fences(text: str) -> list[Span]:
    spans: list[Span] = []
    opened: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        if opened is None:
            opened = mark
        elif mark[1].startswith(opened[1]):
            spans.append((opened.start(), mark.end()))
            opened = None
    # One that is left open goes on to the end.
    return spans if opened is None else [*spans, (opened.start(), len(text))]


def _inline(text: str, fences: Sequence[Span]) -> list[Span]:
    runs = [run for run in _TICKS.finditer(text) if not inside(run.start(), fences)]
    # From the last to the first: which is the next run of this length, seen from here.
    following: dict[int, re.Match[str]] = {}
    closing: list[re.Match[str] | None] = []
    for run in reversed(runs):
        closing.append(following.get(len(run[0])))
        following[len(run[0])] = run
    spans: list[Span] = []
    place = 0
    for run, end in zip(runs, reversed(closing), strict=True):
        # Code ends with its paragraph at the latest.
        if run.start() >= place and end is not None and text.find("\n\n", run.end(), end.start()) < 0:
            spans.append((run.start(), end.end()))
            place = end.end()
    return spans


def inside(place: int, spans: Sequence[Span]) -> bool:
    """Whether a place of the text is in one of the spans.

    Args:
        place: the place.
        spans: start and end of each, in order.
    """
    return any(start <= place < end for start, end in spans[: bisect_right(spans, (place, place + 1))])
