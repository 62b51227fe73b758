"""The middleware that a profile adds: checked when given, materialised anew for each stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.profiles.calls import check_plain_call, check_plain_result

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
    check_plain_call(given, "extra_middleware")
    if callable(given):
        return given
    made = _instances(given)
    # What a factory makes is looked at by the planner, which can say in which stack it is.
    for index, item in enumerate(made):
        if not _is_middleware(item):
            kind = type(item).__name__
            raise ProfileTypeError(f"extra_middleware[{index}]: expected a middleware instance, got {kind}")
    return given if isinstance(given, tuple) else tuple(made)


def materialize(extras: Extras) -> list[Middleware]:
    """The middleware as a new list; a factory is called each time.

    Raises:
        ProfileTypeError: the factory did not return a list of instances.
        Exception: whatever the factory raises.
    """
    made: object = extras() if callable(extras) else extras
    check_plain_result(made, "extra_middleware")
    return _instances(made)


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


def _is_middleware(item: object) -> bool:
    # By name: profiles are checked without LangChain, which an instance of its class has imported already.
    return any(
        base.__name__ == "AgentMiddleware" and base.__module__.startswith("langchain.")
        for base in type(item).__mro__
    )


def merge_extras(base: Extras, override: Extras) -> Extras:
    """Stack two layers of extra middleware.

    Returns:
        The other side as it is when one is empty, else a factory that materialises both and lets
        *override* replace what it matches in *base*.
    """
    if base == ():
        return override
    if override == ():
        return base
    # Flat: nested, many of them would exhaust the stack when called.
    return _Stacked((*(base.layers if isinstance(base, _Stacked) else (base,)), override))


@frozen
class _Stacked:
    """The factory of a merged profile."""

    layers: tuple[Extras, ...]

    def __call__(self) -> list[Middleware]:
        return reduce(replace_matching, map(materialize, self.layers))


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
