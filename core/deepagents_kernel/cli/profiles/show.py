"""``deepagents-kernel profiles show``: the layers of a key, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deepagents_kernel.cli.call import Call, CommandError, common_options, json_option
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.profiles.fields import Row, harness_rows, provider_rows
from deepagents_kernel.cli.profiles.layers import KINDS, KeyLayer, key_layers
from deepagents_kernel.cli.profiles.text import row_lines
from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.profiles.registry import Kind


@common_options
@click.command()
@click.argument("key")
@json_option("Write it as JSON.")
@click.pass_obj
def show(call: Call, *, key: str, as_json: bool) -> int:
    """Show the layers of KEY, lowest first, and what they come to.

    KEY is a key as 'profiles list' has it, in any spelling of its provider. What applies to a model, for
    which two keys may count, says 'profiles explain'. Secrets are shown as [redacted].
    """
    kernel = call.kernel()
    found = {kind: layers for kind in KINDS if (layers := key_layers(kernel, kind, key))}
    if not found:
        raise CommandError(_unknown(kernel, key))
    if as_json:
        call.output.json({kind: _document(kind, layers) for kind, layers in found.items()}, indent=2)
    else:
        _write(call, found)
    return ExitCode.OK


def _unknown(kernel: Kernel, key: str) -> str:
    state = kernel.profiles.snapshot()
    hint = nearest_hint(key, [name for kind in KINDS for name in state.shelf(kind)])
    return f"no profile is registered under {key!r}\n  {hint or 'see: deepagents-kernel profiles list'}"


def rows_of(kind: Kind, layers: Sequence[KeyLayer]) -> list[Row]:
    """What layers of one sort say together; factories of provider profiles are not called."""
    said = [layer.said() for layer in layers]
    return harness_rows(said) if kind == "harness" else provider_rows(said, made=False)


def _document(kind: Kind, layers: Sequence[KeyLayer]) -> dict[str, Any]:
    owners = [layer.owner for layer in layers]
    return {
        "key": layers[0].key,
        "layers": [
            {**layer.document(), "fields": [row.document([layer.owner]) for row in rows_of(kind, [layer])]}
            for layer in layers
        ],
        "merged": [row.document(owners) for row in rows_of(kind, layers)],
    }


def _write(call: Call, found: Mapping[Kind, Sequence[KeyLayer]]) -> None:
    for number, (kind, layers) in enumerate(found.items()):
        if number:
            call.output.line("")
        call.output.line(f"{kind} profile {layers[0].key}", "bold")
        for line in _lines(kind, layers, call.output.width):
            call.output.line(line)


def _lines(kind: Kind, layers: Sequence[KeyLayer], width: int | None) -> Iterator[str]:
    for place, layer in enumerate(layers, 1):
        yield f"{place}. {layer.owner}"
        if layer.target:
            yield f"  imported from {layer.target}"
        yield from row_lines(rows_of(kind, [layer]), width, layers=False)
    if len(layers) > 1:
        yield "together"
        yield from row_lines(rows_of(kind, layers), width)
