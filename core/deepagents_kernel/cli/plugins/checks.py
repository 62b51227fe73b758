"""What can be said of an installed plugin without importing it: does it fit, is it as it was locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.output import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepagents_kernel.plugins.catalog import CatalogRow
    from deepagents_kernel.plugins.installed import InstalledPlugin
    from deepagents_kernel.plugins.lockfile import Lock


def misfit(installed: InstalledPlugin) -> str:
    """Why a plugin was not made for this kernel; empty if it was."""
    from deepagents_kernel.plugins.requirements import refusal

    refused = refusal(installed.requirements, __version__)
    return refused[0] if refused else ""


def unlocked(installed: InstalledPlugin, locks: Iterable[Lock]) -> str:
    """How a plugin differs from the first lock file that it differs from; empty if it doesn't."""
    from deepagents_kernel.plugins.lockfile import difference

    for lock in locks:
        changed = difference(installed, lock)
        if changed:
            return f"not as in {lock.path}: {changed}"
    return ""


def way_out(changed: str, distribution: str) -> str:
    """What to do about a difference from a lock file.

    Args:
        changed: the difference, as :func:`~deepagents_kernel.plugins.lockfile.difference` has it.
        distribution: the distribution of the plugin.
    """
    from deepagents_kernel.plugins.catalog import FILES_DIFFER

    # Files that are not those of RECORD can't be locked either.
    if changed.startswith(FILES_DIFFER):
        return f"install it anew: pip install --force-reinstall {distribution}"
    return f"if the change is meant: {PROGRAM} plugins lock"


def reason_not_to_import(row: CatalogRow, locks: Iterable[Lock]) -> str:
    """Why a plugin must not be imported, be it in another process; empty if it may be.

    One that is off may be: looking at it comes before switching it on. One that somebody forbids may not.
    """
    from deepagents_kernel.plugins.names import PLUGIN_NAME

    if row.decision.blocked:
        return row.why
    if row.installed is None:
        return ""
    if not PLUGIN_NAME.match(row.name):
        return f"{row.name!r} is not a plugin name"
    return misfit(row.installed) or unlocked(row.installed, locks)
