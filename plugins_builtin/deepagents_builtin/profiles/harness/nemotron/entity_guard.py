"""See to it that ids are resolved: the right one is looked up, and people read names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware.types import (
    AgentState,
    ExtendedModelResponse,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from deepagents_builtin.profiles.harness.nemotron.entities import is_lookup, missing_lookups
from deepagents_builtin.profiles.harness.nemotron.names import ENTITY_GUARD, LOOP_RISK, MESSAGES, turn_of
from deepagents_kernel.behaviour.flags import fired, flag_update
from deepagents_kernel.behaviour.guards import AnswerGuard
from deepagents_kernel.behaviour.vocabulary import tool_names
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langgraph.runtime import Runtime

    from deepagents_kernel.behaviour.turns import Turn

_log = get_logger(__name__)

_PRE_FLAG = "nemotron_entity_pre_nudged"
# Only a model request shows the tools. A run may go on in another process, where there was none yet.
_TOOLS_KEY = "nemotron_entity_tools"


class EntityState(AgentState[Any]):
    """The state keys of both variants, and the names of the tools."""

    nemotron_entity_pre_nudged: NotRequired[Annotated[list[str], PrivateStateAttr]]
    nemotron_entity_guard_fired: NotRequired[Annotated[list[str], PrivateStateAttr]]
    nemotron_entity_tools: NotRequired[Annotated[list[str], PrivateStateAttr]]


class EntityResolutionGuardMiddleware(AnswerGuard):
    """Names the lookups that are missing, once after tool results and once for the answer."""

    state_schema = EntityState
    messages = MESSAGES
    message_name = ENTITY_GUARD
    flag = "nemotron_entity_guard_fired"
    risk = LOOP_RISK

    def objection(self, answer: AIMessage, turn: Turn) -> str | None:
        """Nothing: which tools there are stands in the state."""
        return self.objection_in({}, answer, turn)

    def objection_in(self, state: Mapping[str, Any], answer: AIMessage, turn: Turn) -> str | None:
        """The lookups that are missing for the answer."""
        return _request_for(missing_lookups(turn.text, turn.calls, _offered(state), answer.text))

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the host passes it
        """Name the lookups that are missing after those that were made."""
        turn = turn_of(state["messages"])
        if not isinstance(turn.last, ToolMessage) or fired(state, _PRE_FLAG, turn):
            return None
        if LOOP_RISK.reached(turn) or not turn.called(is_lookup):
            return None
        text = _request_for(missing_lookups(turn.text, turn.calls, _offered(state)))
        if text is None:
            return None
        _log.debug("nudged", nudge=ENTITY_GUARD, turn=turn.key)
        return {"messages": [MESSAGES.nudge(ENTITY_GUARD, text)], **flag_update(state, _PRE_FLAG, turn)}

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Name the lookups that are missing after those that were made."""
        return self.before_model(state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Note which tools there are."""
        return _with_tools_noted(request, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Note which tools there are."""
        return _with_tools_noted(request, await handler(request))


def _offered(state: Any) -> frozenset[str]:
    return frozenset((state or {}).get(_TOOLS_KEY) or ())


def _with_tools_noted(request: ModelRequest[Any], response: Any) -> Any:
    """The response with an update of the state, if the tools are others than those that stand there."""
    offered = sorted(tool_names(request.tools))
    if isinstance(response, AIMessage):
        response = ModelResponse(result=[response])
    if not isinstance(response, ModelResponse) or _offered(request.state) == frozenset(offered):
        return response
    return ExtendedModelResponse(response, Command(update={_TOOLS_KEY: offered}))


def _request_for(missing: Sequence[str]) -> str | None:
    if not missing:
        return None
    lines = "\n".join(f"- {item}" for item in missing)
    return f"Some of what the request is about is not resolved yet:\n{lines}\nLook it up, then go on."
