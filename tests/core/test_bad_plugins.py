"""Hooks that raise or answer nonsense, schemas that clash: all told at once, and the kernel stays usable."""

from __future__ import annotations

import logging
import operator
import sys
import warnings
from typing import Annotated

import pytest
import standins
import tiny
from langchain.agents.middleware import AgentMiddleware, AgentState

from deepagents_kernel import ChildStack, HarnessProfile, MiddlewareSpec, PlanError, Problem, Segment
from deepagents_kernel.errors import HookError, PlanTypeError, UnsupportedPlanError
from deepagents_kernel.testing import ScriptedChatModel

COLLECTING = {
    "deepagents_child_stacks": "context",
    "deepagents_tools": "context",
    "deepagents_middleware": "context",
    "deepagents_system_prompt": "context",
    "deepagents_plan_validate": "plan",
    "deepagents_plan_modify": "draft",
}
RESOLVING = {"deepagents_state_schema": "context"}


def raising(hook, error):
    """A plugin whose implementation of a hook raises."""
    argument = {**COLLECTING, **RESOLVING}[hook]
    scope = {"error": error}
    exec(f"def {hook}({argument}):\n    raise error", scope)
    return tiny.plugin(**{hook: scope[hook]})


def failure(plugins, kind=PlanError, **request):
    with pytest.raises(kind) as caught:
        tiny.kernel(plugins).plan(tiny.request(**request))
    return caught.value


# -- hooks that raise ------------------------------------------------------------------------------


@pytest.mark.parametrize("hook", [*COLLECTING, *RESOLVING])
def test_an_exception_of_a_plan_hook_names_plugin_hook_and_stack(hook):
    cause = RuntimeError("out of order")
    error = failure({"middleware.bad": raising(hook, cause)}, HookError)
    assert (error.plugin, error.hook, error.stack) == ("middleware.bad", hook, "main")
    assert "RuntimeError: out of order" in str(error)
    assert error.__cause__ is cause


@pytest.mark.parametrize("hook", [*COLLECTING, *RESOLVING])
def test_a_problem_of_a_plan_hook_is_reported_with_all_others(hook):
    constant = UnsupportedPlanError(Problem("can't be protected", hint="drop it"))
    plugins = {
        "middleware.bad": raising(hook, constant),
        "middleware.worse": raising(hook, PlanError(Problem("is too small"))),
        "middleware.cross": tiny.slots(tiny.slot("A", after="B"), tiny.slot("B", segment=Segment.TAIL)),
    }
    middleware = [standins.make("Twin"), standins.make("Twin")]
    error = failure(plugins, middleware=middleware)
    problems = {problem.text: problem for problem in error.problems}
    assert len(problems) == len(error.problems)
    told = problems["can't be protected"]
    assert (told.stack, told.plugin, told.hint) == ("main", "middleware.bad", "drop it")
    # Of hooks of which the first answer counts, the first error counts.
    assert ("is too small" in problems) == (hook in COLLECTING)
    assert any("come after B" in text for text in problems)
    assert any("Twin" in text for text in problems)
    for number, problem in enumerate(error.problems, 1):
        assert f"{number}. {problem.describe()}" in str(error)
    # The plugin's own object is as it was: it may be a constant, raised again for another stack.
    assert constant.problems[0].stack == constant.problems[0].plugin == ""


def test_a_problem_alone_keeps_the_class_that_the_plugin_raised():
    plugin = raising("deepagents_middleware", UnsupportedPlanError(Problem("can't be protected")))
    error = failure({"middleware.bad": plugin}, UnsupportedPlanError)
    assert isinstance(error, NotImplementedError)
    spec = {"name": "scout", "description": "Looks.", "tools": "ls"}
    error = failure({"bundle.children": tiny.children()}, PlanTypeError, subagents=[spec])
    [problem] = error.problems
    assert problem.stack == "main/scout"
    assert "'tools'" in problem.text


@pytest.mark.parametrize(
    ("hook", "wanted"),
    [
        ("deepagents_child_stacks", "ChildStack"),
        ("deepagents_middleware", "MiddlewareSpec"),
        ("deepagents_system_prompt", "PromptPart"),
        ("deepagents_plan_validate", "Problem"),
    ],
)
def test_an_answer_of_a_wrong_type_names_the_plugin_and_what_is_expected(hook, wanted):
    error = failure({"middleware.bad": tiny.plugin(**{hook: lambda: "nonsense"})}, HookError)
    assert (error.plugin, error.hook) == ("middleware.bad", hook)
    assert "str" in error.reason
    assert wanted in error.reason


def test_callables_of_a_spec_that_raise_name_the_middleware():
    def spec(name, **options):
        cls = tiny.middleware_class(name)
        return MiddlewareSpec(name, cls, **{"factory": lambda _: cls(), **options})

    def fail(*_):
        raise LookupError("nothing there")

    for options, doing in (({"factory": fail}, "building A"), ({"bind": fail}, "binding A")):
        error = failure({"middleware.bad": tiny.slots(spec("A", **options))})
        [problem] = error.problems
        assert (problem.entry, problem.plugin, problem.stack) == ("A", "middleware.bad", "main")
        assert doing in problem.text
        assert "LookupError: nothing there" in problem.text
        assert isinstance(error.__cause__, LookupError)

    def adopt(middleware, context):
        raise ValueError("not mine")

    plugins = {"middleware.bad": tiny.slots(spec("A", adopt=adopt))}
    [problem] = failure(plugins, middleware=[standins.named("A")]).problems
    assert (problem.entry, problem.plugin, problem.stack) == ("A", "middleware.bad", "main")
    assert "not mine" in problem.text


def test_a_factory_makes_what_its_spec_says():
    one, other = tiny.middleware_class("One"), tiny.middleware_class("Other")
    derived = type("One", (one,), {})
    for factory, fact in (
        (lambda _: other(), "'Other'"),
        (lambda _: "x", "str"),
        (lambda _: derived(), "One"),
    ):
        plugins = {"middleware.bad": tiny.slots(MiddlewareSpec("One", one, factory))}
        [problem] = failure(plugins, PlanTypeError).problems
        assert problem.plugin == "middleware.bad"
        assert fact in problem.text


def test_children_are_named_apart_and_do_not_nest_without_end():
    twins = tiny.plugin(
        deepagents_child_stacks=lambda context: (
            [ChildStack("subagent", "a")] * 2 if context.kind == "main" else ()
        )
    )
    assert "'a'" in str(failure({"bundle.twins": twins}))
    endless = tiny.plugin(deepagents_child_stacks=lambda context: ChildStack("subagent", "a"))
    [problem] = failure({"bundle.endless": endless}).problems
    assert "nested" in problem.text
    assert "context.kind" in problem.hint


# -- state -----------------------------------------------------------------------------------------


def stateful(name, annotation):
    schema = type("State", (AgentState,), {"__annotations__": {"notes": annotation}, "__module__": __name__})
    return type(name, (AgentMiddleware,), {"state_schema": schema})()


@pytest.mark.spec("STATE-015")
def test_a_state_schema_that_cannot_be_read_is_refused_in_a_child_too():
    spec = {"name": "scout", "description": "Looks.", "middleware": [stateful("Mine", "Hidden")]}
    error = failure({"bundle.children": tiny.children()}, PlanTypeError, subagents=[spec])
    [problem] = error.problems
    assert (problem.stack, problem.entry) == ("main/scout", "Mine")
    for fact in ("'Hidden'", "'notes'", "TYPE_CHECKING"):
        assert fact in problem.text


def keep_longest(one, other):
    return max(one, other, key=len)


def test_two_middleware_that_merge_one_key_differently_are_refused():
    middleware = [
        stateful("Adds", Annotated[list, operator.add]),
        stateful("Keeps", Annotated[list, keep_longest]),
    ]
    [problem] = failure({}, middleware=middleware).problems
    for fact in ("'notes'", "add", "keep_longest", "reducer"):
        assert fact in problem.describe()
    same = [stateful("Adds", Annotated[list, operator.add]), stateful("Too", Annotated[list, operator.add])]
    assert tiny.kernel().plan(tiny.request(middleware=same))


def test_a_base_schema_that_is_none_is_refused():
    plugins = {"middleware.bad": tiny.plugin(deepagents_state_schema=lambda: 3)}
    error = failure(plugins, HookError)
    assert (error.plugin, error.stack) == ("middleware.bad", "main")
    assert "class" in error.reason
    assert "state_schema" in str(failure({}, PlanTypeError, state_schema="x"))


# -- everything at once ----------------------------------------------------------------------------


def test_all_problems_of_all_stacks_are_told_in_one_error():
    def validate(plan):
        yield Problem("the plan is too long", stack="main")
        yield Problem("the plan is dull", severity="warning")

    plugins = {
        "bundle.children": tiny.children(),
        "middleware.cross": tiny.slots(tiny.slot("A", after="B"), tiny.slot("B", segment=Segment.TAIL)),
        "middleware.built": tiny.slots(MiddlewareSpec("C", tiny.middleware_class("C"), lambda _: 1 / 0)),
        "middleware.checks": tiny.plugin(deepagents_plan_validate=validate),
    }
    error = failure(
        plugins,
        tools=[3],
        middleware=[standins.make("Twin"), standins.make("Twin"), AgentMiddleware],
        subagents=[
            {"name": "scout", "description": "Looks.", "system_prompt": 3},
            {"name": "ghost", "description": "Haunts.", "model": 3},
        ],
        profile=HarnessProfile(excluded_middleware=["Nobody"]),
        skills=["/skills"],
    )
    told = {(problem.stack, problem.plugin) for problem in error.problems}
    assert {stack for stack, _ in told} >= {"main", "main/general-purpose", "main/scout", "main/ghost"}
    assert {plugin for _, plugin in told} >= {"middleware.cross", "middleware.built", "middleware.checks"}
    text = str(error)
    for fact in (
        "come after B",
        "building C",
        "too long",
        "has 3",
        "Twin",
        "AgentMiddleware",
        "system_prompt",
    ):
        assert fact in text
    for fact in ("chat model", "'Nobody'", "skills="):
        assert fact in text
    assert "dull" not in text
    assert len({(problem.text, problem.stack) for problem in error.problems}) == len(error.problems)


def test_a_warning_alone_does_not_stop_a_plan():
    checks = tiny.plugin(deepagents_plan_validate=lambda plan: Problem("dull", severity="warning"))
    plan = tiny.kernel({"middleware.checks": checks}).plan(tiny.request())
    assert [(problem.text, problem.plugin) for problem in plan.warnings] == [("dull", "middleware.checks")]


def test_a_failed_plan_leaves_kernel_and_process_as_they_were():
    broken = {"now": False}

    def maybe(context):
        if broken["now"]:
            raise PlanError(Problem("not today"))
        return tiny.slot("A")

    kernel = tiny.kernel(
        {"middleware.a": tiny.plugin(deepagents_middleware=maybe), "bundle.children": tiny.children()}
    )
    profile = HarnessProfile(extra_middleware=[standins.make("Extra")])
    good = {"profile": profile, "middleware": [standins.make("Mine")]}

    def state():
        plan = kernel.plan(tiny.request(**good))
        return (
            tiny.orders(plan),
            plan.fingerprint,
            kernel.profiles.version,
            list(kernel.records),
            list(warnings.filters),
            logging.getLogger().handlers[:],
            logging.getLogger("deepagents_kernel").level,
            {name for name in sys.modules if name.startswith("deepagents_kernel")},
        )

    before = state()
    for bad in ({"tools": [3]}, {"model": 3}, {"profile": HarnessProfile(excluded_middleware=["No"])}):
        with pytest.raises(ValueError, match=r"3|'No'"):
            kernel.plan(tiny.request(**{**good, **bad}))
    broken["now"] = True
    with pytest.raises(PlanError, match="not today"):
        kernel.plan(tiny.request(**good))
    broken["now"] = False
    assert state() == before
    graph = kernel.create_deep_agent(ScriptedChatModel(["fine"]), **good)
    assert graph.invoke({"messages": "hi"})["messages"][-1].text == "fine"
