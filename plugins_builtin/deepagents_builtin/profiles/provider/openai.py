"""The ``provider.openai`` plugin: models of OpenAI speak the Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from deepagents_builtin.profiles.provider._settings import settings_reader
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.provider import ProviderProfile

if TYPE_CHECKING:
    from deepagents_kernel.model_facts import ModelFacts


@frozen
class OpenAISettings:
    """Settings of the plugin.

    Attributes:
        use_responses_api: ``False`` for servers that speak chat completions only.
    """

    use_responses_api: bool = True


PLUGIN = PluginInfo(
    summary="Models of OpenAI speak the Responses API.",
    settings=OpenAISettings,
)


@hookimpl
def deepagents_provider_profiles() -> list[tuple[str, ProviderProfile]]:
    """The profile of every ``openai:...`` model."""
    settings = settings_reader(OpenAISettings)
    profile = ProviderProfile(init_kwargs_factory=lambda: {"use_responses_api": settings().use_responses_api})
    return [("openai", profile)]


@hookimpl
def deepagents_model_facts() -> list[tuple[str, ModelFacts]]:
    """What holds for every model of OpenAI."""
    from deepagents_builtin.profiles.facts import OPENAI

    return [("openai", OPENAI)]
