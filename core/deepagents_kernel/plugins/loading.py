"""Gather the plugins of a kernel: the built-in table, and what was given in code."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import NOTHING, fields, has

from deepagents_kernel.errors import PluginError, nearest_hint
from deepagents_kernel.plugins.info import PluginRecord
from deepagents_kernel.plugins.registration import check_plugin_name, plugin_info

if TYPE_CHECKING:
    from deepagents_kernel._builtin import BuiltinTable


def gather(
    plugins: Iterable[Any] | Mapping[str, Any], table: BuiltinTable, disable: Iterable[str]
) -> dict[str, PluginRecord]:
    """Every plugin of a kernel by name, in the order in which hooks ask them.

    Args:
        plugins: plugins in code: objects whose ``PLUGIN`` has a name, ``(name, object)`` pairs, or a mapping.
        table: the built-ins.
        disable: names to leave out; a built-in left out is not imported.

    Raises:
        PluginError: a plugin is malformed, unknown, there twice, or at odds with another.
    """
    given = list(_named(plugins))
    off = _disabled(disable, given, table)
    records: dict[str, PluginRecord] = {}
    for rank, (name, where) in enumerate(table.plugins.items()):
        if name not in off:
            records[name] = _record(name, _load(where), builtin=True, rank=rank)
    for name, plugin in sorted(given, key=lambda item: item[0]):
        if name in table.plugins or name in records:
            hint = "give it a name of its own; to take over another plugin's slot declare replaces="
            raise PluginError(name, "a plugin of that name is there already", hint)
        if name not in off:
            records[name] = _record(name, plugin, builtin=False, rank=len(table.plugins))
    _check_relations(records)
    return records


def _named(plugins: Iterable[Any] | Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    items = plugins.items() if isinstance(plugins, Mapping) else plugins
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            name, plugin = item
        else:
            name, plugin = getattr(getattr(item, "PLUGIN", None), "name", ""), item
        if not name:
            hint = "pass (name, plugin), or give its PLUGIN a name"
            raise PluginError(f"{item!r:.60}", "it has no name", hint)
        check_plugin_name(name)
        yield name, plugin


def _record(name: str, plugin: Any, *, builtin: bool, rank: int) -> PluginRecord:
    return PluginRecord(name=name, plugin=plugin, info=plugin_info(name, plugin), builtin=builtin, rank=rank)


def _load(where: Any) -> Any:
    if not isinstance(where, str):
        return where
    module, _, attribute = where.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def _disabled(
    disable: Iterable[str], given: Sequence[tuple[str, Any]], table: BuiltinTable
) -> frozenset[str]:
    names = frozenset([disable] if isinstance(disable, str) else disable)
    known = [*table.plugins, *(name for name, _ in given)]
    # Of a built-in only its name is asked: a disabled plugin is never imported.
    needed = {*table.required, *(name for name, plugin in given if plugin_info(name, plugin).scaffolding)}
    for name in sorted(names):
        if name not in known:
            raise PluginError(name, "no plugin of that name to disable", nearest_hint(name, known))
        if name in needed:
            hint = "replace its middleware by name or with replaces=; hide its tools with excluded_tools"
            raise PluginError(name, "it is scaffolding, which can be replaced and not switched off", hint)
    return names


def _check_relations(records: Mapping[str, PluginRecord]) -> None:
    owners: dict[type, str] = {}
    for record in records.values():
        for needed in record.info.requires:
            if needed not in records:
                raise PluginError(
                    record.name, f"it requires {needed}, which is not there", nearest_hint(needed, records)
                )
        for other in record.info.conflicts:
            if other in records:
                raise PluginError(record.name, f"it can't be together with {other}", "disable one of them")
        if record.info.settings is not None:
            _check_settings_class(record.name, record.info.settings)
            owner = owners.setdefault(record.info.settings, record.name)
            if owner != record.name:
                raise PluginError(
                    record.name, f"its settings class is that of {owner}", "give it a class of its own"
                )


def _check_settings_class(name: str, cls: Any) -> None:
    if not isinstance(cls, type) or not has(cls):
        raise PluginError(
            name, f"settings={cls!r:.60} is not an attrs class", "decorate it with @attrs.frozen"
        )
    for attribute in fields(cls):
        if attribute.init and attribute.default is NOTHING:
            reason = f"{cls.__name__}.{attribute.name} has no default"
            raise PluginError(
                name, reason, "settings nobody set have to come from somewhere: give it a default"
            )
