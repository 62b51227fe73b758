"""The ``harness.claude-opus-4-7`` plugin: how agents run on Claude Opus 4.7."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.shelf import LazyProfile

if TYPE_CHECKING:
    from deepagents_kernel.model_facts import ModelFacts

PLUGIN = PluginInfo(summary="Advice on tools for agents that run on Claude Opus 4.7.")

KEY = "anthropic:claude-opus-4-7"


@hookimpl
def deepagents_harness_profiles() -> list[tuple[str, LazyProfile]]:
    """The profile, imported when the model is used."""
    return [(KEY, LazyProfile(f"{__name__}_profile:PROFILE"))]


@hookimpl
def deepagents_model_facts() -> list[tuple[str, ModelFacts]]:
    """What is known of the model."""
    from deepagents_builtin.profiles.facts import CLAUDE

    return [(KEY, CLAUDE[KEY])]
