"""One plugin implements every hook and records each call: the whole life of an agent, in order."""

from __future__ import annotations

import copy
import inspect

import click
import pytest
import tiny
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import StructuredTool

from deepagents_kernel import (
    BackendSpec,
    ChildStack,
    HarnessProfile,
    MiddlewareSpec,
    ModelFacts,
    PluginInfo,
    PromptPart,
    ProviderProfile,
    hookimpl,
    hookspec,
    hookspecs,
)
from deepagents_kernel.cli.app import app
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.testing import ScriptedChatModel


class OwnHooks:
    """What the plugin declares besides."""

    @hookspec
    def deepagents_echo(self, word: str):
        """Say it again."""


class Delegating(AgentMiddleware):
    """A middleware whose tool runs the child stack that it is bound to."""


class Everything:
    """Implements every hook of the kernel, and one that it declares itself."""

    PLUGIN = PluginInfo(name="bundle.everything", serves=("subagents",))

    def __init__(self):
        self.calls = []

    def note(self, what, where=""):
        self.calls.append(f"{what} @ {where}" if where else what)

    @hookimpl
    def deepagents_addhooks(self, pluginmanager):
        self.note("addhooks")
        pluginmanager.add_hookspecs(OwnHooks)

    @hookimpl
    def deepagents_configure(self, kernel):
        self.note("configure")

    @hookimpl
    def deepagents_unconfigure(self, kernel):
        self.note("unconfigure")

    @hookimpl
    def deepagents_cli_commands(self):
        self.note("cli_commands")
        return click.Command("everything", callback=lambda: self.note("the command runs"))

    @hookimpl
    def deepagents_backends(self):
        self.note("backends")
        return BackendSpec("shelf", lambda _path, _options: BackendProtocol())

    @hookimpl
    def deepagents_provider_profiles(self):
        self.note("provider_profiles")
        return [("tiny", ProviderProfile())]

    @hookimpl
    def deepagents_harness_profiles(self):
        self.note("harness_profiles")
        return [("tiny", HarnessProfile())]

    @hookimpl
    def deepagents_model_facts(self):
        self.note("model_facts")
        return [("tiny", ModelFacts(context_tokens=9, sources=("the tests",)))]

    @hookimpl
    def deepagents_resolve_model(self, spec):
        self.note(f"resolve_model {spec}")
        turns = [[("delegate", {"task": "look"})], "done"] if spec == "tiny:main" else ["seen"]
        return ScriptedChatModel(turns)

    @hookimpl
    def deepagents_resolve_backend(self, spec):
        self.note(f"resolve_backend {spec}")
        return BackendProtocol()

    @hookimpl
    def deepagents_agent_requested(self, request):
        self.note(f"agent_requested for {request.model}")

    @hookimpl
    def deepagents_model_resolved(self, spec, model):
        assert isinstance(model, ScriptedChatModel)
        self.note(f"model_resolved {spec}")

    @hookimpl
    def deepagents_agent_planned(self, plan):
        self.note("agent_planned", plan.main.path)

    @hookimpl
    def deepagents_child_stacks(self, context):
        self.note("child_stacks", context.path)
        if context.kind == "main":
            yield ChildStack("general-purpose", "general-purpose")
            for spec in context.request.subagents:
                yield ChildStack("subagent", spec["name"], spec)

    @hookimpl
    def deepagents_tools(self, context):
        self.note("tools", context.path)

    @hookimpl
    def deepagents_system_prompt(self, context):
        self.note("system_prompt", context.path)
        return PromptPart("Be brief.")

    @hookimpl
    def deepagents_middleware(self, context):
        self.note("middleware", context.path)
        context.hooks("deepagents_echo", word=context.name)
        return MiddlewareSpec("Delegating", Delegating, self.build, adopt=self.adopt, bind=self.bind)

    @hookimpl
    def deepagents_echo(self, word):
        self.note(f"echo {word}")

    @hookimpl
    def deepagents_plan_modify(self, draft):
        self.note("plan_modify", draft.context.path)

    @hookimpl
    def deepagents_state_schema(self, context):
        self.note("state_schema", context.path)

    @hookimpl
    def deepagents_token_counter(self, context):
        self.note("token_counter", context.path)
        return lambda messages, tools: len(messages) + len(tools)

    @hookimpl
    def deepagents_plan_validate(self, plan):
        self.note("plan_validate", plan.main.path)

    @hookimpl
    def deepagents_compile(self, stack, kernel):
        self.note("compile", stack.path)

    @hookimpl
    def deepagents_agent_compiled(self, graph, plan):
        self.note("agent_compiled", plan.main.path)

    def build(self, context):
        self.note("factory", context.path)
        return Delegating()

    def adopt(self, middleware, context):
        self.note("adopt", context.path)
        return middleware

    def bind(self, middleware, stack):
        self.note("bind", stack.path)
        if not stack.children:
            return middleware

        def delegate(task: str) -> str:
            """Let the scout do it."""
            self.note("the tool runs")
            answer = stack.child("scout").handle.graph().invoke({"messages": task})
            return answer["messages"][-1].text

        bound = copy.copy(middleware)
        bound.tools = [StructuredTool.from_function(delegate)]
        return bound


def test_the_plugin_implements_every_hook_there_is():
    declared = {name for name, value in vars(hookspecs).items() if hasattr(value, "deepagents_spec")}
    implemented = {
        name for name, value in inspect.getmembers(Everything, callable) if hasattr(value, "deepagents_impl")
    }
    assert implemented == {*declared, "deepagents_echo"}


def test_every_hook_is_called_in_its_order(monkeypatch):
    plugin = Everything()
    kernel = tiny.kernel([plugin])
    assert taken(plugin) == ["addhooks", "provider_profiles", "harness_profiles", "configure"]

    assert kernel.model_facts("tiny:main").context_tokens == 9
    assert taken(plugin) == ["model_facts"]

    request = tiny.request(
        "tiny:main",
        backend="elsewhere:x",
        middleware=[type("Own", (AgentMiddleware,), {"name": "Delegating"})()],
        subagents=[{"name": "scout", "description": "Looks.", "model": "tiny:scout"}],
    )
    plan = kernel.plan(request)
    assert taken(plugin) == [
        "agent_requested for tiny:main",
        "resolve_model tiny:main",
        "model_resolved tiny:main",
        "backends",
        "resolve_backend elsewhere:x",
        "tools @ main",
        "child_stacks @ main",
        "system_prompt @ main",
        "middleware @ main",
        "echo main",
        "plan_modify @ main",
        "adopt @ main",
        "tools @ main/general-purpose",
        "child_stacks @ main/general-purpose",
        "system_prompt @ main/general-purpose",
        "middleware @ main/general-purpose",
        "echo general-purpose",
        "plan_modify @ main/general-purpose",
        "resolve_model tiny:scout",
        "model_resolved tiny:scout",
        "tools @ main/scout",
        "child_stacks @ main/scout",
        "system_prompt @ main/scout",
        "middleware @ main/scout",
        "echo scout",
        "plan_modify @ main/scout",
        "state_schema @ main/general-purpose",
        "factory @ main/general-purpose",
        "bind @ main/general-purpose",
        "state_schema @ main/scout",
        "factory @ main/scout",
        "bind @ main/scout",
        "state_schema @ main",
        "bind @ main",
        "plan_validate @ main",
        "agent_planned @ main",
    ]

    graph = kernel.compile(plan)
    assert taken(plugin) == ["compile @ main", "agent_compiled @ main"]

    answer = graph.invoke({"messages": "go"})
    assert [message.text for message in answer["messages"]][-2:] == ["seen", "done"]
    assert taken(plugin) == ["the tool runs", "compile @ main/scout"]

    plan.render(tokens=False)
    assert taken(plugin) == []
    plan.render(tokens=True)
    assert taken(plugin) == [
        "token_counter @ main",
        "token_counter @ main/general-purpose",
        "token_counter @ main/scout",
    ]

    monkeypatch.setattr("deepagents_kernel.kernel.Kernel.discover", lambda **_: kernel)
    assert app.run(["everything"]) == 0
    assert taken(plugin) == ["cli_commands", "the command runs", "unconfigure"]

    kernel.close()
    assert taken(plugin) == ["unconfigure"]


def test_a_second_agent_of_the_kernel_asks_only_what_is_asked_for_each_agent():
    plugin = Everything()
    kernel = tiny.kernel([plugin])
    kernel.plan(tiny.request())
    taken(plugin)
    kernel.compile(kernel.plan(tiny.request()), eager=True)
    calls = [call.partition(" ")[0] for call in taken(plugin)]
    assert "backends" not in calls
    assert "configure" not in calls
    assert calls[-3:] == ["compile", "compile", "agent_compiled"]


def taken(plugin):
    calls, plugin.calls = plugin.calls, []
    return calls


class Watcher:
    """An integration that only looks on."""

    def __init__(self):
        self.seen = []

    @hookimpl
    def deepagents_agent_requested(self, request):
        self.seen.append(("requested", request.name))

    @hookimpl
    def deepagents_model_resolved(self, spec, model):
        self.seen.append((spec, type(model).__name__))

    @hookimpl
    def deepagents_agent_planned(self, plan):
        tools = [name for entry in plan.main.entries for name in entry_tools(entry)]
        self.seen.append(("tools", tools, [tool.name for tool in plan.main.context.tools]))

    @hookimpl
    def deepagents_agent_compiled(self, graph):
        self.seen.append(("built", sorted(graph.nodes)))


def entry_tools(entry):
    return [tool.name for tool in getattr(entry.instance, "tools", ())]


@pytest.mark.spec("DWN-025")
def test_an_integration_sees_an_agent_being_built_without_rebinding_anything():
    watcher = Watcher()
    model = tiny.plugin(deepagents_resolve_model=lambda spec: ScriptedChatModel(["done"]))
    own = StructuredTool.from_function(lambda: "noon", name="tide", description="When the tide turns.")

    class Brings(AgentMiddleware):
        tools = [StructuredTool.from_function(lambda: "x", name="extra", description="Another one.")]

    kernel = tiny.kernel({"bundle.watcher": watcher, "model.any": model})
    kernel.create_deep_agent("any:model", [own], name="harbour", middleware=[Brings()])
    assert watcher.seen == [
        ("requested", "harbour"),
        ("any:model", "ScriptedChatModel"),
        ("tools", ["extra"], ["tide"]),
        ("built", ["__start__", "model", "tools"]),
    ]


@pytest.mark.parametrize(
    "hook",
    [
        "deepagents_agent_requested",
        "deepagents_model_resolved",
        "deepagents_agent_planned",
        "deepagents_agent_compiled",
    ],
)
def test_an_observer_that_raises_stops_nothing_and_is_logged(hook, caplog):
    def observe():
        raise RuntimeError("no ink")

    model = tiny.plugin(deepagents_resolve_model=lambda spec: ScriptedChatModel(["done"]))
    kernel = tiny.kernel({"bundle.broken": tiny.plugin(**{hook: observe}), "model.any": model})
    assert kernel.create_deep_agent("any:model")
    (record,) = [item for item in caplog.records if item.event == "hook_failed"]
    assert record.fields["plugin"] == "bundle.broken"
    assert record.fields["hook"] == hook
