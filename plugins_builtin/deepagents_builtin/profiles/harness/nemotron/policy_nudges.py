"""Six nudges before a model call: four that stay in the conversation, two that are only sent."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from attrs import frozen
from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from deepagents_builtin.profiles.harness.nemotron import names, nudge_texts, wording
from deepagents_builtin.profiles.harness.nemotron.names import FILE_TOOLS, MESSAGES, TOOLS, turn_of
from deepagents_kernel.behaviour.flags import fired, flag_update, merge_updates
from deepagents_kernel.behaviour.progress import is_uninformative
from deepagents_kernel.behaviour.vocabulary import tool_names
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import BaseMessage
    from langgraph.runtime import Runtime

    from deepagents_kernel.behaviour.turns import Turn

_log = get_logger(__name__)

_DOMAIN_TOOLS_NAMED = 12

#: Messages from which on a conversation is worth compacting.
_TRANSITION_MESSAGES = 6


class PolicyNudgeState(AgentState[Any]):
    """State keys of the nudges; each holds the turn in which the nudge was given."""

    nemotron_transition_nudged: NotRequired[Annotated[list[str], PrivateStateAttr]]
    nemotron_action_nudged: NotRequired[Annotated[list[str], PrivateStateAttr]]
    nemotron_tool_chain_nudged: NotRequired[Annotated[list[str], PrivateStateAttr]]
    nemotron_domain_tool_nudged: NotRequired[Annotated[list[str], PrivateStateAttr]]


def suggests_compaction(messages: Sequence[BaseMessage], turn: Turn) -> bool:
    """Whether the user has just turned to something new, in a conversation that has something to compact."""
    # At the start of a turn alone: what is asked here looks back over the conversation.
    if len(turn.messages) > 1 or turn.request is None or len(messages) < _TRANSITION_MESSAGES:
        return False
    new = wording.starts_new_task(turn.text)
    if not new and not wording.mentions_files(turn.text):
        return False
    earlier = _backwards(messages, turn.start)
    if new:
        return any(MESSAGES.is_external(message) for message in earlier)
    spoke = worked = False
    for message in earlier:
        spoke = spoke or MESSAGES.is_external(message)
        worked = worked or any(name in FILE_TOOLS for name in _called(message))
        if spoke and worked:
            return True
    return False


def commits_to_act(messages: Sequence[BaseMessage], turn: Turn) -> bool:
    """Whether the user has just said that it is to be done, after tools had been used."""
    if len(turn.messages) > 1 or turn.request is None or not wording.asks_to_act(turn.text):
        return False
    return any(_called(message) for message in _backwards(messages, turn.start))


def continues_chain(_messages: Sequence[BaseMessage], turn: Turn) -> bool:
    """Whether something was looked up, and what was to be done with it has not been."""
    if not isinstance(turn.last, ToolMessage) or not wording.asks_lookup_then_action(turn.text):
        return False
    return not turn.called(TOOLS.is_mutation)


def returns_to_domain(_messages: Sequence[BaseMessage], turn: Turn) -> bool:
    """Whether a file tool found nothing, in a turn in which domain tools were used."""
    last = turn.last
    if not isinstance(last, ToolMessage) or not is_uninformative(last.text):
        return False
    asked = next((call.name for call in turn.calls if call.result is last), last.name or "")
    return asked in FILE_TOOLS and turn.called(TOOLS.is_domain)


def _backwards(messages: Sequence[BaseMessage], end: int) -> Iterator[BaseMessage]:
    return (messages[place] for place in range(end - 1, -1, -1))


def _called(message: BaseMessage) -> list[str]:
    return [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []


@frozen
class _Nudge:
    """A nudge that stays in the conversation."""

    name: str
    flag: str
    text: str
    applies: Callable[[Sequence[BaseMessage], Turn], bool]


_NUDGES = (
    _Nudge(names.TRANSITION_NUDGE, "nemotron_transition_nudged", nudge_texts.TRANSITION, suggests_compaction),
    _Nudge(names.ACTION_COMMIT_NUDGE, "nemotron_action_nudged", nudge_texts.ACTION_COMMIT, commits_to_act),
    _Nudge(names.TOOL_CHAIN_NUDGE, "nemotron_tool_chain_nudged", nudge_texts.TOOL_CHAIN, continues_chain),
    _Nudge(
        names.DOMAIN_TOOL_NUDGE, "nemotron_domain_tool_nudged", nudge_texts.DOMAIN_TOOL, returns_to_domain
    ),
)


class NemotronPolicyNudgeMiddleware(AgentMiddleware[PolicyNudgeState, Any, Any]):
    """Reminds the model of what it tends to forget, each reminder once in a turn."""

    state_schema = PolicyNudgeState

    def before_model(self, state: PolicyNudgeState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the host passes it
        """Add the nudges that apply."""
        messages = state["messages"]
        turn = turn_of(messages)
        return merge_updates(*(_update(nudge, state, messages, turn) for nudge in _NUDGES))

    async def abefore_model(self, state: PolicyNudgeState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Add the nudges that apply."""
        return self.before_model(state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Send the advice that applies along."""
        return handler(with_advice(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Send the advice that applies along."""
        return await handler(with_advice(request))


def _update(
    nudge: _Nudge, state: Mapping[str, Any], messages: Sequence[BaseMessage], turn: Turn
) -> dict[str, Any] | None:
    if fired(state, nudge.flag, turn) or not nudge.applies(messages, turn):
        return None
    _log.debug("nudged", nudge=nudge.name, turn=turn.key)
    message = MESSAGES.nudge(nudge.name, nudge.text)
    return {"messages": [message], **flag_update(state, nudge.flag, turn)}


def with_advice(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """The request with advice at the start of a turn; the very same one if none applies."""
    turn = turn_of(request.messages)
    # Nudges that were added a moment ago don't make the turn begin any later.
    if turn.request is None or any(not MESSAGES.owns(message) for message in turn.messages[1:]):
        return request
    advice = list(_advice(turn.text, [name for tool in request.tools for name in tool_names([tool])]))
    if not advice:
        return request
    _log.debug("advised", advice=[message.name for message in advice], turn=turn.key)
    return request.override(messages=[*request.messages, *advice])


def _advice(text: str, offered: Sequence[str]) -> Iterator[HumanMessage]:
    domain = list(islice(filter(TOOLS.is_domain, offered), _DOMAIN_TOOLS_NAMED))
    if domain and not wording.mentions_files(text) and any(name in FILE_TOOLS for name in offered):
        yield MESSAGES.nudge(names.DOMAIN_TOOL_PREFERENCE, nudge_texts.domain_tool_preference(domain))
    if "read_file" in offered and wording.asks_for_file_work(text):
        yield MESSAGES.nudge(names.FILESYSTEM_REQUEST_NUDGE, nudge_texts.FILESYSTEM_REQUEST)
