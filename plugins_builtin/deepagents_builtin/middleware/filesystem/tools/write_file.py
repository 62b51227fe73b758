"""``write_file``: create a file, or replace all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem.calls import BackendCall, Steps, Tool
from deepagents_builtin.middleware.filesystem.results import failure, success
from deepagents_builtin.middleware.filesystem.schemas import WriteFileSchema
from deepagents_builtin.middleware.filesystem.targets import check_text, file_target

if TYPE_CHECKING:
    from deepagents_builtin.middleware.filesystem.workspace import Workspace
    from deepagents_kernel.contracts.results import WriteResult


def steps(workspace: Workspace, *, file_path: str, content: str) -> Steps:  # noqa: ARG001 - the signature of every tool
    """Write a file."""
    path = file_target(file_path)
    check_text(content=content)
    result: WriteResult = yield BackendCall("write", (path, content))
    if result.error is not None:
        return failure(result.error)
    return success(f"Updated file {result.path or path}")


WRITE_FILE = Tool(name="write_file", schema=lambda _: WriteFileSchema, steps=steps, writes=True)
