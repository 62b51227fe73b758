"""Which state a backend needs in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepagents_kernel.contracts.backend import BackendProtocol


def state_schema_of(backend: BackendProtocol) -> type[Any] | None:
    """The state schema that declares ``files``, if that is where the backend keeps them.

    Without it, a ``files`` key in the input of a run is dropped instead of being carried along unused.
    """
    from deepagents_builtin.backends.state.backend import StateBackend
    from deepagents_builtin.backends.state.files_state import FilesystemState

    return FilesystemState if isinstance(backend, StateBackend) else None
