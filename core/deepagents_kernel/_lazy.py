"""Doors: packages whose names live elsewhere and are imported when they are first used (PEP 562).

A door costs nothing until a name is taken from it. Which names it has comes from a table of
``"module:attribute"`` strings, so that the kernel names no plugin::

    __getattr__, __dir__ = lazy_exports(
        __name__, exports=lambda: load_table().exports, absent=lambda: load_table().absent
    )

``__all__`` is served by ``__getattr__`` as well, so that it is always what the table says.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(
    module_name: str,
    exports: Callable[[], Mapping[str, str]],
    absent: Callable[[], Mapping[str, str]],
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a door.

    Args:
        module_name: ``__name__`` of the door; each name is kept there once it is resolved.
        exports: gives public name to ``"module:attribute"``; asked when a name is first used.
        absent: gives public name to the plugin that would bring it, for names that aren't here.

    Returns:
        ``(__getattr__, __dir__)``, to be assigned at module level.
    """

    def module_getattr(name: str) -> Any:
        if name == "__all__":
            return sorted(exports())
        # Interpreter and tools probe for dunder names (``__path__``, ``__wrapped__``): answer without
        # reading tables.
        if name.startswith("__"):
            msg = f"module {module_name!r} has no attribute {name!r}"
            raise AttributeError(msg)
        known = exports()
        if name not in known:
            raise _missing(module_name, name, known, absent())
        value = _load(module_name, name, known[name])
        vars(sys.modules[module_name])[name] = value
        return value

    def module_dir() -> list[str]:
        return sorted({*vars(sys.modules[module_name]), *exports()})

    return module_getattr, module_dir


# Errors are imported when there is one: they bring attrs along, and a door costs nothing until it is used.


def _missing(door: str, name: str, known: Mapping[str, str], absent: Mapping[str, str]) -> AttributeError:
    from deepagents_kernel.errors import MissingExportError, nearest_hint

    hint = nearest_hint(name, [*known, *absent])
    return MissingExportError(door, name, absent.get(name, ""), hint)


def _load(door: str, export: str, target: str) -> Any:
    module, _, attribute = target.partition(":")
    # An AttributeError would make `from door import name` say only "cannot import name", and hide what broke.
    try:
        return getattr(importlib.import_module(module), attribute)
    except AttributeError as error:
        from deepagents_kernel.errors import BrokenExportError

        raise BrokenExportError(door, export, target, str(error)) from error
