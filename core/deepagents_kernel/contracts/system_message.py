"""Adding to a system message without disturbing what is there."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import SystemMessage


def append_to_system_message(system_message: SystemMessage | None, text: str) -> SystemMessage:
    """A system message with *text* as one more block.

    The blocks that are there stay as they are: flattened into one string they would lose the marks that
    end a provider's prompt cache. So do id and metadata. The given message isn't changed.

    Args:
        system_message: what to extend; ``None`` stands for an empty one.
        text: what to add, set off by a blank line if anything precedes it. An empty text adds nothing.

    Returns:
        A new message, or the given one if there was nothing to add.
    """
    if system_message is None:
        return SystemMessage(content=[{"type": "text", "text": text}] if text else [])
    if not text:
        return system_message
    content = system_message.content
    blocks: list[str | dict[str, Any]]
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}] if content else []
    else:
        blocks = list(content)
    blocks.append({"type": "text", "text": f"\n\n{text}" if blocks else text})
    return system_message.model_copy(update={"content": blocks})
