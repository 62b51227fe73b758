"""Send back an answer that keeps to itself what was done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr

from deepagents_builtin.profiles.harness.nemotron.exact_reply import exact_reply_given
from deepagents_builtin.profiles.harness.nemotron.names import FINAL_ANSWER_GUARD, LOOP_RISK, MESSAGES, TOOLS
from deepagents_kernel.behaviour.guards import AnswerGuard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.messages import AIMessage

    from deepagents_kernel.behaviour.turns import AnsweredCall, Turn

_VERSION = re.compile(r"(?<![\w.])v\d+(?:\.\d+)+(?![\w])", re.IGNORECASE)
_NAMED = ("title", "subject")
_VAGUE = re.compile(
    r"(?:(?:all|it|it's|it’s|that|this|that's|everything|everything's|task|the|request|action|is|are|was|has|have|"
    r"been|i|i've|i’ve|i'm|now|successfully|ok|okay|yes|sure|great|thanks|you're|set)[\s,:;.!-]*)*"
    r"(?:done|set|complete|completed|finished|success|successful|successfully|ok|okay|ready|sent|updated|created|"
    r"submitted|processed|handled|taken care of)(?: successfully)?[\s.!✅✓👍]*",
    re.IGNORECASE,
)
_VAGUE_LENGTH = 80


class FinalAnswerState(AgentState[Any]):
    """The state key of the guard."""

    nemotron_final_guard_fired: NotRequired[Annotated[list[str], PrivateStateAttr]]


class FinalAnswerGuardMiddleware(AnswerGuard):
    """Wants an answer to name what was changed in this turn, and what came of it."""

    state_schema = FinalAnswerState
    messages = MESSAGES
    message_name = FINAL_ANSWER_GUARD
    flag = "nemotron_final_guard_fired"
    risk = LOOP_RISK

    def objection(self, answer: AIMessage, turn: Turn) -> str | None:
        """What the answer leaves out."""
        changes = [call for call in turn.calls if TOOLS.is_mutation(call.name) and call.succeeded]
        if not changes or exact_reply_given(turn.text, answer.text):
            return None
        missing = missing_literals(changes, answer.text)
        if missing:
            return (
                "Your answer leaves out what the user needs to recognise the result: "
                f"{', '.join(missing)}. Answer again and name it as it is."
            )
        if is_vague(answer.text) and changes[-1].text.strip():
            return (
                f"Your answer does not say what came of {changes[-1].name}. Answer again, with the outcome "
                "that its result states."
            )
        return None


def missing_literals(changes: Sequence[AnsweredCall], answer: str) -> list[str]:
    """Versions, titles and subjects in the arguments of calls that an answer does not contain."""
    said = answer.casefold()
    wanted = dict.fromkeys(literal for call in changes for literal in _literals(call))
    return [literal for literal in wanted if literal.casefold() not in said]


def _literals(call: AnsweredCall) -> Iterator[str]:
    for key, value in call.args.items():
        if isinstance(value, str):
            yield from _VERSION.findall(value)
            text = value.strip()
            if key in _NAMED and 3 <= len(text) <= 80:
                yield text


def is_vague(answer: str) -> bool:
    """Whether an answer says that something is done, and nothing else."""
    text = " ".join(answer.split())
    return len(text) <= _VAGUE_LENGTH and _VAGUE.fullmatch(text) is not None
