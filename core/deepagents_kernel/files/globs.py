"""The shared glob dialect, for ``glob`` and for the include filter of ``grep``.

Patterns match paths relative to the search root, case-sensitively and with ``/`` on every platform. One
without ``/`` matches the file name at any depth; one with ``/`` matches the whole relative path, and a
leading ``/`` only anchors it. ``**`` crosses directories but none that starts with a dot; a leading dot must
be written out. Braces and character classes work, extended globs don't.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from attrs import field, frozen
from wcmatch import glob as wcglob

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Patterns that one pattern may expand to by braces.
MAX_EXPANSIONS = 1000
MAX_PATTERN_LENGTH = 10_000
#: ``**`` segments in one pattern; each multiplies the ways to match a deep path.
MAX_GLOBSTARS = 5

_FLAGS = wcglob.BRACE | wcglob.GLOBSTAR | wcglob.FORCEUNIX | wcglob.CASE
_REPEATED_SLASHES = re.compile(r"/{2,}")
_REPEATED_GLOBSTARS = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+(?=\*\*/)")
_MAGIC = re.compile(r"[*?\[\]{}\\]")


class InvalidGlobPatternError(DeepAgentsError, ValueError):
    """A pattern that is refused before anything is searched.

    Attributes:
        pattern: the pattern as it was given.
        reason: what is wrong with it.
    """

    def __init__(self, pattern: str, reason: str) -> None:
        self.pattern = pattern
        self.reason = reason
        shown = ascii(pattern if len(pattern) <= 200 else f"{pattern[:200]}...")
        super().__init__(f"Glob pattern {shown}: {reason}")


@frozen
class GlobPattern:
    """A compiled pattern.

    Attributes:
        pattern: the pattern as it was given.
        by_name: matched against the file name alone, at any depth.
        prefix: leading directories that the pattern spells out; nothing outside of them can match.
    """

    pattern: str
    by_name: bool
    prefix: tuple[str, ...]
    _match: Callable[[str], bool] = field(repr=False, eq=False)

    def matches(self, path: str) -> bool:
        """Whether a path, relative to the search root, matches."""
        return self._match(path.rpartition("/")[2] if self.by_name else path)


@functools.lru_cache(maxsize=256)
def compile_glob(pattern: str) -> GlobPattern:
    """Compile a pattern of the shared dialect; the last 256 are kept.

    Args:
        pattern: the pattern. A malformed class or brace is taken literally.

    Raises:
        InvalidGlobPatternError: a ``..`` segment, or a pattern that expands to too many.
    """
    _refuse(pattern)
    by_name = "/" not in pattern
    relative = _REPEATED_SLASHES.sub("/", pattern).lstrip("/")
    relative = _REPEATED_GLOBSTARS.sub("", relative)
    if relative.count("**/") > MAX_GLOBSTARS:
        raise InvalidGlobPatternError(pattern, f"more than {MAX_GLOBSTARS} '**' segments")
    try:
        compiled = wcglob.compile(relative, flags=_FLAGS, limit=MAX_EXPANSIONS)
    except Exception as error:
        reason = (
            f"it expands to more than {MAX_EXPANSIONS} patterns, or nests too deeply; use fewer alternatives"
        )
        raise InvalidGlobPatternError(pattern, reason) from error
    match: Callable[[str], bool] = compiled.match
    return GlobPattern(pattern, by_name, () if by_name else _literal_prefix(relative), match)


@functools.lru_cache(maxsize=256)
def compile_grep_include_glob(pattern: str) -> Callable[[str], bool]:
    """A predicate on paths relative to the search root; the last 256 are kept.

    Raises:
        InvalidGlobPatternError: the pattern is refused.
    """
    return compile_glob(pattern).matches


def _refuse(pattern: str) -> None:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidGlobPatternError(pattern, f"longer than {MAX_PATTERN_LENGTH} characters")
    if ".." in re.split(r"[/\\]", pattern):
        raise InvalidGlobPatternError(
            pattern, "'..' is not allowed; pass the directory to search as the path"
        )


def _literal_prefix(relative: str) -> tuple[str, ...]:
    fixed: list[str] = []
    for segment in relative.split("/")[:-1]:
        if _MAGIC.search(segment):
            break
        fixed.append(segment)
    return tuple(fixed)
