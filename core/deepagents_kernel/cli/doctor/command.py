"""The command ``doctor``."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from deepagents_kernel.cli.call import Call, common_options, json_option
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.doctor.checks import findings_of
from deepagents_kernel.cli.doctor.environment import interpreter, package_versions
from deepagents_kernel.cli.doctor.facts import Facts, Finding, attempt, gather
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.cli.plugins.probe import TIMEOUT
from deepagents_kernel.cli.plugins.rows import counted
from deepagents_kernel.cli.table import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WIDTH = 100


@common_options
@click.command()
@click.option("--probe", "probing", is_flag=True, help="Import each plugin, in a process of its own.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="How long importing a plugin may take.",
)
@json_option("Write it as JSON.")
@click.pass_obj
def doctor(call: Call, *, probing: bool, timeout: float, as_json: bool) -> int:
    """Look for what is wrong with configuration and plugins, and say what to do.

    Exit code 1 if there is a problem; notes are no problems. Without --probe nothing is imported, and what
    is said of plugins is what their last load has shown.
    """
    facts = gather(call, probing=probing, timeout=timeout)
    early: list[Finding] = []
    unknown: dict[str, str] = {}
    installed = attempt(early, "the installed packages", package_versions, unknown)
    found = sorted([*early, *findings_of(facts)], key=lambda item: item.kind != "problem")
    if as_json:
        call.output.json(_document(facts, installed, found), indent=2)
    else:
        for line in _report(facts, installed, found, call.output.width):
            call.output.line(line)
    return ExitCode.FAILED if any(item.kind == "problem" for item in found) else ExitCode.OK


def _report(
    facts: Facts, installed: Mapping[str, str], found: Sequence[Finding], width: int | None
) -> Iterator[str]:
    yield from pairs(list(_overview(facts, installed)), width or _WIDTH, indent="")
    for kind in ("problem", "note"):
        items = [item for item in found if item.kind == kind]
        if items:
            yield ""
            yield f"{kind}s"
        for number, item in enumerate(items, 1):
            yield from _finding(number, item, width or _WIDTH)
    yield ""
    yield _sum(found)


def _overview(facts: Facts, installed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    versions = [f"{name}\N{NO-BREAK SPACE}{version or '(missing)'}" for name, version in installed.items()]
    yield "versions", ", ".join(versions)
    yield "interpreter", interpreter()
    yield from (("configuration", label) for label in _labels(facts))
    if not facts.configuration.sources:
        yield "configuration", "can't be read; plugins are judged without it"
    yield from (("lock", str(lock.path)) for lock in facts.locks)
    states = ", ".join(f"{count} {state}" for state, count in counted(facts.rows).items())
    yield "plugins", states or "none"
    for name, item in facts.probes.items():
        outcome = item.error or f"loaded in {item.result.seconds:.3f} s"
        yield "probed", one_line(f"{name} ({item.row.origin}): {outcome}")


def _labels(facts: Facts) -> list[str]:
    """The places of configuration; the environment only if a variable of ours is set."""
    from deepagents_kernel.config.source import Level, Switches

    return [
        source.label
        for source in facts.configuration.sources
        if source.level is not Level.ENVIRONMENT or source.settings or source.switches != Switches()
    ]


def _finding(number: int, item: Finding, width: int) -> Iterator[str]:
    head = f"{number:3}. "
    for text, first in ((item.text, head), (item.remedy, " " * len(head))):
        lines = textwrap.wrap(
            one_line(text),
            width,
            initial_indent=first,
            subsequent_indent=" " * len(head),
            break_on_hyphens=False,
            break_long_words=False,
        )
        yield from lines


def _sum(found: Sequence[Finding]) -> str:
    counts = {kind: sum(item.kind == kind for item in found) for kind in ("problem", "note")}
    return ", ".join(f"{count or 'no'} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())


def _document(facts: Facts, installed: Mapping[str, str], found: Sequence[Finding]) -> dict[str, Any]:
    return {
        "versions": dict(installed),
        "interpreter": interpreter(),
        "configuration": _labels(facts),
        "ignored": [{"path": str(item.path), "reason": item.reason} for item in facts.configuration.ignored],
        "locks": [str(item.path) for item in facts.locks],
        "plugins": counted(facts.rows),
        "probed": [
            {"name": name, "error": item.error, "seconds": item.result.seconds}
            for name, item in facts.probes.items()
        ],
        "findings": [{"kind": item.kind, "text": item.text, "remedy": item.remedy} for item in found],
    }
