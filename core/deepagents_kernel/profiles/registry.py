"""The registry of profiles of one kernel: additive, thread-safe, with a way back.

The content is an immutable snapshot that writers replace under a lock. Readers take it once and see
one consistent state without locking; what they merge is kept on the snapshot, so it is never stale.
"""

from __future__ import annotations

import threading
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from attrs import evolve, field, frozen

from deepagents_kernel.errors import ProfileError, ProfileTypeError, nearest_hint
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.config import HarnessProfileConfig, as_harness_profile
from deepagents_kernel.profiles.keys import check_key
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.provider import ProviderProfile, merge_provider_profiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel.profiles.harness import HarnessProfile

_log = get_logger(__name__)

Layers = tuple[str, ...]
ProfileT = TypeVar("ProfileT")


@frozen(eq=False)
class RegistrySnapshot:
    """The content of a registry at one moment.

    Attributes:
        providers: provider profiles by key.
        harnesses: harness profiles by key.
        version: counts the changes of the registry up to this moment.
    """

    providers: Mapping[str, ProviderProfile] = field(factory=dict)
    harnesses: Mapping[str, HarnessProfile] = field(factory=dict)
    version: int = 0
    _provider_cache: dict[Layers, ProviderProfile] = field(factory=dict, init=False, repr=False)
    _harness_cache: dict[Layers, HarnessProfile] = field(factory=dict, init=False, repr=False)

    def merged_provider(self, layers: Layers) -> ProviderProfile:
        """The provider profiles under *layers* (registered keys, lowest first), merged once."""
        found = self._provider_cache.get(layers)
        if found is None:
            merged = reduce(merge_provider_profiles, (self.providers[key] for key in layers))
            found = self._provider_cache.setdefault(layers, merged)
        return found

    def merged_harness(self, layers: Layers) -> HarnessProfile:
        """The harness profiles under *layers* (registered keys, lowest first), merged once."""
        found = self._harness_cache.get(layers)
        if found is None:
            merged = reduce(merge_harness_profiles, (self.harnesses[key] for key in layers))
            found = self._harness_cache.setdefault(layers, merged)
        return found


class ProfileRegistry:
    """Provider and harness profiles by key.

    Registering under a key that is taken stacks the new profile on the old one. What was looked up
    earlier is not affected by later changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = RegistrySnapshot()

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._state.version

    def provider(self, key: str) -> ProviderProfile | None:
        """The provider profile under exactly *key*, or ``None``."""
        return self._state.providers.get(key)

    def harness(self, key: str) -> HarnessProfile | None:
        """The harness profile under exactly *key*, or ``None``."""
        return self._state.harnesses.get(key)

    def provider_keys(self) -> list[str]:
        """The keys of all provider profiles, sorted."""
        return sorted(self._state.providers)

    def harness_keys(self) -> list[str]:
        """The keys of all harness profiles, sorted."""
        return sorted(self._state.harnesses)

    def register_provider(self, key: str, profile: ProviderProfile) -> None:
        """Add a provider profile, on top of the one that the key has.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put_provider(key, profile, merge=True)

    def replace_provider(self, key: str, profile: ProviderProfile) -> None:
        """Set the provider profile of a key, whatever it had before.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put_provider(key, profile, merge=False)

    def unregister_provider(self, key: str) -> None:
        """Remove the provider profile of a key.

        Raises:
            ProfileError: there is none; the nearest keys are named.
        """
        with self._lock:
            state = self._state
            self._state = evolve(
                state, providers=_without(state.providers, key, "provider"), version=state.version + 1
            )

    def register_harness(self, key: str, profile: HarnessProfile | HarnessProfileConfig) -> None:
        """Add a harness profile, on top of the one that the key has.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile, in either form.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put_harness(key, profile, merge=True)

    def replace_harness(self, key: str, profile: HarnessProfile | HarnessProfileConfig) -> None:
        """Set the harness profile of a key, whatever it had before.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile, in either form.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put_harness(key, profile, merge=False)

    def unregister_harness(self, key: str) -> None:
        """Remove the harness profile of a key.

        Raises:
            ProfileError: there is none; the nearest keys are named.
        """
        with self._lock:
            state = self._state
            self._state = evolve(
                state, harnesses=_without(state.harnesses, key, "harness"), version=state.version + 1
            )

    def snapshot(self) -> RegistrySnapshot:
        """The present content: for a consistent lookup, and for :meth:`restore`."""
        return self._state

    def restore(self, snapshot: RegistrySnapshot) -> None:
        """Go back to a snapshot; what was registered since is gone.

        The version still grows, so that nobody takes the restored content for the one before.
        """
        with self._lock:
            self._state = evolve(snapshot, version=self._state.version + 1)

    def _put_provider(self, key: str, profile: ProviderProfile, *, merge: bool) -> None:
        checked = check_key(key, "provider profile")
        added = _provider(profile)
        with self._lock:
            state = self._state
            below = state.providers.get(checked) if merge else None
            merged = added if below is None else merge_provider_profiles(below, added)
            providers = {**state.providers, checked: merged}
            self._state = evolve(state, providers=providers, version=state.version + 1)
        if below is not None:
            _log.info("provider_profile_merged", key=checked)

    def _put_harness(self, key: str, profile: HarnessProfile | HarnessProfileConfig, *, merge: bool) -> None:
        checked = check_key(key, "harness profile")
        added = as_harness_profile(profile)
        with self._lock:
            state = self._state
            below = state.harnesses.get(checked) if merge else None
            merged = added if below is None else merge_harness_profiles(below, added)
            harnesses = {**state.harnesses, checked: merged}
            self._state = evolve(state, harnesses=harnesses, version=state.version + 1)
        if below is not None:
            _log.info("harness_profile_merged", key=checked)


def _provider(profile: ProviderProfile) -> ProviderProfile:
    given: object = profile
    if not isinstance(given, ProviderProfile):
        raise ProfileTypeError(f"provider profile: expected ProviderProfile, got {type(given).__name__}")
    return given


def _without(profiles: Mapping[str, ProfileT], key: str, kind: str) -> dict[str, ProfileT]:
    if key not in profiles:
        hint = nearest_hint(str(key), profiles)
        raise ProfileError(f"no {kind} profile is registered under {key!r}" + (f"\n  {hint}" if hint else ""))
    return {name: profile for name, profile in profiles.items() if name != key}
