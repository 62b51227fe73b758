"""What a model wrote, made into what a backend gets, or refused."""

from __future__ import annotations

from deepagents_builtin.middleware.filesystem.calls import RefusedError
from deepagents_kernel.files.file_data import unencodable_reason
from deepagents_kernel.files.paths import InvalidPathError, validate_path


def virtual_path(path: str) -> str:
    """The canonical spelling of a path.

    Raises:
        RefusedError: it is no path that any backend takes.
    """
    try:
        return validate_path(path)
    except InvalidPathError as error:
        raise RefusedError(str(error)) from error


def is_addressable(path: str) -> bool:
    """Whether a path that a backend gave leads to the same file when a model gives it back.

    A backslash in a name would be taken for a slash; backends also write one where they escape a character.
    """
    try:
        validate_path(path)
    except InvalidPathError:
        return False
    return "\\" not in path


def virtual_root(path: str | None) -> str | None:
    """The canonical spelling of a folder to search; ``None`` leaves the choice to the backend."""
    return None if path is None else virtual_path(path)


def file_target(path: str) -> str:
    """The canonical spelling of a path that must be a file's.

    Raises:
        RefusedError: it is no path, or it is the root.
    """
    target = virtual_path(path)
    if target == "/":
        msg = f"{path!r} is the root folder; give the path of a file"
        raise RefusedError(msg)
    return target


def check_text(**texts: str) -> None:
    """Refuse text that can't be stored.

    Raises:
        RefusedError: one of the arguments holds half a character; it is named.
    """
    for argument, text in texts.items():
        reason = unencodable_reason(text)
        if reason:
            msg = f"`{argument}` can't be stored: {reason}"
            raise RefusedError(msg)
