"""Load what the catalog has chosen: built-ins, plugins in code, and installed ones, each guarded alone."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from deepagents_kernel.errors import PluginError, PluginFailedError, error_text
from deepagents_kernel.log import get_logger
from deepagents_kernel.plugins.catalog import TAKEN, TAKEN_HINT, PluginState
from deepagents_kernel.plugins.info import PluginRecord
from deepagents_kernel.plugins.registration import check_plugin_name, plugin_info

if TYPE_CHECKING:
    from deepagents_kernel._builtin import BuiltinTable
    from deepagents_kernel.plugins.catalog import Catalog, CatalogRow
    from deepagents_kernel.plugins.installed import InstalledPlugin

_log = get_logger(__name__)

#: Thread to the installed plugin whose code it is running while a kernel is built.
RUNNING: dict[int, str] = {}


class PluginFailure(Exception):  # noqa: N818 - carries a failure from one place to another, is no error
    """Installed plugins failed while a kernel was built; caught there, never seen outside.

    Attributes:
        names: the plugins.
        error: what was raised.
    """

    def __init__(self, names: Iterable[str], error: BaseException) -> None:
        super().__init__(error_text(error))
        self.names = tuple(names)
        self.error = error


@define(eq=False)
class Loaded:
    """The plugins that were loaded, and the catalog as it stands afterwards.

    Attributes:
        catalog: rows with the outcome of loading.
        records: what is in, by name, in the order in which hooks ask them.
        seconds: time that each installed plugin took.
    """

    catalog: Catalog
    records: dict[str, PluginRecord] = field(factory=dict)
    seconds: dict[str, float] = field(factory=dict)

    @contextmanager
    def running(self, record: PluginRecord) -> Iterator[None]:
        """Run a plugin's own code at load: timed, its output kept away from standard output.

        Raises:
            PluginFailure: an installed plugin raised. What others raise passes through.
        """
        if not record.installed:
            yield
            return
        with self.foreign(record.name):
            yield

    @contextmanager
    def foreign(self, name: str) -> Iterator[None]:
        """The same for an installed plugin that has no record yet."""
        from deepagents_kernel.plugins.quiet import third_party_output

        thread, started = threading.get_ident(), time.perf_counter()
        outer = RUNNING.get(thread)
        RUNNING[thread] = name
        try:
            with third_party_output():
                yield
        except BaseException as error:
            if _ends_the_process(error):
                error.add_note(f"raised while plugin {name} was loaded")
                raise
            raise PluginFailure([name], error) from error
        finally:
            if outer is None:
                RUNNING.pop(thread, None)
            else:
                RUNNING[thread] = outer
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def fail(self, names: Iterable[str], error: BaseException) -> None:
        """Take plugins out and note why.

        Raises:
            PluginFailedError: one of them is required, or failures are errors.
        """
        for name in names:
            self.records.pop(name, None)
            self._mark(name, error)

    def _mark(self, name: str, error: BaseException) -> None:
        position, row = next(
            (n, row) for n, row in enumerate(self.catalog.rows) if row.name == name and row.on
        )
        reason, hint = failure_text(error, row)
        failed = row.failed(reason, hint, seconds=self.seconds.get(name))
        _log.error(
            "plugin_failed", plugin=name, origin=row.origin, target=row.target, reason=reason, exc_info=error
        )
        self.catalog = self.catalog.replaced({position: failed})
        refuse_failure(failed, self.catalog.strict, error)


def _ends_the_process(error: BaseException) -> bool:
    """Whether an exception is for whoever runs the process, and not about a plugin.

    Others that are no ``Exception`` exist too: those of extensions in Rust, of a test runner, a cancellation.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(_ends_the_process(part) for part in error.exceptions)
    return isinstance(error, (KeyboardInterrupt, SystemExit))


def named_plugins(plugins: Iterable[Any] | Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Plugins in code with their names, sorted by name.

    Args:
        plugins: objects whose ``PLUGIN`` has a name, ``(name, object)`` pairs, or a mapping.

    Raises:
        PluginError: one has no name, a malformed one, or that of another.
    """
    found: dict[str, Any] = {}
    for item in plugins.items() if isinstance(plugins, Mapping) else plugins:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            name, plugin = item
        else:
            name, plugin = getattr(getattr(item, "PLUGIN", None), "name", ""), item
        if not name:
            hint = "pass (name, plugin), or give its PLUGIN a name"
            raise PluginError(f"{item!r:.60}", "it has no name", hint)
        check_plugin_name(name)
        if name in found:
            raise PluginError(name, TAKEN, TAKEN_HINT)
        found[name] = plugin
    return sorted(found.items())


def load(catalog: Catalog, table: BuiltinTable, given: Mapping[str, Any]) -> Loaded:
    """Import every plugin that is on.

    Args:
        catalog: says which ones.
        table: the built-ins.
        given: plugins in code, by name.

    Raises:
        PluginError: a plugin in code is malformed; an installed one failed, and that is an error.
        Exception: whatever a built-in raises.
    """
    loaded = Loaded(catalog)
    ranks = {name: rank for rank, name in enumerate(table.plugins)}
    for row in catalog.rows:
        if not row.on:
            others = any(other.on for other in catalog.named(row.name))
            refuse_failure(row, catalog.strict, required=not others)
            continue
        if row.installed is not None:
            _load_installed(loaded, row, row.installed, rank=len(ranks))
            continue
        plugin = _imported(table.plugins[row.name]) if row.builtin else given[row.name]
        loaded.records[row.name] = PluginRecord(
            row.name,
            plugin,
            plugin_info(row.name, plugin),
            builtin=row.builtin,
            rank=ranks[row.name] if row.builtin else len(ranks),
        )
    loaded.records = dict(sorted(loaded.records.items(), key=lambda item: item[1].order))
    return loaded


def _imported(where: Any) -> Any:
    if not isinstance(where, str):
        return where
    module, _, attribute = where.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def _load_installed(loaded: Loaded, row: CatalogRow, installed: InstalledPlugin, rank: int) -> None:
    from deepagents_kernel.plugins.entry_points import load_entry_point
    from deepagents_kernel.plugins.legacy import legacy_plugin

    try:
        with loaded.foreign(row.name):
            plugin = load_entry_point(installed)
            if installed.legacy:
                plugin = legacy_plugin(installed, plugin)
            info = plugin_info(row.name, plugin)
    except PluginFailure as failure:
        loaded.fail(failure.names, failure.error)
        return
    loaded.records[row.name] = PluginRecord(
        row.name,
        plugin,
        info,
        rank=rank,
        distribution=row.distribution,
        version=row.version,
        installed=True,
    )


def failure_text(error: BaseException, row: CatalogRow) -> tuple[str, str]:
    """Why a plugin failed, in one line, and the way out."""
    if isinstance(error, PluginError):
        reason, hint = error.reason, error.hint
    else:
        reason, hint = error_text(error), ""
    if not hint:
        # A package is broken more often than the plugin is wrong about itself.
        package = row.distribution or row.name
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        hint = f"install {missing!r}, or " if missing else ""
        hint += f"update {package}, or switch it off: deepagents-kernel plugins disable {row.name}"
    return " ".join(reason.split())[:300], " ".join(hint.split())


def refuse_failure(
    row: CatalogRow, strict: str, error: BaseException | None = None, *, required: bool = True
) -> None:
    """Raise for a plugin that failed or does not fit, where that is an error.

    Args:
        row: the plugin.
        strict: where ``strict`` is set; empty if it isn't.
        error: what it raised, if anything.
        required: whether its being required counts; it does not when another plugin of the name is on.

    Raises:
        PluginFailedError: it is required, or ``strict`` is set.
    """
    needed = row.decision.required if required else ""
    if (needed or strict) and row.state in (PluginState.FAILED, PluginState.INCOMPATIBLE):
        rule = f"required ({needed})" if needed else f"strict ({strict})"
        raise PluginFailedError(row.name, row.origin, row.why, rule, row.hint) from error


def with_outcome(loaded: Loaded, provides: Mapping[str, tuple[str, ...]]) -> Catalog:
    """The catalog with what each plugin brings and how long it took."""
    rows = {
        position: evolve(row, provides=provides[row.name], seconds=loaded.seconds.get(row.name))
        for position, row in enumerate(loaded.catalog.rows)
        if row.on and row.name in provides
    }
    return loaded.catalog.replaced(rows)
