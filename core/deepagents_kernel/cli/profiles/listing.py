"""``deepagents-kernel profiles list``: every key that has a profile, and whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from deepagents_kernel.cli.call import Call, common_options, json_option
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.profiles.layers import KINDS, KeyLayer, key_layers
from deepagents_kernel.cli.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.kernel import Kernel


@frozen(eq=False)
class KeyRow:
    """A key of one sort, with its registrations."""

    key: str
    kind: str
    layers: list[KeyLayer]

    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        owners = [f"{layer.owner}{' (lazy)' if layer.target else ''}" for layer in self.layers]
        return tuple(map(one_line, (self.key, self.kind, ", ".join(owners))))

    def document(self) -> dict[str, Any]:
        """The row as JSON data."""
        return {"key": self.key, "kind": self.kind, "layers": [layer.document() for layer in self.layers]}


@common_options
@click.command("list")
@json_option("Write the list as JSON.")
@click.pass_obj
def list_profiles(call: Call, *, as_json: bool) -> int:
    """List every key that has a profile, of which sort, and who gave it, lowest layer first.

    A profile that is marked as lazy is imported when a model uses it, and not for this list.
    """
    rows = sorted(_rows(call.kernel()), key=lambda row: (row.key, row.kind))
    if as_json:
        call.output.json({"profiles": [row.document() for row in rows]}, indent=2)
        return ExitCode.OK
    lines = table(("KEY", "SORT", "FROM"), [row.cells() for row in rows], call.output.width, fixed=2)
    for line in lines:
        call.output.line(line)
    counts = [f"{sum(row.kind == kind for row in rows)} {kind}" for kind in KINDS]
    call.output.line(f"{', '.join(counts)}; those of (lazy) are imported when a model uses them")
    return ExitCode.OK


def _rows(kernel: Kernel) -> Iterator[KeyRow]:
    for kind in KINDS:
        for key in kernel.profiles.snapshot().shelf(kind):
            yield KeyRow(key, kind, key_layers(kernel, kind, key))
