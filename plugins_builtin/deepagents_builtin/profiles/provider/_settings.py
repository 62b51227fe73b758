"""The settings that a provider profile is made with when a model is constructed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from deepagents_kernel.current import current_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

SettingsT = TypeVar("SettingsT")


def settings_reader(cls: type[SettingsT]) -> Callable[[], SettingsT]:
    """A function that reads settings of the kernel that is being built, whenever a model is constructed.

    An agent may have settings of its own: while its models are resolved its view of the kernel is the
    current one, and that view is asked. Any other kernel that happens to be current is none of the
    profile's business.

    Args:
        cls: the settings class of a plugin.
    """
    owner = current_kernel()

    def read() -> SettingsT:
        if owner is None:
            return cls()
        asking = current_kernel()
        same = asking is not None and asking.profiles is owner.profiles
        return (asking if asking is not None and same else owner).settings(cls)

    return read
