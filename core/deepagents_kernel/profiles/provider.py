"""``ProviderProfile``: how models of a provider, or one model, are constructed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from attrs import Attribute, field, frozen

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.calls import check_plain_call, check_plain_result
from deepagents_kernel.profiles.keys import split_spec
from deepagents_kernel.profiles.mappings import deep_merge, frozen_kwargs, plain

_log = get_logger(__name__)


def _init_kwargs(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return frozen_kwargs(value, "init_kwargs")


def _names_only(value: Mapping[str, Any]) -> str:
    # Keyword arguments of a model are where API keys stand; a repr ends up in logs and tracebacks.
    return f"<{', '.join(value)}>"


def _check_call(_profile: ProviderProfile, attribute: Attribute[Any], value: object) -> None:
    if value is None:
        return
    if not callable(value):
        raise ProfileTypeError(f"{attribute.name}: expected a callable or None, got {type(value).__name__}")
    check_plain_call(value, attribute.name)


@frozen
class ProviderProfile:
    """How a model is built from a string such as ``openai:gpt-5.4``.

    Profiles compare by value, have no hash, and can't be changed: mappings are copied and read-only.

    Attributes:
        init_kwargs: keyword arguments for the model's constructor.
        pre_init: called with the spec before anything else; raises to refuse the model.
        init_kwargs_factory: makes further keyword arguments, anew for each model; they win over
            ``init_kwargs``.

    Raises:
        ProfileTypeError: a field has the wrong type.
    """

    init_kwargs: Mapping[str, Any] = field(factory=dict, converter=_init_kwargs, repr=_names_only)
    pre_init: Callable[[str], None] | None = field(default=None, validator=_check_call)
    init_kwargs_factory: Callable[[], dict[str, Any]] | None = field(default=None, validator=_check_call)

    __hash__ = None  # type: ignore[assignment]  # the way to say "unhashable"; typeshed has no word for it


def run_check(check: Callable[[str], None], spec: str) -> None:
    """Call the ``pre_init`` of a profile.

    Args:
        check: the function.
        spec: the model string.

    Raises:
        ProfileTypeError: it returned a coroutine, which would never run.
        Exception: whatever the check raises.
    """
    made: object = check(spec)  # type: ignore[func-returns-value]  # a function may be typed wrongly
    check_plain_result(made, "pre_init")


def resolve_kwargs(profile: ProviderProfile) -> dict[str, Any]:
    """The keyword arguments of one profile: the static ones, then those of its factory on top.

    Returns:
        A new dictionary that shares nothing with the profile.

    Raises:
        ProfileTypeError: the factory returned something else than a mapping.
        Exception: whatever the factory raises.
    """
    factory = profile.init_kwargs_factory
    if factory is None:
        return plain(profile.init_kwargs)
    made: object = factory()
    check_plain_result(made, "init_kwargs_factory")
    if not isinstance(made, Mapping):
        raise ProfileTypeError(
            f"init_kwargs_factory {factory!r}: returned {type(made).__name__}, not a mapping"
        )
    if isinstance(factory, _Stacked):
        # It has already stacked the static ones of its layers, each in its place.
        return {**plain(profile.init_kwargs), **made}
    return deep_merge(profile.init_kwargs, made)


def merge_provider_profiles(base: ProviderProfile, override: ProviderProfile) -> ProviderProfile:
    """Stack *override* on *base*.

    Each layer is resolved (static, then factory) before the next is put on top, so what is more specific
    wins whichever way it is stated. Mappings are merged key by key. Checks run base first.
    """
    return ProviderProfile(
        init_kwargs=deep_merge(base.init_kwargs, override.init_kwargs),
        pre_init=_chain(base.pre_init, override.pre_init),
        init_kwargs_factory=_stack(base, override),
    )


def _stack(base: ProviderProfile, override: ProviderProfile) -> Callable[[], dict[str, Any]] | None:
    if base.init_kwargs_factory is None and not (
        base.init_kwargs and isinstance(override.init_kwargs_factory, _Stacked)
    ):
        return override.init_kwargs_factory
    if override.init_kwargs_factory is None and not override.init_kwargs:
        return base.init_kwargs_factory
    static = deep_merge(base.init_kwargs, override.init_kwargs)
    return _Stacked((*_layers(base), override), static)


def _layers(profile: ProviderProfile) -> tuple[ProviderProfile, ...]:
    """What a merged profile was merged from: nested, many of them would exhaust the stack when called."""
    factory = profile.init_kwargs_factory
    # Keyword arguments that somebody put into the merged profile since stand in none of its layers.
    if isinstance(factory, _Stacked) and profile.init_kwargs == factory.static:
        return factory.layers
    return (profile,)


@frozen
class _Stacked:
    """The factory of a merged profile: all layers resolved, one on the other.

    Attributes:
        layers: lowest first.
        static: the keyword arguments of the merged profile.
    """

    layers: tuple[ProviderProfile, ...]
    static: Mapping[str, Any] = field(repr=_names_only)

    __hash__ = None  # type: ignore[assignment]  # as the profiles that it holds

    def __call__(self) -> dict[str, Any]:
        return reduce(deep_merge, map(self._resolved, self.layers))

    @staticmethod
    def _resolved(profile: ProviderProfile) -> dict[str, Any]:
        try:
            return resolve_kwargs(profile)
        except Exception:
            # A stacked one has logged the failure of its own layer already.
            if not isinstance(profile.init_kwargs_factory, _Stacked):
                _log.exception("provider_profile_factory_failed", factory=repr(profile.init_kwargs_factory))
            raise


def _chain(
    first: Callable[[str], None] | None, second: Callable[[str], None] | None
) -> Callable[[str], None] | None:
    if first is None or second is None:
        return second if first is None else first
    return _Chained((*_links(first), *_links(second)))


def _links(check: Callable[[str], None]) -> tuple[Callable[[str], None], ...]:
    return check.checks if isinstance(check, _Chained) else (check,)


@frozen
class _Chained:
    """The ``pre_init`` of a merged profile: each check in turn, up to the first that raises."""

    checks: tuple[Callable[[str], None], ...]

    def __call__(self, spec: str) -> None:
        for check in self.checks:
            try:
                run_check(check, spec)
            except Exception:
                _log.exception("provider_profile_pre_init_failed", spec=spec, pre_init=repr(check))
                raise


def get_provider_profile(spec: str) -> ProviderProfile | None:
    """The provider profile that the default kernel has for *spec*, or ``None``.

    Args:
        spec: ``provider:model``; a malformed one has no profile.
    """
    from deepagents_kernel.profiles.lookup import provider_for_spec

    if split_spec(spec) is None:
        return None
    from deepagents_kernel.api import get_kernel

    return provider_for_spec(get_kernel().profiles, spec)


def apply_provider_profile(
    spec: str, kwargs: Mapping[str, Any] | None = None, *, run_pre_init: bool = True
) -> dict[str, Any]:
    """The keyword arguments with which the default kernel builds the model *spec*.

    Args:
        spec: ``provider:model``.
        kwargs: the caller's own; they win over the profile's, key by key.
        run_pre_init: whether the profile's check runs first.

    Returns:
        A new dictionary.

    Raises:
        Exception: whatever the profile's check or factory raises.
    """
    from deepagents_kernel.api import get_kernel
    from deepagents_kernel.profiles.lookup import provider_kwargs

    return provider_kwargs(get_kernel().profiles, spec, kwargs, run_pre_init=run_pre_init)
