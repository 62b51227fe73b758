"""The outcome of planning: a tree of stacks, nothing compiled yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.handle import GraphHandle
    from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment
    from deepagents_kernel.errors import Problem
    from deepagents_kernel.plugins.info import PluginRecord

Origin = Literal["plugin", "replacement", "profile", "caller", "inherited"]


@frozen(eq=False)
class Entry:
    """A slot while planning, a row of the plan afterwards.

    Attributes:
        name: the middleware's ``.name``.
        slot: the name of the place; differs from ``name`` only after a takeover by ``replaces``.
        cls: class of the middleware that fills it.
        segment: where it stands.
        plugin: the plugin that owns the slot; empty for a middleware that only a caller or a profile named.
        spec: the owner's spec, ``None`` for novel middleware.
        origin: who filled it; ``replacement`` is a plugin that took over the slot of another.
        source: who filled it, in words for a reader: a plugin, a profile layer, the caller.
        instance: the middleware; ``None`` until it is constructed.
        original: the object as it was given, before ``adopt`` and ``bind``.
        replaced: what stood here before, in words; empty if nothing did.
        vacant: why the slot is empty; an empty string when it is filled.
        notes: annotations made by ``deepagents_plan_modify``.
    """

    name: str
    slot: str
    cls: type
    segment: Segment
    plugin: str = ""
    spec: MiddlewareSpec | None = None
    origin: Origin = "plugin"
    source: str = ""
    instance: Any = None
    original: Any = None
    replaced: str = ""
    vacant: str = ""
    notes: tuple[str, ...] = ()

    def holding(self, instance: Any, *, original: Any = None) -> Entry:
        """The entry with an instance in it.

        ``attrs.evolve`` would do; it takes ten times as long, and every entry of every plan comes by here.
        """
        return Entry(
            self.name,
            self.slot,
            self.cls,
            self.segment,
            self.plugin,
            self.spec,
            self.origin,
            self.source,
            instance,
            self.original if original is None else original,
            self.replaced,
            self.vacant,
            self.notes,
        )


@frozen
class Dropped:
    """An entry that the plan left out, and why."""

    name: str
    cls: type
    reason: str


@frozen(eq=False)
class StackPlan:
    """One planned stack.

    Attributes:
        context: what it was planned from.
        entries: its middleware, outermost first, all constructed.
        prompt: the final system prompt: a string, a ``SystemMessage``, or ``None`` for none at all.
        state_schema: base state schema.
        children: the stacks below.
        dropped: entries that were excluded.
        handle: compiles the stack once, when it is first used.
    """

    context: StackContext
    entries: tuple[Entry, ...]
    prompt: Any
    state_schema: type
    children: tuple[StackPlan, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    handle: GraphHandle = field(kw_only=True, repr=False)

    @property
    def name(self) -> str:
        """Name among its siblings."""
        return self.context.name

    @property
    def path(self) -> str:
        """Names from the top, joined by ``/``."""
        return self.context.path

    @property
    def middleware(self) -> list[Any]:
        """The instances, in order; a new list."""
        return [entry.instance for entry in self.entries]

    def child(self, name: str) -> StackPlan:
        """The child of that name; ``KeyError`` without one."""
        for child in self.children:
            if child.name == name:
                return child
        raise KeyError(name)

    def walk(self) -> Iterator[StackPlan]:
        """This stack and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()


@frozen(eq=False)
class AgentPlan:
    """Everything that will be compiled, and where each part came from.

    A plan owns its middleware: compiling it twice shares them.

    Attributes:
        main: the top stack.
        warnings: what is doubtful but usable.
        plugins: the plugins of the kernel that made the plan, by name.
    """

    main: StackPlan
    warnings: tuple[Problem, ...] = ()
    plugins: Mapping[str, PluginRecord] = field(factory=dict, repr=False)

    @property
    def fingerprint(self) -> str:
        """A digest that changes only when what the agent is made of changes."""
        from deepagents_kernel.explain.document import fingerprint

        return fingerprint(self)

    def stacks(self) -> Iterator[StackPlan]:
        """Every stack, depth first, the main one first."""
        return self.main.walk()

    def stack(self, path: str) -> StackPlan:
        """The stack at a path such as ``main/researcher``; ``KeyError`` without one."""
        for stack in self.stacks():
            if stack.path == path:
                return stack
        raise KeyError(path)

    def to_dict(self, *, tokens: bool = False) -> dict[str, Any]:
        """The plan as plain JSON data, with a stable layout.

        Args:
            tokens: count what prompt and tools of each stack cost; left out otherwise, since counting
                builds every tool schema.
        """
        from deepagents_kernel.explain.document import to_dict

        return to_dict(self, tokens=tokens)

    def render(self, *, tokens: bool = True) -> str:
        """The plan as text: for each entry its segment, class, origin, reason and cost."""
        from deepagents_kernel.explain.text import render

        return render(self, tokens=tokens)
