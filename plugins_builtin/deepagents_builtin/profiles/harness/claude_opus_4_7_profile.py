"""How agents run on Claude Opus 4.7."""

from __future__ import annotations

from deepagents_builtin.profiles.harness.claude_texts import COMMON, SUBAGENTS, TOOLS
from deepagents_kernel.profiles.harness import HarnessProfile

PROFILE = HarnessProfile(system_prompt_suffix="\n\n".join((COMMON, TOOLS, SUBAGENTS)))
