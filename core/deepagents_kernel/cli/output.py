"""What the command writes: results to standard output, errors and warnings to standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from deepagents_kernel.files.text import steers_display

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "deepagents-kernel"
_KEPT = "\n\t"
_STRANGE = "\N{REPLACEMENT CHARACTER}"


def safe(text: str) -> str:
    """*text* without control characters: what a model or a file says must not steer the terminal.

    Lines that end with carriage return and line feed end with the line feed alone.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(_STRANGE if char not in _KEPT and steers_display(char) else char for char in text)


class Output:
    """The two streams of one call of the command.

    Colour is used on a terminal only, and not at all with ``NO_COLOR``. Made anew for each call, so that
    streams which a caller has replaced are the ones written to.
    """

    def __init__(self) -> None:
        self._out = Console(file=sys.stdout, highlight=False)
        self._err = Console(file=sys.stderr, highlight=False)
        self._carriage_return = ""

    def line(self, text: str, style: str = "") -> None:
        """Write a line of a result, as long as it is."""
        self._out.print(Text(safe(text), style=style), soft_wrap=True)

    def part(self, text: str) -> None:
        """Write a part of a text as it is, at once."""
        text = self._carriage_return + text
        # A line end may come in two parts.
        self._carriage_return = "\r" if text.endswith("\r") else ""
        # Not through rich, which would turn tabs into spaces.
        self._out.file.write(safe(text.removesuffix("\r")))
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
