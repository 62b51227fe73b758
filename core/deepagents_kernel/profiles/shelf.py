"""Profiles of one sort by key, each with the registrations that it was merged from."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from deepagents_kernel.errors import ProfileError, ProfileTypeError, nearest_hint
from deepagents_kernel.plugins.names import PLUGIN_NAME
from deepagents_kernel.profiles.names import one_spelling, read_name, undated

ProfileT = TypeVar("ProfileT")

#: Keys whose profiles are merged, lowest first.
Layers = tuple[str, ...]
#: What a key stands for: a provider in one spelling, and a model or ``None`` for all of them.
Place = tuple[str, str | None]


@frozen
class LazyProfile:
    """A profile that is imported when a model uses it for the first time.

    A plugin with profiles for many models returns these, so that only what is used is loaded.

    Attributes:
        target: ``"module:attribute"`` of the profile.
    """

    target: str

    def load(self) -> Any:
        """What the target names.

        Raises:
            ProfileError: it can't be imported.
        """
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            raise ProfileError(
                f"the profile {self.target!r} can't be loaded: {type(error).__name__}: {error}"
            ) from error


@frozen(eq=False)
class Layer(Generic[ProfileT]):
    """One registration under a key.

    Attributes:
        kind: ``"provider"`` or ``"harness"``, for texts.
        key: the key, as it was written.
        owner: the plugin that made it, or its place in a file; empty for the program itself.
        given: what was registered.
    """

    kind: str
    key: str
    owner: str
    given: Any
    _check: Callable[[Any], ProfileT] = field(repr=False)
    _loaded: list[ProfileT] = field(factory=list, init=False, repr=False)

    @property
    def profile(self) -> ProfileT:
        """The profile, imported now if it has to be.

        Raises:
            ProfileError: it can't be imported, or is no such profile; says whose it is.
        """
        if not self._loaded:
            self._loaded.append(self._load())
        return self._loaded[0]

    def _load(self) -> ProfileT:
        if not isinstance(self.given, LazyProfile):
            return self._check(self.given)
        try:
            return self._check(self.given.load())
        except ProfileError as error:
            # Who builds an agent did not ask for this profile, and can't know where it comes from.
            kind = ProfileTypeError if isinstance(error, ProfileTypeError) else ProfileError
            raise kind("\n  ".join([str(error), *self._origin(self.given)])) from error

    def _origin(self, lazy: LazyProfile) -> Iterator[str]:
        named = f"{lazy.target!r} is registered as the {self.kind} profile of {self.key!r}"
        if PLUGIN_NAME.fullmatch(self.owner):
            yield f"{named} by the plugin {self.owner}"
            yield f"without this plugin: deepagents-kernel plugins disable {self.owner}"
        else:
            yield f"{named} {f'in {self.owner}' if self.owner else 'by this program'}"


@frozen(eq=False)
class Shelf(Mapping[str, ProfileT]):
    """Profiles of one sort; immutable, what was merged is kept.

    Keys that mean the same model or provider are one key, shown as it was written first.

    Attributes:
        kind: ``"provider"`` or ``"harness"``, for texts.
        layers: key to its registrations, lowest first.
    """

    kind: str
    _check: Callable[[Any], ProfileT] = field(repr=False)
    _merge: Callable[[ProfileT, ProfileT], ProfileT] = field(repr=False)
    _spelling: Callable[[str], str] = field(default=one_spelling, repr=False)
    layers: Mapping[str, tuple[Layer[ProfileT], ...]] = field(factory=dict)
    _index: Mapping[Place, str] = field(factory=dict, repr=False)
    _merged: dict[Layers, ProfileT] = field(factory=dict, init=False, repr=False)

    def _place(self, key: object) -> Place:
        parts = read_name(key)
        return ("", None) if parts is None else (self._spelling(parts.provider), parts.model)

    def _places(self, index: Mapping[Place, str], key: str) -> Mapping[Place, str]:
        """*index* with a key more. A provider may be called like a model; its key is found as either."""
        either: dict[Place, str] = {} if ":" in key else {(self._spelling(key), None): key}
        return {**either, **index, self._place(key): key}

    def written(self, key: object) -> str | None:
        """The key that means the same as *key*, as it was written; ``None`` if there is none."""
        return self._index.get(self._place(key))

    def find(self, provider: str, model: str | None = None) -> str | None:
        """The key of a provider, or of one of its models: by its name, else by its name without a date."""
        spelled = self._spelling(provider)
        if model is None:
            return self._index.get((spelled, None))
        return self._index.get((spelled, model)) or self._index.get((spelled, undated(model)))

    def __getitem__(self, key: str) -> ProfileT:
        written = self.written(key)
        if written is None:
            raise KeyError(key)
        return self.merged((written,))

    def __contains__(self, key: object) -> bool:
        # The one of Mapping would merge, and import, to find out.
        return self.written(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def merged(self, keys: Layers) -> ProfileT:
        """The profiles under *keys*, lowest first, merged once."""
        found = self._merged.get(keys)
        if found is None:
            profiles = (layer.profile for key in keys for layer in self.layers[key])
            found = self._merged.setdefault(keys, reduce(self._merge, profiles))
        return found

    def registered(self, key: str) -> tuple[Layer[ProfileT], ...]:
        """The registrations under a key, in any spelling, lowest first; empty for none."""
        written = key if key in self.layers else self.written(key)
        return () if written is None else self.layers[written]

    def put(self, key: str, given: Any, owner: str, *, merge: bool) -> Shelf[ProfileT]:
        """The shelf with another registration; without *merge* it is the only one of its key."""
        written = self.written(key) or key
        layer: Layer[ProfileT] = Layer(self.kind, written, owner, given, self._check)
        if not isinstance(given, LazyProfile):
            _ = layer.profile  # checked while the one who registers is there to be told
        below = self.registered(key) if merge else ()
        index = self._index if written in self.layers else self._places(self._index, written)
        return self._with({**self.layers, written: (*below, layer)}, index)

    def without(self, key: str) -> Shelf[ProfileT]:
        """The shelf without a key.

        Raises:
            ProfileError: it has none; the nearest keys are named.
        """
        written = self.written(key)
        if written is None:
            hint = nearest_hint(str(key), self.layers)
            reason = f"no {self.kind} profile is registered under {key!r}"
            raise ProfileError(f"{reason}\n  {hint}" if hint else reason)
        kept = {name: layers for name, layers in self.layers.items() if name != written}
        return self._with(kept, reduce(self._places, kept, {}))

    def _with(
        self, layers: Mapping[str, tuple[Layer[ProfileT], ...]], index: Mapping[Place, str]
    ) -> Shelf[ProfileT]:
        return Shelf(self.kind, self._check, self._merge, self._spelling, layers, index)
