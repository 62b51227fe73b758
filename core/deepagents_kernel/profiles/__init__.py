"""Profiles: how a model is built (``ProviderProfile``) and how an agent runs on it (``HarnessProfile``).

A thin door: names are found when first asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel._lazy import lazy_exports

if TYPE_CHECKING:
    from deepagents_kernel.api import register_harness_profile, register_provider_profile
    from deepagents_kernel.profiles.config import HarnessProfileConfig
    from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile
    from deepagents_kernel.profiles.lookup import harness_for_spec, provider_kwargs
    from deepagents_kernel.profiles.provider import ProviderProfile
    from deepagents_kernel.profiles.shelf import LazyProfile

__all__ = [
    "GeneralPurposeSubagentProfile",
    "HarnessProfile",
    "HarnessProfileConfig",
    "LazyProfile",
    "ProviderProfile",
    "harness_for_spec",
    "provider_kwargs",
    "register_harness_profile",
    "register_provider_profile",
]

_HOMES = {
    "GeneralPurposeSubagentProfile": "deepagents_kernel.profiles.harness:GeneralPurposeSubagentProfile",
    "HarnessProfile": "deepagents_kernel.profiles.harness:HarnessProfile",
    "HarnessProfileConfig": "deepagents_kernel.profiles.config:HarnessProfileConfig",
    "LazyProfile": "deepagents_kernel.profiles.shelf:LazyProfile",
    "ProviderProfile": "deepagents_kernel.profiles.provider:ProviderProfile",
    "harness_for_spec": "deepagents_kernel.profiles.lookup:harness_for_spec",
    "provider_kwargs": "deepagents_kernel.profiles.lookup:provider_kwargs",
    "register_harness_profile": "deepagents_kernel.api:register_harness_profile",
    "register_provider_profile": "deepagents_kernel.api:register_provider_profile",
}

__getattr__, __dir__ = lazy_exports(__name__, exports=lambda: _HOMES, absent=dict)
