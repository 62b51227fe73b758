"""Stop a turn that gets nowhere, with what it has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen, validators
from langchain.agents.middleware.types import AgentMiddleware, AgentState, hook_config
from langchain_core.messages import AIMessage

from deepagents_builtin.profiles.harness.nemotron.names import PROGRESS_BUDGET, turn_of
from deepagents_kernel.behaviour.messages import SOURCE_KEY
from deepagents_kernel.behaviour.progress import idle_since_progress, is_uninformative, repeated_calls
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from deepagents_kernel.behaviour.turns import Turn

_log = get_logger(__name__)

#: Where the message says why it was written, in its ``response_metadata``.
REASON_KEY = "nemotron_progress_budget_reason"

RESULTS_SHOWN = 12
RESULT_LENGTH = 500


# What a turn may spend, unless somebody says otherwise.
MAX_MODEL_CALLS = 16
MAX_TOOL_RESULTS = 48
MAX_REPEATED_TOOL_CALLS = 3


@frozen
class ProgressBudget:
    """What a turn may spend without progress.

    Attributes:
        max_model_calls: messages of the model since the last progress.
        max_tool_results: tool results since the last progress.
        max_repeated_tool_calls: equal tool calls in direct succession that gave nothing new.
    """

    max_model_calls: int = field(default=MAX_MODEL_CALLS, validator=validators.ge(1))
    max_tool_results: int = field(default=MAX_TOOL_RESULTS, validator=validators.ge(1))
    max_repeated_tool_calls: int = field(default=MAX_REPEATED_TOOL_CALLS, validator=validators.ge(1))

    def reason(self, turn: Turn) -> str:
        """Which limit a turn has reached, in words; empty for none."""
        idle = idle_since_progress(turn)
        if idle.model_calls >= self.max_model_calls:
            return f"{idle.model_calls} model turns without progress"
        if idle.tool_results >= self.max_tool_results:
            return f"{idle.tool_results} tool results without progress"
        repeats = repeated_calls(turn)
        if repeats >= self.max_repeated_tool_calls:
            return f"the same tool call {repeats} times in a row"
        return ""


class NemotronProgressBudgetMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Ends a turn without progress, before anything is paid for another model call.

    It looks at the conversation in the state, which no compaction shortens.

    Args:
        max_model_calls: messages of the model that a turn may have since its last progress.
        max_tool_results: tool results that it may have since then.
        max_repeated_tool_calls: equal tool calls in direct succession, giving nothing new, that it may have.

    Raises:
        ValueError: a limit is less than 1.
    """

    def __init__(
        self,
        *,
        max_model_calls: int = MAX_MODEL_CALLS,
        max_tool_results: int = MAX_TOOL_RESULTS,
        max_repeated_tool_calls: int = MAX_REPEATED_TOOL_CALLS,
    ) -> None:
        super().__init__()
        self.budget = ProgressBudget(max_model_calls, max_tool_results, max_repeated_tool_calls)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the host passes it
        """End the turn if its budget is spent."""
        turn = turn_of(state["messages"])
        reason = self.budget.reason(turn)
        if not reason:
            return None
        _log.debug("progress_budget_spent", reason=reason, turn=turn.key)
        return {"messages": [budget_message(turn, reason)], "jump_to": "end"}

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """End the turn if its budget is spent."""
        return self.before_model(state, runtime)


def budget_message(turn: Turn, reason: str) -> AIMessage:
    """What the user reads in place of an answer: what was found, and why it ends here."""
    found = _results(turn)
    if found:
        lines = [f"I stopped here ({reason}). This is what the tools returned:"]
        lines += [f"- {text}" for text in found]
    else:
        lines = [f"The task was not completed within the step budget: {reason}."]
    return AIMessage(
        content="\n".join(lines),
        name=PROGRESS_BUDGET,
        additional_kwargs={SOURCE_KEY: PROGRESS_BUDGET},
        response_metadata={REASON_KEY: reason},
    )


def _results(turn: Turn) -> list[str]:
    texts = [message.text for message in turn.tool_messages]
    # Stable: informative ones first, each sort in the order in which it came.
    ordered = sorted(texts, key=is_uninformative)
    lines = (" ".join(text.split()) for text in ordered)
    return [_short(line) for line in dict.fromkeys(line for line in lines if line)][:RESULTS_SHOWN]


def _short(line: str) -> str:
    return line if len(line) <= RESULT_LENGTH else line[: RESULT_LENGTH - 3] + "..."
