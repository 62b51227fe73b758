"""The error of a configuration that can't be read, or that says what it can't say."""

from __future__ import annotations

from deepagents_kernel.config.paths import shown_path
from deepagents_kernel.errors import DeepAgentsError


class ConfigError(DeepAgentsError, ValueError):
    """A configuration file or variable can't be read, or has an unknown key or a bad value.

    Attributes:
        path: the file; ``environment`` for a variable.
        line: number of the line, or ``None`` when it is about no line.
        key: path of the key in the file, or name of the variable; empty when it is about the whole file.
        reason: what is wrong.
        hint: the way out, or an empty string.
    """

    def __init__(
        self, path: str, reason: str, hint: str = "", *, key: str = "", line: int | None = None
    ) -> None:
        self.path = path
        self.line = line
        self.key = key
        self.reason = reason
        self.hint = hint
        place = shown_path(path) if line is None else f"{shown_path(path)}:{line}"
        text = ": ".join(part for part in (place, key, reason) if part)
        super().__init__(f"{text}\n  {hint}" if hint else text)
