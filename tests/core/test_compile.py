"""From a planned stack to a graph: what the host is given, and the config that a graph carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import langchain.agents
import pytest
import tiny
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from deepagents_kernel import DeepAgentState, HarnessProfile, create_deep_agent
from deepagents_kernel.errors import SettingsError
from deepagents_kernel.testing import ScriptedChatModel
from deepagents_kernel.trace_version import trace_version

HELPER = {"name": "helper", "description": "Helps."}


class Answer(BaseModel):
    """An answer."""

    text: str


class OwnState(DeepAgentState):
    mood: str


@dataclass
class Context:
    user: str


@tool
def ping() -> str:
    """Say pong."""
    return "pong"


@pytest.fixture
def calls(monkeypatch):
    """The arguments of every call of the host's constructor, by the name of the agent."""
    seen = []

    def recording(*args: Any, **kwargs: Any) -> Any:
        assert args == ()
        seen.append(kwargs)
        return create_agent(**kwargs)

    monkeypatch.setattr(langchain.agents, "create_agent", recording)
    return seen


def family(**settings):
    """A kernel with one middleware slot and planned children."""
    plugins = {"bundle.children": tiny.children(), "middleware.a": tiny.slots(tiny.slot("A"))}
    return tiny.kernel(plugins, **settings)


def config(graph):
    return {key: graph.config[key] for key in ("recursion_limit", "metadata") if key in graph.config}


# -- what the host's constructor is given --------------------------------------------------------


@pytest.mark.spec("ASM-090")
def test_everything_is_handed_on_as_it_was_given(calls):
    model = ScriptedChatModel("done")
    prompt = SystemMessage("hello")
    given = {
        "response_format": ToolStrategy(Answer),
        "context_schema": Context,
        "checkpointer": InMemorySaver(),
        "store": InMemoryStore(),
        "cache": InMemoryCache(),
        "debug": True,
    }
    kernel = family()
    plan = kernel.plan(
        tiny.request(model, tools=[ping], system_prompt=prompt, state_schema=OwnState, **given)
    )
    kernel.compile(plan)
    (call,) = calls
    for name, value in given.items():
        assert call[name] is value, name
    assert call["model"] is model
    assert call["system_prompt"] is prompt
    assert call["state_schema"] is OwnState
    assert call["tools"] == [ping]
    assert [item.name for item in call["middleware"]] == ["A"]
    assert all(one is two for one, two in zip(call["middleware"], plan.main.middleware, strict=True))


@pytest.mark.spec("ASM-090")
def test_what_was_not_given_is_left_to_the_host(calls):
    tiny.kernel().create_deep_agent(ScriptedChatModel("done"))
    (call,) = calls
    assert call["state_schema"] is DeepAgentState
    empty = (
        "tools",
        "system_prompt",
        "response_format",
        "context_schema",
        "checkpointer",
        "store",
        "cache",
        "name",
    )
    assert {name: call[name] for name in empty} == dict.fromkeys(empty)
    assert call["debug"] is False


@pytest.mark.spec("ASM-090")
def test_tools_are_handed_on_with_their_rewritten_descriptions(calls):
    profile = HarnessProfile(tool_description_overrides={"ping": "Hit it."})
    tiny.kernel().create_deep_agent(ScriptedChatModel("done"), [ping], profile=profile)
    (call,) = calls
    assert [(item.name, item.description) for item in call["tools"]] == [("ping", "Hit it.")]
    assert ping.description == "Say pong."


@pytest.mark.spec("ASM-070", "ASM-069")
def test_what_a_child_is_given_of_what_the_caller_gave(calls):
    request = tiny.request(
        subagents=[HELPER],
        state_schema=OwnState,
        context_schema=Context,
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
        cache=InMemoryCache(),
        debug=True,
        response_format=ToolStrategy(Answer),
        name="desk",
    )
    kernel = family()
    kernel.compile(kernel.plan(request), eager=True)
    assert [call["name"] for call in calls] == ["desk", "general-purpose", "helper"]
    for child in calls[1:]:
        assert child["context_schema"] is Context
        assert child["state_schema"] is OwnState
        assert child["response_format"] is None
        assert {"checkpointer", "store", "cache", "debug"}.isdisjoint(child)


@pytest.mark.spec("ASM-069")
def test_without_a_schema_a_child_has_the_state_of_a_deep_agent(calls):
    kernel = family()
    kernel.compile(kernel.plan(tiny.request(subagents=[HELPER])), eager=True)
    assert [call["state_schema"] for call in calls] == [DeepAgentState] * 3


@pytest.mark.spec("ASM-070")
def test_a_childs_own_response_format_is_its_own(calls):
    wanted = ToolStrategy(Answer)
    kernel = family()
    kernel.compile(kernel.plan(tiny.request(subagents=[{**HELPER, "response_format": wanted}])), eager=True)
    assert [call["response_format"] for call in calls] == [None, None, wanted]


def test_a_child_is_compiled_when_it_is_used_and_not_before(calls):
    agent = create_deep_agent(
        ScriptedChatModel([("task", {"description": "x", "subagent_type": "helper"}), "child", "done"]),
        subagents=[HELPER],
        name="desk",
    )
    assert [call["name"] for call in calls] == ["desk"]
    agent.invoke({"messages": "hi"})
    assert [call["name"] for call in calls] == ["desk", "helper"]


@pytest.mark.spec("ASM-070")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_tools_of_a_child_see_the_callers_context(asynchronous):
    users = []

    @tool
    def whoami(runtime: ToolRuntime[Context, Any]) -> str:
        """Say who asks."""
        users.append(runtime.context.user)
        return runtime.context.user

    turns = [
        ("task", {"description": "x", "subagent_type": "helper"}),
        ("whoami", {}),
        "child",
        ("whoami", {}),
        "done",
    ]
    agent = create_deep_agent(ScriptedChatModel(turns), [whoami], subagents=[HELPER], context_schema=Context)
    if asynchronous:
        await agent.ainvoke({"messages": "hi"}, context=Context("ann"))
    else:
        agent.invoke({"messages": "hi"}, context=Context("ann"))
    assert users == ["ann", "ann"]


# -- the config that a graph carries -------------------------------------------------------------


@pytest.mark.spec("ASM-091")
@pytest.mark.parametrize("name", ["desk", None])
def test_the_config_bound_to_an_agent(name):
    graph = tiny.kernel().create_deep_agent(ScriptedChatModel("done"), name=name)
    assert config(graph) == {
        "recursion_limit": 9_999,
        "metadata": {
            "ls_integration": "deepagents-kernel",
            "lc_versions": {"deepagents-kernel": trace_version()},
            "lc_agent_name": name,
        },
    }


@pytest.mark.spec("ASM-091")
@pytest.mark.parametrize("where", ["kernel", "agent"])
def test_identity_and_limit_are_settings(where):
    settings = {"kernel": {"integration": "house-agents", "recursion_limit": 77}}
    if where == "kernel":
        graph = tiny.kernel(settings=settings).create_deep_agent(ScriptedChatModel("done"))
    else:
        graph = tiny.kernel().create_deep_agent(ScriptedChatModel("done"), settings=settings)
    found = config(graph)
    assert found["recursion_limit"] == 77
    assert found["metadata"]["ls_integration"] == "house-agents"
    assert found["metadata"]["lc_versions"] == {"house-agents": trace_version()}


@pytest.mark.parametrize("limit", [0, -1, "many", None])
def test_a_limit_that_is_none_is_refused(limit):
    with pytest.raises(SettingsError, match="recursion_limit"):
        tiny.kernel(settings={"kernel": {"recursion_limit": limit}})


@pytest.mark.spec("ASM-091", "ASM-092")
def test_the_bound_limit_holds_and_the_callers_wins():
    model = ScriptedChatModel([*[[("ping", {})]] * 30, "done"], repeat_last=True)
    graph = tiny.kernel(settings={"kernel": {"recursion_limit": 5}}).create_deep_agent(model, [ping])
    with pytest.raises(GraphRecursionError):
        graph.invoke({"messages": "hi"})
    assert graph.invoke({"messages": "hi"}, {"recursion_limit": 100})["messages"][-1].text == "done"
    with pytest.raises(GraphRecursionError):
        graph.with_config({"recursion_limit": 3}).invoke({"messages": "hi"}, {"recursion_limit": 1})


class Metadata(BaseCallbackHandler):
    """Collects the metadata of each model call."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_chat_model_start(self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any) -> None:
        self.seen.append(metadata or {})


def metadata_of(graph, **run):
    handler = Metadata()
    graph.invoke({"messages": "hi"}, {"callbacks": [handler], **run})
    return handler.seen


@pytest.mark.spec("ASM-092")
def test_metadata_can_be_overridden_for_a_run_and_for_good():
    model = ScriptedChatModel("done", repeat_last=True)
    graph = tiny.kernel().create_deep_agent(model, name="desk")
    (plain,) = metadata_of(graph)
    assert plain["lc_agent_name"] == "desk"
    (run,) = metadata_of(graph, metadata={"lc_agent_name": "other", "mine": 1})
    assert (run["lc_agent_name"], run["mine"]) == ("other", 1)
    assert "deepagents-kernel" in run["lc_versions"]
    renamed = graph.with_config({"metadata": {"lc_agent_name": "third"}})
    (good,) = metadata_of(renamed)
    assert good["lc_agent_name"] == "third"
    assert graph.config["metadata"]["lc_agent_name"] == "desk"


@pytest.mark.spec("ASM-093")
@pytest.mark.parametrize("tags", [[], ["mine"]])
def test_what_a_childs_model_call_says_about_itself(tags):
    turns = [("task", {"description": "x", "subagent_type": "helper"}), "child", "done"]
    graph = create_deep_agent(ScriptedChatModel(turns), subagents=[HELPER], name="desk")
    main, child, after = metadata_of(graph, tags=tags, metadata={"mine": 1})
    assert [call["lc_agent_name"] for call in (main, child, after)] == ["desk", "helper", "desk"]
    for call in (main, child, after):
        assert call["lc_versions"]["deepagents-kernel"] == trace_version()
        assert {"langchain", "langchain-core"} <= set(call["lc_versions"])
        assert call["mine"] == 1


@pytest.mark.spec("ASM-094")
def test_the_name_is_the_graphs_name():
    kernel = family()
    assert tiny.kernel().create_deep_agent(ScriptedChatModel("done"), name="desk").get_name() == "desk"
    assert tiny.kernel().create_deep_agent(ScriptedChatModel("done")).get_name() == "LangGraph"
    plan = kernel.plan(tiny.request(subagents=[HELPER], name="desk"))
    kernel.compile(plan)
    for name in ("general-purpose", "helper"):
        child = plan.main.child(name).handle.graph()
        assert child.get_name() == name
        assert child.config["metadata"]["lc_agent_name"] == name


def test_a_name_marks_the_messages_of_the_agent():
    graph = tiny.kernel().create_deep_agent(ScriptedChatModel("done"), name="desk")
    (answer,) = [item for item in graph.invoke({"messages": "hi"})["messages"] if isinstance(item, AIMessage)]
    assert answer.name == "desk"


# -- the caller's limit bounds children ----------------------------------------------------------


@pytest.mark.spec("SUB-091", "BY-048")
def test_a_child_binds_no_limit_of_its_own():
    kernel = family()
    plan = kernel.plan(tiny.request(subagents=[HELPER]))
    graph = kernel.compile(plan, eager=True)
    assert graph.config["recursion_limit"] == 9_999
    for child in plan.main.children:
        assert "recursion_limit" not in child.handle.graph().config


@pytest.mark.spec("SUB-091", "BY-048")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_callers_limit_reaches_the_child_through_the_task_tool(asynchronous):
    # 30 rounds of the child are more than 20 steps and fewer than 100; the parent itself needs a handful.
    for limit, text in ((20, "GraphRecursionError"), (100, "child")):
        child = ScriptedChatModel([*[[("ping", {})]] * 30, "child"])
        main = ScriptedChatModel([("task", {"description": "x", "subagent_type": "helper"}), "done"])
        graph = create_deep_agent(main, [ping], subagents=[{**HELPER, "model": child}])
        run = {"recursion_limit": limit}
        if asynchronous:
            result = await graph.ainvoke({"messages": "hi"}, run)
        else:
            result = graph.invoke({"messages": "hi"}, run)
        assert text in result["messages"][-2].text
        assert result["messages"][-1].text == "done"
