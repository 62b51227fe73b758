"""Assertions about plans: what passes, and what a failure tells."""

import json

import pytest
import tiny
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool

from deepagents_kernel import (
    HarnessProfile,
    Kernel,
    MiddlewareSpec,
    PlanError,
    PluginError,
    PluginInfo,
    Segment,
)
from deepagents_kernel.testing import assert_problem, assert_same_plan, assert_stack, assert_tools


@pytest.fixture
def kernel():
    return tiny.kernel(
        {
            "middleware.audit": tiny.slots(tiny.slot("Audit", segment=Segment.TAIL)),
            "middleware.first": tiny.slots(tiny.slot("First", before=("Second",))),
            "middleware.second": tiny.slots(tiny.slot("Second"), kinds="main"),
            "middleware.subagents": tiny.children(),
        }
    )


@pytest.fixture
def plan(kernel):
    return kernel.plan(tiny.request())


def failure(function, *args, **options):
    with pytest.raises(AssertionError) as caught:
        function(*args, **options)
    return str(caught.value)


def test_a_stack_as_it_is(plan):
    assert_stack(plan, "main", ["First", "Second", "Audit"])
    assert_stack(plan, "main/general-purpose", ("First", "Audit"))
    assert_stack(plan, "main", ["First", "Audit"], exact=False)
    assert_stack(plan, "main", [], exact=False)


def test_both_orders_stand_side_by_side_with_who_and_why(plan):
    text = failure(assert_stack, plan, "main", ["Second", "Audit", "First"])
    assert text.splitlines() == [
        "the middleware of stack 'main' are not what was expected",
        "    expected  planned",
        "  +           First    core, plugin middleware.first: asks to be before Second",
        "    Second    Second   core, plugin middleware.second: end of the core segment, by plugin name",
        "    Audit     Audit    tail, plugin middleware.audit: opens the tail, behind what the profile adds",
        "  - First",
    ]


def test_others_in_between_are_no_fault_where_they_are_allowed(plan):
    text = failure(assert_stack, plan, "main", ["Audit", "First"], exact=False)
    assert "do not have in this order" in text
    assert [line[:3] for line in text.splitlines()[2:]] == ["   ", "   ", "   ", "  -"]
    assert text.splitlines()[-1] == "  - First"


@pytest.mark.parametrize("exact", [True, False])
def test_an_order_is_not_a_set(plan, exact):
    failure(assert_stack, plan, "main", ["First", "First", "Second", "Audit"], exact=exact)
    failure(assert_stack, plan, "main", "First Second Audit", exact=exact)
    failure(assert_stack, plan, "main", ["Second", "First", "Audit"], exact=exact)


def test_a_missing_middleware_is_looked_for(kernel, plan):
    text = failure(assert_stack, plan, "main/general-purpose", ["First", "Second", "Adit"])
    assert "Second is in main" in text
    assert "Adit is in no stack; nearest: Audit" in text
    profile = HarnessProfile(excluded_middleware={"Second"})
    left_out = kernel.plan(tiny.request(profile=profile))
    assert "Second was left out: excluded by profile" in failure(
        assert_stack, left_out, "main", ["First", "Second", "Audit"]
    )


def test_a_middleware_of_the_caller_is_told_from_those_of_plugins(kernel):
    plan = kernel.plan(tiny.request(middleware=[tiny.middleware_class("Mine")()]))
    assert "Mine     user, middleware=: in the caller's order" in failure(assert_stack, plan, "main", [])


@pytest.mark.parametrize("function", [lambda plan, path: assert_stack(plan, path, []), assert_tools])
def test_a_stack_that_is_not_there(plan, function):
    text = failure(function, plan, "main/general")
    assert "no stack 'main/general'; nearest: main/general-purpose" in text
    assert "its stacks: main, main/general-purpose" in text


def add(number: int) -> int:
    """Add one."""
    return number + 1


def subtract(number: int) -> int:
    """Subtract one."""
    return number - 1


def test_tools():
    profile = HarnessProfile(excluded_tools={"subtract"})
    plan = Kernel().plan(tiny.request(tools=[add, subtract], profile=profile))
    assert_tools(plan, "main", has="add", lacks=["subtract", "nothing"])
    assert_tools(plan, "main")
    text = failure(assert_tools, plan, "main", has=["addd", "add", "subtract"], lacks=["add", "ls"])
    assert text.splitlines() == [
        "stack 'main': no tool 'addd'; nearest: add",
        "stack 'main': no tool 'subtract'; the profile excludes it",
        "stack 'main': there is a tool 'add', from caller",
        "stack 'main': there is a tool 'ls', from plugin middleware.filesystem",
        "  its tools: ls, read_file, write_file, edit_file, glob, grep, task, add",
    ]


def test_a_tool_of_a_middleware_is_said_to_be_its_plugins():
    cls = type("Adder", (AgentMiddleware,), {"tools": (tool(add),)})
    slot = MiddlewareSpec("Adder", cls, lambda _: cls())
    plan = tiny.kernel({"middleware.adder": tiny.slots(slot)}).plan(tiny.request())
    assert "'add', from plugin middleware.adder" in failure(assert_tools, plan, "main", lacks="add")
    assert "its tools: none" in failure(assert_tools, tiny.kernel().plan(tiny.request()), "main", has="add")


def test_plans_of_the_same_parts_are_the_same(kernel, plan, tmp_path):
    again = kernel.plan(tiny.request())
    assert plan != again
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(again.to_dict()), encoding="utf-8")
    for other in (again, again.to_dict(), file):
        assert_same_plan(plan, other)
        assert_same_plan(other, plan)


def test_the_version_of_the_kernel_is_no_part(plan):
    assert_same_plan(plan, {**plan.to_dict(), "kernel": "0.0.1"})


def test_what_differs_is_told_from_expected_to_actual(kernel, plan):
    more = kernel.plan(tiny.request(system_prompt="Be brief.", tools=[add]))
    text = failure(assert_same_plan, more, plan.to_dict())
    assert text.startswith("the plans differ; from expected to actual:\n")
    assert "  main: + tool add (from caller)" in text
    assert "    + " not in failure(assert_same_plan, plan, more)
    assert "  main: - tool add (from caller)" in failure(assert_same_plan, plan, more)


def test_what_is_no_plan_document_is_not_compared(plan, tmp_path):
    file = tmp_path / "other.json"
    file.write_text("[]", encoding="utf-8")
    assert "other.json is no plan document" in failure(assert_same_plan, plan, file)
    assert "format is 'old', not 1" in failure(assert_same_plan, {**plan.to_dict(), "format": "old"}, plan)


def test_a_problem_is_found_and_returned(kernel):
    problem = assert_problem(lambda: kernel.plan(tiny.request(skills=["/skills"])), "skills=")
    assert problem.stack == "main"
    with pytest.raises(PlanError) as caught:
        kernel.plan(tiny.request(skills=["/skills"], memory=["/memory"]))
    first, second = caught.value.problems
    assert assert_problem(caught.value, "memory=") in (first, second)
    assert assert_problem(caught.value, "stack main") is first


def test_problems_that_were_found_instead_are_listed(kernel):
    text = failure(
        assert_problem, lambda: kernel.plan(tiny.request(skills=["/s"], memory=["/m"])), "permissions"
    )
    assert text.startswith("no problem says 'permissions'; found:\n  1. [stack main")
    assert "  2. " in text
    assert "skills=" in text
    assert "memory=" in text


def test_other_errors_of_the_kernel_count_as_a_problem():
    plugin = tiny.plugin(
        PluginInfo(name="middleware.x", requires=("middleware.y",)), deepagents_tools=lambda: ()
    )
    problem = assert_problem(lambda: tiny.kernel([plugin]), "requires middleware.y")
    assert problem.plugin == "middleware.x"
    assert isinstance(problem.cause, PluginError)
    assert_problem(lambda: Kernel(settings={"kernel": {"x": 1}}), "kernel.x")


def test_what_is_not_refused_fails(plan):
    assert "nothing was refused; expected a problem that says 'x'" in failure(
        assert_problem, lambda: plan, "x"
    )


def test_an_error_that_is_no_refusal_comes_through():
    with pytest.raises(ZeroDivisionError):
        assert_problem(lambda: 1 / 0, "division")
