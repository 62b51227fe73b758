"""Which profiles apply to a model: by the string it is made from, or by what an instance says of itself.

The same model gets the same profile either way. A name without a provider has the one that it is inferred to
have, spellings of one provider are equal, and a name with the day of its release falls back to the one
without (:mod:`deepagents_kernel.profiles.names`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.config import HarnessProfileConfig, as_harness_profile
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.keys import SpecParts
from deepagents_kernel.profiles.mappings import deep_merge
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.names import read_name
from deepagents_kernel.profiles.parts import ProfilePart, owned, with_named_factories
from deepagents_kernel.profiles.provider import ProviderProfile, resolve_kwargs, run_check

if TYPE_CHECKING:
    from deepagents_kernel.profiles.registry import ProfileRegistry, RegistrySnapshot
    from deepagents_kernel.profiles.shelf import Layer, Layers, Shelf

# Bound once: a lookup takes a few microseconds, and binding anew for each record as long again.
_log = get_logger(__name__).bind()


@frozen
class ProfileRef:
    """A harness profile, and where it came from.

    Attributes:
        profile: the merged profile.
        key: the most specific registry key that it was found under; empty for none.
        layers: what was merged, lowest first: registry keys as they are registered, and the names given to
            :func:`overlay`.
        parts: the profiles that were merged, lowest first, each with its layer and its plugin; one layer may
            have several.
    """

    profile: HarnessProfile = field(hash=False)
    key: str = ""
    layers: tuple[str, ...] = ()
    parts: tuple[ProfilePart, ...] = field(default=(), eq=False, repr=False)

    @property
    def label(self) -> str:
        """The layers in words, for plans and error texts; empty when there are none."""
        return " + ".join(self.layers)


#: What applies when nothing is registered for a model.
EMPTY_PROFILE = ProfileRef(HarnessProfile())


def harness_for_spec(registry: ProfileRegistry, spec: str) -> ProfileRef:
    """The harness profile for a model given as a string; the model itself is never asked.

    The key of the model, else that of its name without a date, is merged over the key of its provider; one
    alone applies alone.

    Args:
        registry: where to look.
        spec: the string as the caller wrote it.

    Returns:
        The profile, or ``EMPTY_PROFILE`` when there is none or the spec is malformed.
    """
    state = registry.snapshot()
    return _harness(state, _spec_layers(state.harnesses, spec), spec=spec)


def harness_for_model(registry: ProfileRegistry, model: Any) -> ProfileRef:
    """The harness profile for a model given as an instance, by the provider and identifier it reports.

    ``provider:identifier`` is tried first, then the identifier alone if it has the form of a key with a
    model; either inherits from the provider of *its own* key, and falls back to its name without a date.
    After these, the reported provider's key, or if none is reported the identifier's. An identifier without
    a colon is never taken for a provider's key.

    Args:
        registry: where to look.
        model: a chat model.

    Returns:
        The profile, or ``EMPTY_PROFILE`` when there is none.
    """
    from deepagents_kernel.models import get_model_identifier, get_model_provider

    state = registry.snapshot()
    identifier, provider = get_model_identifier(model), get_model_provider(model)
    layers = _model_layers(state.harnesses, identifier, provider)
    return _harness(state, layers, identifier=identifier, provider=provider)


def overlay(
    ref: ProfileRef, profile: HarnessProfile | HarnessProfileConfig, layer: str = "profile="
) -> ProfileRef:
    """*ref* with a profile for one agent on top.

    Args:
        ref: what the registry has for the model.
        profile: the profile to stack on it, in either form.
        layer: how the added layer is named in plans and error texts.

    Raises:
        ProfileTypeError: *profile* is neither form of a harness profile.
    """
    above = as_harness_profile(profile)
    parts = (*_parts_of(ref), ProfilePart(layer, above))
    merged = with_named_factories(merge_harness_profiles(ref.profile, above), parts)
    return evolve(ref, profile=merged, layers=(*ref.layers, layer), parts=parts)


def _parts_of(ref: ProfileRef) -> tuple[ProfilePart, ...]:
    # One that was made by hand has a profile only.
    return ref.parts or ((ProfilePart(ref.label, ref.profile),) if ref.layers else ())


def provider_for_spec(registry: ProfileRegistry, spec: str) -> ProviderProfile | None:
    """The provider profile for a model string: the key of the model merged over that of its provider.

    Args:
        registry: where to look.
        spec: the string as the caller wrote it.

    Returns:
        The profile, or ``None`` when there is none or the spec is malformed.
    """
    state = registry.snapshot()
    layers = _spec_layers(state.providers, spec)
    _log.debug("provider_profile_lookup", spec=spec, layers=layers)
    return state.merged_provider(layers) if layers else None


def provider_kwargs(
    registry: ProfileRegistry,
    spec: str,
    kwargs: Mapping[str, Any] | None = None,
    *,
    run_pre_init: bool = True,
) -> dict[str, Any]:
    """The keyword arguments to build a model with.

    The profile's check runs first, then its keyword arguments are made; the caller's stand on top as they
    are, ``None`` included.

    Args:
        registry: where to look.
        spec: the string as the caller wrote it.
        kwargs: the caller's own keyword arguments.
        run_pre_init: whether the profile's check runs.

    Returns:
        A new dictionary.

    Raises:
        ProfileTypeError: *kwargs* or what the factory made is not a mapping.
        Exception: whatever the check or the factory raises.
    """
    given: object = {} if kwargs is None else kwargs
    if not isinstance(given, Mapping):
        raise ProfileTypeError(f"kwargs: expected a mapping, got {type(given).__name__}")
    state = registry.snapshot()
    layers = _spec_layers(state.providers, spec)
    _log.debug("provider_profile_lookup", spec=spec, layers=layers)
    parts = [(key, item) for key in layers for item in state.providers.registered(key)]
    for key, item in parts:
        if run_pre_init and item.profile.pre_init is not None:
            with _named(key, item, spec, chained=len(parts) > 1):
                run_check(item.profile.pre_init, spec)
    made: dict[str, Any] = {}
    # One by one, as if they were merged, so that a failure is named with its layer.
    for key, item in parts:
        with _named(key, item, spec, chained=len(parts) > 1):
            made = deep_merge(made, resolve_kwargs(item.profile))
    return {**made, **given}


@contextmanager
def _named(key: str, layer: Layer[ProviderProfile], spec: str, *, chained: bool) -> Iterator[None]:
    """What a provider profile raises gets a note with its layer, and is logged where others stand by it."""
    try:
        yield
    except Exception as error:
        label = owned(key, layer.owner)
        error.add_note(f"raised by the provider profile of the layer {label}")
        if chained:
            _log.exception("provider_profile_failed", spec=spec, layer=label)
        raise


def _harness(state: RegistrySnapshot, layers: Layers, **asked: str | None) -> ProfileRef:
    _log.debug("harness_profile_lookup", **asked, layers=layers)
    return state.kept(layers, lambda found: _ref(state, found)) if layers else EMPTY_PROFILE


def _ref(state: RegistrySnapshot, layers: Layers) -> ProfileRef:
    parts = tuple(
        ProfilePart(key, item.profile, item.owner)
        for key in layers
        for item in state.harnesses.registered(key)
    )
    merged = with_named_factories(state.merged_harness(layers), parts)
    return ProfileRef(merged, layers[-1], layers, parts)


def _spec_layers(shelf: Shelf[Any], spec: str) -> Layers:
    parts = read_name(spec)
    if parts is None:
        return ()
    exact = None if parts.model is None else shelf.find(*parts)
    return _present(shelf.find(parts.provider), exact)


def _model_layers(shelf: Shelf[Any], identifier: str | None, provider: str | None) -> Layers:
    # An identifier is read as a key only if it looks like one: without a colon it would be a provider's.
    named = read_name(identifier) if identifier and ":" in identifier else None
    reported = SpecParts(provider, identifier) if provider and identifier else None
    for parts in filter(None, (reported, named)):
        exact = shelf.find(*parts)
        if exact is not None:
            return _present(shelf.find(parts.provider), exact)
    fallback = provider or (named.provider if named is not None else None)
    return _present(shelf.find(fallback) if fallback else None)


def _present(*keys: str | None) -> Layers:
    return tuple(dict.fromkeys(key for key in keys if key))
