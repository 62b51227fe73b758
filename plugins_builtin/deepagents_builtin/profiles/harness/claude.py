"""The plugins ``harness.claude-...``: how agents run on Claude models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.shelf import LazyProfile

if TYPE_CHECKING:
    from deepagents_kernel.model_facts import ModelFacts

_PACKAGE = __name__.rpartition(".")[0]


class ClaudePlugin:
    """Profile and facts of one model.

    Args:
        key: the model, as profiles are registered.
        title: its name in sentences.
        module: where its ``PROFILE`` is, imported when the model is used.
    """

    def __init__(self, key: str, title: str, module: str) -> None:
        self.PLUGIN = PluginInfo(summary=f"Advice on tools for agents that run on {title}.")
        self._key = key
        self._profile = LazyProfile(f"{_PACKAGE}.{module}:PROFILE")

    @hookimpl
    def deepagents_harness_profiles(self) -> list[tuple[str, LazyProfile]]:
        """The profile, imported when the model is used."""
        return [(self._key, self._profile)]

    @hookimpl
    def deepagents_model_facts(self) -> list[tuple[str, ModelFacts]]:
        """What is known of the model."""
        from deepagents_builtin.profiles.facts import CLAUDE

        return [(self._key, CLAUDE[self._key])]


OPUS_4_7 = ClaudePlugin("anthropic:claude-opus-4-7", "Claude Opus 4.7", "claude_opus_4_7_profile")
SONNET_4_6 = ClaudePlugin("anthropic:claude-sonnet-4-6", "Claude Sonnet 4.6", "claude_sonnet_4_6_profile")
HAIKU_4_5 = ClaudePlugin("anthropic:claude-haiku-4-5", "Claude Haiku 4.5", "claude_haiku_4_5_profile")
