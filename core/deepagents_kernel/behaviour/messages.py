"""Messages that the harness writes into a conversation, told apart from those of the user.

They have to be human messages, since that is what a model acts on. A user interface must not show them as
something that the user wrote, and a behaviour must not take them for the start of a new turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen
from langchain_core.messages import HumanMessage

from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.messages import BaseMessage

#: The key of ``additional_kwargs`` under which a message says which part of the harness made it.
SOURCE_KEY = "lc_source"


def is_harness_made(message: BaseMessage) -> bool:
    """Whether a message is marked as made by some part of the harness, this kit or another."""
    return bool(message.additional_kwargs.get(SOURCE_KEY))


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


@frozen
class InternalMessages:
    """The messages of one family of behaviours.

    Attributes:
        names: every ``name`` that a message of the family may have.
    """

    names: frozenset[str] = field(converter=_names)

    def nudge(self, name: str, text: str) -> HumanMessage:
        """A message to the model.

        Args:
            name: which behaviour speaks; also stands as ``lc_source`` in ``additional_kwargs``.
            text: what it says.

        Returns:
            A human message, marked as internal.

        Raises:
            ValueError: the family has no such name.
        """
        if name not in self.names:
            hint = nearest_hint(name, self.names)
            reason = f"{name!r} is none of the names of these internal messages"
            raise ValueError(f"{reason}\n  {hint}" if hint else reason)
        return HumanMessage(content=text, name=name, additional_kwargs={SOURCE_KEY: name})

    def owns(self, message: BaseMessage) -> bool:
        """Whether a message, of any type, has a name of the family."""
        return message.name in self.names

    def is_external(self, message: BaseMessage) -> bool:
        """Whether a message comes from the user: human, of no name of the family, and not marked."""
        return isinstance(message, HumanMessage) and not self.owns(message) and not is_harness_made(message)
