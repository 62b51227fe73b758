"""Lists of paths and of lines, cut to size where an item ends.

A path that is cut in the middle looks like a real one.
"""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.targets import is_addressable

if TYPE_CHECKING:
    from collections.abc import Sequence


def render_paths(paths: Sequence[str], limit: int) -> str:
    """*paths* as Python shows a list, cut to *limit* characters, the remark about the cut included.

    Quotes and control characters of a path come out escaped. Nothing in the list is anything but a path.
    """
    if not paths:
        return constants.NO_FILES_FOUND
    items = [repr(path) for path in paths]
    # Each costs its quotes and a separator; that of the last one pays for the brackets.
    sizes = list(itertools.accumulate(len(item) + 2 for item in items))
    if sizes[-1] <= limit:
        return f"[{', '.join(items)}]"

    def note(shown: int) -> str:
        return constants.LIST_TRUNCATION_NOTE.format(shown=shown, total=len(items))

    shown = bisect.bisect_right(sizes, limit - len(note(len(items))) - len("\n\n"))
    return f"[{', '.join(items[:shown])}]\n\n{note(shown)}"


def cut_lines(text: str, limit: int) -> str:
    """*text* cut to *limit* characters at the end of a line, the remark about the cut included."""
    if len(text) <= limit:
        return text
    lines = text.split("\n")
    sizes = list(itertools.accumulate(len(line) + 1 for line in lines))

    def note(shown: int) -> str:
        return constants.SEARCH_CUT_NOTE.format(shown=shown, total=len(lines))

    shown = bisect.bisect_right(sizes, limit - len(note(len(lines))) - len("\n"))
    return "\n".join([*lines[:shown], "", note(shown)])


def unaddressable_note(paths: Sequence[str]) -> str:
    """That some of *paths* can't be given back to a tool; empty when all of them can."""
    count = sum(1 for path in paths if not is_addressable(path))
    return constants.UNADDRESSABLE_NOTE.format(count=count) if count else ""


def ignored_note(count: int) -> str:
    """What a search left out because of the ignore rule; empty when that was nothing."""
    return constants.IGNORED_NOTE.format(count=count) if count else ""
