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
_GO_AHEAD = re.compile(
    r"\bgo ahead\b|\bproceed\b|\b(?:please |now |just |yes,? )do (?:it|so|that|this)\b|"
    r"^do (?:it|so|that|this)\b|"
    r"\bmake it so\b|\b(?:I |^)confirm(?:ed)?\b|\b(?:I |^)approved?\b|"
    rf"\bnow,? (?:please )?(?:{_MUTATIONS})\b|\b(?:{_MUTATIONS})\b[^.?!\n]{{0,60}}\bnow\b|"
    rf"\b(?:{_MUTATIONS}) (?:it|that|this|them|these|those)\b|^now[.!]*$",
    re.IGNORECASE,
)
_HOLD = re.compile(
    r"\b(?:do not|don't|don’t|never|not yet|hold off|wait|before you|if|unless|should (?:I|we))\b",
    re.IGNORECASE,
)
_ASKED_POLITELY = re.compile(
    r"^(?:and |so |ok(?:ay)?,? |then |please )*(?:can|could|will|would) you\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"^(?:and |so |but |then |ok(?:ay)?,? )*"
    r"(?:how|what|why|when|where|who|whose|whom|which|is|are|was|were|do|does|did|has|have|had|should|shall|may|might)\b",
    re.IGNORECASE,
)

_LOOKUP_THEN_ACT = re.compile(
    r"\b(?:find|look ?up|check|search|fetch|get|list|retrieve|read|identify|determine)\b[^?]{0,200}?"
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
        _GO_AHEAD.search(sentence) and not _HOLD.search(sentence)
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
    found = _LOOKUP_THEN_ACT.search(text[:_SEARCHED])
    return found is not None and not _HOLD.search(found[0])


def _sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+|\n+", text[:_SEARCHED])
    return [part.strip() for part in parts if part.strip()]
