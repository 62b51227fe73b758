"""The order of every stack, row by row, with stand-ins where the real plugin is not here yet."""

import pytest
from standins import (
    AsyncSubAgentMiddleware,
    MemoryMiddleware,
    SkillsMiddleware,
    full_table,
    make,
    named,
    names,
    orders,
)

from deepagents_kernel import HarnessProfile, Kernel, make_request
from deepagents_kernel._builtin import load_table
from deepagents_kernel.testing import ScriptedChatModel


@pytest.fixture(scope="module")
def kernel():
    return Kernel(builtins=full_table())


@pytest.fixture
def plan(kernel):
    def build(**arguments):
        return kernel.plan(make_request(ScriptedChatModel(["done"]), **arguments))

    return build


def everything():
    """Every option that adds an entry to a stack."""
    return {
        "profile": HarnessProfile(extra_middleware=lambda: [make("A")], excluded_tools={"grep"}),
        "middleware": [make("B")],
        "skills": ["/skills"],
        "memory": ["/memory.md"],
        "interrupt_on": {"write_file": True},
        "subagents": [
            {"name": "a", "description": "async", "graph_id": "g"},
            {"name": "d", "description": "declared", "skills": ["/own"]},
            {"name": "f", "description": "forked", "mode": "fork"},
        ],
    }


@pytest.mark.spec("ASM-001", "ASM-005")
def test_no_options(plan):
    assert orders(plan()) == {"main": "FS SA PN SUM PTC AC UC", "general-purpose": "FS SUM PTC AC UC"}


def test_the_built_ins_that_are_here(request):
    kernel = Kernel()
    plan = kernel.plan(make_request(ScriptedChatModel(["done"])))
    assert orders(plan) == {"main": "FS SA PTC AC", "general-purpose": "FS PTC AC"}


@pytest.mark.spec("ASM-002", "ASM-003", "ASM-004", "SUB-014")
def test_every_option(plan):
    found = orders(plan(**everything()))
    assert found["main"] == "FS SA PN SUM PTC Async B A SK AC MEM HITL UC TX"
    # The profile given for this one agent is for main and general-purpose; the guard is last in every stack.
    assert found["general-purpose"] == "FS SUM PTC A SK AC HITL UC TX"
    assert found["d"] == "FS SUM PTC SK AC HITL UC"
    assert found["f"] == "FS Fork SUM PTC B SK AC MEM HITL UC"


@pytest.mark.spec("ASM-004", "SUB-014", "TEX-005", "TEX-006")
def test_a_registered_profile_reaches_declared_and_forked_children(plan):
    kernel = Kernel(builtins=full_table())
    kernel.profiles.register_harness(
        "here:m", HarnessProfile(extra_middleware=lambda: [make("A")], excluded_tools={"grep"})
    )
    options = {**everything(), "profile": None}
    model = ScriptedChatModel(["done"], provider="here", model_name="m")
    found = orders(kernel.plan(make_request(model, **options)))
    assert found["d"] == "FS SUM PTC A SK AC HITL UC TX"
    assert found["f"] == "FS Fork SUM PTC B A SK AC MEM HITL UC TX"


@pytest.mark.spec("TEX-006", "TOOL-015")
def test_a_child_on_another_model_has_the_exclusions_of_its_own_profile():
    kernel = Kernel(builtins=full_table())
    kernel.profiles.register_harness("here:m", HarnessProfile(excluded_tools={"grep"}))
    kernel.profiles.register_harness("here:n", HarnessProfile(excluded_tools={"glob"}))
    other = ScriptedChatModel(["done"], provider="here", model_name="n")
    plan = kernel.plan(
        make_request(
            ScriptedChatModel(["done"], provider="here", model_name="m"),
            subagents=[{"name": "d", "description": "d", "model": other}],
        )
    )
    guards = {stack.name: stack.entries[-1].instance.excluded for stack in plan.stacks()}
    assert guards == {"main": {"grep"}, "general-purpose": {"grep"}, "d": {"glob"}}


@pytest.mark.spec("ASM-003")
def test_callers_middleware_keeps_its_order_ahead_of_the_tail(plan):
    found = orders(plan(middleware=[make("B"), make("A")], memory=["/m"]))
    assert found["main"] == "FS SA PN SUM PTC B A AC MEM UC"


@pytest.mark.spec("HP-005", "ASM-027", "ASM-083")
def test_empty_lists_count_and_none_does_not(plan):
    assert "SK" in names(plan(skills=[]).main)
    assert "MEM" in names(plan(memory=[]).main)
    assert "SK" in names(plan(skills=[]).main.child("general-purpose"))
    assert orders(plan(skills=None, memory=None, middleware=None)) == orders(plan())
    assert "HITL" not in names(plan(interrupt_on={}).main)
    assert "HITL" in names(plan(interrupt_on={"grep": False}).main)


@pytest.mark.spec("ASM-064", "SUB-006", "HP-002")
def test_without_inline_subagents_there_is_no_task_tool(plan):
    from deepagents_kernel import GeneralPurposeSubagentProfile

    off = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False))
    assert orders(plan(profile=off)) == {"main": "FS PN SUM PTC AC UC"}
    asynchronous = [{"name": "a", "description": "a", "graph_id": "g"}]
    assert orders(plan(profile=off, subagents=asynchronous)) == {"main": "FS PN SUM PTC Async AC UC"}


@pytest.mark.spec("ASM-062", "ASM-063", "SUB-003", "SUB-004", "SUB-005")
def test_general_purpose_is_first_unless_the_caller_has_one(plan):
    described = {"description": "x"}
    added = plan(subagents=[{"name": "d", **described}])
    assert [stack.name for stack in added.main.children] == ["general-purpose", "d"]
    own = plan(subagents=[{"name": "d", **described}, {"name": "general-purpose", **described}])
    assert [stack.name for stack in own.main.children] == ["d", "general-purpose"]
    assert own.main.child("general-purpose").context.kind == "subagent"
    remote = plan(subagents=[{"name": "general-purpose", **described, "graph_id": "g"}])
    assert [stack.context.kind for stack in remote.main.children] == ["general-purpose"]


@pytest.mark.spec("ASM-060", "ASM-061", "SUB-001", "SUB-002")
def test_specs_are_classified_by_their_keys(plan):
    from langchain_core.runnables import RunnableLambda

    compiled = RunnableLambda(lambda state: state)
    found = plan(
        subagents=[
            {"name": "both", "description": "x", "graph_id": "g", "runnable": compiled},
            {"name": "compiled", "description": "x", "runnable": compiled},
            {"name": "declared", "description": "x"},
        ]
    )
    assert [stack.name for stack in found.main.children] == ["general-purpose", "declared"]
    task = next(entry for entry in found.main.entries if entry.name == "SubAgentMiddleware").instance
    assert task.subagent_names == {"general-purpose", "compiled", "declared"}
    assert any(type(entry.instance) is AsyncSubAgentMiddleware for entry in found.main.entries)


@pytest.mark.spec("ASM-022", "ASM-023")
def test_a_passed_skills_middleware_takes_the_slot_with_and_without_sources(plan):
    custom = SkillsMiddleware(["/mine"])
    for options in ({}, {"skills": ["/other"]}):
        found = plan(middleware=[custom], **options)
        assert orders(found) == {
            "main": "FS SA PN SUM PTC SK AC UC",
            "general-purpose": "FS SUM PTC SK AC UC",
        }
        assert found.main.entries[5].instance is custom
        assert found.main.child("general-purpose").entries[3].instance is custom
    own = SkillsMiddleware(["/own"])
    child = plan(subagents=[{"name": "d", "description": "d", "middleware": [own]}]).main.child("d")
    assert names(child) == "FS SUM PTC SK AC UC"
    assert child.entries[3].instance is own


@pytest.mark.spec("ASM-020")
def test_a_custom_skills_middleware_reaches_forks_and_not_declared_children(plan):
    custom = SkillsMiddleware(["/mine"])
    found = plan(
        middleware=[custom],
        subagents=[{"name": "d", "description": "d"}, {"name": "f", "description": "f", "mode": "fork"}],
    )
    assert orders(found)["d"] == "FS SUM PTC AC UC"
    assert orders(found)["f"] == "FS Fork SUM PTC SK AC UC"


@pytest.mark.spec("ASM-021")
def test_a_subclass_with_another_name_is_a_middleware_of_its_own(plan):
    other = type("OtherSkills", (SkillsMiddleware,), {})(["/q"])
    found = orders(plan(middleware=[other]))
    assert found == {"main": "FS SA PN SUM PTC OtherSkills AC UC", "general-purpose": "FS SUM PTC AC UC"}


@pytest.mark.spec("ASM-018", "ASM-019")
def test_memory_and_approval_given_without_their_parameter_find_their_slots(plan):
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    memory = MemoryMiddleware(["/m"])
    assert names(plan(middleware=[memory]).main) == "FS SA PN SUM PTC AC MEM UC"
    approval = HumanInTheLoopMiddleware({"ls": True})
    found = plan(middleware=[approval])
    assert orders(found) == {"main": "FS SA PN SUM PTC AC HITL UC", "general-purpose": "FS SUM PTC AC UC"}
    assert found.main.entries[-2].instance is approval


def test_third_party_tail_entries_follow_the_profiles_extras():
    from deepagents_kernel import MiddlewareSpec, Segment, hookimpl

    class Audit:
        @hookimpl
        def deepagents_middleware(self):
            audit = make("Audit")
            return MiddlewareSpec("Audit", type(audit), lambda _: audit, segment=Segment.TAIL)

    kernel = Kernel([("middleware.audit", Audit())], builtins=full_table())
    profile = HarnessProfile(extra_middleware=lambda: [make("A")])
    plan = kernel.plan(make_request(ScriptedChatModel(["done"]), memory=["/m"], profile=profile))
    assert names(plan.main) == "FS SA PN SUM PTC A Audit AC MEM UC"


def test_stand_ins_stand_only_for_plugins_that_are_not_here():
    assert not {"middleware.summarization", "middleware.skills", "middleware.memory"} & set(
        load_table().plugins
    )
    assert named("X").name == "X"
