"""Everything that is deprecated, and how it is said: at the line of whoever uses it, with the way out.

The warnings are LangChain's, so that one filter covers the host and this package. LangChain is imported when
there is something to warn about.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core._api.deprecation import (
        LangChainDeprecationWarning,
        suppress_langchain_deprecation_warning,
    )

    BASE_AGENT_PROMPT: str

__all__ = [
    "BASE_AGENT_PROMPT",
    "DEPRECATIONS",
    "Deprecation",
    "LangChainDeprecationWarning",
    "deprecated",
    "reset_deprecation_dedupe",
    "suppress_langchain_deprecation_warning",
    "warn_deprecated",
]

PACKAGE = "deepagents-kernel"

TargetT = TypeVar("TargetT")


@frozen
class Deprecation:
    """One row of what is deprecated.

    Attributes:
        name: what.
        since: version that deprecated it.
        removal: version that won't have it any more.
        alternative: what to do instead.
    """

    name: str
    since: str
    removal: str
    alternative: str


NO_MODEL = Deprecation(
    "create_deep_agent() without model=",
    "0.1.0",
    "1.0.0",
    "pass a chat model, or a string such as {default!r}; model= will take nothing else",
)
DEFAULT_MODEL = Deprecation(
    "get_default_model()",
    "0.1.0",
    "1.0.0",
    "construct the model yourself, or pass its string to create_deep_agent",
)
BASE_PROMPT = Deprecation(
    "BASE_AGENT_PROMPT",
    "0.1.0",
    "1.0.0",
    "write the text you need into system_prompt=; agents have no base prompt of their own any more",
)
DEPRECATIONS = (NO_MODEL, DEFAULT_MODEL, BASE_PROMPT)

_BASE_AGENT_PROMPT = (
    "You carry out tasks with the tools you are given. Look before you change anything, keep to what was "
    "asked, and check your work before you answer. Say plainly what you did and what you could not do."
)


def warn_deprecated(
    since: str,
    *,
    message: str = "",
    name: str = "",
    alternative: str = "",
    alternative_import: str = "",
    pending: bool = False,
    obj_type: str = "",
    addendum: str = "",
    removal: str = "",
    package: str = PACKAGE,
    stacklevel: int = 2,
) -> None:
    """Warn that something is deprecated, each time it is called.

    Args:
        since: version that deprecated it.
        message: the text, in place of the one that the other arguments make.
        name: what is deprecated.
        alternative: what to use instead.
        alternative_import: from where to import it instead, as a dotted path.
        pending: it is going to be deprecated, and is not yet.
        obj_type: what sort of thing it is, such as ``"function"``.
        addendum: further text.
        removal: version that won't have it any more.
        package: whose version *since* is.
        stacklevel: as in ``warnings.warn``: 1 is the line of the call, 2 the caller of the calling function.
    """
    from langchain_core._api import deprecation as host

    text = message
    if not text:
        what = f"the {obj_type} {name}" if obj_type else name
        text = f"{what} is {'going to be deprecated in' if pending else 'deprecated since'} {package} {since}"
        text += f" and will be removed in {removal}" if removal else ""
        instead = alternative or alternative_import
        text += f"; instead: {instead}" if instead else ""
    text = f"{text} {addendum}".rstrip()
    host.warn_deprecated(since, message=text, pending=pending, stacklevel=stacklevel + 2)


def warn_of(row: Deprecation, *, stacklevel: int = 2, **fill: Any) -> None:
    """Warn of a row of this module; *fill* completes its alternative."""
    alternative = row.alternative.format(**fill) if fill else row.alternative
    warn_deprecated(
        row.since, name=row.name, alternative=alternative, removal=row.removal, stacklevel=stacklevel + 1
    )


def callers_stacklevel() -> int:
    """The ``stacklevel`` with which the calling function names the first line outside of this package.

    For warnings that come from deep inside: however an application got there, it is told where it did.
    """
    package = __name__.partition(".")[0]
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
        level += 1
    return level


@define
class _Once:
    """Whether a warning was given already."""

    given: bool = False
    _lock: threading.Lock = field(factory=threading.Lock)

    def first(self) -> bool:
        with self._lock:
            first, self.given = not self.given, True
        return first


def deprecated(since: str, *, name: str = "", **details: Any) -> Callable[[TargetT], TargetT]:
    """Mark a function, a method or a property; it warns at its first use in a process.

    Args:
        since: version that deprecated it.
        name: what the warning calls it; by default its qualified name.
        **details: as for :func:`warn_deprecated`.

    Returns:
        The decorator. It raises ``TypeError`` for anything that is not called, such as a class.
    """

    def mark(target: Any) -> Any:
        if isinstance(target, property):
            fget, fset, fdel = (part and mark(part) for part in (target.fget, target.fset, target.fdel))
            return property(fget, fset, fdel, target.__doc__)
        if isinstance(target, staticmethod | classmethod):
            return type(target)(mark(target.__func__))
        if not inspect.isfunction(target):
            msg = f"deprecated() marks functions, methods and properties, not {target!r:.60}"
            raise TypeError(msg)
        return _warning(target, since, {"name": name or f"{target.__qualname__}()", **details})

    return mark


def _warning(function: Callable[..., Any], since: str, details: dict[str, Any]) -> Callable[..., Any]:
    once = _Once()

    def warn() -> None:
        if once.first():
            warn_deprecated(since, stacklevel=3, **details)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            warn()
            return await function(*args, **kwargs)

    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            warn()
            return function(*args, **kwargs)

    vars(wrapper)["__deprecation__"] = once
    return wrapper


def reset_deprecation_dedupe(*targets: object) -> None:
    """Let marked functions, methods and properties warn again; anything else is passed over. For tests."""
    for target in targets:
        parts = (target.fget, target.fset, target.fdel) if isinstance(target, property) else (target,)
        for part in parts:
            function = getattr(part, "__func__", part)
            once = getattr(function, "__deprecation__", None)
            if isinstance(once, _Once):
                once.given = False


_HOST = ("LangChainDeprecationWarning", "suppress_langchain_deprecation_warning")


def __getattr__(name: str) -> Any:
    if name == "BASE_AGENT_PROMPT":
        warn_of(BASE_PROMPT)
        return _BASE_AGENT_PROMPT
    if name in _HOST:
        from langchain_core._api import deprecation as host

        return getattr(host, name)
    from deepagents_kernel.errors import MissingExportError, nearest_hint

    known = [*_HOST, "BASE_AGENT_PROMPT", *(key for key in globals() if not key.startswith("_"))]
    raise MissingExportError(__name__, name, hint=nearest_hint(name, known))
