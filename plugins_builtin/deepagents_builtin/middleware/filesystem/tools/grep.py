"""``grep``: files by what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.calls import BackendCall, Steps, Tool
from deepagents_builtin.middleware.filesystem.listing import cut_lines, ignored_note
from deepagents_builtin.middleware.filesystem.results import Outcome, failure, success, with_notes
from deepagents_builtin.middleware.filesystem.schemas import GrepOutputMode, GrepSchema
from deepagents_builtin.middleware.filesystem.targets import virtual_root
from deepagents_kernel.contracts.backend import trim_grep_result
from deepagents_kernel.files.grepping import NO_MATCHES, format_grep_matches, regex_literal_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_builtin.middleware.filesystem.workspace import Workspace
    from deepagents_kernel.contracts.results import GrepMatch, GrepResult

#: Paths named in the note about files that were not searched.
_SKIPPED_SHOWN = 5


@frozen
class Search:
    """What was asked for, as far as showing the answer needs it.

    Attributes:
        pattern: the text that was looked for.
        mode: how to show the matches.
        cap: most matches, or most files in the modes that show files; ``None`` for no cap.
        char_limit: size of the result.
    """

    pattern: str
    mode: GrepOutputMode
    cap: int | None
    char_limit: int

    @property
    def fetched(self) -> int | None:
        """How many matches to ask the backend for.

        A cap on files can't be handed to a backend, which counts matches: one file with very many would hide
        the rest.
        """
        if self.cap is None or self.mode == "content":
            return self.cap
        return max(self.cap, constants.GREP_MATCH_CEILING)


def steps(
    workspace: Workspace,
    *,
    pattern: str,
    path: str | None,
    glob: str | None,
    output_mode: GrepOutputMode,
    max_count: int | None,
) -> Steps:
    """Search the text of files."""
    root = virtual_root(path)
    cap = workspace.grep_max_count if max_count is None else max_count
    search = Search(pattern, output_mode, cap, workspace.list_char_limit)
    offered = {} if search.fetched is None else {"max_count": search.fetched}
    result: GrepResult = yield BackendCall("grep", (pattern, root, glob), offered)
    return render_search(trim_grep_result(result, search.fetched), search)


def render_search(result: GrepResult, search: Search) -> Outcome:
    """The outcome of ``grep``."""
    if result.error is not None and not result.matches:
        return failure(result.error)
    shown, cut = _first_files(result.matches or [], search)
    notes = (
        *_truncation_notes(result, search, cut=cut),
        _skipped_note(result.skipped),
        ignored_note(result.ignored),
    )
    if not shown:
        return _nothing_found(search, notes, truncated=result.truncated)
    body = format_grep_matches([_clipped(match, search.pattern) for match in shown], search.mode)
    body = with_notes(cut_lines(body, search.char_limit), *notes)
    if result.error is None:
        return success(body)
    return failure(
        f"{cut_lines(result.error, search.char_limit)}\n\n{constants.GREP_PARTIAL_HEADING}\n{body}"
    )


def _nothing_found(search: Search, notes: Sequence[str], *, truncated: bool) -> Outcome:
    if truncated:
        # Nobody knows whether there are matches, so it is not said that there are none.
        return success("\n\n".join(note for note in notes if note))
    return success(with_notes(NO_MATCHES, regex_literal_hint(search.pattern) or "", *notes))


def _first_files(matches: list[GrepMatch], search: Search) -> tuple[list[GrepMatch], bool]:
    if search.cap is None or search.mode == "content":
        return matches, False
    paths = sorted({match["path"] for match in matches})
    if len(paths) <= search.cap:
        return matches, False
    kept = frozenset(paths[: search.cap])
    return [match for match in matches if match["path"] in kept], True


def _truncation_notes(result: GrepResult, search: Search, *, cut: bool) -> list[str]:
    if search.mode == "content":
        return [constants.GREP_TRUNCATION_NOTE] if result.truncated else []
    notes = [constants.GREP_TRUNCATION_NOTE] if cut else []
    return [*notes, constants.GREP_UNFINISHED_NOTE] if result.truncated else notes


def _skipped_note(skipped: Sequence[str] | None) -> str:
    if not skipped:
        return ""
    others = len(skipped) - _SKIPPED_SHOWN
    paths = ", ".join(skipped[:_SKIPPED_SHOWN]) + (f" and {others} more" if others > 0 else "")
    return constants.GREP_SKIPPED_NOTE.format(paths=paths)


def _clipped(match: GrepMatch, pattern: str) -> GrepMatch:
    clipped: GrepMatch = {**match, "text": _clip(match["text"], pattern)}
    if "context_before" in match and "context_after" in match:
        clipped["context_before"] = [
            {**line, "text": _clip(line["text"])} for line in match["context_before"]
        ]
        clipped["context_after"] = [{**line, "text": _clip(line["text"])} for line in match["context_after"]]
    return clipped


def _clip(text: str, pattern: str = "") -> str:
    """A long line around the place where *pattern* is."""
    width = constants.GREP_LINE_CHARS
    if len(text) <= width:
        return text
    margin = max(width - len(pattern), 0) // 2
    start = min(max(text.find(pattern) - margin, 0), len(text) - width)
    before = f"[{start} chars] ..." if start else ""
    after = f"... [{len(text) - start - width} chars]" if start + width < len(text) else ""
    return f"{before}{text[start : start + width]}{after}"


GREP = Tool(name="grep", schema=lambda _: GrepSchema, steps=steps)
