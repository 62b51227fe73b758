"""Files as values: making, changing, measuring and decoding ``FileData``."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from deepagents_kernel.contracts.results import FileData

#: Larger videos are not read.
MAX_VIDEO_INPUT_BYTES = 1_073_741_824


class MalformedFileError(DeepAgentsError, TypeError):
    """Stored file data whose content is neither text nor a list of lines.

    Attributes:
        found: name of the type that was found instead.
    """

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(f"file content must be text or a list of lines, not {found}")


def utc_now() -> str:
    """The present time in UTC, as ISO 8601 with offset."""
    return dt.datetime.now(dt.UTC).isoformat()


def create_file_data(content: str, created_at: str | None = None, encoding: str = "utf-8") -> FileData:
    """A new file; both timestamps are now unless *created_at* is given.

    Args:
        content: text, or base64 when *encoding* says so.
        created_at: when it was first written.
        encoding: ``utf-8`` or ``base64``.
    """
    now = utc_now()
    return {"content": content, "encoding": encoding, "created_at": created_at or now, "modified_at": now}


def update_file_data(file_data: FileData, content: str) -> FileData:
    """*file_data* with new content: encoding and ``created_at`` stay, ``modified_at`` is now."""
    updated: FileData = {
        "content": content,
        "encoding": file_data.get("encoding") or "utf-8",
        "modified_at": utc_now(),
    }
    if "created_at" in file_data:
        updated["created_at"] = file_data["created_at"]
    return updated


def file_data_to_string(file_data: FileData | Mapping[str, Any]) -> str:
    """The stored content as one text; a list of lines, as older files have it, is joined.

    Raises:
        MalformedFileError: the content is something else.
    """
    if not isinstance(file_data, Mapping):
        raise MalformedFileError(type(file_data).__name__)
    content: Any = file_data.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise MalformedFileError(type(content).__name__)
    strange = {type(line).__name__ for line in content if not isinstance(line, str)}
    if strange:
        raise MalformedFileError(f"a list holding {', '.join(sorted(strange))}")
    return "\n".join(content)


def file_data_to_bytes(file_data: FileData) -> bytes:
    """The bytes that the file stands for.

    Raises:
        MalformedFileError: the content is not text, or is marked as base64 and isn't.
    """
    content = file_data_to_string(file_data)
    if file_data.get("encoding") != "base64":
        return content.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedFileError("text that is no base64") from None


def bytes_to_file_data(content: bytes, created_at: str | None = None) -> FileData:
    """A file of *content*: as text where it is UTF-8, else as base64."""
    try:
        return create_file_data(content.decode(), created_at)
    except UnicodeDecodeError:
        return create_file_data(base64.b64encode(content).decode("ascii"), created_at, "base64")


def file_size(file_data: FileData) -> int:
    """Size in bytes, of the decoded content for binary files, without encoding or decoding it."""
    content = file_data_to_string(file_data)
    if file_data.get("encoding") == "base64":
        return len(content) // 4 * 3 - content[-2:].count("=")
    return len(content) if content.isascii() else len(content.encode("utf-8", "surrogatepass"))


def unencodable_reason(content: str) -> str | None:
    """Why a text can't be stored as UTF-8; ``None`` when it can."""
    if content.isascii():
        return None
    try:
        content.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(content[error.start]):04X}"
        return f"the text holds half a character (lone surrogate {half}) at position {error.start}"
    return None
