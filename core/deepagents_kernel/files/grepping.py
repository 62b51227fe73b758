"""Literal search in lines: the matching itself, the exact cap, and how matches are shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from deepagents_kernel.contracts.results import FileData, GrepMatch, GrepResult
from deepagents_kernel.files.file_data import MalformedFileError, file_data_to_string
from deepagents_kernel.files.globs import GlobPattern, InvalidGlobPatternError, compile_glob
from deepagents_kernel.files.paths import InvalidPathError, canonical_path, show_path
from deepagents_kernel.files.text import to_lf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

OutputMode = Literal["files_with_matches", "content", "count"]
NO_MATCHES = "No matches found"

_LOOKS_LIKE_REGEX = re.compile(r"\||\.[*+]|\\[wWdDsSbB(){}\[\]|+*?^$]")


class MatchCollector:
    """Matches up to a cap over all files; one more than the cap sets ``truncated`` and ends the search."""

    def __init__(self, max_count: int | None = None) -> None:
        self.matches: list[GrepMatch] = []
        self.truncated = False
        self._limit = None if max_count is None else max(max_count, 0)

    def search(self, path: str, text: str, pattern: str) -> bool:
        """Search one text.

        Returns:
            Whether to go on with the next one.
        """
        for line, found in matching_lines(text, pattern):
            if self._limit is not None and len(self.matches) >= self._limit:
                self.truncated = True
                return False
            self.matches.append({"path": path, "line": line, "text": found})
        return True


def matching_lines(text: str, pattern: str) -> Iterator[tuple[int, str]]:
    """The lines that hold *pattern*, each with its number from 1 and without its ending.

    An empty pattern is in every line; a pattern with a line ending is in none.
    """
    if "\n" in pattern or "\r" in pattern or pattern not in text:
        return
    text = to_lf(text)
    number, start = 1, 0
    while start < len(text):
        at = text.find(pattern, start)
        if at < 0:
            return
        begin = text.rfind("\n", start, at) + 1 or start
        number += text.count("\n", start, begin)
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield number, text[begin:end]
        number, start = number + 1, end + 1


def select_files(files: Mapping[str, Any], root: str) -> Iterator[tuple[str, str]]:
    """Keys of stored files below a canonical *root*, each with its path relative to it.

    A root that is itself a stored file selects that file alone, under its name.
    """
    if root in files:
        yield root, root.rpartition("/")[2]
        return
    prefix = root if root == "/" else f"{root}/"
    for key in files:
        if key.startswith(prefix) and key != prefix:
            yield key, key[len(prefix) :]


def grep_matches_from_files(
    files: Mapping[str, FileData],
    pattern: str,
    path: str | None = None,
    glob: str | None = None,
    *,
    max_count: int | None = None,
) -> GrepResult:
    """Search stored files for a literal text, in the order in which they are stored.

    Args:
        files: path to file.
        pattern: the text; binary files are passed over.
        path: a file or directory; everything when left out.
        glob: only files that match, relative to *path*.
        max_count: most matches over all files.

    Returns:
        The matches; files that are malformed are named in ``error`` beside them.
    """
    try:
        root = canonical_path(path)
        include = compile_include(glob)
    except (InvalidPathError, InvalidGlobPatternError) as error:
        return GrepResult(error=str(error))
    found = MatchCollector(max_count)
    problems: list[str] = []
    for key, relative in select_files(files, root):
        if include is not None and not include.matches(relative):
            continue
        try:
            text = file_data_to_string(files[key])
        except MalformedFileError as error:
            problems.append(f"{show_path(key)}: {error}")
            continue
        if files[key].get("encoding") == "base64":
            continue
        if not found.search(key, text, pattern):
            break
    error_text = "\n".join(problems) or None
    return GrepResult(error=error_text, matches=found.matches, truncated=found.truncated)


def compile_include(glob: str | None) -> GlobPattern | None:
    """The include filter of a search; an empty one filters nothing.

    Raises:
        InvalidGlobPatternError: the pattern is refused.
    """
    return compile_glob(glob) if glob else None


def build_grep_results_dict(matches: Iterable[GrepMatch]) -> dict[str, list[tuple[int, str]]]:
    """Path to ``(line, text)`` pairs, in the order of the matches."""
    grouped: dict[str, list[tuple[int, str]]] = {}
    for match in matches:
        grouped.setdefault(match["path"], []).append((match["line"], match["text"]))
    return grouped


def format_grep_matches(matches: list[GrepMatch], output_mode: OutputMode) -> str:
    """Matches as text for a model.

    Args:
        matches: the matches.
        output_mode: ``files_with_matches`` lists paths, ``count`` lists ``path: n``, ``content`` lists the
            lines of each file, with their context where the matches have any.
    """
    if not matches:
        return NO_MATCHES
    by_path: dict[str, list[GrepMatch]] = {}
    for match in matches:
        by_path.setdefault(match["path"], []).append(match)
    if output_mode == "files_with_matches":
        return "\n".join(sorted(by_path))
    if output_mode == "count":
        return "\n".join(f"{path}: {len(by_path[path])}" for path in sorted(by_path))
    return "\n".join(
        line for path in sorted(by_path) for line in (f"{path}:", *_content_lines(by_path[path]))
    )


def _content_lines(matches: list[GrepMatch]) -> Iterator[str]:
    if not any("context_before" in match or "context_after" in match for match in matches):
        yield from (f"  {match['line']}: {match['text']}" for match in matches)
        return
    rows: dict[int, str] = {}
    for match in matches:
        for line in (*match.get("context_before", ()), *match.get("context_after", ())):
            rows.setdefault(line["line"], f"  {line['line']}- {line['text']}")
    rows.update({match["line"]: f"  {match['line']}: {match['text']}" for match in matches})
    previous: int | None = None
    for number in sorted(rows):
        if previous is not None and number > previous + 1:
            yield "  --"
        yield rows[number]
        previous = number


def regex_literal_hint(pattern: str) -> str | None:
    """A hint for a pattern that looks like a regular expression; ``None`` for one that doesn't."""
    if not _LOOKS_LIKE_REGEX.search(pattern):
        return None
    return (
        "The pattern is searched as literal text, not as a regular expression; search for a plain part of it."
    )
