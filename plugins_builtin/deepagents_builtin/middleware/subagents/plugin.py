"""``middleware.subagents``: planned sub-agents and the ``task`` tool that starts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_builtin.middleware.subagents.settings import SubAgentSettings
from deepagents_builtin.middleware.subagents.spec_checks import (
    is_async,
    is_compiled,
    is_fork,
    is_sound,
    spec_problems,
    unknown_keys,
)
from deepagents_kernel.assembly.context import Contribution
from deepagents_kernel.assembly.specs import ChildStack, MiddlewareSpec, StackKind
from deepagents_kernel.errors import PlanError, Problem, UnsupportedPlanError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pluggy

    from deepagents_builtin.middleware.subagents.children import ChildHandle
    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import AgentPlan, StackPlan

PLUGIN = PluginInfo(
    summary="delegation: isolated sub-agents and the task tool",
    serves=("subagents",),
    settings=SubAgentSettings,
    scaffolding=True,
)

_NAME = "SubAgentMiddleware"
_GENERAL_PURPOSE = "general-purpose"


@hookimpl
def deepagents_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare ``deepagents_subagents``."""
    from deepagents_builtin.middleware.subagents import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@hookimpl
def deepagents_child_stacks(context: StackContext) -> list[ChildStack]:
    """The general-purpose stack and one for each declared spec; the specs are checked here."""
    if context.kind is not StackKind.MAIN:
        return []
    problems = [*spec_problems(_inline(context)), *_shipped_but_not_served(context)]
    if problems:
        raise PlanError(problems)
    if _replaced_by_caller(context):
        return []
    declared = [spec for spec in _specs(context) if not is_compiled(spec)]
    return [
        *_general_purpose(context),
        *(ChildStack(StackKind.SUBAGENT, spec["name"], spec) for spec in declared),
    ]


@hookimpl
def deepagents_middleware(context: StackContext) -> MiddlewareSpec | None:
    """The slot of the ``task`` tool, on the main stack."""
    if context.kind is not StackKind.MAIN:
        return None
    from deepagents_builtin.middleware.subagents.middleware import SubAgentMiddleware

    compiled = [spec for spec in _specs(context) if is_compiled(spec)]
    return MiddlewareSpec(
        _NAME,
        SubAgentMiddleware,
        _make,
        scaffolding=True,
        heritable=False,
        vacant=not context.children and not compiled,
        summary="the task tool: hands work to sub-agents",
        adopt=_adopt,
        bind=_bind,
    )


@hookimpl
def deepagents_plan_validate(plan: AgentPlan) -> Iterator[Problem]:
    """What is kept and has no effect: keys that mean nothing, shipped sub-agents that nothing can start."""
    context = plan.main.context
    sound = _sound(context)
    for item in sound:
        keys = unknown_keys(item.value)
        if keys:
            name = item.value["name"]
            yield Problem(
                f"subagent {name!r} has keys without a meaning here: {', '.join(keys)}",
                stack=f"{plan.main.path}/{name}",
                plugin=item.plugin,
                hint="they are kept and have no effect",
                severity="warning",
            )
    if _replaced_by_caller(context):
        for item in sound:
            if item.plugin:
                yield _displaced(item)


def _displaced(shipped: Contribution) -> Problem:
    return Problem(
        f"the sub-agent {shipped.value['name']!r} that {shipped.plugin} ships can't be started: the {_NAME} "
        "that was passed replaces the task tool",
        entry=_NAME,
        plugin=shipped.plugin,
        hint=f"pass sub-agents in subagents= instead of a {_NAME}, or disable {shipped.plugin}",
        severity="warning",
    )


def _make(context: StackContext) -> Any:
    from deepagents_builtin.middleware.subagents.middleware import SubAgentMiddleware

    # The children come with `bind`: their stacks don't exist yet, and a listing made now would be made twice.
    return SubAgentMiddleware.over(
        (),
        backend=context.backend,
        task_description=context.profile.profile.tool_description_overrides.get("task"),
        settings=context.settings(SubAgentSettings),
    )


def _adopt(middleware: Any, context: StackContext) -> Any:
    names = [str(spec["name"]) for spec in _specs(context, shipped=False)]
    if names:
        msg = (
            f"a {_NAME} was passed beside subagents=; it would replace the task tool, and "
            f"{', '.join(names)} could never be started. Pass all sub-agents in subagents=, or all to it"
        )
        raise ValueError(msg)
    return middleware


def _bind(middleware: Any, stack: StackPlan) -> Any:
    from deepagents_builtin.middleware.subagents.middleware import SubAgentMiddleware
    from deepagents_kernel.contracts.private_state import private_state_field_names

    if not isinstance(middleware, SubAgentMiddleware):
        return middleware
    schemas = [entry.instance.state_schema for entry in stack.entries]
    given = _replaced_by_caller(stack.context)
    return middleware.configured(
        children=None if given else {child.name: child for child in _children(stack.context, stack)},
        private_state_keys=private_state_field_names(stack.state_schema, *schemas),
        state_schemas=[*schemas, stack.state_schema],
    )


def _children(context: StackContext, stack: StackPlan) -> list[ChildHandle]:
    """The agents in the order of the listing: general-purpose, then as declared."""
    from deepagents_builtin.middleware.subagents.children import CompiledChild, PlannedChild

    planned = {child.name: child for child in stack.children}
    found: list[ChildHandle] = [
        PlannedChild(child.name, child.spec["description"], planned.get(child.name))
        for child in context.children
        if child.kind is StackKind.GENERAL_PURPOSE
    ]
    for spec in _specs(context):
        name = spec["name"]
        found.append(
            CompiledChild(spec)
            if is_compiled(spec)
            else PlannedChild(name, spec["description"], planned.get(name))
        )
    return found


def _general_purpose(context: StackContext) -> Iterator[ChildStack]:
    from deepagents_builtin.middleware.subagents.descriptions import GENERAL_PURPOSE_SUBAGENT

    changes = context.profile.profile.general_purpose_subagent
    if changes is not None and changes.enabled is False:
        return
    if any(spec["name"] == _GENERAL_PURPOSE for spec in _specs(context)):
        return
    spec = dict(GENERAL_PURPOSE_SUBAGENT)
    if changes is not None and changes.description is not None:
        spec["description"] = changes.description
    yield ChildStack(StackKind.GENERAL_PURPOSE, _GENERAL_PURPOSE, spec, inherit="slots", tools="rewritten")


def _inline(context: StackContext, *, shipped: bool = True) -> list[Contribution]:
    """The isolated specs in order, the caller's first; those of other features are not ours to judge."""

    def collect() -> list[Contribution]:
        given = [Contribution("", spec) for spec in context.request.subagents]
        found = [*given, *(context.hooks("deepagents_subagents", context=context) if shipped else ())]
        return [item for item in found if not is_async(item.value) and not is_fork(item.value)]

    return context.once((_NAME, "inline", context.path, shipped), collect)


def _specs(context: StackContext, *, shipped: bool = True) -> list[Any]:
    return [item.value for item in _sound(context, shipped=shipped)]


def _sound(context: StackContext, *, shipped: bool = True) -> list[Contribution]:
    """Those of :func:`_inline` that are not reported as problems already."""

    def judge() -> list[Contribution]:
        return [item for item in _inline(context, shipped=shipped) if is_sound(item.value)]

    return context.once((_NAME, "sound", context.path, shipped), judge)


def _shipped_but_not_served(context: StackContext) -> Iterator[Problem]:
    # What a caller asks for and nobody serves is refused by the kernel; it doesn't see what packages ship.
    for item in context.hooks("deepagents_subagents", context=context):
        if is_async(item.value) or is_fork(item.value):
            kind = "asynchronous" if is_async(item.value) else "fork"
            yield Problem(
                f"the {kind} sub-agent {item.value.get('name')!r} can't be shipped by a package",
                plugin=item.plugin,
                hint="ship isolated sub-agents, or let the user pass it in subagents=",
                error=UnsupportedPlanError,
            )


def _replaced_by_caller(context: StackContext) -> bool:
    """Whether the caller brought the middleware: then ours, and what it would start, is not there."""
    from langchain.agents.middleware import AgentMiddleware

    return any(isinstance(item, AgentMiddleware) and item.name == _NAME for item in context.middleware)
