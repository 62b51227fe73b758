"""The one door between the kernel and the package of built-in plugins.

The kernel names no plugin. Whatever it has to know about the built-ins (which there are, which one fills
the guard's place, which names may be imported from here) it asks for through this module, by one string.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "deepagents_builtin:BUILTIN"


@frozen(eq=False)
class BuiltinTable:
    """What a package of built-in plugins publishes. Strings only: reading it imports nothing else.

    Attributes:
        plugins: plugin name to ``"module"`` or ``"module:attribute"``, in the order of the default
            stack; also ready objects, for a distribution that assembles its own table.
        exports: public name to ``"module:attribute"``, for ``deepagents_kernel`` itself.
        middleware_exports: the same for ``deepagents_kernel.middleware``.
        backend_exports: the same for ``deepagents_kernel.backends``.
        absent: public name to the plugin that would bring it, for names that are not here yet.
        features: feature to the plugin that a user should enable to get it.
        scaffolding: names of middleware that a profile can't exclude.
        required: names of plugins that can be replaced and not switched off.
        optional: names of plugins that are off until somebody enables them.
        provides: plugin name to what it brings, for listings that import nothing.
        guard: the plugin that may fill the guard segment.
        default_backend: backend string used when the caller names none.
        default_model: model string used, with a deprecation warning, when the caller gives no model; empty
            for none, which makes that an error.
    """

    plugins: Mapping[str, Any] = field(factory=dict)
    exports: Mapping[str, str] = field(factory=dict)
    middleware_exports: Mapping[str, str] = field(factory=dict)
    backend_exports: Mapping[str, str] = field(factory=dict)
    absent: Mapping[str, str] = field(factory=dict)
    features: Mapping[str, str] = field(factory=dict)
    scaffolding: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    provides: Mapping[str, tuple[str, ...]] = field(factory=dict)
    guard: str = ""
    default_backend: str = ""
    default_model: str = ""


def load_table() -> BuiltinTable:
    """The table of the built-in package; an empty one when that package is not installed."""
    module, _, attribute = TABLE.partition(":")
    try:
        published = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return BuiltinTable()
    table: BuiltinTable = getattr(published, attribute)
    return table


def scaffolding_names() -> frozenset[str]:
    """Names of middleware that a profile can't exclude."""
    return load_table().scaffolding
