"""A parameter, spec or rule whose plugin is not there is refused by name, never ignored."""

import pytest

from deepagents_kernel import (
    FilesystemPermission,
    HarnessProfile,
    Kernel,
    PlanError,
    PluginError,
    PluginInfo,
    hookimpl,
    make_request,
)
from deepagents_kernel.errors import SettingsError
from deepagents_kernel.testing import ScriptedChatModel


@pytest.fixture(scope="module")
def kernel():
    return Kernel()


def plan(kernel, **arguments):
    return kernel.plan(make_request(ScriptedChatModel(["done"]), **arguments))


CHILD = {"name": "d", "description": "d"}
RULE = FilesystemPermission(["read"], ["/a"], mode="deny")


@pytest.mark.parametrize(
    ("arguments", "asked", "plugin"),
    [
        ({"skills": ["/s"]}, "skills=", "middleware.skills"),
        ({"skills": []}, "skills=", "middleware.skills"),
        ({"memory": ["/m"]}, "memory=", "middleware.memory"),
        ({"permissions": [RULE]}, "permissions=", "middleware.filesystem"),
        ({"subagents": [{**CHILD, "mode": "fork"}]}, 'mode="fork"', "middleware.subagents"),
        ({"subagents": [{**CHILD, "graph_id": "g"}]}, "graph_id", "middleware.async-subagents"),
        ({"subagents": [{**CHILD, "skills": ["/s"]}]}, "'skills'", "middleware.skills"),
        ({"subagents": [{**CHILD, "memory": ["/m"]}]}, "'memory'", "middleware.memory"),
        ({"subagents": [{**CHILD, "permissions": [RULE]}]}, "'permissions'", "middleware.filesystem"),
    ],
)
def test_what_nobody_serves_is_a_problem_that_names_the_plugin(kernel, arguments, asked, plugin):
    with pytest.raises(PlanError) as caught:
        plan(kernel, **arguments)
    (problem,) = [item for item in caught.value.problems if plugin in item.describe()]
    assert asked in problem.text
    assert plugin in problem.hint
    assert problem.stack == ("main/d" if "subagents" in arguments else "main")


def test_every_missing_feature_is_reported_at_once(kernel):
    with pytest.raises(PlanError) as caught:
        plan(kernel, skills=[], memory=[], permissions=[RULE])
    assert len(caught.value.problems) == 3


@pytest.mark.spec("BY-083")
def test_empty_rules_ask_for_nothing_and_no_sources_at_all_neither(kernel):
    plan(kernel, permissions=[], skills=None, memory=None)
    plan(kernel, subagents=[{**CHILD, "permissions": [], "skills": [], "memory": None}])


def test_switching_a_plugin_off_makes_its_feature_a_problem():
    kernel = Kernel(disable=["middleware.human-in-the-loop"])
    plan(kernel)
    with pytest.raises(PlanError, match=r"install or enable the plugin middleware.human-in-the-loop"):
        plan(kernel, interrupt_on={"ls": True})


@pytest.mark.parametrize("plugin", ["middleware.filesystem", "middleware.subagents"])
def test_scaffolding_is_not_switched_off(plugin):
    with pytest.raises(PluginError, match=r"(?s)scaffolding.*replaces="):
        Kernel(disable=[plugin])


def test_scaffolding_in_code_is_not_switched_off():
    class Mine:
        PLUGIN = PluginInfo(name="middleware.mine", scaffolding=True)

        @hookimpl
        def deepagents_system_prompt(self):
            return None

    with pytest.raises(PluginError, match="scaffolding"):
        Kernel([Mine()], disable=["middleware.mine"])


def test_excluded_tools_without_the_guard_are_a_problem():
    kernel = Kernel(disable=["middleware.tool-exclusion"])
    plan(kernel)
    with pytest.raises(PlanError, match=r"(?s)excludes tools \(grep\).*middleware.tool-exclusion"):
        plan(kernel, profile=HarnessProfile(excluded_tools={"grep"}))


def test_a_third_party_serves_a_feature():
    class Skills:
        PLUGIN = PluginInfo(name="middleware.my-skills", serves="skills")

        @hookimpl
        def deepagents_system_prompt(self):
            return None

    assert plan(Kernel([Skills()]), skills=["/s"]).main.context.skills == ("/s",)


def test_the_guard_can_be_another_plugin():
    from langchain.agents.middleware import AgentMiddleware

    from deepagents_kernel import MiddlewareSpec, Segment

    class Strict(AgentMiddleware):
        """Excludes nothing."""

    class Guard:
        @hookimpl
        def deepagents_middleware(self, context):
            return MiddlewareSpec("Strict", Strict, lambda _: Strict(), segment=Segment.GUARD)

    kernel = Kernel([("middleware.strict", Guard())], settings={"kernel": {"guard": "middleware.strict"}})
    found = plan(kernel, subagents=[CHILD], profile=HarnessProfile(excluded_tools={"grep"}))
    assert [stack.entries[-1].name for stack in found.stacks()] == ["Strict"] * 3
    assert all("_ToolExclusionMiddleware" not in [entry.name for entry in s.entries] for s in found.stacks())
    unnamed = Kernel([("middleware.strict", Guard())])
    with pytest.raises(PlanError, match=r"only middleware.tool-exclusion may fill it"):
        plan(unnamed)


def test_a_guard_that_is_not_there_is_a_settings_error():
    with pytest.raises(SettingsError, match=r"(?s)kernel.guard.*nearest: middleware.tool-exclusion"):
        plan(Kernel(settings={"kernel": {"guard": "middleware.tool-exclusoin"}}))
