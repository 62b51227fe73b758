"""The middleware that a profile adds: checked when given, materialised anew for each stack."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

from deepagents_kernel.errors import ProfileTypeError

if TYPE_CHECKING:
    from langchain.agents.middleware.types import AgentMiddleware

    Middleware: TypeAlias = AgentMiddleware[Any, Any, Any]

#: What a profile stores: instances, or a factory that makes new ones for each stack.
Extras: TypeAlias = "tuple[Middleware, ...] | Callable[[], Iterable[Middleware]]"

_WAY_OUT = "give a list of middleware instances, or a function that returns one"


def stored_extras(
    value: Sequence[Middleware] | Iterable[Middleware] | Callable[[], Iterable[Middleware]],
) -> Extras:
    """Converter: a factory as it is, anything else as a tuple of instances.

    Raises:
        ProfileTypeError: neither a factory nor a list of instances.
    """
    given: object = value
    if isinstance(given, type):
        raise ProfileTypeError(f"extra_middleware: got the class {given.__name__}\n  {_WAY_OUT}")
    if inspect.iscoroutinefunction(given):
        raise ProfileTypeError(
            "extra_middleware: a coroutine function would never be awaited; give a plain function"
        )
    if callable(given):
        return given
    made = _instances(given)
    return given if isinstance(given, tuple) else tuple(made)


def materialize(extras: Extras) -> list[Middleware]:
    """The middleware as a new list; a factory is called each time.

    Raises:
        ProfileTypeError: the factory did not return a list of instances.
        Exception: whatever the factory raises.
    """
    return _instances(extras() if callable(extras) else extras)


def _instances(value: object) -> list[Middleware]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ProfileTypeError(f"extra_middleware: got {type(value).__name__}\n  {_WAY_OUT}")
    made = list(value)
    for index, item in enumerate(made):
        if isinstance(item, type):
            raise ProfileTypeError(
                f"extra_middleware[{index}]: the class {item.__name__}; write {item.__name__}()"
            )
        if item is None or isinstance(item, str):
            raise ProfileTypeError(f"extra_middleware[{index}]: expected a middleware instance, got {item!r}")
    return made


def merge_extras(base: Extras, override: Extras) -> Extras:
    """Stack two layers of extra middleware.

    Returns:
        The other side as it is when one is empty, else a factory that materialises both and lets
        *override* replace what it matches in *base*.
    """
    if base == ():
        return override
    return base if override == () else _Stacked(base, override)


@frozen
class _Stacked:
    """The factory of a merged profile."""

    base: Extras
    override: Extras

    def __call__(self) -> list[Middleware]:
        return replace_matching(materialize(self.base), materialize(self.override))


def replace_matching(base: Sequence[Middleware], override: Sequence[Middleware]) -> list[Middleware]:
    """*base* with *override* on top, by exact class or by ``.name``.

    What *override* matches is replaced where it first stands and dropped where it stands again; of
    several that match the same place the last is taken. What matches nothing is appended in order.
    """
    merged: list[Middleware] = []
    used: set[int] = set()
    placed: set[int] = set()
    for below in base:
        matching = [index for index, above in enumerate(override) if _same_place(below, above)]
        if not matching:
            merged.append(below)
        elif matching[-1] not in placed:
            merged.append(override[matching[-1]])
            placed.add(matching[-1])
        used.update(matching)
    merged.extend(above for index, above in enumerate(override) if index not in used)
    return merged


def _same_place(below: Middleware, above: Middleware) -> bool:
    return type(below) is type(above) or _name(below) == _name(above)


def _name(middleware: Middleware) -> str:
    name: str = getattr(middleware, "name", type(middleware).__name__)
    return name
