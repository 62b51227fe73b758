"""Child graphs are planned and constructed with their parent, and compiled when they are first used."""

from __future__ import annotations

import asyncio
import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import langchain.agents
import pytest
import tiny
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import StructuredTool, tool
from langgraph.errors import GraphRecursionError

from deepagents_kernel import MiddlewareSpec
from deepagents_kernel.assembly.handle import GraphHandle
from deepagents_kernel.testing import ScriptedChatModel

SCOUT = {"name": "scout", "description": "Looks."}
PATHS = ["main", "main/general-purpose", "main/scout"]


class Bench:
    """A kernel with two children whose compilations are recorded."""

    def __init__(self, compile_stack=lambda stack: None):
        self.built, self.compiled = [], []
        cls = type("Noted", (AgentMiddleware,), {})

        def factory(context):
            self.built.append(context.path)
            return cls()

        def deepagents_compile(stack):
            self.compiled.append(stack.path)
            return compile_stack(stack)

        self.kernel = tiny.kernel(
            {
                "bundle.children": tiny.children(),
                "middleware.noted": tiny.slots(MiddlewareSpec("Noted", cls, factory)),
                "bundle.compiles": tiny.plugin(deepagents_compile=deepagents_compile),
            }
        )

    def plan(self, **keywords):
        return self.kernel.plan(tiny.request(subagents=[SCOUT], **keywords))


def counts(plan):
    return {stack.path: stack.handle.compilations for stack in plan.stacks() if stack is not plan.main}


def test_children_are_constructed_with_the_plan_and_compiled_on_first_use():
    bench = Bench()
    plan = bench.plan()
    assert sorted(bench.built) == PATHS
    assert bench.compiled == []
    bench.kernel.compile(plan)
    assert bench.compiled == ["main"]
    assert counts(plan) == {"main/general-purpose": 0, "main/scout": 0}
    handle = plan.stack("main/scout").handle
    assert not handle.compiled
    first = handle.graph()
    assert handle.graph() is first
    assert handle.compiled
    assert bench.compiled == ["main", "main/scout"]
    assert counts(plan) == {"main/general-purpose": 0, "main/scout": 1}
    assert sorted(bench.built) == PATHS
    assert first.invoke({"messages": "hi"})["messages"][-1].text == "done"


def test_thirty_two_threads_that_ask_at_once_get_the_graph_of_one_compilation():
    started = []

    def compile_stack(stack):
        while stack.path == "main/scout" and len(started) < 32:
            threading.Event().wait(0.001)  # until every thread is at the door

    bench = Bench(compile_stack)
    handle = bench.plan().stack("main/scout").handle

    def ask(number):
        started.append(number)
        return handle.graph()

    with ThreadPoolExecutor(32) as pool:
        graphs = list(pool.map(ask, range(32)))
    assert len(set(map(id, graphs))) == 1
    assert bench.compiled == ["main/scout"]
    assert handle.compilations == 1


async def test_tasks_that_ask_at_once_get_the_same_graph():
    bench = Bench()
    handle = bench.plan().stack("main/scout").handle
    graphs = await asyncio.gather(*(asyncio.to_thread(handle.graph) for _ in range(8)))
    assert len(set(map(id, graphs))) == 1
    assert bench.compiled == ["main/scout"]


def test_a_failure_is_raised_and_not_kept():
    failures = [RuntimeError("no room"), KeyboardInterrupt()]

    def compile_stack(stack):
        if failures:
            raise failures.pop(0)

    bench = Bench(compile_stack)
    handle = bench.plan().stack("main/scout").handle
    with pytest.raises(Exception, match="no room"):
        handle.graph()
    with pytest.raises(KeyboardInterrupt):
        handle.graph()
    assert not handle.compiled
    assert handle.graph() is handle.graph()
    assert handle.compilations == 3


def test_eager_compiles_every_stack_at_once_and_only_once():
    bench = Bench()
    plan = bench.plan()
    bench.kernel.compile(plan, eager=True)
    assert bench.compiled == PATHS
    assert counts(plan) == {"main/general-purpose": 1, "main/scout": 1}
    plan.stack("main/scout").handle.graph()
    assert bench.compiled == PATHS


def test_eager_is_an_argument_of_create_deep_agent():
    bench = Bench()
    bench.kernel.create_deep_agent(ScriptedChatModel(["done"]), subagents=[SCOUT], eager=True)
    assert bench.compiled == PATHS
    bench = Bench()
    bench.kernel.create_deep_agent(ScriptedChatModel(["done"]), subagents=[SCOUT])
    assert bench.compiled == ["main"]


def test_eager_shows_the_failure_of_a_child_at_once():
    def compile_stack(stack):
        if stack.name == "scout":
            raise RuntimeError("no room")

    bench = Bench(compile_stack)
    with pytest.raises(Exception, match="no room"):
        bench.kernel.compile(bench.plan(), eager=True)


def test_compiling_a_plan_again_makes_another_graph_over_the_same_middleware(monkeypatch):
    given = []
    real = langchain.agents.create_agent

    def create_agent(**arguments):
        given.append(arguments["middleware"])
        return real(**arguments)

    monkeypatch.setattr(langchain.agents, "create_agent", create_agent)
    bench = Bench()
    plan = bench.plan()
    one, other = bench.kernel.compile(plan, eager=True), bench.kernel.compile(plan, eager=True)
    assert one is not other
    assert bench.compiled == [*PATHS, "main"]
    first, again = given[0], given[-1]
    assert [id(item) for item in first] == [id(item) for item in again] == [id(plan.main.entries[0].instance)]
    assert first is not again
    assert sorted(bench.built) == PATHS


def test_two_plans_share_no_middleware_and_no_graph():
    bench = Bench()
    one, other = bench.plan(), bench.plan()
    for path in PATHS:
        assert one.stack(path).entries[0].instance is not other.stack(path).entries[0].instance
    assert one.stack("main/scout").handle.graph() is not other.stack("main/scout").handle.graph()
    assert bench.compiled == ["main/scout", "main/scout"]


def test_a_plugin_can_compile_each_stack_itself():
    made = {}

    def compile_stack(stack):
        made[stack.path] = langchain.agents.create_agent(
            ScriptedChatModel([f"by the plugin at {stack.path}"]), name="own"
        )
        return made[stack.path]

    bench = Bench(compile_stack)
    plan = bench.plan()
    graphs = {"main": bench.kernel.compile(plan, eager=True)}
    graphs |= {stack.path: stack.handle.graph() for stack in plan.stacks() if stack is not plan.main}
    assert list(made) == PATHS
    for path, graph in graphs.items():
        assert graph.invoke({"messages": "hi"})["messages"][-1].text == f"by the plugin at {path}"
        assert graph.config["metadata"]["ls_integration"] == "deepagents-kernel"


def test_a_compile_hook_that_asks_for_its_own_graph_does_not_hang():
    bench = Bench(lambda stack: stack.handle.graph())
    with pytest.raises(Exception, match="recursion"):
        bench.plan().stack("main/scout").handle.graph()


def test_a_handle_without_a_stack_says_that_it_is_too_early():
    handle = GraphHandle(lambda stack: stack)
    with pytest.raises(RuntimeError, match="being planned"):
        handle.graph()
    assert handle.compilations == 0
    handle.attach("the stack")
    assert handle.graph() == "the stack"


def test_a_child_that_is_used_while_binding_is_final():
    graphs = []

    class Binding(AgentMiddleware):
        """Warms its children up."""

    def bind(middleware, stack):
        graphs.extend(child.handle.graph() for child in stack.children)
        return middleware

    spec = MiddlewareSpec("Binding", Binding, lambda _: Binding(), bind=bind)
    kernel = tiny.kernel({"bundle.children": tiny.children(), "middleware.b": tiny.slots(spec)})
    plan = kernel.plan(tiny.request())
    assert graphs == [plan.stack("main/general-purpose").handle.graph()]


@tool
def ping() -> str:
    """Answer."""
    return "pong"


class Delegating(AgentMiddleware):
    """Has a tool that runs the scout."""


def bind_delegate(middleware, stack):
    if not stack.children:
        return middleware

    def delegate() -> str:
        """Let the scout do it."""
        return stack.child("scout").handle.graph().invoke({"messages": "go"})["messages"][-1].text

    bound = copy.copy(middleware)
    bound.tools = [StructuredTool.from_function(delegate)]
    return bound


@pytest.mark.parametrize(("limit", "calls"), [(10, 5), (100, 31)])
def test_the_callers_step_limit_bounds_a_child_too(limit, calls):
    spec = MiddlewareSpec("Delegating", Delegating, lambda _: Delegating(), bind=bind_delegate)
    kernel = tiny.kernel({"bundle.children": tiny.children(), "middleware.d": tiny.slots(spec)})
    child = ScriptedChatModel([*[[("ping", {})]] * 30, "end"])
    graph = kernel.create_deep_agent(
        ScriptedChatModel([[("delegate", {})], "done"]), tools=[ping], subagents=[{**SCOUT, "model": child}]
    )
    try:
        graph.invoke({"messages": "go"}, {"recursion_limit": limit})
    except GraphRecursionError:
        assert limit == 10
    assert len(child.requests) == calls
