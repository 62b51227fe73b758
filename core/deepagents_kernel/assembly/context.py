"""What a plugin is told about the stack being planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from deepagents_kernel.assembly.request import AgentRequest
    from deepagents_kernel.assembly.specs import ChildStack, StackKind
    from deepagents_kernel.contracts.backend import BackendProtocol
    from deepagents_kernel.plugins.calls import HookCalls
    from deepagents_kernel.profiles.lookup import ProfileRef

SettingsT = TypeVar("SettingsT")
SharedT = TypeVar("SharedT")


@frozen
class Contribution:
    """One record from one hook implementation, with the plugin that it came from."""

    plugin: str
    value: Any


@frozen(eq=False)
class StackContext:
    """One stack while it is planned; immutable, made anew for each stack.

    Attributes:
        kind: what the stack is for.
        name: its name among its siblings; ``main`` for the top one.
        path: names from the top, joined by ``/``.
        request: everything that the caller asked for.
        parent: the context of the stack above, ``None`` for the main one.
        spec: the sub-agent spec that the stack comes from; empty for the main one.
        model: the chat model.
        model_spec: the string it was made from, or an empty string when an instance was given.
        profile: the harness profile that applies.
        registry_profile: the same without a ``profile=`` given for this one agent; what children start from.
        backend: where the files live.
        tools: those of the caller and of ``deepagents_tools``, descriptions rewritten; not middleware's own.
        raw_tools: the caller's tools as they were given; what children inherit.
        middleware: the caller's middleware for this stack, as given.
        children: the stacks below, requested but not planned.
        skills, memory, permissions, interrupt_on: as they apply to this stack; ``None`` means not given.
        response_format: structured output of this stack's agent.
    """

    kind: StackKind
    name: str
    path: str
    request: AgentRequest
    model: Any
    profile: ProfileRef
    registry_profile: ProfileRef
    backend: BackendProtocol
    parent: StackContext | None = None
    spec: Mapping[str, Any] = field(factory=dict)
    model_spec: str = ""
    tools: tuple[Any, ...] = ()
    raw_tools: tuple[Any, ...] = ()
    middleware: tuple[Any, ...] = ()
    children: tuple[ChildStack, ...] = ()
    skills: tuple[str, ...] | None = None
    memory: tuple[str, ...] | None = None
    permissions: tuple[Any, ...] | None = None
    interrupt_on: Mapping[str, Any] | None = None
    response_format: Any = None
    _call: HookCalls = field(kw_only=True, repr=False)
    _settings: Mapping[type, Any] = field(factory=dict, kw_only=True, repr=False)
    _shared: dict[Any, Any] = field(factory=dict, kw_only=True, repr=False)

    def hooks(self, hook: str, /, **arguments: Any) -> tuple[Contribution, ...]:
        """Call a hook of this kernel, one that a plugin declared included.

        Args:
            hook: its name.
            **arguments: what the specification of the hook names.

        Returns:
            Every record with its plugin, in plugin order; of a ``firstresult`` hook the first answer.

        Raises:
            HookError: an implementation raised; plugin, hook and stack are named.
            PluginError: no plugin declares the hook.
        """
        return self._call(hook, arguments, at=self.path)

    def implementers(self, hook: str) -> tuple[str, ...]:
        """Names of the plugins that implement a hook; asking a hook that nobody implements can be spared."""
        return self._call.providers(hook)

    def once(self, key: Hashable, make: Callable[[], SharedT]) -> SharedT:
        """A value that the stacks of this agent share: made when a stack first asks for it.

        For what is the same in many stacks and costly to find out. It must not be changed afterwards.

        Args:
            key: everything that the value depends on, the name of the plugin first.
            make: makes it.
        """
        if key not in self._shared:
            self._shared[key] = make()
        value: SharedT = self._shared[key]
        return value

    def settings(self, cls: type[SettingsT]) -> SettingsT:
        """The settings of a plugin, by the attrs class that it declares in its ``PluginInfo``.

        The same in every stack of an agent. Defaults apply where nobody set a value.
        """
        found = self._settings.get(cls)
        return self.once(("settings", cls), cls) if found is None else found
