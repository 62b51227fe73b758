"""A LangGraph server serves our agents: ``langgraph dev`` in its own process, and a client of its SDK."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from langgraph_sdk import get_client

ROOTS = os.pathsep.join(str(Path(path)) for path in sys.path if path and Path(path).is_dir())
#: Seconds that the server may take to start; on a busy machine imports alone take many.
PATIENCE = 180

# Turns that depend on the conversation alone: threads that the server runs at once don't share a script.
AGENT = """
from deepagents_kernel import create_deep_agent
from deepagents_kernel.testing import ScriptedChatModel

CALLS = {
    "write": ("write_file", {"file_path": "/out.txt", "content": "written"}),
    "edit": ("edit_file", {"file_path": "/in.txt", "old_string": "old", "new_string": "new"}),
    "delegate": ("task", {"description": "write", "subagent_type": "helper"}),
    "search": ("grep", {"pattern": "high water"}),
}

def turn(messages, tools):
    last = messages[-1]
    return CALLS[last.text] if last.type == "human" else f"heard: {last.text}"

def build(**options):
    subagents = [{"name": "helper", "description": "Helps."}]
    return create_deep_agent(ScriptedChatModel([turn], repeat_last=True), subagents=subagents, **options)

desk = build(name="desk")
careful = build(name="careful", interrupt_on={"write_file": True})
disk = build(name="disk", backend="filesystem:./work")

def fresh():
    return build(name="fresh")
"""
GRAPHS = {name: f"./agents.py:{name}" for name in ("desk", "careful", "disk", "fresh")}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment():
    """Ours without keys and tracing, and with all off that the server would use the network for."""
    ours = ("LANGGRAPH_", "LANGSMITH_", "LANGCHAIN_", "DEEPAGENTS_", "OTEL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "PYTHONPATH": ROOTS,
        "NO_PROXY": "127.0.0.1",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }


def answers(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with contextlib.suppress(OSError), opener.open(f"{url}/ok", timeout=5) as response:
        return response.status == 200
    return False


def wait_for(process, url, log):
    deadline = time.monotonic() + PATIENCE
    while not answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(
                f"the server did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}"
            )
        time.sleep(0.1)


def stop(process):
    """End the server and whatever it started; it has a process group of its own."""
    for signal_number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("server")
    (place / "agents.py").write_text(AGENT, encoding="utf-8")
    (place / "langgraph.json").write_text(
        json.dumps({"dependencies": ["."], "graphs": GRAPHS}), encoding="utf-8"
    )
    (place / "work").mkdir()
    (place / "work" / "in.txt").write_text("old, at high water\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def url(folder):
    if not all(map(importlib.util.find_spec, ("langgraph_cli", "langgraph_api", "langgraph_runtime_inmem"))):
        pytest.skip("langgraph-cli[inmem] is not installed")
    port = free_port()
    log = folder / "log.txt"
    command = [
        sys.executable,
        "-m",
        "langgraph_cli",
        "dev",
        "--no-browser",
        "--no-reload",
        "--port",
        str(port),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(process, f"http://127.0.0.1:{port}", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)


@pytest.fixture
async def client(url, monkeypatch):
    for name in ("LANGGRAPH_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with get_client(url=url) as found:
        yield found


async def run(client, graph, text, thread=None, **options):
    """Run a graph on a thread, a new one if none is given; the thread's id and the final state."""
    if thread is None:
        thread = (await client.threads.create())["thread_id"]
    message = {"messages": [{"role": "user", "content": text}], **options}
    return thread, await client.runs.wait(thread, graph, input=message)


def spoken(state):
    return [message["content"] for message in state["messages"]]


@pytest.mark.spec("DWN-001", "DWN-007")
async def test_a_run_on_a_thread_and_its_state_with_files(client):
    seeded = {"/in.txt": {"content": "old news", "encoding": "utf-8"}}
    thread, result = await run(client, "desk", "edit", files=seeded)
    assert spoken(result)[0] == "edit"
    assert spoken(result)[-1].startswith("heard: ")
    values = (await client.threads.get_state(thread))["values"]
    assert values["files"]["/in.txt"]["content"] == "new news"
    assert [message["type"] for message in values["messages"]] == ["human", "ai", "tool", "ai"]
    assert all(message["id"] for message in values["messages"])

    await run(client, "desk", "write", thread)
    state = await client.threads.get_state(thread)
    assert {path: file["content"] for path, file in state["values"]["files"].items()} == {
        "/in.txt": "new news",
        "/out.txt": "written",
    }
    assert len(state["values"]["messages"]) == 8
    assert len({message["id"] for message in state["values"]["messages"]}) == 8
    assert len(await client.threads.get_history(thread)) > 4


@pytest.mark.spec("DWN-001", "DWN-004")
async def test_a_stream_with_a_sub_agent(client):
    thread = (await client.threads.create())["thread_id"]
    parts = [
        part
        async for part in client.runs.stream(
            thread,
            "desk",
            input={"messages": [{"role": "user", "content": "delegate"}]},
            stream_mode=["updates", "messages-tuple"],
            stream_subgraphs=True,
        )
    ]
    assert "error" not in {part.event for part in parts}
    names = {
        part.event.partition("|")[2].partition(":")[0] for part in parts if part.event.startswith("updates")
    }
    assert names == {"", "tools"}
    values = (await client.threads.get_state(thread))["values"]
    assert values["files"]["/out.txt"]["content"] == "written"
    assert values["messages"][-1]["content"].startswith("heard: heard: ")


@pytest.mark.spec("DWN-001", "DWN-005")
async def test_an_approval_is_given_from_outside(client):
    thread, first = await run(client, "careful", "write")
    (interrupt,) = first["__interrupt__"]
    assert interrupt["value"]["action_requests"][0]["name"] == "write_file"
    waiting = await client.threads.get(thread)
    assert waiting["status"] == "interrupted"
    await client.runs.wait(thread, "careful", command={"resume": {"decisions": [{"type": "approve"}]}})
    values = (await client.threads.get_state(thread))["values"]
    assert values["files"]["/out.txt"]["content"] == "written"


@pytest.mark.spec("DWN-001")
async def test_files_on_disk_are_read_and_written_without_blocking_the_loop(client, folder):
    # The development server raises on blocking calls in the event loop, and a run then fails.
    for text in ("edit", "write", "search", "delegate"):
        _, result = await run(client, "disk", text)
        assert result["messages"][-2].get("status") == "success", result["messages"][-2]
        assert "Blocking" not in json.dumps(result)
    assert (folder / "work" / "in.txt").read_text(encoding="utf-8") == "new, at high water\n"
    assert (folder / "work" / "out.txt").read_text(encoding="utf-8") == "written"


@pytest.mark.spec("DWN-001")
async def test_a_factory_is_served_like_a_graph(client):
    _, result = await run(client, "fresh", "write")
    assert result["files"]["/out.txt"]["content"] == "written"


@pytest.mark.spec("DWN-001")
async def test_the_server_can_describe_the_agent(client):
    (assistant,) = await client.assistants.search(graph_id="desk")
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    for kind in ("input_schema", "output_schema", "state_schema"):
        assert {"messages", "files"} <= set(schemas[kind]["properties"]), kind
    graph = await client.assistants.get_graph(assistant["assistant_id"])
    assert {"model", "tools"} <= {node["id"] for node in graph["nodes"]}
