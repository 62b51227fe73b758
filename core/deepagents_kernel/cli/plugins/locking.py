"""``deepagents-kernel plugins lock`` and ``verify``: write down what is installed, and compare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.call import Call, CommandError, common_options, read_catalog
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import PROGRAM, one_line
from deepagents_kernel.cli.plugins.checks import way_out
from deepagents_kernel.cli.plugins.rows import BROKEN, find_rows
from deepagents_kernel.cli.plugins.target import target_file
from deepagents_kernel.cli.table import pairs
from deepagents_kernel.errors import DeepAgentsError, PluginSetError
from deepagents_kernel.plugins.catalog import PluginState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.plugins.catalog import Catalog, CatalogRow
    from deepagents_kernel.plugins.lockfile import Lock


@common_options
@click.command()
@click.option("--file", "file", metavar="FILE", help="The lock file; deepagents.lock if none is set.")
@click.option(
    "--allow-editable",
    multiple=True,
    metavar="NAME",
    help="A plugin that may be an editable installation, whose files are not checked. May be repeated.",
)
@click.pass_obj
def lock(call: Call, *, file: str | None, allow_editable: Sequence[str]) -> int:
    """Write down what installed plugins consist of now.

    Afterwards only those are loaded, and only as long as no file of theirs has changed. Nothing is imported.
    """
    from deepagents_kernel.config.paths import shown_path
    from deepagents_kernel.plugins.lockfile import write_lock

    configuration = call.configuration()
    # The present lock says nothing about the next one.
    catalog = read_catalog(configuration)
    if catalog.problems:
        raise catalog.problems[0] if len(catalog.problems) == 1 else PluginSetError(catalog.problems)
    rows = [row for row in catalog.rows if row.installed is not None and row.on]
    allowed = [row.name for name in allow_editable for row in find_rows(catalog, name)]
    named = _named(configuration)
    path = _path(call, file, named)
    plugins = [row.installed for row in rows if row.installed is not None]
    write_lock(path, plugins, kernel=__version__, allow_editable=allowed)
    call.output.line(f"{shown_path(path)}: {len(rows)} {_plugins(rows)} locked")
    for line in pairs([(row.name, row.origin) for row in rows], call.output.width):
        call.output.line(line)
    for row in catalog.having(*BROKEN):
        if row.installed is not None:
            call.warn(f"{row.name} ({row.origin}) is left out: {row.why}; {row.hint}")
    if path not in named:
        _set(call, path, named)
    return ExitCode.OK


def _plugins(rows: Sequence[object]) -> str:
    return "plugin" if len(rows) == 1 else "plugins"


def _named(configuration: Configuration) -> list[Path]:
    """The lock files that the configuration names, innermost first."""
    locks = [source.switches.lock for source in reversed(configuration.sources)]
    return [item for item in locks if isinstance(item, Path)]


def _path(call: Call, file: str | None, named: Sequence[Path]) -> Path:
    from deepagents_kernel.config.paths import absolute_path
    from deepagents_kernel.config.values import LOCK_FILE

    if file is not None:
        try:
            return absolute_path(file)
        except ValueError as error:
            raise CommandError(f"there is no place {file!r}: {error}") from error
    return named[0] if named else target_file(call).parent / LOCK_FILE


def _set(call: Call, path: Path, named: Sequence[Path]) -> None:
    """Have the lock file used, if none is."""
    from deepagents_kernel.config.edit import set_lock
    from deepagents_kernel.config.paths import shown_path
    from deepagents_kernel.plugins.locks import locks_of

    if named:
        call.warn(f"{shown_path(path)} is not in use: the configuration names {shown_path(named[0])}")
        return
    target = target_file(call)
    try:
        text = Path(os.path.relpath(path, target.parent)).as_posix()
    except ValueError:  # another drive
        text = str(path)
    call.output.line(set_lock(target, text))
    try:
        locks_of(call.configuration())
    except DeepAgentsError as error:
        call.warn(f"the lock file can't be used like that: {error}")


@common_options
@click.command()
@click.pass_obj
def verify(call: Call) -> int:
    """Compare what is installed with the lock file.

    Every file of every installed plugin is looked at, and nothing is imported. Exit code 1 if something
    differs, 2 if there is no lock file.
    """
    from deepagents_kernel.config.paths import shown_path
    from deepagents_kernel.plugins.locks import locks_of

    configuration = call.configuration()
    locks = locks_of(configuration)
    if not locks:
        raise CommandError(f"no lock file is set\n  write one: {PROGRAM} plugins lock")
    catalog = read_catalog(configuration)
    ways: list[str] = []
    for item in locks:
        differences = list(_differences(catalog, item))
        ways += (way for _, _, way in differences)
        if differences:
            count = f"{len(differences)} difference{'' if len(differences) == 1 else 's'}"
            call.output.line(f"{shown_path(item.path)}: {count}")
            rows = [(one_line(name), one_line(text)) for name, text, _ in differences]
            for line in pairs(rows, call.output.width):
                call.output.line(line)
        else:
            call.output.line(
                f"{shown_path(item.path)}: {len(item.plugins)} {_plugins(item.plugins)} as locked"
            )
        if item.kernel != __version__:
            call.output.line(f"note: it was written by {PROGRAM} {item.kernel}, this is {__version__}")
    for way in dict.fromkeys(ways):
        call.output.line(one_line(way))
    return ExitCode.FAILED if ways else ExitCode.OK


def _concerned(catalog: Catalog, item: Lock) -> list[CatalogRow]:
    """What would be loaded without the lock, and what is listed in it."""
    listed = {row.name for row in item.plugins}
    return [
        row
        for row in catalog.rows
        if row.installed is not None
        and (row.name in listed or (row.decision.on and row.state is not PluginState.INCOMPATIBLE))
    ]


def _differences(catalog: Catalog, item: Lock) -> Iterator[tuple[str, str, str]]:
    """Plugin, difference and way out."""
    from deepagents_kernel.plugins.lockfile import difference

    rows = _concerned(catalog, item)
    for row in rows:
        changed = "" if row.installed is None else difference(row.installed, item)
        if changed:
            yield row.name, f"{changed} ({row.origin})", way_out(changed, row.distribution)
    installed = {row.name for row in rows}
    for locked in item.plugins:
        if locked.name not in installed:
            text = f"it is locked ({locked.distribution} {locked.version}) and not installed"
            yield locked.name, text, way_out(text, locked.distribution)
