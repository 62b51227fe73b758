"""The kernel of a call of the command: built, complained about, and noted in the cache of loads."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from deepagents_kernel.errors import PluginWarning
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.plugins.report import complaints

if TYPE_CHECKING:
    from deepagents_kernel.cli.call import Call
    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.plugins.catalog import Catalog


def make_kernel(call: Call, workspace: Path | None) -> Kernel:
    """A kernel with the configuration of a call.

    Raises:
        DeepAgentsError: it can't be built.
    """
    configuration = call.configuration(workspace)
    if workspace is not None:
        warn_about_ignored(call, configuration, workspace)
    _import_host()
    with warnings.catch_warnings():
        # The same is said below, in a form that suits a command.
        warnings.simplefilter("ignore", PluginWarning)
        kernel = Kernel.discover(config=configuration)
    for text in complaints(kernel.catalog):
        call.warn(text)
    remember(kernel.catalog)
    return kernel


def _import_host() -> None:
    """Import LangChain before any installed plugin does, whose load would be blamed for the time it takes."""
    from deepagents_kernel.plugins.installed import scan

    if scan().plugins:
        import langchain.agents.middleware  # noqa: F401 - imported for its time


def warn_about_ignored(call: Call, configuration: Configuration, workspace: Path) -> None:
    """Say in one line which configuration files of the workspace were not read."""
    from deepagents_kernel.config.paths import shown_path

    folder = Path(os.path.realpath(workspace))
    found = [item for item in configuration.ignored if _resolved(item.path).is_relative_to(folder)]
    if found:
        names = ", ".join(shown_path(item.path) for item in found)
        call.warn(f"not read: {names}; {found[0].reason}")


def _resolved(path: Path) -> Path:
    # The folder alone: a link in the workspace is the agent's work wherever it leads.
    return Path(os.path.realpath(path.parent)) / path.name


def remember(catalog: Catalog) -> None:
    """Note how loading went, for listings that import nothing."""
    from deepagents_kernel.plugins.loadcache import LoadResult, update_cache

    results = [
        LoadResult(
            name=row.name,
            distribution=row.distribution,
            version=row.version,
            provides=row.provides,
            error="" if row.on else row.why,
            seconds=row.seconds,
        )
        for row in catalog.rows
        if row.installed is not None and row.seconds is not None
    ]
    update_cache(results)
