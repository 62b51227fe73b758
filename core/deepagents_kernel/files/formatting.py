"""How content is shown to a model: numbered lines, cut to a size, under safe names."""

from __future__ import annotations

import hashlib
from typing import overload

from deepagents_kernel.files.text import split_lines

#: Longer lines are continued under numbers of their own.
MAX_LINE_LENGTH = 5000
#: Tokens that a tool result may take; a token is reckoned as four characters.
TOOL_RESULT_TOKEN_LIMIT = 20_000
CHARACTERS_PER_TOKEN = 4

EMPTY_CONTENT_WARNING = "Note: this file exists but has no content."
TRUNCATION_GUIDANCE = (
    "... [cut here: the result is too long. Ask for less: a smaller path, a narrower pattern, fewer lines]"
)
TRUNCATION_MARKER_TEMPLATE = "\n... [{omitted_lines} lines left out] ...\n"

_MAX_ID_BYTES = 128
_ID_CHARACTERS = str.maketrans("./\\", "___")


def format_content_with_line_numbers(content: str | list[str], start_line: int = 1) -> str:
    r"""Number the lines of a text.

    The marker is right-aligned to the widest one and followed by two spaces. Lines over ``MAX_LINE_LENGTH``
    characters continue as ``N.1``, ``N.2``. The empty piece behind a final newline is no line.

    Args:
        content: the text, or its lines without their endings.
        start_line: number of the first line.
    """
    lines = split_lines(content) if isinstance(content, str) else content
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start_line):
        rows.append((str(number), line[:MAX_LINE_LENGTH]))
        starts = range(MAX_LINE_LENGTH, len(line), MAX_LINE_LENGTH)
        rows += [(f"{number}.{part}", line[at : at + MAX_LINE_LENGTH]) for part, at in enumerate(starts, 1)]
    width = max((len(marker) for marker, _ in rows), default=0)
    return "\n".join(f"{marker:>{width}}  {text}" for marker, text in rows)


def check_empty_content(content: str) -> str | None:
    """A reminder for the model when there is nothing but whitespace, else ``None``."""
    return None if content.strip() else EMPTY_CONTENT_WARNING


@overload
def truncate_if_too_long(result: str) -> str: ...
@overload
def truncate_if_too_long(result: list[str]) -> list[str]: ...
def truncate_if_too_long(result: list[str] | str) -> list[str] | str:
    """Cut a result to the size of a tool result and say so at its end.

    Args:
        result: a text, or a list of texts, which is cut between its elements.

    Returns:
        The same type; a cut text is exactly as long as allowed, guidance included.
    """
    limit = TOOL_RESULT_TOKEN_LIMIT * CHARACTERS_PER_TOKEN
    if isinstance(result, str):
        if len(result) <= limit:
            return result
        return f"{result[: limit - len(TRUNCATION_GUIDANCE) - 1]}\n{TRUNCATION_GUIDANCE}"
    size = 0
    for index, item in enumerate(result):
        size += len(repr(item))
        if size > limit:
            return [*result[:index], TRUNCATION_GUIDANCE]
    return result


def sanitize_tool_call_id(tool_call_id: str) -> str:
    """A tool call's id as a single file name: separators and dots replaced, long ids hashed."""
    name = tool_call_id.translate(_ID_CHARACTERS)
    if len(name.encode("utf-8", "surrogatepass")) <= _MAX_ID_BYTES:
        return name
    return f"call-{hashlib.sha256(tool_call_id.encode('utf-8', 'surrogatepass')).hexdigest()}"
