"""What a child stack takes over from its parent: model, profile, approvals."""

import subprocess
import sys

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from standins import full_table, names

from deepagents_kernel import HarnessProfile, Kernel, create_deep_agent, make_request
from deepagents_kernel.testing import ScriptedChatModel

CHILD = {"name": "d", "description": "d"}


@pytest.fixture
def kernel():
    return Kernel(builtins=full_table())


@pytest.mark.spec("ASM-067", "ASM-068")
def test_a_child_without_a_model_has_its_parents_model_and_the_profile_of_the_parents_spec(kernel, tmp_path):
    script = tmp_path / "turns.json"
    script.write_text('[{"text": "done"}]', encoding="utf-8")
    spec = f"scripted:{script}"
    kernel.profiles.register_harness("scripted", HarnessProfile(system_prompt_suffix="BY SPEC"))
    kernel.profiles.register_harness("elsewhere", HarnessProfile(system_prompt_suffix="BY INSTANCE"))
    children = [CHILD, {"name": "f", "description": "f", "mode": "fork"}]
    plan = kernel.plan(make_request(spec, subagents=children))
    assert len({id(stack.context.model) for stack in plan.stacks()}) == 1
    # All four agree, whatever the instance reports of itself.
    assert {stack.context.profile.key for stack in plan.stacks()} == {"scripted"}
    other = ScriptedChatModel(["done"], provider="elsewhere", model_name="m")
    plan = kernel.plan(make_request(spec, subagents=[{**CHILD, "model": other}]))
    assert plan.stack("main/d").context.model is other
    assert plan.stack("main/d").prompt == "BY INSTANCE"
    plan = kernel.plan(make_request(other, subagents=[{**CHILD, "model": None}]))
    assert plan.stack("main/d").context.model is other


def asked_of(stack):
    found = [entry.instance for entry in stack.entries if entry.name == "HumanInTheLoopMiddleware"]
    return set(found[0].interrupt_on) if found else None


@pytest.mark.spec("ASM-084", "SUB-018", "BY-083")
@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, {"ls"}),
        ({"interrupt_on": {}}, None),
        ({"interrupt_on": None}, None),
        ({"interrupt_on": {"grep": True}}, {"grep"}),
    ],
)
def test_a_childs_own_approvals_take_the_place_of_its_parents(kernel, own, expected):
    plan = kernel.plan(
        make_request(ScriptedChatModel(["done"]), interrupt_on={"ls": True}, subagents=[{**CHILD, **own}])
    )
    assert asked_of(plan.stack("main/d")) == expected
    assert asked_of(plan.stack("main/general-purpose")) == {"ls"}


@pytest.mark.spec("ASM-085")
def test_a_compiled_child_inherits_no_approvals():
    seen = []

    def run(state):
        seen.append(state)
        return {"messages": [("ai", "ran")]}

    model = ScriptedChatModel([[("task", {"description": "x", "subagent_type": "c"})], "done"])
    agent = create_deep_agent(
        model,
        interrupt_on={"ls": True},
        checkpointer=InMemorySaver(),
        subagents=[{"name": "c", "description": "c", "runnable": RunnableLambda(run)}],
    )
    result = agent.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "1"}})
    assert "__interrupt__" not in result
    assert len(seen) == 1


@pytest.mark.spec("ASM-087")
def test_a_childs_own_approval_middleware_takes_the_slot_instead_of_standing_beside_it(kernel):
    own = HumanInTheLoopMiddleware({"grep": True})
    children = [
        {**CHILD, "middleware": [own]},
        {"name": "f", "description": "f", "mode": "fork"},
    ]
    plan = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            interrupt_on={"ls": True},
            middleware=[HumanInTheLoopMiddleware({"glob": True})],
            subagents=children,
        )
    )
    assert names(plan.stack("main/d")).count("HITL") == names(plan.stack("main/f")).count("HITL") == 1
    assert asked_of(plan.stack("main/d")) == {"grep", "ls"}
    assert asked_of(plan.stack("main/f")) == asked_of(plan.main) == {"glob", "ls"}
    assert set(own.interrupt_on) == {"grep"}


@pytest.mark.spec("ASM-084")
def test_an_inherited_approval_stops_the_child_and_is_given_from_outside():
    model = ScriptedChatModel(
        [
            [("task", {"description": "x", "subagent_type": "d"})],
            [("write_file", {"file_path": "/a", "content": "x"})],
            "child done",
            "done",
        ]
    )
    agent = create_deep_agent(
        model, interrupt_on={"write_file": True}, checkpointer=InMemorySaver(), subagents=[CHILD]
    )
    config = {"configurable": {"thread_id": "1"}}
    result = agent.invoke({"messages": [("user", "go")]}, config)
    (interrupt,) = result["__interrupt__"]
    assert interrupt.value["action_requests"][0]["name"] == "write_file"
    result = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert result["files"]["/a"]["content"] == "x"
    assert result["messages"][-1].text == "done"


@pytest.mark.spec("TOOL-016", "ASM-074", "TEX-011")
def test_excluding_task_hides_it_and_costs_no_compilation():
    kernel = Kernel()
    model = ScriptedChatModel([[("task", {"description": "x", "subagent_type": "d"})], "done"])
    profile = HarnessProfile(excluded_tools={"task"})
    plan = kernel.plan(make_request(model, profile=profile, subagents=[CHILD]))
    result = kernel.compile(plan).invoke({"messages": [("user", "go")]})
    assert "task" not in model.requests[0].tool_names
    assert [message.status for message in result["messages"] if message.type == "tool"] == ["error"]
    assert [child.handle.compilations for child in plan.main.children] == [0, 0]


@pytest.mark.spec("BY-094")
def test_a_run_opens_every_text_file_with_a_named_encoding(tmp_path):
    (tmp_path / "notes.md").write_text(
        "# Größe\n\nEin Satz über Äpfel und Birnen steht hier.\n", encoding="utf-8"
    )
    command = [
        *(sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning"),
        *("-m", "deepagents_kernel", "run", "Report", "--workspace", str(tmp_path), "--model", "offline"),
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Größe" in (tmp_path / "REPORT.md").read_text(encoding="utf-8")
