"""The group ``deepagents-kernel profiles``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deepagents_kernel.cli.call import common_options
from deepagents_kernel.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = "deepagents_kernel.cli.profiles"

#: Name to ("module:attribute", one line). Imported when they are called.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "explain": (f"{_HERE}.explain:explain", "Say which profiles a model gets, why, and what they do."),
    "list": (f"{_HERE}.listing:list_profiles", "List every key that has a profile, and whose it is."),
    "show": (f"{_HERE}.show:show", "Show the layers of a key, and what they come to."),
}


@common_options
@click.command(cls=LazyGroup, table=COMMANDS)
def profiles() -> None:
    """List, show and explain profiles: how models are constructed, and how agents run on them."""
