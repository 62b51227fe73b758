"""Turn plain values (TOML, environment, query strings, Python) into what a settings class declares.

Stricter than cattrs is by itself, where a slip would pass silently: ``bool("false")`` is true, a string
given for a list would be its letters, ``str(None)`` is a word. Text that stands for a number or a flag is
read, since an environment variable and a query string have nothing else.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from attrs import has

if TYPE_CHECKING:
    import cattrs

_FLAGS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_COLLECTIONS: Mapping[Any, Callable[[Iterable[Any]], Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    Sequence: tuple,
    MutableSequence: list,
    AbstractSet: frozenset,
    MutableSet: set,
    Iterable: tuple,
}
_MAPPINGS: frozenset[Any] = frozenset({dict, Mapping, MutableMapping})

#: Makes an object of a nested settings class: (class, mapping) to object.
Nested = Callable[[type[Any], Mapping[str, Any]], Any]


def make_converter(nested: Nested) -> cattrs.Converter:
    """A converter for one settings class.

    Args:
        nested: makes the objects of attrs classes that stand within it.
    """
    # cattrs takes 30 ms to import; an agent without settings never pays them.
    import cattrs

    converter = cattrs.Converter(structure_fallback_factory=lambda _kind: _ready)
    converter.register_structure_hook(bool, _flag)
    converter.register_structure_hook(int, _whole)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook_func(
        lambda kind: get_origin(kind) in _COLLECTIONS or kind in (list, tuple, set, frozenset),
        lambda value, kind: _collection(converter, value, kind),
    )
    converter.register_structure_hook_func(
        lambda kind: get_origin(kind) in _MAPPINGS, lambda value, kind: _mapping(converter, value, kind)
    )
    converter.register_structure_hook_func(_is_union, lambda value, kind: _one_of(converter, value, kind))
    converter.register_structure_hook_func(has, lambda value, kind: _object(nested, value, kind))
    return converter


def _refuse(expected: str, value: Any) -> TypeError:
    return TypeError(f"expected {expected}, got {value!r:.60}")


def _flag(value: Any, _kind: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    raise _refuse("true or false", value)


def _whole(value: Any, kind: Any) -> Any:
    # int(2.7) is 2 and int(True) is 1: a slip that should not pass silently.
    if not isinstance(value, bool) and isinstance(value, (int, str)):
        with contextlib.suppress(ValueError):
            return kind(value)
    raise _refuse("a whole number", value)


def _number(value: Any, kind: Any) -> Any:
    if not isinstance(value, bool) and isinstance(value, (int, float, str)):
        with contextlib.suppress(ValueError):
            return kind(value)
    raise _refuse("a number", value)


def _text(value: Any, kind: Any) -> Any:
    if not isinstance(value, str):
        raise _refuse("text", value)
    return kind(value)


def _collection(converter: cattrs.Converter, value: Any, kind: Any) -> Any:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _refuse("a list", value)
    build = _COLLECTIONS[get_origin(kind) or kind]
    items, kinds = list(value), get_args(kind)
    if not kinds:
        return build(items)
    if build is tuple and get_origin(kind) is tuple and kinds[-1] is not ...:
        if len(items) != len(kinds):
            msg = f"expected {len(kinds)} values, got {len(items)}"
            raise ValueError(msg)
        return tuple(converter.structure(item, part) for item, part in zip(items, kinds, strict=True))
    return build(converter.structure(item, kinds[0]) for item in items)


def _mapping(converter: cattrs.Converter, value: Any, kind: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _refuse("a mapping", value)
    keys, values = get_args(kind)
    return {converter.structure(key, keys): converter.structure(item, values) for key, item in value.items()}


def _ready(value: Any, kind: Any) -> Any:
    """A value of a type that has no plain form, such as a function or a client."""
    accepted = get_origin(kind) or kind
    if isinstance(accepted, type) and isinstance(value, accepted):
        return value
    raise _refuse(f"a {getattr(accepted, '__name__', accepted)}", value)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _one_of(converter: cattrs.Converter, value: Any, kind: Any) -> Any:
    kinds = get_args(kind)
    if value is None and type(None) in kinds:
        return None
    kinds = tuple(part for part in kinds if part is not type(None))
    if len(kinds) == 1:
        return converter.structure(value, kinds[0])
    if type(value) in kinds:
        return value
    reasons = []
    for part in kinds:
        try:
            return converter.structure(value, part)
        except Exception as error:
            reasons.append(str(error))
    raise TypeError("; ".join(reasons))


def _object(nested: Nested, value: Any, kind: Any) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise _refuse(f"a mapping or a {kind.__name__}", value)
    return nested(kind, value)
