"""``deepagents-kernel plugins list``: every plugin, with its state and the reason for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deepagents_kernel.cli.call import Call, common_options, json_option
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.plugins.rows import BROKEN, counted, row_document, with_last_loads
from deepagents_kernel.cli.table import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_kernel.plugins.catalog import Catalog, CatalogRow

_HEADS = ("NAME", "STATE", "FROM", "PROVIDES", "WHY")


@common_options
@click.command("list")
@json_option("Write the list as JSON.")
@click.option("--strict", is_flag=True, help="Exit code 1 if a plugin failed or does not fit.")
@click.pass_obj
def list_plugins(call: Call, *, as_json: bool, strict: bool) -> int:
    """List every plugin, with its state and the reason for it.

    Nothing is imported: what a third party provides, and how it failed, is what its last load has shown.
    """
    catalog = call.catalog()
    rows = sorted(with_last_loads(catalog.rows), key=lambda row: (not row.builtin, row.name))
    if as_json:
        call.output.json(_document(catalog, rows), indent=2)
    else:
        for line in table(_HEADS, [_cells(row) for row in rows], call.output.width, fixed=3):
            call.output.line(line)
        call.output.line(", ".join(f"{count} {state}" for state, count in counted(rows).items()))
        for trouble in catalog.troubles:
            call.warn(f"plugins of {trouble.where} can't be read: {trouble.reason}")
    for problem in catalog.problems:
        call.output.error(str(problem))
    if catalog.problems:
        return ExitCode.USAGE
    return ExitCode.FAILED if strict and any(row.state in BROKEN for row in rows) else ExitCode.OK


def _cells(row: CatalogRow) -> tuple[str, ...]:
    provides = ", ".join(row.provides) or "-"
    return tuple(map(one_line, (row.name, row.state, row.origin, provides, row.why)))


def _document(catalog: Catalog, rows: Sequence[CatalogRow]) -> dict[str, object]:
    return {
        "plugins": [row_document(row) for row in rows],
        "counts": counted(rows),
        "problems": [str(problem) for problem in catalog.problems],
        "unread": [{"where": item.where, "reason": item.reason} for item in catalog.troubles],
        "unmatched": [{"rule": rule, "where": where} for rule, where in catalog.unmatched],
        "locks": list(catalog.locks),
    }
