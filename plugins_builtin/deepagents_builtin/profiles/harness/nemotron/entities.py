"""Which lookups are still to be made, judging by the names of the tools.

Three forms of names are understood: ``get_current_X_id`` (who or what it is about), ``get_X_Y`` with an
argument ``X_id`` (what belongs to it), ``get_X_name`` and ``get_X_title`` (what people call it).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deepagents_kernel.behaviour.turns import AnsweredCall

_CURRENT = re.compile(r"get_current_([a-z0-9]+(?:_[a-z0-9]+)*)_id")
_DISPLAY = re.compile(r"get_([a-z0-9]+(?:_[a-z0-9]+)*)_(?:name|title)")
_MENTION = re.compile(r"\b(current|which|that)\s+([a-z][a-z0-9]*)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])\d{4,}(?![\w-])")


def is_lookup(name: str) -> bool:
    """Whether a tool's name has one of the forms."""
    return name.startswith("get_") and name.count("_") >= 2


def missing_lookups(
    request: str, calls: Sequence[AnsweredCall], offered: Collection[str], answer: str = ""
) -> list[str]:
    """What a request, or an answer to it, still needs to have looked up.

    Args:
        request: what the user wrote.
        calls: the tool calls of the turn.
        offered: names of the tools that the agent has; nothing else is asked for.
        answer: the answer, if there is one.

    Returns:
        A sentence for each; empty if nothing is missing, or nothing of it can be looked up.
    """
    made = {call.name for call in calls}
    found = [
        lookup
        for how, entity in dict.fromkeys(_mentions(request))
        for lookup in _for_mention(how, entity, calls, offered)
    ]
    found += _for_numbers(answer, calls, offered)
    return [text for name, text in dict(found).items() if name not in made]


def _mentions(request: str) -> Iterator[tuple[str, str]]:
    for how, entity in _MENTION.findall(request):
        yield how.lower(), entity.lower()


def _for_mention(
    how: str, entity: str, calls: Sequence[AnsweredCall], offered: Collection[str]
) -> Iterator[tuple[str, str]]:
    current = f"get_current_{entity}_id"
    known = _ids(entity, calls)
    if how == "current" and current in offered and not known:
        yield current, f"the current {entity} is not resolved: call {current}"
        return
    if known:
        yield from _display(entity, known[-1], offered)
        return
    if how == "current":
        return
    for owner, relation in _relations(entity, offered):
        for owner_id in _ids(owner, calls)[-1:]:
            text = f"the {entity} is not resolved: call {relation} with {owner}_id={owner_id}"
            yield relation, text


def _relations(entity: str, offered: Collection[str]) -> Iterator[tuple[str, str]]:
    for name in sorted(offered):
        if name.startswith("get_") and name.endswith(f"_{entity}"):
            owner = name.removeprefix("get_").removesuffix(f"_{entity}")
            if owner and not owner.startswith("current"):
                yield owner, name


def _ids(entity: str, calls: Sequence[AnsweredCall]) -> list[str]:
    """The ids of an entity that are known: results of lookups for it, and ids that others were given."""
    ids = []
    for call in calls:
        looked_up = call.name == f"get_current_{entity}_id" or (
            call.name.startswith("get_") and call.name.endswith(f"_{entity}")
        )
        if looked_up and call.succeeded and _is_id(call.text.strip()):
            ids.append(call.text.strip())
        given = call.args.get(f"{entity}_id")
        if isinstance(given, int | str) and not isinstance(given, bool) and _is_id(str(given)):
            ids.append(str(given))
    return ids


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[\w-]{1,64}", text) is not None and any(sign.isdigit() for sign in text)


def _display(entity: str, known: str, offered: Collection[str]) -> Iterator[tuple[str, str]]:
    for name in (f"get_{entity}_name", f"get_{entity}_title"):
        if name in offered:
            yield name, f"the {entity} {known} has no name yet: call {name} with {entity}_id={known}"
            return


def _for_numbers(
    answer: str, calls: Sequence[AnsweredCall], offered: Collection[str]
) -> Iterator[tuple[str, str]]:
    numbers = set(_NUMBER.findall(answer))
    if not numbers:
        return
    for tool in sorted(offered):
        shown = _DISPLAY.fullmatch(tool)
        if shown is None or _CURRENT.fullmatch(tool):
            continue
        for known in _ids(shown[1], calls):
            if known in numbers:
                yield tool, f"{known} is the id of a {shown[1]}: call {tool} with {shown[1]}_id={known}"
