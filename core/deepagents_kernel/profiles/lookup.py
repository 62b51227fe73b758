"""Which profiles apply to a model: by the string it is made from, or by what an instance says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.config import HarnessProfileConfig, as_harness_profile
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.keys import split_spec
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.provider import ProviderProfile, resolve_kwargs

if TYPE_CHECKING:
    from deepagents_kernel.profiles.registry import Layers, ProfileRegistry, RegistrySnapshot

_log = get_logger(__name__)


@frozen
class ProfileRef:
    """A harness profile, and where it came from.

    Attributes:
        profile: the merged profile.
        key: the most specific registry key that it was found under; empty for none.
        layers: what was merged, lowest first: registry keys, and the names given to :func:`overlay`.
    """

    profile: HarnessProfile = field(hash=False)
    key: str = ""
    layers: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The layers in words, for plans and error texts; empty when there are none."""
        return " + ".join(self.layers)


#: What applies when nothing is registered for a model.
EMPTY_PROFILE = ProfileRef(HarnessProfile())


def harness_for_spec(registry: ProfileRegistry, spec: str) -> ProfileRef:
    """The harness profile for a model given as a string; the model itself is never asked.

    The exact key is merged over the key of its provider; one alone applies alone.

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
    model; either inherits from the provider of *its own* key. After these, the reported provider's key, or
    if none is reported the identifier's. An identifier without a colon is never taken for a provider's key.

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
    merged = merge_harness_profiles(ref.profile, as_harness_profile(profile))
    return evolve(ref, profile=merged, layers=(*ref.layers, layer))


def provider_for_spec(registry: ProfileRegistry, spec: str) -> ProviderProfile | None:
    """The provider profile for a model string: the exact key merged over the key of its provider.

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
    profile = provider_for_spec(registry, spec)
    if profile is None:
        return dict(given)
    if run_pre_init and profile.pre_init is not None:
        profile.pre_init(spec)
    return {**resolve_kwargs(profile), **given}


def _harness(state: RegistrySnapshot, layers: Layers, **asked: str | None) -> ProfileRef:
    _log.debug("harness_profile_lookup", **asked, layers=layers)
    return ProfileRef(state.merged_harness(layers), layers[-1], layers) if layers else EMPTY_PROFILE


def _spec_layers(known: Mapping[str, Any], spec: str) -> Layers:
    parts = split_spec(spec)
    if parts is None:
        return ()
    return _present(known, (parts.provider,) if parts.model is None else (parts.provider, spec))


def _model_layers(known: Mapping[str, Any], identifier: str | None, provider: str | None) -> Layers:
    named = split_spec(identifier)
    own = named.provider if named is not None and named.model is not None else None
    exact = []
    if provider and identifier:
        exact.append((provider, f"{provider}:{identifier}"))
    if own and identifier:
        exact.append((own, identifier))
    for prefix, key in exact:
        if key in known:
            return _present(known, (prefix, key))
    return _present(known, [key for key in (provider or own,) if key])


def _present(known: Mapping[str, Any], keys: Iterable[str]) -> Layers:
    return tuple(key for key in keys if key in known)
