"""How models of Gigacorp are made."""

from typing import Any

from deepagents_kernel import PluginInfo, ProviderProfile, hookimpl

PLUGIN = PluginInfo(summary="Models of Gigacorp: region, and who asks.")


def _attribution() -> dict[str, Any]:
    return {"default_headers": {"x-gigacorp-client": "deepagents-gigacorp"}}


PROFILE = ProviderProfile(init_kwargs={"region": "eu"}, init_kwargs_factory=_attribution)


@hookimpl
def deepagents_provider_profiles() -> list[tuple[str, ProviderProfile]]:
    return [("gigacorp", PROFILE)]
