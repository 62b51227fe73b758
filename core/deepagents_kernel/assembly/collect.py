"""Ask plugins and the profile for the slots of a stack, in natural order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from deepagents_kernel.assembly.plan import Entry
from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment
from deepagents_kernel.errors import DuplicateMiddlewareError, HookError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from deepagents_kernel.assembly.context import Contribution, StackContext
    from deepagents_kernel.assembly.plan import StackPlan

    Bind = Callable[[Any, StackPlan], Any]


@frozen
class Claim:
    """A plugin's wish to take over a slot by ``replaces``."""

    plugin: str
    name: str
    target: str


@frozen(eq=False)
class Slots:
    """What was collected for one stack.

    Attributes:
        entries: core, user and tail slots in natural order.
        guard: the guard's slot, if the guard plugin gave one; vacant when it has nothing to do.
        claims: names that a takeover was asked for, and whether a slot of that name is here.
        problems: what is wrong with what was given.
    """

    entries: tuple[Entry, ...]
    guard: Entry | None
    claims: Mapping[Claim, bool]
    problems: tuple[Problem, ...]


def collect_slots(
    context: StackContext,
    contributions: Sequence[Contribution],
    *,
    guard_plugin: str,
    default_guard: str,
    builtins: Collection[str],
) -> Slots:
    """The slots that plugins and profile give to a stack.

    Args:
        context: the stack.
        contributions: results of ``deepagents_middleware``, in plugin order.
        guard_plugin: the only plugin that may fill the guard segment.
        default_guard: the plugin that fills it where nobody chose another; it steps aside for a chosen one.
        builtins: names of built-in plugins; in the tail they come behind third parties, so that what must see
            the final request (caching, content filters) does.
    """
    slots = [_slot(item, context) for item in contributions]
    guards = [entry for entry in slots if entry.segment is Segment.GUARD]
    guard = next((entry for entry in guards if entry.plugin == guard_plugin), None)
    others = [entry for entry in guards if entry is not guard]
    if guard_plugin != default_guard:
        others = [entry for entry in others if entry.plugin != default_guard]
    problems = [_guard_claim(entry, guard, guard_plugin) for entry in others]
    others = [entry for entry in slots if entry.segment is not Segment.GUARD]
    if guard is not None:
        problems += [_reserved(entry) for entry in others if entry.name == guard.name]
        others = [entry for entry in others if entry.name != guard.name]
    others, claims, found = _take_over(others)
    problems += found
    others, found = _unique(others)
    problems += found
    extras, found = _profile_extras(context, guard)
    problems += found
    entries = _with_extras(others, extras, builtins)
    return Slots(entries, guard, claims, tuple(problem.at(context.path) for problem in problems))


def _slot(item: Contribution, context: StackContext) -> Entry:
    spec = item.value
    if not isinstance(spec, MiddlewareSpec):
        reason = f"returned {type(spec).__name__}; a MiddlewareSpec is expected"
        raise HookError(item.plugin, "deepagents_middleware", context.path, reason)
    return Entry(
        name=spec.name,
        slot=spec.name,
        cls=spec.cls,
        segment=spec.segment,
        plugin=item.plugin,
        spec=spec,
        source=f"plugin {item.plugin}",
        vacant="nothing to fill it" if spec.vacant else "",
    )


def _guard_claim(entry: Entry, guard: Entry | None, guard_plugin: str) -> Problem:
    who = f"only {guard_plugin} may fill it" if guard_plugin else "this kernel has no guard plugin"
    if guard is not None and entry.plugin == guard_plugin:
        who = f"it has room for one entry, and that is {guard.name}"
    return Problem(
        f"{entry.name} claims the guard segment; {who}",
        entry=entry.name,
        plugin=entry.plugin,
        hint='use segment=TAIL, or name the plugin as the guard with settings={"kernel": {"guard": ...}}',
    )


def _reserved(entry: Entry) -> Problem:
    return Problem(
        f"{entry.name} is the guard's name",
        entry=entry.name,
        plugin=entry.plugin,
        hint="give the middleware a name of its own",
    )


def _take_over(slots: Sequence[Entry]) -> tuple[list[Entry], dict[Claim, bool], list[Problem]]:
    """Let claimants (``replaces=NAME``) stand in the slots that they take over.

    A claimant stands nowhere else: where there is no such slot (a child stack has fewer than the main one)
    there is nothing to take over. A vacant one claims nothing.
    """
    owned = {entry.name for entry in slots if not _target(entry)}
    claimants: dict[str, list[Entry]] = {}
    claims: dict[Claim, bool] = {}
    for entry in slots:
        target = _target(entry)
        if target:
            claims[Claim(entry.plugin, entry.name, target)] = target in owned
            if not entry.vacant:
                claimants.setdefault(target, []).append(entry)
    problems = [_two_claimants(name, found) for name, found in claimants.items() if len(found) > 1]
    problems += [problem for entry in slots for problem in _useless_wishes(entry)]
    kept = [entry for entry in slots if not _target(entry)]
    taken = [_claimed(slot, claimants[slot.name][0]) if slot.name in claimants else slot for slot in kept]
    return taken, claims, problems


def _target(entry: Entry) -> str:
    return entry.spec.replaces if entry.spec is not None else ""


def _useless_wishes(entry: Entry) -> list[Problem]:
    """What a claimant can't ask for: the place, and what belongs to it, are the owner's."""
    spec = entry.spec
    if spec is None or not spec.replaces:
        return []
    asked = [name for name in ("after", "before", "adopt", "scaffolding") if getattr(spec, name)]
    wishes = ", ".join(asked)
    text = f"{entry.name} replaces {spec.replaces} and asks for {wishes}, which the slot's owner decides"
    return (
        [Problem(text, entry=entry.name, plugin=entry.plugin, hint="drop what it asks for")] if asked else []
    )


def _claimed(slot: Entry, claimant: Entry) -> Entry:
    # The owner's spec stays: its constraints, adopt and bind are what makes the place what it is.
    owner, spec = slot.spec, claimant.spec
    assert owner is not None  # noqa: S101 - what plugins give has a spec
    assert spec is not None  # noqa: S101
    merged = evolve(
        owner,
        factory=spec.factory,
        aliases=spec.aliases,
        summary=spec.summary,
        bind=_bound(owner, spec),
        # Two have to agree: the owner's bind and the claimant's middleware.
        shared=owner.shared and spec.shared,
    )
    return evolve(
        slot,
        name=claimant.name,
        cls=claimant.cls,
        spec=merged,
        source=claimant.source,
        replaced=slot.source,
        vacant="",
        origin="replacement",
    )


def _bound(owner: MiddlewareSpec, claimant: MiddlewareSpec) -> Bind | None:
    """First the owner's ``bind``, which knows the slot, then the claimant's, which knows the middleware."""
    first, second = owner.bind, claimant.bind
    if first is None or second is None:
        return first or second
    return lambda middleware, stack: second(first(middleware, stack), stack)


def _two_claimants(name: str, claimants: Sequence[Entry]) -> Problem:
    plugins = sorted(entry.plugin for entry in claimants)
    return Problem(
        f"{' and '.join(plugins)} both replace {name}",
        entry=name,
        plugin=", ".join(plugins),
        hint="disable one of them",
    )


def _unique(slots: Sequence[Entry]) -> tuple[list[Entry], list[Problem]]:
    seen: dict[str, Entry] = {}
    problems = []
    for entry in slots:
        other = seen.setdefault(entry.name, entry)
        if other is not entry:
            problems.append(
                Problem(
                    f"{other.plugin} and {entry.plugin} both have a slot named {entry.name}",
                    entry=entry.name,
                    plugin=entry.plugin,
                    hint=f"declare replaces={entry.name!r} to take the other's place, or use another name",
                    error=DuplicateMiddlewareError,
                )
            )
    return list(seen.values()), problems


def _profile_extras(context: StackContext, guard: Entry | None) -> tuple[list[Entry], list[Problem]]:
    """The profile's own middleware, materialised once for this stack."""
    from langchain.agents.middleware import AgentMiddleware

    ref = context.profile
    layer = f"profile {' + '.join(ref.layers) or ref.key}"
    entries: dict[str, Entry] = {}
    problems = []
    try:
        extras = ref.profile.materialize_extra_middleware()
    except Exception as error:
        text = f"extra_middleware of {layer} failed: {type(error).__name__}: {error}"
        return [], [Problem(text, cause=error)]
    for middleware in extras:
        name = getattr(middleware, "name", None)
        if not isinstance(middleware, AgentMiddleware) or not isinstance(name, str) or not name:
            problems.append(not_middleware(middleware, f"extra_middleware of {layer}"))
            continue
        if name in entries:
            text = f"extra_middleware of {layer} has two middleware named {name}"
            problems.append(Problem(text, entry=name, error=DuplicateMiddlewareError))
        elif guard is not None and name == guard.name:
            problems.append(
                Problem(f"{name} is the guard's name, in extra_middleware of {layer}", entry=name)
            )
        else:
            entries[name] = given_entry(middleware, name, Segment.TAIL, "profile", layer)
    return list(entries.values()), problems


def given_entry(middleware: Any, name: str, segment: Segment, origin: Any, source: str) -> Entry:
    """An entry for a middleware that somebody passed as an object."""
    return Entry(
        name=name,
        slot=name,
        cls=type(middleware),
        segment=segment,
        origin=origin,
        source=source,
        instance=middleware,
        original=middleware,
    )


def not_middleware(value: Any, where: str) -> Problem:
    """The problem with something that is not a middleware instance."""
    from deepagents_kernel.errors import PlanTypeError

    if isinstance(value, type):
        text = f"{where} has the class {value.__name__} where an instance belongs"
        return Problem(text, hint=f"write {value.__name__}(...)", error=PlanTypeError)
    return Problem(f"{where} has {value!r:.80}, which is not a middleware", error=PlanTypeError)


def _with_extras(
    slots: Sequence[Entry], extras: Sequence[Entry], builtins: Collection[str]
) -> tuple[Entry, ...]:
    """Extras fill a slot of their name, else open the tail; third-party tail slots follow them."""
    by_name = {entry.name: entry for entry in extras}
    filled = [fill(entry, by_name.pop(entry.slot)) if entry.slot in by_name else entry for entry in slots]
    tail = [entry for entry in filled if entry.segment is Segment.TAIL]
    return (
        *(entry for entry in filled if entry.segment is Segment.CORE),
        *(entry for entry in filled if entry.segment is Segment.USER),
        *by_name.values(),
        *(entry for entry in tail if entry.plugin not in builtins),
        *(entry for entry in tail if entry.plugin in builtins),
    )


def fill(slot: Entry, given: Entry) -> Entry:
    """The slot with another middleware in it."""
    return evolve(
        slot,
        name=given.name,
        cls=given.cls,
        origin=given.origin,
        source=given.source,
        instance=given.instance,
        original=given.original,
        replaced="" if slot.vacant else slot.source,
        vacant="",
    )
