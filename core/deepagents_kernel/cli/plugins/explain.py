"""``deepagents-kernel plugins explain``: why a plugin is in or not, and what would change that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.call import Call, common_options, read_catalog
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.output import PROGRAM, one_line
from deepagents_kernel.cli.plugins.checks import misfit, unlocked
from deepagents_kernel.cli.plugins.rows import find_rows, headline, with_last_loads
from deepagents_kernel.cli.table import pairs
from deepagents_kernel.plugins.catalog import PluginState
from deepagents_kernel.plugins.loadcache import last_load, read_cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepagents_kernel.plugins.catalog import CatalogRow
    from deepagents_kernel.plugins.lockfile import Lock
    from deepagents_kernel.plugins.rules import Decision, Step


@common_options
@click.command()
@click.argument("name")
@click.pass_obj
def explain(call: Call, *, name: str) -> int:
    """Say why the plugin NAME is in or not, and what would change that.

    Nothing is imported.
    """
    from deepagents_kernel.plugins.locks import locks_of

    configuration = call.configuration()
    locks = locks_of(configuration)
    catalog = read_catalog(configuration, locks)
    rows = find_rows(catalog, name)
    for number, row in enumerate(rows):
        if number:
            call.output.line("")
        (last,) = with_last_loads([row])
        call.output.line(headline(last), "bold")
        facts = [*_facts(row, locks)]
        if last.state is not row.state:
            facts.append(("change", last.hint))
        for line in pairs([(label, one_line(text)) for label, text in facts], call.output.width):
            call.output.line(line)
    concerned = {row.name for row in rows}
    problems = [item for item in catalog.problems if getattr(item, "plugin", "") in concerned]
    for problem in problems:
        call.output.error(str(problem))
    return ExitCode.USAGE if problems else ExitCode.OK


def _facts(row: CatalogRow, locks: Sequence[Lock]) -> Iterator[tuple[str, str]]:
    yield "from", f"{row.origin} ({row.target})" if row.target else row.origin
    yield from (("rules", text) for text in _rules(row))
    if row.decision.required:
        yield "required", f"by {row.decision.required}"
    yield from _installation(row, locks)
    yield from (("change", text) for text in _changes(row))


def _rules(row: CatalogRow) -> Iterator[str]:
    decision = row.decision
    counting = _counting(decision)
    if not decision.steps:
        yield f"none names it; {_default(row)}"
    for number, step in enumerate(decision.steps, 1):
        yield f"{number}. {_said(step)}{'  <- counts' if step is counting else ''}"
    if decision.skipped:
        yield decision.skipped


def _said(step: Step) -> str:
    if step.word == "blocked":
        return f"left out: not in allow ({step.where})"
    # `-p no:x` says what it is about; a line of a file does not.
    return f"{step.word} by {step.where if step.text in step.where else f'{step.text!r} in {step.where}'}"


def _counting(decision: Decision) -> Step | None:
    blocked = [step for step in decision.steps if step.word == "blocked"]
    return next(iter(blocked or decision.steps[-1:]), None)


def _default(row: CatalogRow) -> str:
    if row.scaffolding:
        return "it is scaffolding, which is always in"
    if row.installed is None:
        return f"by default it is {'in' if row.decision.on else 'off'}"
    if row.installed.optional:
        return "its package leaves it off by default"
    if not row.decision.on:
        return f"installed plugins are off by default: {row.why}"
    return "installed plugins are in by default"


def _installation(row: CatalogRow, locks: Sequence[Lock]) -> Iterator[tuple[str, str]]:
    installed = row.installed
    if installed is None:
        return
    needed = ", ".join(installed.requirements)
    fits = misfit(installed) or f"this is {__version__}, which fits"
    yield "needs", f"{needed}: {fits}" if needed else "its package does not say which kernel it needs"
    if locks:
        yield "lock", unlocked(installed, locks) or f"as in {', '.join(str(lock.path) for lock in locks)}"
    else:
        yield "lock", "no lock file is set"
    result = last_load(installed, read_cache())
    if result is not None:
        outcome = result.error or ", ".join(result.provides) or "nothing to offer"
        yield "last load", f"{outcome} ({result.seconds:.3f} s)"


def _changes(row: CatalogRow) -> Iterator[str]:
    if row.scaffolding and row.on:
        from deepagents_kernel.plugins.rules import SCAFFOLDING_HINT

        yield f"it can't be switched off; {SCAFFOLDING_HINT}"
    elif row.on:
        yield from _off(row)
    elif row.state is PluginState.DISABLED:
        yield from _on(row)
    elif row.state is PluginState.DISCOVERED:
        yield f"on: {PROGRAM} plugins enable {row.name}"
        yield f"on for one call: -p {row.name}"
    else:
        yield row.hint


def _off(row: CatalogRow) -> Iterator[str]:
    if row.decision.required:
        yield f"off: take it out of required first ({row.decision.required})"
        return
    yield f"off: {PROGRAM} plugins disable {row.name}"
    yield f"off for one call: -p no:{row.name}"


def _on(row: CatalogRow) -> Iterator[str]:
    step = _counting(row.decision)
    if step is None or step.where.startswith("-p "):
        yield f"on: leave out {row.why}"
        return
    # What a variable says counts more than any file.
    by_file = "" if step.where.startswith("DEEPAGENTS_") else f", or {PROGRAM} plugins enable {row.name}"
    yield f"on: take {step.text!r} out of {step.where}{by_file}"
    yield f"on for one call: -p {row.name}"
