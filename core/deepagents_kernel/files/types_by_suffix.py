"""What kind of file a path names, by its last suffix."""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

FileType = Literal["text", "image", "video", "audio", "file"]

_SUFFIXES: dict[FileType, str] = {
    "image": ".png .jpeg .jpg .webp .gif .heic .heif",
    "video": ".mp4 .mpeg .mov .avi .flv .mpg .webm .wmv .3gpp",
    "audio": ".wav .mp3 .aiff .aac .ogg .flac",
    "file": ".pdf .ppt .pptx",
}

#: Suffix to type, for everything that is not text.
TYPE_BY_SUFFIX: Mapping[str, FileType] = MappingProxyType(
    {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
)


def file_type(path: str) -> FileType:
    """The type of a file by its name alone; a dotfile such as ``.png`` has no suffix and is text."""
    return TYPE_BY_SUFFIX.get(posixpath.splitext(path)[1].lower(), "text")


def read_type(path: str) -> FileType:
    """The type that decides how a file is read.

    Matroska containers count as video here, though the table leaves them out: cut into lines or decoded as
    text they would be garbage.
    """
    return "video" if posixpath.splitext(path)[1].lower() == ".mkv" else file_type(path)
