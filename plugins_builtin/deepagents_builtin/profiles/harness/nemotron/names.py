"""Names that the behaviours share: of messages, of state keys, of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deepagents_kernel.behaviour.messages import InternalMessages
from deepagents_kernel.behaviour.progress import TurnLimits
from deepagents_kernel.behaviour.turns import Turn, current_turn
from deepagents_kernel.behaviour.vocabulary import ToolVocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

FINAL_ANSWER_GUARD: Final = "nemotron_final_answer_guard"
TRANSITION_NUDGE: Final = "nemotron_transition_nudge"
FOLLOWUP_GUARD: Final = "nemotron_followup_guard"
ENTITY_GUARD: Final = "nemotron_entity_guard"
ACTION_COMMIT_NUDGE: Final = "nemotron_action_commit_nudge"
TOOL_CHAIN_NUDGE: Final = "nemotron_tool_chain_nudge"
FILESYSTEM_REQUEST_NUDGE: Final = "nemotron_filesystem_request_nudge"
DOMAIN_TOOL_PREFERENCE: Final = "nemotron_domain_tool_preference"
DOMAIN_TOOL_NUDGE: Final = "nemotron_domain_tool_nudge"
PROGRESS_BUDGET: Final = "nemotron_progress_budget"

MESSAGES: Final = InternalMessages(
    {
        FINAL_ANSWER_GUARD,
        TRANSITION_NUDGE,
        FOLLOWUP_GUARD,
        ENTITY_GUARD,
        ACTION_COMMIT_NUDGE,
        TOOL_CHAIN_NUDGE,
        FILESYSTEM_REQUEST_NUDGE,
        DOMAIN_TOOL_PREFERENCE,
        DOMAIN_TOOL_NUDGE,
        PROGRESS_BUDGET,
    }
)

FILE_TOOLS: Final = ("ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep")
COMPACTION_TOOL: Final = "compact_conversation"
SHELL_TOOL: Final = "execute"

TOOLS: Final = ToolVocabulary(
    harness={*FILE_TOOLS, COMPACTION_TOOL, SHELL_TOOL, "task", "write_todos"},
    reading={
        "count",
        "describe",
        "fetch",
        "find",
        "get",
        "list",
        "lookup",
        "read",
        "retrieve",
        "search",
    },
    changing={
        *("approve", "archive", "assign", "activate", "book", "cancel", "charge", "close", "create"),
        *("deactivate", "delete", "disable", "enable", "escalate", "grant", "invite", "notify", "pay"),
        *("post", "publish", "reject", "refund", "remove", "reserve", "revoke", "schedule", "send"),
        *("submit", "terminate", "transfer", "update", "upgrade", "write"),
    },
)

#: From here on a turn is taken for a loop, and what would send the model back holds still.
LOOP_RISK: Final = TurnLimits(ai_messages=8, tool_messages=28)


def turn_of(messages: Sequence[BaseMessage]) -> Turn:
    """Everything since the user last spoke."""
    return current_turn(messages, MESSAGES)
