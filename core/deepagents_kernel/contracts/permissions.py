"""Access rules on files: the type. Matching and enforcement belong to the filesystem plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from deepagents_kernel.errors import DeepAgentsError, nearest_hint

FilesystemOperation = Literal["read", "write"]
PermissionMode = Literal["allow", "deny", "interrupt"]


class PermissionRuleError(DeepAgentsError, ValueError):
    """A permission rule is malformed.

    Attributes:
        field: ``operations``, ``paths`` or ``mode``.
        value: the value that is wrong.
        reason: what is wrong with it.
        hint: the way out, or an empty string.
    """

    def __init__(self, field: str, value: object, reason: str, hint: str = "") -> None:
        self.field = field
        self.value = value
        self.reason = reason
        self.hint = hint
        text = f"permission rule, {field}: {value!r} {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


class UnsupportedPathError(PermissionRuleError, NotImplementedError):
    """A path pattern uses a form that looks meaningful and has no meaning here."""


@dataclass
class FilesystemPermission:
    """A rule: these operations, on paths that match one of these patterns, are allowed, denied or asked.

    Rules are kept in a list; the first that fits decides.

    Attributes:
        operations: ``"read"``, ``"write"`` or both.
        paths: patterns, absolute in the agent's file tree.
        mode: ``"allow"``, ``"deny"``, or ``"interrupt"`` to ask a human.

    Raises:
        PermissionRuleError: an unknown operation or mode, a pattern that isn't absolute or steps upwards, or
            a bare string where a list belongs; a ``ValueError``.
        UnsupportedPathError: a ``~`` component; a ``NotImplementedError`` as well.
    """

    operations: list[FilesystemOperation]
    paths: list[str]
    mode: PermissionMode = "allow"

    def __post_init__(self) -> None:
        _refuse_string("operations", self.operations)
        _refuse_string("paths", self.paths)
        for operation in self.operations:
            _check_choice("operations", operation, get_args(FilesystemOperation))
        for path in self.paths:
            _check_path(path)
        _check_choice("mode", self.mode, get_args(PermissionMode))


def _refuse_string(field: str, value: object) -> None:
    # Taken letter by letter it would be a rule on "r", "e", "a", "d".
    if isinstance(value, str):
        raise PermissionRuleError(field, value, "is a string where a list belongs", f"write [{value!r}]")


def _check_choice(field: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        known = f"one of {', '.join(repr(choice) for choice in choices)}"
        hint = nearest_hint(value, choices) if isinstance(value, str) else ""
        raise PermissionRuleError(field, value, f"is not {known}", hint)


def _check_path(path: object) -> None:
    if not isinstance(path, str) or not path.startswith("/"):
        absolute = f"write {'/' + path!r}" if isinstance(path, str) and path else ""
        raise PermissionRuleError("paths", path, "does not start with '/'", absolute)
    parts = path.replace("\\", "/").split("/")
    if ".." in parts:
        raise PermissionRuleError("paths", path, "has a '..' component", "write the path that is meant")
    if "~" in parts:
        reason = "has a '~' component; the agent's file tree has no home folder"
        raise UnsupportedPathError("paths", path, reason, "write the folder in full")
