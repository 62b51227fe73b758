"""``edit_file``: replace exact text in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.calls import BackendCall, RefusedError, Steps, Tool
from deepagents_builtin.middleware.filesystem.near_miss import near_miss
from deepagents_builtin.middleware.filesystem.results import failure, success, with_notes
from deepagents_builtin.middleware.filesystem.schemas import EditFileSchema
from deepagents_builtin.middleware.filesystem.targets import check_text, file_target
from deepagents_kernel.files.file_data import file_data_to_string
from deepagents_kernel.files.text import to_lf

if TYPE_CHECKING:
    from collections.abc import Generator

    from deepagents_builtin.middleware.filesystem.workspace import Workspace
    from deepagents_kernel.contracts.results import EditResult, ReadResult


def steps(
    workspace: Workspace,  # noqa: ARG001 - the signature of every tool
    *,
    file_path: str,
    old_string: str,
    new_string: str,
    replace_all: bool,
) -> Steps:
    """Edit a file; when the text isn't there, say what is nearly the same."""
    path = file_target(file_path)
    check_text(old_string=old_string, new_string=new_string)
    if old_string == new_string:
        msg = "`old_string` and `new_string` are the same: there is nothing to change"
        raise RefusedError(msg)
    result: EditResult = yield BackendCall("edit", (path, old_string, new_string, replace_all))
    if result.error is not None:
        hint = yield from _near_miss(path, old_string)
        return failure(with_notes(result.error, hint))
    count = result.occurrences
    places = "text" if count is None else f"{count} occurrence{'' if count == 1 else 's'}"
    return success(f"Replaced {places} in {result.path or path}")


def _near_miss(path: str, old_string: str) -> Generator[BackendCall, Any, str]:
    # The backend has said why; whatever happens here must not hide it.
    try:
        result: ReadResult = yield BackendCall("read", (path, 0, constants.NEAR_MISS_LINES))
    except Exception:
        return ""
    if result.error is not None or result.file_data is None or result.file_data.get("encoding") == "base64":
        return ""
    return near_miss(to_lf(file_data_to_string(result.file_data)), to_lf(old_string))


EDIT_FILE = Tool(name="edit_file", schema=lambda _: EditFileSchema, steps=steps, writes=True)
