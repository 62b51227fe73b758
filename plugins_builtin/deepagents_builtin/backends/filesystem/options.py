"""What can be set in a backend string: ``filesystem:./work?max_file_size_mb=20``."""

from __future__ import annotations

import codecs
from typing import Any, Literal

from attrs import Attribute, field, frozen, validators

DURABILITIES = ("rename", "fsync")


def _known_encoding(_instance: object, attribute: Attribute[Any], value: str) -> None:
    try:
        codecs.lookup(value or "utf-8")
    except LookupError:
        raise ValueError(
            f"{attribute.name}: Python knows no encoding {value!r}; usual ones are utf-8, latin-1"
        ) from None


@frozen
class FilesystemOptions:
    """Options of the filesystem backend.

    Attributes:
        max_file_size_mb: larger files are not searched.
        include_ignored: search what ``.gitignore`` and the built-in ignore rule would pass over.
        durability: ``rename`` leaves it to the system when a write reaches the disk, ``fsync`` waits for it.
        encoding: encoding of every text file; empty to detect it file by file.
    """

    max_file_size_mb: int = field(default=10, validator=validators.ge(0))
    include_ignored: bool = False
    durability: Literal["rename", "fsync"] = field(default="rename", validator=validators.in_(DURABILITIES))
    encoding: str = field(default="", validator=_known_encoding)
