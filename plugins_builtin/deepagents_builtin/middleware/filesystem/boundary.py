"""The one place where a file tool runs, and where whatever its backend raises becomes an error result.

A path that a model chose must never end the run: every exception becomes a message, with two exceptions. What
LangGraph raises to control the flow (interrupts) passes, and so does what isn't an ``Exception`` (a
cancelled task, Ctrl-C).
"""

# No postponed annotations: the host reads the signatures of the two functions made here to find `runtime`.

import re
from typing import TYPE_CHECKING, Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.errors import GraphBubbleUp, is_invalid_resume

from deepagents_builtin.middleware.filesystem.calls import BackendCall, RefusedError, Steps, Tool
from deepagents_builtin.middleware.filesystem.results import Outcome, refusal, to_message
from deepagents_builtin.middleware.filesystem.workers import (
    DeadlineExpiredError,
    WorkersBusyError,
    await_before,
    run_before,
    run_before_async,
)
from deepagents_builtin.middleware.filesystem.workspace import Workspace
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_log = get_logger(__name__)

#: Characters of an unexpected exception that the model sees.
MAX_REASON = 300

# An absolute path with two parts or more. The model's own paths are put back afterwards.
_ABSOLUTE_PATH = re.compile(
    r"""(?<![\w/.:~-])/[^\s'"`<>|:;,()\[\]{}/]+/[^\s'"`<>|:;,()\[\]{}]*|\b[A-Za-z]:\\[^\s'"]+"""
)


def bind(tool: Tool, workspace: Workspace, description: str) -> StructuredTool:
    """A tool of LangChain that runs *tool* on *workspace*, sync and async."""

    def call(runtime: ToolRuntime, **arguments: Any) -> ToolMessage:
        try:
            outcome = _run(tool.steps(workspace, **arguments), workspace.backend)
        except Exception as error:
            outcome = _outcome_of(error, tool, arguments)
        return to_message(outcome, tool=tool.name, tool_call_id=runtime.tool_call_id)

    async def acall(runtime: ToolRuntime, **arguments: Any) -> ToolMessage:
        try:
            outcome = await _arun(tool.steps(workspace, **arguments), workspace.backend)
        except Exception as error:
            outcome = _outcome_of(error, tool, arguments)
        return to_message(outcome, tool=tool.name, tool_call_id=runtime.tool_call_id)

    return StructuredTool(
        name=tool.name,
        description=description,
        args_schema=tool.schema(workspace),
        func=call,
        coroutine=acall,
    )


def _run(steps: Steps, backend: BackendProtocol) -> Outcome:
    try:
        request = next(steps)
        while True:
            try:
                reply = _ask(backend, request)
            except Exception as error:
                if passes(error):
                    raise
                request = steps.throw(error)
            else:
                request = steps.send(reply)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome
    finally:
        steps.close()


async def _arun(steps: Steps, backend: BackendProtocol) -> Outcome:
    try:
        request = next(steps)
        while True:
            try:
                reply = await _ask_async(backend, request)
            except Exception as error:
                if passes(error):
                    raise
                request = steps.throw(error)
            else:
                request = steps.send(reply)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome
    finally:
        steps.close()


def _ask(backend: BackendProtocol, request: BackendCall) -> Any:
    method: Callable[..., Any] = getattr(backend, request.method)
    options = request.options(method)
    if request.deadline is None:
        return method(*request.arguments, **options)
    return run_before(request.deadline, lambda: method(*request.arguments, **options))


async def _ask_async(backend: BackendProtocol, request: BackendCall) -> Any:
    twin = f"a{request.method}"
    method: Callable[..., Awaitable[Any]] = getattr(backend, twin)
    options = request.options(method)
    if request.deadline is None:
        return await method(*request.arguments, **options)
    if getattr(type(backend), twin, None) is getattr(BackendProtocol, twin):
        # The default twin is the sync method on a thread that nobody counts and that outlives its deadline.
        plain: Callable[..., Any] = getattr(backend, request.method)
        return await run_before_async(request.deadline, lambda: plain(*request.arguments, **options))

    async def native() -> Any:
        return await method(*request.arguments, **options)

    return await await_before(request.deadline, native)


def passes(error: Exception) -> bool:
    """Whether an exception controls the graph, so that no tool may turn it into a result."""
    return isinstance(error, GraphBubbleUp) or is_invalid_resume(error)


def _outcome_of(error: Exception, tool: Tool, arguments: dict[str, Any]) -> Outcome:
    if passes(error):
        raise error
    if isinstance(error, RefusedError):
        return refusal(str(error))
    if isinstance(error, NotImplementedError):
        return refusal(f"{tool.name} is not supported by this file system.")
    if isinstance(error, WorkersBusyError):
        return refusal(
            f"{tool.name} is busy: earlier calls are still running. Try again later, or narrow the search."
        )
    if isinstance(error, DeadlineExpiredError):
        return refusal(
            f"{tool.name} was stopped after {error.seconds:g} seconds. "
            "Narrow the pattern or search a smaller folder."
        )
    _log.warning("file_tool_failed", tool=tool.name, error=type(error).__name__, exc_info=error)
    unknown = (
        " It is not known whether the file was changed: check before you try again." if tool.writes else ""
    )
    return refusal(f"{tool.name} failed: {describe(error, arguments)}.{unknown}")


def describe(error: Exception, arguments: dict[str, Any]) -> str:
    """Type and short text of an exception, without paths of the host that the model doesn't know.

    The full text is in the log. An ``OSError`` prints the real path that it is about, and others may.
    """
    kind = type(error).__name__
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    text = " ".join(text.split())
    known = [value for value in arguments.values() if isinstance(value, str)]
    text = _ABSOLUTE_PATH.sub(lambda found: found[0] if found[0] in known else "<path>", text)
    if len(text) > MAX_REASON:
        text = f"{text[:MAX_REASON]}..."
    return f"{kind}: {text.rstrip('.')}" if text else kind
