"""The state key ``files``: its type, its reducer, and the channel that stores changes instead of copies."""

# No postponed annotations: LangGraph reads those of the state class.

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from langgraph.channels.delta import DeltaChannel

from deepagents_kernel.contracts.results import FileData

#: Updates of the key between two full copies in the checkpoints.
SNAPSHOT_FREQUENCY = 50


def merge_files(
    files: Mapping[str, FileData] | None, updates: Sequence[Mapping[str, FileData | None] | None]
) -> dict[str, FileData]:
    """Apply updates in order to a copy of *files*.

    Args:
        files: the files so far; ``None`` counts as none.
        updates: changed paths only; ``None`` in the place of a file removes it, whether or not it is there.
    """
    merged: dict[str, FileData] = dict(files or {})
    for update in updates:
        for path, file in (update or {}).items():
            if file is None:
                merged.pop(path, None)
            else:
                merged[path] = file
    return merged


class FilesystemState(AgentState[Any]):
    """Agent state with files; public, so they can be given in the input and read from the result."""

    files: Annotated[
        NotRequired[dict[str, FileData]], DeltaChannel(merge_files, snapshot_frequency=SNAPSHOT_FREQUENCY)
    ]
