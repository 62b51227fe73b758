"""``ls``: the direct children of one folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.calls import BackendCall, Steps, Tool
from deepagents_builtin.middleware.filesystem.listing import render_paths, unaddressable_note
from deepagents_builtin.middleware.filesystem.results import refusal, success, with_notes
from deepagents_builtin.middleware.filesystem.schemas import LsSchema
from deepagents_builtin.middleware.filesystem.targets import virtual_path

if TYPE_CHECKING:
    from deepagents_builtin.middleware.filesystem.workspace import Workspace
    from deepagents_kernel.contracts.results import FileInfo, LsResult


def steps(workspace: Workspace, *, path: str) -> Steps:
    """List one folder."""
    result: LsResult = yield BackendCall("ls", (virtual_path(path),))
    if result.error is not None and not result.entries:
        return refusal(result.error)
    paths = [_shown(entry) for entry in result.entries or ()]
    listing = render_paths(paths, workspace.list_char_limit)
    # One broken entry must not hide the others.
    note = constants.LS_PARTIAL_NOTE.format(error=result.error) if result.error is not None else ""
    return success(with_notes(listing, unaddressable_note(paths), note))


def _shown(entry: FileInfo) -> str:
    path = entry["path"]
    return f"{path}/" if entry.get("is_dir") and not path.endswith("/") else path


LS = Tool(name="ls", schema=lambda _: LsSchema, steps=steps)
