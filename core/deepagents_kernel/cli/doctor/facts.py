"""What ``doctor`` looks at, gathered so that no broken part hides another."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, TypeVar

from attrs import field, frozen

from deepagents_kernel.cli.call import read_catalog
from deepagents_kernel.cli.output import PROGRAM
from deepagents_kernel.cli.plugins.probe import Probe, kernel_error, probe
from deepagents_kernel.cli.plugins.rows import with_last_loads
from deepagents_kernel.config.source import Configuration
from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.plugins.catalog import Catalog
from deepagents_kernel.plugins.loadcache import read_cache
from deepagents_kernel.plugins.locks import locks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deepagents_kernel.cli.call import Call
    from deepagents_kernel.plugins.catalog import CatalogRow
    from deepagents_kernel.plugins.lockfile import Lock


T = TypeVar("T")


@frozen
class Finding:
    """Something that is wrong, or that is worth knowing.

    Attributes:
        kind: ``problem`` for what has to be mended, ``note`` for the rest.
        text: what it is.
        remedy: what to do about it.
    """

    kind: Literal["problem", "note"]
    text: str
    remedy: str = ""


@frozen(eq=False)
class Facts:
    """What there is.

    Attributes:
        configuration: what was read; an empty one if something in it can't be read.
        locks: the lock files.
        catalog: every plugin.
        rows: the same with what the last load of each has shown.
        probes: what loading the plugins now has shown, by name.
        findings: what came to light while all this was gathered.
    """

    configuration: Configuration = field(factory=Configuration)
    locks: tuple[Lock, ...] = ()
    catalog: Catalog = field(factory=Catalog)
    rows: tuple[CatalogRow, ...] = ()
    probes: Mapping[str, Probe] = field(factory=dict)
    findings: tuple[Finding, ...] = ()


def gather(call: Call, *, probing: bool, timeout: float) -> Facts:
    """Look at everything, once.

    Args:
        call: this call of the command.
        probing: whether plugins are imported, each in a process of its own.
        timeout: seconds that each of them may take.
    """
    findings: list[Finding] = []
    configuration = attempt(findings, "the configuration", call.configuration, Configuration())
    none: tuple[Lock, ...] = ()
    locks = attempt(findings, "the lock file", lambda: locks_of(configuration), none)
    catalog = attempt(findings, "the list of plugins", lambda: read_catalog(configuration, locks), Catalog())
    probes = _probes(catalog, locks, findings, timeout) if probing else {}
    if probing and not findings and not catalog.problems:
        error = attempt(findings, "the kernel", lambda: kernel_error(call, timeout), "")
        if error:
            text, _, hint = error.partition("\n")
            findings.append(Finding("problem", f"no kernel can be built like this: {text}", hint.strip()))
    results = {name: item.result for name, item in probes.items()}
    shown = with_last_loads(catalog.rows, {**read_cache(), **results})
    rows = tuple(
        _failed(row, probes[row.name]) if row.on and row.name in probes and probes[row.name].error else last
        for row, last in zip(catalog.rows, shown, strict=True)
    )
    return Facts(configuration, locks, catalog, rows, probes, tuple(findings))


def _failed(row: CatalogRow, item: Probe) -> CatalogRow:
    return row.failed(item.error, item.hint or f"see: {PROGRAM} plugins show {row.name}")


def _probes(
    catalog: Catalog, locks: Sequence[Lock], findings: list[Finding], timeout: float
) -> dict[str, Probe]:
    found: dict[str, Probe] = {}
    for row in catalog.rows:
        if row.installed is not None and row.on:
            make = functools.partial(probe, catalog, row, locks, timeout)
            done = attempt(findings, f"the plugin {row.name}", make, None)
            if done is not None:
                found[row.name] = done
    return found


def attempt(findings: list[Finding], what: str, make: Callable[[], T], otherwise: T) -> T:
    """What *make* returns; if it fails, a finding about *what*, and *otherwise*."""
    try:
        return make()
    except Exception as error:
        findings.append(broken(what, error))
        return otherwise


def broken(what: str, error: BaseException) -> Finding:
    """The problem that something can't even be looked at."""
    if isinstance(error, DeepAgentsError):
        # The text of an error is its reason with its place in front; the way out stands below.
        text, _, hint = str(error).partition("\n")
        return Finding("problem", text, hint.strip())
    return Finding("problem", f"{what} can't be looked at: {type(error).__name__}: {error}")
