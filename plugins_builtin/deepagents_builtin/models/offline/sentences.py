r"""Which sentences of a part are the most informative: a rule that anybody can recompute.

*Part*: the text files that one reader has read. A file is its lines as ``read_file`` shows them.

*Word*: a run of at least four letters (``[^\W\d_]{4,}``), case-folded.

*Sentence*: lines are stripped of blanks, tabs and ``#>*-/"'`` at both ends. A blank line, or a heading (see
``reading.py``), ends what is open, and so does the end of the file. Else the stripped line is cut behind each
``.``, ``!`` or ``?`` that white space follows, and its pieces are appended to what is open, with one blank in
between; a piece that ends with ``.``, ``!`` or ``?`` completes a sentence. What is ended before that is
dropped. A sentence counts if it has 30 to 300 characters, at least five different words and none of
``{}=;`` and the backquote. Its line is the one in which it begins.

*Score*: the mean, over the different words *w* of the sentence, of ``(1 + tf / top) * ln(1 + n / df)``,
rounded to four decimals. *tf* is how often the file has *w*, *top* how often it has its most frequent word,
*df* how many files of the part have *w*, *n* how many files the part has.

*Order*: highest score first, then path, then line, then place in the line. Of sentences with the same text
only the first in this order counts. The first ``TOP`` are reported.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.models.offline.reading import heading_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: How many sentences of a part are reported.
TOP = 10

_WORD = re.compile(r"[^\W\d_]{4,}")
_BEHIND_END = re.compile(r"(?<=[.!?])\s+")
_STRIPPED = " \t#>*-/\"'"
_CODE = frozenset("{}=;`")


@frozen
class Sentence:
    """A sentence of a file; ``score`` is 0 until it is ranked."""

    path: str
    line: int
    text: str
    score: float = 0.0


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    return _WORD.findall(text.casefold())


def sentences_of(path: str, lines: Sequence[str]) -> Iterator[Sentence]:
    """The sentences of a file that count, in order."""
    headings = frozenset(number for number, _ in heading_lines(path, lines))
    pieces: list[str] = []
    start = 0
    for number, line in enumerate(lines, 1):
        stripped = "" if number in headings else line.strip(_STRIPPED)
        if not stripped:
            pieces = []
            continue
        for piece in _BEHIND_END.split(stripped):
            start = start if pieces else number
            pieces.append(piece)
            if piece.endswith((".", "!", "?")):
                text = " ".join(pieces)
                pieces = []
                if _counts(text):
                    yield Sentence(path, start, text)


def rank(files: Mapping[str, Sequence[str]], count: int = TOP) -> tuple[Sentence, ...]:
    """The most informative sentences of a part, best first.

    Args:
        files: the lines of each file, by path.
        count: how many to return at most.
    """
    frequency = {
        path: Counter(word for line in lines for word in words(line)) for path, lines in files.items()
    }
    spread = Counter(word for counts in frequency.values() for word in counts)
    scored: list[Sentence] = []
    for path in sorted(files):
        counts = frequency[path]
        top = max(counts.values(), default=1)
        for found in sentences_of(path, files[path]):
            score = _score(found.text, counts, top, spread, len(files))
            scored.append(Sentence(path, found.line, found.text, score))
    first: dict[str, Sentence] = {}
    for sentence in sorted(scored, key=lambda item: (-item.score, item.path, item.line)):
        first.setdefault(sentence.text, sentence)
    return tuple(first.values())[:count]


def _counts(text: str) -> bool:
    return 30 <= len(text) <= 300 and _CODE.isdisjoint(text) and len(set(words(text))) >= 5


def _score(text: str, frequency: Mapping[str, int], top: int, spread: Mapping[str, int], files: int) -> float:
    # A sentence can join lines, never words: each of its words is a word of the file.
    distinct = sorted(set(words(text)))
    weights = [(1 + frequency[word] / top) * math.log(1 + files / spread[word]) for word in distinct]
    return round(math.fsum(weights) / len(distinct), 4)
