"""The file tools, one module each, and the table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem.tools.edit_file import EDIT_FILE
from deepagents_builtin.middleware.filesystem.tools.glob import GLOB
from deepagents_builtin.middleware.filesystem.tools.grep import GREP
from deepagents_builtin.middleware.filesystem.tools.ls import LS
from deepagents_builtin.middleware.filesystem.tools.read_file import READ_FILE
from deepagents_builtin.middleware.filesystem.tools.write_file import WRITE_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_builtin.middleware.filesystem.calls import Tool

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (LS, READ_FILE, WRITE_FILE, EDIT_FILE, GLOB, GREP)}
