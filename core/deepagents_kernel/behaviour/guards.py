"""The base of guards that look at an answer before it goes to the user, and may send the model back."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from langchain.agents.middleware.types import AgentMiddleware, AgentState, hook_config

from deepagents_kernel.behaviour.flags import fired, flag_update
from deepagents_kernel.behaviour.turns import current_turn
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.messages import AIMessage
    from langgraph.runtime import Runtime

    from deepagents_kernel.behaviour.messages import InternalMessages
    from deepagents_kernel.behaviour.progress import TurnLimits
    from deepagents_kernel.behaviour.turns import Turn

_log = get_logger(__name__)


class AnswerGuard(AgentMiddleware[AgentState[Any], Any, Any]):
    """Reviews the final answer of a turn; what it objects to goes to the model, which answers once more.

    A subclass says what it objects to, and names the following. It needs a ``state_schema`` that declares
    ``flag`` as a private list of strings.

    Attributes:
        messages: the family of internal messages.
        message_name: the name of its own message.
        flag: the state key of its one-shot flag.
        risk: from which size of the turn on it holds still; ``None`` for never.
        per_turn: how often it may send the model back between two messages of the user.
    """

    messages: ClassVar[InternalMessages]
    message_name: ClassVar[str]
    flag: ClassVar[str]
    risk: ClassVar[TurnLimits | None] = None
    per_turn: ClassVar[int] = 1

    @abstractmethod
    def objection(self, answer: AIMessage, turn: Turn) -> str | None:
        """What the model has to be told about its answer; ``None`` if it may go out.

        Args:
            answer: the answer.
            turn: everything since the user last spoke, the answer last.
        """

    def objection_in(self, state: Mapping[str, Any], answer: AIMessage, turn: Turn) -> str | None:  # noqa: ARG002 - for subclasses
        """The same, for a guard that keeps something in the state; it calls ``objection``.

        Args:
            state: the state of the graph.
            answer: the answer.
            turn: everything since the user last spoke, the answer last.
        """
        return self.objection(answer, turn)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002 - the host passes it
        """Send the model back with the objection, or let the answer go."""
        turn = current_turn(state["messages"], self.messages)
        answer = turn.final_answer()
        if answer is None or fired(state, self.flag, turn) >= self.per_turn:
            return None
        if self.risk is not None and self.risk.reached(turn):
            return None
        text = self.objection_in(state, answer, turn)
        if text is None:
            return None
        _log.debug("answer_sent_back", guard=self.name, turn=turn.key)
        nudge = self.messages.nudge(self.message_name, text)
        return {"messages": [nudge], "jump_to": "model", **flag_update(state, self.flag, turn)}

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Send the model back with the objection, or let the answer go."""
        return self.after_agent(state, runtime)
