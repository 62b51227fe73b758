"""Stacks that are alike are built once; whatever makes one of them different keeps it apart."""

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from standins import make, named, names

from deepagents_kernel import (
    ChildStack,
    FilesystemPermission,
    HarnessProfile,
    Kernel,
    MiddlewareSpec,
    PlanError,
    PluginInfo,
    hookimpl,
    make_request,
)
from deepagents_kernel.testing import ScriptedChatModel

CHILDREN = [{"name": name, "description": name, "system_prompt": f"You are {name}."} for name in "abc"]


class Counted(AgentMiddleware):
    """Counts its instances."""

    made = 0

    def __init__(self):
        super().__init__()
        type(self).made += 1


def plan(*plugins, children=CHILDREN, **arguments):
    kernel = Kernel([(f"middleware.test-{number}", plugin) for number, plugin in enumerate(plugins)])
    return kernel.plan(make_request(ScriptedChatModel(["done"]), subagents=children, **arguments))


def instances(found):
    """For each declared child the identities of its middleware."""
    return [[id(entry.instance) for entry in found.stack(f"main/{name}").entries] for name in "abc"]


def test_children_that_differ_in_name_and_prompt_share_their_middleware():
    found = plan()
    first, second, third = instances(found)
    assert first == second == third
    assert {stack.prompt for stack in found.main.children[1:]} == {f"You are {name}." for name in "abc"}
    handles = {id(stack.handle) for stack in found.stacks()}
    assert len(handles) == 5
    assert [id(entry.instance) for entry in found.stack("main/general-purpose").entries] == first
    assert not set(first) & {id(entry.instance) for entry in found.main.entries}


def test_what_general_purpose_inherits_keeps_it_apart():
    mine = named("PatchToolCallsMiddleware")
    found = plan(middleware=[mine])
    first, second, third = instances(found)
    assert first == second == third
    assert not set(first) & {id(entry.instance) for entry in found.stack("main/general-purpose").entries}


@pytest.mark.parametrize("shared", [True, False])
def test_an_owner_says_whether_an_instance_may_be_shared(shared):
    spec = MiddlewareSpec("Counted", Counted, lambda _: Counted(), shared=shared)

    class Plugin:
        @hookimpl
        def deepagents_middleware(self, context):
            return spec if context.kind == "subagent" else None

    Counted.made = 0
    found = plan(Plugin())
    assert Counted.made == (1 if shared else 3)
    assert all("Counted" in names(found.stack(f"main/{name}")) for name in "abc")


def test_a_slot_made_anew_for_each_stack_keeps_stacks_apart():
    class Plugin:
        @hookimpl
        def deepagents_middleware(self, context):
            if context.kind == "subagent":
                return MiddlewareSpec("Counted", Counted, lambda _: Counted(), shared=True)
            return None

    Counted.made = 0
    plan(Plugin())
    assert Counted.made == 3


def test_a_plugin_treats_one_child_differently():
    spec = MiddlewareSpec("Counted", Counted, lambda _: Counted(), shared=True)

    class Plugin:
        @hookimpl
        def deepagents_middleware(self, context):
            return spec if context.name == "b" else None

    found = plan(Plugin())
    assert [("Counted" in names(found.stack(f"main/{name}"))) for name in "abc"] == [False, True, False]
    first, second, third = instances(found)
    assert first == third
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    "difference",
    [
        {"model": ScriptedChatModel(["done"])},
        {"tools": [{"name": "x", "description": "x"}]},
        {"middleware": [make("B")]},
        {"interrupt_on": {"ls": True}},
        {"response_format": {"title": "A", "description": "a", "type": "object", "properties": {}}},
    ],
)
def test_a_child_that_differs_in_what_it_is_made_of_stands_apart(difference):
    children = [CHILDREN[0], {**CHILDREN[1], **difference}, CHILDREN[2]]
    first, second, third = instances(plan(children=children))
    assert first == third
    assert not set(first) & set(second)


def test_whoever_may_move_entries_is_asked_about_each_stack():
    class Mover:
        @hookimpl
        def deepagents_plan_modify(self, draft):
            if draft.context.name == "b":
                draft.move("PatchToolCallsMiddleware", before="FilesystemMiddleware")

    found = plan(Mover())
    assert [names(found.stack(f"main/{name}")) for name in "abc"] == ["FS PTC AC", "PTC FS AC", "FS PTC AC"]


def test_profile_extras_are_made_for_each_stack():
    kernel = Kernel()
    kernel.profiles.register_harness("here", HarnessProfile(extra_middleware=lambda: [Counted()]))
    Counted.made = 0
    model = ScriptedChatModel(["done"], provider="here", model_name="m")
    kernel.plan(make_request(model, subagents=CHILDREN))
    assert Counted.made == 5


def test_rules_and_tools_for_one_child_reach_that_child_only():
    @tool
    def dig(path: str) -> str:
        """Digs."""
        return path

    class Plugin:
        @hookimpl
        def deepagents_interrupt_on(self, context):
            return {"ls": True} if context.name == "b" else None

        @hookimpl
        def deepagents_filesystem_tools(self, context):
            return dig if context.name == "c" else None

    found = plan(Plugin())
    assert [names(found.stack(f"main/{name}")) for name in "abc"] == [
        "FS PTC AC",
        "FS PTC AC HITL",
        "FS PTC AC",
    ]
    tools = [[item.name for item in found.stack(f"main/{name}").entries[0].instance.tools] for name in "abc"]
    assert ["dig" in found for found in tools] == [False, False, True]


def test_a_stack_with_problems_is_no_example_for_others():
    bad = {"tools": [3]}
    with pytest.raises(PlanError) as caught:
        plan(children=[{**child, **bad} for child in CHILDREN])
    assert {problem.stack for problem in caught.value.problems} == {"main/a", "main/b", "main/c"}


def test_alike_children_keep_apart_at_run_time():
    kernel = Kernel()
    model = ScriptedChatModel(
        [
            [
                ("task", {"description": "one", "subagent_type": "a"}),
                ("task", {"description": "two", "subagent_type": "b"}),
            ],
            lambda messages, tools: f"answer of {messages[0].text} to {messages[-1].text}",
            lambda messages, tools: f"answer of {messages[0].text} to {messages[-1].text}",
            "done",
        ]
    )
    found = kernel.plan(make_request(model, subagents=CHILDREN))
    result = kernel.compile(found).invoke({"messages": [("user", "go")]})
    answers = [message.text for message in result["messages"] if message.type == "tool"]
    assert answers == ["answer of You are a. to one", "answer of You are b. to two"]
    assert [stack.handle.compilations for stack in found.main.children] == [0, 1, 1, 0]


class Served:
    """Serves skills, memory and permissions with one shared slot, whatever they are."""

    PLUGIN = PluginInfo(serves=("skills", "memory", "permissions"))
    SLOT = MiddlewareSpec("Counted", Counted, lambda _: Counted(), shared=True)

    @hookimpl
    def deepagents_middleware(self, context):
        return self.SLOT if context.kind == "subagent" else None


@pytest.mark.parametrize(
    "difference",
    [
        {"skills": [["/a", "user"]]},
        {"memory": ["/m.md"]},
        {"permissions": [FilesystemPermission(["read"], ["/x"], mode="deny")]},
        {"interrupt_on": {"ls": False}},
    ],
)
def test_what_applies_to_one_child_keeps_it_apart_even_with_one_slot_for_all(difference):
    children = [CHILDREN[0], {**CHILDREN[1], **difference}, CHILDREN[2]]
    first, second, third = instances(plan(Served(), children=children))
    assert first == third
    assert not set(first) & set(second)


def test_values_that_have_no_hash_are_told_apart_and_not_a_crash():
    found = plan(Served(), skills=[["/skills", "user"]], memory=[{"path": "/m"}])
    first, second, third = instances(found)
    assert first == second == third


def test_a_profile_for_this_agent_is_not_for_its_declared_children():
    profile = HarnessProfile(excluded_middleware={"PatchToolCallsMiddleware"})
    found = plan(profile=profile)
    assert names(found.stack("main/general-purpose")) == "FS AC"
    assert {names(found.stack(f"main/{name}")) for name in "abc"} == {"FS PTC AC"}


def test_children_of_different_parents_stand_apart():
    class Nested:
        @hookimpl
        def deepagents_child_stacks(self, context):
            if context.name in ("a", "b"):
                return ChildStack("subagent", "inner", {"name": "inner", "description": "inner"})
            return None

    found = plan(Nested())
    inner = [[id(e.instance) for e in found.stack(f"main/{name}/inner").entries] for name in "ab"]
    assert not set(inner[0]) & set(inner[1])
    assert not set(inner[0]) & set(instances(found)[0])


def test_whoever_takes_over_a_slot_says_for_himself_whether_he_may_be_shared():
    class Gate(AgentMiddleware):
        def __init__(self, stack):
            super().__init__()
            self.stack = stack

    def specs(shared):
        return MiddlewareSpec(
            "Gate",
            Gate,
            lambda context: Gate(context.name),
            replaces="PatchToolCallsMiddleware",
            shared=shared,
        )

    for shared, expected in ((False, ["a", "b", "c"]), (True, ["general-purpose"] * 3)):
        spec = specs(shared)

        class Plugin:
            @hookimpl
            def deepagents_middleware(self, _spec=spec):
                return _spec

        found = plan(Plugin())
        stacks = [found.stack(f"main/{name}") for name in "abc"]
        gates = [next(e.instance for e in stack.entries if e.name == "Gate").stack for stack in stacks]
        assert gates == expected


def test_a_profiles_middleware_in_a_shared_slot_is_its_own_business():
    kernel = Kernel()
    kernel.profiles.register_harness(
        "here", HarnessProfile(extra_middleware=lambda: [named("PatchToolCallsMiddleware")])
    )
    model = ScriptedChatModel(["done"], provider="here", model_name="m")
    found = kernel.plan(make_request(model, subagents=CHILDREN))
    first, second, third = instances(found)
    assert len({first[1], second[1], third[1]}) == 3
