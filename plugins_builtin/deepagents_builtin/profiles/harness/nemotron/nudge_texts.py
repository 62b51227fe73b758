"""What the nudges say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

TRANSITION: Final = (
    "The user has turned to something new, and the conversation so far is about something else. If you have "
    "the tool compact_conversation, call it once before you begin; otherwise begin, and do not reuse earlier "
    "file contents without reading them again."
)
ACTION_COMMIT: Final = (
    "The user has told you to act. Carry the agreed action out with the tool for it, in this turn; do not "
    "ask for a confirmation that you have already got, and do not only describe what you would do."
)
TOOL_CHAIN: Final = (
    "The lookup is one half of what the user asked for. If its result says what you need, call the tool that "
    "carries out the action now; if it does not, look up what is missing first."
)
DOMAIN_TOOL: Final = (
    "The file tools found nothing here. What the user asks about is handled by the other tools that you have "
    "used in this turn: go on with those instead of searching files."
)
FILESYSTEM_REQUEST: Final = (
    "The user refers to a file. You can read files: try read_file, or ls and glob to find it, before you say "
    "that you have no access or ask for the text."
)


def domain_tool_preference(names: Sequence[str]) -> str:
    """The advice to begin with domain tools.

    Args:
        names: the tools, those to be named only.
    """
    return (
        "Nothing in this request is about files. Begin with the tools made for the matter "
        f"({', '.join(names)}) and leave the file tools for what they return."
    )
