"""From bytes to text: the declared encoding, else a byte-order mark, else UTF-8, else binary or Latin-1.

A byte-order mark stays in the text as its first character, so that text encodes back to the same bytes.
"""

from __future__ import annotations

import codecs
import re
from typing import IO, TYPE_CHECKING

from attrs import frozen

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF_8 = "utf-8"
LATIN_1 = "latin-1"

# The longer marks first: that of UTF-16 is the beginning of that of UTF-32.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Bytes that no text has: control characters but the ones for layout, and escape, which logs are full of.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CHUNK = 1 << 16


class BinaryContentError(DeepAgentsError):
    """The bytes are no text."""


@frozen
class Decoded:
    """A text, and what it was decoded with."""

    text: str
    codec: str


def source_encoding(codec: str) -> str | None:
    """What a result says about *codec*: nothing for UTF-8."""
    return None if codec == UTF_8 else codec


def candidates(head: bytes, declared: str | None = None) -> tuple[str, ...]:
    """Encodings to try, best first, by the first bytes of a file.

    Args:
        head: at least four bytes, if there are as many.
        declared: the only one to try, if given.
    """
    if declared:
        return (declared,)
    marked = next((codec for mark, codec in _MARKS if head.startswith(mark)), None)
    return (marked,) if marked and marked != UTF_8 else (UTF_8, LATIN_1)


def decode(content: bytes, declared: str | None = None) -> Decoded:
    """Decode a whole file.

    Raises:
        BinaryContentError: it is no text.
    """
    for codec in candidates(content[:4], declared):
        if codec == LATIN_1 and declared is None and _BINARY.search(content):
            break
        try:
            return Decoded(content.decode(codec), codec)
        except UnicodeDecodeError:
            continue
    raise BinaryContentError


def decoded_pieces(file: IO[bytes], codec: str, *, guessed: bool) -> Iterator[str]:
    """The text of a file from its start, piece by piece.

    Args:
        file: the file.
        codec: what to decode with.
        guessed: nobody declared the encoding, so control bytes in Latin-1 mean that it is no text.

    Raises:
        UnicodeDecodeError: it isn't the encoding.
        BinaryContentError: it is no text.
    """
    file.seek(0)
    decoder = codecs.getincrementaldecoder(codec)("strict")
    while chunk := file.read(_CHUNK):
        if guessed and codec == LATIN_1 and _BINARY.search(chunk):
            raise BinaryContentError
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)
