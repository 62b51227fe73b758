"""Construct the middleware of a stack: once for each entry that survived, never for one that did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from deepagents_kernel.assembly.problems import problems_of
from deepagents_kernel.errors import DeepAgentsError, PlanError, PlanTypeError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import Entry, StackPlan


# Raised with a text for the reader; of any other exception the type says as much as the text.
_SPOKEN = (DeepAgentsError, ValueError, NotImplementedError)


def realize(entries: Sequence[Entry], context: StackContext) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """The entries with an instance each; an entry that can't be built is left out, with a problem."""
    built: list[Entry] = []
    problems: list[Problem] = []
    for entry in entries:
        if entry.instance is not None:
            built.append(entry)
            continue
        made, found = _construct(entry, context)
        if not found and entry.origin == "replacement":
            # Taking over a slot goes past its owner like everything else that fills it.
            made, found = adopt(made, context)
        problems += found
        if not found:
            built.append(made)
    return tuple(built), tuple(problems)


def adopt(entry: Entry, context: StackContext) -> tuple[Entry, tuple[Problem, ...]]:
    """Let the owner of a slot look at the foreign middleware that fills it, once, in this stack."""
    if entry.instance is None or entry.spec is None or entry.spec.adopt is None:
        return entry, ()
    take = entry.spec.adopt
    adopted, found = _guarded(entry, context, "adopting", lambda: take(entry.instance, context))
    found = found or _not_itself(entry, context, "adopt", adopted)
    return (entry if found else evolve(entry, instance=adopted, cls=type(adopted))), found


def bind(entries: Sequence[Entry], stack: StackPlan) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """Let each slot's owner configure its final instance for the finished stack, on a copy."""
    bound: list[Entry] = []
    problems: list[Problem] = []
    for entry in entries:
        if entry.spec is None or entry.spec.bind is None:
            bound.append(entry)
            continue
        tie = entry.spec.bind
        instance, found = _guarded(
            entry, stack.context, "binding", lambda e=entry, t=tie: t(e.instance, stack)
        )
        found = found or _not_itself(entry, stack.context, "bind", instance)
        problems += found
        if not found:
            bound.append(entry.holding(instance))
    return tuple(bound), tuple(problems)


def _construct(entry: Entry, context: StackContext) -> tuple[Entry, tuple[Problem, ...]]:
    spec = entry.spec
    if spec is None:
        return entry, (Problem(f"{entry.name} has neither an instance nor a factory", entry=entry.name),)
    instance, found = _guarded(entry, context, "building", lambda: spec.factory(context))
    if found:
        return entry, found
    found = _not_itself(entry, context, "factory", instance)
    if not found and type(instance) is not entry.cls and not _variant(instance, entry.cls):
        made = type(instance).__name__
        text = f"the factory of {entry.name} returned a {made}; its spec says {entry.cls.__name__}"
        found = (Problem(text, context.path, entry.name, entry.plugin, error=PlanTypeError),)
    return (entry if found else entry.holding(instance, original=instance)), found


def _not_itself(entry: Entry, context: StackContext, function: str, instance: Any) -> tuple[Problem, ...]:
    """The problem of a function of a slot's owner that gave back something else than its middleware."""
    from langchain.agents.middleware import AgentMiddleware

    if not isinstance(instance, AgentMiddleware):
        text = f"{function} of {entry.name} returned {type(instance).__name__}, which is not a middleware"
    elif instance.name != entry.name:
        text = f"{function} of {entry.name} returned a middleware named {instance.name!r}"
    else:
        return ()
    hint = "return the instance" if instance is None else ""
    return (Problem(text, context.path, entry.name, entry.plugin, hint, error=PlanTypeError),)


def _variant(instance: Any, cls: type) -> bool:
    """Whether the instance is of a variant that the class made of itself, such as one with more hooks."""
    return isinstance(instance, cls) and getattr(type(instance), "variant_of", None) is cls


def _guarded(entry: Entry, context: StackContext, doing: str, call: Any) -> tuple[Any, tuple[Problem, ...]]:
    try:
        return call(), ()
    except PlanError as error:
        return None, problems_of(error, context.path, entry.plugin)
    except Exception as error:
        shown = str(error) if isinstance(error, _SPOKEN) else f"{type(error).__name__}: {error}"
        text = f"{doing} {entry.name} failed: {shown}"
        return None, (Problem(text, context.path, entry.name, entry.plugin, cause=error),)
