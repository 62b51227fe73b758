"""What users get wrong, and plugin authors with their slots: errors say what, where and the way out."""

from __future__ import annotations

import pytest
import standins
import tiny
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool

from deepagents_kernel import HarnessProfile, PlanError, Segment
from deepagents_kernel.errors import (
    DuplicateMiddlewareError,
    ModelSpecError,
    ModelTypeError,
    PlanTypeError,
)
from deepagents_kernel.testing import ScriptedChatModel

GUARD = {"middleware.guard": tiny.slots(tiny.slot("Guard", segment=Segment.GUARD))}


def refused(plugins=(), *, builtins=None, guard="", kind=PlanError, **request):
    """The error of a plan."""
    kernel = tiny.kernel(plugins, builtins=builtins, guard=guard)
    with pytest.raises(kind) as caught:
        kernel.plan(tiny.request(**request))
    return caught.value


def mentions(error, *facts):
    [problem] = error.problems
    text = problem.describe()
    for fact in facts:
        assert fact in text
    return problem


# -- constraints, segments, the guard --------------------------------------------------------------


def test_a_cycle_is_printed_once_for_each_stack_with_every_plugin_on_it():
    plugins = {
        "middleware.a": tiny.slots(tiny.slot("A", after="C"), kinds="main"),
        "middleware.b": tiny.slots(tiny.slot("B", after="A"), kinds="main"),
        "middleware.c": tiny.slots(tiny.slot("C", after="B"), kinds="main"),
    }
    problem = mentions(refused(plugins), "A -> B -> C -> A", "after=", "stack main")
    assert problem.plugin == "middleware.a, middleware.b, middleware.c"


@pytest.mark.parametrize("word", ["after", "before"])
def test_a_constraint_across_segments_names_both_segments(word):
    there = Segment.TAIL if word == "after" else Segment.CORE
    specs = tiny.slot("A", segment=Segment.USER, **{word: "B"}), tiny.slot("B", segment=there)
    facts = ("A", f"come {word} B", "segment user", there.name.lower(), there.name, "middleware.x")
    mentions(refused({"middleware.x": tiny.slots(*specs)}), *facts)


def test_contradictions_with_an_empty_slot_and_with_a_callers_middleware_are_found_too():
    specs = tiny.slot("A", after="B"), tiny.slot("B", segment=Segment.TAIL, vacant=True)
    mentions(refused({"middleware.x": tiny.slots(*specs)}), "come after B")
    plugins = {"middleware.x": tiny.slots(tiny.slot("A", after="Mine"))}
    mentions(refused(plugins, middleware=[standins.make("Mine")]), "come after Mine", "segment user")


def test_a_constraint_on_a_callers_middleware_is_met_and_on_an_absent_one_ignored():
    specs = [
        tiny.slot("A", segment=Segment.USER, after="Mine"),
        tiny.slot("B", segment=Segment.USER),
        tiny.slot("C", segment=Segment.USER, after="Empty"),
        tiny.slot("D", segment=Segment.USER),
        tiny.slot("Empty", segment=Segment.USER, vacant=True),
    ]
    kernel = tiny.kernel({"middleware.x": tiny.slots(*specs)})
    found = kernel.plan(tiny.request(middleware=[standins.make("Mine"), standins.make("Other")]))
    assert tiny.order(found.main) == ["B", "C", "D", "Mine", "A", "Other"]
    assert tiny.order(kernel.plan(tiny.request()).main) == ["A", "B", "C", "D"]
    filled = kernel.plan(tiny.request(middleware=[standins.named("Empty")]))
    assert tiny.order(filled.main) == ["A", "B", "D", "Empty", "C"]


def test_only_the_guard_plugin_fills_the_guard_segment():
    plugins = {"middleware.x": tiny.slots(tiny.slot("A", segment=Segment.GUARD))}
    mentions(refused(plugins), "A claims the guard", "no guard plugin", "middleware.x")
    error = refused(plugins, builtins=GUARD, guard="middleware.guard")
    mentions(error, "A claims the guard", "only middleware.guard", "TAIL")
    two = {"middleware.guard": tiny.slots(*(tiny.slot(name, segment=Segment.GUARD) for name in ("G1", "G2")))}
    mentions(refused(builtins=two, guard="middleware.guard"), "G2", "room for one", "G1")


def test_nobody_else_may_have_the_guards_name_or_come_after_it():
    options = {"builtins": GUARD, "guard": "middleware.guard"}
    mentions(
        refused({"middleware.x": tiny.slots(tiny.slot("Guard"))}, **options), "guard's name", "middleware.x"
    )
    mentions(refused(middleware=[standins.make("Guard")], **options), "guard's name", "middleware=")
    profile = HarnessProfile(extra_middleware=[standins.make("Guard")])
    mentions(refused(profile=profile, **options), "guard's name", "extra_middleware", "profile=")
    late = {"middleware.x": tiny.slots(tiny.slot("A", segment=Segment.TAIL, after="Guard"))}
    mentions(refused(late, **options), "after the guard", "drop after=")
    moves = tiny.plugin(deepagents_plan_modify=lambda draft: draft.move("Guard", before="A"))
    plugins = {"middleware.a": tiny.slots(tiny.slot("A")), "middleware.x": moves}
    mentions(refused(plugins, **options), "'Guard'", "middleware.x")


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.spec("ASM-012", "ASM-013")
def test_the_last_of_one_name_fills_a_slot_and_two_new_ones_are_refused():
    kernel = tiny.kernel({"middleware.a": tiny.slots(tiny.slot("A"))})
    first, last = standins.named("A"), standins.named("A")
    plan = kernel.plan(tiny.request(middleware=[first, last]))
    assert [entry.instance for entry in plan.main.entries] == [last]
    for kind in (DuplicateMiddlewareError, AssertionError, ValueError):
        error = refused(middleware=[standins.make("Mine"), standins.make("Mine")], kind=kind)
        mentions(error, "Mine", "middleware=", "stack main")


def test_two_plugins_with_one_slot_are_named_both():
    plugins = {f"middleware.{name}": tiny.slots(tiny.slot("A")) for name in "xy"}
    mentions(refused(plugins, kind=DuplicateMiddlewareError), "middleware.x", "middleware.y", "replaces='A'")
    claims = {
        "middleware.a": tiny.slots(tiny.slot("A")),
        **{f"middleware.{name}": tiny.slots(tiny.slot(name.upper(), replaces="A")) for name in "xy"},
    }
    mentions(refused(claims), "middleware.x and middleware.y", "replace A", "disable")


class Unstable(AgentMiddleware):
    def __init__(self):
        self.asked = 0

    @property
    def name(self):
        self.asked += 1
        return f"Unstable{self.asked}"


class Broken(AgentMiddleware):
    @property
    def name(self):
        raise LookupError("no name today")


def test_a_name_must_be_a_stable_string():
    mentions(refused(middleware=[Unstable()]), "'Unstable1'", "'Unstable2'", "must not change")
    mentions(refused(middleware=[Broken()]), "Broken.name", "LookupError: no name today")
    for name in (3, None, ""):
        middleware = type("Odd", (AgentMiddleware,), {"name": name})()
        mentions(refused(middleware=[middleware], kind=PlanTypeError), "Odd.name", repr(name))


@pytest.mark.parametrize("name", ["a|b", "a:b"])
def test_a_name_that_no_graph_node_can_have_is_refused_where_it_becomes_one(name):
    class Node(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            return None

    Node.name = name
    mentions(refused(middleware=[Node()]), repr(name), "graph node")
    plain = type("Plain", (AgentMiddleware,), {"name": name})()
    assert tiny.order(tiny.kernel().plan(tiny.request(middleware=[plain])).main) == [name]


# -- exclusions ------------------------------------------------------------------------------------


@pytest.mark.spec("EXC-031")
def test_every_exclusion_that_matches_nothing_is_named_with_the_nearest():
    profile = HarnessProfile(excluded_middleware=["Adit", tiny.middleware_class("Gone")])
    error = refused({"middleware.a": tiny.slots(tiny.slot("Audit"))}, profile=profile, kind=ValueError)
    one, other = error.problems
    assert "'Adit'" in one.text
    assert "main" in one.text
    assert "nearest: Audit" in one.hint
    assert "Gone" in other.text
    assert "profile=" in other.text


@pytest.mark.spec("EXC-030")
def test_one_name_that_removes_several_classes_is_refused():
    profile = HarnessProfile(excluded_middleware=["Mine"])
    middleware = [standins.named("Mine", "One"), standins.named("Mine", "Two")]
    error = refused(middleware=middleware, profile=profile)
    text = str(error)
    for fact in ("'Mine'", "One", "Two", "class"):
        assert fact in text


def test_scaffolding_is_never_removed():
    plugins = {"middleware.a": tiny.slots(tiny.slot("A", scaffolding=True))}
    error = refused(plugins, profile=HarnessProfile(excluded_middleware=["A"]))
    for fact in ("scaffolding", "replaced", "excluded_tools", "profile="):
        assert fact in str(error)
    assert {problem.plugin for problem in error.problems} == {"middleware.a"}


@pytest.mark.spec("ASM-037", "ASM-038")
def test_extra_middleware_is_shared_as_a_list_and_made_for_each_stack_by_a_factory():
    made = []

    def factory():
        made.append(standins.make("Extra"))
        return [made[-1]]

    gone = {"name": "scout", "description": "Looks."}
    kernel = tiny.kernel({"bundle.children": tiny.children()})
    kernel.profiles.register_harness("scripted", HarnessProfile(extra_middleware=factory))
    model = ScriptedChatModel(["done"], provider="scripted")
    plan = kernel.plan(tiny.request(model, subagents=[gone]))
    assert [stack.entries[0].instance for stack in plan.stacks()] == made
    assert len({id(item) for item in made}) == len(made) == 3

    made.clear()
    alone = tiny.kernel({"bundle.children": tiny.children(general_purpose=False)})
    alone.plan(tiny.request(profile=HarnessProfile(extra_middleware=factory)))
    assert len(made) == 1

    shared = standins.make("Extra")
    plan = kernel.plan(tiny.request(profile=HarnessProfile(extra_middleware=[shared])))
    assert [stack.entries[0].instance for stack in plan.stacks()] == [shared, shared]


def test_extra_middleware_that_fails_names_the_profile():
    error = refused(profile=HarnessProfile(extra_middleware=lambda: 1 / 0))
    mentions(error, "extra_middleware", "profile=", "ZeroDivisionError")
    assert isinstance(error.__cause__, ZeroDivisionError)
    strange = HarnessProfile(extra_middleware=lambda: [object()])
    mentions(refused(profile=strange, kind=PlanTypeError), "extra_middleware", "not a middleware")


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("system_prompt", 3),
        ("system_prompt", ["text"]),
        ("middleware", "x"),
        ("middleware", {"a": 1}),
        ("middleware", 3),
        ("tools", "x"),
        ("tools", 3),
        ("subagents", {"name": "x"}),
        ("skills", "/skills"),
        ("interrupt_on", ["execute"]),
        ("name", 3),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_by_its_name(argument, value):
    with pytest.raises(PlanTypeError) as caught:
        tiny.request(**{argument: value})
    assert isinstance(caught.value, TypeError)
    assert f"{argument}=" in str(caught.value)
    assert type(value).__name__ in str(caught.value)


def test_middleware_that_is_none_or_a_class_is_named():
    class Mine(AgentMiddleware):
        """A middleware."""

    mentions(refused(middleware=[Mine], kind=PlanTypeError), "class Mine", "Mine(...)", "middleware=")
    mentions(refused(middleware=["x"], kind=PlanTypeError), "'x'", "not a middleware")


def undocumented(x: int) -> int:
    return x


def test_what_cannot_be_a_tool_is_named():
    error = refused(tools=[3, undocumented, {"description": "x"}, int])
    texts = [problem.text for problem in error.problems]
    for text, fact in zip(
        texts, ("has 3", "undocumented", "{'description': 'x'}", "<class 'int'>"), strict=True
    ):
        assert fact in text
        assert "tools=" in text
    assert "docstring" in texts[1]


@pytest.mark.parametrize("tools", [None, "ls", 3, iter(())])
def test_tools_of_a_middleware_that_are_no_sequence_are_named(tools):
    middleware = type("Mine", (AgentMiddleware,), {"tools": tools})()
    mentions(refused(middleware=[middleware]), "Mine.tools", "sequence")


def test_a_bad_tool_of_a_middleware_is_found_in_a_child_too():
    middleware = type("Mine", (AgentMiddleware,), {"tools": [undocumented]})()
    spec = {"name": "scout", "description": "Looks.", "middleware": [middleware]}
    error = refused({"bundle.children": tiny.children()}, subagents=[spec])
    mentions(error, "stack main/scout", "Mine.tools", "undocumented")


@pytest.mark.parametrize("model", [3, None, ["x"], ScriptedChatModel])
def test_a_model_that_is_none_is_refused(model):
    kernel = tiny.kernel()
    with pytest.raises(ModelTypeError) as caught:
        kernel.create_deep_agent(model)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(ModelSpecError, match="tiny:x"):
        kernel.create_deep_agent("tiny:x")


def test_a_bound_model_works():
    model = GenericFakeChatModel(messages=iter([AIMessage("hello")])).bind(stop=["x"])
    graph = tiny.kernel().create_deep_agent(model)
    assert graph.invoke({"messages": "hi"})["messages"][-1].text == "hello"


@pytest.mark.spec("ASM-027", "BY-083")
def test_none_means_not_given_and_empty_means_empty():
    assert tiny.request(middleware=None).middleware == tiny.request().middleware == ()
    for name in ("tools", "skills", "memory", "permissions"):
        assert getattr(tiny.request(**{name: None}), name) is None
        assert getattr(tiny.request(**{name: []}), name) == ()
    assert tiny.request(interrupt_on=None).interrupt_on is None
    assert tiny.request(interrupt_on={}).interrupt_on == {}
    tool = StructuredTool.from_function(undocumented, name="look", description="Look.")
    specs = [{"name": "a", "description": "d"}, {"name": "b", "description": "d", "tools": []}]
    plan = tiny.kernel({"bundle.c": tiny.children()}).plan(tiny.request(tools=[tool], subagents=specs))
    assert [len(plan.stack(f"main/{name}").context.tools) for name in "ab"] == [1, 0]


@pytest.mark.spec("ASM-028")
def test_what_the_caller_passed_is_never_changed_and_a_generator_is_read_once():
    spec = {"name": "scout", "description": "Looks.", "tools": [], "middleware": [standins.make("Own")]}
    tool = {"name": "look", "description": "Look.", "parameters": {}}
    given = {"tools": [tool], "middleware": [standins.make("Mine")], "subagents": [spec]}
    before = {key: list(value) for key, value in given.items()}, dict(tool), dict(spec)
    overrides = HarnessProfile(tool_description_overrides={"look": "Other."})
    kernel = tiny.kernel({"bundle.children": tiny.children()})
    plan = kernel.plan(tiny.request(profile=overrides, **given))
    kernel.compile(plan, eager=True)
    assert (given, tool, spec) == before
    assert spec["tools"] == []
    assert plan.main.context.tools[0]["description"] == "Other."
    once = kernel.plan(tiny.request(**{key: (item for item in value) for key, value in given.items()}))
    assert tiny.orders(once) == tiny.orders(plan)
    assert len(once.stack("main/general-purpose").context.tools) == 1
