"""Registry keys and model specs: ``provider`` or ``provider:model``, split at the first colon."""

from __future__ import annotations

from typing import NamedTuple

from deepagents_kernel.errors import ProfileError, ProfileTypeError


class SpecParts(NamedTuple):
    """A key or spec in two parts; ``model`` is ``None`` when there is no colon."""

    provider: str
    model: str | None


def split_spec(spec: object) -> SpecParts | None:
    """The parts of a model spec, or ``None`` for one that no key can answer to.

    Lookups are forgiving: an empty spec, an empty half or something that is no string at all has no
    profile, which is not an error.

    Args:
        spec: ``provider:model``, or a string without a colon.
    """
    if not isinstance(spec, str) or not spec:
        return None
    provider, colon, model = spec.partition(":")
    if not colon:
        return SpecParts(spec, None)
    return SpecParts(provider, model) if provider and model else None


def check_key(key: object, kind: str = "profile") -> str:
    """Return *key* if a profile can be registered under it.

    Args:
        key: what the caller wants to register under.
        kind: which profile it is for, for the error text.

    Raises:
        ProfileTypeError: it is not a string.
        ProfileError: it is empty, has an empty half, or whitespace at an end or beside the first colon.
    """
    if not isinstance(key, str):
        raise ProfileTypeError(f"{kind} key: expected a string, got {type(key).__name__}\n  {_FORM}")
    fault = _fault(key)
    if fault:
        raise ProfileError(f"{kind} key {key!r}: {fault}\n  {_FORM}")
    return key


_FORM = "write 'provider' for all models of a provider, or 'provider:model' for one of them"


def _fault(key: str) -> str:
    if not key:
        return "is empty"
    if key != key.strip():
        return "has whitespace at its start or end"
    provider, colon, model = key.partition(":")
    if not provider:
        return "nothing stands before the colon"
    if colon and not model:
        return "nothing stands behind the colon"
    if provider != provider.rstrip() or model != model.lstrip():
        return "has whitespace beside the colon"
    return ""
