"""How agents run on Claude Sonnet 4.6."""

from __future__ import annotations

from deepagents_builtin.profiles.harness.claude_texts import COMMON
from deepagents_kernel.profiles.harness import HarnessProfile

PROFILE = HarnessProfile(system_prompt_suffix=COMMON)
