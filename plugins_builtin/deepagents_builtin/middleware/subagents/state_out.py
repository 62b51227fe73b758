"""What comes back from a child: one tool message, and the keys that it changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import frozen
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from deepagents_builtin.middleware.subagents.answer import answer_text
from deepagents_builtin.middleware.subagents.channels import ParentChannels, same
from deepagents_builtin.middleware.subagents.state_in import OWN_KEYS
from deepagents_builtin.middleware.subagents.task_schema import TASK_TOOL_NAME

#: Asked before a key that takes one value a step is sent; ``False`` leaves the key out.
MayChange = Callable[[str], bool]


@frozen(eq=False)
class Handover:
    """How results of one call go back.

    Attributes:
        subagent: name of the child.
        call_id: id of the tool call.
        inherited: the parent's state when the call was made.
        private: keys that stay with the agent that has them.
        channels: how the parent merges.
        may_change: whether a key that takes one value a step may be changed by this call.
    """

    subagent: str
    call_id: str
    inherited: Mapping[str, Any]
    private: Collection[str]
    channels: ParentChannels
    may_change: MayChange

    def command(self, result: Any) -> Command[Any]:
        """The update of the parent's state for a child's result.

        Raises:
            ChildResultError: the result is not a mapping with messages.
        """
        text = answer_text(self.subagent, result)
        update: dict[str, Any] = {}
        refused: list[str] = []
        for key, value in self._changed(result).items():
            if self.channels.single(key) and not self.may_change(key):
                refused.append(key)
            elif key in self.inherited:
                update[key] = self.channels.update(key, self.inherited[key], value)
            else:
                update[key] = value
        return Command(update={**update, "messages": [self._message(text, refused)]})

    def _changed(self, result: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value
            for key, value in result.items()
            if key not in OWN_KEYS
            and key not in self.private
            and not (key in self.inherited and same(value, self.inherited[key]))
        }

    def _message(self, text: str, refused: list[str]) -> ToolMessage:
        content: Any = text
        if refused:
            keys = ", ".join(f"`{key}`" for key in sorted(refused))
            note = (
                f"Note: the change that this subagent made to {keys} was not kept, because a parallel task "
                "call of the same message changed it first."
            )
            # A block of its own: the answer may be JSON.
            content = [{"type": "text", "text": text}, {"type": "text", "text": note}]
        return ToolMessage(content=content, name=TASK_TOOL_NAME, tool_call_id=self.call_id)
