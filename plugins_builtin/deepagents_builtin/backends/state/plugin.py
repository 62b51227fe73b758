"""The plugin ``backend.state``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.contracts.backend_spec import BackendSpec
from deepagents_kernel.errors import BackendSpecError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_builtin.backends.state.backend import StateBackend

PLUGIN = PluginInfo(summary="Files in the agent's state: one thread sees them, nothing touches a disk.")


def make_backend(place: str, options: Any) -> StateBackend:  # noqa: ARG001 - the factory's signature; no options
    """A state backend; it takes no place.

    Raises:
        BackendSpecError: something stands behind the colon.
    """
    if place:
        hint = "write 'state'; for files in a folder write 'filesystem:DIR'"
        raise BackendSpecError(f"state:{place}", "files in state have no place", hint)
    from deepagents_builtin.backends.state.backend import StateBackend

    return StateBackend()


@hookimpl
def deepagents_backends() -> BackendSpec:
    """The backend that is named ``state``."""
    return BackendSpec("state", make_backend, summary=PLUGIN.summary)
