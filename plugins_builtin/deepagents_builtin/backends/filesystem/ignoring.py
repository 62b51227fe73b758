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

from attrs import evolve, frozen
from wcmatch import glob as wcglob

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
class Line:
    """A line of an ignore file.

    Attributes:
        negated: takes back what lines above ignore.
        folders_only: names folders, not files.
        by_name: matched against the name at any depth, not against the path from the file's folder.
        pattern: the glob.
    """

    negated: bool
    folders_only: bool
    by_name: bool
    pattern: str


@frozen
class Rule:
    """Consecutive lines that all ignore, or all take back, joined to as few expressions as can be."""

    negated: bool
    expressions: tuple[tuple[bool, bool, re.Pattern[str]], ...]

    def matches(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Whether one of the lines names *path*, relative to the folder of their file."""
        return any(
            expression.match(name if by_name else path)
            for folders_only, by_name, expression in self.expressions
            if is_folder or not folders_only
        )


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
        name = path.rpartition("/")[2]
        if is_folder and name in IGNORED_FOLDERS:
            return True
        for start, rules in reversed(self.layers):
            relative = path[start:]
            for rule in reversed(rules):
                if rule.matches(relative, name, is_folder=is_folder):
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
    return tuple(
        _rule(negated, list(group)) for negated, group in groupby(lines, key=lambda line: line.negated)
    )


def _rule(negated: bool, lines: list[Line]) -> Rule:  # noqa: FBT001 - a key and its group, as groupby gives them
    kinds: dict[tuple[bool, bool], list[str]] = {}
    for line in lines:
        expression = _translate(line.pattern)
        if expression:
            kinds.setdefault((line.folders_only, line.by_name), []).append(expression)
    return Rule(negated, tuple((*kind, re.compile("|".join(found))) for kind, found in kinds.items()))


def _parse_line(line: str) -> Line | None:
    line = re.sub(r"(?<!\\)\s+$", "", line)
    if not line or line.startswith("#") or len(line) > _MAX_PATTERN_LENGTH:
        return None
    negated = line.startswith("!")
    bare = line[negated:].rstrip("/")
    # A slash inside ties a pattern to the folder of its file; without one it holds at any depth.
    pattern = bare.lstrip("/")
    if not pattern or pattern.count("**") > _MAX_GLOBSTARS:
        return None
    return Line(negated, folders_only=line.endswith("/"), by_name="/" not in bare, pattern=pattern)


def _translate(pattern: str) -> str:
    try:
        (expression, *_), _ = wcglob.translate(pattern, flags=_FLAGS)
        re.compile(expression)
    except (re.error, ValueError, IndexError):
        return ""
    return str(expression)
