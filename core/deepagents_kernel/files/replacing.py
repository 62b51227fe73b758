r"""Literal replacement that leaves every other byte of a text alone.

Line endings are compared as equal, so that text copied from a listing (where every ending is ``\n``) is found
in a file with ``\r\n``. What is written keeps the endings of the lines around it.
"""

from __future__ import annotations

import bisect
import re

from deepagents_kernel.files.text import LINE_ENDING, to_lf

EMPTY_OLD_STRING_ERROR = "Error: old_string is empty; give the text to replace, or write the whole file"
SAME_STRING_ERROR = "Error: old_string and new_string are the same; there is nothing to change"

_ECHOED_CHARACTERS = 200


def perform_string_replacement(
    content: str,
    old_string: str,
    new_string: str,
    replace_all: bool = False,  # noqa: FBT001, FBT002 - positional in the published signature
) -> tuple[str, int] | str:
    """Replace a literal text.

    Args:
        content: the text to change.
        old_string: what to replace; must occur once unless *replace_all*.
        new_string: what to put there.
        replace_all: replace every occurrence.

    Returns:
        The new text and the number of places changed; or, as a plain text, why nothing was changed.
    """
    if not old_string:
        return EMPTY_OLD_STRING_ERROR
    if old_string == new_string:
        return SAME_STRING_ERROR
    old, new = to_lf(old_string), to_lf(new_string)
    if old == new:
        # Only the line endings differ: the caller means them, so they are taken literally.
        found = content.count(old_string)
        problem = _count_problem(content, old_string, found, replace_all=replace_all)
        return problem or (content.replace(old_string, new_string), found)
    view = to_lf(content)
    found = view.count(old)
    problem = _count_problem(view, old, found, replace_all=replace_all)
    if problem:
        return problem
    return (view.replace(old, new) if view == content else _splice(content, view, old, new)), found


def _count_problem(view: str, old: str, found: int, *, replace_all: bool) -> str:
    if found == 0:
        return _final_newline_problem(view, old) or f"Error: String not found in file: {_echo(old)}"
    if found > 1 and not replace_all:
        return (
            f"Error: String {_echo(old)} appears {found} times in the file. "
            "Add surrounding lines to make it unique, or set replace_all to change all of them"
        )
    return ""


def _final_newline_problem(view: str, old: str) -> str:
    bare = old[:-1]
    if not (bare and old.endswith("\n") and view.endswith(bare)) or view.endswith("\n"):
        return ""
    text = (
        f"Error: String not found in file: {_echo(old)}. The file ends without a final newline, "
        "so drop the newline at the end of old_string"
    )
    found = view.count(bare)
    return text if found == 1 else f"{text}; without it the string appears {found} times, so add more context"


def _echo(text: str) -> str:
    if len(text) <= _ECHOED_CHARACTERS:
        return repr(text)
    return f"{text[:_ECHOED_CHARACTERS]!r}... ({len(text)} characters)"


def _splice(content: str, view: str, old: str, new: str) -> str:
    r"""Replace in *content* what *view*, the same text with ``\n`` endings, says."""
    kept_before = _common_prefix(old, new)
    kept_after = _common_prefix(old[kept_before:][::-1], new[kept_before:][::-1])
    inserted = new[kept_before : len(new) - kept_after]
    shifts = [found.start() - count for count, found in enumerate(re.finditer("\r\n", content))]
    pieces: list[str] = []
    done = 0
    at = view.find(old)
    while at >= 0:
        start, end = (
            place + bisect.bisect_left(shifts, place)
            for place in (at + kept_before, at + len(old) - kept_after)
        )
        pieces += [content[done:start], _with_local_endings(inserted, content, start, end)]
        done = end
        at = view.find(old, at + len(old))
    return "".join([*pieces, content[done:]])


def _common_prefix(one: str, other: str) -> int:
    differing = (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


def _with_local_endings(inserted: str, content: str, start: int, end: int) -> str:
    if "\n" not in inserted:
        return inserted
    removed = LINE_ENDING.findall(content, start, end)
    following = LINE_ENDING.search(content, end)
    if removed:
        ending = removed[-1]
    elif following:
        ending = following[0]
    else:
        before = max(content.rfind("\n", 0, start), content.rfind("\r", 0, start))
        ending = "\n" if before < 0 else content[before]
        if ending == "\n" and before > 0 and content[before - 1] == "\r":
            ending = "\r\n"
    return inserted.replace("\n", ending)
