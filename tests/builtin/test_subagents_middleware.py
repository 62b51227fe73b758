"""``SubAgentMiddleware`` used by itself, with a bare ``create_agent`` around it."""

import asyncio
import threading
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.types import Command, interrupt
from langsmith.run_helpers import get_tracing_context, tracing_context
from pydantic import BaseModel

from deepagents_builtin.middleware.subagents import create_sub_agent as create_sub_agent_module
from deepagents_builtin.middleware.subagents.children import CompiledChild
from deepagents_builtin.middleware.subagents.create_sub_agent import create_sub_agent
from deepagents_builtin.middleware.subagents.descriptions import GENERAL_PURPOSE_SUBAGENT
from deepagents_builtin.middleware.subagents.middleware import SubAgentMiddleware
from deepagents_builtin.middleware.subagents.response_format import SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY
from deepagents_kernel.errors import PlanError
from deepagents_kernel.testing.scripted import ScriptedChatModel


def compiled(name="r", description="does things", function=None):
    function = function or (lambda _: {"messages": [AIMessage(f"from {name}")]})
    return {"name": name, "description": description, "runnable": RunnableLambda(function)}


def declared(*turns, name="r", tools=(), **keys):
    model = ScriptedChatModel(turns or ["from the child"])
    return {"name": name, "description": "does things", "model": model, "tools": list(tools), **keys}


def middleware(*specs, **options):
    return SubAgentMiddleware(backend=object(), subagents=list(specs), **options)


def task(name="r", description="do X", call_id=None):
    call = {"name": "task", "args": {"description": description, "subagent_type": name}}
    return call if call_id is None else {**call, "id": call_id}


def agent(*specs, calls=None, turns=None, agent_options=None, **options):
    model = ScriptedChatModel(turns or [calls or [task()], "done"])
    return create_agent(model, [], middleware=[middleware(*specs, **options)], **(agent_options or {}))


def go(text="go"):
    return {"messages": [HumanMessage(text)]}


def results(outcome):
    return [message for message in outcome["messages"] if isinstance(message, ToolMessage)]


def description_of(*specs, **options):
    return middleware(*specs, **options).tools[0].description


# ------------------------------------------------------------ construction


@pytest.mark.spec("SUB-009", "SUB-010", "SUB-012", "SUB-020")
@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ([], "no subagents"),
        ([compiled("a"), compiled("a")], "two sub-agents are named 'a'"),
        ([{**compiled("a"), "mode": "isolatd"}], "nearest: isolated"),
        ([{**compiled("a"), "mode": "x"}], "subagent 'a' has mode 'x'"),
        ([{"name": "a", "description": "d", "tools": []}], "no 'model'"),
        ([{"name": "a", "description": "d", "model": ScriptedChatModel(["x"])}], "no 'tools'"),
        ([{**compiled("a"), "mode": "fork"}], "mode 'fork'"),
        ([{**compiled("a"), "graph_id": "g"}], "graph_id"),
        ([{"name": "a", "description": "d", "runnable": "x"}], "not a Runnable"),
        ([compiled("a|b")], "'|'"),
        ([compiled("a/b")], "'/'"),
        ([declared(name="a", permissions=[object()])], "'permissions' of its spec would not be enforced"),
        (
            [{**compiled("a"), "interrupt_on": {"x": True}}],
            "'interrupt_on' of its spec would not be enforced",
        ),
        ([compiled("a", description=" ")], "'description' of subagent 'a' is empty"),
        (["a"], "a sub-agent spec is a mapping"),
    ],
)
def test_a_wrong_spec_is_refused_with_the_reason(specs, said):
    with pytest.raises(ValueError) as caught:
        SubAgentMiddleware(backend=object(), subagents=specs)
    assert isinstance(caught.value, PlanError)
    assert said in str(caught.value)


def test_every_problem_is_reported_at_once():
    with pytest.raises(PlanError) as caught:
        middleware({"name": "a", "description": "d"}, compiled("b:c"), compiled("d"), compiled("d"))
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize("key", ["name", "description"])
def test_a_missing_key_is_a_key_error_that_shows_the_likely_slip(key):
    spec = compiled()
    spec[f"{key}s"] = spec.pop(key)
    with pytest.raises(KeyError, match=f"nearest: {key}s"):
        middleware(spec)


@pytest.mark.spec("SUB-010")
def test_no_mode_and_isolated_are_the_same():
    names = middleware(compiled("a"), {**compiled("b"), "mode": None}, {**compiled("c"), "mode": "isolated"})
    assert names.subagent_names == frozenset("abc")


def test_the_attributes_that_callers_use():
    one = middleware(compiled(), system_prompt="SP", private_state_keys=frozenset({"k"}))
    assert (one.name, one.system_prompt, one.private_state_keys) == (
        "SubAgentMiddleware",
        "SP",
        frozenset({"k"}),
    )
    assert isinstance(one, SubAgentMiddleware)
    assert set(GENERAL_PURPOSE_SUBAGENT) == {"name", "description", "system_prompt"}
    before = one.tools[0]
    one.private_state_keys = frozenset({"other"})
    assert one.tools[0] is not before
    assert one.private_state_keys == frozenset({"other"})


@pytest.mark.spec("ASM-028", "STATE-014")
def test_a_configured_copy_leaves_the_original_alone():
    one = middleware(compiled(), private_state_keys=frozenset({"mine"}), system_prompt="SP")
    tool = one.tools[0]
    copies = [one.configured(private_state_keys={key}) for key in ("a", "b")]
    assert [copy.private_state_keys for copy in copies] == [
        frozenset({"mine", "a"}),
        frozenset({"mine", "b"}),
    ]
    assert (one.private_state_keys, one.tools[0]) == (frozenset({"mine"}), tool)
    assert all(copy.name == one.name and copy.system_prompt == "SP" for copy in copies)


# ------------------------------------------------------------ what the model reads


@pytest.mark.spec("SUB-031")
def test_the_default_description_lists_the_agents_in_order():
    text = description_of(compiled("z", "last letter"), compiled("a", "first {letter}"))
    assert "- z: last letter\n- a: first {letter}\n" in text
    for topic in (
        "several `task` calls in one message",
        "report",
        "only researching",
        "proactively",
        "general-purpose",
    ):
        assert topic in text


@pytest.mark.spec("SUB-033", "SUB-034", "TOOL-008")
def test_only_the_placeholder_is_replaced():
    given = 'Agents:\n{available_agents}\nJSON: {"x": {y}} {}'
    assert (
        description_of(compiled("a", "A"), task_description=given) == 'Agents:\n- a: A\nJSON: {"x": {y}} {}'
    )


@pytest.mark.spec("SUB-033", "TOOL-008")
def test_a_description_without_the_placeholder_is_verbatim():
    assert description_of(compiled(), task_description="Just {braces}.") == "Just {braces}."


@pytest.mark.spec("SUB-036")
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_system_prompt_adds_one_block_with_the_list(is_async):
    model = ScriptedChatModel(["done"])
    one = create_agent(
        model, [], system_prompt="MAIN", middleware=[middleware(compiled("a", "A"), system_prompt="SP")]
    )
    await one.ainvoke(go()) if is_async else one.invoke(go())
    (system, _) = model.requests[0].messages
    main, block = system.content
    assert main == {"type": "text", "text": "MAIN"}
    assert block["text"].startswith("\n\nSP\n\n")
    assert block["text"].endswith("\n\n- a: A")
    assert len(block["text"].split("\n\n")) == 4


@pytest.mark.spec("SUB-036")
@pytest.mark.parametrize("prompt", [None, ""])
def test_without_a_system_prompt_the_model_call_is_not_wrapped(prompt):
    one = middleware(compiled(), system_prompt=prompt)
    assert one.system_prompt is None
    assert type(one).wrap_model_call is AgentMiddleware.wrap_model_call
    assert type(one).awrap_model_call is AgentMiddleware.awrap_model_call
    model = ScriptedChatModel(["done"])
    create_agent(model, [], system_prompt="MAIN", middleware=[one]).invoke(go())
    assert model.requests[0].messages[0] == SystemMessage("MAIN")


def test_a_subclass_keeps_its_own_hook_beside_the_prompt():
    class Mine(SubAgentMiddleware):
        def __init__(self):
            super().__init__(backend=object(), subagents=[compiled("a", "A")], system_prompt="SP")
            self.calls = 0

        def wrap_model_call(self, request, handler):
            self.calls += 1
            return super().wrap_model_call(request, handler)

    model = ScriptedChatModel(["done"])
    mine = Mine()
    create_agent(model, [], middleware=[mine]).invoke(go())
    assert (mine.name, mine.calls) == ("Mine", 1)
    assert model.requests[0].system.startswith("SP\n\n")


# ------------------------------------------------------------ children


@pytest.mark.spec("SUB-002", "SUB-023", "SUB-059")
def test_a_declared_child_gets_its_prompt_and_the_task():
    prompted, bare = declared(name="p", system_prompt="SYS"), declared(name="b")
    outcome = agent(prompted, bare, calls=[task("p"), task("b", "do Y")]).invoke(go())
    assert [message.text for message in results(outcome)] == ["from the child"] * 2
    assert [type(message) for message in prompted["model"].requests[0].messages] == [
        SystemMessage,
        HumanMessage,
    ]
    assert prompted["model"].requests[0].system == "SYS"
    assert [message.text for message in bare["model"].requests[0].messages] == ["do Y"]


@pytest.fixture
def compilations(monkeypatch):
    """Names of sub-agents, once for each time that one is compiled."""
    counted = []

    def counting(spec, **options):
        counted.append(spec["name"])
        return create_sub_agent(spec, **options)

    monkeypatch.setattr(create_sub_agent_module, "create_sub_agent", counting)
    return counted


@pytest.mark.spec("ASM-074")
def test_a_child_is_compiled_when_it_is_first_used_and_once(compilations):
    one = middleware(declared("x", "y", "z", name="used"), declared(name="unused"))
    one.private_state_keys = frozenset({"k"})
    calls = [[task("used"), task("used")], "done"]
    assert compilations == []
    for copy in (one, one.configured(private_state_keys={"a"})):
        create_agent(ScriptedChatModel(calls, repeat_last=True), [], middleware=[copy]).invoke(go())
    assert compilations == ["used"]


@pytest.mark.spec("SUB-058")
def test_calls_of_one_turn_run_at_the_same_time():
    barrier = threading.Barrier(5, timeout=20)

    def meet(_state):
        barrier.wait()
        return {"messages": [AIMessage("met")]}

    outcome = agent(compiled(function=meet), calls=[task() for _ in range(5)]).invoke(go())
    assert [message.text for message in results(outcome)] == ["met"] * 5


@pytest.mark.spec("SUB-058")
async def test_calls_of_one_turn_run_at_the_same_time_async():
    barrier = asyncio.Barrier(5)

    async def meet(_state):
        async with asyncio.timeout(20):
            await barrier.wait()
        return {"messages": [AIMessage("met")]}

    spec = {"name": "r", "description": "d", "runnable": RunnableLambda(lambda _: None, afunc=meet)}
    outcome = await agent(spec, calls=[task() for _ in range(5)]).ainvoke(go())
    assert [message.text for message in results(outcome)] == ["met"] * 5


@pytest.mark.spec("SUB-020")
@pytest.mark.parametrize("key", ["model", "tools"])
def test_create_sub_agent_needs_model_and_tools(key):
    spec = declared()
    del spec[key]
    with pytest.raises(ValueError, match=f"no '{key}'"):
        create_sub_agent(spec)


def test_a_state_schema_reaches_declared_children():
    class Extended(AgentState):
        extra: str

    def read(runtime: ToolRuntime) -> str:
        """Read."""
        return runtime.state["extra"]

    spec = declared(("read", {}), "ok", tools=[read])
    outer = agent(spec, agent_options={"state_schema": Extended}, state_schema=Extended)
    outer.invoke({**go(), "extra": "E"})
    assert spec["model"].requests[1].messages[-1].text == "E"


def test_private_keys_of_the_child_stay_in_the_child():
    class Secret(AgentState):
        own: Annotated[str, PrivateStateAttr]

    class Keeper(AgentMiddleware):
        state_schema = Secret

        def before_agent(self, state, runtime):
            return {"own": "s"}

    tool = middleware(declared(middleware=[Keeper()])).tools[0]
    runtime = ToolRuntime(
        state={"messages": []}, context=None, config={}, stream_writer=print, tool_call_id="c", store=None
    )
    command = tool.func(description="d", subagent_type="r", runtime=runtime)
    assert set(command.update) == {"messages"}


# ------------------------------------------------------------ config and tracing


def probe(seen):
    def look(runtime: ToolRuntime[Any, Any]) -> str:
        """Look."""
        seen.append((runtime.config, runtime.context, get_tracing_context()))
        return "seen"

    return look


@pytest.mark.spec("SUB-090", "SUB-091", "SUB-097")
@pytest.mark.parametrize("is_async", [False, True])
async def test_the_ambient_config_reaches_a_child_once(is_async):
    seen = []
    outer = agent(declared(("look", {}), "ok", tools=[probe(seen)]), agent_options={"context_schema": dict})
    config = {"tags": ["T"], "metadata": {"m": 1}, "configurable": {"user": "u"}}
    if is_async:
        await outer.ainvoke(go(), config, context={"tenant": "x"})
    else:
        outer.invoke(go(), config, context={"tenant": "x"})
    (child, context, _) = seen[0]
    assert child["tags"].count("T") == 1
    assert child["metadata"]["m"] == 1
    assert child["metadata"]["lc_agent_name"] == "r"
    assert (child["configurable"]["user"], child["configurable"]["ls_agent_type"]) == ("u", "subagent")
    assert context == {"tenant": "x"}


class Recorder(Runnable):
    """Keeps the config that it is called with, as it comes."""

    def __init__(self):
        self.configs = []

    def with_config(self, config=None, **kwargs):
        return self

    def invoke(self, input, config=None, **kwargs):
        self.configs.append(config)
        return {"messages": [AIMessage("ok")]}


@pytest.mark.spec("SUB-090")
def test_a_child_is_called_with_nothing_but_the_kind_of_agent():
    recorder = Recorder()
    outer = agent({"name": "r", "description": "d", "runnable": recorder})
    outer.invoke(go(), {"tags": ["T"], "metadata": {"m": 1}, "callbacks": []})
    (config,) = recorder.configs
    assert config == {"configurable": {"ls_agent_type": "subagent"}}


@pytest.mark.spec("SUB-092")
def test_a_compiled_runnable_is_named_on_a_copy():
    seen = []
    graph = create_agent(
        ScriptedChatModel([("look", {}), "ok", ("look", {}), "ok"]), [probe(seen)], name="own"
    )
    before = dict(graph.config)
    specs = [{"name": name, "description": "d", "runnable": graph} for name in ("one", "two")]
    outer = agent(*specs, turns=[[task("one")], [task("two")], "done"])
    outer.invoke(go())
    assert [config["metadata"]["lc_agent_name"] for config, _, _ in seen] == ["one", "two"]
    assert graph.config == before
    child = CompiledChild(specs[0])
    assert child.graph() is child.graph()
    assert child.graph().config["run_name"] == "one"


@pytest.mark.spec("SUB-093")
@pytest.mark.parametrize("is_async", [False, True])
async def test_traces_say_that_they_are_a_childs(is_async):
    seen, streamed = [], []
    outer = agent(declared(("look", {}), "ok", tools=[probe(seen)]))
    with tracing_context(enabled=False, metadata={"mine": 1}, tags=["T"], project_name="P"):
        before = get_tracing_context()
        if is_async:
            await outer.ainvoke(go())
        else:
            streamed = list(outer.stream(go(), stream_mode="messages", subgraphs=True))
        assert get_tracing_context() == before
    (config, _, inside) = seen[0]
    assert inside["metadata"] == {"mine": 1, "ls_agent_type": "subagent"}
    assert {key: inside[key] for key in ("tags", "project_name", "enabled")} == {
        "tags": ["T"],
        "project_name": "P",
        "enabled": False,
    }
    assert "ls_agent_type" not in config["metadata"]
    assert not any("ls_agent_type" in metadata for _, (_, metadata) in streamed)


@pytest.mark.spec("SUB-094")
def test_a_childs_events_stream_under_its_own_namespace():
    def shout() -> str:
        """Shout."""
        get_stream_writer()({"shout": 1})
        return "shouted"

    def events(**options):
        outer = agent(declared(("shout", {}), "ok", tools=[shout]))
        return list(outer.stream(go(), stream_mode=["messages", "custom"], **options))

    nested = [(mode, payload) for namespace, mode, payload in events(subgraphs=True) if namespace]
    spaces = {namespace for namespace, _, _ in events(subgraphs=True) if namespace}
    assert len(spaces) == 1
    assert next(iter(spaces))[0].startswith("tools:")
    assert ("custom", {"shout": 1}) in nested
    names = {payload[1]["lc_agent_name"] for mode, payload in nested if mode == "messages"}
    assert names == {"r"}
    flat = events()
    assert not any(mode == "custom" for mode, _ in flat)
    assert not any(mode == "messages" and payload[1].get("lc_agent_name") == "r" for mode, payload in flat)


# ------------------------------------------------------------ checkpoints


def asking():
    """A tool that waits for an answer."""

    def danger(what: str) -> str:
        """Danger."""
        return f"{what}: {interrupt({'what': what})}"

    return danger


THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.spec("SUB-096")
@pytest.mark.parametrize("is_async", [False, True])
async def test_parallel_children_pause_and_go_on_where_they_stopped(is_async):
    specs = [
        declared(("danger", {"what": name}), f"{name} done", name=name, tools=[asking()]) for name in "ab"
    ]
    outer = agent(*specs, calls=[task("a"), task("b")], agent_options={"checkpointer": InMemorySaver()})

    async def step(value):
        return await outer.ainvoke(value, THREAD) if is_async else outer.invoke(value, THREAD)

    paused = await step(go())
    waiting = {item.value["what"]: item.id for item in paused["__interrupt__"]}
    assert set(waiting) == {"a", "b"}
    half = await step(Command(resume={waiting["a"]: "yes"}))
    assert [item.value["what"] for item in half["__interrupt__"]] == ["b"]
    outcome = await step(Command(resume={waiting["b"]: "no"}))
    assert [message.text for message in results(outcome)] == ["a done", "b done"]
    assert [len(spec["model"].requests) for spec in specs] == [2, 2]
    assert [spec["model"].requests[1].messages[-1].text for spec in specs] == ["a: yes", "b: no"]


@pytest.mark.spec("SUB-096")
def test_interrupt_on_of_a_spec_pauses_its_child():
    def danger() -> str:
        """Danger."""
        return "did it"

    spec = declared(("danger", {}), "ok", tools=[danger], interrupt_on={"danger": True})
    outer = agent(spec, agent_options={"checkpointer": InMemorySaver()})
    paused = outer.invoke(go(), THREAD)
    assert len(paused["__interrupt__"]) == 1
    outcome = outer.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert results(outcome)[0].text == "ok"
    assert len(spec["model"].requests) == 2


def test_a_stage_of_the_spec_asks_for_interrupt_on_too():
    def danger() -> str:
        """Danger."""
        return "did it"

    mine = HumanInTheLoopMiddleware({"other": True, "send": {"allowed_decisions": ["reject"]}})
    spec = declared(
        ("danger", {}), tools=[danger], middleware=[mine], interrupt_on={"danger": True, "send": True}
    )
    outer = agent(spec, agent_options={"checkpointer": InMemorySaver()})
    (question,) = outer.invoke(go(), THREAD)["__interrupt__"]
    assert [item["name"] for item in question.value["action_requests"]] == ["danger"]
    assert list(mine.interrupt_on) == ["other", "send"]
    (merged,) = create_sub_agent_module._middleware(spec)
    assert merged.interrupt_on["send"] == {"allowed_decisions": ["reject"]}


def test_a_middleware_that_cant_ask_is_no_stage_for_interrupt_on():
    foreign = type("Foreign", (AgentMiddleware,), {"name": "HumanInTheLoopMiddleware"})()
    with pytest.raises(PlanError, match="Foreign takes the place of the approval stage"):
        create_sub_agent(declared(middleware=[foreign], interrupt_on={"x": True}))
    create_sub_agent(declared(middleware=[foreign]))


@pytest.mark.spec("SUB-095")
def test_a_child_uses_its_parents_saver_and_remembers_nothing():
    saver = InMemorySaver()
    spec = declared("one", "two")
    outer = agent(spec, turns=[[task()], [task()], "done"], agent_options={"checkpointer": saver})
    outer.invoke(go(), THREAD)
    assert [len(request.messages) for request in spec["model"].requests] == [1, 1]
    spaces = {item.config["configurable"]["checkpoint_ns"] for item in saver.list(None)}
    threads = {item.config["configurable"]["thread_id"] for item in saver.list(None)}
    assert threads == {"t"}
    assert len([space for space in spaces if space.startswith("tools:")]) == 2
    assert create_sub_agent(declared()).checkpointer is None


# ------------------------------------------------------------ response format


class Answer(BaseModel):
    """An answer."""

    value: int


class Other(BaseModel):
    """Another answer."""

    other: int


def with_format(response_format):
    return {"configurable": {SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY: response_format}}


@pytest.mark.spec("SUB-100", "SUB-102")
def test_the_caller_of_a_run_sets_the_format_of_every_child(compilations):
    turns = [
        ("Other", {"other": 1}),
        ("Answer", {"value": 2}),
        ("Answer", {"value": 3}),
        ("Other", {"other": 4}),
    ]
    spec = declared(*turns, response_format=Other)
    outer = agent(spec, turns=[[task()], "done"] * 4)
    outcomes = [
        outer.invoke(go(), config)
        for config in (None, with_format(Answer), with_format(Answer), with_format(None))
    ]
    assert [results(outcome)[0].text for outcome in outcomes] == [
        '{"other":1}',
        '{"value":2}',
        '{"value":3}',
        '{"other":4}',
    ]
    assert compilations == ["r", "r"]
    assert not any("structured_response" in outcome for outcome in outcomes)


@pytest.mark.spec("SUB-100")
def test_equal_schemas_given_as_dicts_are_compiled_once(compilations):
    def schema():
        return {
            "title": "Found",
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "description": "d",
        }

    spec = declared(("Found", {"x": 1}), ("Found", {"x": 2}))
    outer = agent(spec, turns=[[task()], "done"] * 2)
    outcomes = [outer.invoke(go(), with_format(schema())) for _ in range(2)]
    assert [results(outcome)[0].text for outcome in outcomes] == ['{"x": 1}', '{"x": 2}']
    assert compilations == ["r"]


@pytest.mark.spec("SUB-100", "SUB-102")
def test_a_planned_child_is_compiled_once_for_each_format():
    from deepagents_kernel import Kernel, make_request
    from deepagents_kernel.testing import ScriptedChatModel

    child = ScriptedChatModel(["plain", [("Answer", {"value": 2})], [("Answer", {"value": 3})]])
    main = ScriptedChatModel([[("task", {"description": "x", "subagent_type": "r"})], "done"] * 3)
    kernel = Kernel()
    spec = {"name": "r", "description": "r", "model": child}
    plan = kernel.plan(make_request(main, subagents=[spec]))
    outer = kernel.compile(plan)
    handle = plan.stack("main/r").handle
    made = []
    handle._compile_stack, compile_stack = (
        lambda stack: made.append(stack) or compile_stack(stack),
        handle._compile_stack,
    )
    outcomes = [outer.invoke(go(), config) for config in (None, with_format(Answer), with_format(Answer))]
    assert [results(outcome)[0].text for outcome in outcomes] == ["plain", '{"value":2}', '{"value":3}']
    assert [stack.context.response_format for stack in made] == [None, Answer]


@pytest.mark.spec("SUB-101")
def test_a_compiled_child_cant_be_given_a_format():
    with pytest.raises(ValueError, match="compiled already"):
        agent(compiled()).invoke(go(), with_format(Answer))
