"""The state that an isolated child starts with."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import HumanMessage

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

#: Keys that mean something to one agent only. They neither go to a child nor come back from one.
OWN_KEYS: Final = frozenset(
    {
        "messages",
        "todos",
        "structured_response",
        "skills_metadata",
        "pinned_skills",
        "_skill_tools_disclosed",
        "_deepagents_forked_context",
        "rubric",
    }
)


def isolated_state(parent: Mapping[str, Any], private: Collection[str], description: str) -> dict[str, Any]:
    """What a child knows: the parent's shared keys, and the task as its only message.

    Lists, dicts and sets are copied, one level deep: adding to or removing from them in a child does not
    reach the parent. Objects inside them are shared.
    """
    state = {key: _own(value) for key, value in parent.items() if key not in OWN_KEYS and key not in private}
    return {**state, "messages": [HumanMessage(content=description)]}


def _own(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, list | dict | set) else value
