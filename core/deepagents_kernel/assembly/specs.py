"""What plugins hand to the planner: middleware slots, child stacks, prompt parts.

Plain values. The planner reads them; nothing here runs while an agent runs, except the callables that
a spec carries (``factory``, ``adopt``, ``bind``), each of which the planner calls once for each stack, or
once for all stacks that are alike where the spec allows it (``shared``).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Literal

from attrs import Attribute, field, frozen, validators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import StackPlan

    # AgentMiddleware[Any, Any, Any] in full; spelt as Any here because importing LangChain costs a second.
    Middleware = Any


class Segment(enum.IntEnum):
    """The consecutive parts of a stack; entries never leave theirs."""

    CORE = 0
    USER = 1
    TAIL = 2
    GUARD = 3


class StackKind(enum.StrEnum):
    """What a stack is for."""

    MAIN = "main"
    GENERAL_PURPOSE = "general-purpose"
    SUBAGENT = "subagent"
    FORK = "fork"


def _names(value: Iterable[str] | str) -> tuple[str, ...]:
    # A bare string is the usual slip; taken letter by letter it would be a constraint on "F", "i", "l", ...
    names: tuple[Any, ...] = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            msg = f"expected names of middleware, got {name!r:.60}"
            raise TypeError(msg)
    return names


def _named(_instance: object, attribute: Attribute[str], value: object) -> None:
    if not isinstance(value, str) or not value:
        msg = f"{attribute.name} must be a name, not {value!r}"
        raise TypeError(msg)


_OPTIONAL_FUNCTION = validators.optional(validators.is_callable())


@frozen
class MiddlewareSpec:
    """A slot in a stack, and how to fill it.

    Attributes:
        name: the middleware's ``.name``; unique in a stack, and what callers replace it by.
        cls: the exact class that ``factory`` returns; class-form exclusions match it.
        factory: builds the instance; called once for each stack in which the slot survives (but see
            ``shared``).
        segment: where it stands; ``GUARD`` is accepted from the kernel's guard plugin only.
        after: names of middleware that must come earlier. This entry moves, not its target; a name that
            is not in the stack is ignored.
        before: names of middleware that must come later.
        scaffolding: may be replaced by name, never removed.
        vacant: the slot is there but empty; it is filled only if something of its name comes along.
        heritable: whether children that inherit slots take a caller's replacement of this one.
        aliases: ``"module:qualname"`` of classes that this one stands for in class-form exclusions.
        replaces: name of another plugin's slot that this entry takes over, in its place.
        shared: one instance may stand in several stacks that are alike: same model, profile, backend, tools
            and rules, same slots. Sub-agents that differ in name and prompt only are then built once. For
            that, give the same ``MiddlewareSpec`` object for each of them; say it only of middleware that
            keeps nothing of a run on itself, and whose factory and bind look at nothing else: they are called
            for the first of these stacks only.
        summary: one line for the plan.
        adopt: called by the slot's owner on whatever foreign middleware fills the slot, with the stack's
            context; returns the instance to install (a copy, if it has to change) or raises.
        bind: called with the final instance and the finished stack; returns a configured copy.
    """

    name: str = field(validator=_named)
    cls: type = field(validator=validators.instance_of(type))
    factory: Callable[[StackContext], Middleware] = field(validator=validators.is_callable())
    segment: Segment = field(default=Segment.CORE, converter=Segment, kw_only=True)
    after: tuple[str, ...] = field(default=(), converter=_names, kw_only=True)
    before: tuple[str, ...] = field(default=(), converter=_names, kw_only=True)
    scaffolding: bool = field(default=False, kw_only=True)
    vacant: bool = field(default=False, kw_only=True)
    heritable: bool = field(default=True, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), converter=_names, kw_only=True)
    shared: bool = field(default=False, kw_only=True)
    replaces: str = field(default="", validator=validators.instance_of(str), kw_only=True)
    summary: str = field(default="", kw_only=True)
    adopt: Callable[[Middleware, StackContext], Middleware] | None = field(
        default=None, validator=_OPTIONAL_FUNCTION, kw_only=True
    )
    bind: Callable[[Middleware, StackPlan], Middleware] | None = field(
        default=None, validator=_OPTIONAL_FUNCTION, kw_only=True
    )


@frozen
class ChildStack:
    """A stack that a plugin asks the planner to plan below the present one.

    Attributes:
        kind: general-purpose, subagent or fork.
        name: unique among its siblings; ``main/<name>`` is the path.
        spec: the sub-agent spec that it comes from; the planner reads ``model``, ``tools``,
            ``system_prompt``, ``middleware``, ``skills``, ``memory``, ``permissions``, ``interrupt_on`` and
            ``response_format`` from it and keeps the rest for the plugin.
        inherit: which of the parent's caller-given middleware the child takes: none, those that fill one of
            its own heritable slots, or all.
        tools: when the spec has no ``tools``: the parent's as the caller gave them (rewritten with the
            child's own profile), or rewritten with the parent's.
    """

    kind: StackKind = field(converter=StackKind)
    name: str = field(validator=_named)
    spec: Mapping[str, Any] = field(factory=dict)
    inherit: Literal["none", "slots", "all"] = field(
        default="none", validator=validators.in_(("none", "slots", "all"))
    )
    tools: Literal["raw", "rewritten"] = field(default="raw", validator=validators.in_(("raw", "rewritten")))


@frozen
class PromptPart:
    """Text that a plugin adds to the system prompt of a stack, once, when the plan is made.

    Attributes:
        text: what to add; an empty text adds nothing.
        slot: ``"base"`` stands behind the profile's base prompt, ``"suffix"`` behind the profile's suffix.
    """

    text: str = field(validator=validators.instance_of(str))
    slot: Literal["base", "suffix"] = field(default="suffix", validator=validators.in_(("base", "suffix")))
