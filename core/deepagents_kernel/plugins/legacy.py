"""Packages written for deepagents' own two groups: callables that register profiles themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.errors import PluginError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepagents_kernel.plugins.installed import InstalledPlugin

# The callable runs where a plugin would return its profiles. It calls register_provider_profile and
# register_harness_profile, which reach the kernel being built through a context variable; so order, rollback
# and provenance are those of any other plugin.


class _ProviderProfiles:
    def __init__(self, register: Callable[[], object], info: PluginInfo) -> None:
        self.PLUGIN = info
        self._register = register

    @hookimpl
    def deepagents_provider_profiles(self) -> None:
        self._register()


class _HarnessProfiles:
    def __init__(self, register: Callable[[], object], info: PluginInfo) -> None:
        self.PLUGIN = info
        self._register = register

    @hookimpl
    def deepagents_harness_profiles(self) -> None:
        self._register()


def legacy_plugin(installed: InstalledPlugin, target: Any) -> object:
    """A plugin that calls the target of such an entry point.

    Raises:
        PluginError: it can't be called.
    """
    if not callable(target):
        reason = f"the target {installed.value!r} is {type(target).__name__}, and a function is expected"
        hint = f"entry points of group {installed.group} name a function without arguments"
        raise PluginError(installed.name, reason, hint)
    info = PluginInfo(summary=f"registers {installed.legacy} profiles ({installed.entry_point})")
    return (_ProviderProfiles if installed.legacy == "provider" else _HarnessProfiles)(target, info)
