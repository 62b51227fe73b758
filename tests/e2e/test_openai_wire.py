"""What a model is really sent: agents and the command against an OpenAI server on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai_server import HttpError, OpenAIServer

from deepagents_kernel import (
    HarnessProfile,
    Kernel,
    PluginInfo,
    ProviderProfile,
    create_deep_agent,
    hookimpl,
)

FILE_TOOLS = ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]
#: Argument names and JSON types of each tool, and which of them are required.
ARGUMENTS = {
    "ls": ({"path": "string"}, ["path"]),
    "read_file": ({"file_path": "string", "offset": "integer", "limit": "integer"}, ["file_path"]),
    "write_file": ({"file_path": "string", "content": "string"}, ["file_path", "content"]),
    "edit_file": (
        {"file_path": "string", "old_string": "string", "new_string": "string", "replace_all": "boolean"},
        ["file_path", "old_string", "new_string"],
    ),
    "glob": ({"pattern": "string", "path": "string|null"}, ["pattern"]),
    "grep": (
        {
            "pattern": "string",
            "path": "string|null",
            "glob": "string|null",
            "output_mode": "string",
            "max_count": "integer|null",
        },
        ["pattern"],
    ),
    "task": ({"description": "string", "subagent_type": "string"}, ["description", "subagent_type"]),
}
QUIET = {"name": "quiet", "description": "Says little."}
POET = {"name": "poet", "description": "Writes verse.", "system_prompt": "You write verse."}


def model(server, **fields):
    return ChatOpenAI(model="gpt-x", base_url=server.base_url, api_key="x", **fields)


def kernel_of(profile):
    """A kernel with one harness profile for every model of the provider."""

    class House:
        PLUGIN = PluginInfo(name="harness.house")

        @hookimpl
        def deepagents_harness_profiles(self):
            return [("openai", profile)]

    return Kernel([House()])


@pytest.fixture(params=["invoke", "ainvoke", "stream", "astream"])
def drive(request):
    """Run an agent in one of four ways, to its final state."""
    config = {"recursion_limit": 50}

    async def run(agent, **state):
        state.setdefault("messages", "hi")
        match request.param:
            case "invoke":
                return agent.invoke(state, config)
            case "ainvoke":
                return await agent.ainvoke(state, config)
            case "stream":
                items = list(agent.stream(state, config, stream_mode=["messages", "values"]))
            case _:
                items = [
                    item async for item in agent.astream(state, config, stream_mode=["messages", "values"])
                ]
        assert "messages" in {mode for mode, _ in items}
        return [data for mode, data in items if mode == "values"][-1]

    return run


def typed(schema):
    """The JSON types of a property, the alternatives joined."""
    return "|".join(part["type"] for part in schema.get("anyOf", [schema]))


# -- tools ---------------------------------------------------------------------------------------


@pytest.mark.spec("DWN-007", "SUB-030")
async def test_the_tools_their_order_and_their_arguments(drive):
    with OpenAIServer("done") as server:
        await drive(create_deep_agent(model(server)))
    tools = server.requests[0].tools
    assert list(tools) == [*FILE_TOOLS, "task"]
    for name, (arguments, required) in ARGUMENTS.items():
        parameters = tools[name]["parameters"]
        assert {key: typed(value) for key, value in parameters["properties"].items()} == arguments, name
        assert parameters["required"] == required, name


async def test_nothing_injected_is_in_a_schema_of_any_agent(drive):
    turns = [[("task", {"description": "x", "subagent_type": "general-purpose"})], "child", "done"]
    with OpenAIServer(turns) as server:
        await drive(create_deep_agent(model(server)))
    assert len(server.requests) == 3
    for request in server.requests:
        for name, found in request.tools.items():
            arguments = found["parameters"]["properties"]
            assert {"runtime", "state", "store", "tool_call_id"}.isdisjoint(arguments), name
            assert "$defs" not in found["parameters"], name


async def test_tools_of_the_caller_come_last(drive):
    @tool
    def tide(harbour: str) -> str:
        """When the tide turns."""
        return f"noon at {harbour}"

    with OpenAIServer([[("tide", {"harbour": "Leith"})], "done"]) as server:
        result = await drive(create_deep_agent(model(server), [tide]))
    assert list(server.requests[0].tools) == [*FILE_TOOLS, "task", "tide"]
    assert server.requests[1].messages[-1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "noon at Leith",
    }
    assert result["messages"][-1].text == "done"


@pytest.mark.spec("TOOL-010", "TOOL-011", "TEX-006")
async def test_excluded_tools_are_not_sent_and_not_run(drive):
    kernel = kernel_of(HarnessProfile(excluded_tools={"grep", "write_file"}))
    turns = [[("write_file", {"file_path": "/a", "content": "x"})], "done"]
    with OpenAIServer(turns) as server:
        result = await drive(create_deep_agent(model(server), kernel=kernel))
    for request in server.requests:
        assert list(request.tools) == ["ls", "read_file", "edit_file", "glob", "task"]
    assert "files" not in result or "/a" not in result["files"]
    refusal = server.requests[1].messages[-1]
    assert refusal["tool_call_id"] == "call_1"
    assert refusal["content"].startswith("Error:")


@pytest.mark.spec("TOOL-014")
async def test_without_any_tool_no_tools_are_sent(drive):
    kernel = kernel_of(HarnessProfile(excluded_tools={*FILE_TOOLS, "task"}))
    with OpenAIServer("done") as server:
        await drive(create_deep_agent(model(server), kernel=kernel))
    assert "tools" not in server.requests[0].json


@pytest.mark.spec("TOOL-002", "TOOL-006", "SUB-035")
async def test_overridden_descriptions_are_sent(drive):
    @tool
    def tide(harbour: str) -> str:
        """When the tide turns."""
        return harbour

    overrides = {"ls": "Show a folder.", "task": "Ask: {available_agents}", "tide": "Tides.", "grep": ""}
    kernel = kernel_of(HarnessProfile(tool_description_overrides=overrides))
    with OpenAIServer("done") as server:
        await drive(create_deep_agent(model(server), [tide], kernel=kernel, subagents=[POET]))
    texts = {name: found["description"] for name, found in server.requests[0].tools.items()}
    assert (texts["ls"], texts["tide"]) == ("Show a folder.", "Tides.")
    assert texts["task"].startswith("Ask: ")
    assert "- poet: Writes verse." in texts["task"]
    assert texts["grep"].startswith("Search")
    assert tide.description == "When the tide turns."


# -- prompts -------------------------------------------------------------------------------------


@pytest.mark.spec("PRM-001")
async def test_the_prompt_is_one_message_of_user_base_and_suffix(drive):
    kernel = kernel_of(HarnessProfile(base_system_prompt="BASE", system_prompt_suffix="SUFFIX"))
    with OpenAIServer("done") as server:
        await drive(create_deep_agent(model(server), system_prompt="USER", kernel=kernel))
    assert server.requests[0].roles == ["system", "user"]
    assert server.requests[0].system == ["USER\n\nBASE\n\nSUFFIX"]


@pytest.mark.spec("BY-046", "PRM-002", "SUB-023")
async def test_without_a_prompt_there_is_no_system_message(drive):
    turns = [[("task", {"description": "hush", "subagent_type": "quiet"})], "...", "done"]
    with OpenAIServer(turns) as server:
        await drive(create_deep_agent(model(server), subagents=[QUIET]))
    assert [request.roles for request in server.requests] == [
        ["user"],
        ["user"],
        ["user", "assistant", "tool"],
    ]
    assert server.requests[1].messages == [{"role": "user", "content": "hush"}]


@pytest.mark.spec("PRM-010", "SUB-023", "SUB-030")
async def test_a_sub_agent_has_its_own_prompt_and_no_task_tool(drive):
    turns = [[("task", {"description": "on rain", "subagent_type": "poet"})], "It rains.", "done"]
    with OpenAIServer(turns) as server:
        result = await drive(create_deep_agent(model(server), system_prompt="USER", subagents=[POET]))
    main, child, after = server.requests
    assert (main.system, child.system, after.system) == (["USER"], ["You write verse."], ["USER"])
    assert child.messages[1:] == [{"role": "user", "content": "on rain"}]
    assert list(child.tools) == FILE_TOOLS
    assert after.messages[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "It rains."}
    assert result["messages"][-1].text == "done"


# -- the conversation ----------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [False, True])
async def test_messages_come_in_order_and_results_next_to_their_calls(drive, streaming):
    calls = [
        ("write_file", {"file_path": "/b.txt", "content": "größe"}),
        ("read_file", {"file_path": "/a.txt"}),
        ("read_file", {"file_path": "/nowhere.txt"}),
    ]
    files = {"/a.txt": {"content": "seeded", "encoding": "utf-8"}}
    with OpenAIServer(["first", calls, "second"]) as server:
        agent = create_deep_agent(model(server, streaming=streaming, stream_usage=True), system_prompt="S")
        first = await drive(agent)
        second = await drive(agent, messages=[*first["messages"], ("user", "again")], files=files)
    last = server.requests[2]
    assert last.roles == ["system", "user", "assistant", "user", "assistant", "tool", "tool", "tool"]
    asked = last.messages[4]["tool_calls"]
    assert [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in asked] == calls
    results = last.messages[5:]
    assert [message["tool_call_id"] for message in results] == [call["id"] for call in asked]
    assert "seeded" in results[1]["content"]
    assert "/nowhere.txt" in results[2]["content"]
    # The same conversation, byte for byte: what a provider has cached stays good.
    for earlier, later in zip(server.requests, server.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.json["tools"] == earlier.json["tools"]
    assert second["files"]["/b.txt"]["content"] == "größe"
    assert second["messages"][-1].text == "second"
    assert second["messages"][-1].usage_metadata["input_tokens"] == 80


async def test_tokens_come_one_by_one_and_calls_in_pieces():
    turns = [[("write_file", {"file_path": "/a.txt", "content": "x" * 40})], "a long answer"]
    with OpenAIServer(turns) as server:
        agent = create_deep_agent(model(server, streaming=True))
        items = [item async for item in agent.astream({"messages": "hi"}, stream_mode="messages")]
    chunks = [chunk for chunk, meta in items if meta["langgraph_node"] == "model"]
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert len(texts) > 1
    assert "".join(texts) == "a long answer"
    pieces = [piece["args"] for chunk in chunks for piece in chunk.tool_call_chunks]
    assert len(pieces) > 2
    assert json.loads("".join(pieces)) == {"file_path": "/a.txt", "content": "x" * 40}


async def test_sub_agents_side_by_side_are_answered_each_on_its_own_call(drive):
    def child(request):
        return f"about {request.messages[-1]['content']}"

    tasks = [("task", {"description": word, "subagent_type": "poet"}) for word in ("rain", "snow", "hail")]

    def turn(request):
        if request.system == ["You write verse."]:
            return child(request)
        return "done" if request.roles[-1] == "tool" else tasks

    with OpenAIServer([turn], repeat_last=True) as server:
        await drive(create_deep_agent(model(server), subagents=[POET]))
    assert len(server.requests) == 5
    last = server.requests[-1]
    assert [message["content"] for message in last.messages[-3:]] == [
        "about rain",
        "about snow",
        "about hail",
    ]
    assert [message["tool_call_id"] for message in last.messages[-3:]] == ["call_1", "call_2", "call_3"]


# -- how the model is built ----------------------------------------------------------------------


#: The server speaks chat completions; the profile of OpenAI would ask it for responses.
CHAT = {"provider.openai": {"use_responses_api": False}}


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the-key")


@pytest.mark.usefixtures("key")
@pytest.mark.spec("MOD-002")
async def test_what_a_provider_profile_says_reaches_the_wire(drive):
    with OpenAIServer("done") as server:
        kernel = Kernel(settings=CHAT)
        kernel.profiles.register_provider(
            "openai", ProviderProfile(init_kwargs={"base_url": server.base_url, "temperature": 0.25})
        )
        kernel.profiles.register_provider(
            "openai:gpt-x", ProviderProfile(init_kwargs={"default_headers": {"x-house": "yes"}, "seed": 7})
        )
        await drive(create_deep_agent("openai:gpt-x", kernel=kernel))
    (request,) = server.requests
    sent = {name: request.json[name] for name in ("model", "temperature", "seed")}
    assert sent == {"model": "gpt-x", "temperature": 0.25, "seed": 7}
    assert (request.headers["x-house"], request.headers["authorization"]) == ("yes", "Bearer the-key")


@pytest.mark.usefixtures("key")
async def test_settings_of_the_plugin_reach_the_wire_over_the_profile(drive):
    with OpenAIServer("done") as server:
        options = {"base_url": server.base_url, "options": {"temperature": 0.5}}
        kernel = Kernel(settings={"model.init-chat-model": options, **CHAT})
        kernel.profiles.register_provider(
            "openai", ProviderProfile(init_kwargs={"temperature": 0.25, "seed": 7})
        )
        await drive(create_deep_agent("openai:gpt-x", kernel=kernel))
    assert (server.requests[0].json["temperature"], server.requests[0].json["seed"]) == (0.5, 7)


@pytest.mark.usefixtures("key")
async def test_settings_of_one_agent_reach_the_wire_for_its_children_too(drive):
    turns = [[("task", {"description": "x", "subagent_type": "poet"})], "child", "done"]
    with OpenAIServer(turns) as server:
        agent = create_deep_agent(
            "openai:gpt-x",
            subagents=[{**POET, "model": "openai:gpt-small"}],
            settings={
                "model.init-chat-model": {"base_url": server.base_url, "options": {"seed": 7}},
                **CHAT,
            },
        )
        await drive(agent)
    assert [request.json["model"] for request in server.requests] == ["gpt-x", "gpt-small", "gpt-x"]
    assert [request.json["seed"] for request in server.requests] == [7, 7, 7]


@pytest.mark.usefixtures("key")
async def test_a_sub_agent_with_another_model_asks_for_that_one(drive):
    turns = [[("task", {"description": "x", "subagent_type": "poet"})], "child", "done"]
    with OpenAIServer(turns) as server:
        kernel = Kernel(settings={"model.init-chat-model": {"base_url": server.base_url}, **CHAT})
        kernel.profiles.register_harness("openai:gpt-small", HarnessProfile(excluded_tools={"grep"}))
        agent = create_deep_agent(
            "openai:gpt-x", subagents=[{**POET, "model": "openai:gpt-small"}], kernel=kernel
        )
        await drive(agent)
    assert [request.json["model"] for request in server.requests] == ["gpt-x", "gpt-small", "gpt-x"]
    assert ["grep" in request.tools for request in server.requests] == [True, False, True]


# -- the command ---------------------------------------------------------------------------------

ROOTS = os.pathsep.join(str(Path(path)) for path in sys.path if path and Path(path).is_dir())


def run_command(server, workspace, *flags):
    options = [
        "--workspace",
        str(workspace),
        "--model",
        "openai:gpt-x",
        "--base-url",
        server.base_url,
        "-p",
        "no:provider.openai",
        *flags,
    ]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DEEPAGENTS_", "OPENAI_"))
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "deepagents_kernel", "run", "Write the log", *options],
        env={**kept, "PYTHONPATH": ROOTS, "OPENAI_API_KEY": "x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_command_writes_the_file_that_the_model_asked_for(tmp_path):
    (tmp_path / "in.txt").write_text("high water at noon\n", encoding="utf-8")
    turns = [
        [("read_file", {"file_path": "/in.txt"})],
        [("write_file", {"file_path": "/out/log.md", "content": "# Log\n\nHöchststand.\n"})],
        "The log is written.",
    ]
    with OpenAIServer(turns) as server:
        result = run_command(server, tmp_path, "--system-prompt", "Be brief.")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "out" / "log.md").read_bytes() == "# Log\n\nHöchststand.\n".encode()
    assert "The log is written." in result.stdout
    assert "created: out/log.md" in result.stdout
    first, second, _ = server.requests
    assert first.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Write the log"},
    ]
    assert "high water at noon" in second.messages[-1]["content"]
    # The host's path of the workspace is nobody's business but the user's.
    assert all(str(tmp_path).encode() not in request.body for request in server.requests)


@pytest.mark.parametrize("status", [401, 500])
def test_an_error_of_the_server_is_one_line_of_the_command(tmp_path, status):
    with OpenAIServer([HttpError(status, "no luck")], repeat_last=True) as server:
        result = run_command(server, tmp_path)
    assert result.returncode == 1, result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("deepagents-kernel: ")
    assert str(status) in line
    assert "no luck" in line
    assert "Traceback" not in result.stdout
    assert len(server.requests) == 1


def test_an_error_in_the_middle_keeps_what_was_done(tmp_path):
    turns = [[("write_file", {"file_path": "/a.txt", "content": "x"})], HttpError(500, "no luck")]
    with OpenAIServer(turns) as server:
        result = run_command(server, tmp_path, "--json")
    last = json.loads(result.stdout.splitlines()[-1])
    assert (result.returncode, last["status"], last["files"]["created"]) == (1, "failed", ["a.txt"])
    assert "no luck" in last["error"]


def test_a_sub_agent_that_fails_is_told_in_the_transcript_and_ends_nothing(tmp_path):
    def turn(request):
        if "task" not in request.tools:
            return HttpError(500, "no luck")
        return (
            "done"
            if request.roles[-1] == "tool"
            else [("task", {"description": "x", "subagent_type": "general-purpose"})]
        )

    with OpenAIServer([turn], repeat_last=True) as server:
        result = run_command(server, tmp_path)
    assert result.returncode == 0
    assert "no luck" in result.stdout
    assert "done" in result.stdout
    assert "Traceback" not in result.stderr
