"""Values as plain JSON data that says nothing about the process or the machine.

What a value is made of is kept as far as it is data. Of any other object only the class is named: its
``repr`` may hold a memory address, a key or a path.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def class_path(cls: Any) -> str:
    """``module.qualname`` of a class or a function."""
    module = getattr(cls, "__module__", "") or ""
    name = getattr(cls, "__qualname__", "") or type(cls).__qualname__
    return f"{module}.{name}" if module else str(name)


def without_addresses(text: str) -> str:
    """*text* without the memory addresses that default ``repr``s contain."""
    return _ADDRESS.sub("", text)


def plain(value: Any) -> Any:
    """*value* as JSON data: attrs and dataclass values as objects, sets sorted, classes by their path."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return without_addresses(value)
    if isinstance(value, type):
        return class_path(value)
    fields = _fields(value)
    if fields is not None:
        return {name: plain(item) for name, item in fields.items()}
    return _container(value)


def _fields(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if attrs.has(type(value)):
        return {item.name: getattr(value, item.name) for item in attrs.fields(type(value))}
    return None


def _container(value: Any) -> Any:
    if isinstance(value, AbstractSet):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [plain(item) for item in value]
    if isinstance(value, Callable):  # type: ignore[arg-type]  # an abstract class is what isinstance wants here
        return class_path(value)
    return class_path(type(value))
