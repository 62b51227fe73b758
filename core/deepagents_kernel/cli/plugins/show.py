"""``deepagents-kernel plugins show``: what a plugin brings, found out in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deepagents_kernel.cli.call import Call, common_options, json_option, read_catalog
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.plugins.probe import TIMEOUT, Probe, probe
from deepagents_kernel.cli.plugins.rows import find_rows, row_document
from deepagents_kernel.cli.table import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.plugins.catalog import CatalogRow

_MOST_LINES = 8


@common_options
@click.command()
@click.argument("name")
@json_option("Write it as JSON.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="How long importing it may take.",
)
@click.pass_obj
def show(call: Call, *, name: str, as_json: bool, timeout: float) -> int:
    """Show what the plugin NAME is and brings.

    It is imported in a process of its own, so that nothing it does can hurt.
    """
    from deepagents_kernel.plugins.locks import locks_of

    configuration = call.configuration()
    locks = locks_of(configuration)
    catalog = read_catalog(configuration, locks)
    probes = [probe(catalog, row, locks, timeout) for row in find_rows(catalog, name)]
    if as_json:
        call.output.json({"plugins": [_document(item) for item in probes]}, indent=2)
    else:
        for number, item in enumerate(probes):
            if number:
                call.output.line("")
            _write(call, item)
    return ExitCode.FAILED if any(item.error for item in probes) else ExitCode.OK


def _row(item: Probe) -> CatalogRow:
    """The plugin in the state that loading it has shown."""
    failed = item.imported and item.error and item.row.on
    return item.row.failed(item.error, item.hint) if failed else item.row


def _document(item: Probe) -> dict[str, Any]:
    found = {key: value for key, value in item.found.items() if key not in ("error", "hint")}
    loaded = {"imported": item.imported, "error": item.error, "hint": item.hint, "output": item.output}
    return {**row_document(_row(item)), "load": {**found, **loaded}}


def _write(call: Call, item: Probe) -> None:
    row = item.row
    summary = one_line(str(item.found.get("summary", "")))
    call.output.line(f"{one_line(row.name)}: {summary}" if summary else one_line(row.name), "bold")
    rows = [(label, one_line(text)) for label, text in _facts(item)]
    for line in pairs(rows, call.output.width):
        call.output.line(line)


def _facts(item: Probe) -> Iterator[tuple[str, str]]:
    row, found = item.row, item.found
    failed = _row(item) is not row
    yield (
        "state",
        f"failed: see load (otherwise {row.state}: {row.why or 'default'})"
        if failed
        else (f"{row.state}: {row.why or 'default'}"),
    )
    yield "from", row.origin
    yield "target", row.target or "-"
    if row.installed is not None:
        yield "needs", ", ".join(row.installed.requirements) or "its package does not say which kernel"
    if item.error:
        yield ("load" if item.imported else "not loaded"), item.error
        if item.hint:
            yield "", item.hint
    elif row.installed is not None:
        yield "load", f"done after {found.get('seconds', 0.0):.3f} s"
    for key in ("provides", "serves", "requires", "conflicts", "hooks", "declares", "inert"):
        if found.get(key):
            yield key, ", ".join(found[key])
    for setting in found.get("settings", ()):
        yield "settings", f"{setting['key']}: {setting['type']} = {setting['default']}"
    yield from (("deprecated", text) for text in found.get("deprecations", ()))
    yield from (("output", line) for line in item.output.splitlines()[-_MOST_LINES:])
