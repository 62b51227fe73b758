"""Each behaviour as a plugin of its own, for any model: off until somebody enables it.

Which of them a model needs is a matter of what it does, not of its name. A stack whose profile brings a
behaviour already has one of it all the same.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.assembly.specs import MiddlewareSpec

_PACKAGE = __name__.rpartition(".")[0]


class BehaviourPlugin:
    """Adds one middleware of this package to every stack.

    Args:
        module: where its class is, imported when an agent is planned.
        cls: name of the class.
        summary: what it does, in one line.
    """

    def __init__(self, module: str, cls: str, summary: str) -> None:
        self.PLUGIN = PluginInfo(summary=summary)
        self._module = module
        self._cls = cls

    @hookimpl
    def deepagents_middleware(self) -> MiddlewareSpec:
        """The slot, in the tail, where a profile's own one would stand."""
        from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment

        cls: Any = getattr(importlib.import_module(f"{_PACKAGE}.{self._module}"), self._cls)
        return MiddlewareSpec(
            cls.__name__,
            cls,
            lambda _context: cls(),
            segment=Segment.TAIL,
            summary=self.PLUGIN.summary,
        )


PROGRESS_BUDGET = BehaviourPlugin(
    "progress_budget", "NemotronProgressBudgetMiddleware", "Ends a turn that makes no progress."
)
POLICY_NUDGES = BehaviourPlugin(
    "policy_nudges", "NemotronPolicyNudgeMiddleware", "Reminds a model of what it was asked to do."
)
TOOL_CALL_SHIM = BehaviourPlugin(
    "tool_call_shim", "NemotronToolCallShim", "Mends arguments and empty results of tool calls."
)
READ_CONTINUATION = BehaviourPlugin(
    "read_continuation",
    "ReadFileContinuationNoticeMiddleware",
    "Says where to read on when a page may not be the end of a file.",
)
RATE_LIMIT_RETRY = BehaviourPlugin(
    "rate_limit", "ModelRateLimitRetryMiddleware", "Waits and tries again when a provider limits the rate."
)
NVIDIA_COMPATIBILITY = BehaviourPlugin(
    "nvidia_compatibility",
    "ChatNVIDIAMessageCompatibilityMiddleware",
    "Gives messages the fields that NVIDIA's client looks for.",
)
REASONING_TAGS = BehaviourPlugin(
    "reasoning_tags", "NemotronReasoningTagCleanupMiddleware", "Moves <think> blocks out of answers."
)
TEXT_TOOL_CALLS = BehaviourPlugin(
    "text_tool_calls", "NemotronTextToolCallParser", "Reads tool calls that a model wrote as text."
)
FOLLOWUP_GUARD = BehaviourPlugin(
    "followup_guard", "FollowupDisciplineMiddleware", "Sends needless questions back once."
)
ENTITY_GUARD = BehaviourPlugin(
    "entity_guard", "EntityResolutionGuardMiddleware", "Has names and numbers looked up before they are told."
)
FINAL_ANSWER_GUARD = BehaviourPlugin(
    "final_answer_guard",
    "FinalAnswerGuardMiddleware",
    "Sends answers back once that leave out what was done.",
)
