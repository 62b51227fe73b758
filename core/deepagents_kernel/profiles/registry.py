"""The registry of profiles of one kernel: additive, thread-safe, with a way back.

The content is an immutable snapshot that writers replace under a lock. Readers take it once and see
one consistent state without locking; what they merge is kept on the snapshot, so it is never stale.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from attrs import evolve, field, frozen

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.config import HarnessProfileConfig, as_harness_profile
from deepagents_kernel.profiles.keys import check_key
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.names import as_reported
from deepagents_kernel.profiles.provider import ProviderProfile, merge_provider_profiles
from deepagents_kernel.profiles.shelf import Layer, Layers, LazyProfile, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepagents_kernel.profiles.harness import HarnessProfile

_log = get_logger(__name__)

Kind = Literal["provider", "harness"]
RefT = TypeVar("RefT")


def _provider(profile: Any) -> ProviderProfile:
    if not isinstance(profile, ProviderProfile):
        raise ProfileTypeError(f"provider profile: expected ProviderProfile, got {type(profile).__name__}")
    return profile


def _providers() -> Shelf[ProviderProfile]:
    return Shelf("provider", _provider, merge_provider_profiles)


def _harnesses() -> Shelf[HarnessProfile]:
    return Shelf("harness", as_harness_profile, merge_harness_profiles, as_reported)


@frozen(eq=False)
class RegistrySnapshot:
    """The content of a registry at one moment.

    Attributes:
        providers: provider profiles by key.
        harnesses: harness profiles by key.
        version: counts the changes of the registry up to this moment.
    """

    providers: Shelf[ProviderProfile] = field(factory=_providers)
    harnesses: Shelf[HarnessProfile] = field(factory=_harnesses)
    version: int = 0
    _refs: dict[Layers, Any] = field(factory=dict, init=False, repr=False)

    def shelf(self, kind: Kind) -> Shelf[Any]:
        """The profiles of one sort."""
        return self.providers if kind == "provider" else self.harnesses

    def merged_provider(self, layers: Layers) -> ProviderProfile:
        """The provider profiles under *layers* (registered keys, lowest first), merged once."""
        return self.providers.merged(layers)

    def merged_harness(self, layers: Layers) -> HarnessProfile:
        """The harness profiles under *layers* (registered keys, lowest first), merged once."""
        return self.harnesses.merged(layers)

    def kept(self, layers: Layers, make: Callable[[Layers], RefT]) -> RefT:
        """What *make* answers for harness layers, asked once for this content."""
        found = self._refs.get(layers)
        if found is None:
            found = self._refs.setdefault(layers, make(layers))
        ref: RefT = found
        return ref


class ProfileRegistry:
    """Provider and harness profiles by key.

    Keys that differ only in the spelling of the provider are one key (``azure_openai:m`` and ``azure:m``),
    and so are a model's name alone and behind the provider that it is inferred to have (``gpt-5.4`` and
    ``openai:gpt-5.4``). Registering under a key that is taken stacks the new profile on the old one. What was
    looked up earlier is not affected by later changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = RegistrySnapshot()
        self._owner: ContextVar[str] = ContextVar("owner", default="")

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._state.version

    def provider(self, key: str) -> ProviderProfile | None:
        """The provider profile under *key*, in any spelling of its provider, or ``None``."""
        return self._state.providers.get(key)

    def harness(self, key: str) -> HarnessProfile | None:
        """The harness profile under *key*, in any spelling of its provider, or ``None``."""
        return self._state.harnesses.get(key)

    def provider_keys(self) -> list[str]:
        """The keys of all provider profiles, sorted."""
        return sorted(self._state.providers)

    def harness_keys(self) -> list[str]:
        """The keys of all harness profiles, sorted."""
        return sorted(self._state.harnesses)

    def layers(self, kind: Kind, key: str) -> tuple[Layer[Any], ...]:
        """What was registered under *key*, lowest layer first, with the plugins that did it.

        Args:
            kind: ``"provider"`` or ``"harness"``.
            key: the key.
        """
        return self._state.shelf(kind).registered(key)

    @contextmanager
    def owned_by(self, owner: str) -> Iterator[None]:
        """Registrations in this context are made by *owner*: a plugin, or a place in a file."""
        token = self._owner.set(owner)
        try:
            yield
        finally:
            self._owner.reset(token)

    def register_provider(self, key: str, profile: ProviderProfile | LazyProfile) -> None:
        """Add a provider profile, on top of the one that the key has.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile, or where it is to be imported from.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put("provider", key, profile, merge=True)

    def replace_provider(self, key: str, profile: ProviderProfile | LazyProfile) -> None:
        """Set the provider profile of a key, whatever it had before.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile, or where it is to be imported from.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put("provider", key, profile, merge=False)

    def unregister_provider(self, key: str) -> None:
        """Remove the provider profile of a key.

        Raises:
            ProfileError: there is none; the nearest keys are named.
        """
        self._remove("provider", key)

    def register_harness(
        self, key: str, profile: HarnessProfile | HarnessProfileConfig | LazyProfile
    ) -> None:
        """Add a harness profile, on top of the one that the key has.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile, in either form, or where it is to be imported from.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put("harness", key, profile, merge=True)

    def replace_harness(self, key: str, profile: HarnessProfile | HarnessProfileConfig | LazyProfile) -> None:
        """Set the harness profile of a key, whatever it had before.

        Args:
            key: ``provider`` or ``provider:model``.
            profile: the profile, in either form, or where it is to be imported from.

        Raises:
            ProfileError: the key is malformed.
            ProfileTypeError: key or profile has the wrong type.
        """
        self._put("harness", key, profile, merge=False)

    def unregister_harness(self, key: str) -> None:
        """Remove the harness profile of a key.

        Raises:
            ProfileError: there is none; the nearest keys are named.
        """
        self._remove("harness", key)

    def snapshot(self) -> RegistrySnapshot:
        """The present content: for a consistent lookup, and for :meth:`restore`."""
        return self._state

    def restore(self, snapshot: RegistrySnapshot) -> None:
        """Go back to a snapshot; what was registered since is gone.

        The version still grows, so that nobody takes the restored content for the one before.
        """
        with self._lock:
            self._state = evolve(snapshot, version=self._state.version + 1)

    def _put(self, kind: Kind, key: str, given: Any, *, merge: bool) -> None:
        checked = check_key(key, f"{kind} profile")
        with self._lock:
            state = self._state
            shelf = state.shelf(kind)
            merged = merge and checked in shelf
            changed = shelf.put(checked, given, self._owner.get(), merge=merge)
            self._state = _changed(state, kind, changed)
        if merged:
            _log.info(f"{kind}_profile_merged", key=checked)

    def _remove(self, kind: Kind, key: str) -> None:
        with self._lock:
            state = self._state
            self._state = _changed(state, kind, state.shelf(kind).without(key))


def _changed(state: RegistrySnapshot, kind: Kind, shelf: Shelf[Any]) -> RegistrySnapshot:
    version = state.version + 1
    if kind == "provider":
        return evolve(state, providers=shelf, version=version)
    return evolve(state, harnesses=shelf, version=version)
