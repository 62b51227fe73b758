"""How a tool talks to its backend, written once for sync and async.

A tool is a generator: it yields the backend calls that it needs, gets their results sent back, and returns an
:class:`Outcome`. Whether a call is awaited is the business of :mod:`.boundary`, which runs the generator.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field, frozen

from deepagents_builtin.middleware.filesystem.results import Outcome

if TYPE_CHECKING:
    from pydantic import BaseModel

    from deepagents_builtin.middleware.filesystem.workspace import Workspace


@frozen
class BackendCall:
    """One call of a backend method.

    Attributes:
        method: name of the sync method; the async twin has an ``a`` in front.
        arguments: positional arguments.
        offered: keyword arguments that are passed only if the method takes them: older backends lack some.
        deadline: seconds that it may take, ``None`` for as long as it wants.
    """

    method: str
    arguments: tuple[Any, ...] = ()
    offered: Mapping[str, Any] = field(factory=dict)
    deadline: float | None = None

    def options(self, function: Callable[..., Any]) -> dict[str, Any]:
        """The keyword arguments that *function*, a method of the backend, takes."""
        return {name: value for name, value in self.offered.items() if _accepts(_underlying(function), name)}


def _underlying(function: Callable[..., Any]) -> Callable[..., Any]:
    # The function behind a bound method: a cache of methods would keep their backends alive.
    plain: Callable[..., Any] = getattr(function, "__func__", function)
    return plain


@functools.lru_cache(maxsize=256)
def _accepts(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(
        item.kind is inspect.Parameter.VAR_KEYWORD or (item.name == name and item.kind in by_name)
        for item in parameters
    )


Steps: TypeAlias = Generator[BackendCall, Any, Outcome]


@frozen
class Tool:
    """A file tool that isn't bound to a backend yet.

    Attributes:
        name: as the model calls it.
        schema: its arguments, given the workspace that it will be bound to.
        steps: takes the workspace and the arguments, as keywords.
        writes: whether a call that fails half-way may have changed something.
    """

    name: str
    schema: Callable[[Workspace], type[BaseModel]]
    steps: Callable[..., Steps]
    writes: bool = False


class RefusedError(Exception):
    """A call that must not reach the backend; its text is for the model."""
