"""What the exit codes of the command mean."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """Exit codes; ``docs/cli.md`` has the same table."""

    OK = 0
    FAILED = 1
    USAGE = 2
    APPROVAL = 3
    INTERRUPTED = 130
