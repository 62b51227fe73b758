"""What the user's words ask for, as far as a pattern can tell.

Each of these costs something where it is wrong, so each wants more than one word, and none takes a question
about a matter for a request to deal with it.
"""

from __future__ import annotations

import re

# Longer texts are searched no further: what is asked stands at the beginning or at the end.
_SEARCHED = 4000

_SUFFIXES = (
    "py|js|ts|tsx|jsx|md|txt|json|jsonl|ya?ml|toml|csv|tsv|ini|cfg|conf|log|pdf|html?|xml|sql|sh|rs|go|java|"
    "c|h|cpp|rb|php|ipynb|docx?|xlsx?|pptx?|png|jpe?g"
)
_FILE = (
    r"\bfiles?\b|\bfolders?\b|\bdirector(?:y|ies)\b|\breadme\b|\b(?:code)?repo(?:sitory|sitories|s)?\b|"
    rf"\bcodebase\b|\bpaths?\b|\b[\w-]+\.(?:{_SUFFIXES})\b|(?:(?<=\s)|^)(?:~|\.{{1,2}})?/[\w.-]+"
)
_FILE_WORD = re.compile(_FILE, re.IGNORECASE)
_FILE_WORK = re.compile(
    r"\b(?:read|open|inspect|review|summari[sz]e|analy[sz]e|process|edit)\b(?s:.{0,160}?)(?:" + _FILE + ")",
    re.IGNORECASE,
)

_NEW_TASK = re.compile(
    r"\b(?:new|different|another|next|separate|unrelated) (?:task|topic|project|question|job|thing)\b|"
    r"\bswitch(?:ing)? (?:gears|topics?|to (?:a|another|the next)\b)|"
    r"\bmov(?:e|ing) on\b|\bstart(?:ing)? over\b|"
    r"\bsomething (?:else|different|new)\b|\bchange of (?:topic|subject)\b",
    re.IGNORECASE,
)

_MUTATIONS = (
    "approve|archive|assign|activate|book|cancel|charge|close|create|deactivate|delete|disable|enable|"
    "escalate|grant|invite|notify|pay|post|publish|reject|refund|remove|reserve|revoke|schedule|send|submit|"
    "terminate|transfer|update|upgrade"
)
# How a sentence begins before it says what is to be done. Whoever else does it stands there, too, so that
# "They delete them" is no request.
_LEAD = (
    r"(?:(?:please|yes|yeah|yep|sure|ok|okay|alright|great|good|fine|perfect|and|so|then|now|just|go ahead|"
    r"(?:can|could|will|would) you)\b[\s,;:!-]*){0,8}"
)
_NO_THING = r"(?! (?:morning|afternoon|evening|week|month|year|is|was|has|had)\b)"
_IT = rf"(?:it|that|this|them|these|those)\b{_NO_THING}"
_END = r"(?:[\s,]*\b(?:now|please|then|thanks|thank you)\b){0,3}[\s.!?]*$"
_GO_AHEAD = re.compile(
    rf"{_LEAD}(?:"
    rf"(?:go ahead|proceed)(?:{_END}| with (?:it|that|this|these|those|the)\b)|"
    rf"go ahead[\s,]*(?:and )?(?:please )?(?:{_MUTATIONS})\b|"
    rf"do (?:so\b|{_IT})|make it so\b|"
    rf"(?:I (?:hereby )?)?(?:confirm|approve)(?:ed|d)?(?: (?:it|that|this|them|the \w+))?{_END}|"
    rf"I (?:confirm|approve) {_IT}|"
    rf"now,? (?:please )?(?:{_MUTATIONS})\b|(?:{_MUTATIONS})\b[^.?!\n]{{0,60}}\bnow\b|"
    rf"(?:{_MUTATIONS}) {_IT}|now[.!]*$)",
    re.IGNORECASE,
)
_HOLD = re.compile(
    r"\b(?:do not|don't|don’t|never|not yet|hold off|wait|before you|if|unless|should (?:I|we)|how to)\b",
    re.IGNORECASE,
)
# What has happened, or can't, is no order.
_NO_ORDER = re.compile(r"\b(?:had to|can't|can’t|cannot|nobody|already|told)\b", re.IGNORECASE)
_ASKED_POLITELY = re.compile(
    r"^(?:and |so |ok(?:ay)?,? |then |please )*(?:can|could|will|would) you\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"^(?:and |so |but |then |ok(?:ay)?,? )*"
    r"(?:how|what|why|when|where|who|whose|whom|which|is|are|was|were|do(?! (?:it|so|that|this)\b)|does|did|"
    r"has|have|had|should|shall|may|might)\b",
    re.IGNORECASE,
)

_LOOKUP_THEN_ACT = re.compile(
    rf"{_LEAD}(?:(?:I (?:want|need)|I(?:'d|’d| would) like) you to |help me |let's |first,? )?"
    r"(?:find|look ?up|check|search|fetch|get|list|retrieve|read|identify|determine)\b[^?]{0,200}?"
    rf"\b(?:then|and)\b,?(?: then)?(?: please)? (?:{_MUTATIONS})\b",
    re.IGNORECASE,
)


def mentions_files(text: str) -> bool:
    """Whether there is a word of files, or something that looks like a file or a path."""
    return _FILE_WORD.search(text[:_SEARCHED]) is not None


def asks_for_file_work(text: str) -> bool:
    """Whether something is to be read, summarised, edited or the like that looks like a file."""
    return _FILE_WORK.search(text[:_SEARCHED]) is not None


def starts_new_task(text: str) -> bool:
    """Whether the user turns to something else."""
    return _NEW_TASK.search(text[:_SEARCHED]) is not None


def asks_to_act(text: str) -> bool:
    """Whether the user tells the model to do at last what was talked about.

    "What happens now?" and "Don't send it yet" do not.
    """
    return any(
        _GO_AHEAD.match(sentence) and not _HOLD.search(sentence) and not _NO_ORDER.search(sentence)
        for sentence in _sentences(text)
        if not is_question(sentence)
    )


def is_question(sentence: str) -> bool:
    """Whether a sentence wants to know something; "Could you send it?" wants something done."""
    if _ASKED_POLITELY.match(sentence):
        return False
    return sentence.rstrip().endswith("?") or _QUESTION.match(sentence) is not None


def asks_lookup_then_action(text: str) -> bool:
    """Whether something is to be looked up and then something to be done with it."""
    sentences = _sentences(text)
    for place, sentence in enumerate(sentences):
        if is_question(sentence):
            continue
        # The action may stand in a sentence of its own.
        found = _LOOKUP_THEN_ACT.match(" ".join(sentences[place : place + 3]))
        if found is not None and not _HOLD.search(found[0]):
            return True
    return False


def _sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+|\n+", text[:_SEARCHED])
    return [" ".join(part.split()) for part in parts if part.strip()]
