"""What searches pass over: version control, packages, virtual environments, and what ``.gitignore`` names.

The rule holds for what a search comes across, never for what it was asked for: a search that starts inside an
ignored folder searches it. Listings hide nothing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from itertools import groupby
from typing import TYPE_CHECKING

from attrs import evolve, frozen
from wcmatch import glob as wcglob

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Folders that are passed over wherever they are.
IGNORED_FOLDERS = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS", "node_modules", ".venv"})
#: A folder that holds this file is a virtual environment.
ENVIRONMENT_MARK = "pyvenv.cfg"
IGNORE_FILE = ".gitignore"

_MAX_BYTES = 1_000_000
_MAX_PATTERN_LENGTH = 1_000
_MAX_GLOBSTARS = 5
_FLAGS = wcglob.GLOBSTAR | wcglob.DOTMATCH | wcglob.FORCEUNIX | wcglob.CASE


@frozen
class Rule:
    """Consecutive lines that all ignore, or all take back, as expressions over paths relative to their file."""

    negated: bool
    anything: re.Pattern[str] | None
    folders: re.Pattern[str] | None

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether one of the lines names *path*."""
        if self.anything is not None and self.anything.match(path):
            return True
        return is_folder and self.folders is not None and self.folders.match(path) is not None


@frozen
class IgnoreRules:
    """The rules that apply in one folder; deeper files and later lines win.

    Attributes:
        layers: length of the folder's path, and the rules of its file, outermost first.
    """

    layers: tuple[tuple[int, tuple[Rule, ...]], ...] = ()

    def below(self, directory: int, path: str) -> IgnoreRules:
        """The rules inside of a folder, with those of its own ignore file.

        Args:
            directory: an open descriptor of the folder.
            path: its path from where the rules start, ending with ``/``; empty for that place itself.
        """
        rules = _parse(_read(directory))
        return evolve(self, layers=(*self.layers, (len(path), rules))) if rules else self

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether a search passes over *path*, spelt as in :meth:`below` but without a final slash."""
        if is_folder and path.rpartition("/")[2] in IGNORED_FOLDERS:
            return True
        for start, rules in reversed(self.layers):
            relative = path[start:]
            for rule in reversed(rules):
                if rule.matches(relative, is_folder=is_folder):
                    return not rule.negated
        return False


def _read(directory: int) -> str:
    # A folder, a link or an unreadable file of this name names nothing to ignore.
    with contextlib.suppress(OSError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with os.fdopen(os.open(IGNORE_FILE, flags, dir_fd=directory), "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    return ""


@functools.lru_cache(maxsize=64)
def _parse(text: str) -> tuple[Rule, ...]:
    lines = [parsed for line in text.splitlines() if (parsed := _parse_line(line))]
    rules: list[Rule] = []
    for negated, group in groupby(lines, key=lambda line: line[0]):
        patterns = list(group)
        anything = _one_expression(pattern for _, folders_only, pattern in patterns if not folders_only)
        folders = _one_expression(pattern for _, folders_only, pattern in patterns if folders_only)
        rules.append(Rule(negated, anything, folders))
    return tuple(rules)


def _parse_line(line: str) -> tuple[bool, bool, str] | None:
    line = re.sub(r"(?<!\\)\s+$", "", line)
    if not line or line.startswith("#") or len(line) > _MAX_PATTERN_LENGTH:
        return None
    negated = line.startswith("!")
    pattern = line[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    # A slash inside ties a pattern to the folder of its file; without one it holds at any depth.
    anchored = "/" in pattern
    pattern = pattern.lstrip("/")
    if not pattern or pattern.count("**") > _MAX_GLOBSTARS:
        return None
    return negated, folders_only, pattern if anchored else f"**/{pattern}"


def _one_expression(patterns: Iterable[str]) -> re.Pattern[str] | None:
    expressions = [expression for pattern in patterns if (expression := _translate(pattern))]
    return re.compile("|".join(expressions)) if expressions else None


def _translate(pattern: str) -> str:
    try:
        (expression, *_), _ = wcglob.translate(pattern, flags=_FLAGS)
        re.compile(expression)
    except (re.error, ValueError, IndexError):
        return ""
    return str(expression)
