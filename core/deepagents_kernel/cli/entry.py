"""Where the command starts: the version costs nothing, everything else is imported when it is needed."""

from __future__ import annotations

import os
import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command with the arguments of the process, and exit."""
    if sys.argv[1:] == ["--version"]:
        from deepagents_kernel._version import __version__

        sys.stdout.write(f"deepagents-kernel {__version__}\n")
        sys.exit(0)
    _leave(_run())


def _run() -> int:
    for stream in (sys.stdout, sys.stderr):
        # A model may answer in characters that the terminal's encoding lacks; that must not end the run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        from deepagents_kernel.cli.app import app

        return app.run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("deepagents-kernel: interrupted\n")
        return _INTERRUPTED


def _leave(code: int) -> None:
    """Exit with *code*; after Ctrl-C without waiting for a model or a tool at work in a thread."""
    if code != _INTERRUPTED:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue
    os._exit(code)
