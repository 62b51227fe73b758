"""What ``doctor`` looks for in configuration and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.cli.doctor.environment import packages
from deepagents_kernel.cli.doctor.facts import Finding, broken
from deepagents_kernel.cli.output import PROGRAM
from deepagents_kernel.cli.plugins.rows import BROKEN
from deepagents_kernel.config.paths import shown_path
from deepagents_kernel.errors import nearest_hint
from deepagents_kernel.plugins.catalog import PluginState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepagents_kernel.cli.doctor.facts import Facts

#: Seconds from which on a plugin is slow to load.
SLOW = 0.2

_INERT = "inert: "


def findings_of(facts: Facts) -> list[Finding]:
    """Everything that was found, problems first."""
    found = list(facts.findings)
    for check in CHECKS:
        try:
            found += check(facts)
        except Exception as error:
            found.append(broken(f"a part of this ({check.__name__.strip('_')})", error))
    return sorted(found, key=lambda item: item.kind != "problem")


def _rules(facts: Facts) -> Iterator[Finding]:
    for problem in facts.catalog.problems:
        yield broken("a rule", problem)


def _states(facts: Facts) -> Iterator[Finding]:
    for row in facts.rows:
        if row.state in BROKEN:
            yield Finding("problem", f"plugin {row.name} ({row.origin}) {row.state}: {row.why}", row.hint)
        elif row.state is PluginState.BLOCKED and not row.decision.blocked:
            yield Finding("problem", f"plugin {row.name} ({row.origin}) blocked: {row.why}", row.hint)


def _allow(facts: Facts) -> Iterator[Finding]:
    names = [row.name for row in facts.rows if row.decision.blocked]
    if names:
        where = next(row.decision.why for row in facts.rows if row.decision.blocked)
        yield Finding("note", f"left out by allow ({where}): {', '.join(names)}")


def _unread(facts: Facts) -> Iterator[Finding]:
    for trouble in facts.catalog.troubles:
        text = f"plugins of {trouble.where} can't be read: {trouble.reason}"
        yield Finding("problem", text, "install the package anew, or remove what is left of it")


def _twice(facts: Facts) -> Iterator[Finding]:
    for name in facts.catalog.names():
        rows = facts.catalog.named(name)
        # Where two of them are on, both have failed and are told of above.
        if len(rows) > 1 and not any(row.state is PluginState.FAILED for row in rows):
            origins = ", ".join(row.origin for row in rows)
            hint = f"disable a package by its name to tell them apart, such as: -p no:{rows[-1].distribution}"
            yield Finding("note", f"several packages have a plugin {name}: {origins}", hint)


def _slow(facts: Facts) -> Iterator[Finding]:
    for row in facts.rows:
        if row.on and row.installed is not None and (row.seconds or 0.0) > SLOW:
            text = f"plugin {row.name} ({row.origin}) takes {row.seconds:.2f} s to load"
            yield Finding("note", text, f"if you can do without: {PROGRAM} plugins disable {row.name}")


def _unmatched(facts: Facts) -> Iterator[Finding]:
    for rule, where in facts.catalog.unmatched:
        yield Finding("note", f"{rule!r} ({where}) matches no plugin", "mend the name, or remove it")


def _hooks(facts: Facts) -> Iterator[Finding]:
    for row in facts.rows:
        inert = [item.removeprefix(_INERT) for item in row.provides if item.startswith(_INERT)]
        if row.on and inert:
            text = f"plugin {row.name} ({row.origin}) answers hooks that no plugin here declares: "
            yield Finding("note", text + ", ".join(inert), "install or enable the plugin that declares them")
    for name, item in facts.probes.items():
        for text in item.found.get("deprecations", ()):
            origin = f"plugin {name} ({item.row.origin})"
            yield Finding(
                "note", f"{origin} uses what is deprecated: {text}", "look for a newer release of it"
            )


def _requirements(facts: Facts) -> Iterator[Finding]:
    silent = {
        row.origin: row.distribution
        for row in facts.rows
        if row.installed is not None and not row.installed.requirements
    }
    for origin in silent:
        text = f"{origin} does not say which kernel it needs, so a kernel that it does not fit loads it"
        yield Finding("note", text, f"its authors should have it require {PROGRAM}>=X.Y")


def _ignored(facts: Facts) -> Iterator[Finding]:
    for item in facts.configuration.ignored:
        yield Finding("note", f"{shown_path(item.path)} was not read", item.reason)


def _settings(facts: Facts) -> Iterator[Finding]:
    known = {*facts.catalog.names(), "kernel"}
    for source in facts.configuration.sources:
        for name in source.settings:
            if name not in known:
                where = source.where("plugin", name)
                hint = nearest_hint(name, known) or "mend the name, or remove them"
                yield Finding(
                    "problem", f"settings for {name!r} ({where}), and no plugin has that name", hint
                )


def _packages(_facts: Facts) -> Iterator[Finding]:
    return packages()


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _rules,
    _settings,
    _states,
    _unread,
    _packages,
    _ignored,
    _unmatched,
    _allow,
    _twice,
    _slow,
    _hooks,
    _requirements,
)
