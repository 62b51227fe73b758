"""What the file tools of one middleware work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.middleware.filesystem import constants

if TYPE_CHECKING:
    from deepagents_kernel.contracts.backend import BackendProtocol


@frozen(eq=False)
class Workspace:
    """A backend, and the limits that apply to it.

    Attributes:
        backend: where the files live.
        read_char_limit: size of a ``read_file`` result; ``None`` for no limit.
        list_char_limit: size of an ``ls``, ``glob`` or ``grep`` result.
        read_limit: lines that ``read_file`` reads when the model names no limit.
        grep_max_count: cap of a search that names none; ``None`` for no cap.
        glob_timeout: seconds that a glob may take; ``None`` for ``constants.GLOB_TIMEOUT``.
    """

    backend: BackendProtocol
    read_char_limit: int | None = constants.TOOL_RESULT_CHAR_LIMIT
    list_char_limit: int = constants.TOOL_RESULT_CHAR_LIMIT
    read_limit: int = constants.DEFAULT_READ_LIMIT
    grep_max_count: int | None = 1000
    glob_timeout: float | None = None

    @property
    def glob_deadline(self) -> float:
        """Seconds that a glob may take, as of now."""
        return constants.GLOB_TIMEOUT if self.glob_timeout is None else self.glob_timeout
