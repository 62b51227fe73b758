"""The ``task`` tool: check the call, run the child, hand its result back."""
# No `from __future__ import annotations` here: LangGraph reads the annotations of the tool's functions to
# find out that it has to inject the runtime.

from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Final

from attrs import field, frozen
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.types import Command

from deepagents_builtin.middleware.subagents.channels import ParentChannels
from deepagents_builtin.middleware.subagents.children import ChildHandle
from deepagents_builtin.middleware.subagents.claims import Claims
from deepagents_builtin.middleware.subagents.errors import ResponseFormatError
from deepagents_builtin.middleware.subagents.invocation import child_config, inside_child
from deepagents_builtin.middleware.subagents.limits import depth, turn_of
from deepagents_builtin.middleware.subagents.response_format import requested_format
from deepagents_builtin.middleware.subagents.settings import SubAgentSettings
from deepagents_builtin.middleware.subagents.state_in import isolated_state
from deepagents_builtin.middleware.subagents.state_out import Handover
from deepagents_builtin.middleware.subagents.task_schema import TASK_TOOL_NAME, TaskToolSchema
from deepagents_kernel.errors import nearest
from deepagents_kernel.log import get_logger

_log = get_logger(__name__)

_LONGEST_REASON: Final = 500


@frozen(eq=False)
class Delegation:
    """Everything that a ``task`` tool works with.

    Attributes:
        children: the agents by name, in the order in which they are listed.
        private: state keys that neither go to a child nor come back.
        channels: how the parent's graph merges updates.
        settings: limits.
        claims: who changes what in one turn.
    """

    children: dict[str, ChildHandle]
    private: frozenset[str] = frozenset()
    channels: ParentChannels = field(factory=ParentChannels)
    settings: SubAgentSettings = field(factory=SubAgentSettings)
    claims: Claims = field(factory=Claims)


@frozen(eq=False)
class _Call:
    """A call that has passed every check."""

    child: ChildHandle
    description: str
    runtime: ToolRuntime[Any, Any]
    handover: Handover
    config: RunnableConfig
    delegation: Delegation

    @property
    def state(self) -> dict[str, Any]:
        return isolated_state(self.runtime.state, self.delegation.private, self.description)

    def graph(self) -> Any:
        response_format = requested_format(self.runtime.config)
        return self.child.graph() if response_format is None else self.child.graph_for(response_format)

    def run(self) -> Command[Any]:
        with inside_child():
            result = self.graph().invoke(self.state, self.config)
        return self.handover.command(result)

    async def arun(self) -> Command[Any]:
        with inside_child():
            result = await self.graph().ainvoke(self.state, self.config)
        return self.handover.command(result)

    def failed(self, error: Exception) -> ToolMessage:
        """The result of a child that raised; its siblings go on. What steers the graph goes on."""
        if self.delegation.settings.raise_errors or _steers(error):
            raise error
        name, kind = self.child.name, type(error).__name__
        call_id = self.handover.call_id
        _log.warning("subagent_failed", subagent=name, call_id=call_id, error=kind, exc_info=error)
        reason = _shorten(str(error))
        text = (
            f"Subagent `{name}` failed with {kind}{f': {reason}' if reason else ''}. It gave no report, and "
            "what it did before may have taken effect."
        )
        return _error(text, call_id)


def build_task_tool(delegation: Delegation, description: str) -> StructuredTool:
    """A ``task`` tool over some agents.

    Args:
        delegation: what it works with.
        description: what the model reads; :func:`.listing.task_description` makes it.
    """

    def task(
        description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]
    ) -> ToolMessage | Command[Any]:
        call = _checked(delegation, description, subagent_type, runtime)
        if isinstance(call, ToolMessage):
            return call
        try:
            return call.run()
        except Exception as error:  # a child can raise anything; `failed` sorts it
            return call.failed(error)

    async def atask(
        description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]
    ) -> ToolMessage | Command[Any]:
        call = _checked(delegation, description, subagent_type, runtime)
        if isinstance(call, ToolMessage):
            return call
        try:
            return await call.arun()
        except Exception as error:  # as above
            return call.failed(error)

    return StructuredTool(
        name=TASK_TOOL_NAME,
        description=description,
        func=task,
        coroutine=atask,
        args_schema=TaskToolSchema,
    )


def _checked(
    delegation: Delegation, description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]
) -> _Call | ToolMessage:
    call_id = runtime.tool_call_id
    settings = delegation.settings
    if depth() >= settings.max_depth:
        return _error(_too_deep(settings), call_id)
    child = delegation.children.get(subagent_type)
    if child is None:
        return _error(_unknown_type(subagent_type, list(delegation.children)), call_id)
    if not call_id:
        msg = (
            f"the `{TASK_TOOL_NAME}` tool was called without a tool call id, so its result has nowhere to go"
        )
        raise ValueError(msg)
    turn = turn_of(runtime.state, TASK_TOOL_NAME)
    if turn.position(call_id) >= settings.max_fan_out:
        return _error(_too_wide(settings, len(turn.calls)), call_id)
    alone = len(turn.calls) < 2 or not turn.message_id
    may_change = _always if alone else partial(_claim, delegation.claims, turn.message_id, call_id)
    handover = Handover(
        subagent=subagent_type,
        call_id=call_id,
        inherited=runtime.state,
        private=delegation.private,
        channels=delegation.channels,
        may_change=may_change,
    )
    config = child_config(runtime.config, settings.max_steps)
    return _Call(child, description, runtime, handover, config, delegation)


def _steers(error: Exception) -> bool:
    """Whether an exception is about the run and not about the child's work."""
    return isinstance(error, GraphBubbleUp | CancelledError | ResponseFormatError) or is_invalid_resume(error)


def _always(_key: str) -> bool:
    return True


def _claim(claims: Claims, turn: str, call_id: str, key: str) -> bool:
    return claims.take(turn, key, call_id)


def _error(text: str, call_id: str | None) -> ToolMessage:
    return ToolMessage(content=text, name=TASK_TOOL_NAME, tool_call_id=call_id or "", status="error")


def _unknown_type(asked: str, known: list[str]) -> str:
    close = nearest(asked, known, count=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    allowed = ", ".join(f"`{name}`" for name in known)
    return (
        f"There is no subagent `{_shorten(asked)}`, so nothing was started.{hint} "
        f"Allowed values of `subagent_type`: {allowed}."
    )


def _too_deep(settings: SubAgentSettings) -> str:
    levels = "one level" if settings.max_depth == 1 else f"{settings.max_depth} levels"
    return (
        f"Nothing was started: you are a subagent yourself, and delegation is limited to {levels}. "
        "Do the work with your other tools."
    )


def _too_wide(settings: SubAgentSettings, asked: int) -> str:
    return (
        f"This call was not started: one message may start {settings.max_fan_out} subagents, and this one "
        f"asked for {asked}. Repeat the call once the others have reported."
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
