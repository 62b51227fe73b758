"""What plugins say about each other: requirements, conflicts, and settings classes that must be their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import NOTHING, fields, has

from deepagents_kernel.errors import PluginError, error_text, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel.plugins.catalog import Catalog
    from deepagents_kernel.plugins.info import PluginRecord


def check_relations(records: Mapping[str, PluginRecord], catalog: Catalog, kernel: type[Any]) -> None:
    """Look at what the plugins of a kernel demand of each other.

    Installed plugins are looked at last, so that one of them never makes another plugin look wrong.

    Args:
        records: the plugins.
        catalog: says what became of those that are missing.
        kernel: the settings class of the kernel itself.

    Raises:
        PluginError: the first one that can't be here; ``plugin`` names it.
    """
    owners: dict[type, str] = {kernel: "the kernel"}
    for record in sorted(records.values(), key=lambda item: (item.installed, item.order)):
        for needed in record.info.requires:
            if needed not in records:
                raise _missing(record, needed, records, catalog)
        for other in record.info.conflicts:
            if other in records:
                raise PluginError(record.name, f"it can't be together with {other}", "disable one of them")
        if record.info.settings is not None:
            _check_settings_class(record.name, record.info.settings)
            owner = owners.setdefault(record.info.settings, record.name)
            if owner != record.name:
                reason = f"its settings class is that of {owner}"
                raise PluginError(record.name, reason, "give it a class of its own")


def _missing(
    record: PluginRecord, needed: str, records: Mapping[str, PluginRecord], catalog: Catalog
) -> PluginError:
    reason = f"it requires {needed}, which is not there"
    if catalog.named(needed):
        return PluginError(record.name, f"{reason}: {catalog.state_of(needed)}", f"enable {needed}")
    return PluginError(record.name, reason, nearest_hint(needed, records))


def _check_settings_class(name: str, cls: Any) -> None:
    if not isinstance(cls, type) or not has(cls):
        reason = f"settings={cls!r:.60} is not an attrs class"
        raise PluginError(name, reason, "decorate it with @attrs.frozen")
    for attribute in fields(cls):
        if attribute.init and attribute.default is NOTHING:
            reason = f"{cls.__name__}.{attribute.name} has no default"
            hint = "settings nobody set have to come from somewhere: give it a default"
            raise PluginError(name, reason, hint)
    try:
        cls()
    except Exception as error:
        reason = f"{cls.__name__} can't be made from its defaults: {error_text(error)}"
        raise PluginError(name, reason, "its defaults have to pass its own checks") from error
