"""Rules of planning that hold for any plugins, profile, caller and inheritance."""

from __future__ import annotations

import itertools

import pytest
import standins
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deepagents_kernel import HarnessProfile, PlanError, Segment
from deepagents_kernel.assembly.arrange import arrange
from deepagents_kernel.assembly.plan import Entry

SLOTS = "ABCDEFGH"
NOVEL = ("N1", "N2")  # what only a caller brings: user segment
EXTRA = ("X1", "X2")  # what only a profile brings: tail
GUARD = "middleware.guard"


# -- scenarios -----------------------------------------------------------------------------------


class Scenario:
    """Specs, a profile and a caller that fit together: no cycle, no contradiction between segments."""

    def __init__(self, draw, *, constraints=True):
        names = SLOTS[: draw(st.integers(1, len(SLOTS)))]
        segment = {name: draw(st.sampled_from([Segment.CORE, Segment.USER, Segment.TAIL])) for name in names}
        segment |= dict.fromkeys(NOVEL, Segment.USER) | dict.fromkeys(EXTRA, Segment.TAIL)
        # Constraints follow a hidden order, so that they can all be met.
        rank = {
            name: (segment[name], place) for place, name in enumerate(draw(st.permutations(list(segment))))
        }
        pairs = draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(list(segment))), max_size=5))
        self.wishes = sorted((one, other) for one, other in pairs if one != other) if constraints else []
        self.specs = {}
        for name in names:
            others = [other for one, other in self.wishes if one == name]
            self.specs[name] = tiny.slot(
                name,
                segment=segment[name],
                after=[other for other in others if rank[other] < rank[name]],
                before=[other for other in others if rank[other] > rank[name]],
                scaffolding=draw(st.booleans()),
                vacant=draw(st.booleans()),
                heritable=draw(st.booleans()),
            )
        self.segment = segment
        self.owner = {name: draw(st.sampled_from("abc")) for name in names}
        self.caller = draw(st.lists(st.sampled_from([*names, *NOVEL]), unique=True, max_size=4))
        self.extras = draw(st.lists(st.sampled_from([*names, *EXTRA]), unique=True, max_size=3))
        removable = [name for name in names if not self.specs[name].scaffolding]
        self.excluded = draw(st.sets(st.sampled_from(removable), max_size=2)) if removable else set()
        self.guard = draw(st.booleans())

    def plugins(self):
        return {
            f"middleware.{owner}": tiny.slots(
                *(spec for name, spec in self.specs.items() if self.owner[name] == owner)
            )
            for owner in sorted(set(self.owner.values()))
        }

    def plan(self, plugins):
        guard = tiny.slots(tiny.slot("Guard", segment=Segment.GUARD, vacant=not self.guard))
        kernel = tiny.kernel(
            plugins, builtins={GUARD: guard, "bundle.children": tiny.children()}, guard=GUARD
        )
        profile = HarnessProfile(
            extra_middleware=[standins.named(name, "Extra") for name in self.extras],
            excluded_middleware=self.excluded,
        )
        return kernel.plan(
            tiny.request(
                middleware=[standins.named(name) for name in self.caller],
                subagents=[{"name": "scout", "description": "Looks."}],
                profile=profile,
            )
        )

    def natural(self, stack):
        """The order without any constraint, by the rules of the documentation."""
        slots = sorted(self.specs, key=lambda name: self.owner[name])
        by_segment = {kind: [name for name in slots if self.segment[name] is kind] for kind in Segment}
        by_segment[Segment.USER] += [name for name in self.caller if name in NOVEL]
        by_segment[Segment.TAIL] = [
            *(name for name in self.extras if name in EXTRA), *by_segment[Segment.TAIL],
        ]  # fmt: skip
        present = tiny.order(stack)
        return [name for kind in Segment for name in by_segment[kind] if name in present]


@st.composite
def scenarios(draw, **options):
    return Scenario(draw, **options)


# -- rules ---------------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(scenarios())
def test_segments_never_mix_and_the_guard_is_last_and_single(scenario):
    for stack in scenario.plan(scenario.plugins()).stacks():
        segments = [entry.segment for entry in stack.entries]
        assert segments == sorted(segments)
        assert segments.count(Segment.GUARD) == scenario.guard
        assert tiny.order(stack).count("Guard") == scenario.guard
        assert len(set(tiny.order(stack))) == len(stack.entries)


@settings(max_examples=100, deadline=None)
@given(scenarios())
def test_scaffolding_is_present_wherever_its_slot_was_filled(scenario):
    plan = scenario.plan(scenario.plugins())
    for stack in plan.stacks():
        filled = {name for name, spec in scenario.specs.items() if not spec.vacant}
        if stack.context.profile.profile.extra_middleware:
            filled |= set(scenario.extras)
        if stack.context.kind == "main":
            filled |= set(scenario.caller)
        if stack.context.kind == "general-purpose":
            filled |= {name for name in scenario.caller if name in SLOTS and scenario.specs[name].heritable}
        scaffolding = {name for name, spec in scenario.specs.items() if spec.scaffolding}
        assert scaffolding & filled <= set(tiny.order(stack))
        assert not scaffolding - filled & set(tiny.order(stack))


@settings(max_examples=100, deadline=None)
@given(scenarios())
def test_what_a_caller_or_a_profile_brings_stands_where_it_belongs(scenario):
    plan = scenario.plan(scenario.plugins())
    gone = scenario.excluded
    main = {entry.name: entry for entry in plan.main.entries}
    for name in scenario.caller:
        if name not in gone:
            assert main[name].origin == "caller"
            assert main[name].segment is scenario.segment[name]
    child = {entry.name: entry for entry in plan.stack("main/general-purpose").entries}
    for name in scenario.caller:
        heritable = name in SLOTS and scenario.specs[name].heritable and name not in gone
        assert (name in child and child[name].origin == "inherited") == heritable
        if heritable:
            assert child[name].instance is main[name].instance
    assert not any(entry.origin in ("caller", "inherited") for entry in plan.stack("main/scout").entries)
    assert not gone & set(main)


@settings(max_examples=120, deadline=None)
@given(scenarios())
def test_every_constraint_between_present_names_holds(scenario):
    for stack in scenario.plan(scenario.plugins()).stacks():
        place = {name: number for number, name in enumerate(tiny.order(stack))}
        for name, spec in scenario.specs.items():
            for other in spec.after:
                assert name not in place or other not in place or place[other] < place[name]
            for other in spec.before:
                assert name not in place or other not in place or place[other] > place[name]


@settings(max_examples=120, deadline=None)
@given(scenarios())
def test_what_no_constraint_touches_keeps_its_order(scenario):
    for stack in scenario.plan(scenario.plugins()).stacks():
        present = [name for name in tiny.order(stack) if name != "Guard"]
        touched = {name for wish in scenario.wishes if set(wish) <= set(present) for name in wish}
        untouched = [name for name in present if name not in touched]
        assert untouched == [name for name in scenario.natural(stack) if name not in touched]


@settings(max_examples=80, deadline=None)
@given(scenarios(constraints=False))
def test_without_constraints_the_order_is_the_natural_one(scenario):
    for stack in scenario.plan(scenario.plugins()).stacks():
        assert [name for name in tiny.order(stack) if name != "Guard"] == scenario.natural(stack)


@pytest.mark.spec("BY-084")
@settings(max_examples=60, deadline=None)
@given(scenarios(), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_registration(scenario, random):
    plugins = list(scenario.plugins().items())
    expected = scenario.plan(plugins)
    random.shuffle(plugins)
    plan = scenario.plan(plugins)
    assert tiny.orders(plan) == tiny.orders(expected)
    assert plan.fingerprint == expected.fingerprint


@settings(max_examples=60, deadline=None)
@given(scenarios(), st.integers(2, 4))
def test_a_cycle_is_printed_and_leaves_the_kernel_usable(scenario, size):
    ring = [f"Ring{number}" for number in range(size)]
    on = {"now": True}

    def deepagents_middleware(context):
        names = zip(ring, [*ring[1:], ring[0]], strict=True)
        return [tiny.slot(one, after=other if on["now"] else ()) for one, other in names]

    plugins = {**scenario.plugins(), "bundle.ring": tiny.plugin(deepagents_middleware=deepagents_middleware)}
    kernel = tiny.kernel(plugins)
    with pytest.raises(PlanError) as caught:
        kernel.plan(tiny.request())
    [problem] = caught.value.problems
    assert problem.plugin == "bundle.ring"
    names = problem.text.rpartition(": ")[2].split(" -> ")
    assert names[0] == names[-1]
    assert sorted(names[1:]) == ring
    for earlier, later in itertools.pairwise(names):
        assert (ring.index(later) + 1) % size == ring.index(earlier)
    on["now"] = False
    assert set(ring) <= set(tiny.order(kernel.plan(tiny.request()).main))


# -- against a slow and obvious model ----------------------------------------------------------------


def repaired(order, wishes):
    """Every order in which moving one declarer after the other next to its target can end.

    A declarer that stands wrong is put directly behind the target of its ``after``, or directly ahead of
    that of its ``before``. Which one is moved first is left open; ``None`` when there are too many ways.
    """
    found, seen, todo = set(), set(), [tuple(order)]
    while todo:
        order = todo.pop()
        if order in seen:
            continue
        seen.add(order)
        if len(seen) > 200:
            return None
        wrong = [
            (name, other, word)
            for name, other, word in wishes
            if (order.index(other) < order.index(name)) != (word == "after")
        ]
        if not wrong:
            found.add(order)
        for name, other, word in wrong:
            rest = [item for item in order if item != name]
            rest.insert(rest.index(other) + (word == "after"), name)
            todo.append(tuple(rest))
    return found


@st.composite
def wish_lists(draw):
    names = SLOTS[: draw(st.integers(2, 6))]
    rank = {name: place for place, name in enumerate(draw(st.permutations(names)))}
    pairs = draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=5))
    wishes = [
        (one, other, "after" if rank[other] < rank[one] else "before")
        for one, other in sorted(pairs)
        if one != other
    ]
    return names, wishes


def arranged(names, wishes):
    entries = []
    for name in names:
        after = [other for one, other, word in wishes if one == name and word == "after"]
        before = [other for one, other, word in wishes if one == name and word == "before"]
        spec = tiny.slot(name, after=after, before=before)
        entries.append(Entry(name, name, spec.cls, spec.segment, spec=spec))
    ordered, problems = arrange(entries)
    assert problems == ()
    again, _ = arrange(ordered)
    assert again == ordered
    return tuple(entry.name for entry in ordered)


@settings(max_examples=400, deadline=None)
@given(wish_lists())
def test_arranging_equals_the_model_wherever_that_is_unambiguous(drawn):
    names, wishes = drawn
    found = repaired(names, wishes)
    assume(found is not None and len(found) == 1)
    # Whoever waits for something itself has no place yet that others could ask to stand ahead of.
    waiting = {one for one, _, word in wishes if word == "after"}
    assume(not any(word == "before" and other in waiting for _, other, word in wishes))
    assert arranged(names, wishes) == found.pop()


@pytest.mark.parametrize("word", ["after", "before"])
def test_one_declarer_moves_next_to_its_target_and_nobody_else_moves(word):
    for one, other in itertools.permutations("ABCDE", 2):
        rest = [name for name in "ABCDE" if name != one]
        fulfilled = ("ABCDE".index(other) < "ABCDE".index(one)) == (word == "after")
        rest.insert("ABCDE".index(one) if fulfilled else rest.index(other) + (word == "after"), one)
        assert arranged("ABCDE", [(one, other, word)]) == tuple(rest)
