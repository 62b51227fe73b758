"""``middleware.todo-list``: off by default, and in every stack when it is on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from langchain.agents.middleware import TodoListMiddleware

from deepagents_builtin.middleware.todo_list import plugin
from deepagents_kernel import HarnessProfile, Kernel, Segment, create_deep_agent, make_request
from deepagents_kernel.plugins.catalog import PluginState
from deepagents_kernel.testing import ScriptedChatModel

POET = {"name": "poet", "description": "Writes verse.", "system_prompt": "You write verse."}


def enabled(**options):
    return Kernel.discover(enable=["middleware.todo-list"], autoload=False, **options)


def lists(plan):
    return {
        stack.path: [entry for entry in stack.entries if entry.name == "TodoListMiddleware"]
        for stack in plan.stacks()
    }


def plan_of(kernel, **options):
    return kernel.plan(make_request(ScriptedChatModel(["done"]), subagents=[POET], **options))


def test_it_is_off_until_it_is_enabled():
    kernel = Kernel()
    row = kernel.catalog.row("middleware.todo-list")
    assert (row.state, row.why) == (PluginState.DISCOVERED, "off by default")
    assert "plugins enable middleware.todo-list" in row.hint
    assert set(map(len, lists(plan_of(kernel)).values())) == {0}


def test_it_is_in_every_stack_when_it_is_on():
    found = lists(plan_of(enabled()))
    assert list(found) == ["main", "main/general-purpose", "main/poet"]
    for (entry,) in found.values():
        assert (entry.plugin, entry.segment, type(entry.instance)) == (
            "middleware.todo-list",
            Segment.TAIL,
            TodoListMiddleware,
        )


def test_a_profile_that_brings_one_fills_the_slot_and_adds_none():
    own = TodoListMiddleware(system_prompt="Keep it short.")
    found = lists(plan_of(enabled(), profile=HarnessProfile(extra_middleware=[own])))
    (main,), (general,), (poet,) = found.values()
    assert main.instance is general.instance is own
    # A profile for one agent is not the profile of a declared child.
    assert poet.instance is not own


def test_a_callers_takes_the_slot():
    own = TodoListMiddleware(system_prompt="Keep it short.")
    (main,), (general,), (poet,) = lists(plan_of(enabled(), middleware=[own])).values()
    assert main.instance is general.instance is own
    assert poet.instance is not own


@pytest.mark.parametrize("exclusion", ["TodoListMiddleware", TodoListMiddleware])
def test_a_profile_can_exclude_it(exclusion):
    kernel = enabled()
    kernel.profiles.register_harness("scripted", HarnessProfile(excluded_middleware={exclusion}))
    assert set(map(len, lists(plan_of(kernel)).values())) == {0}


def test_a_list_is_kept_in_the_state_and_children_keep_their_own():
    def turn(messages, tools):
        child = "You write verse." in messages[0].text
        last = messages[-1]
        if last.type == "human":
            return [
                ("write_todos", {"todos": [{"content": "verse" if child else "main", "status": "pending"}]})
            ]
        if not child and last.name == "write_todos":
            return [("task", {"description": "x", "subagent_type": "poet"})]
        return "done"

    model = ScriptedChatModel([turn], repeat_last=True)
    agent = create_deep_agent(model, kernel=enabled(), subagents=[POET])
    result = agent.invoke({"messages": "go"})
    assert result["todos"] == [{"content": "main", "status": "pending"}]
    assert all("write_todos" in request.tool_names for request in model.requests)


def test_the_slot_is_the_same_object_each_time():
    assert plugin.deepagents_middleware() is plugin.deepagents_middleware()


CODE = """
import sys
import deepagents_builtin.middleware.todo_list.plugin
print([name for name in ("langchain", "langchain_core", "langgraph") if name in sys.modules])
from deepagents_kernel import Kernel
Kernel()
print("deepagents_builtin.middleware.todo_list.plugin" in sys.modules)
"""


def test_the_plugin_imports_no_langchain_before_it_is_asked():
    roots = os.pathsep.join(path for path in sys.path if path and Path(path).is_dir())
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYTHONPATH": roots},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines()[0] == "[]"
