"""What the command writes: results to standard output, errors and warnings to standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "deepagents-kernel"
_KEPT = "\n\t"
_STRANGE = "\N{REPLACEMENT CHARACTER}"


def safe(text: str) -> str:
    """*text* without control characters: what a model or a file says must not steer the terminal."""
    return "".join(
        char if char.isprintable() or char in _KEPT else "\N{REPLACEMENT CHARACTER}" for char in text
    )


class Output:
    """The two streams of one call of the command.

    Colour is used on a terminal only, and not at all with ``NO_COLOR``. Made anew for each call, so that
    streams which a caller has replaced are the ones written to.
    """

    def __init__(self) -> None:
        self._out = Console(file=sys.stdout, highlight=False)
        self._err = Console(file=sys.stderr, highlight=False)

    def line(self, text: str, style: str = "") -> None:
        """Write a line of a result, as long as it is."""
        self._out.print(Text(safe(text), style=style), soft_wrap=True)

    def part(self, text: str) -> None:
        """Write a part of a text as it is, at once."""
        # Not through rich, which would turn tabs into spaces.
        self._out.file.write(safe(text))
        self._out.file.flush()

    def json(self, value: Mapping[str, Any], *, indent: int | None = None) -> None:
        """Write JSON: one line, or indented. ASCII only, so that no encoding can spoil it."""
        self._out.file.write(json.dumps(value, indent=indent, default=str) + "\n")
        self._out.file.flush()

    def error(self, text: str) -> None:
        """Write an error, with the name of the program in front."""
        self._note(text, "red")

    def warning(self, text: str) -> None:
        """Write a warning, with the name of the program in front."""
        self._note(f"warning: {text}", "yellow")

    def traceback(self, text: str) -> None:
        """Write a traceback as Python made it."""
        self._err.print(Text(text), soft_wrap=True, end="")

    def _note(self, text: str, style: str) -> None:
        line = Text(f"{PROGRAM}: ", style=style)
        line.append(safe(text), style="default")
        self._err.print(line, soft_wrap=True)
