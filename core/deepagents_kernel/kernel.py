"""The kernel: the plugins that are in, and what can be asked of them together."""

from __future__ import annotations

import copy
import threading
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

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
from deepagents_kernel.errors import (
    BackendSpecError,
    HookError,
    ModelSpecError,
    ModelTypeError,
    PlanWarning,
    Problem,
    SettingsError,
    nearest_hint,
)
from deepagents_kernel.explain.tokens import TokenCounter, counter_for
from deepagents_kernel.log import get_logger
from deepagents_kernel.plugins.calls import HookCalls
from deepagents_kernel.plugins.loading import gather
from deepagents_kernel.plugins.registration import build_manager
from deepagents_kernel.plugins.settings import apply_settings, settings_classes
from deepagents_kernel.profiles.registry import ProfileRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.assembly.context import Contribution, StackContext
    from deepagents_kernel.assembly.plan import AgentPlan, StackPlan
    from deepagents_kernel.contracts.backend import BackendProtocol
    from deepagents_kernel.contracts.backend_spec import BackendSpec
    from deepagents_kernel.plugins.info import PluginRecord

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
        self._table = load_table() if builtins is None else builtins
        self._records = gather(plugins, self._table, disable)
        self._calls = HookCalls(build_manager(tuple(self._records.values())), self._records)
        self._classes = settings_classes(self._records.values(), KernelSettings)
        self._settings = self._applied({}, settings, "Kernel(settings=...)")
        self._profiles = ProfileRegistry()
        self._backends: dict[str, tuple[str, BackendSpec]] | None = None
        self._lock = threading.Lock()
        self._register_profiles()
        self._calls.collect("deepagents_configure", {"kernel": self})

    # -- what is in ------------------------------------------------------------------------------

    @property
    def plugins(self) -> tuple[PluginRecord, ...]:
        """Every plugin, in the order in which hooks ask them."""
        return tuple(self._records.values())

    @property
    def records(self) -> Mapping[str, PluginRecord]:
        """The same by name."""
        return self._records

    @property
    def builtin_names(self) -> frozenset[str]:
        """Names of the built-in plugins that are in."""
        return frozenset(record.name for record in self._records.values() if record.builtin)

    @property
    def table(self) -> BuiltinTable:
        """What the package of built-ins publishes."""
        return self._table

    @property
    def profiles(self) -> ProfileRegistry:
        """Provider and harness profiles of this kernel."""
        return self._profiles

    @property
    def calls(self) -> HookCalls:
        """The hooks of this kernel, callable with provenance."""
        return self._calls

    def hooks(self, hook: str, /, **arguments: Any) -> tuple[Contribution, ...]:
        """Call a hook, one that a plugin declared included; see ``StackContext.hooks``."""
        return self._calls(hook, arguments)

    # -- settings --------------------------------------------------------------------------------

    def settings(self, cls: type[SettingsT]) -> SettingsT:
        """Settings of a plugin, by the attrs class that it declares; defaults where nobody set a value."""
        found = self._settings.get(cls)
        return cls() if found is None else found

    @property
    def settings_by_class(self) -> Mapping[type, Any]:
        """The settings that somebody gave, by settings class."""
        return self._settings

    def configured(self, values: Mapping[str, Any] | None) -> Kernel:
        """The same kernel with an agent's own settings over its own; plugins and profiles are shared.

        Raises:
            SettingsError: a setting is unknown or has a bad value.
        """
        if not values:
            return self
        _ = self.backends  # collected now, so that every view shares them
        view = copy.copy(self)
        view._settings = self._applied(self._settings, values, "settings=")
        return view

    @property
    def guard_plugin(self) -> str:
        """Name of the plugin that may fill the guard segment; empty for none."""
        chosen = self.settings(KernelSettings).guard
        if chosen and chosen not in self._records:
            hint = nearest_hint(chosen, self._records)
            raise SettingsError("kernel.guard", "settings", f"no plugin named {chosen!r}", hint)
        return chosen or self._table.guard

    def _applied(self, base: Mapping[type, Any], values: Any, source: str) -> dict[type, Any]:
        return apply_settings(base, values, classes=self._classes, known=self._records, source=source)

    # -- strings to objects ----------------------------------------------------------------------

    def resolve_model(self, model: Any) -> Any:
        """A chat model from a string, or the model itself.

        Raises:
            ModelSpecError: nobody can make a model from the string.
            ModelTypeError: it is neither a string nor a chat model.
        """
        if isinstance(model, str):
            answer = self._calls.first("deepagents_resolve_model", {"spec": model, "kernel": self})
            if answer is None:
                hint = "enable a plugin that implements deepagents_resolve_model, or pass a chat model"
                raise ModelSpecError(model, "no plugin can make a model from it", hint)
            return self._chat_model(answer.value, model, f"plugin {answer.plugin}")
        return self._chat_model(model, "", "")

    @staticmethod
    def _chat_model(model: Any, spec: str, source: str) -> Any:
        from langchain_core.language_models import BaseChatModel

        from deepagents_kernel.models import unwrap_model

        if isinstance(unwrap_model(model), BaseChatModel):
            return model
        hint = "pass a chat model, or a string such as 'openai:gpt-5.4'"
        if source:
            raise ModelTypeError(spec, f"{source} answered with {type(model).__name__}, not a chat model")
        if model is None:
            raise ModelTypeError("", "no model was given", hint)
        raise ModelTypeError(repr(model)[:60], f"a {type(model).__name__} is not a chat model", hint)

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
        answer = self._calls.first("deepagents_resolve_backend", {"spec": backend, "kernel": self})
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
            if self._backends is None:
                self._backends = backend_table(self._calls.collect("deepagents_backends"))
            return self._backends

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
        return make_plan(self, request)

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
        self._calls.observe("deepagents_agent_compiled", {"graph": graph, "plan": plan})
        return graph

    def compile_stack(self, stack: StackPlan) -> Any:
        """The graph of one stack, compiled now."""
        settings = self.settings_of(stack)
        answer = self._calls.first("deepagents_compile", {"stack": stack, "kernel": self}, at=stack.path)
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
        self._calls.observe("deepagents_unconfigure", {"kernel": self}, newest_first=True)

    # -- profiles --------------------------------------------------------------------------------

    def _register_profiles(self) -> None:
        for hook, register in (
            ("deepagents_provider_profiles", self._profiles.register_provider),
            ("deepagents_harness_profiles", self._profiles.register_harness),
        ):
            for item in self._calls.collect(hook):
                if not isinstance(item.value, tuple) or len(item.value) != 2:
                    reason = f"returned {item.value!r:.60}; a list of (key, profile) pairs is expected"
                    raise HookError(item.plugin, hook, "", reason)
                register(*item.value)


def report_warnings(found: Iterable[Problem], stacklevel: int) -> None:
    """Warn about the doubtful parts of a plan, at the line of whoever asked for the agent."""
    for problem in found:
        _log.warning("plan_warning", stack=problem.stack, plugin=problem.plugin, text=problem.text)
        warnings.warn(problem.describe(), PlanWarning, stacklevel=stacklevel + 1)
