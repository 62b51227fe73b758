"""Requests for an answer of certain words: who gets exactly these must not be sent back for more."""

from __future__ import annotations

import re
import unicodedata

_ASK = r"\b(?:reply|respond|return|answer)\s+with\s+"
_ONE_WORD = re.compile(
    _ASK
    + r"(?:(?:just|only|exactly)\s+)?(?:(?:a|the)\s+)?(?:single|one)\s+word\b(?:\s*:?\s*[\"'“](.+?)[\"'”])?",
    re.IGNORECASE,
)
_EXACTLY = re.compile(_ASK + r"(?:exactly|only)\b\s*:?\s*(.{1,500}?)(?=[.!?](?:\s|$)|\n|$)", re.IGNORECASE)
_ONLY = re.compile(_ASK + r"(.{1,500}?)\s+only\b", re.IGNORECASE)


# Longer requests are searched at both ends: what is asked stands there.
_SEARCHED = 4000


def exact_reply_given(request: str, answer: str) -> bool:
    """Whether the user asked for a reply of certain words, and the answer is that.

    Args:
        request: what the user wrote.
        answer: the final answer.
    """
    said = _bare(answer)
    if not said:
        return False
    request = _searched(request)
    one = _ONE_WORD.search(request)
    if one and " " not in said:
        return one[1] is None or said == _bare(one[1])
    wanted = {_bare(found[1]) for pattern in (_EXACTLY, _ONLY) for found in pattern.finditer(request)}
    return said in wanted


def _searched(request: str) -> str:
    """What is looked at, one blank or line break between words: the patterns backtrack over blanks."""
    if len(request) > _SEARCHED:
        request = f"{request[: _SEARCHED // 2]}\n{request[-_SEARCHED // 2 :]}"
    lines = (" ".join(line.split()) for line in request.splitlines())
    return "\n".join(line for line in lines if line)


def _bare(text: str) -> str:
    """Without quotes, signs and spaces around it, and with single spaces within; case is kept."""
    text = " ".join(text.split())
    start, end = 0, len(text)
    while start < end and _is_frame(text[start]):
        start += 1
    while end > start and _is_frame(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_frame(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign).startswith("P") or sign in "`$^~"
