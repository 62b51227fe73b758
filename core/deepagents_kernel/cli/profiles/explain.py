"""``deepagents-kernel profiles explain``: which profiles a model gets, why, and what they do to an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from deepagents_kernel.cli.call import Call, CommandError, common_options, json_option, profile_option
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.profiles.fields import Row, Said, harness_rows, provider_rows
from deepagents_kernel.cli.profiles.layers import KINDS, KeyLayer, key_layers
from deepagents_kernel.cli.profiles.matching import Match, Reading, matches, read_spec
from deepagents_kernel.cli.profiles.text import row_lines, wrapped
from deepagents_kernel.cli.table import pairs
from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.cli.profiles.effect import Effect
    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.profiles.registry import Kind

_STAND_IN = "planned with a stand-in for the model: no key and no package of its provider is needed"


@frozen(eq=False)
class Explained:
    """What is to be said of one sort of profile.

    Attributes:
        kind: the sort.
        found: the keys that answer, lowest first.
        layers: what is registered under them, lowest first.
        rows: what the layers say together, a file that was given included.
        file: that file; empty for none.
        near: keys that are spelled like the string, if none answers.
    """

    kind: Kind
    found: list[Match]
    layers: list[KeyLayer]
    rows: list[Row]
    file: str = ""
    near: str = ""

    def document(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "keys": [match.document() for match in self.found],
            "layers": [layer.document() for layer in self.layers],
            "file": self.file,
            "fields": [row.document(self.labels) for row in self.rows],
        }

    @property
    def labels(self) -> list[str]:
        """Names of the layers, lowest first."""
        return [*(layer.label for layer in self.layers), *([self.file] if self.file else [])]


@common_options
@profile_option
@click.command()
@click.argument("model")
@json_option("Write it as JSON.")
@click.pass_obj
def explain(call: Call, *, model: str, profile: str | None, as_json: bool) -> int:
    """Say which profiles the model string MODEL gets, why, and what they do to an agent.

    The model is not made and nothing is asked. Secrets are shown as [redacted].
    """
    from deepagents_kernel.cli.profiles.effect import effect_of

    if not model.strip():
        raise CommandError("MODEL is empty; write it as 'provider:name'")
    kernel = call.kernel()
    reading = read_spec(model)
    parts = [_explained(kernel, kind, reading, profile) for kind in KINDS]
    effect = effect_of(kernel, model, profile)
    if as_json:
        call.output.json(_document(reading, parts, effect), indent=2)
    else:
        _write(call, reading, parts, effect)
    if effect.refusal:
        call.output.error(effect.refusal)
        return ExitCode.FAILED
    return ExitCode.OK


def _explained(kernel: Kernel, kind: Kind, reading: Reading, file: str | None) -> Explained:
    shelf = kernel.profiles.snapshot().shelf(kind)
    found = matches(shelf, reading)
    layers = [layer for match in found for layer in key_layers(kernel, kind, match.key)]
    near = "" if found else nearest_hint(reading.spec, shelf)
    said = [layer.said() for layer in layers]
    if kind == "provider":
        return Explained(kind, found, layers, _provider_rows(kernel, said), near=near)
    if file is not None:
        from deepagents_kernel.profiles.config import as_harness_profile
        from deepagents_kernel.profiles.files import read_profile

        said.append(Said(as_harness_profile(read_profile(file))))
    return Explained(kind, found, layers, harness_rows(said), file or "", near)


def _provider_rows(kernel: Kernel, said: list[Said]) -> list[Row]:
    from deepagents_kernel.current import use_kernel

    with use_kernel(kernel):  # so that a factory finds the settings of its plugin
        return provider_rows(said, made=True)


def _document(reading: Reading, parts: list[Explained], effect: Effect) -> dict[str, Any]:
    return {
        "model": reading.spec,
        "reading": reading.document(),
        **{part.kind: part.document() for part in parts},
        "changes": list(effect.lines),
        "warnings": list(effect.warnings),
        "refusal": effect.refusal,
    }


# -- text --------------------------------------------------------------------------------------------------


def _write(call: Call, reading: Reading, parts: list[Explained], effect: Effect) -> None:
    line, width = call.output.line, call.output.width
    for text in wrapped(one_line(f"{reading.spec}: {reading.describe()}"), width):
        line(text.removeprefix("  "), "bold")
    for part in parts:
        line("")
        line(f"{part.kind} profile", "bold")
        for text in pairs([(label, one_line(text)) for label, text in _keys(part)], width):
            line(text)
        for text in row_lines(part.rows, width) if part.rows else ():
            line(text)
    line("")
    line("what they change in the plan", "bold")
    for text in _changes(effect, width):
        line(text)


def _keys(part: Explained) -> Iterator[tuple[str, str]]:
    if not part.found:
        near = f"; {part.near}" if part.near else ""
        yield "keys", f"none answers{near}"
    for match in part.found:
        yield "keys", f"{match.key}: {match.why}"
    for number, label in enumerate(part.labels, 1):
        yield "layers", f"{number}. {label}"


def _changes(effect: Effect, width: int | None) -> Iterator[str]:
    lines = list(effect.lines)
    if effect.refusal:
        lines = ["there is no plan with them; the reason is below"]
    elif not lines:
        lines = ["nothing"]
    lines += [f"warning: {text}" for text in effect.warnings]
    lines += [_STAND_IN]
    for text in lines:
        yield from wrapped(text, width)
