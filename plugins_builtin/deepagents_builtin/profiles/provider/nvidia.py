"""The ``provider.nvidia`` plugin: requests to NVIDIA's endpoints say what sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_builtin.profiles.provider._settings import settings_reader
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.provider import ProviderProfile

if TYPE_CHECKING:
    from deepagents_kernel.model_facts import ModelFacts

#: The header by which NVIDIA tells apart the frameworks that call its endpoints.
ORIGIN_HEADER = "X-BILLING-INVOKE-ORIGIN"


@frozen
class NvidiaSettings:
    """Settings of the plugin.

    Attributes:
        invoke_origin: value of the header; empty to send none.
    """

    invoke_origin: str = "deepagents-kernel"


PLUGIN = PluginInfo(
    summary="Requests to NVIDIA's endpoints say what sends them.",
    settings=NvidiaSettings,
)


@hookimpl
def deepagents_provider_profiles() -> list[tuple[str, ProviderProfile]]:
    """The profile of every ``nvidia:...`` model."""
    settings = settings_reader(NvidiaSettings)

    def kwargs() -> dict[str, Any]:
        origin = settings().invoke_origin
        return {"default_headers": {ORIGIN_HEADER: origin}} if origin else {}

    return [("nvidia", ProviderProfile(init_kwargs_factory=kwargs))]


@hookimpl
def deepagents_model_facts() -> list[tuple[str, ModelFacts]]:
    """What is known of Nemotron 3 Ultra, wherever it is served."""
    from deepagents_builtin.profiles.facts import NEMOTRON

    return list(NEMOTRON.items())
