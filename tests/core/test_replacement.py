"""Insertion and replacement by name, and what children inherit."""

import pytest
from standins import SummarizationMiddleware, full_table, make, named, names, orders

from deepagents_kernel import (
    HarnessProfile,
    Kernel,
    MiddlewareSpec,
    PlanError,
    Segment,
    hookimpl,
    make_request,
)
from deepagents_kernel.errors import DuplicateMiddlewareError
from deepagents_kernel.testing import ScriptedChatModel

FORK = {"name": "f", "description": "f", "mode": "fork"}
DECLARED = {"name": "d", "description": "d"}


@pytest.fixture(scope="module")
def kernel():
    return Kernel(builtins=full_table())


@pytest.fixture
def plan(kernel):
    def build(**arguments):
        return kernel.plan(make_request(ScriptedChatModel(["done"]), **arguments))

    return build


def entry(stack, name):
    return next(entry for entry in stack.entries if entry.name == name)


@pytest.mark.spec("ASM-010", "ASM-011", "DWN-008")
@pytest.mark.parametrize(
    "name",
    [
        "SummarizationMiddleware",
        "PatchToolCallsMiddleware",
        "AnthropicPromptCachingMiddleware",
        "UnsupportedContentMiddleware",
    ],
)
def test_a_name_replaces_in_place_in_any_segment(plan, name):
    mine = named(name)
    found = plan(middleware=[mine])
    assert names(found.main) == "FS SA PN SUM PTC AC UC"
    assert entry(found.main, name).instance is mine


@pytest.mark.spec("DWN-008")
def test_a_subclass_of_a_built_in_with_its_name_takes_its_slot(plan):
    mine = type("Mine", (SummarizationMiddleware,), {"name": "SummarizationMiddleware"})()
    assert entry(plan(middleware=[mine]).main, "SummarizationMiddleware").instance is mine


@pytest.mark.spec("ASM-012", "ASM-031")
def test_the_last_of_one_name_wins_and_is_shared_with_general_purpose(plan):
    first, last = named("SummarizationMiddleware"), named("SummarizationMiddleware")
    found = plan(middleware=[first, last])
    assert entry(found.main, "SummarizationMiddleware").instance is last
    assert entry(found.main.child("general-purpose"), "SummarizationMiddleware").instance is last


@pytest.mark.spec("ASM-013")
def test_two_new_middleware_of_one_name_are_an_error(plan):
    with pytest.raises(AssertionError, match="two middleware are named A") as caught:
        plan(middleware=[make("A"), make("A")])
    assert isinstance(caught.value, DuplicateMiddlewareError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.spec("ASM-014")
def test_a_private_slot_can_be_replaced_by_name(plan):
    mine = named("_ParentNotifierMiddleware")
    assert entry(plan(middleware=[mine]).main, "_ParentNotifierMiddleware").instance is mine


@pytest.mark.spec("ASM-015")
def test_a_subclass_with_its_own_name_runs_beside_the_built_in(plan):
    mine = type("MySummarization", (SummarizationMiddleware,), {})()
    assert names(plan(middleware=[mine]).main) == "FS SA PN SUM PTC MySummarization AC UC"


@pytest.mark.spec("ASM-016", "ASM-030", "EXC-016")
def test_a_profile_extra_is_replaced_in_place_in_main_and_general_purpose(plan):
    mine = named("A")
    found = plan(middleware=[mine], profile=HarnessProfile(extra_middleware=lambda: [make("A"), make("Z")]))
    assert orders(found) == {"main": "FS SA PN SUM PTC A Z AC UC", "general-purpose": "FS SUM PTC A Z AC UC"}
    assert entry(found.main, "A").instance is mine
    assert entry(found.main.child("general-purpose"), "A").instance is mine


@pytest.mark.spec("ASM-017")
def test_a_profile_extra_replaces_by_name_and_a_collision_names_the_profile(plan):
    extra = named("SummarizationMiddleware")
    found = plan(profile=HarnessProfile(extra_middleware=[extra]))
    assert names(found.main) == "FS SA PN SUM PTC AC UC"
    assert entry(found.main, "SummarizationMiddleware").instance is extra
    with pytest.raises(PlanError, match=r"profile=.*two middleware named A"):
        plan(profile=HarnessProfile(extra_middleware=[named("A", "One"), named("A", "Two")]))


@pytest.mark.spec("ASM-024")
def test_a_passed_subagent_middleware_does_not_discard_subagents_silently(plan):
    from deepagents_kernel import SubAgentMiddleware
    from deepagents_kernel.backends import StateBackend

    model = ScriptedChatModel(["done"])
    mine = SubAgentMiddleware(
        backend=StateBackend(), subagents=[{"name": "x", "description": "x", "model": model, "tools": []}]
    )
    with pytest.raises(PlanError, match="subagents"):
        plan(middleware=[mine], subagents=[DECLARED])
    assert "SA" in names(plan(middleware=[mine]).main)


@pytest.mark.spec("ASM-025")
def test_a_passed_subagent_middleware_has_its_place_without_general_purpose_too(plan):
    from deepagents_kernel import GeneralPurposeSubagentProfile, SubAgentMiddleware
    from deepagents_kernel.backends import StateBackend

    model = ScriptedChatModel(["done"])
    mine = SubAgentMiddleware(
        backend=StateBackend(), subagents=[{"name": "x", "description": "x", "model": model, "tools": []}]
    )
    off = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False))
    # It finds its slot; landing among the caller's middleware would change the order of tools.
    assert names(plan(middleware=[mine], profile=off).main) == "FS SA PN SUM PTC AC UC"


@pytest.mark.spec("ASM-032", "SUB-007")
@pytest.mark.parametrize(
    "name",
    [
        "MemoryMiddleware",
        "HumanInTheLoopMiddleware",
        "UnsupportedContentMiddleware",
        "_ParentNotifierMiddleware",
    ],
)
def test_some_slots_are_not_inherited_by_general_purpose(plan, name):
    mine = named(name)
    found = plan(middleware=[mine])
    assert entry(found.main, name).instance is mine
    assert all(item.instance is not mine for item in found.main.child("general-purpose").entries)


@pytest.mark.spec("ASM-030", "ASM-033", "SUB-016")
def test_new_middleware_reaches_neither_general_purpose_nor_declared_children(plan):
    found = orders(plan(middleware=[make("B"), named("SummarizationMiddleware")], subagents=[DECLARED]))
    assert found["general-purpose"] == found["d"] == "FS SUM PTC AC UC"


@pytest.mark.spec("ASM-033", "SUB-015")
def test_a_declared_child_takes_replacements_from_its_own_middleware_only(plan):
    parents, own = named("SummarizationMiddleware"), named("SummarizationMiddleware")
    found = plan(
        middleware=[parents], subagents=[DECLARED, {**DECLARED, "name": "e", "middleware": [own, make("C")]}]
    )
    assert type(entry(found.main.child("d"), "SummarizationMiddleware").instance) is SummarizationMiddleware
    assert entry(found.main.child("e"), "SummarizationMiddleware").instance is own
    assert names(found.main.child("e")) == "FS SUM PTC C AC UC"


@pytest.mark.spec("ASM-034", "ASM-035", "ASM-036", "FORK-014")
def test_a_fork_inherits_everything_by_name(plan):
    a, b, summary, mine = make("A"), make("B"), named("SummarizationMiddleware"), named("B")
    found = plan(middleware=[summary, a, b, make("C")], subagents=[{**FORK, "middleware": [mine, make("D")]}])
    fork = found.main.child("f")
    assert names(fork) == "FS Fork SUM PTC A B C D AC UC"
    assert entry(fork, "SummarizationMiddleware").instance is summary
    assert entry(fork, "A").instance is a
    assert entry(fork, "B").instance is mine


@pytest.mark.spec("ASM-037", "ASM-038")
def test_a_factory_of_extras_is_called_once_a_stack(plan):
    from deepagents_kernel import GeneralPurposeSubagentProfile

    calls = []

    def extras():
        calls.append(1)
        return [make("A")]

    plan(profile=HarnessProfile(extra_middleware=extras))
    assert len(calls) == 2
    calls.clear()
    off = GeneralPurposeSubagentProfile(enabled=False)
    plan(profile=HarnessProfile(extra_middleware=extras, general_purpose_subagent=off))
    assert len(calls) == 1


@pytest.mark.spec("ASM-037", "HP-025")
def test_static_extras_are_shared_by_all_stacks(plan):
    a = make("A")
    found = plan(profile=HarnessProfile(extra_middleware=[a]))
    assert entry(found.main, "A").instance is a
    assert entry(found.main.child("general-purpose"), "A").instance is a


@pytest.mark.spec("ASM-006")
def test_the_default_backend_is_one_object_for_all_stacks(plan):
    found = plan(subagents=[DECLARED])
    backends = {id(stack.context.backend) for stack in found.stacks()}
    backends |= {id(entry(stack, "FilesystemMiddleware").instance.backend) for stack in found.stacks()}
    assert len(backends) == 1
    assert id(plan().main.context.backend) not in backends


@pytest.mark.spec("ASM-028")
def test_what_the_caller_passed_is_not_changed(plan):
    spec = {**DECLARED, "middleware": [make("C")], "tools": [], "extra": 1}
    specs, middleware, tools = [spec], [make("B")], [{"type": "web_search", "name": "web_search"}]
    before = (dict(spec), list(specs), list(middleware), [dict(tool) for tool in tools])
    kernel = Kernel(builtins=full_table())
    with pytest.warns(UserWarning, match="extra"):
        kernel.create_deep_agent(
            ScriptedChatModel(["done"]),
            tools,
            middleware=middleware,
            subagents=specs,
            profile=HarnessProfile(tool_description_overrides={"web_search": "other"}),
        )
    assert (spec, specs, middleware, tools) == before


def test_generators_are_read_once(plan):
    found = plan(
        middleware=(item for item in [make("B")]),
        subagents=(spec for spec in [DECLARED, {**DECLARED, "name": "e"}]),
        tools=(tool for tool in [{"type": "x", "name": "x"}]),
    )
    assert names(found.main) == "FS SA PN SUM PTC B AC UC"
    assert [child.name for child in found.main.children] == ["general-purpose", "d", "e"]
    assert all(len(stack.context.tools) == 1 for stack in found.stacks())


class Takeover:
    """A plugin that takes over the summarization slot under a name of its own."""

    def __init__(self, name="Better"):
        self.cls = type(name, (SummarizationMiddleware,), {})

    @hookimpl
    def deepagents_middleware(self):
        return MiddlewareSpec(
            self.cls.__name__, self.cls, lambda _: self.cls(), replaces="SummarizationMiddleware"
        )


def test_a_plugin_takes_over_a_slot():
    kernel = Kernel([("middleware.better", Takeover())], builtins=full_table())
    found = kernel.plan(make_request(ScriptedChatModel(["done"])))
    assert orders(found) == {"main": "FS SA PN Better PTC AC UC", "general-purpose": "FS Better PTC AC UC"}
    taken = entry(found.main, "Better")
    assert (taken.slot, taken.source) == ("SummarizationMiddleware", "plugin middleware.better")
    mine = named("SummarizationMiddleware")
    again = kernel.plan(make_request(ScriptedChatModel(["done"]), middleware=[mine]))
    assert entry(again.main, "SummarizationMiddleware").instance is mine


def test_two_plugins_that_take_over_one_slot_are_an_error():
    plugins = [("middleware.better", Takeover()), ("middleware.other", Takeover("Other"))]
    kernel = Kernel(plugins, builtins=full_table())
    with pytest.raises(
        PlanError, match=r"middleware.better and middleware.other both replace SummarizationMiddleware"
    ):
        kernel.plan(make_request(ScriptedChatModel(["done"])))


def test_the_slots_owner_sees_whatever_fills_it():
    seen = []

    class Owner:
        @hookimpl
        def deepagents_middleware(self):
            def adopt(middleware, context):
                seen.append((context.path, middleware))
                return middleware

            cls = type(make("Owned"))
            return MiddlewareSpec("Owned", cls, lambda _: cls(), segment=Segment.TAIL, adopt=adopt)

    kernel = Kernel([("middleware.owner", Owner())], builtins=full_table())
    extra, mine = named("Owned"), named("Owned")
    kernel.plan(make_request(ScriptedChatModel(["done"])))
    assert seen == []
    kernel.plan(make_request(ScriptedChatModel(["done"]), profile=HarnessProfile(extra_middleware=[extra])))
    assert seen == [("main", extra), ("main/general-purpose", extra)]
    seen.clear()
    kernel.plan(
        make_request(
            ScriptedChatModel(["done"]), profile=HarnessProfile(extra_middleware=[extra]), middleware=[mine]
        )
    )
    assert seen == [("main", mine), ("main/general-purpose", mine)]
