"""Functions that profiles hold are called and never awaited: asynchronous ones are refused."""

from __future__ import annotations

import functools
import inspect

from deepagents_kernel.errors import ProfileTypeError


def check_plain_call(function: object, where: str) -> None:
    """Refuse a function, or an object that is called like one, whose call would have to be awaited.

    Args:
        function: what would be called.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: it is asynchronous.
    """
    while isinstance(function, functools.partial):
        function = function.func
    # Of a class only making an instance counts, which nobody awaits.
    call = None if isinstance(function, type) else getattr(type(function), "__call__", None)  # noqa: B004
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        raise ProfileTypeError(f"{where}: a coroutine function would never be awaited; give a plain function")


def check_plain_result(made: object, where: str) -> None:
    """Refuse a coroutine that a plain function returned.

    Args:
        made: what was returned.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: it is a coroutine.
    """
    if inspect.iscoroutine(made):
        made.close()  # else Python warns about it somewhere else
        raise ProfileTypeError(
            f"{where}: returned a coroutine, which is never awaited; give a plain function"
        )
