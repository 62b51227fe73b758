"""Read-only copies of mappings, plain copies back, and the one merge rule for keyword arguments.

Only plain containers are entered (dictionaries, lists, tuples, sets). Anything else, such as a client
object or a mapping class with its own rules, is one value: shared, and replaced whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from deepagents_kernel.errors import ProfileTypeError

_PLAIN = (dict, MappingProxyType)


def frozen_kwargs(value: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """A read-only copy of *value*, nested mappings included.

    Args:
        value: keyword arguments.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: not a mapping, a key is not a string, or a value contains itself.
    """
    checked = _checked(value, where)
    try:
        return MappingProxyType({key: _copied(item, MappingProxyType) for key, item in checked.items()})
    except RecursionError as error:
        raise ProfileTypeError(f"{where}: a value contains itself, or is nested too deeply") from error


def frozen_texts(value: Mapping[str, str], where: str) -> Mapping[str, str]:
    """A read-only copy of a mapping from strings to strings.

    Args:
        value: the mapping.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: not a mapping, or a key or a value is not a string.
    """
    copy = dict(_checked(value, where))
    wrong = sorted(key for key, text in copy.items() if not isinstance(text, str))
    if wrong:
        raise ProfileTypeError(f"{where}: the values of {', '.join(map(repr, wrong))} are not strings")
    return MappingProxyType(copy)


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary with the same content that shares no plain container with *value*."""
    return {key: _copied(item, dict) for key, item in value.items()}


def deep_merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """*base* with *override* on top: mappings are merged key by key, all else is replaced.

    Returns:
        A new dictionary that shares no plain container with either side.
    """
    merged = plain(base)
    for key, value in override.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, _PLAIN):
            merged[key] = deep_merge(below, value)
        else:
            merged[key] = _copied(value, dict)
    return merged


def _checked(value: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    given: object = value
    if not isinstance(given, Mapping):
        raise ProfileTypeError(f"{where}: expected a mapping, got {type(given).__name__}")
    wrong = [key for key in given if not isinstance(key, str)]
    if wrong:
        raise ProfileTypeError(f"{where}: keys must be strings, got {', '.join(map(repr, wrong))}")
    return given


def _copied(value: Any, wrap: Callable[[dict[Any, Any]], Any]) -> Any:
    if isinstance(value, _PLAIN):
        return wrap({key: _copied(item, wrap) for key, item in value.items()})
    # Exact types: a named tuple or a list class of some library is a value with a meaning of its own.
    if type(value) is list or type(value) is tuple:
        return type(value)(_copied(item, wrap) for item in value)
    return set(value) if type(value) is set else value
