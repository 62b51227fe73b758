"""What can be wrong with the arguments of ``FilesystemMiddleware``."""

from __future__ import annotations

from deepagents_kernel.errors import DeepAgentsError


class FilesystemArgumentError(DeepAgentsError, ValueError):
    """An argument has a value that makes no sense.

    Attributes:
        argument: its name.
        reason: what is wrong with it.
        hint: the way out, or an empty string.
    """

    def __init__(self, argument: str, reason: str, hint: str = "") -> None:
        self.argument = argument
        self.reason = reason
        self.hint = hint
        text = f"FilesystemMiddleware({argument}=...): {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class FilesystemArgumentTypeError(FilesystemArgumentError, TypeError):
    """An argument has the wrong type."""
