"""See to it that ids are resolved: the right one is looked up, and people read names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import ToolMessage

from deepagents_builtin.profiles.harness.nemotron.entities import is_lookup, missing_lookups
from deepagents_builtin.profiles.harness.nemotron.names import ENTITY_GUARD, LOOP_RISK, MESSAGES, turn_of
from deepagents_kernel.behaviour.flags import fired, flag_update
from deepagents_kernel.behaviour.guards import AnswerGuard
from deepagents_kernel.behaviour.vocabulary import tool_names
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import AIMessage
    from langgraph.runtime import Runtime

    from deepagents_kernel.behaviour.turns import Turn

_log = get_logger(__name__)

_PRE_FLAG = "nemotron_entity_pre_nudged"


class EntityState(AgentState[Any]):
    """The state keys of both variants."""

    nemotron_entity_pre_nudged: NotRequired[Annotated[list[str], PrivateStateAttr]]
    nemotron_entity_guard_fired: NotRequired[Annotated[list[str], PrivateStateAttr]]


class EntityResolutionGuardMiddleware(AnswerGuard):
    """Names the lookups that are missing, once after tool results and once for the answer."""

    state_schema = EntityState
    messages = MESSAGES
    message_name = ENTITY_GUARD
    flag = "nemotron_entity_guard_fired"
    risk = LOOP_RISK

    def __init__(self) -> None:
        super().__init__()
        # The tools of the stack, which only a model request shows. They are the same in every run.
        self._offered: frozenset[str] = frozenset()

    def objection(self, answer: AIMessage, turn: Turn) -> str | None:
        """The lookups that are missing for the answer."""
        return _request_for(missing_lookups(turn.text, turn.calls, self._offered, answer.text))

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the host passes it
        """Name the lookups that are missing after those that were made."""
        turn = turn_of(state["messages"])
        if not isinstance(turn.last, ToolMessage) or fired(state, _PRE_FLAG, turn):
            return None
        if LOOP_RISK.reached(turn) or not turn.called(is_lookup):
            return None
        text = _request_for(missing_lookups(turn.text, turn.calls, self._offered))
        if text is None:
            return None
        _log.debug("nudged", nudge=ENTITY_GUARD, turn=turn.key)
        return {"messages": [MESSAGES.nudge(ENTITY_GUARD, text)], **flag_update(state, _PRE_FLAG, turn)}

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Name the lookups that are missing after those that were made."""
        return self.before_model(state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Note which tools there are."""
        self._offered = tool_names(request.tools)
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Note which tools there are."""
        self._offered = tool_names(request.tools)
        return await handler(request)


def _request_for(missing: Sequence[str]) -> str | None:
    if not missing:
        return None
    lines = "\n".join(f"- {item}" for item in missing)
    return f"Some of what the request is about is not resolved yet:\n{lines}\nLook it up, then go on."
