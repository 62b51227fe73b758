"""The group ``deepagents-kernel plugins``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deepagents_kernel.cli.call import common_options
from deepagents_kernel.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = "deepagents_kernel.cli.plugins"

#: Name to ("module:attribute", one line). Imported when they are called.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "disable": (f"{_HERE}.switching:disable", "Switch plugins off in a configuration file."),
    "enable": (f"{_HERE}.switching:enable", "Switch plugins on in a configuration file."),
    "explain": (f"{_HERE}.explain:explain", "Say why a plugin is in or not, and what would change that."),
    "list": (f"{_HERE}.listing:list_plugins", "List every plugin, with its state and the reason for it."),
    "lock": (f"{_HERE}.locking:lock", "Write down what installed plugins consist of now."),
    "show": (f"{_HERE}.show:show", "Show what a plugin brings, importing it in a process of its own."),
    "verify": (f"{_HERE}.locking:verify", "Compare what is installed with the lock file."),
}


@common_options
@click.command(cls=LazyGroup, table=COMMANDS)
def plugins() -> None:
    """List, explain, switch and lock plugins.

    A plugin is named by its registered name, its short name, or its distribution; wildcards stand for
    several.
    """
