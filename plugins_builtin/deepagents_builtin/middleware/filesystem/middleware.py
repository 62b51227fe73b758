"""``FilesystemMiddleware``: file tools for an agent, bound to one backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langchain.agents.middleware.types import AgentMiddleware, TracePolicy, omit_payload

from deepagents_builtin.middleware.filesystem.boundary import bind
from deepagents_builtin.middleware.filesystem.constants import (
    DEFAULT_READ_LIMIT,
    NUM_CHARS_PER_TOKEN,
    TOOL_RESULT_CHAR_LIMIT,
)
from deepagents_builtin.middleware.filesystem.descriptions import describe
from deepagents_builtin.middleware.filesystem.errors import FilesystemArgumentError
from deepagents_builtin.middleware.filesystem.names import FsToolName, select_tools
from deepagents_builtin.middleware.filesystem.prompt import with_prompt_hook
from deepagents_builtin.middleware.filesystem.state import state_schema_of
from deepagents_builtin.middleware.filesystem.tools import TOOLS
from deepagents_builtin.middleware.filesystem.workspace import Workspace
from deepagents_kernel.contracts.backend import BackendProtocol, ensure_backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.tools import BaseTool

DEFAULT_GREP_MAX_COUNT = 1000
DEFAULT_TOKEN_LIMIT = 20_000


class FilesystemMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent ``ls``, ``read_file``, ``write_file``, ``edit_file``, ``glob`` and ``grep``.

    Whatever goes wrong in a call becomes an error result that the model can act on; no call ends the run.

    Args:
        backend: where the files live; without one, in the state of the graph.
        system_prompt: text appended to the system message of each model call; none by default.
        custom_tool_descriptions: tool name to the description to use instead of ours. Names of tools that
            aren't bound are ignored, and so are empty texts.
        tool_token_limit_before_evict: size of a ``read_file`` result in tokens of four characters; ``None``
            or 0 for no limit.
        grep_max_count: cap of a search that names none; ``None`` for no cap.
        tools: names of the tools to bind, in any order and with ``read_file`` among them; ``"all"`` or
            ``None`` for all. A tool that is left out can't be called at all.
        read_limit: lines that ``read_file`` reads when the model names no limit.
        glob_timeout: seconds that a glob may take; ``None`` for ``constants.GLOB_TIMEOUT`` as it is at the
            call.
        result_char_limit: size of an ``ls``, ``glob`` or ``grep`` result in characters.
        extra_tools: further tools to offer along with these.

    Attributes:
        backend: the backend that the tools are bound to.
        tools: the bound tools, in a fixed order, then the further ones.
        system_prompt: the text that is appended, or an empty string.

    Raises:
        FilesystemArgumentError: a value makes no sense; also a ``ValueError``.
        BackendTypeError: the backend is a class, a factory or something else; also a ``TypeError``.
    """

    # What a hook is given is the whole state: it would fill traces and says nothing about this middleware.
    trace_policy = TracePolicy(process_inputs=omit_payload)

    def __init__(
        self,
        *,
        backend: BackendProtocol | None = None,
        system_prompt: str | None = None,
        custom_tool_descriptions: Mapping[str, str] | None = None,
        tool_token_limit_before_evict: int | None = DEFAULT_TOKEN_LIMIT,
        grep_max_count: int | None = DEFAULT_GREP_MAX_COUNT,
        tools: Iterable[FsToolName] | Literal["all"] | None = None,
        read_limit: int = DEFAULT_READ_LIMIT,
        glob_timeout: float | None = None,
        result_char_limit: int = TOOL_RESULT_CHAR_LIMIT,
        extra_tools: Sequence[BaseTool] = (),
    ) -> None:
        super().__init__()
        _at_least(0, tool_token_limit_before_evict=tool_token_limit_before_evict)
        _at_least(
            1, grep_max_count=grep_max_count, read_limit=read_limit, result_char_limit=result_char_limit
        )
        if glob_timeout is not None and not glob_timeout > 0:
            raise FilesystemArgumentError(
                "glob_timeout", f"must be more than 0 seconds, got {glob_timeout!r}"
            )
        self.backend = _default_backend() if backend is None else ensure_backend(backend)
        self.system_prompt = system_prompt or ""
        self.workspace = Workspace(
            backend=self.backend,
            read_char_limit=(tool_token_limit_before_evict or 0) * NUM_CHARS_PER_TOKEN or None,
            list_char_limit=result_char_limit,
            read_limit=read_limit,
            grep_max_count=grep_max_count,
            glob_timeout=glob_timeout,
        )
        self._descriptions = dict(custom_tool_descriptions or {})
        self._selected = select_tools(tools)
        self.tools = [*(self.build_tool(name) for name in self._selected), *extra_tools]
        schema = state_schema_of(self.backend)
        if schema is not None:
            self.state_schema = schema
        if self.system_prompt:
            self.__class__ = with_prompt_hook(type(self))

    def build_tool(self, name: FsToolName) -> BaseTool:
        """Make one tool, bound to the backend.

        Called once for each selected tool, when everything but ``tools`` is set. Override it to change or
        wrap tools.

        Args:
            name: the tool to make.
        """
        return bind(
            TOOLS[name], self.workspace, describe(name, self._descriptions, self.workspace.read_limit)
        )


def _default_backend() -> BackendProtocol:
    from deepagents_builtin.backends.state.backend import StateBackend

    return StateBackend()


def _at_least(least: int, **values: int | None) -> None:
    for argument, value in values.items():
        if value is not None and value < least:
            raise FilesystemArgumentError(argument, f"must be {least} or more, got {value!r}")
