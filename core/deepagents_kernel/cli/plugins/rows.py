"""Rows of the catalog as the commands find and show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from deepagents_kernel.cli.call import CommandError
from deepagents_kernel.cli.output import one_line
from deepagents_kernel.plugins.catalog import PluginState
from deepagents_kernel.plugins.loadcache import last_load, read_cache
from deepagents_kernel.plugins.selectors import SEE, Candidate, select

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deepagents_kernel.plugins.catalog import Catalog, CatalogRow
    from deepagents_kernel.plugins.loadcache import LoadResult
    from deepagents_kernel.plugins.selectors import Selection

#: States that somebody has to do something about.
BROKEN = (PluginState.FAILED, PluginState.INCOMPATIBLE)


def selection_of(rows: Sequence[CatalogRow], selector: str) -> Selection:
    """What a name stands for among rows of a catalog, as in a configuration.

    Raises:
        CommandError: nothing, or several plugins that it doesn't tell apart.
    """
    selection = select(selector, [_candidate(row) for row in rows])
    if not selection.found:
        reason = selection.reason or f"{selector!r} matches no plugin"
        raise CommandError(f"{reason}\n  {selection.hint or SEE}")
    return selection


def find_rows(catalog: Catalog, selector: str) -> tuple[CatalogRow, ...]:
    """The plugins that a name stands for.

    Raises:
        CommandError: there is none.
    """
    return tuple(catalog.rows[position] for position in selection_of(catalog.rows, selector).found)


def _candidate(row: CatalogRow) -> Candidate:
    # The distribution of the kernel does not stand for its plugins.
    distribution = "" if row.builtin else row.distribution
    return Candidate(row.name, distribution, row.installed.entry_point if row.installed else "")


def with_last_loads(
    rows: Iterable[CatalogRow], cache: Mapping[str, LoadResult] | None = None
) -> tuple[CatalogRow, ...]:
    """Rows with what the last load of each plugin found; one that failed then is shown as failed."""
    known = read_cache() if cache is None else cache
    return tuple(_with_last_load(row, known) for row in rows)


def _with_last_load(row: CatalogRow, cache: Mapping[str, LoadResult]) -> CatalogRow:
    result = None if row.installed is None else last_load(row.installed, cache)
    if result is None:
        return row
    if result.error and row.on:
        hint = row.hint or f"see: deepagents-kernel plugins show {row.name}"
        return row.failed(f"{result.error} (at its last load)", hint, seconds=result.seconds)
    return evolve(row, provides=result.provides, seconds=result.seconds)


def headline(row: CatalogRow) -> str:
    """What became of a plugin, and why, as one sentence."""
    says = f"{row.name}: failed, " if row.state is PluginState.FAILED else f"{row.name} is {row.state}: "
    return one_line(f"{says}{row.why or 'default'}")


def counted(rows: Iterable[CatalogRow]) -> dict[str, int]:
    """How many plugins there are in each state; states without any are left out."""
    found: dict[str, int] = dict.fromkeys(PluginState, 0)
    for row in rows:
        found[row.state] += 1
    return {str(state): count for state, count in found.items() if count}


def row_document(row: CatalogRow) -> dict[str, Any]:
    """A row as JSON has it."""
    return {
        "name": row.name,
        "state": str(row.state),
        "why": row.why,
        "hint": row.hint,
        "builtin": row.builtin,
        "distribution": row.distribution,
        "version": row.version,
        "target": row.target,
        "provides": list(row.provides),
        "seconds": row.seconds,
        "scaffolding": row.scaffolding,
        "required": row.decision.required,
    }
