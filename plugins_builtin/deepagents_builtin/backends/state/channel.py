"""The one place that touches LangGraph's private read and send functions.

They are what lets a tool write a file and read it back in the same step: a write is queued as an update of
the running task, and a fresh read applies what the task has queued so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph._internal._constants import CONF, CONFIG_KEY_READ, CONFIG_KEY_SEND
from langgraph.config import get_config

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepagents_kernel.contracts.results import FileData

FILES_KEY = "files"


class OutsideGraphError(DeepAgentsError, RuntimeError):
    """Files in state were used where no graph node is running, or in a graph without the key.

    Attributes:
        reason: what is missing.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"files in state are out of reach: {reason}\n"
            "  use the backend from a tool, a middleware or a node; to have files there before a run, "
            f'put them under the key "{FILES_KEY}" of its input'
        )


def _from_config(key: str) -> Callable[..., Any]:
    try:
        config = get_config()
    except RuntimeError:
        raise OutsideGraphError("no graph is running in this context") from None
    found: Callable[..., Any] | None = config.get(CONF, {}).get(key)
    if found is None:
        raise OutsideGraphError("this code runs in a runnable, but in no node of a graph")
    return found


def read_files() -> dict[str, FileData]:
    """The files as the running task sees them, its own unfinished writes included. Don't change what you get.

    Raises:
        OutsideGraphError: no graph node is running, or its state has no files.
    """
    read = _from_config(CONFIG_KEY_READ)
    try:
        files: dict[str, FileData] | None = read(FILES_KEY, fresh=True)
    except KeyError:
        raise OutsideGraphError(
            f'the state of this graph has no key "{FILES_KEY}"; use FilesystemState'
        ) from None
    return files or {}


def send_files(update: Mapping[str, FileData | None]) -> None:
    """Queue changed files as an update of the running task; ``None`` removes one.

    Raises:
        OutsideGraphError: no graph node is running.
    """
    _from_config(CONFIG_KEY_SEND)([(FILES_KEY, dict(update))])
