"""What stands in the file, and that the plugin is found where it is installed."""

import asyncio
import json
import threading
from pathlib import Path

import pytest
from deepagents_kernel import make_request
from deepagents_kernel.testing import ScriptedChatModel, assert_problem, assert_stack, assert_tools
from langchain_core.tools import tool

import deepagents_audit_log
from deepagents_audit_log import AuditLogMiddleware

NAME = "middleware.audit-log"
LOOK = [[("ls", {"path": "/"})], "done"]


@pytest.fixture
def log(tmp_path):
    """The file, which is not there yet."""
    return tmp_path / "audit.jsonl"


@pytest.fixture
def agent(make_kernel, log):
    """Make an agent whose calls are recorded in the file."""

    def make(turns, settings=None, **arguments):
        settings = {NAME: {"path": str(log), **(settings or {})}}
        kernel = make_kernel((NAME, deepagents_audit_log), settings=settings)
        return kernel.create_deep_agent(ScriptedChatModel(turns), **arguments)

    return make


def entries(log):
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_it_is_the_outermost_middleware_of_every_stack(make_kernel):
    kernel = make_kernel((NAME, deepagents_audit_log))
    plan = kernel.plan(
        make_request(ScriptedChatModel(["done"]), subagents=[{"name": "r", "description": "R"}])
    )
    for stack in plan.stacks():
        assert_stack(plan, stack.path, ["AuditLogMiddleware", "FilesystemMiddleware"], exact=False)
        assert stack.entries[0].name == "AuditLogMiddleware"
    assert_tools(plan, "main", lacks="audit")


def test_a_call_is_recorded(agent, log):
    agent(LOOK).invoke({"messages": "look around"})
    (entry,) = entries(log)
    assert (entry["stack"], entry["tool"], entry["arguments"]) == ("main", "ls", {"path": "/"})
    assert entry["outcome"] == "success"
    assert 0 <= entry["seconds"] < 60
    assert entry["time"] > 1_700_000_000


def test_an_async_call_is_recorded(agent, log):
    asyncio.run(agent(LOOK).ainvoke({"messages": "look around"}))
    assert [(entry["tool"], entry["outcome"]) for entry in entries(log)] == [("ls", "success")]


def test_the_calls_of_a_sub_agent_are_recorded_and_its_failure_too(agent, log):
    reader = {
        "name": "reader",
        "description": "R",
        "model": ScriptedChatModel([LOOK[0], ValueError("no ink")]),
    }
    turns = [[("task", {"description": "read", "subagent_type": "reader"})], "done"]
    agent(turns, subagents=[reader]).invoke({"messages": "go"})
    found = [(entry["stack"], entry["tool"], entry["outcome"]) for entry in entries(log)]
    assert found == [("main/reader", "ls", "success"), ("main", "task", "error")]


@tool
def burn(what: str) -> str:
    """Burn something."""
    raise RuntimeError(what)


def test_a_call_that_ends_the_run_is_recorded(agent, log):
    burning = agent([[("burn", {"what": "toast"})]], tools=[burn])
    with pytest.raises(RuntimeError, match="toast"):
        burning.invoke({"messages": "go"})
    with pytest.raises(RuntimeError, match="toast"):
        asyncio.run(agent([[("burn", {"what": "toast"})]], tools=[burn]).ainvoke({"messages": "go"}))
    assert [entry["outcome"] for entry in entries(log)] == ["raised", "raised"]


def test_a_message_of_an_error_is_one(agent, log):
    agent([[("read_file", {"file_path": "/nothing"})], "done"]).invoke({"messages": "go"})
    assert [entry["outcome"] for entry in entries(log)] == ["error"]


def test_arguments_are_shortened(agent, log):
    write = ("write_file", {"file_path": "/a.txt", "content": "ä" * 500})
    agent([[write], "done"], {"max_chars": 10}).invoke({"messages": "go"})
    assert entries(log)[0]["arguments"] == {"file_path": "/a.txt", "content": "ä" * 10}


def test_a_file_that_cannot_be_written_ends_the_run(agent, tmp_path):
    with pytest.raises(FileNotFoundError):
        agent(LOOK, {"path": str(tmp_path / "none" / "audit.jsonl")}).invoke({"messages": "go"})


def test_agents_of_several_threads_write_to_one_file(agent, log):
    agents = [agent([[("ls", {"path": f"/{number}-{'x' * 150}"})] * 20, "done"]) for number in range(6)]
    threads = [threading.Thread(target=each.invoke, args=({"messages": "go"},)) for each in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    paths = [entry["arguments"]["path"][:2] for entry in entries(log)]
    assert sorted(paths) == sorted(f"/{number}" for number in range(6) for _ in range(20))


@pytest.mark.parametrize(("key", "value"), [("path", ""), ("max_chars", 0), ("max_char", 10)])
def test_settings_that_make_no_sense_are_refused(make_kernel, key, value):
    settings = {NAME: {key: value}}
    assert_problem(lambda: make_kernel((NAME, deepagents_audit_log), settings=settings), f"{NAME}.{key}")


def test_it_is_found_where_it_is_installed(plugin_environment):
    environment = plugin_environment()
    environment.install_editable(Path(__file__).parents[1])
    code = f"from deepagents_kernel import Kernel; print(Kernel.discover().catalog.row({NAME!r}))"
    done = environment.python(code)
    assert "deepagents-audit-log" in done.stdout, done.stderr
    assert "<PluginState.ENABLED" in done.stdout
    assert AuditLogMiddleware.__module__ in done.stdout
