"""``deepagents-kernel settings``: the value of every setting, and who set it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from deepagents_kernel.cli.call import Call, CommandError, common_options, json_option
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.plugins.rows import find_rows
from deepagents_kernel.cli.table import table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.plugins.effective import SettingRow

_KERNEL = "kernel"
_DEFAULT = "default"
# Columns that a terminal needs for who set a value, and those that a value gets in any case.
_BESIDE, _SHORTEST = 30, 16


@frozen
class IdleSetting:
    """A setting of a plugin that is off.

    Attributes:
        plugin: the plugin.
        key: name of the setting.
        value: what it is set to, fit to be shown.
        where: who set it.
        state: what became of the plugin.
    """

    plugin: str
    key: str
    value: Any
    where: str
    state: str


@common_options
@click.command()
@click.argument("name", required=False)
@json_option("Write them as JSON.")
@click.pass_obj
def settings(call: Call, *, name: str | None, as_json: bool) -> int:
    """Show the value of every setting, and who set it; with NAME those of one plugin.

    Secrets are shown as [redacted]. A terminal that is too narrow cuts long values; --json has them whole.
    """
    kernel = call.kernel()
    wanted = None if name is None else _plugins(kernel, name)
    rows = [row for row in kernel.effective_settings() if wanted is None or row.plugin in wanted]
    idle = [row for row in _idle(kernel) if wanted is None or row.plugin in wanted]
    if name is not None and not rows and not idle:
        raise CommandError(f"{name!r} has no settings\n  those that have: {', '.join(_having(kernel))}")
    if as_json:
        call.output.json(_document(rows, idle), indent=2)
        return ExitCode.OK
    _write(call, [(row.plugin, row.key, _text(_shown(row)), row.where or _DEFAULT) for row in rows])
    if idle:
        if rows:
            call.output.line("")
        call.output.line("set for plugins that are off, and so without effect:")
        _write(call, [(f"{row.plugin}, {row.state}", row.key, _text(row.value), row.where) for row in idle])
    return ExitCode.OK


def _plugins(kernel: Kernel, name: str) -> Collection[str]:
    if name.strip().lower() == _KERNEL:
        return (_KERNEL,)
    return {row.name for row in find_rows(kernel.catalog, name)}


def _having(kernel: Kernel) -> list[str]:
    return list(dict.fromkeys(row.plugin for row in kernel.effective_settings()))


def _idle(kernel: Kernel) -> Iterator[IdleSetting]:
    from deepagents_kernel.config.secrets import shown
    from deepagents_kernel.plugins.effective import source_layer

    for source in kernel.configuration.sources:
        layer = source_layer(source)
        for plugin, values in source.settings.items():
            if plugin == _KERNEL or plugin in kernel.records:
                continue
            for key, value in values.items():
                where = source.where("plugin", plugin, key)
                expanded = _expanded(layer.expanded, plugin, key)
                visible = shown(key, value, expanded=expanded)
                yield IdleSetting(plugin, key, visible, where, kernel.catalog.state_of(plugin))


def _expanded(found: Any, plugin: str, key: str) -> tuple[str, ...]:
    return tuple(name for at, names in found.items() if at[:2] == (plugin, key) for name in names)


def _shown(row: SettingRow) -> Any:
    from deepagents_kernel.config.secrets import shown

    return shown(row.key, row.value, expanded=row.expanded)


def _text(value: Any) -> str:
    """A value as a listing has it: as TOML would write it, where that is possible."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return one_line(repr(value))


def _write(call: Call, cells: Sequence[tuple[str, str, str, str]]) -> None:
    """A table in which the settings of a plugin stand below its name."""
    lines: list[tuple[str, ...]] = []
    last = ""
    for plugin, key, value, where in cells:
        if plugin != last:
            lines.append((plugin,))
        last = plugin
        lines.append((f"  {key}", one_line(value), one_line(where)))
    width = call.output.width
    if width is not None:
        most = max(width - max((len(cell[1]) for cell in cells), default=0) - _BESIDE, _SHORTEST)
        lines = [(line[0], _cut(line[1], most), line[2]) if line[1:] else line for line in lines]
    if lines:
        for line in table(("SETTING", "VALUE", "SET BY"), lines, width, fixed=2):
            call.output.line(line)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _document(rows: Sequence[SettingRow], idle: Sequence[IdleSetting]) -> dict[str, Any]:
    return {
        "settings": [
            {"plugin": row.plugin, "key": row.key, "value": _shown(row), "where": row.where or _DEFAULT}
            for row in rows
        ],
        "off": [
            {"plugin": row.plugin, "key": row.key, "value": row.value, "where": row.where, "state": row.state}
            for row in idle
        ],
    }
