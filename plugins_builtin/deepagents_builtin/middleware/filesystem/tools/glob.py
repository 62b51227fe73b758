"""``glob``: files by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.calls import BackendCall, Steps, Tool
from deepagents_builtin.middleware.filesystem.listing import ignored_note, render_paths, unaddressable_note
from deepagents_builtin.middleware.filesystem.results import refusal, success, with_notes
from deepagents_builtin.middleware.filesystem.schemas import GlobSchema
from deepagents_builtin.middleware.filesystem.targets import virtual_root

if TYPE_CHECKING:
    from deepagents_builtin.middleware.filesystem.workspace import Workspace
    from deepagents_kernel.contracts.results import GlobResult


def steps(workspace: Workspace, *, pattern: str, path: str | None) -> Steps:
    """Find files by name."""
    result: GlobResult = yield BackendCall(
        "glob", (pattern, virtual_root(path)), deadline=workspace.glob_deadline
    )
    if result.error is not None:
        return refusal(result.error)
    paths = [match["path"] for match in result.matches or ()]
    listing = render_paths(paths, workspace.list_char_limit)
    notes = (unaddressable_note(paths), _truncation_note(result), ignored_note(result.ignored))
    return success(with_notes(listing, *notes))


def _truncation_note(result: GlobResult) -> str:
    if not result.truncated:
        return ""
    if result.truncation_reason == "unreadable":
        return constants.GLOB_UNREADABLE_NOTE
    return constants.GLOB_TRUNCATION_NOTE


GLOB = Tool(name="glob", schema=lambda _: GlobSchema, steps=steps)
