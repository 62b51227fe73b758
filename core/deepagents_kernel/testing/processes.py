"""Run a command to its end, or to the end of one's patience, and keep what it wrote."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class ProcessTimeoutError(DeepAgentsError, TimeoutError):
    """A command took longer than it may; it was ended, with everything that it had started.

    Attributes:
        command: the command.
        timeout: how many seconds it was given.
        stdout: what it had written until then.
        stderr: the same, as errors.
    """

    def __init__(self, command: Sequence[str], timeout: float, stdout: str, stderr: str) -> None:
        self.command = tuple(command)
        self.timeout = timeout
        self.stdout = stdout
        self.stderr = stderr
        text = f"not done after {timeout:g} seconds: {_shown(command)}\n  pass a larger timeout="
        super().__init__("\n".join([text, *labelled(stdout=stdout, stderr=stderr)]))


def _shown(command: Sequence[str], limit: int = 200) -> str:
    text = shlex.join(command)
    return text if len(text) <= limit else f"{text[:limit]}..."


@frozen
class Completed:
    """How a command ended.

    Attributes:
        returncode: its exit code; negative for the number of a signal.
        stdout: what it wrote.
        stderr: what it wrote as errors.
    """

    returncode: int
    stdout: str
    stderr: str


def labelled(**texts: str) -> list[str]:
    """Each text that is not empty, with its name above it and indented."""
    lines = []
    for name, text in texts.items():
        if text.strip():
            lines += [f"  {name}:", *(f"    {line}" for line in text.rstrip().splitlines())]
    return lines


def run_process(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float,
    stdin: str | None = None,
) -> Completed:
    """Run a command; its output is read as UTF-8.

    Args:
        command: program and arguments.
        env: all of its environment variables.
        cwd: the folder in which it runs.
        timeout: how many seconds it may take.
        stdin: what it reads; ``None`` for nothing at all, never the terminal.

    Raises:
        ProcessTimeoutError: it was not done in time.
    """
    process = subprocess.Popen(  # noqa: S603 - what it runs is the business of the test
        command,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="backslashreplace",
        # A group of its own, so that what it starts can be ended together with it.
        start_new_session=True,
    )
    with process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            stdout, stderr = process.communicate()
            raise ProcessTimeoutError(command, timeout, stdout, stderr) from None
        except BaseException:
            _end(process)
            raise
    return Completed(process.returncode, stdout, stderr)


def _end(process: subprocess.Popen[str]) -> None:
    if os.name == "nt":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
