"""One way to spell a path, and the names that are refused everywhere.

A canonical path is absolute, has ``/`` between components and no empty, ``.`` or ``..`` component; the root
is ``/``. :func:`canonical_path` is what backends apply; :func:`validate_path` is the stricter door for paths
that a model wrote.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_COMPONENT_BYTES = 255
MAX_PATH_BYTES = 4096
_SHOWN_CHARACTERS = 200

# C0, DEL and C1, and the two Unicode separators: each of them breaks a listing or a log line.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DRIVE = re.compile(r"^[A-Za-z]:")


class InvalidPathError(DeepAgentsError, ValueError):
    """A path that no backend takes.

    Attributes:
        path: the path as it was given.
        reason: what is wrong with it.
    """

    def __init__(self, path: object, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"Path {show_path(path)}: {reason}")


def show_path(path: object) -> str:
    """A path in quotes for an error text: printable, encodable, of bounded length."""
    text = str(path)
    return f"'{printable(text if len(text) <= _SHOWN_CHARACTERS else f'{text[:_SHOWN_CHARACTERS]}...')}'"


def printable(name: str) -> str:
    """*name* with whatever can't be printed or encoded escaped, so that it stays on its line."""
    escaped = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", name)
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def to_posix_path(path: str) -> str:
    """*path* with every backslash turned into a slash."""
    return path.replace("\\", "/")


def check_name(path: str) -> None:
    """Refuse what can't be a name on any backend.

    Raises:
        InvalidPathError: a NUL or another control character, half a surrogate pair, or too long a name.
    """
    if not isinstance(path, str):
        raise InvalidPathError(path, f"a path is text, not {type(path).__name__}")
    found = _CONTROL.search(path)
    if found:
        raise InvalidPathError(path, f"a path can't hold the control character U+{ord(found[0]):04X}")
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(path[error.start]):04X}"
        raise InvalidPathError(path, f"a path can't hold half a character (lone surrogate {half})") from None
    if len(encoded) > MAX_PATH_BYTES:
        raise InvalidPathError(path, f"the path is longer than {MAX_PATH_BYTES} bytes")
    if len(encoded) > MAX_COMPONENT_BYTES and any(
        len(part) > MAX_COMPONENT_BYTES for part in encoded.split(b"/")
    ):
        raise InvalidPathError(path, f"a name in it is longer than {MAX_COMPONENT_BYTES} bytes")


def path_parts(path: str) -> tuple[str, ...]:
    """The components of a path; none for the root.

    Raises:
        InvalidPathError: a refused name, or a ``..`` component.
    """
    check_name(path)
    return _components(path, given=path)


def _components(path: str, *, given: str) -> tuple[str, ...]:
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if ".." in parts:
        raise InvalidPathError(given, "'..' is not allowed; write the path from the root")
    return parts


def canonical_path(path: str | None) -> str:
    """The one spelling of *path*; ``None`` and an empty text are the root.

    Raises:
        InvalidPathError: a refused name, or a ``..`` component.
    """
    return "/" + "/".join(path_parts(path or "/"))


def validate_path(path: str, *, allowed_prefixes: Sequence[str] | None = None) -> str:
    """The canonical spelling of a path that a model or a user wrote.

    Backslashes count as slashes; ``..`` components, a leading ``~`` and drive letters are refused.

    Args:
        path: the path.
        allowed_prefixes: directories one of which must hold the path; an empty list allows nothing.

    Raises:
        InvalidPathError: the path is refused.
    """
    check_name(path)
    posix = to_posix_path(path)
    if posix.startswith("~"):
        raise InvalidPathError(path, "'~' is not expanded here; write the path from the root")
    if _DRIVE.match(posix):
        raise InvalidPathError(
            path, "drive letters are not supported; write the path from the root, as in '/src/a.py'"
        )
    canonical = "/" + "/".join(_components(posix, given=path))
    if allowed_prefixes is not None and not any(is_within(canonical, prefix) for prefix in allowed_prefixes):
        raise InvalidPathError(
            path, f"must be below one of: {', '.join(map(str, allowed_prefixes)) or '(nothing)'}"
        )
    return canonical


def is_within(path: str, directory: str) -> bool:
    """Whether a canonical path is *directory* or lies below it, compared by component."""
    base = directory.rstrip("/")
    return path == (base or "/") or path.startswith(f"{base}/")
