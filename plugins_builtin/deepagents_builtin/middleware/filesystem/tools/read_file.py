"""``read_file``: a window of lines of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem.calls import BackendCall, Steps, Tool
from deepagents_builtin.middleware.filesystem.rendering import render_read
from deepagents_builtin.middleware.filesystem.schemas import read_file_schema
from deepagents_builtin.middleware.filesystem.targets import file_target
from deepagents_kernel.files.types_by_suffix import read_type
from deepagents_kernel.files.windows import slice_read_response

if TYPE_CHECKING:
    from deepagents_builtin.middleware.filesystem.workspace import Workspace
    from deepagents_kernel.contracts.results import ReadResult


def steps(workspace: Workspace, *, file_path: str, offset: int, limit: int) -> Steps:
    """Read a window of a file."""
    path = file_target(file_path)
    answer: ReadResult = yield BackendCall("read", (path, max(offset, 0), limit))
    result = _windowed(answer, path, offset, limit)
    return render_read(result, file_path=path, offset=offset, limit=limit, budget=workspace.read_char_limit)


def _windowed(result: ReadResult, path: str, offset: int, limit: int) -> ReadResult:
    # A file named like an image or a video comes whole; if it is text, it is paged like any other.
    if result.file_data is None or result.start_line is not None or read_type(path) == "text":
        return result
    return slice_read_response(result.file_data, offset, limit)


READ_FILE = Tool(
    name="read_file", schema=lambda workspace: read_file_schema(workspace.read_limit), steps=steps
)
