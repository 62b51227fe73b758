"""What the model is told about each file tool.

No description names another tool: any of them may be missing from an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deepagents_builtin.middleware.filesystem.constants import DEFAULT_READ_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

LIST_FILES_TOOL_DESCRIPTION: Final = """\
List one folder: its files and subfolders (these end with `/`), not what is below them.

Look here before you read or change files in a folder that you don't know yet."""

READ_FILE_TOOL_DESCRIPTION: Final = f"""\
Read a text file.

- Without `limit` you get {DEFAULT_READ_LIMIT} lines. Page through long files with `offset` and `limit`.
- The result has a header line such as `@@ lines 1-{DEFAULT_READ_LIMIT} of 340 | next offset \
{DEFAULT_READ_LIMIT} @@`: which lines follow, and the `offset` to go on with. The header, and any note in \
brackets above it, is not part of the file: never use it in an edit. All below it is the file, verbatim.
- A file without contents gives a reminder that it is empty.
- Several files that you need can be read in one go, by parallel calls.
- Read a file before you change it."""

WRITE_FILE_TOOL_DESCRIPTION: Final = """\
Create a file, or replace the whole content of an existing one.

To change part of an existing file, prefer editing it."""

EDIT_FILE_TOOL_DESCRIPTION: Final = """\
Replace exact text in a file.

- Copy `old_string` from the file as you read it, with its indentation and blank lines, but never with the \
header line of the read result.
- It must occur exactly once: add surrounding lines until it does, or set `replace_all` to change every one.
- Several edits of one file are separate calls."""

GLOB_TOOL_DESCRIPTION: Final = """\
Find files by name. Returns absolute paths of files, never folders.

- `*` any characters of a name, `?` one of them, `[abc]` one of these, `{a,b}` alternatives, `**` any folders.
- Without a slash (`*.py`) the pattern is compared with file names at any depth; with one (`src/**/*.py`) \
with the path below the searched folder; a leading slash (`/*.py`) stands for the searched folder itself.
- Names that begin with a dot are found only where the pattern has that dot, as in `.github/**/*.yml`."""

GREP_TOOL_DESCRIPTION: Final = """\
Search the text of files for a literal string; special characters have no meaning.

- For alternatives, search once for each.
- `output_mode`: `files_with_matches` lists files, `content` shows matching lines with \
their numbers, `count` counts them for each file.
- `path` limits the search to a folder or file, `glob` to files of certain names."""

GREP_GLOB_DESCRIPTION: Final = "Only files that match this pattern, such as `*.py` or `src/**/*.{ts,tsx}`."
GREP_OUTPUT_MODE_DESCRIPTION: Final = (
    "`files_with_matches` for paths, `content` for matching lines, `count` for the number of matching lines "
    "in each file."
)

DEFAULT_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "ls": LIST_FILES_TOOL_DESCRIPTION,
    "read_file": READ_FILE_TOOL_DESCRIPTION,
    "write_file": WRITE_FILE_TOOL_DESCRIPTION,
    "edit_file": EDIT_FILE_TOOL_DESCRIPTION,
    "glob": GLOB_TOOL_DESCRIPTION,
    "grep": GREP_TOOL_DESCRIPTION,
}


def default_description(name: str, read_limit: int = DEFAULT_READ_LIMIT) -> str:
    """Our own description of a tool; that of ``read_file`` states the window really used."""
    text = DEFAULT_DESCRIPTIONS[name]
    if name != "read_file" or read_limit == DEFAULT_READ_LIMIT:
        return text
    return text.replace(str(DEFAULT_READ_LIMIT), str(read_limit))


def describe(name: str, custom: Mapping[str, str], read_limit: int = DEFAULT_READ_LIMIT) -> str:
    """The description to bind: the caller's if it isn't empty, else our own."""
    return custom.get(name) or default_description(name, read_limit)
