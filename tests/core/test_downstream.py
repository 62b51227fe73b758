"""What packages, servers and interfaces that are built on a deep agent rely on."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, Literal, get_type_hints

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AIMessageChunk, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from deepagents_kernel import (
    DeepAgentState,
    HarnessProfile,
    Kernel,
    create_deep_agent,
    get_kernel,
    make_request,
)
from deepagents_kernel.backends import StateBackend
from deepagents_kernel.contracts.system_message import append_to_system_message
from deepagents_kernel.errors import PlanWarning
from deepagents_kernel.middleware import (
    AsyncSubAgent,
    CompiledSubAgent,
    FilesystemMiddleware,
    PatchToolCallsMiddleware,
    SubAgent,
    SubAgentMiddleware,
)
from deepagents_kernel.models import get_model_identifier, get_model_provider
from deepagents_kernel.testing import ScriptedChatModel

FILE_TOOLS = ("ls", "read_file", "write_file", "edit_file", "glob", "grep")
THREAD: Any = {"configurable": {"thread_id": "t"}}


def scripted(*turns, **fields):
    return ScriptedChatModel(turns, **fields)


def task(text, name="general-purpose"):
    return ("task", {"description": text, "subagent_type": name})


def write(path, content="x"):
    return ("write_file", {"file_path": path, "content": content})


# -- the graph -----------------------------------------------------------------------------------


@pytest.mark.spec("DWN-001")
async def test_the_agent_is_a_compiled_state_graph():
    agent = create_deep_agent(scripted("done", repeat_last=True), name="desk")
    assert isinstance(agent, CompiledStateGraph)
    for other in (
        agent.copy({"config": {"recursion_limit": 7}}),
        agent.with_config({"recursion_limit": 7}),
    ):
        assert isinstance(other, CompiledStateGraph)
        assert other.config["recursion_limit"] == 7
        assert other.nodes.keys() == agent.nodes.keys()
        assert other.invoke({"messages": "hi"})["messages"][-1].text == "done"
    assert agent.config["recursion_limit"] == 9_999


@pytest.mark.spec("DWN-001")
async def test_a_checkpointer_can_be_assigned_and_the_state_read_and_changed():
    agent = create_deep_agent(scripted([write("/a.txt")], "first", "second"))
    agent.checkpointer = InMemorySaver()
    async for _ in agent.astream({"messages": "hi"}, THREAD):
        pass
    state = await agent.aget_state(THREAD)
    assert state.next == ()
    assert [message.type for message in state.values["messages"]] == ["human", "ai", "tool", "ai"]
    assert state.values["files"]["/a.txt"]["content"] == "x"
    history = [item async for item in agent.aget_state_history(THREAD)]
    assert len(history) > 3
    assert history[0].values["messages"][-1].text == "first"

    await agent.aupdate_state(THREAD, {"messages": [("user", "more")]}, as_node="__start__")
    assert (await agent.aget_state(THREAD)).next != ()
    result = await agent.ainvoke(None, THREAD)
    assert [message.text for message in result["messages"][-3:]] == ["first", "more", "second"]
    # An earlier point of the thread can be gone back to.
    again = agent.get_state(history[0].config)
    assert again.values["messages"][-1].text == "first"


@pytest.mark.spec("DWN-001")
async def test_events_tell_of_models_and_tools():
    agent = create_deep_agent(scripted([write("/a.txt")], "a long answer"))
    events = [event async for event in agent.astream_events({"messages": "hi"}, version="v2")]
    kinds = {event["event"] for event in events}
    assert {
        "on_chain_start",
        "on_chat_model_stream",
        "on_chat_model_end",
        "on_tool_start",
        "on_tool_end",
    } <= kinds
    (started,) = [event for event in events if event["event"] == "on_tool_start"]
    assert (started["name"], started["data"]["input"]["file_path"]) == ("write_file", "/a.txt")
    text = [event["data"]["chunk"].text for event in events if event["event"] == "on_chat_model_stream"]
    assert "".join(text) == "a long answer"


@pytest.mark.spec("DWN-001")
def test_what_goes_in_and_out_has_a_json_schema():
    # What a server shows of an agent; a state key whose type has no schema takes all the others with it.
    agent = create_deep_agent(scripted("done"))
    for schema in (agent.get_input_jsonschema(), agent.get_output_jsonschema()):
        assert {"messages", "files"} <= set(schema["properties"])
        assert schema["$defs"]["FileData"]["required"] == ["content", "encoding"]


# -- the signature -------------------------------------------------------------------------------

ARGUMENTS = (
    "model",
    "tools",
    "system_prompt",
    "middleware",
    "subagents",
    "skills",
    "memory",
    "permissions",
    "backend",
    "interrupt_on",
    "response_format",
    "state_schema",
    "context_schema",
    "checkpointer",
    "store",
    "debug",
    "name",
    "cache",
    "kernel",
    "profile",
    "settings",
    "eager",
)


@pytest.mark.spec("DWN-002")
def test_every_parameter_is_listed_by_name():
    parameters = inspect.signature(create_deep_agent).parameters
    assert tuple(parameters) == ARGUMENTS
    kinds = [parameter.kind for parameter in parameters.values()]
    assert kinds[:2] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2
    assert set(kinds[2:]) == {inspect.Parameter.KEYWORD_ONLY}
    assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters.values())
    assert {*inspect.signature(make_request).parameters, "kernel", "eager"} == set(parameters)


@pytest.mark.spec("DWN-002")
def test_a_caller_that_filters_by_signature_passes_everything():
    class Answer(BaseModel):
        text: str

    class Extra(AgentMiddleware):
        pass

    wanted = {
        "model": scripted("done"),
        "tools": [],
        "system_prompt": "hello",
        "middleware": [Extra()],
        "subagents": [{"name": "helper", "description": "Helps."}],
        "skills": None,
        "memory": None,
        "permissions": None,
        "backend": "state",
        "interrupt_on": {"ls": True},
        "response_format": ToolStrategy(Answer),
        "state_schema": DeepAgentState,
        "context_schema": None,
        "checkpointer": InMemorySaver(),
        "store": InMemoryStore(),
        "debug": False,
        "name": "desk",
        "cache": InMemoryCache(),
        "kernel": get_kernel(),
        "profile": HarnessProfile(),
        "settings": {},
        "eager": True,
        "something_of_another_library": 1,
    }
    allowed = inspect.signature(create_deep_agent).parameters
    passed = {name: value for name, value in wanted.items() if name in allowed}
    assert set(wanted) - set(passed) == {"something_of_another_library"}
    agent = create_deep_agent(**passed)
    assert agent.get_name() == "desk"
    assert agent.checkpointer is wanted["checkpointer"]
    assert agent.store is wanted["store"]


@pytest.mark.spec("DWN-002")
def test_model_and_tools_may_be_positional():
    @tool
    def ping() -> str:
        """Say pong."""
        return "pong"

    model = scripted([("ping", {})], "done")
    result = create_deep_agent(model, [ping]).invoke({"messages": "hi"})
    assert result["messages"][-2].text == "pong"


# -- nodes and streams ---------------------------------------------------------------------------


@pytest.mark.spec("DWN-003")
def test_the_nodes_and_the_tools_that_can_run():
    @tool
    def ping() -> str:
        """Say pong."""
        return "pong"

    agent = create_deep_agent(scripted("done"), [ping])
    assert {"__start__", "model", "tools"} <= set(agent.nodes)
    node = agent.nodes["tools"].bound
    assert isinstance(node, ToolNode)
    assert set(node.tools_by_name) == {*FILE_TOOLS, "task", "ping"}
    assert {found.name: found for found in node.tools_by_name.values()} == node.tools_by_name
    assert "ping" in agent.get_graph().nodes["tools"].data.tools_by_name


@pytest.mark.spec("DWN-004")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_stream_tells_who_says_what(asynchronous):
    agent = create_deep_agent(
        scripted([task("look")], [("ls", {"path": "/"})], "the child", "the parent"), system_prompt="S"
    )
    modes: Any = {"stream_mode": ["updates", "messages"], "subgraphs": True}
    if asynchronous:
        items = [item async for item in agent.astream({"messages": "hi"}, **modes)]
    else:
        items = list(agent.stream({"messages": "hi"}, **modes))
    assert {mode for _, mode, _ in items} == {"updates", "messages"}
    assert all(isinstance(namespace, tuple) for namespace, _, _ in items)
    spoken: dict[bool, str] = {True: "", False: ""}
    for namespace, mode, data in items:
        if mode == "messages":
            chunk, metadata = data
            assert metadata["langgraph_node"] in ("model", "tools")
            if isinstance(chunk, AIMessageChunk):
                assert metadata["langgraph_node"] == "model"
                spoken[namespace == ()] += chunk.text
    assert spoken == {True: "the parent", False: "the child"}
    (child,) = {namespace for namespace, _, _ in items if namespace}
    assert child[0].startswith("tools:")
    # The updates of a node are named after it, in the child as in the main agent.
    for wanted in ((), child):
        nodes = [
            next(iter(data)) for namespace, mode, data in items if (namespace, mode) == (wanted, "updates")
        ]
        assert {"model", "tools"} <= set(nodes)


# -- approvals -----------------------------------------------------------------------------------


def approving(*turns, **options):
    return create_deep_agent(
        scripted(*turns), checkpointer=InMemorySaver(), interrupt_on={"write_file": True}, **options
    )


@pytest.mark.spec("DWN-005")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_approval_appears_among_the_updates(asynchronous):
    agent = approving([write("/a.txt", "one"), write("/b.txt", "two")], "done")
    if asynchronous:
        items = [item async for item in agent.astream({"messages": "hi"}, THREAD, stream_mode="updates")]
    else:
        items = list(agent.stream({"messages": "hi"}, THREAD, stream_mode="updates"))
    ((interrupt,),) = [item["__interrupt__"] for item in items if "__interrupt__" in item]
    requests = interrupt.value["action_requests"]
    assert [(item["name"], item["args"]) for item in requests] == [
        ("write_file", {"file_path": "/a.txt", "content": "one"}),
        ("write_file", {"file_path": "/b.txt", "content": "two"}),
    ]
    assert all("/a.txt" in item["description"] or "/b.txt" in item["description"] for item in requests)
    reviews = interrupt.value["review_configs"]
    assert [item["action_name"] for item in reviews] == ["write_file", "write_file"]
    assert all({"approve", "edit", "reject"} <= set(item["allowed_decisions"]) for item in reviews)
    assert "/a.txt" not in agent.get_state(THREAD).values.get("files", {})
    assert agent.get_state(THREAD).next != ()


APPROVE = {"type": "approve"}
EDIT = {
    "type": "edit",
    "edited_action": {"name": "write_file", "args": {"file_path": "/b.txt", "content": "changed"}},
}
REJECT = {"type": "reject", "message": "not there"}


@pytest.mark.spec("DWN-005")
@pytest.mark.parametrize(
    ("decision", "files"),
    [(APPROVE, {"/a.txt": "one"}), (EDIT, {"/b.txt": "changed"}), (REJECT, {})],
    ids=["approve", "edit", "reject"],
)
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_decision_continues_the_run(decision, files, asynchronous):
    agent = approving([write("/a.txt", "one")], "done")
    resume = Command(resume={"decisions": [decision]})
    if asynchronous:
        assert "__interrupt__" in await agent.ainvoke({"messages": "hi"}, THREAD)
        result = await agent.ainvoke(resume, THREAD)
    else:
        assert "__interrupt__" in agent.invoke({"messages": "hi"}, THREAD)
        result = agent.invoke(resume, THREAD)
    assert {path: file["content"] for path, file in result.get("files", {}).items()} == files
    assert result["messages"][-1].text == "done"
    answer = result["messages"][-2]
    assert isinstance(answer, ToolMessage)
    if decision is REJECT:
        assert (answer.status, "not there" in answer.text) == ("error", True)


@pytest.mark.spec("DWN-005")
def test_an_approval_of_a_sub_agent_reaches_the_caller_and_goes_back():
    agent = approving([task("write it")], [write("/a.txt", "one")], "child", "done")
    (interrupt,) = agent.invoke({"messages": "hi"}, THREAD)["__interrupt__"]
    assert interrupt.value["action_requests"][0]["args"]["file_path"] == "/a.txt"
    result = agent.invoke(Command(resume={"decisions": [APPROVE]}), THREAD)
    assert result["files"]["/a.txt"]["content"] == "one"
    assert [message.text for message in result["messages"][-2:]] == ["child", "done"]


# -- names and keys ------------------------------------------------------------------------------


@pytest.mark.spec("DWN-007")
def test_tool_and_argument_names_are_exact():
    node = create_deep_agent(scripted("done")).nodes["tools"].bound
    arguments = {name: tuple(found.args) for name, found in node.tools_by_name.items()}
    assert arguments == {
        "ls": ("path",),
        "read_file": ("file_path", "offset", "limit"),
        "write_file": ("file_path", "content"),
        "edit_file": ("file_path", "old_string", "new_string", "replace_all"),
        "glob": ("pattern", "path"),
        "grep": ("pattern", "path", "glob", "output_mode", "max_count"),
        "task": ("description", "subagent_type"),
    }


@pytest.mark.spec("DWN-007")
def test_files_can_be_given_and_are_read_from_the_result():
    seeded = {"/in.txt": {"content": "a\nb", "encoding": "utf-8"}}
    model = scripted(
        [("edit_file", {"file_path": "/in.txt", "old_string": "a", "new_string": "A"}), write("/out.txt")],
        [task("write", "general-purpose")],
        [write("/child.txt", "from the child")],
        "child",
        "done",
    )
    files = create_deep_agent(model).invoke({"messages": "hi", "files": seeded})["files"]
    assert {path: file["content"] for path, file in files.items()} == {
        "/in.txt": "A\nb",
        "/out.txt": "x",
        "/child.txt": "from the child",
    }
    assert set(files["/out.txt"]) == {"content", "encoding", "created_at", "modified_at"}
    assert seeded == {"/in.txt": {"content": "a\nb", "encoding": "utf-8"}}


# -- middleware in a built-in's place ------------------------------------------------------------


class TidyFiles(FilesystemMiddleware):
    """A subclass that takes the built-in's place."""

    name = "FilesystemMiddleware"


class OwnPatch(AgentMiddleware):
    """No relative of the built-in, but of its name."""

    name = "PatchToolCallsMiddleware"

    def before_agent(self, state: Any, runtime: Any) -> Any:
        return {"messages": [AIMessage("patched")]}


@pytest.mark.spec("DWN-008")
@pytest.mark.parametrize(
    ("make", "base"),
    [
        (lambda: TidyFiles(tools=["read_file"]), FilesystemMiddleware),
        (OwnPatch, PatchToolCallsMiddleware),
        (lambda: FilesystemMiddleware(tools=["read_file", "ls"]), FilesystemMiddleware),
    ],
    ids=["subclass", "stranger", "same class"],
)
def test_middleware_of_a_built_ins_name_takes_its_slot(make, base):
    given = make()
    kernel = get_kernel()
    before = kernel.plan(make_request(scripted("done"))).main
    after = kernel.plan(make_request(scripted("done"), middleware=[given])).main
    assert [entry.name for entry in after.entries] == [entry.name for entry in before.entries]
    (entry,) = [entry for entry in after.entries if entry.name == given.name]
    assert entry.origin == "caller"
    assert type(entry.instance) is type(given)
    assert not any(type(item.instance) is base and type(given) is not base for item in after.entries)


@pytest.mark.spec("DWN-008")
def test_what_takes_a_slot_really_runs():
    model = scripted("done")
    agent = create_deep_agent(model, middleware=[TidyFiles(tools=["read_file"]), OwnPatch()])
    result = agent.invoke({"messages": "hi"})
    assert model.requests[0].tool_names == ("read_file", "task")
    assert [message.text for message in result["messages"]] == ["hi", "patched", "done"]
    assert set(agent.nodes["tools"].bound.tools_by_name) == {"read_file", "task"}


@pytest.mark.spec("DWN-008")
def test_a_sub_agent_middleware_of_the_caller_takes_the_slot_of_the_task_tool():
    class Teams(SubAgentMiddleware):
        name = "SubAgentMiddleware"

    child = scripted("from the team")
    spec = {"name": "team", "description": "Helps.", "model": child, "tools": []}
    model = scripted([task("go", "team")], "done")
    agent = create_deep_agent(model, middleware=[Teams(backend=StateBackend(), subagents=[spec])])
    result = agent.invoke({"messages": "hi"})
    assert result["messages"][-2].text == "from the team"
    assert "- team: Helps." in model.requests[0].tools[-1].description
    assert "- general-purpose:" not in model.requests[0].tools[-1].description


# -- specs ---------------------------------------------------------------------------------------


class Researcher(SubAgent):
    """A package's own kind of sub-agent."""

    budget: int


class Wrapped(CompiledSubAgent):
    owner: str


class Remote(AsyncSubAgent):
    region: Literal["eu", "us"]


@pytest.mark.spec("DWN-020")
@pytest.mark.parametrize(
    ("cls", "key"),
    [(Researcher, "budget"), (Wrapped, "owner"), (Remote, "region")],
    ids=lambda value: str(value),
)
def test_specs_are_typed_dicts_that_can_be_subclassed(cls, key):
    hints = get_type_hints(cls)
    assert {"name", "description", key} <= set(hints)
    assert {"name", "description", key} <= cls.__required_keys__
    spec = cls(name="a", description="b", **{key: "c"})
    assert (type(spec), spec[key]) == (dict, "c")


@pytest.mark.spec("DWN-020")
def test_unknown_keys_are_kept_and_reported_once_with_the_nearest_name():
    spec = Researcher(name="helper", description="Helps.", budget=3, sytem_prompt="You help.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        agent = create_deep_agent(scripted([task("go", "helper")], "child", "done"), subagents=[spec])
        result = agent.invoke({"messages": "hi"})
    assert result["messages"][-2].text == "child"
    (warning,) = [item for item in caught if issubclass(item.category, PlanWarning)]
    text = str(warning.message)
    assert "'budget'" in text
    assert "'sytem_prompt'" in text
    assert "system_prompt" in text.replace("sytem_prompt", "")
    assert warning.filename == __file__
    assert spec["budget"] == 3


@pytest.mark.spec("DWN-020")
def test_what_a_package_keeps_in_a_spec_is_there_for_its_hooks():
    plan = get_kernel().plan(
        make_request(scripted("done"), subagents=[Researcher(name="helper", description="Helps.", budget=3)])
    )
    assert plan.main.child("helper").context.spec["budget"] == 3


# -- helpers -------------------------------------------------------------------------------------


@pytest.mark.spec("DWN-021")
def test_the_public_homes_of_prompt_and_model_helpers():
    cached = {"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}
    message = append_to_system_message(SystemMessage([cached]), "two")
    assert message.content == [cached, {"type": "text", "text": "\n\ntwo"}]

    model = scripted("done", provider="acme", model_name="m-1")
    assert (get_model_provider(model), get_model_identifier(model)) == ("acme", "m-1")


@pytest.mark.spec("DWN-021")
def test_a_string_becomes_a_model_as_it_would_in_an_agent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    kernel = Kernel(settings={"model.init-chat-model": {"options": {"temperature": 0.5}}})
    model = kernel.resolve_model("openai:gpt-x")
    assert (get_model_provider(model), get_model_identifier(model)) == ("openai", "gpt-x")
    assert model.temperature == 0.5
    assert kernel.resolve_model(model) is model


# -- override points -----------------------------------------------------------------------------


@pytest.mark.spec("DWN-022")
def test_a_subclass_of_the_filesystem_middleware_makes_its_own_tools():
    written = []

    class Audited(FilesystemMiddleware):
        """Notes what is written, and hides what `ls` says."""

        name = "FilesystemMiddleware"

        def build_tool(self, name: Any) -> Any:
            made = super().build_tool(name)
            if name == "ls":
                return made.model_copy(update={"description": "Look."})
            if name != "write_file":
                return made

            def audited(file_path: str, content: str, runtime: ToolRuntime) -> Any:
                """Write a file, and note it."""
                written.append(file_path)
                return made.func(file_path=file_path, content=content, runtime=runtime)

            return StructuredTool.from_function(audited, name="write_file", args_schema=made.args_schema)

    model = scripted([write("/a.txt")], [task("x")], [write("/b.txt")], "child", "done")
    result = create_deep_agent(model, middleware=[Audited()]).invoke({"messages": "hi"})
    assert set(result["files"]) == {"/a.txt", "/b.txt"}
    # The general-purpose sub-agent has the caller's file tools, too.
    assert written == ["/a.txt", "/b.txt"]
    for request in (model.requests[0], model.requests[2]):
        assert request.tool_names[:6] == FILE_TOOLS
        assert request.tools[0].description == "Look."


@pytest.mark.spec("DWN-022")
def test_the_override_point_is_documented():
    text = inspect.getdoc(FilesystemMiddleware.build_tool) or ""
    assert "Override it" in text
    assert "build_tool" in vars(FilesystemMiddleware)


# -- tools that middleware brings ----------------------------------------------------------------


class Tides(AgentMiddleware):
    """Brings two tools."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = [
            StructuredTool.from_function(lambda: "noon", name=name, description="When the tide turns.")
            for name in ("high_water", "low_water")
        ]


@pytest.mark.spec("DWN-024")
def test_tools_of_a_middleware_are_seen_by_model_node_and_plan():
    model = scripted([("high_water", {})], "done")
    plan = get_kernel().plan(make_request(model, middleware=[Tides()]))
    agent = get_kernel().compile(plan)
    result = agent.invoke({"messages": "hi"})
    assert result["messages"][-2].text == "noon"
    assert {"high_water", "low_water"} <= set(model.requests[0].tool_names)
    assert {"high_water", "low_water"} <= set(agent.nodes["tools"].bound.tools_by_name)
    assert "high_water" in plan.render(tokens=False)
    document = plan.to_dict()
    (entry,) = [item for item in document["main"]["entries"] if item["name"] == "Tides"]
    assert {"high_water", "low_water"} <= set(entry["tools"])


@pytest.mark.spec("DWN-024")
def test_tools_of_a_middleware_can_be_excluded_and_described():
    model = scripted([("low_water", {})], "done")
    profile = HarnessProfile(excluded_tools={"low_water"})
    agent = create_deep_agent(model, middleware=[Tides()], profile=profile)
    result = agent.invoke({"messages": "hi"})
    refusal = result["messages"][-2]
    assert (refusal.status, refusal.text.startswith("Error:")) == ("error", True)
    for request in model.requests:
        assert "high_water" in request.tool_names
        assert "low_water" not in request.tool_names
