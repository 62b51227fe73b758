"""The configuration file that a command changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deepagents_kernel.cli.call import working_directory

if TYPE_CHECKING:
    from pathlib import Path

    from deepagents_kernel.cli.call import Call


def target_file(call: Call, *, user: bool = False) -> Path:
    """The file to change: the one that is named, the user's own, the project's, or a new one here.

    Raises:
        ConfigError: the file of the project can't be told, or the path of the one that is named is malformed.
    """
    from deepagents_kernel.config.environment import CONFIG_VARIABLE
    from deepagents_kernel.config.errors import ConfigError
    from deepagents_kernel.config.load import user_file
    from deepagents_kernel.config.paths import OWN_FILE, absolute_path
    from deepagents_kernel.config.search import Search

    if user:
        return user_file()
    named = call.config if call.config is not None else os.environ.get(CONFIG_VARIABLE)
    if named is not None:
        try:
            return absolute_path(named)
        except ValueError as error:
            raise ConfigError(named, f"there is no such place: {error}") from error
    found = Search(user_file(), None).nearest(working_directory())
    return working_directory() / OWN_FILE if found is None else found.path
