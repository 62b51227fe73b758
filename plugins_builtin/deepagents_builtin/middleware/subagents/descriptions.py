"""Texts that the parent model and the default sub-agent read. No text here depends on an agent."""

from __future__ import annotations

from typing import Final, TypedDict

#: Replaced by the list of agents, wherever it stands in a description of the tool.
AGENTS_PLACEHOLDER: Final = "{available_agents}"

TASK_TOOL_DESCRIPTION: Final = """\
Hand a self-contained piece of work to a subagent and get its final report back as the result of this call.

Agents you can name in `subagent_type`:
{available_agents}

How to delegate well:
1. Work that splits into independent parts goes out in parallel: make several `task` calls in one message \
rather than one after the other.
2. Every call starts from nothing. The subagent does not see this conversation, keeps no memory of earlier \
calls and cannot ask you anything. Unless its entry above says that it inherits the conversation, put all \
of the following into `description`: the goal, every fact and path it needs, and exactly what its report has \
to contain.
3. State what kind of work you expect: writing or changing something, analysing it, or only researching it. \
The subagent does not know what the user asked for.
4. Only you see the report. Pass on to the user what matters in it.
5. An agent whose entry says that it should be used proactively may be called without being asked for.
6. Choose the most specific agent. `general-purpose`, where it is listed, has the same abilities as you: use \
it for long or many-step work that would fill this conversation with detail of which only the outcome \
matters.
7. Do small things yourself; a delegation is not worth it when you need the intermediate steps or when it \
takes only a call or two."""

TYPES_HEADING: Final = "Subagents that the `task` tool can start:"

DEFAULT_GENERAL_PURPOSE_DESCRIPTION: Final = (
    "An agent with the same tools and abilities as you, for work that takes many steps or much reading: "
    "searching widely, examining many files, carrying a multi-step job through. It keeps the detail out of "
    "this conversation and reports the outcome."
)

DEFAULT_SUBAGENT_PROMPT: Final = (
    "You carry out one task for another agent. You have tools; use them until the task is done. Nobody can "
    "answer questions, so decide what is unclear yourself and say what you assumed. Your last message is all "
    "that is handed back: make it a complete, self-contained report in the form that was asked for, with the "
    "facts, paths and numbers that the reader needs."
)


class GeneralPurposeSpec(TypedDict):
    """The spec of the agent that is there without being declared."""

    name: str
    description: str
    system_prompt: str


GENERAL_PURPOSE_SUBAGENT: Final[GeneralPurposeSpec] = {
    "name": "general-purpose",
    "description": DEFAULT_GENERAL_PURPOSE_DESCRIPTION,
    "system_prompt": DEFAULT_SUBAGENT_PROMPT,
}
