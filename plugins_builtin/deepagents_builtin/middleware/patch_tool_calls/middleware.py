"""The middleware that mends a history at the start of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState

from deepagents_builtin.middleware.patch_tool_calls.repair import Repair, Rewrite, find_gaps, mending_write
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage
    from langgraph.runtime import Runtime

_log = get_logger(__name__)


class PatchToolCallsMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Give every tool call without a result an error result, and drop results without a call.

    A run that was cancelled or interrupted leaves calls unanswered, and providers refuse such a history:
    without this the thread could never be continued. It acts once, when a run starts, and never between
    two model calls.

    Args:
        rewrite: what to write when an answer has to go between stored messages. ``"all"`` writes the whole
            list and works with any reducer; ``"suffix"`` writes only what comes behind the first gap, and
            needs a reducer that moves a message which is removed and added again in one write. A deep agent
            is set to ``"suffix"`` when its ``messages`` channel does that.
    """

    def __init__(self, *, rewrite: Rewrite = "all") -> None:
        super().__init__()
        self.rewrite: Rewrite = rewrite

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the host passes it
        """Mend the history, or return nothing when it is whole."""
        messages = state.get("messages") or []
        repair = find_gaps(messages)
        if repair is None:
            return None
        _report(messages, repair)
        return {"messages": mending_write(messages, repair, self.rewrite)}

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Mend the history, or return nothing when it is whole."""
        return self.before_agent(state, runtime)


def _report(messages: Sequence[BaseMessage], repair: Repair) -> None:
    if repair.answers:
        answered = [answer.tool_call_id for answers in repair.answers.values() for answer in answers]
        _log.info("tool_calls_patched", tool_call_ids=answered)
    if repair.orphans:
        dropped = [getattr(messages[index], "tool_call_id", "") for index in sorted(repair.orphans)]
        _log.warning("orphan_tool_results_dropped", tool_call_ids=dropped)
