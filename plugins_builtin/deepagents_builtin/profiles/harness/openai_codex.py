"""The ``harness.openai-codex`` plugin: how agents run on OpenAI's Codex models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.shelf import LazyProfile

if TYPE_CHECKING:
    from deepagents_kernel.model_facts import ModelFacts

PLUGIN = PluginInfo(summary="Advice and a list of tasks for agents that run on OpenAI's Codex models.")

KEYS = ("openai:gpt-5.1-codex", "openai:gpt-5.2-codex", "openai:gpt-5.3-codex")


@hookimpl
def deepagents_harness_profiles() -> list[tuple[str, LazyProfile]]:
    """One profile for each of the models, imported when one of them is used."""
    return [(key, LazyProfile(f"{__name__}_profile:PROFILE")) for key in KEYS]


@hookimpl
def deepagents_model_facts() -> list[tuple[str, ModelFacts]]:
    """What is known of the models."""
    from deepagents_builtin.profiles.facts import CODEX

    return [(key, CODEX[key]) for key in KEYS]
