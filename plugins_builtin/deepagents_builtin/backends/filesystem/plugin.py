"""The plugin ``backend.filesystem``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deepagents_builtin.backends.filesystem.options import FilesystemOptions
from deepagents_kernel.contracts.backend_spec import BackendSpec
from deepagents_kernel.errors import BackendSpecError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_builtin.backends.filesystem.backend import FilesystemBackend

PLUGIN = PluginInfo(summary="Files in a folder of the local disk, which the model sees as /.")


def make_backend(place: str, options: FilesystemOptions | None = None) -> FilesystemBackend:
    """A backend confined to a folder that exists.

    Args:
        place: the folder; a relative one counts from the working directory of this moment.
        options: further options.

    Raises:
        BackendSpecError: no folder is named, or there is none.
    """
    spec = f"filesystem:{place}"
    if not place.strip():
        raise BackendSpecError(
            spec, "names no folder", "write 'filesystem:./work'; 'filesystem:.' is this folder"
        )
    folder = Path(place)
    if folder.exists() and not folder.is_dir():
        raise BackendSpecError(
            spec, f"{place} is a file, not a folder", f"name its folder: 'filesystem:{folder.parent}'"
        )
    if not folder.is_dir():
        raise BackendSpecError(spec, f"there is no folder {place}", f"create it first: mkdir -p {place}")
    from deepagents_builtin.backends.filesystem.backend import FilesystemBackend

    chosen = options or FilesystemOptions()
    return FilesystemBackend(
        folder,
        max_file_size_mb=chosen.max_file_size_mb,
        include_ignored=chosen.include_ignored,
        durability=chosen.durability,
        encoding=chosen.encoding or None,
    )


@hookimpl
def deepagents_backends() -> BackendSpec:
    """The backend that is named ``filesystem:DIR``."""
    return BackendSpec("filesystem", make_backend, options=FilesystemOptions, summary=PLUGIN.summary)
