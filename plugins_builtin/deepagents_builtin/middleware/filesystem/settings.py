"""Settings of the plugin; they hold in every stack of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen, validators

from deepagents_builtin.middleware.filesystem.constants import DEFAULT_READ_LIMIT, TOOL_RESULT_CHAR_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from attrs import Attribute

_positive = validators.and_(validators.instance_of(int), validators.ge(1))


def _optional_count(least: int) -> Callable[[Any, Attribute[Any], Any], None]:
    """``None``, or a whole number that is *least* or more."""

    def check(_settings: Any, attribute: Attribute[Any], value: Any) -> None:
        if value is not None and not (isinstance(value, int) and value >= least):
            msg = f"{attribute.name!r} must be {least} or more, or none at all; got {value!r}"
            raise ValueError(msg)

    return check


@frozen
class FilesystemSettings:
    """``[plugin."middleware.filesystem"]``.

    Attributes:
        grep_max_count: cap of a search that names none; ``None`` for no cap.
        read_limit: lines that ``read_file`` reads when the model names no limit.
        glob_timeout: seconds that a glob may take.
        result_char_limit: size of an ``ls``, ``glob`` or ``grep`` result, in characters.
        tool_token_limit_before_evict: size of a ``read_file`` result, in tokens of four characters; ``None``
            or 0 for no limit.
    """

    grep_max_count: int | None = field(default=1000, validator=_optional_count(1))
    read_limit: int = field(default=DEFAULT_READ_LIMIT, validator=_positive)
    glob_timeout: float | None = field(default=None, validator=validators.optional(validators.gt(0)))
    result_char_limit: int = field(default=TOOL_RESULT_CHAR_LIMIT, validator=_positive)
    tool_token_limit_before_evict: int | None = field(default=20_000, validator=_optional_count(0))
