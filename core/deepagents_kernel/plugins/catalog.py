"""Every plugin that is known, with its state and the reason for it; nothing is imported to find out."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from deepagents_kernel._version import __version__
from deepagents_kernel.errors import PluginError, PluginRuleError, nearest_hint
from deepagents_kernel.plugins.names import BAD_NAME_HINT, PLUGIN_NAME
from deepagents_kernel.plugins.rules import Decision, Default, apply_rules
from deepagents_kernel.plugins.selectors import SEE, Candidate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deepagents_kernel._builtin import BuiltinTable
    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.errors import DeepAgentsError
    from deepagents_kernel.plugins.installed import InstalledPlugin, Scan, ScanTrouble
    from deepagents_kernel.plugins.lockfile import Lock
    from deepagents_kernel.plugins.record import RecordReader

#: The distribution of the kernel and its built-in plugins.
KERNEL = "deepagents-kernel"

#: How the difference begins when files are not those that were installed.
FILES_DIFFER = "its files are not those of its RECORD"


TAKEN = "a plugin of that name is there already"
TAKEN_HINT = "give it a name of its own; to take over another plugin's slot declare replaces="


class PluginState(enum.StrEnum):
    """What became of a plugin."""

    #: It is in, or will be when the kernel is built.
    ENABLED = "enabled"
    #: Somebody switched it off.
    DISABLED = "disabled"
    #: It is installed and off until it is enabled by name.
    DISCOVERED = "discovered"
    #: A closed list or a lock file leaves it out.
    BLOCKED = "blocked"
    #: It was made for another version of the kernel.
    INCOMPATIBLE = "incompatible"
    #: It could not be loaded or registered, or its name is taken.
    FAILED = "failed"


@frozen(eq=False)
class CatalogRow:
    """One plugin, in or not.

    Attributes:
        name: registered name.
        state: what became of it.
        why: the reason for the state: who decided, or what went wrong.
        hint: the way out of a state that nobody asked for.
        builtin: whether it comes with the kernel.
        distribution: where it comes from; empty for an object given in code.
        version: version of the distribution.
        target: ``module:attribute`` that is imported for it; empty for an object.
        provides: what it brings, such as ``middleware`` or ``2 hooks``; known once it was loaded.
        seconds: how long loading it took; ``None`` if it was not loaded.
        scaffolding: whether it can be replaced and not switched off.
        decision: the rules that were applied to it.
        installed: what was found of it in the environment.
    """

    name: str
    state: PluginState
    why: str = ""
    hint: str = ""
    builtin: bool = False
    distribution: str = ""
    version: str = ""
    target: str = ""
    provides: tuple[str, ...] = ()
    seconds: float | None = None
    scaffolding: bool = False
    decision: Decision = field(factory=lambda: Decision(on=True), repr=False)
    installed: InstalledPlugin | None = field(default=None, repr=False)

    @property
    def origin(self) -> str:
        """Where it comes from, in words: ``built-in``, ``code``, or distribution and version."""
        if self.builtin:
            return "built-in"
        if self.installed is None:
            return "code"
        return f"{self.distribution or 'a package without a name'} {self.version}".strip()

    @property
    def on(self) -> bool:
        """Whether it is in."""
        return self.state is PluginState.ENABLED

    def failed(self, reason: str, hint: str = "", *, seconds: float | None = None) -> CatalogRow:
        """The same row after a failure."""
        known = self.seconds if seconds is None else seconds
        return evolve(self, state=PluginState.FAILED, why=reason, hint=hint, provides=(), seconds=known)


@frozen(eq=False)
class Catalog:
    """Every plugin that is known.

    Attributes:
        rows: built-ins in the order of their table, then the others by name.
        problems: why no kernel can be built from it: unknown names, contradictions, what is required and off.
        troubles: parts of the environment that could not be read.
        unmatched: rules that match nothing and need not, as ``(text, where)``.
        strict: where ``strict`` is set; empty if it isn't.
        locks: lock files that apply, as text.
    """

    rows: tuple[CatalogRow, ...] = ()
    problems: tuple[DeepAgentsError, ...] = ()
    troubles: tuple[ScanTrouble, ...] = ()
    unmatched: tuple[tuple[str, str], ...] = ()
    strict: str = ""
    locks: tuple[str, ...] = ()

    def named(self, name: str) -> tuple[CatalogRow, ...]:
        """The rows of a name: one, none, or several that clash."""
        return tuple(row for row in self.rows if row.name == name)

    def row(self, name: str) -> CatalogRow:
        """The row of a name; of several the one that is in, if any.

        Raises:
            PluginError: there is none.
        """
        found = sorted(self.named(name), key=lambda row: not row.on)
        if not found:
            raise PluginError(name, "no plugin has that name", nearest_hint(name, self.names()) or SEE)
        return found[0]

    def names(self) -> tuple[str, ...]:
        """Every name, once."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    def having(self, *states: PluginState) -> tuple[CatalogRow, ...]:
        """The rows in one of these states."""
        return tuple(row for row in self.rows if row.state in states)

    def replaced(self, rows: Mapping[int, CatalogRow]) -> Catalog:
        """The catalog with other rows at some positions."""
        return evolve(self, rows=tuple(rows.get(n, row) for n, row in enumerate(self.rows)))

    def state_of(self, name: str) -> str:
        """What became of a plugin, for a sentence about somebody who needs it."""
        found = self.named(name)
        if not found:
            return "not installed"
        row = min(found, key=lambda item: not item.on)
        return f"{row.state} ({row.why})" if row.why else str(row.state)


def make_catalog(
    table: BuiltinTable,
    given: Mapping[str, Any],
    scan: Scan,
    configuration: Configuration,
    *,
    locks: Iterable[Lock] = (),
) -> Catalog:
    """Put together what is known and what was said.

    Args:
        table: the built-ins.
        given: plugins in code, by name.
        scan: what is installed.
        configuration: what was said about it.
        locks: lock files that installed plugins have to agree with.

    Raises:
        PluginError: a plugin in code has the name of a built-in.
    """
    rows = [*_builtin_rows(table), *_given_rows(given, table), *_installed_rows(scan)]
    rules = apply_rules(
        configuration,
        [_candidate(row) for row in rows],
        [_default(row, table) for row in rows],
        guarded=[_candidate(row, guarded=True) for row in rows],
    )
    locks = tuple(locks)
    reader = _record_reader() if locks else None
    pairs = zip(rows, rules.decisions, strict=True)
    decided = [_decided(row, decision, locks, reader) for row, decision in pairs]
    rows = _without_clashes(decided)
    return Catalog(
        rows=tuple(rows),
        problems=(*rules.problems, *_unmet(rows)),
        troubles=scan.troubles,
        unmatched=rules.unmatched,
        strict=rules.strict,
        locks=tuple(str(lock.path) for lock in locks),
    )


def _record_reader() -> RecordReader:
    # Imported only under a lock: a listing without one has no use for it.
    from deepagents_kernel.plugins.record import RecordReader

    return RecordReader()


def _builtin_rows(table: BuiltinTable) -> Iterator[CatalogRow]:
    for name, where in table.plugins.items():
        yield CatalogRow(
            name,
            PluginState.ENABLED,
            builtin=True,
            distribution=KERNEL,
            version=__version__,
            target=where if isinstance(where, str) else "",
            provides=tuple(table.provides.get(name, ())),
            scaffolding=name in table.required,
        )


def _given_rows(given: Mapping[str, Any], table: BuiltinTable) -> Iterator[CatalogRow]:
    for name, plugin in sorted(given.items()):
        if name in table.plugins:
            raise PluginError(name, TAKEN, TAKEN_HINT)
        scaffolding = getattr(getattr(plugin, "PLUGIN", None), "scaffolding", False) is True
        yield CatalogRow(name, PluginState.ENABLED, why="given in code", scaffolding=scaffolding)


def _installed_rows(scan: Scan) -> Iterator[CatalogRow]:
    for item in scan.plugins:
        yield CatalogRow(
            item.name,
            PluginState.ENABLED,
            distribution=item.distribution,
            version=item.version,
            target=item.value,
            installed=item,
        )


def _candidate(row: CatalogRow, *, guarded: bool = False) -> Candidate:
    distribution = row.distribution if guarded or not row.builtin else ""
    if guarded and row.installed is not None:
        from deepagents_kernel.plugins.names import distribution_key

        # A package may call itself what it likes; that name lets the built-in plugins in, and them alone.
        distribution = "" if distribution_key(distribution) == KERNEL else distribution
    entry_point = row.installed.entry_point if row.installed else ""
    return Candidate(row.name, distribution, entry_point, row.scaffolding)


def _default(row: CatalogRow, table: BuiltinTable) -> Default:
    if row.installed is not None:
        return Default(on=not row.installed.optional, installed=True)
    if row.builtin:
        return Default(on=row.name not in table.optional, installed=False)
    return Default(on=True, installed=False, exempt=True)


def _decided(
    row: CatalogRow, decision: Decision, locks: Sequence[Lock], reader: RecordReader | None
) -> CatalogRow:
    row = evolve(row, decision=decision)
    if decision.blocked:
        return evolve(
            row,
            state=PluginState.BLOCKED,
            why=f"not in allow ({decision.why})",
            hint=f"add {row.name!r} there" if not row.builtin else f"add {row.name!r} or {KERNEL!r} there",
        )
    if not decision.on:
        return _off(row, decision)
    if row.installed is None:
        return evolve(row, why=decision.why or row.why or ("scaffolding" if row.scaffolding else "default"))
    return _fitting(evolve(row, why=decision.why or "installed"), row.installed, locks, reader)


def _off(row: CatalogRow, decision: Decision) -> CatalogRow:
    if any(step.word == "off" for step in decision.steps):
        return evolve(row, state=PluginState.DISABLED, why=decision.why)
    why = f"autoload is off ({decision.why})" if decision.why else "off by default"
    hint = f"switch it on with -p {row.name}, or for good with: {KERNEL} plugins enable {row.name}"
    return evolve(row, state=PluginState.DISCOVERED, why=why, hint=hint)


def _fitting(
    row: CatalogRow, installed: InstalledPlugin, locks: Sequence[Lock], reader: RecordReader | None
) -> CatalogRow:
    """An installed plugin that is on, after the checks that need no import."""
    from deepagents_kernel.plugins.requirements import refusal

    if not PLUGIN_NAME.match(row.name):
        return row.failed(f"{row.name!r} is not a plugin name", BAD_NAME_HINT)
    refused = refusal(installed.requirements, __version__)
    if refused is not None:
        reason, hint = refused
        return evolve(row, state=PluginState.INCOMPATIBLE, why=reason, hint=hint)
    for lock in locks:
        from deepagents_kernel.plugins.lockfile import difference

        changed = difference(installed, lock, reader)
        if changed:
            hint = _way_back(changed, installed)
            why = f"not as in {lock.path}: {changed}"
            return evolve(row, state=PluginState.BLOCKED, why=why, hint=hint)
    return row


def _way_back(changed: str, installed: InstalledPlugin) -> str:
    if "would be imported from" in changed:
        return "remove that file, or take its folder off the path of Python (PYTHONPATH)"
    if changed.startswith(FILES_DIFFER):
        # Locking would refuse them as well: they are not those that were installed.
        return f"install it anew: pip install --force-reinstall {installed.distribution}"
    return f"if the change is meant: {KERNEL} plugins lock"


def _without_clashes(rows: Sequence[CatalogRow]) -> list[CatalogRow]:
    """The rows, with every installed plugin refused whose name somebody else has too."""
    owners: dict[str, list[CatalogRow]] = {}
    for row in rows:
        if row.on:
            owners.setdefault(row.name, []).append(row)
    return [_clashing(row, owners[row.name]) if row.on else row for row in rows]


def _clashing(row: CatalogRow, same: Sequence[CatalogRow]) -> CatalogRow:
    others = [item.origin for item in same if item is not row]
    if not others or row.installed is None:
        return row
    if row.origin in others:
        hint = f"its package has two entry points of that name; tell the authors of {row.distribution}"
    else:
        hint = f"disable one of the packages by its name, such as: -p no:{row.distribution}"
    return row.failed(f"the name is taken: {', '.join(others)} has it too", hint)


def _unmet(rows: Iterable[CatalogRow]) -> Iterator[DeepAgentsError]:
    rows = tuple(rows)
    for row in rows:
        if row.scaffolding and row.state is PluginState.BLOCKED:
            reason = f"{row.name} is scaffolding, which can't be left out"
            yield PluginRuleError(row.name, row.decision.why, reason, row.hint)
    on = {row.name for row in rows if row.on}
    for row in {row.name: row for row in rows if row.decision.required and row.name not in on}.values():
        yield required_is_off(row)


def required_is_off(row: CatalogRow) -> PluginRuleError:
    """The error for a plugin that has to be on and is not."""
    reason = f"{row.name} is required and {row.state}"
    full = f"{reason}: {row.why}" if row.why else reason
    return PluginRuleError(row.name, row.decision.required, full, row.hint)
