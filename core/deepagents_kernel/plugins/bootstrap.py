"""Bring loaded plugins to work, one after the other, so that a failure is blamed on whoever raised it.

Everything here is done anew when an installed plugin fails: what it registered is dropped with the rest,
which is the only roll-back that can't be incomplete.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define, field

from deepagents_kernel.assembly.context import Contribution
from deepagents_kernel.assembly.resolve_backend import SchemeTakenError, backend_table
from deepagents_kernel.errors import HookError, PluginError, PluginSetError
from deepagents_kernel.plugins.calls import HookCalls
from deepagents_kernel.plugins.loading import PluginFailure, with_outcome
from deepagents_kernel.plugins.provides import provided
from deepagents_kernel.plugins.registration import build_manager
from deepagents_kernel.plugins.relations import check_relations
from deepagents_kernel.plugins.settings import apply_settings, settings_classes
from deepagents_kernel.profiles.registry import ProfileRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.contracts.backend_spec import BackendSpec
    from deepagents_kernel.plugins.catalog import Catalog
    from deepagents_kernel.plugins.effective import SettingsLayer
    from deepagents_kernel.plugins.info import PluginRecord
    from deepagents_kernel.plugins.loading import Loaded

_PROFILES = ("deepagents_provider_profiles", "deepagents_harness_profiles")


@define(eq=False)
class Parts:
    """What a kernel is made of, filled in while it is built.

    Attributes:
        layers: what was said about settings, outermost first.
        catalog: every plugin that is known.
        records: those that are in, by name, in the order in which hooks ask them.
        calls: their hooks.
        classes: plugin name to settings class.
        settings: settings class to object, for the settings that somebody gave.
        profiles: their profiles, those of the configuration, and what the program registered.
        backends: scheme to plugin and spec; ``None`` until somebody asks.
    """

    layers: tuple[SettingsLayer, ...]
    catalog: Catalog
    records: Mapping[str, PluginRecord] = field(factory=dict)
    calls: HookCalls = field(init=False)
    classes: Mapping[str, type[Any]] = field(factory=dict)
    settings: Mapping[type, Any] = field(factory=dict)
    profiles: ProfileRegistry = field(factory=ProfileRegistry)
    backends: Mapping[str, tuple[str, BackendSpec]] | None = None

    def applied(self, base: Mapping[type, Any], layers: Iterable[SettingsLayer]) -> Mapping[type, Any]:
        """Settings objects with what *layers* say laid over *base*.

        Raises:
            SettingsError: a setting is unknown or has a bad value.
        """
        off = frozenset(self.catalog.names()).difference(self.records)
        for layer in layers:
            base = apply_settings(
                base,
                layer.values,
                classes=self.classes,
                known=self.records,
                source=layer.place,
                passive=off if layer.lasting else (),
            )
        return base


def build(kernel: Any, parts: Parts, loaded: Loaded, own_settings: type[Any]) -> None:
    """Put the plugins together; when an installed one fails, all over again without it.

    Args:
        kernel: the kernel that is being built; plugins may ask it for what is there already.
        parts: its parts, filled in here.
        loaded: its plugins.
        own_settings: the settings class of the kernel itself.

    Raises:
        DeepAgentsError: plugins don't fit together, a setting is wrong, or a failure is an error.
    """
    while True:
        configured: list[str] = []
        try:
            _assemble(kernel, parts, loaded, own_settings, configured)
        except PluginFailure as failure:
            _unconfigure_some(kernel, parts, configured)
            loaded.fail(failure.names, failure.error)
        except BaseException:
            _unconfigure_some(kernel, parts, configured)
            raise
        else:
            parts.catalog = with_outcome(loaded, provided(parts.calls, parts.records))
            return


def _assemble(
    kernel: Any, parts: Parts, loaded: Loaded, own_settings: type[Any], configured: list[str]
) -> None:
    # A copy: what belongs to this attempt must not change when a plugin is taken out for the next one.
    parts.records = dict(loaded.records)
    parts.catalog = loaded.catalog
    with blamed(parts.records):
        check_relations(parts.records, loaded.catalog, own_settings)
        registered = build_manager(tuple(parts.records.values()), loaded.running)
    parts.calls = HookCalls(registered, parts.records)
    parts.classes = settings_classes(parts.records.values(), own_settings)
    parts.settings = parts.applied({}, parts.layers)
    parts.backends = None
    parts.profiles = ProfileRegistry()
    register_profiles(parts.calls, parts.profiles, loaded)
    register_configured(kernel.configuration, parts.profiles)
    if any(parts.records[name].installed for name in parts.calls.providers("deepagents_backends")):
        # Otherwise they are collected when somebody asks; an installed plugin is to fail here and not there.
        parts.backends = collect_backends(parts.calls, loaded)
    configure(kernel, parts.calls, loaded, configured)


def _unconfigure_some(kernel: Any, parts: Parts, configured: Sequence[str]) -> None:
    if configured:
        unconfigure(kernel, parts.calls, configured)


def raise_problems(catalog: Catalog) -> None:
    """Raise what is wrong with the rules of a catalog.

    Raises:
        PluginRuleError: one thing is wrong.
        PluginSetError: several are.
    """
    if len(catalog.problems) == 1:
        raise catalog.problems[0]
    if catalog.problems:
        raise PluginSetError(catalog.problems)


@contextmanager
def blamed(records: Mapping[str, PluginRecord]) -> Iterator[None]:
    """Make the error about an installed plugin its failure; errors about others pass through."""
    try:
        yield
    except PluginError as error:
        record = records.get(error.plugin)
        if record is None or not record.installed:
            raise
        raise PluginFailure([record.name], error) from error


def register_profiles(calls: HookCalls, registry: ProfileRegistry, loaded: Loaded) -> None:
    """Register the profiles of every plugin under its name."""
    registers: tuple[Callable[..., None], ...] = (registry.register_provider, registry.register_harness)
    for hook, register in zip(_PROFILES, registers, strict=True):
        for plugin, ask in calls.each(hook):
            with loaded.running(loaded.records[plugin]), registry.owned_by(plugin):
                for value in ask():
                    if not isinstance(value, tuple) or len(value) != 2:
                        reason = f"returned {value!r:.60}; a list of (key, profile) pairs is expected"
                        raise HookError(plugin, hook, "", reason)
                    register(*value)


def register_configured(configuration: Configuration, registry: ProfileRegistry) -> None:
    """Register the profiles of configuration files, above those of plugins, under the place of each."""
    for source in configuration.sources:
        for row in source.profiles:
            register: Callable[..., None] = (
                registry.register_harness if row.kind == "harness" else registry.register_provider
            )
            with registry.owned_by(source.where("profiles", row.kind, row.key)):
                register(row.key, row.profile())


def collect_backends(calls: HookCalls, loaded: Loaded) -> dict[str, tuple[str, BackendSpec]]:
    """Scheme to plugin and spec; of installed plugins that offer one scheme none is kept.

    Raises:
        PluginFailure: an installed plugin raised, or offers a scheme that somebody has.
    """
    found: list[Contribution] = []
    for plugin, ask in calls.each("deepagents_backends"):
        with loaded.running(loaded.records[plugin]):
            answers = [Contribution(plugin, value) for value in ask()]
            backend_table(answers)
            found += answers
    try:
        return backend_table(found)
    except SchemeTakenError as error:
        names = [name for name in (error.plugin, error.other) if loaded.records[name].installed]
        if names:
            raise PluginFailure(names, error) from error
        raise


def configure(kernel: Any, calls: HookCalls, loaded: Loaded, done: list[str]) -> None:
    """Tell every plugin that the kernel is complete.

    Args:
        kernel: the kernel.
        calls: its hooks.
        loaded: its plugins.
        done: gets the name of each plugin that has been told.
    """
    for plugin, ask in calls.each("deepagents_configure"):
        with loaded.running(loaded.records[plugin]):
            ask({"kernel": kernel})
        done.append(plugin)


def unconfigure(kernel: Any, calls: HookCalls, only: Container[str] | None = None) -> None:
    """Tell plugins that the kernel is no longer used, last one first; *only* those named, if any."""
    calls.observe("deepagents_unconfigure", {"kernel": kernel}, newest_first=True, only=only)
