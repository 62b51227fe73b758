"""Send back an answer whose questions miss the point: they ask what was said, or not what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, PrivateStateAttr

from deepagents_builtin.profiles.harness.nemotron.exact_reply import exact_reply_given
from deepagents_builtin.profiles.harness.nemotron.names import FOLLOWUP_GUARD, LOOP_RISK, MESSAGES
from deepagents_builtin.profiles.harness.nemotron.wording import is_question
from deepagents_kernel.behaviour.guards import AnswerGuard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import AIMessage

    from deepagents_kernel.behaviour.turns import Turn

_RECURRENCE = re.compile(
    r"\b(?:hourly|daily|nightly|weekly|biweekly|monthly|quarterly|yearly|annually)\b|"
    r"\b(?:every|each) (?:\w+ )?(?:hour|day|morning|evening|night|week|month|quarter|year|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b",
    re.IGNORECASE,
)
_SCHEDULE = re.compile(
    r"\b(?:how often|how frequently|schedule|frequency|cadence|which days?|what time)\b", re.IGNORECASE
)
_SOURCE = re.compile(
    r"\b(?:sources?|where .{0,40}\bfrom|which (?:system|database|inbox|account|channel))\b", re.IGNORECASE
)
_SCOPE = re.compile(r"\bscope\b|\bwhich (?:ones|parts?|areas?|range|period)\b", re.IGNORECASE)
_SOURCE_GIVEN = re.compile(
    r"\bfrom (?:the |my |our )?\w+|\bin (?:the |my |our )(?:\w+ )?(?:inbox|database|sheet|spreadsheet|"
    r"channel|crm|folder|file|account)\b|https?://\S|\b[\w-]+\.(?:csv|xlsx?|json|db|sql)\b",
    re.IGNORECASE,
)
_SCOPE_GIVEN = re.compile(r"\b(?:only|all|last|past|since|between|scope)\b", re.IGNORECASE)
_DATA_ANALYSIS = re.compile(
    r"\banaly[sz](?:e|ing)\b[^.?!]{0,60}\bdata\b|\bdata analysis\b|\banalysis of\b[^.?!]{0,40}\bdata\b",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"\b(?:goals?|objectives?|purpose|decisions?|looking for|want to (?:know|learn|find)|hoping to|"
    r"questions? (?:do|should|would)|insights?|aims?|trying to)\b",
    re.IGNORECASE,
)
_SUPPORT = re.compile(
    r"\b(?:customers?|support|tickets?)\b[^.?!]{0,80}\b(?:respond|responses?|reply|replies|answers?|questions?)\b|"
    r"\b(?:respond|responses?|reply|replies|answer)\b[^.?!]{0,80}\b(?:customers?|support|tickets?)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b(?:products?|services?|domains?|users?|customers?|company|business|industry)\b", re.IGNORECASE
)
_DELIVERY = re.compile(
    r"\b(?:send|email|e-mail|deliver|post|notify|report|digest|summary|newsletter)\b", re.IGNORECASE
)
_DELIVERY_ASKED = re.compile(
    r"\b(?:deliver\w*|e-?mail\w*|slack|channel|sent|send|recipients?|address|where should)\b", re.IGNORECASE
)

_COURTESY = re.compile(
    r"[-*\s]*(?:(?:and|or|so|also|is|was)\b[ ,]*){0,3}(?:(?:there )?(?:anything|something) (?:else|more)\b|"
    r"(?:shall|should|may|can|could) i\b|would you (?:like|want|prefer) (?:me|us|to)\b|want me\b|"
    r"(?:do|did) you (?:want|like|need|have)\b|(?:does|do|did|how does) (?:this|that|it|these)\b|"
    r"what do you think\b)",
    re.IGNORECASE,
)
# Code, addresses, quotations, and letters: from where they begin to a rule, or to the end.
_NOT_SAID = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|^[ \t]{0,8}>[^\n]*|\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|"
    r"^(?:Dear\b[^\n]{0,80},|Subject:|(?:Hi|Hello)\b[^\n]{0,40},[ \t]*$).*?(?:^-{3,}[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]|[^.!?\n]+\Z")
# Longer texts are searched no further.
_SEARCHED = 4000

MAX_QUESTIONS = 2


class FollowupState(AgentState[Any]):
    """The state key of the guard."""

    nemotron_followup_guard_fired: NotRequired[Annotated[list[str], PrivateStateAttr]]


class FollowupDisciplineMiddleware(AnswerGuard):
    """Wants questions back to the user to be few, new, and the right ones.

    An answer that asks nothing goes out, whatever words are in it.
    """

    state_schema = FollowupState
    messages = MESSAGES
    message_name = FOLLOWUP_GUARD
    flag = "nemotron_followup_guard_fired"
    risk = LOOP_RISK

    def objection(self, answer: AIMessage, turn: Turn) -> str | None:
        """What is wrong with the questions of the answer."""
        questions = asked(answer.text)
        if not questions or is_question(turn.text) or exact_reply_given(turn.text, answer.text):
            return None
        # Who has asked the tools, or given an answer beside the questions, need not ask for what is usual.
        at_work = bool(turn.tool_messages) or not mostly_asks(answer.text)
        faults = list(question_faults(turn.text, questions, at_work=at_work))
        if not faults:
            return None
        return (
            "Your questions to the user need another look:\n"
            + "\n".join(f"- {fault}" for fault in faults)
            + f"\nAnswer again, with {MAX_QUESTIONS} questions at most, and sensible defaults for all else."
        )


def asked(answer: str) -> list[str]:
    """The questions to the user in an answer.

    What stands in code, in quotation marks or in a draft asks somebody else, and an offer at the end of an
    answer asks nothing that it needs to know.
    """
    sentences = _sentences(answer)
    if len(sentences) > 1 and _COURTESY.match(sentences[-1]):
        sentences.pop()
    return [sentence for sentence in sentences if sentence.endswith("?")]


def mostly_asks(answer: str) -> bool:
    """Whether the questions to the user are at least half of an answer."""
    return 2 * sum(map(len, asked(answer))) >= len(" ".join(answer.split()))


def _sentences(answer: str) -> list[str]:
    prose = _NOT_SAID.sub(" ", answer)
    found = (sentence.strip() for sentence in _SENTENCE.findall(prose))
    return [sentence for sentence in found if sentence.strip(" .!?-*")]


def question_faults(request: str, questions: list[str], *, at_work: bool) -> Iterator[str]:
    """What is wrong with questions to the user.

    Args:
        request: what the user wrote.
        questions: what the answer asks.
        at_work: whether the answer is more than questions, or these come from what tools have said.
    """
    request, text = request[:_SEARCHED], " ".join(questions)[:_SEARCHED]
    recurring = _RECURRENCE.search(request) is not None
    if recurring and _SCHEDULE.search(text):
        yield "the user has said how often; do not ask about the schedule"
    if recurring and len(questions) > MAX_QUESTIONS:
        yield "there are too many of them for a task that is described"
    if _SOURCE.search(text) and _SOURCE_GIVEN.search(request):
        yield "the user has named the source"
    elif _SCOPE.search(text) and _SCOPE_GIVEN.search(request):
        yield "the user has named the scope"
    if at_work:
        return
    if _DATA_ANALYSIS.search(request) and not _GOAL.search(text):
        yield "ask what the analysis is to find out or to decide"
    if _SUPPORT.search(request) and not _SUBJECT.search(text):
        yield "ask which product or domain this is about, and who the users are"
    if recurring and _DELIVERY.search(request) and not (_DELIVERY_ASKED.search(text) or _SOURCE.search(text)):
        yield "ask where it is to be delivered, or what it is made from"
