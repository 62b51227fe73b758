"""Load one entry point with stevedore."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, NoReturn

from stevedore.named import NamedExtensionManager

if TYPE_CHECKING:
    from deepagents_kernel.plugins.installed import InstalledPlugin


class _OneEntryPoint(NamedExtensionManager[Any]):
    """stevedore's manager over the one entry point that it is given.

    Its own listing comes from a cache that does not see what was installed a moment ago and has lost the
    distributions; and it loads a whole group in one go, in which an ``AssertionError`` ends the loop. So it
    gets one entry point at a time, from a listing of our own.
    """

    def __init__(self, entry_point: EntryPoint) -> None:
        self._entry_point = entry_point
        super().__init__(entry_point.group, names=[entry_point.name], on_load_failure_callback=_raise)

    def list_entry_points(self) -> list[EntryPoint]:
        return [self._entry_point]


def _raise(_manager: Any, _entry_point: EntryPoint, error: BaseException) -> NoReturn:
    raise error


def load_entry_point(installed: InstalledPlugin) -> Any:
    """The object that an entry point names.

    Raises:
        Exception: whatever importing it raises.
    """
    entry_point = EntryPoint(installed.entry_point, installed.value, installed.group)
    return _OneEntryPoint(entry_point).extensions[0].plugin
