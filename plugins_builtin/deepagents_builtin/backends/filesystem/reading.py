"""Reading one open file: a window of its lines in bounded memory, or all of it as base64."""

from __future__ import annotations

import base64
import contextlib
import os
import stat
from typing import IO, TYPE_CHECKING

from deepagents_builtin.backends.filesystem.decoding import (
    BinaryContentError,
    candidates,
    decoded_pieces,
    source_encoding,
)
from deepagents_builtin.backends.filesystem.listing import timestamp
from deepagents_kernel.contracts.results import FileData, ReadResult
from deepagents_kernel.files.file_data import MAX_VIDEO_INPUT_BYTES
from deepagents_kernel.files.paths import show_path
from deepagents_kernel.files.types_by_suffix import read_type
from deepagents_kernel.files.windows import LineWindow

if TYPE_CHECKING:
    from deepagents_builtin.backends.filesystem.confinement import Place

#: Largest image, audio file or document that is read.
MAX_MEDIA_BYTES = 64 * 1024 * 1024
#: Largest file that is read as base64 because it turned out to be no text.
MAX_BINARY_BYTES = 512_000


def read_place(place: Place, path: str, bounds: tuple[int, int], declared: str | None) -> ReadResult:
    """Read the file at a place.

    Args:
        place: where it is.
        path: what it is called in results.
        bounds: offset and limit.
        declared: its encoding, if one was declared.

    Raises:
        OSError: it can't be opened or read.
    """
    found = place.lstat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        raise FileNotFoundError  # folders, pipes and the like are no files
    with os.fdopen(place.open_file(), "rb") as file:
        facts = os.fstat(file.fileno())
        stored: FileData = {"content": "", "encoding": "utf-8", "modified_at": timestamp(facts.st_mtime)}
        kind = read_type(path)
        if kind != "text":
            most = MAX_VIDEO_INPUT_BYTES if kind == "video" else MAX_MEDIA_BYTES
            return _whole(file, stored, facts.st_size, most, f"{show_path(path)} is too large to read")
        for codec in candidates(file.read(4), declared):
            with contextlib.suppress(UnicodeDecodeError):
                try:
                    return _window(file, stored, bounds, codec, guessed=declared is None)
                except BinaryContentError:
                    break
        return _whole(file, stored, facts.st_size, MAX_BINARY_BYTES, f"{show_path(path)} is binary, not text")


def _window(
    file: IO[bytes], stored: FileData, bounds: tuple[int, int], codec: str, *, guessed: bool
) -> ReadResult:
    window = LineWindow(*bounds)
    for piece in decoded_pieces(file, codec, guessed=guessed):
        window.feed(piece)
        if window.settled:
            break
    return window.result(stored, source_encoding=source_encoding(codec))


def _whole(file: IO[bytes], stored: FileData, size: int, most: int, refusal: str) -> ReadResult:
    if size > most:
        return ReadResult(error=f"File {refusal}: it has {size} bytes, and at most {most} are read")
    file.seek(0)
    content = base64.b64encode(file.read()).decode("ascii")
    return ReadResult(file_data={**stored, "content": content, "encoding": "base64"})
