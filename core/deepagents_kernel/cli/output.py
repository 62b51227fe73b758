"""What the command writes: results to standard output, errors and warnings to standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

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


def one_line(text: str) -> str:
    """*text* with every run of white space one blank: what others say must not break a table."""
    return " ".join(text.split())


class _Stream:
    """One stream; rich is imported when it is a terminal, and costs nothing when it is not."""

    def __init__(self, file: TextIO | None) -> None:
        # Python has none where the descriptor was closed before it started.
        file = io.StringIO() if file is None else file
        self.file = file
        self.is_terminal = _is_terminal(file)
        self._console: Any = None

    def line(self, *parts: tuple[str, str], end: str = "\n") -> None:
        """Write texts with their styles as one line, as long as it is."""
        if self.is_terminal:
            try:
                self._styled(*parts, end=end)
            except ImportError:
                # An installation that lacks a package has to be able to say so.
                pass
            else:
                return
        self.file.write("".join(text for text, _ in parts) + end)
        self.file.flush()

    def _styled(self, *parts: tuple[str, str], end: str) -> None:
        from rich.console import Console
        from rich.text import Text

        if self._console is None:
            self._console = Console(file=self.file, highlight=False)
        self._console.print(Text.assemble(*parts), soft_wrap=True, end=end)


def _is_terminal(file: TextIO) -> bool:
    try:
        return file.isatty()
    except ValueError:  # it is closed
        return False


def _private(file: TextIO) -> TextIO:
    """A stream to where *file* leads now, wherever descriptor 1 leads from now on: to standard error.

    Where *file* is not descriptor 1, as in a test, it is returned itself and no descriptor is touched.
    """
    try:
        file.flush()
        # With 2 closed there is nowhere to lead 1 to, and the copy of 1 would become 2.
        os.fstat(2)
        if file.fileno() != 1:
            return file
        kept = os.dup(1)
    except (OSError, ValueError, AttributeError):
        return file
    os.dup2(2, 1)
    # Nobody closes it: results are written until the process ends.
    return open(kept, "w", encoding=file.encoding, errors="backslashreplace", closefd=False)


class Output:
    """The two streams of one call of the command.

    Colour is used on a terminal only, and not at all with ``NO_COLOR``. Made anew for each call, so that
    streams which a caller has replaced are the ones written to.
    """

    def __init__(self) -> None:
        self._out = _Stream(sys.stdout)
        self._err = _Stream(sys.stderr)
        self._carriage_return = ""

    def keep_to_itself(self) -> None:
        """Have nobody else write to standard output, for the rest of the process.

        What plugins, their child processes and their C code print, now or at the exit, goes to standard
        error: a document for a program must be the only thing that the program reads.
        """
        self._out = _Stream(_private(self._out.file))
        sys.stdout = sys.stderr

    @property
    def width(self) -> int | None:
        """How many columns a line has; ``None`` when the result goes to a file or a program."""
        if not self._out.is_terminal:
            return None
        # Imported only where it is needed, as what it brings along is not little: listings have to be fast.
        import shutil

        return shutil.get_terminal_size().columns

    def line(self, text: str, style: str = "") -> None:
        """Write a line of a result, as long as it is."""
        self._out.line((safe(text), style))

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
        self._err.line((text, ""), end="")

    def _note(self, text: str, style: str) -> None:
        self._err.line((f"{PROGRAM}: ", style), (safe(text), ""))
