"""What the name of a tool says about it: whether it belongs to the harness, reads, or changes something."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

# Every capital begins a word, so that a name in capitals alone has no words in it.
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]")


def name_words(name: str) -> list[str]:
    """The words of a tool's name in lower case, split where letters turn upper case and at all signs.

    Args:
        name: such as ``sendEmail`` or ``user_update``.
    """
    return [word.lower() for word in _WORD.findall(name)]


def tool_names(tools: Iterable[Any]) -> frozenset[str]:
    """The names of tools as a model request has them: objects, or dictionaries of a provider's form.

    Args:
        tools: the tools; what has no name is passed over.
    """
    return frozenset(name for tool in tools if (name := _name(tool)))


def _name(tool: Any) -> str:
    if not isinstance(tool, dict):
        name = getattr(tool, "name", "")
    else:
        function = tool.get("function")
        name = tool.get("name") or (function.get("name") if isinstance(function, dict) else "")
    return name if isinstance(name, str) else ""


def _words(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


@frozen
class ToolVocabulary:
    """How to read the names of an agent's tools.

    Attributes:
        harness: names of tools that the harness brings.
        reading: first words of tools that only look.
        changing: words of tools that change something.
    """

    harness: frozenset[str] = field(converter=_words)
    reading: frozenset[str] = field(converter=_words)
    changing: frozenset[str] = field(converter=_words)

    def is_domain(self, name: str) -> bool:
        """Whether a tool is about the user's own matters: not the harness's, and not internal (``__``)."""
        return name not in self.harness and not name.startswith("__")

    def is_mutation(self, name: str) -> bool:
        """Whether a domain tool changes something, as far as its name tells."""
        words = name_words(name)
        if not words or words[0] in self.reading or not self.is_domain(name):
            return False
        return not self.changing.isdisjoint(words)
