"""``deepagents-kernel plugins enable`` and ``disable``: switch plugins in a configuration file."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from deepagents_kernel.cli.call import Call, CommandError, common_options, read_catalog
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.plugins.rows import headline, selection_of, with_last_loads
from deepagents_kernel.cli.plugins.target import target_file
from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.plugins.catalog import PluginState
from deepagents_kernel.plugins.selectors import is_wild

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deepagents_kernel.plugins.catalog import Catalog, CatalogRow

_user_option = click.option("--user", is_flag=True, help="Change your own file, for all projects.")


@common_options
@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_user_option
@click.pass_obj
def enable(call: Call, *, names: Sequence[str], user: bool) -> int:
    """Switch plugins on in the configuration file of the project.

    That is the nearest one from here upwards, or a new deepagents.toml here. Comments in it are kept.
    """
    return _switch(call, names, user=user, on=True)


@common_options
@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_user_option
@click.pass_obj
def disable(call: Call, *, names: Sequence[str], user: bool) -> int:
    """Switch plugins off in the configuration file of the project.

    That is the nearest one from here upwards, or a new deepagents.toml here. Comments in it are kept.
    """
    return _switch(call, names, user=user, on=False)


def _switch(call: Call, names: Sequence[str], *, user: bool, on: bool) -> int:
    from deepagents_kernel.config.edit import switch

    if user and call.config is not None:
        raise CommandError("--user and --config name two files; choose one")
    rows = _everything()
    # All of them before the first change: a slip in the last name must not leave half of it done.
    chosen = [_checked(rows, name, on=on) for name in names]
    path = target_file(call, user=user)
    before = _read(call)
    for name in dict.fromkeys(name for written, _ in chosen for name in written):
        call.output.line(switch(path, name, on=on))
    try:
        after = call.catalog()
    except DeepAgentsError as error:
        call.warn(f"whether that is enough can't be told, because of another error: {error}")
        return ExitCode.OK
    meant = {row.name for _, found in chosen for row in found}
    _tell(call, with_last_loads(row for row in after.rows if row.name in meant), on=on)
    if before is not None:
        _tell_others(call, before, after, meant)
    return ExitCode.OK


def _everything() -> Sequence[CatalogRow]:
    """Every plugin that is known; what any configuration says about them is of no concern here."""
    from deepagents_kernel.config.source import Configuration

    return read_catalog(Configuration()).rows


def _checked(rows: Sequence[CatalogRow], name: str, *, on: bool) -> tuple[list[str], list[CatalogRow]]:
    """What to write for a name, and the plugins that it stands for.

    Raises:
        CommandError: it stands for none, for several that it doesn't tell apart, or for one that can't be
            switched off.
    """
    selection = selection_of(rows, name)
    found = [rows[position] for position in selection.found]
    fixed = [row for row in found if row.scaffolding and not on]
    if fixed and len(fixed) == len(found):
        from deepagents_kernel.plugins.rules import SCAFFOLDING_HINT

        reason = f"{fixed[0].name} is scaffolding, which can be replaced and not switched off"
        raise CommandError(f"{reason}\n  {SCAFFOLDING_HINT}")
    switched = [row for row in found if row not in fixed]
    # Names are written in full: a short one stops working when a second plugin has it, and a package would
    # be overruled by a plugin of it that the other list names.
    return [name.strip()] if is_wild(name) else [row.name for row in switched], switched


def _read(call: Call) -> Catalog | None:
    try:
        return call.catalog()
    except DeepAgentsError:
        return None


def _tell(call: Call, rows: Sequence[CatalogRow], *, on: bool) -> None:
    for row in rows:
        if row.on == on:
            call.output.line(headline(row))
        elif row.state is PluginState.FAILED:
            call.warn(f"{row.name} failed all the same: {row.why}; {row.hint}")
        elif row.state in (PluginState.INCOMPATIBLE, PluginState.BLOCKED):
            call.warn(f"{row.name} is {row.state} all the same: {row.why}; {row.hint}")
        else:
            call.warn(f"{row.name} is {row.state} all the same: {row.why} counts more than the file")
    _tell_required(call, rows, on=on)


def _tell_required(call: Call, rows: Iterable[CatalogRow], *, on: bool) -> None:
    for row in rows:
        if row.decision.required and not on and not row.on:
            call.warn(f"{row.name} is required ({row.decision.required}): no kernel can be built without it")


def _tell_others(call: Call, before: Catalog, after: Catalog, meant: Iterable[str]) -> None:
    """Say which other plugins have changed with it: a list of this file takes the place of an outer one."""
    states = functools.partial(_states, meant=frozenset(meant))
    old = states(before)
    for key, row in states(after).items():
        if key in old and old[key].state is not row.state:
            call.warn(f"{row.name} was {old[key].state} and is {row.state} now: {row.why}")


def _states(catalog: Catalog, meant: frozenset[str]) -> dict[tuple[str, str], CatalogRow]:
    return {(row.name, row.distribution): row for row in catalog.rows if row.name not in meant}
