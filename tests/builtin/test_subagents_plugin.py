"""``middleware.subagents`` as a plugin: which stacks it asks for, its slot, and what it reports."""

from typing import Annotated, Any

import pluggy
import pytest
from attrs import evolve
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import OmitFromOutput, PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from deepagents_builtin.backends.state.backend import StateBackend
from deepagents_builtin.middleware.subagents import plugin
from deepagents_builtin.middleware.subagents.middleware import SubAgentMiddleware
from deepagents_builtin.middleware.subagents.settings import SubAgentSettings
from deepagents_kernel._builtin import BuiltinTable
from deepagents_kernel.assembly.context import StackContext
from deepagents_kernel.assembly.handle import GraphHandle
from deepagents_kernel.assembly.plan import AgentPlan, Entry, StackPlan
from deepagents_kernel.assembly.request import make_request
from deepagents_kernel.assembly.specs import Segment, StackKind
from deepagents_kernel.contracts.state import DeepAgentState
from deepagents_kernel.errors import PlanError, PlanKeyError, PlanTypeError, PlanWarning, UnsupportedPlanError
from deepagents_kernel.hookspecs import PROJECT, hookimpl
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.plugins.calls import HookCalls
from deepagents_kernel.plugins.info import PluginInfo, PluginRecord
from deepagents_kernel.plugins.registration import Registered
from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile
from deepagents_kernel.profiles.lookup import ProfileRef
from deepagents_kernel.testing.scripted import ScriptedChatModel


class Shipping:
    """A package that ships sub-agents."""

    def __init__(self, *specs):
        self.specs = specs

    @hookimpl
    def deepagents_subagents(self):
        return self.specs


def hook_calls(*shipping):
    """The hooks of a kernel with this plugin and some packages."""
    manager = pluggy.PluginManager(PROJECT)
    plugin.deepagents_addhooks(pluginmanager=manager)
    records = {}
    for number, package in enumerate(shipping):
        name = f"bundle.package-{number}"
        manager.register(package, name)
        records[name] = PluginRecord(name, package, PluginInfo())
    return HookCalls(Registered(manager), records)


def context(*subagents, profile=None, middleware=(), shipping=(), settings=None, kind=StackKind.MAIN):
    ref = ProfileRef(profile or HarnessProfile())
    return StackContext(
        kind=kind,
        name="main",
        path="main",
        request=make_request(subagents=list(subagents), middleware=list(middleware)),
        model=ScriptedChatModel(["done"]),
        profile=ref,
        registry_profile=ref,
        backend=object(),
        middleware=tuple(middleware),
        call=hook_calls(*shipping),
        settings={} if settings is None else {SubAgentSettings: settings},
    )


def declared(name, **keys):
    return {"name": name, "description": f"about {name}", **keys}


def compiled(name, text="ok"):
    return declared(name, runnable=RunnableLambda(lambda _: {"messages": [AIMessage(text)]}))


def stacks(*subagents, **options):
    return plugin.deepagents_child_stacks(context=context(*subagents, **options))


def names(*subagents, **options):
    return [child.name for child in stacks(*subagents, **options)]


def planned(parent):
    """The context with its children requested, as the planner makes it."""
    return evolve(parent, children=tuple(plugin.deepagents_child_stacks(context=parent)))


def child_plan(parent, child, compiled_names):
    def compile_stack(stack):
        compiled_names.append(stack.name)
        model = ScriptedChatModel([f"from {stack.name}"], repeat_last=True)
        return create_agent(model, [], name=stack.name)

    handle = GraphHandle(compile_stack)
    own = evolve(
        parent, kind=child.kind, name=child.name, path=f"main/{child.name}", parent=parent, spec=child.spec
    )
    stack = StackPlan(own, (), None, AgentState, handle=handle)
    handle.attach(stack)
    return stack


def stack_plan(parent, *extra, compiled_names=None, state_schema=AgentState):
    """The main stack as it is when slots are bound, and the bound middleware of ours."""
    spec = plugin.deepagents_middleware(context=parent)
    given = [item for item in parent.middleware if item.name == "SubAgentMiddleware"]
    instance = spec.adopt(given[0], parent) if given else spec.factory(parent)
    rows = [
        Entry(item.name, item.name, type(item), Segment.CORE, instance=item) for item in (instance, *extra)
    ]
    children = tuple(
        child_plan(parent, child, [] if compiled_names is None else compiled_names)
        for child in parent.children
    )
    stack = StackPlan(parent, tuple(rows), None, state_schema, children, handle=GraphHandle(lambda _: None))
    return stack, spec.bind(instance, stack)


def delegate(middleware, *calls):
    turn = [("task", {"description": "d", "subagent_type": name}) for name in calls]
    agent = create_agent(ScriptedChatModel([turn, "done"]), [], middleware=[middleware])
    outcome = agent.invoke({"messages": [HumanMessage("go")]})
    return [message for message in outcome["messages"] if isinstance(message, ToolMessage)]


# ------------------------------------------------------------ child stacks


@pytest.mark.spec("SUB-003", "ASM-063")
def test_general_purpose_comes_first():
    found = stacks(declared("b"), declared("a"))
    assert [(child.kind, child.name, child.inherit, child.tools) for child in found] == [
        (StackKind.GENERAL_PURPOSE, "general-purpose", "slots", "rewritten"),
        (StackKind.SUBAGENT, "b", "none", "raw"),
        (StackKind.SUBAGENT, "a", "none", "raw"),
    ]
    assert set(found[0].spec) == {"name", "description", "system_prompt"}
    assert found[1].spec == declared("b")


@pytest.mark.spec("SUB-002", "ASM-060")
def test_a_compiled_spec_has_no_stack():
    assert names(compiled("c"), declared("d")) == ["general-purpose", "d"]


@pytest.mark.spec("ASM-061", "SUB-005", "ASM-062")
def test_specs_of_asynchronous_agents_and_forks_are_not_ours():
    own = {"graph_id": "g"}
    given = [declared("general-purpose", **own), compiled("x") | own, declared("f", mode="fork")]
    assert names(*given) == ["general-purpose"]
    assert plugin.deepagents_middleware(context=planned(context(*given))).vacant is False


@pytest.mark.spec("SUB-004", "ASM-062")
@pytest.mark.parametrize(("make", "expected"), [(declared, ["general-purpose"]), (compiled, [])])
def test_a_spec_named_general_purpose_takes_its_place(make, expected):
    found = stacks(make("general-purpose"))
    assert [child.name for child in found] == expected
    assert all(child.kind is StackKind.SUBAGENT for child in found)


@pytest.mark.spec("SUB-006", "ASM-064")
def test_a_profile_can_leave_general_purpose_out():
    off = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False))
    assert names(profile=off) == []
    assert plugin.deepagents_middleware(context=planned(context(profile=off))).vacant is True
    assert names(declared("a"), profile=off) == ["a"]
    assert plugin.deepagents_middleware(context=planned(context(declared("a"), profile=off))).vacant is False
    assert plugin.deepagents_middleware(context=planned(context(compiled("a"), profile=off))).vacant is False


@pytest.mark.spec("HP-003")
@pytest.mark.parametrize("text", ["mine", ""])
def test_a_profile_can_describe_general_purpose(text):
    mine = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(description=text))
    assert stacks(profile=mine)[0].spec["description"] == text
    assert stacks(profile=HarnessProfile())[0].spec["description"]


def test_only_the_main_stack_delegates():
    child = context(declared("a"), kind=StackKind.SUBAGENT)
    assert plugin.deepagents_child_stacks(context=child) == []
    assert plugin.deepagents_middleware(context=child) is None


@pytest.mark.spec("ASM-071")
@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [
        ({"description": "d"}, PlanKeyError, "subagents[0] has no 'name'"),
        ({"name": "a", "descripton": "d"}, PlanKeyError, "nearest: descripton"),
        ("a", PlanTypeError, "subagents[0] is str"),
        ({"name": 3, "description": "d"}, PlanTypeError, "'name' of subagents[0] is int"),
        ({"name": "", "description": "d"}, ValueError, "'name' of subagents[0] is empty"),
        (declared("a", mode="forked"), ValueError, "nearest: fork"),
        (declared("a:b"), ValueError, "':'"),
        (declared("a/b"), ValueError, "'/', which sets names apart"),
        (declared("a", runnable=3), PlanTypeError, "not a Runnable"),
    ],
)
def test_a_wrong_spec_is_found_before_anything_is_made(spec, error, said):
    with pytest.raises(PlanError) as caught:
        stacks(spec)
    assert said in str(caught.value)
    assert isinstance(PlanError.of(caught.value.problems), error)


@pytest.mark.spec("SUB-009", "ASM-071")
def test_every_problem_is_reported_together():
    with pytest.raises(PlanError) as caught:
        stacks(declared("a"), compiled("a"), declared("b", mode="x"), 3)
    assert len(caught.value.problems) == 3
    assert names(declared("a"), declared("a", graph_id="g")) == ["general-purpose", "a"]


def test_the_slot_is_there_even_if_a_spec_is_wrong():
    assert (
        plugin.deepagents_middleware(context=context(3, declared("a", mode="x"), compiled("b"))).vacant
        is False
    )


# ------------------------------------------------------------ shipped sub-agents


def test_packages_can_ship_sub_agents():
    parent = planned(
        context(declared("mine"), shipping=[Shipping(declared("theirs"), compiled("ready", "R"))])
    )
    assert [child.name for child in parent.children] == ["general-purpose", "mine", "theirs"]
    _, bound = stack_plan(parent)
    assert [message.text for message in delegate(bound, "ready", "theirs")] == ["R", "from theirs"]


def test_a_shipped_name_that_is_taken_names_both():
    with pytest.raises(PlanError) as caught:
        stacks(declared("a"), shipping=[Shipping(declared("a"))])
    assert "from the caller and bundle.package-0" in str(caught.value)
    assert caught.value.problems[0].plugin == "bundle.package-0"


@pytest.mark.parametrize("keys", [{"mode": "fork"}, {"graph_id": "g"}])
def test_a_package_cant_ship_what_nobody_here_serves(keys):
    with pytest.raises(PlanError, match="shipped") as caught:
        stacks(shipping=[Shipping(declared("a", **keys))])
    assert caught.value.problems[0].error is UnsupportedPlanError


# ------------------------------------------------------------ the slot


@pytest.mark.spec("ASM-063")
def test_the_task_tool_lists_the_agents_in_order():
    parent = planned(context(compiled("z"), declared("a")))
    text = stack_plan(parent)[1].tools[0].description
    places = [text.index(f"\n- {name}: ") for name in ("general-purpose", "z", "a")]
    assert places == sorted(places)


@pytest.mark.spec("SUB-035", "SUB-037", "TOOL-008")
def test_a_profile_can_describe_the_task_tool():
    mine = HarnessProfile(tool_description_overrides={"task": "Mine {x}:\n{available_agents}"})
    parent = planned(context(declared("a"), profile=mine))
    _, bound = stack_plan(parent)
    text = bound.tools[0].description
    assert text.startswith("Mine {x}:\n- general-purpose: ")
    assert text.endswith("\n- a: about a")
    assert bound.system_prompt is None
    assert type(bound).wrap_model_call is AgentMiddleware.wrap_model_call


@pytest.mark.spec("ASM-074")
def test_planned_children_are_compiled_when_first_used_and_once():
    compiled_names: list[str] = []
    parent = planned(context(declared("a"), declared("b")))
    _, bound = stack_plan(parent, compiled_names=compiled_names)
    assert compiled_names == []
    first, second = delegate(bound, "a", "a")
    assert (first.text, second.text) == ("from a", "from a")
    assert compiled_names == ["a"]


def test_the_settings_reach_the_tool():
    parent = planned(context(compiled("a"), settings=SubAgentSettings(max_fan_out=1)))
    _, bound = stack_plan(parent)
    assert [message.status for message in delegate(bound, "a", "a")] == ["success", "error"]


class Secret(AgentState):
    secret: Annotated[str, PrivateStateAttr]


class Keeper(AgentMiddleware):
    state_schema = Secret


class Base(AgentState):
    base: Annotated[str, PrivateStateAttr]
    shown: Annotated[str, OmitFromOutput]


@pytest.mark.spec("SUB-054", "SUB-055", "STATE-012", "STATE-013")
def test_private_keys_come_from_every_schema_of_the_stack():
    _, bound = stack_plan(planned(context()), Keeper(), state_schema=Base)
    assert {"secret", "base"} <= bound.private_state_keys
    assert "shown" not in bound.private_state_keys


@pytest.mark.spec("SUB-055", "STATE-014")
def test_private_keys_reach_a_copy_of_the_callers_middleware():
    mine = SubAgentMiddleware(backend=object(), subagents=[compiled("own", "mine")])
    _, bound = stack_plan(planned(context(middleware=[mine])), Keeper())
    assert "secret" in bound.private_state_keys
    assert mine.private_state_keys == frozenset()
    assert bound.subagent_names == frozenset({"own"})
    assert delegate(bound, "own")[0].text == "mine"


@pytest.mark.spec("ASM-024")
def test_the_callers_middleware_beside_subagents_is_refused():
    mine = SubAgentMiddleware(backend=object(), subagents=[compiled("own")])
    parent = context(declared("a"), compiled("b"), middleware=[mine])
    spec = plugin.deepagents_middleware(context=parent)
    with pytest.raises(ValueError, match=r"a, b could never be started\. Pass all"):
        spec.adopt(mine, parent)
    assert spec.adopt(mine, context(declared("f", mode="fork"), middleware=[mine])) is mine


@pytest.mark.spec("ASM-024")
def test_with_the_callers_middleware_nothing_unreachable_is_planned():
    mine = SubAgentMiddleware(backend=object(), subagents=[compiled("own")])
    assert names(middleware=[mine]) == []


def test_a_foreign_middleware_of_that_name_is_left_alone():
    class Foreign(AgentMiddleware):
        name = "SubAgentMiddleware"

    mine = Foreign()
    _, bound = stack_plan(planned(context(middleware=[mine])))
    assert bound is mine


def test_the_slot_can_be_replaced_and_not_removed():
    spec = plugin.deepagents_middleware(context=planned(context()))
    assert (spec.name, spec.cls, spec.scaffolding, spec.heritable, spec.segment) == (
        "SubAgentMiddleware",
        SubAgentMiddleware,
        True,
        False,
        Segment.CORE,
    )
    assert plugin.PLUGIN.scaffolding


# ------------------------------------------------------------ warnings


@pytest.mark.spec("DWN-020", "ASM-072")
def test_unknown_keys_are_kept_and_reported_once():
    spec: dict[str, Any] = declared("a", sytem_prompt="p", owner="me")
    parent = planned(
        context(spec, compiled("c") | {"tools": []}, declared("b"), declared("f", mode="fork", x=1))
    )
    stack, _ = stack_plan(parent)
    found = list(plugin.deepagents_plan_validate(plan=AgentPlan(stack)))
    assert [(problem.severity, problem.stack) for problem in found] == [
        ("warning", "main/a"),
        ("warning", "main/c"),
    ]
    assert "'owner', 'sytem_prompt' (nearest: system_prompt)" in found[0].text
    assert "'tools'" in found[1].text
    assert parent.children[1].spec["owner"] == "me"


# ------------------------------------------------------------ in a kernel

TABLE = BuiltinTable(
    plugins={"middleware.subagents": "deepagents_builtin.middleware.subagents.plugin"},
    scaffolding=frozenset({"SubAgentMiddleware"}),
)


def kernel_agent(model, *subagents, **options):
    return Kernel(builtins=TABLE).create_deep_agent(
        model, backend=StateBackend(), subagents=list(subagents), **options
    )


def go():
    return {"messages": [HumanMessage("go")]}


def results(outcome):
    return [message for message in outcome["messages"] if isinstance(message, ToolMessage)]


def call(name):
    return ("task", {"description": f"for {name}", "subagent_type": name})


@pytest.mark.spec("SUB-003")
async def test_a_planned_agent_delegates():
    model = ScriptedChatModel([[call("general-purpose")], "from gp", [call("a"), call("c")], "done"])
    own = ScriptedChatModel(["from a"])
    agent = kernel_agent(
        model, declared("a", model=own, system_prompt="SYS"), compiled("c"), middleware=[Keeper()]
    )
    outcome = await agent.ainvoke(go())
    assert [message.text for message in results(outcome)] == ["from gp", "from a", "ok"]
    assert [request.messages[-1].text for request in own.requests] == ["for a"]
    assert own.requests[0].tool_names == ()
    assert "SYS" in own.requests[0].system


@pytest.mark.spec("BY-048")
def test_the_callers_limit_bounds_a_planned_child():
    def again() -> str:
        """Again."""
        return "again"

    endless = ScriptedChatModel([("again", {})], repeat_last=True)
    agent = kernel_agent(
        ScriptedChatModel([[call("a")], "done"]), declared("a", model=endless, tools=[again])
    )
    (message,) = results(agent.invoke(go(), {"recursion_limit": 20}))
    assert (message.status, len(endless.requests) <= 20) == ("error", True)


@pytest.mark.spec("SUB-021", "ASM-069")
def test_the_state_schema_of_a_request_reaches_planned_children():
    class Extended(DeepAgentState):
        extra: str

    def read(runtime: ToolRuntime[Any, Any]) -> str:
        """Read."""
        return runtime.state["extra"]

    model = ScriptedChatModel(
        [[call("a")], ("read", {}), "ok", [call("general-purpose")], ("read", {}), "ok", "done"]
    )
    agent = kernel_agent(model, declared("a", tools=[read]), tools=[read], state_schema=Extended)
    agent.invoke({**go(), "extra": "E"})
    assert [
        request.messages[-1].text for request in model.requests if request.messages[-1].name == "read"
    ] == ["E", "E"]


@pytest.mark.spec("SUB-055", "SUB-081")
def test_private_state_stays_out_of_a_compiled_child():
    seen = []

    def look(state):
        seen.append(sorted(state))
        return {"messages": [AIMessage("ok")], "secret": "stolen", "nobody": 1}

    class Setter(Keeper):
        def before_agent(self, state, runtime):
            return {"secret": "S"}

    kept = []

    class Watcher(AgentMiddleware):
        state_schema = Secret

        def after_agent(self, state, runtime):
            kept.append(state["secret"])

    spec = declared("c", runnable=RunnableLambda(look))
    agent = kernel_agent(ScriptedChatModel([[call("c")], "done"]), spec, middleware=[Setter(), Watcher()])
    agent.invoke(go())
    assert (seen, kept) == ([["messages"]], ["S"])


@pytest.mark.spec("ASM-024", "ASM-025")
def test_the_callers_middleware_stands_in_the_slot():
    mine = SubAgentMiddleware(backend=object(), subagents=[compiled("own", "mine")])
    with pytest.raises(PlanError, match="a could never be started"):
        kernel_agent(ScriptedChatModel(["done"]), declared("a"), middleware=[mine])
    agent = kernel_agent(ScriptedChatModel([[call("own")], "done"]), middleware=[mine])
    assert results(agent.invoke(go()))[0].text == "mine"


@pytest.mark.spec("DWN-020")
def test_an_unknown_key_is_a_warning_of_the_plan():
    with pytest.warns(PlanWarning, match="nearest: system_prompt"):
        kernel_agent(ScriptedChatModel(["done"]), declared("a", system_promt="p"))


@pytest.mark.spec("SUB-001", "ASM-061")
def test_a_spec_with_a_graph_id_needs_the_plugin_for_asynchronous_agents():
    with pytest.raises(PlanError, match="async-subagents"):
        kernel_agent(ScriptedChatModel(["done"]), compiled("a") | {"graph_id": "g"})


def test_a_fork_needs_a_plugin_that_serves_forks():
    with pytest.raises(PlanError, match="'fork'"):
        kernel_agent(ScriptedChatModel(["done"]), declared("a", mode="fork"))


def test_a_wrong_spec_is_reported_with_the_other_problems():
    with pytest.raises(PlanError) as caught:
        kernel_agent(ScriptedChatModel(["done"]), {"name": "a"}, declared("b", mode="x"), middleware=[3])
    assert len(caught.value.problems) == 3


@pytest.mark.spec("ASM-071")
@pytest.mark.parametrize("spec", [5, None, "a", {}, {"name": 3, "description": "d"}])
def test_a_wrong_spec_hides_nothing_that_is_wrong_elsewhere(spec):
    with pytest.raises(PlanError) as caught:
        Kernel().plan(make_request(ScriptedChatModel(["done"]), subagents=[spec], middleware=[3]))
    texts = [problem.text for problem in caught.value.problems]
    assert any("middleware= has 3" in text for text in texts)
    assert any("subagents[0]" in text for text in texts)


# ------------------------------------------------------------ what would only look protected


@pytest.mark.spec("ASM-072")
@pytest.mark.parametrize(("key", "value"), [("interrupt_on", {"ls": True}), ("permissions", [object()])])
def test_a_compiled_spec_cant_ask_for_protection(key, value):
    with pytest.raises(PlanError, match=f"'c' is compiled already, so '{key}'") as caught:
        stacks({**compiled("c"), key: value})
    assert [problem.error for problem in caught.value.problems] == [UnsupportedPlanError]
    with pytest.raises(UnsupportedPlanError, match=f"'{key}'"):
        SubAgentMiddleware(backend=object(), subagents=[{**compiled("c"), key: value}])


@pytest.mark.spec("ASM-072")
def test_other_keys_of_a_compiled_spec_are_kept_and_warned_of():
    spec = {**compiled("c"), "tools": [], "model": "m", "skills": [], "interrupt_on": None, "permissions": []}
    plan = Kernel().plan(make_request(ScriptedChatModel(["done"]), subagents=[spec]))
    (problem,) = plan.warnings
    assert "'interrupt_on', 'model' (nearest: mode), 'permissions', 'skills', 'tools'" in problem.text


# ------------------------------------------------------------ shipped, and out of reach


@pytest.mark.spec("ASM-024")
def test_shipped_sub_agents_that_the_callers_middleware_displaces_are_warned_of():
    kernel = Kernel([("bundle.pilots", Shipping(declared("pilot"), compiled("ready")))])
    mine = SubAgentMiddleware(backend=object(), subagents=[compiled("own")])
    found = kernel.plan(make_request(ScriptedChatModel(["done"]), middleware=[mine])).warnings
    assert [(problem.severity, problem.plugin) for problem in found] == [("warning", "bundle.pilots")] * 2
    assert "'pilot' that bundle.pilots ships can't be started" in found[0].text
    assert "'ready'" in found[1].text
    assert kernel.plan(make_request(ScriptedChatModel(["done"]))).warnings == ()
