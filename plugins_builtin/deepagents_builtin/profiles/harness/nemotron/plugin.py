"""The ``harness.nemotron-3-ultra`` plugin: the keys under which providers offer the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles import LazyProfile

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGIN = PluginInfo(summary="How agents run on NVIDIA Nemotron 3 Ultra, at every provider that offers it.")

#: A string has ``nvidia``, a client object reports ``NVIDIA``. The registry takes both for one provider, and
#: a profile that is registered for both would be merged with itself. The identifier is from
#: https://build.nvidia.com/nvidia/nemotron-3-ultra-550b-a55b; the others are as deepagents has them, and
#: could not be compared with a page of their provider.
KEYS: Final = (
    "nvidia:nvidia/nemotron-3-ultra-550b-a55b",
    "baseten:nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B",
    "fireworks:accounts/fireworks/models/nemotron-3-ultra-nvfp4",
    "fireworks:accounts/fireworks/models/nemotron-3-ultra-bf16",
    "openrouter:nvidia/nemotron-3-ultra-550b-a55b",
    "nebius:nvidia/Nemotron-3-Ultra-550b-a55b",
    "together:nvidia/nemotron-3-ultra-550b-a55b",
)

PROFILE: Final = LazyProfile("deepagents_builtin.profiles.harness.nemotron.profile:NEMOTRON_3_ULTRA")


@hookimpl
def deepagents_harness_profiles() -> Iterator[tuple[str, LazyProfile]]:
    """One profile under every key, imported when one of the models is used."""
    for key in KEYS:
        yield key, PROFILE
