"""The profile of Nemotron 3 Ultra: its keys, its prompt, which stacks get the behaviours."""

import logging
import re
import subprocess
import sys
from contextlib import closing

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from deepagents_builtin.profiles.harness.nemotron import names, plugin
from deepagents_builtin.profiles.harness.nemotron.profile import behaviours, nemotron_profile
from deepagents_builtin.profiles.harness.nemotron.progress_budget import (
    NemotronProgressBudgetMiddleware,
    ProgressBudget,
)
from deepagents_builtin.profiles.harness.nemotron.tool_call_shim import NemotronToolCallShim
from deepagents_kernel import HarnessProfile, Kernel, make_request
from deepagents_kernel.behaviour import TurnLimits
from deepagents_kernel.contracts.private_state import private_state_field_names
from deepagents_kernel.profiles import harness_for_spec
from deepagents_kernel.testing import ScriptedChatModel

KEY = "NVIDIA:nvidia/nemotron-3-ultra-550b-a55b"
ORDER = [
    "NemotronProgressBudgetMiddleware",
    "NemotronPolicyNudgeMiddleware",
    "NemotronToolCallShim",
    "ReadFileContinuationNoticeMiddleware",
    "ToolRetryMiddleware",
    "ModelRateLimitRetryMiddleware",
    "ChatNVIDIAMessageCompatibilityMiddleware",
    "NemotronReasoningTagCleanupMiddleware",
    "NemotronTextToolCallParser",
    "FollowupDisciplineMiddleware",
    "EntityResolutionGuardMiddleware",
    "FinalAnswerGuardMiddleware",
]


def kernel():
    return closing(Kernel())


def nemotron(turns=("done",), key=KEY):
    provider, _, model = key.partition(":")
    return ScriptedChatModel(list(turns), provider=provider, model_name=model)


def ours(stack):
    return [entry for entry in stack.entries if entry.origin == "profile"]


@pytest.mark.spec("NEMO-001")
def test_the_keys():
    # One of the two spellings of NVIDIA: the registry finds it under the other as well.
    assert [key for key, _ in plugin.deepagents_harness_profiles()] == [
        "nvidia:nvidia/nemotron-3-ultra-550b-a55b",
        "baseten:nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B",
        "fireworks:accounts/fireworks/models/nemotron-3-ultra-nvfp4",
        "fireworks:accounts/fireworks/models/nemotron-3-ultra-bf16",
        "openrouter:nvidia/nemotron-3-ultra-550b-a55b",
        "nebius:nvidia/Nemotron-3-Ultra-550b-a55b",
        "together:nvidia/nemotron-3-ultra-550b-a55b",
    ]


@pytest.mark.spec("NEMO-001", "NEMO-002")
@pytest.mark.parametrize("key", [KEY, *plugin.KEYS])
def test_each_key_has_the_profile(key):
    with kernel() as built:
        plan = built.plan(make_request(nemotron(key=key)))
    assert [entry.name for entry in ours(plan.main)] == ORDER


@pytest.mark.spec("NEMO-002", "NEMO-005")
@pytest.mark.parametrize("key", [KEY, *plugin.KEYS])
def test_no_behaviour_is_built_to_be_thrown_away(key, monkeypatch):
    made = []
    monkeypatch.setattr(
        "deepagents_builtin.profiles.harness.nemotron.profile.NemotronToolCallShim",
        lambda: made.append(key) or NemotronToolCallShim(),
    )
    with kernel() as built:
        profile = harness_for_spec(built.profiles, key).profile
        assert [middleware.name for middleware in profile.materialize_extra_middleware()] == ORDER
    assert made == [key]


@pytest.mark.spec("NEMO-001")
@pytest.mark.parametrize(
    "key", ["NVIDIA:nvidia/nemotron-3-super", "openai:nvidia/nemotron-3-ultra-550b-a55b"]
)
def test_other_models_get_nothing(key):
    with kernel() as built:
        plan = built.plan(make_request(nemotron(key=key)))
    assert ours(plan.main) == []
    assert "<loop_control>" not in str(plan.main.prompt)


def test_planning_for_another_model_imports_no_behaviour():
    code = """
import sys
from deepagents_builtin.profiles.harness.nemotron import plugin
assert "langchain" not in sys.modules
from deepagents_kernel import Kernel, make_request
from deepagents_kernel.testing import ScriptedChatModel
Kernel().plan(make_request(ScriptedChatModel(["done"])))
print(*sorted(name for name in sys.modules if ".nemotron" in name or name.endswith("behaviour")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    package = "deepagents_builtin.profiles.harness.nemotron"
    assert done.stdout.split() == [package, f"{package}.plugin"]


@pytest.mark.spec("NEMO-003")
def test_the_sections_of_the_prompt():
    model = nemotron()
    with kernel() as built:
        built.compile(built.plan(make_request(model))).invoke({"messages": "hello"})
    system = model.requests[0].system
    assert re.findall(r"^<(\w+)>$", system, re.MULTILINE) == [
        "approach",
        "grounding",
        "loop_control",
        "tool_selection",
        "state_changes",
        "final_answer_completeness",
        "followup_defaults",
        "context_compaction",
    ]
    assert re.findall(r"^</(\w+)>$", system, re.MULTILINE) == re.findall(r"^<(\w+)>$", system, re.MULTILINE)


@pytest.mark.spec("NEMO-004")
def test_the_description_of_read_file():
    model = nemotron()
    with kernel() as built:
        built.compile(built.plan(make_request(model))).invoke({"messages": "hello"})
    (text,) = [tool.description for tool in model.requests[0].tools if tool.name == "read_file"]
    for needed in ("0-based", "exactly `limit` lines is not the whole file", "until", "before you edit"):
        assert needed in text


@pytest.mark.spec("NEMO-005")
def test_every_stack_of_the_model_has_behaviours_of_its_own():
    child = {"name": "d", "description": "d", "system_prompt": "d"}
    with kernel() as built:
        plan = built.plan(make_request(nemotron(), subagents=[child]))
    stacks = [plan.main, plan.stack("main/general-purpose"), plan.stack("main/d")]
    assert all([entry.name for entry in ours(stack)] == ORDER for stack in stacks)
    instances = [id(entry.instance) for stack in stacks for entry in ours(stack)]
    assert len(set(instances)) == 3 * len(ORDER)


@pytest.mark.spec("NEMO-006")
def test_nudges_and_repairs_are_logged_for_whoever_looks(caplog):
    model = nemotron([[("read_file", {"path": "/a"})], "<think>x</think>done"])
    with caplog.at_level(logging.DEBUG, logger="deepagents_builtin"), kernel() as built:
        graph = built.compile(built.plan(make_request(model)))
        graph.invoke({"messages": "read the file /a"})
    events = {record.event: record.levelname for record in caplog.records if hasattr(record, "event")}
    assert {"advised": "DEBUG", "tool_call_repaired": "DEBUG", "reasoning_tags_moved": "DEBUG"}.items() <= (
        events.items()
    )


@pytest.mark.spec("NEMO-010", "NEMO-011")
def test_the_names_of_messages():
    assert names.MESSAGES.names == {
        "nemotron_final_answer_guard",
        "nemotron_transition_nudge",
        "nemotron_followup_guard",
        "nemotron_entity_guard",
        "nemotron_action_commit_nudge",
        "nemotron_tool_chain_nudge",
        "nemotron_filesystem_request_nudge",
        "nemotron_domain_tool_preference",
        "nemotron_domain_tool_nudge",
        "nemotron_progress_budget",
    }
    for name in names.MESSAGES.names:
        assert not names.MESSAGES.is_external(HumanMessage("x", name=name))
        nudge = names.MESSAGES.nudge(name, "x")
        assert isinstance(nudge, HumanMessage)
        assert nudge.additional_kwargs["lc_source"] == name
    assert names.MESSAGES.is_external(HumanMessage("x", name="somebody"))


@pytest.mark.spec("NEMO-012")
def test_domain_tools():
    harness = (
        "ls read_file write_file edit_file delete glob grep compact_conversation execute task write_todos"
    )
    assert not any(map(names.TOOLS.is_domain, harness.split()))
    assert not names.TOOLS.is_domain("__secret")
    assert names.TOOLS.is_domain("get_weather")


@pytest.mark.spec("NEMO-013")
@pytest.mark.parametrize(
    "verb", ["count", "describe", "fetch", "find", "get", "list", "lookup", "read", "retrieve", "search"]
)
def test_tools_that_only_look(verb):
    assert not names.TOOLS.is_mutation(f"{verb}_and_send")
    assert not names.TOOLS.is_mutation(f"{verb}SendLog")


@pytest.mark.spec("NEMO-013")
def test_words_that_change_something():
    words = (
        "approve archive assign activate book cancel charge close create deactivate delete disable enable "
        "escalate grant invite notify pay post publish reject refund remove reserve revoke schedule send "
        "submit terminate transfer update upgrade write"
    )
    assert set(words.split()) == names.TOOLS.changing
    assert all(names.TOOLS.is_mutation(f"crm_{word}Entry") for word in words.split())


@pytest.mark.spec("NEMO-014")
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("sendEmail", True),
        ("user_update", True),
        ("Slack_postMessage", True),
        ("get_send_log", False),
        ("posthog_query", False),
        ("write_file", False),
        ("email", False),
        ("DELETE_user", False),
    ],
)
def test_examples_of_mutations(name, changes):
    assert names.TOOLS.is_mutation(name) is changes


@pytest.mark.spec("NEMO-015")
def test_final_answers():
    def final(message):
        return names.turn_of([HumanMessage("q"), message]).final_answer() is not None

    call = {"name": "ls", "args": {}, "id": "c"}
    assert final(AIMessage("here"))
    assert not final(AIMessage("here", name="nemotron_progress_budget"))
    assert not final(AIMessage(" "))
    assert not final(AIMessage("here", tool_calls=[call]))
    assert not final(HumanMessage("here"))


@pytest.mark.spec("NEMO-016")
def test_loop_risk_is_counted_in_the_turn():
    assert TurnLimits(8, 28) == names.LOOP_RISK

    def risk(*messages):
        return names.LOOP_RISK.reached(names.turn_of(messages))

    answers, results = [AIMessage("x")] * 8, [ToolMessage("x", tool_call_id="c")] * 28
    assert risk(HumanMessage("q"), *answers)
    assert risk(HumanMessage("q"), *results)
    assert not risk(HumanMessage("q"), *answers[1:], *results[1:])
    assert not risk(HumanMessage("q"), *answers, *results, HumanMessage("and now?"))


@pytest.mark.spec("NEMO-018")
def test_the_state_keys_are_private():
    schemas = [middleware.state_schema for middleware in behaviours()]
    found = {name for name in private_state_field_names(*schemas) if name.startswith("nemotron_")}
    assert found == {
        "nemotron_transition_nudged",
        "nemotron_action_nudged",
        "nemotron_tool_chain_nudged",
        "nemotron_domain_tool_nudged",
        "nemotron_followup_guard_fired",
        "nemotron_entity_pre_nudged",
        "nemotron_entity_guard_fired",
        "nemotron_entity_tools",
        "nemotron_final_guard_fired",
    }


def test_a_profile_with_other_data():
    profile = nemotron_profile(ProgressBudget(max_model_calls=40), (0.5,), {"execute"})
    made = {middleware.name: middleware for middleware in profile.materialize_extra_middleware()}
    assert list(made) == ORDER
    assert made["NemotronProgressBudgetMiddleware"].budget.max_model_calls == 40
    assert made["ModelRateLimitRetryMiddleware"].delays == (0.5,)
    assert made["NemotronTextToolCallParser"].approved_tools == {"execute"}


def test_a_profile_for_one_agent_sets_one_behaviour():
    own = HarnessProfile(extra_middleware=lambda: [NemotronProgressBudgetMiddleware(max_model_calls=40)])
    with kernel() as built:
        plan = built.plan(make_request(nemotron(), profile=own))
    entries = ours(plan.main)
    assert [entry.name for entry in entries] == ORDER
    assert entries[0].instance.budget.max_model_calls == 40
