"""The settings that apply, each with the place that it was set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, fields, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepagents_kernel.config.source import Source
    from deepagents_kernel.plugins.settings import Place

_KERNEL = "kernel"


@frozen(eq=False)
class SettingsLayer:
    """What one place says about settings.

    Attributes:
        values: plugin name to keys and values, or to a ready object.
        place: where each value stands.
        lasting: whether it speaks of plugins that may be off, as files and variables do.
        expanded: names of the variables in a value, by plugin and key.
    """

    values: Any
    place: Place
    lasting: bool = False
    expanded: Mapping[tuple[str, ...], tuple[str, ...]] = field(factory=dict)


@frozen
class SettingRow:
    """One setting as it applies.

    Attributes:
        plugin: the plugin, or ``kernel``.
        key: name of the setting.
        value: its value; may be secret.
        where: who set it; empty for the default of the plugin.
        expanded: names of the variables that the value was made from.
    """

    plugin: str
    key: str
    value: Any
    where: str = ""
    expanded: tuple[str, ...] = ()


def source_layer(source: Source) -> SettingsLayer:
    """The settings of a source of configuration."""

    def place(name: str = "", *key: str) -> str:
        return source.where(*_path(name), *key)

    expanded = {
        (key[0], *key[1:]) if key[0] == _KERNEL else key[1:]: names for key, names in source.expanded.items()
    }
    return SettingsLayer(source.settings, place, lasting=True, expanded=expanded)


def _path(name: str) -> tuple[str, ...]:
    if not name:
        return ()
    return (name,) if name == _KERNEL else ("plugin", name)


def effective_settings(
    classes: Mapping[str, type[Any]], settings: Mapping[type, Any], layers: Sequence[SettingsLayer]
) -> tuple[SettingRow, ...]:
    """Every setting of these classes, with its value and who set it.

    Args:
        classes: plugin name to settings class.
        settings: settings class to object, for those that somebody set.
        layers: what was said, outermost first.
    """
    return tuple(_rows(classes, settings, layers))


def _rows(
    classes: Mapping[str, type[Any]], settings: Mapping[type, Any], layers: Sequence[SettingsLayer]
) -> Iterator[SettingRow]:
    for name, cls in classes.items():
        values = settings.get(cls)
        values = cls() if values is None else values
        for attribute in fields(cls):
            if attribute.init:
                where, expanded = _origin(name, attribute.alias, layers)
                yield SettingRow(name, attribute.alias, getattr(values, attribute.name), where, expanded)


def _origin(name: str, key: str, layers: Sequence[SettingsLayer]) -> tuple[str, tuple[str, ...]]:
    for layer in reversed(layers):
        given = layer.values.get(name) if isinstance(layer.values, Mapping) else None
        if given is None or (isinstance(given, Mapping) and key not in given):
            continue
        where = layer.place if isinstance(layer.place, str) else layer.place(name, key)
        found = [names for at, names in layer.expanded.items() if at[:2] == (name, key)]
        return where, tuple(dict.fromkeys(item for names in found for item in names))
    return "", ()
