"""How agents run on OpenAI's Codex models.

The topics follow OpenAI's guidance, the words are ours:
https://cookbook.openai.com/examples/gpt-5/gpt-5-1-codex-max_prompting_guide
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.profiles.harness import HarnessProfile

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware

SUFFIX = """\
## Working on your own

Carry the task through to the end in this turn: look, change, check, report. Prefer doing to proposing: \
where details are open, take the sensible reading, go ahead, and name what you assumed at the end. Ask \
only when you can't go on without an answer. Begin with the work itself: no announcement of a plan and no \
progress reports before the first tool calls.

## Looking things up

Before you read or search, think of everything that you will need, and ask for all of it in one parallel \
batch. Go one call at a time only where the next target can't be known before a result is there. Reads and \
searches that don't depend on each other never wait for each other.

## Keeping the list of tasks

When you keep a list with `write_todos`, leave nothing open on it by accident. Before you finish, settle \
every item: done, or blocked with the reason and the question that would unblock it, or dropped with the \
reason. Don't promise work that you are not going to do now."""


def extra_middleware() -> list[AgentMiddleware[Any, Any, Any]]:
    """The list of tasks that the text speaks of; no agent has it by default."""
    from langchain.agents.middleware import TodoListMiddleware

    return [TodoListMiddleware()]


PROFILE = HarnessProfile(system_prompt_suffix=SUFFIX, extra_middleware=extra_middleware)
