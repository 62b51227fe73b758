"""The profile: prompt, tool description, and the twelve behaviours in their order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from langchain.agents.middleware import ToolRetryMiddleware

from deepagents_builtin.profiles.harness.nemotron import prompt
from deepagents_builtin.profiles.harness.nemotron.entity_guard import EntityResolutionGuardMiddleware
from deepagents_builtin.profiles.harness.nemotron.final_answer_guard import FinalAnswerGuardMiddleware
from deepagents_builtin.profiles.harness.nemotron.followup_guard import FollowupDisciplineMiddleware
from deepagents_builtin.profiles.harness.nemotron.names import FILE_TOOLS
from deepagents_builtin.profiles.harness.nemotron.nvidia_compatibility import (
    ChatNVIDIAMessageCompatibilityMiddleware,
)
from deepagents_builtin.profiles.harness.nemotron.policy_nudges import NemotronPolicyNudgeMiddleware
from deepagents_builtin.profiles.harness.nemotron.progress_budget import (
    NemotronProgressBudgetMiddleware,
    ProgressBudget,
)
from deepagents_builtin.profiles.harness.nemotron.rate_limit import ModelRateLimitRetryMiddleware
from deepagents_builtin.profiles.harness.nemotron.read_continuation import (
    ReadFileContinuationNoticeMiddleware,
)
from deepagents_builtin.profiles.harness.nemotron.reasoning_tags import NemotronReasoningTagCleanupMiddleware
from deepagents_builtin.profiles.harness.nemotron.text_tool_calls import NemotronTextToolCallParser
from deepagents_builtin.profiles.harness.nemotron.tool_call_shim import NemotronToolCallShim
from deepagents_kernel.profiles import HarnessProfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from langchain.agents.middleware.types import AgentMiddleware

RATE_LIMIT_DELAYS: Final = (4.0, 12.0)


def behaviours(
    budget: ProgressBudget = ProgressBudget(),  # noqa: B008 - it can't be changed
    rate_limit_delays: Sequence[float] = RATE_LIMIT_DELAYS,
    approved_tools: Iterable[str] = (),
) -> list[AgentMiddleware[Any, Any, Any]]:
    """The twelve behaviours, new ones at each call.

    Args:
        budget: what a turn may spend without progress.
        rate_limit_delays: seconds to wait before each further attempt of a model call.
        approved_tools: changing tools of which each call is approved; of these a call in JSON, or one that
            the answer does not end with, counts as well.
    """
    return [
        NemotronProgressBudgetMiddleware(
            max_model_calls=budget.max_model_calls,
            max_tool_results=budget.max_tool_results,
            max_repeated_tool_calls=budget.max_repeated_tool_calls,
        ),
        NemotronPolicyNudgeMiddleware(),
        NemotronToolCallShim(),
        ReadFileContinuationNoticeMiddleware(),
        ToolRetryMiddleware(
            max_retries=1,
            tools=list(FILE_TOOLS),
            on_failure="continue",
            backoff_factor=1.0,
            initial_delay=0.0,
            max_delay=0.0,
            jitter=False,
        ),
        ModelRateLimitRetryMiddleware(rate_limit_delays),
        ChatNVIDIAMessageCompatibilityMiddleware(),
        NemotronReasoningTagCleanupMiddleware(),
        NemotronTextToolCallParser(approved_tools=approved_tools),
        FollowupDisciplineMiddleware(),
        EntityResolutionGuardMiddleware(),
        FinalAnswerGuardMiddleware(),
    ]


def nemotron_profile(
    budget: ProgressBudget = ProgressBudget(),  # noqa: B008 - it can't be changed
    rate_limit_delays: Sequence[float] = RATE_LIMIT_DELAYS,
    approved_tools: Iterable[str] = (),
) -> HarnessProfile:
    """The profile, with other data where it is given.

    Args:
        budget: what a turn may spend without progress.
        rate_limit_delays: seconds to wait before each further attempt of a model call.
        approved_tools: changing tools of which each call is approved; of these a call in JSON, or one that
            the answer does not end with, counts as well.
    """
    return HarnessProfile(
        system_prompt_suffix=prompt.SUFFIX,
        tool_description_overrides={"read_file": prompt.READ_FILE_DESCRIPTION},
        extra_middleware=partial(behaviours, budget, tuple(rate_limit_delays), frozenset(approved_tools)),
    )


NEMOTRON_3_ULTRA: Final = nemotron_profile()
