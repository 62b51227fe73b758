"""A profile's middleware exclusions: what they match, and that each one matches something."""

import logging

import pytest
from standins import SummarizationMiddleware, full_table, make, named, names, orders

from deepagents_kernel import HarnessProfile, Kernel, PlanError, make_request
from deepagents_kernel.errors import PlanWarning
from deepagents_kernel.testing import ScriptedChatModel

DECLARED = {"name": "d", "description": "d"}


@pytest.fixture
def kernel():
    return Kernel(builtins=full_table())


@pytest.fixture
def plan(kernel):
    """Plan with a profile that is registered, so that it holds for every stack on the model."""

    def build(exclusions, extra=(), **arguments):
        kernel.profiles.replace_harness(
            "here:m", HarnessProfile(excluded_middleware=frozenset(exclusions), extra_middleware=extra)
        )
        model = ScriptedChatModel(["done"], provider="here", model_name="m")
        return kernel.plan(make_request(model, **arguments))

    return build


@pytest.mark.spec("EXC-010")
def test_a_class_matches_exactly(plan):
    a = make("A")
    sub = type("SubA", (type(a),), {})()
    assert names(plan({type(a)}, middleware=[a, sub]).main) == "FS SA PN SUM PTC SubA AC UC"


@pytest.mark.spec("EXC-011")
def test_a_string_matches_the_name_exactly(plan):
    found = plan({"SummarizationMiddleware"})
    assert orders(found) == {"main": "FS SA PN PTC AC UC", "general-purpose": "FS PTC AC UC"}
    with pytest.raises(PlanError, match="nearest: SummarizationMiddleware"):
        plan({"summarizationmiddleware"})


@pytest.mark.spec("EXC-012", "PC-004")
def test_a_lazy_stand_in_is_excluded_by_the_class_it_stands_for(plan):
    from langchain_anthropic.middleware.prompt_caching import AnthropicPromptCachingMiddleware

    assert "AC" not in names(plan({AnthropicPromptCachingMiddleware}).main)
    assert "AC" not in names(plan({"AnthropicPromptCachingMiddleware"}).main)


@pytest.mark.spec("EXC-013", "EXC-014")
def test_a_caller_refills_a_slot_that_was_emptied_by_class_and_keeps_its_place(plan):
    mine = type("Mine", (SummarizationMiddleware,), {"name": "SummarizationMiddleware"})()
    found = plan({SummarizationMiddleware}, middleware=[mine], memory=["/m"])
    assert orders(found) == {"main": "FS SA PN SUM PTC AC MEM UC", "general-purpose": "FS SUM PTC AC UC"}
    assert found.main.entries[3].instance is mine
    assert [item.name for item in found.main.dropped] == ["SummarizationMiddleware"]


@pytest.mark.spec("EXC-015", "EXC-013")
def test_a_string_excludes_the_callers_replacement_too(plan):
    mine = type("Mine", (SummarizationMiddleware,), {"name": "SummarizationMiddleware"})()
    found = plan({"SummarizationMiddleware"}, middleware=[mine])
    assert orders(found) == {"main": "FS SA PN PTC AC UC", "general-purpose": "FS PTC AC UC"}


@pytest.mark.spec("EXC-016")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("PatchToolCallsMiddleware", {}),
        ("B", {"middleware": [make("B")]}),
        ("A", {"extra": [make("A")]}),
        ("SkillsMiddleware", {"skills": []}),
        ("AnthropicPromptCachingMiddleware", {}),
        ("MemoryMiddleware", {"memory": []}),
        ("HumanInTheLoopMiddleware", {"interrupt_on": {"ls": False}}),
        ("AsyncSubAgentMiddleware", {"subagents": [{"name": "a", "description": "a", "graph_id": "g"}]}),
    ],
)
def test_any_layer_can_be_excluded(plan, name, options):
    found = plan({name}, **options)
    assert name in [item.name for item in found.main.dropped]
    assert name not in [entry.name for entry in found.main.entries]


@pytest.mark.spec("EXC-017", "EXC-018", "EXC-034")
def test_an_exclusion_means_the_same_in_every_stack(plan):
    found = plan(
        {"UnsupportedContentMiddleware", "HumanInTheLoopMiddleware"},
        interrupt_on={"ls": False},
        subagents=[DECLARED],
    )
    assert all("UC" not in names(stack) and "HITL" not in names(stack) for stack in found.stacks())
    assert all(len(stack.dropped) == 2 for stack in found.stacks())


@pytest.mark.spec("EXC-018", "EXC-019")
def test_an_exclusion_of_approvals_that_somebody_wants_is_an_error_in_every_stack(plan):
    with pytest.raises(PlanError, match="excluded by profile here:m") as caught:
        plan({"HumanInTheLoopMiddleware"}, interrupt_on={"ls": True}, subagents=[DECLARED])
    assert [problem.stack for problem in caught.value.problems] == ["main", "main/general-purpose", "main/d"]


@pytest.mark.spec("EXC-017")
def test_the_guard_cannot_be_excluded(plan, kernel):
    from deepagents_builtin.middleware.tool_exclusion.middleware import _ToolExclusionMiddleware

    kernel.profiles.register_harness("here", HarnessProfile(excluded_tools={"grep"}))
    with pytest.raises(PlanError, match="matched nothing"):
        plan({_ToolExclusionMiddleware})


@pytest.mark.spec("EXC-020")
def test_a_private_slot_is_excluded_by_class(plan):
    from standins import _ParentNotifierMiddleware

    assert names(plan({_ParentNotifierMiddleware}).main) == "FS SA SUM PTC AC UC"


@pytest.mark.spec("EXC-030")
def test_a_name_of_two_classes_is_an_error_that_advises_the_class_form(plan):
    with pytest.raises(PlanError, match=r"(?s)several classes: .*One.*Two.*exclude the class"):
        plan({"Same"}, middleware=[named("Same", "One"), named("Same", "Two")])


@pytest.mark.spec("EXC-031", "BY-082")
def test_unmatched_exclusions_are_all_listed_with_the_nearest_name(plan):
    with pytest.raises(PlanError) as caught:
        plan({"SumarizationMiddleware", "Nothing"})
    text = str(caught.value)
    assert len(caught.value.problems) == 2
    assert "'SumarizationMiddleware' (profile here:m) matched nothing in main, main/general-purpose" in text
    assert "nearest: SummarizationMiddleware" in text
    assert "'Nothing'" in text


@pytest.mark.spec("EXC-032", "EXC-033", "EXC-034")
def test_coverage_is_pooled_over_all_stacks_that_share_the_profile(plan):
    found = plan({"B"}, middleware=[make("B")], subagents=[DECLARED])
    assert "B" not in names(found.main)
    only_child = {**DECLARED, "middleware": [make("C")]}
    assert [item.name for item in plan({"C"}, subagents=[only_child]).main.child("d").dropped] == ["C"]


@pytest.mark.spec("EXC-033")
def test_a_child_with_another_profile_is_checked_by_itself(plan, kernel):
    kernel.profiles.register_harness("here:n", HarnessProfile(excluded_middleware={"B"}))
    other = ScriptedChatModel(["done"], provider="here", model_name="n")
    with pytest.raises(PlanError, match=r"profile here:n\) matched nothing in main/d\n"):
        plan(set(), middleware=[make("B")], subagents=[{**DECLARED, "model": other}])


@pytest.mark.spec("EXC-035")
@pytest.mark.parametrize(
    "name", ["MemoryMiddleware", "SkillsMiddleware", "HumanInTheLoopMiddleware", "AsyncSubAgentMiddleware"]
)
def test_a_conditional_slot_counts_as_matched_when_it_is_empty(plan, name):
    assert names(plan({name}, subagents=[DECLARED]).main) == "FS SA PN SUM PTC AC UC"


def disguised():
    """A filesystem middleware whose name only an instance tells, so that no profile can know it."""
    from deepagents_kernel import FilesystemMiddleware

    return type("Mine", (FilesystemMiddleware,), {"name": property(lambda _: "FilesystemMiddleware")})


@pytest.mark.spec("EXC-008")
def test_scaffolding_is_checked_on_the_final_stack(plan):
    mine = disguised()
    with pytest.raises(PlanError, match=r"(?s)scaffolding.*excluded_tools"):
        plan({mine}, middleware=[mine()])


@pytest.mark.spec("EXC-036")
def test_scaffolding_is_not_reported_as_unmatched_as_well(plan):
    mine = disguised()
    with pytest.raises(PlanError) as caught:
        plan({mine}, middleware=[mine()])
    assert all("matched nothing" not in problem.text for problem in caught.value.problems)


@pytest.mark.spec("EXC-037")
def test_one_debug_record_a_pass_states_what_was_dropped(plan, caplog):
    with caplog.at_level(logging.DEBUG, logger="deepagents_kernel"):
        plan({"SummarizationMiddleware", "B"}, middleware=[make("B")])
    records = [record for record in caplog.records if getattr(record, "event", "") == "middleware_excluded"]
    assert [record.fields["entries"] for record in records] == [
        ["SummarizationMiddleware"],
        ["B"],
        ["SummarizationMiddleware"],
    ]
    assert all(record.levelno == logging.DEBUG and record.fields["count"] == 1 for record in records)


@pytest.mark.spec("EXC-038")
def test_the_callers_middleware_stays_behind_the_last_core_entry(plan):
    found = plan({"PatchToolCallsMiddleware", "SummarizationMiddleware"}, middleware=[make("B")])
    assert names(found.main) == "FS SA PN B AC UC"


@pytest.mark.spec("BY-082", "TEX-007", "TOOL-009")
def test_tool_names_that_match_nothing_are_warnings_with_the_nearest_name(kernel):
    kernel.profiles.register_harness(
        "here:m", HarnessProfile(excluded_tools={"grepp"}, tool_description_overrides={"red_file": "x"})
    )
    model = ScriptedChatModel(["done"], provider="here", model_name="m")
    plan = kernel.plan(make_request(model))
    texts = [problem.describe() for problem in plan.warnings]
    assert len(texts) == 2
    assert "'grepp'" in texts[0]
    assert "nearest: grep" in texts[0]
    assert "'red_file'" in texts[1]
    assert "nearest: read_file" in texts[1]
    with pytest.warns(PlanWarning) as caught:
        kernel.create_deep_agent(model)
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}
