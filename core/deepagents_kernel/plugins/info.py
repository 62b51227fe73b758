"""What a plugin says about itself, and what the kernel knows about a registered one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deepagents_kernel.plugins.names import BAD_NAME_HINT, PLUGIN_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BAD_NAME_HINT", "HOOK_API", "PLUGIN_NAME", "PluginInfo", "PluginRecord"]

#: Version of the hook contract; raised when a hook changes in a way that old plugins can't follow.
HOOK_API = 1


def _names(value: Iterable[str] | str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@frozen
class PluginInfo:
    """The static facts of a plugin, as its module-level ``PLUGIN``.

    Attributes:
        summary: one line for listings.
        name: the name to register under when no entry point gives one.
        serves: features that this plugin takes care of (``"skills"``, ``"permissions"``, ...). A request
            that uses a feature nobody serves is refused, never ignored.
        requires: plugins, by name, without which this one can't work.
        conflicts: plugins, by name, that can't be in the same kernel.
        settings: an attrs class with a default for each field, or ``None``.
        scaffolding: may be replaced, never switched off.
        hook_api: the hook contract it was written for.
    """

    summary: str = ""
    name: str = ""
    serves: tuple[str, ...] = field(default=(), converter=_names)
    requires: tuple[str, ...] = field(default=(), converter=_names)
    conflicts: tuple[str, ...] = field(default=(), converter=_names)
    settings: type[Any] | None = None
    scaffolding: bool = False
    hook_api: int = HOOK_API


@frozen(eq=False)
class PluginRecord:
    """A plugin of one kernel.

    Attributes:
        name: registered name.
        plugin: the object with the hook implementations.
        info: its static facts.
        builtin: whether it came from the built-in table.
        rank: place in the built-in table; third parties all share the one behind it.
        distribution: distribution it was installed from, or an empty string for an object given in code.
        version: version of that distribution.
        installed: whether it was found in the environment; its failures are isolated.
    """

    name: str
    plugin: object
    info: PluginInfo
    builtin: bool = False
    rank: int = 0
    distribution: str = ""
    version: str = ""
    installed: bool = False

    @property
    def order(self) -> tuple[int, str]:
        """Sort key that depends on names only, never on installation or registration order."""
        return (self.rank, self.name)
