"""Converters and validators that the harness profile and its serialisable form share.

One function a field where a converter is needed: attrs gives a converter no field name, and an error
that does not name the field is of little help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.profiles.exclusions import (
    check_exclusions,
    check_grammar,
    check_tool_names,
    middleware_set,
    string_set,
)
from deepagents_kernel.profiles.mappings import frozen_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from attrs import Attribute


def optional_text(instance: object, attribute: Attribute[Any], value: object) -> None:
    """Validator: a string or ``None``."""
    _expect(instance, attribute, value, str, "a string")


def optional_flag(instance: object, attribute: Attribute[Any], value: object) -> None:
    """Validator: ``True``, ``False`` or ``None``; a number is none of them."""
    _expect(instance, attribute, value, bool, "True or False")


def _expect(instance: object, attribute: Attribute[Any], value: object, kind: type, words: str) -> None:
    if value is not None and not isinstance(value, kind):
        where = f"{type(instance).__name__}.{attribute.name}"
        raise ProfileTypeError(f"{where}: expected {words} or None, got {value!r} ({type(value).__name__})")


def tool_description_overrides(value: Mapping[str, str]) -> Mapping[str, str]:
    """Converter: a read-only copy with checked names of tools."""
    texts = frozen_texts(value, "tool_description_overrides")
    check_tool_names(texts, "tool_description_overrides")
    return texts


def excluded_tools(value: Iterable[str]) -> frozenset[str]:
    """Converter: a checked set of tool names."""
    return _tools(value, "excluded_tools")


def restored_tools(value: Iterable[str]) -> frozenset[str]:
    """Converter: a checked set of tool names."""
    return _tools(value, "restored_tools")


def _tools(value: Iterable[str], where: str) -> frozenset[str]:
    names = string_set(value, where)
    check_tool_names(names, where)
    return names


def excluded_middleware(value: Iterable[type | str]) -> frozenset[type | str]:
    """Converter: a checked set of middleware names and classes."""
    entries = middleware_set(value, "excluded_middleware")
    check_exclusions(entries, "excluded_middleware")
    return entries


def restored_middleware(value: Iterable[type | str]) -> frozenset[type | str]:
    """Converter: a checked set of middleware names and classes."""
    entries = middleware_set(value, "restored_middleware")
    check_grammar(entries, "restored_middleware")
    return entries


def excluded_names(value: Iterable[str]) -> frozenset[str]:
    """Converter: a checked set of middleware names, classes refused."""
    names = string_set(value, "excluded_middleware")
    check_exclusions(names, "excluded_middleware")
    return names


def restored_names(value: Iterable[str]) -> frozenset[str]:
    """Converter: a checked set of middleware names, classes refused."""
    names = string_set(value, "restored_middleware")
    check_grammar(names, "restored_middleware")
    return names
