"""The kernel: the plugins that are in, and what can be asked of them together."""

from __future__ import annotations

import copy
import os
import threading
import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from deepagents_kernel._builtin import BuiltinTable, load_table
from deepagents_kernel.assembly.compile import KernelSettings, bound_config, compile_with_langchain
from deepagents_kernel.assembly.planner import make_plan
from deepagents_kernel.assembly.request import AgentRequest, make_request
from deepagents_kernel.assembly.resolve_backend import (
    backend_table,
    checked_backend,
    open_backend,
    parse_backend,
    unknown_scheme,
)
from deepagents_kernel.assembly.resolve_model import resolve_model
from deepagents_kernel.config.code import code_source
from deepagents_kernel.config.load import load_for_library
from deepagents_kernel.config.source import Configuration
from deepagents_kernel.current import use_kernel
from deepagents_kernel.errors import (
    BackendSpecError,
    HookError,
    PlanWarning,
    Problem,
    SettingsError,
    nearest_hint,
)
from deepagents_kernel.explain.tokens import TokenCounter, counter_for
from deepagents_kernel.log import get_logger
from deepagents_kernel.model_facts import facts_for
from deepagents_kernel.plugins.bootstrap import Parts, build, raise_problems, unconfigure
from deepagents_kernel.plugins.catalog import Catalog, make_catalog
from deepagents_kernel.plugins.effective import SettingRow, SettingsLayer, effective_settings, source_layer
from deepagents_kernel.plugins.installed import Scan, scan
from deepagents_kernel.plugins.loading import load, named_plugins
from deepagents_kernel.plugins.locks import locks_of
from deepagents_kernel.plugins.report import report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from deepagents_kernel.assembly.context import Contribution, StackContext
    from deepagents_kernel.assembly.plan import AgentPlan, StackPlan
    from deepagents_kernel.contracts.backend import BackendProtocol
    from deepagents_kernel.contracts.backend_spec import BackendSpec
    from deepagents_kernel.model_facts import ModelFacts
    from deepagents_kernel.plugins.calls import HookCalls
    from deepagents_kernel.plugins.info import PluginRecord
    from deepagents_kernel.profiles.registry import ProfileRegistry

SettingsT = TypeVar("SettingsT")

_log = get_logger(__name__)


class Kernel:
    """A set of plugins that plans and compiles agents.

    A kernel is complete once it is constructed and does not change afterwards, apart from profiles that are
    registered on it. It may be shared by threads.

    Args:
        plugins: plugins in code, besides the built-ins: objects whose ``PLUGIN`` has a name,
            ``(name, object)`` pairs, or a mapping from name to object.
        builtins: the table of built-ins; ``None`` for the installed package's, ``BuiltinTable()`` for none.
        disable: names of plugins to leave out.
        settings: plugin name to its settings, the same in every agent that this kernel makes; ``"kernel"``
            names the kernel's own (:class:`KernelSettings`).

    Raises:
        PluginError: a plugin is malformed, unknown, or needs one that is not there.
        SettingsError: a setting is unknown or has a bad value.
    """

    def __init__(
        self,
        plugins: Iterable[Any] | Mapping[str, Any] = (),
        *,
        builtins: BuiltinTable | None = None,
        disable: Iterable[str] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        rules = code_source("Kernel", disable=disable)
        layer = SettingsLayer(settings, "Kernel(settings=...)")
        self._start(plugins, builtins, Configuration((rules,)), Scan(), layer)

    @classmethod
    def discover(
        cls,
        plugins: Iterable[Any] | Mapping[str, Any] = (),
        *,
        builtins: BuiltinTable | None = None,
        enable: Iterable[str] | None = None,
        disable: Iterable[str] | None = None,
        allow: Iterable[str] | None = None,
        required: Iterable[str] | None = None,
        autoload: bool | None = None,
        strict: bool | None = None,
        lock: str | Path | bool | None = None,
        config: str | Path | Configuration | None = None,
        settings: Mapping[str, Any] | None = None,
        stacklevel: int = 2,
    ) -> Kernel:
        """A kernel with the built-ins and every plugin that is installed, as far as nobody says otherwise.

        The environment is read, and the configuration file that *config* or ``DEEPAGENTS_CONFIG`` names; no
        other file is. An installed plugin that fails is left out, warned about, and listed with the reason
        in :attr:`catalog`; all others are there.

        Plugins are named by registered name, short name, distribution or wildcard.

        Args:
            plugins: plugins in code, as for the constructor.
            builtins: the table of built-ins; ``None`` for the installed package's.
            enable: names to switch on.
            disable: names to switch off.
            allow: closed list; whatever it doesn't name is blocked.
            required: names that have to be on.
            autoload: whether installed plugins are on without being named.
            strict: whether a plugin that fails is an error.
            lock: lock file that installed plugins have to agree with.
            config: a configuration file, or a configuration that was read already.
            settings: plugin name to its settings.
            stacklevel: whose line a :class:`PluginWarning` names.

        Raises:
            ConfigError: a file or a variable is malformed.
            PluginError: a name is unknown, rules contradict each other, a required plugin is off, or a
                plugin failed and ``strict`` is set.
            SettingsError: a setting is unknown or has a bad value.
        """
        rules = code_source(
            "Kernel.discover",
            enable=enable,
            disable=disable,
            allow=allow,
            required=required,
            autoload=autoload,
            strict=strict,
            lock=lock,
        )
        read = config if isinstance(config, Configuration) else load_for_library(config, os.environ)
        kernel = cls.__new__(cls)
        configuration = evolve(read, sources=(*read.sources, rules))
        layer = SettingsLayer(settings, "Kernel.discover(settings=...)")
        kernel._start(plugins, builtins, configuration, scan(), layer)
        report(kernel.catalog, stacklevel)
        return kernel

    def _start(
        self,
        plugins: Iterable[Any] | Mapping[str, Any],
        builtins: BuiltinTable | None,
        configuration: Configuration,
        found: Scan,
        own: SettingsLayer,
    ) -> None:
        self._table = load_table() if builtins is None else builtins
        self._configuration = configuration
        given = dict(named_plugins(plugins))
        catalog = make_catalog(self._table, given, found, configuration, locks=locks_of(configuration))
        raise_problems(catalog)
        self._lock = threading.Lock()
        self._parts = Parts((*map(source_layer, configuration.sources), own), catalog)
        with use_kernel(self):
            build(self, self._parts, load(catalog, self._table, given), KernelSettings)

    # -- what is in ------------------------------------------------------------------------------

    @property
    def plugins(self) -> tuple[PluginRecord, ...]:
        """Every plugin, in the order in which hooks ask them."""
        return tuple(self._parts.records.values())

    @property
    def records(self) -> Mapping[str, PluginRecord]:
        """The same by name."""
        return MappingProxyType(self._parts.records)

    @property
    def catalog(self) -> Catalog:
        """Every plugin that is known, in or not, with the reason."""
        return self._parts.catalog

    @property
    def configuration(self) -> Configuration:
        """What was said about plugins and settings, by whom."""
        return self._configuration

    @property
    def builtin_names(self) -> frozenset[str]:
        """Names of the built-in plugins that are in."""
        return frozenset(record.name for record in self._parts.records.values() if record.builtin)

    @property
    def table(self) -> BuiltinTable:
        """What the package of built-ins publishes."""
        return self._table

    @property
    def profiles(self) -> ProfileRegistry:
        """Provider and harness profiles of this kernel."""
        return self._parts.profiles

    @property
    def calls(self) -> HookCalls:
        """The hooks of this kernel, callable with provenance."""
        return self._parts.calls

    def hooks(self, hook: str, /, **arguments: Any) -> tuple[Contribution, ...]:
        """Call a hook, one that a plugin declared included; see ``StackContext.hooks``."""
        return self._parts.calls(hook, arguments)

    # -- settings --------------------------------------------------------------------------------

    def settings(self, cls: type[SettingsT]) -> SettingsT:
        """Settings of a plugin, by the attrs class that it declares; defaults where nobody set a value."""
        found = self._parts.settings.get(cls)
        return cls() if found is None else found

    @property
    def settings_by_class(self) -> Mapping[type, Any]:
        """The settings that somebody gave, by settings class."""
        return MappingProxyType(self._parts.settings)

    def configured(self, values: Mapping[str, Any] | None) -> Kernel:
        """The same kernel with an agent's own settings over its own; plugins and profiles are shared.

        Raises:
            SettingsError: a setting is unknown or has a bad value.
        """
        if not values:
            return self
        _ = self.backends  # collected now, so that every view shares them
        view = copy.copy(self)
        layer = SettingsLayer(values, "settings=")
        parts = view._parts = copy.copy(self._parts)
        parts.layers = (*parts.layers, layer)
        parts.settings = parts.applied(parts.settings, (layer,))
        return view

    def effective_settings(self) -> tuple[SettingRow, ...]:
        """The value of every setting of every plugin that is in, and where it was set."""
        return effective_settings(self._parts.classes, self._parts.settings, self._parts.layers)

    @property
    def guard_plugin(self) -> str:
        """Name of the plugin that may fill the guard segment; empty for none."""
        chosen = self.settings(KernelSettings).guard
        if chosen and chosen not in self._parts.records:
            hint = nearest_hint(chosen, self._parts.records)
            raise SettingsError("kernel.guard", "settings", f"no plugin named {chosen!r}", hint)
        return chosen or self._table.guard

    # -- strings to objects ----------------------------------------------------------------------

    def resolve_model(self, model: Any) -> Any:
        """A chat model from a string, or the model itself.

        Raises:
            ModelSpecError: nobody can make a model from the string.
            ModelTypeError: it is neither a string nor a chat model.
        """
        with use_kernel(self):  # so that a profile's factory finds the settings of this agent
            return resolve_model(self, model)

    def model_facts(self, model: Any) -> ModelFacts:
        """What is known of a model, by its spec or itself; nothing where nobody knows it."""
        return facts_for(self, model)

    def resolve_backend(self, backend: str) -> BackendProtocol:
        """A backend from a string such as ``filesystem:./work``.

        Raises:
            BackendSpecError: unknown scheme, bad option, or a path that the backend refuses.
        """
        address = parse_backend(backend)
        schemes = self.backends
        if address.scheme in schemes:
            plugin, spec = schemes[address.scheme]
            return open_backend(address, spec, plugin)
        answer = self._parts.calls.first("deepagents_resolve_backend", {"spec": backend, "kernel": self})
        if answer is None:
            raise unknown_scheme(address, schemes)
        return checked_backend(answer.value, f"the answer of {answer.plugin} to {backend!r}")

    def default_backend(self) -> BackendProtocol:
        """The backend of an agent whose caller named none.

        Raises:
            BackendSpecError: the kernel has none, or its name leads nowhere.
        """
        spec = self.settings(KernelSettings).default_backend or self._table.default_backend
        if not spec:
            raise BackendSpecError("", "none was given, and this kernel has no default", "pass backend=")
        return self.resolve_backend(spec)

    @property
    def backends(self) -> Mapping[str, tuple[str, BackendSpec]]:
        """Scheme to the plugin that offers it and its spec."""
        with self._lock:
            if self._parts.backends is None:
                self._parts.backends = backend_table(self._parts.calls.collect("deepagents_backends"))
            return MappingProxyType(self._parts.backends)

    def counter(self, context: StackContext) -> TokenCounter:
        """What counts tokens for a stack: a plugin's counter, else an approximation that says so."""
        return counter_for(context)

    # -- plan and compile ------------------------------------------------------------------------

    def plan(self, request: AgentRequest) -> AgentPlan:
        """Decide what an agent is made of; nothing is compiled.

        Raises:
            PlanError: with every problem found.
            DeepAgentsError: a model, a backend or a setting can't be resolved, or a hook raised.
        """
        self.calls.observe("deepagents_agent_requested", {"request": request})
        plan = make_plan(self, request)
        self.calls.observe("deepagents_agent_planned", {"plan": plan})
        return plan

    def compile(self, plan: AgentPlan, *, eager: bool = False) -> Any:
        """The graph of a plan.

        Args:
            plan: made by :meth:`plan`; compiling it again makes another graph over the same middleware.
            eager: compile the graphs of children now instead of at their first use.

        Returns:
            A ``CompiledStateGraph`` with the run config bound to it.
        """
        graph = self.compile_stack(plan.main)
        if eager:
            for stack in plan.stacks():
                if stack is not plan.main:
                    stack.handle.graph()
        self._parts.calls.observe("deepagents_agent_compiled", {"graph": graph, "plan": plan})
        return graph

    def compile_stack(self, stack: StackPlan) -> Any:
        """The graph of one stack, compiled now."""
        settings = self.settings_of(stack)
        answer = self._parts.calls.first(
            "deepagents_compile", {"stack": stack, "kernel": self}, at=stack.path
        )
        graph = compile_with_langchain(stack) if answer is None else self._compiled(answer, stack.path)
        return graph.with_config(bound_config(stack, settings))

    @staticmethod
    def _compiled(answer: Contribution, path: str) -> Any:
        from langgraph.pregel import Pregel

        if isinstance(answer.value, Pregel):
            return answer.value
        reason = f"returned {type(answer.value).__name__}; a compiled graph is expected"
        raise HookError(answer.plugin, "deepagents_compile", path, reason)

    @staticmethod
    def settings_of(stack: StackPlan) -> KernelSettings:
        """The kernel's own settings as they apply to the agent of a stack."""
        return stack.context.settings(KernelSettings)

    def create_deep_agent(
        self, *arguments: Any, eager: bool = False, stacklevel: int = 2, **keywords: Any
    ) -> Any:
        """Plan and compile in one step; takes what ``deepagents_kernel.create_deep_agent`` takes.

        Args:
            *arguments: model and tools.
            eager: compile the graphs of children too.
            stacklevel: whose line a :class:`PlanWarning` names.
            **keywords: the rest.
        """
        plan = self.plan(make_request(*arguments, **keywords))
        report_warnings(plan.warnings, stacklevel)
        return self.compile(plan, eager=eager)

    def close(self) -> None:
        """Tell the plugins that the kernel is no longer used, last one first."""
        unconfigure(self, self._parts.calls)


def report_warnings(found: Iterable[Problem], stacklevel: int) -> None:
    """Warn about the doubtful parts of a plan, at the line of whoever asked for the agent."""
    for problem in found:
        _log.warning("plan_warning", stack=problem.stack, plugin=problem.plugin, text=problem.text)
        warnings.warn(problem.describe(), PlanWarning, stacklevel=stacklevel + 1)
