"""The structure of one stack: which entries, in which order, before anything is constructed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.assembly.arrange import arrange
from deepagents_kernel.assembly.collect import collect_slots
from deepagents_kernel.assembly.draft import StackDraft
from deepagents_kernel.assembly.exclude import exclude
from deepagents_kernel.assembly.merge import Given, given, heritable_names, merge
from deepagents_kernel.assembly.realize import adopt
from deepagents_kernel.errors import PlanError, Problem, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deepagents_kernel.assembly.collect import Claim
    from deepagents_kernel.assembly.context import Contribution, StackContext
    from deepagents_kernel.assembly.plan import Dropped, Entry
    from deepagents_kernel.plugins.calls import HookCalls


@frozen(eq=False)
class Structure:
    """A stack as it will be built.

    Attributes:
        entries: the surviving entries, the guard last.
        dropped: what exclusions removed.
        hits: the profile's middleware exclusions that matched.
        names: every name that stood in the stack at some point, for near misses.
        claims: takeovers that plugins asked for, and whether their target is in this stack.
        ordered: whether every constraint could be met.
        problems: what is wrong with it.
    """

    entries: tuple[Entry, ...]
    dropped: tuple[Dropped, ...]
    hits: frozenset[Any]
    names: tuple[str, ...]
    claims: Mapping[Claim, bool]
    ordered: bool
    problems: tuple[Problem, ...]


@frozen(eq=False)
class Rules:
    """What the steps need to know about the kernel."""

    calls: HookCalls
    guard_plugin: str
    default_guard: str
    builtins: Collection[str]


def structure_stack(
    context: StackContext, contributions: Sequence[Contribution], rules: Rules, inherit: str
) -> Structure:
    """Collect, exclude, merge, exclude again, arrange, let plugins move entries, adopt.

    Args:
        context: the stack.
        contributions: what plugins answered to ``deepagents_middleware``, in their order.
        rules: facts about the kernel.
        inherit: how much of the parent's caller-given middleware is inherited: ``"none"``, ``"slots"`` or
            ``"all"``.
    """
    problems: list[Problem] = []
    slots = collect_slots(
        context,
        contributions,
        guard_plugin=rules.guard_plugin,
        default_guard=rules.default_guard,
        builtins=rules.builtins,
    )
    guard_name = slots.guard.name if slots.guard else ""
    problems += slots.problems
    entries = slots.entries
    # What can't be met is told even while the other slot is empty; the order is made of who is really there.
    _, conflicts = arrange(entries, guard_name)
    problems += conflicts
    heritable = heritable_names(entries) if inherit == "slots" else frozenset()
    by = f"profile {context.profile.label}"
    first = exclude(entries, context.profile.profile.excluded_middleware, by=by)
    items, strange = _given(context, context.parent, inherit, heritable, guard_name)
    problems += strange
    merged = merge(first.entries, items)
    second = exclude(
        [entry for entry in merged if not entry.vacant], context.profile.profile.excluded_middleware, by=by
    )
    kept = tuple(entry for entry in second.entries if not entry.vacant)
    kept, late = arrange(kept, guard_name)
    problems += [problem for problem in late if problem not in conflicts]
    kept, refused = _modified(context, kept, rules)
    problems += refused
    adopted = []
    for entry in kept:
        final, refusals = adopt(entry, context)
        problems += refusals
        adopted.append(final)
    problems += _missing_scaffolding(entries, adopted)
    guard, missing = _guard(slots.guard, context, rules.guard_plugin)
    problems += [*first.problems, *second.problems, *missing]
    return Structure(
        entries=(*adopted, *guard),
        dropped=(*first.dropped, *second.dropped),
        hits=first.hits | second.hits,
        names=tuple(dict.fromkeys([*(entry.name for entry in entries), *(item.name for item in items)])),
        claims=slots.claims,
        ordered=not (conflicts or late),
        problems=tuple(problem.at(context.path) for problem in problems),
    )


def _given(
    context: StackContext,
    parent: StackContext | None,
    inherit: str,
    heritable: Collection[str],
    guard_name: str,
) -> tuple[tuple[Given, ...], tuple[Problem, ...]]:
    inherited: tuple[Given, ...] = ()
    if parent is not None and inherit != "none":
        # Whatever is wrong with these was reported where they were given.
        inherited, _ = given(parent.middleware, "inherited", f"inherited from {parent.path}", guard_name)
        if inherit == "slots":
            inherited = tuple(item for item in inherited if item.name in heritable)
    where = "middleware=" if context.parent is None else f"middleware of sub-agent {context.name}"
    own, problems = given(context.middleware, "caller", where, guard_name)
    return (*inherited, *own), problems


def _modified(
    context: StackContext, entries: Sequence[Entry], rules: Rules
) -> tuple[tuple[Entry, ...], list[Problem]]:
    draft = StackDraft(context, tuple(entries))
    problems: list[Problem] = []
    before = sorted(draft.names)
    for plugin, call in rules.calls.each("deepagents_plan_modify"):
        try:
            call({"draft": draft}, at=context.path)
        except PlanError as error:
            problems += error.problems
        draft.sign_moves(plugin)
        if sorted(draft.names) != before:
            text = (
                "the entries of a draft were added to or removed from; they can only be moved and annotated"
            )
            problems.append(Problem(text, plugin=plugin, hint="give slots with deepagents_middleware"))
            return tuple(entries), problems
    return draft.entries, problems


def _missing_scaffolding(collected: Sequence[Entry], final: Sequence[Entry]) -> list[Problem]:
    """What must be there and is not, however it got lost: the final stack is what counts."""
    there = {entry.slot for entry in final}
    return [
        Problem(f"{entry.slot} is scaffolding and is not in the stack", entry=entry.slot, plugin=entry.plugin)
        for entry in collected
        if entry.spec is not None and entry.spec.scaffolding and not entry.vacant and entry.slot not in there
    ]


def _guard(
    guard: Entry | None, context: StackContext, guard_plugin: str
) -> tuple[tuple[Entry, ...], list[Problem]]:
    excluded = context.profile.profile.excluded_tools
    if guard is not None and not guard.vacant:
        return (guard,), []
    if not excluded:
        return (), []
    hint = f"enable the plugin {guard_plugin}" if guard_plugin else "this kernel has no guard plugin"
    names = ", ".join(sorted(excluded))
    text = f"profile {context.profile.label} excludes tools ({names}) and nothing fills the guard segment"
    return (), [Problem(text, plugin=guard_plugin, hint=hint)]


def unmet_claims(structures: Sequence[Structure]) -> list[Problem]:
    """Takeovers whose target stands in none of the stacks: a slip in the name, or a plugin that is off."""
    asked = {claim for structure in structures for claim in structure.claims}
    met = {claim for structure in structures for claim, here in structure.claims.items() if here}
    names = sorted({name for structure in structures for name in structure.names})
    return [
        Problem(
            f"{claim.name} replaces {claim.target}, and no plugin has a slot of that name",
            entry=claim.name,
            plugin=claim.plugin,
            hint=nearest_hint(claim.target, names) or "enable the plugin that has it, or drop replaces=",
        )
        for claim in sorted(asked - met, key=lambda claim: (claim.plugin, claim.target))
    ]
