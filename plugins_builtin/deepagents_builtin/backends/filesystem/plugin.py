"""The plugin ``backend.filesystem``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from deepagents_builtin.backends.filesystem.options import FilesystemOptions
from deepagents_kernel.contracts.backend_spec import BackendSpec, quote_path
from deepagents_kernel.errors import BackendSpecError
from deepagents_kernel.files.paths import printable, show_path
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
        BackendSpecError: no folder is named, there is none, or the system can't look at it.
    """
    spec = f"filesystem:{quote_path(place)}"
    if not place.strip():
        raise BackendSpecError(
            spec, "names no folder", "write 'filesystem:./work'; 'filesystem:.' is this folder"
        )
    folder = Path(place)
    _check_folder(folder, spec)
    from deepagents_builtin.backends.filesystem.backend import FilesystemBackend

    chosen = options or FilesystemOptions()
    return FilesystemBackend(
        folder,
        max_file_size_mb=chosen.max_file_size_mb,
        include_ignored=chosen.include_ignored,
        durability=chosen.durability,
        encoding=chosen.encoding or None,
    )


def _check_folder(folder: Path, spec: str) -> None:
    shown = show_path(folder)
    try:
        is_folder, is_there = folder.is_dir(), folder.exists()
    except (OSError, ValueError) as error:
        # A name that is too long, a folder above it that can't be entered.
        reason = getattr(error, "strerror", None) or str(error)
        raise BackendSpecError(
            spec, f"{shown} can't be looked at: {reason}", "name another folder"
        ) from error
    if is_there and not is_folder:
        parent = quote_path(str(folder.parent))
        raise BackendSpecError(
            spec, f"{shown} is a file, not a folder", f"name its folder: 'filesystem:{parent}'"
        )
    if not is_folder:
        make = f"create it first: mkdir -p {shlex.quote(printable(str(folder)))}"
        raise BackendSpecError(spec, f"there is no folder {shown}", make)


@hookimpl
def deepagents_backends() -> BackendSpec:
    """The backend that is named ``filesystem:DIR``."""
    return BackendSpec("filesystem", make_backend, options=FilesystemOptions, summary=PLUGIN.summary)
