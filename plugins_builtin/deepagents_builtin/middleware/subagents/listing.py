"""The list of agents, and the description of the ``task`` tool that carries it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_builtin.middleware.subagents.descriptions import (
    AGENTS_PLACEHOLDER,
    TASK_TOOL_DESCRIPTION,
    TYPES_HEADING,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepagents_builtin.middleware.subagents.children import ChildHandle


def agent_list(children: Iterable[ChildHandle]) -> str:
    """One line ``- <name>: <description>`` for each agent, in order."""
    return "\n".join(f"- {child.name}: {child.description}" for child in children)


def task_description(children: Iterable[ChildHandle], template: str | None = None) -> str:
    """What the model is told about the ``task`` tool.

    Args:
        children: the agents, in order.
        template: replaces the default text; only ``{available_agents}`` in it is replaced, every other brace
            stays as it is, and without the placeholder the text is taken verbatim.
    """
    text = TASK_TOOL_DESCRIPTION if template is None else template
    return text.replace(AGENTS_PLACEHOLDER, agent_list(children))


def prompt_block(system_prompt: str, children: Iterable[ChildHandle]) -> str:
    """What a middleware with a ``system_prompt`` adds to the system message."""
    return f"{system_prompt}\n\n{TYPES_HEADING}\n\n{agent_list(children)}"
