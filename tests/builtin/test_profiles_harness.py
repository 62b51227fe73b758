"""The harness profiles that are built in: which models they are for, what they say, and what that changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from langchain.agents.middleware import AgentMiddleware, TodoListMiddleware

from deepagents_kernel import HarnessProfile, Kernel, create_deep_agent, make_request
from deepagents_kernel.profiles.lookup import EMPTY_PROFILE, harness_for_model, harness_for_spec
from deepagents_kernel.testing import ScriptedChatModel

CLAUDE = ["anthropic:claude-opus-4-7", "anthropic:claude-sonnet-4-6", "anthropic:claude-haiku-4-5"]
CODEX = ["openai:gpt-5.1-codex", "openai:gpt-5.2-codex", "openai:gpt-5.3-codex"]
COMMON = ["use_parallel_tool_calls", "investigate_before_answering", "tool_result_reflection"]
POET = {"name": "poet", "description": "Writes verse.", "system_prompt": "You write verse."}


@pytest.fixture(scope="module")
def kernel():
    return Kernel()


def model(key, turns=("done",), **options):
    provider, _, name = key.partition(":")
    return ScriptedChatModel(list(turns), provider=provider, model_name=name, **options)


def sections(text):
    """Tag to text, in order; nothing may stand between them."""
    found = re.findall(r"<(\w+)>\n(.*?)\n</\1>", text, re.DOTALL)
    assert text == "\n\n".join(f"<{tag}>\n{body}\n</{tag}>" for tag, body in found)
    return dict(found)


def suffix(kernel, key):
    return harness_for_spec(kernel.profiles, key).profile.system_prompt_suffix


# -- which models --------------------------------------------------------------------------------


@pytest.mark.spec("BOOT-003")
def test_they_are_registered_in_their_order(kernel):
    keys = [key for key in kernel.profiles.snapshot().harnesses if "emotron" not in key]
    assert keys == [*CLAUDE, *CODEX]
    every = list(kernel.profiles.snapshot().harnesses)
    others = [key for key in every if key not in keys]
    assert every == [*CLAUDE, *others, *CODEX]


@pytest.mark.spec("ANT-001", "CDX-001")
def test_no_provider_as_a_whole_has_a_harness_profile(kernel):
    assert all(":" in key for key in kernel.profiles.harness_keys())
    for spec in (
        "anthropic",
        "anthropic:claude-opus-4-6",
        "openai",
        "openai:gpt-5.1",
        "openai:gpt-5.1-codex-max",
    ):
        assert harness_for_spec(kernel.profiles, spec) is EMPTY_PROFILE


@pytest.mark.parametrize("provider", ["bedrock", "amazon_bedrock", "google_vertexai", "openrouter", "azure"])
@pytest.mark.spec("ANT-004")
def test_the_same_models_behind_other_providers_get_nothing(kernel, provider):
    for key in CLAUDE:
        other = f"{provider}:{key.partition(':')[2]}"
        assert harness_for_spec(kernel.profiles, other) is EMPTY_PROFILE
        assert harness_for_model(kernel.profiles, model(other)) is EMPTY_PROFILE


@pytest.mark.parametrize("key", [*CLAUDE, *CODEX])
def test_a_model_object_gets_what_its_string_gets(kernel, key):
    assert (
        harness_for_model(kernel.profiles, model(key)).profile
        is harness_for_spec(kernel.profiles, key).profile
    )


@pytest.mark.parametrize(
    ("plugin", "keys"), [*((f"harness.{key[10:]}", [key]) for key in CLAUDE), ("harness.openai-codex", CODEX)]
)
def test_each_is_a_plugin_of_its_own(plugin, keys):
    kernel = Kernel(disable=[plugin])
    assert set(Kernel().profiles.harness_keys()) - set(kernel.profiles.harness_keys()) == set(keys)


# -- what they say -------------------------------------------------------------------------------


@pytest.mark.spec("ANT-001")
@pytest.mark.parametrize("key", CLAUDE)
def test_profiles_of_claude_are_a_suffix_and_nothing_else(kernel, key):
    profile = harness_for_spec(kernel.profiles, key).profile
    assert profile == HarnessProfile(system_prompt_suffix=profile.system_prompt_suffix)


@pytest.mark.spec("ANT-002")
def test_three_sections_are_common_to_all(kernel):
    found = [sections(suffix(kernel, key)) for key in CLAUDE]
    assert [list(item)[:3] for item in found] == [COMMON] * 3
    assert len({tuple(item[tag] for tag in COMMON) for item in found}) == 1
    assert [list(item) for item in found[1:]] == [COMMON] * 2
    parallel, investigate, reflect = (found[0][tag] for tag in COMMON)
    assert "in one turn" in parallel
    assert "Never guess an argument" in parallel
    assert "not opened" in investigate
    assert "read it before" in investigate
    assert "weigh them before you go on" in reflect


@pytest.mark.spec("ANT-003")
def test_opus_has_two_more(kernel):
    found = sections(suffix(kernel, CLAUDE[0]))
    assert list(found) == [*COMMON, "tool_usage", "subagent_usage"]
    assert "with tools, not from memory" in found["tool_usage"]
    assert "Do yourself" in found["subagent_usage"]
    assert "in the same turn" in found["subagent_usage"]


@pytest.mark.spec("CDX-001", "CDX-002")
def test_codex_models_share_one_text_of_three_topics(kernel):
    (text,) = {suffix(kernel, key) for key in CODEX}
    topics = dict(part.split("\n\n", 1) for part in text.split("## ")[1:])
    alone, looking, tasks = topics.values()
    assert "to the end in this turn" in alone
    assert "Prefer doing to proposing" in alone
    assert "no announcement of a plan" in alone
    assert "one parallel batch" in looking
    assert "settle every item" in tasks
    assert "`write_todos`" in tasks


@pytest.mark.spec("CDX-003")
def test_the_list_of_tasks_is_made_anew_for_each_stack(kernel):
    plan = kernel.plan(make_request(model(CODEX[0]), subagents=[POET]))
    lists = [
        entry.instance
        for stack in plan.stacks()
        for entry in stack.entries
        if entry.name == "TodoListMiddleware"
    ]
    assert [type(item) for item in lists] == [TodoListMiddleware] * 3
    assert len({id(item) for item in lists}) == 3


class OwnList(TodoListMiddleware):
    name = "TodoListMiddleware"


@pytest.mark.parametrize("cls", [TodoListMiddleware, OwnList])
@pytest.mark.spec("CDX-004")
def test_a_callers_list_takes_its_place_in_main_and_general_purpose(kernel, cls):
    def order(plan, path):
        return [entry.name for entry in plan.stack(path).entries]

    own, other = cls(), type("Other", (AgentMiddleware,), {})()
    plain = kernel.plan(make_request(model(CODEX[0]), middleware=[other]))
    plan = kernel.plan(make_request(model(CODEX[0]), middleware=[own, other]))
    for path in ("main", "main/general-purpose"):
        assert order(plan, path) == order(plain, path)
        (entry,) = [item for item in plan.stack(path).entries if item.name == "TodoListMiddleware"]
        assert entry.instance is own


@pytest.mark.parametrize("exclusion", [TodoListMiddleware, "TodoListMiddleware"])
@pytest.mark.parametrize("enable", [False, True])
@pytest.mark.spec("CDX-004")
def test_excluding_it_removes_it_everywhere(exclusion, enable):
    kernel = Kernel.discover(enable=["todo-list"] if enable else [], autoload=False)
    kernel.profiles.register_harness(CODEX[0], HarnessProfile(excluded_middleware={exclusion}))
    plan = kernel.plan(make_request(model(CODEX[0]), subagents=[POET]))
    assert len(tuple(plan.stacks())) == 3
    assert all(entry.name != "TodoListMiddleware" for stack in plan.stacks() for entry in stack.entries)


# -- when they are imported ----------------------------------------------------------------------

LOG = """
import sys
from deepagents_kernel import Kernel
from deepagents_kernel.profiles.lookup import harness_for_spec
def loaded():
    mine = [name for name in sys.modules if name.startswith("deepagents_builtin.profiles.harness.")]
    return sorted(name.rpartition(".")[2] for name in mine if name.endswith("_profile"))
kernel = Kernel()
kernel.profiles.harness_keys()
harness_for_spec(kernel.profiles, "anthropic:claude-opus-4-6")
print(loaded(), "langchain" in sys.modules, "deepagents_builtin.profiles.facts" in sys.modules)
for spec in ("anthropic:claude-haiku-4-5", "openai:gpt-5.2-codex", "anthropic:claude-opus-4-7"):
    harness_for_spec(kernel.profiles, spec)
    print(loaded())
"""


def test_a_profile_is_imported_when_its_model_is_looked_up():
    roots = [path for path in sys.path if path and Path(path).is_dir()]
    done = subprocess.run(
        [sys.executable, "-c", LOG],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(roots)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines() == [
        "[] False False",
        "['claude_haiku_4_5_profile']",
        "['claude_haiku_4_5_profile', 'openai_codex_profile']",
        "['claude_haiku_4_5_profile', 'claude_opus_4_7_profile', 'openai_codex_profile']",
    ]


# -- a model that does what it is told, with and without -----------------------------------------

NOTES = {
    f"/{name}.txt": {"content": f"about {name}", "encoding": "utf-8"} for name in ("rain", "snow", "hail")
}


def obedient(messages, tools):
    """Reads three files and answers: at once if it is told to, and only then after reading them.

    Stands for a model that follows its prompt to the letter and has no habits of its own.
    """
    prompt = messages[0].text if messages[0].type == "system" else ""
    reads = [("read_file", {"file_path": path}) for path in NOTES]
    done = sum(message.type == "tool" for message in messages)
    if "<investigate_before_answering>" not in prompt and not done:
        return "It is about the weather, I suppose."
    if done < len(reads):
        return reads if "<use_parallel_tool_calls>" in prompt else [reads[done]]
    return f"I read {done} files."


def play(key, turn, disable=(), **options):
    scripted = model(key, [turn], repeat_last=True)
    agent = create_deep_agent(scripted, kernel=Kernel(disable=list(disable)), **options)
    return scripted, agent.invoke({"messages": "What are the notes about?", "files": NOTES})


@pytest.mark.parametrize("key", CLAUDE)
def test_with_a_profile_of_claude_files_are_read_together_before_the_answer(key):
    scripted, result = play(key, obedient)
    assert len(scripted.requests) == 2
    assert [len(message.tool_calls) for message in result["messages"] if message.type == "ai"] == [3, 0]
    assert result["messages"][-1].text == "I read 3 files."
    scripted, result = play(key, obedient, [f"harness.{key[10:]}"])
    assert len(scripted.requests) == 1
    assert result["messages"][-1].text == "It is about the weather, I suppose."


def delegating(messages, tools):
    """Hands each file to a sub-agent of its own: all in one turn if it is told to."""
    prompt = messages[0].text if messages[0].type == "system" else ""
    if "You write verse." in prompt:
        return "a verse"
    tasks = [("task", {"description": name, "subagent_type": "poet"}) for name in NOTES]
    done = sum(message.type == "tool" for message in messages)
    if done == len(tasks):
        return "three verses"
    return tasks if "<subagent_usage>" in prompt else [tasks[done]]


@pytest.mark.parametrize(("disable", "turns"), [((), [3, 0]), (("harness.claude-opus-4-7",), [1, 1, 1, 0])])
def test_with_the_profile_of_opus_sub_agents_are_started_together(disable, turns):
    _, result = play(CLAUDE[0], delegating, disable, subagents=[POET])
    assert [len(message.tool_calls) for message in result["messages"] if message.type == "ai"] == turns
    assert result["messages"][-1].text == "three verses"


def planning(messages, tools):
    """Keeps a list if it has the tool for it, and settles it at the end if it is told to."""
    prompt = messages[0].text if messages[0].type == "system" else ""
    last = messages[-1]
    if "write_todos" not in {tool["name"] if isinstance(tool, dict) else tool.name for tool in tools}:
        return "done" if last.type == "tool" else [("ls", {"path": "/"})]
    if last.type == "human":
        return [("write_todos", {"todos": [{"content": "look", "status": "in_progress"}]})]
    if last.name == "write_todos" and "in_progress" in last.text:
        return [("ls", {"path": "/"})]
    if last.name == "ls" and "settle every item" in " ".join(prompt.split()):
        return [("write_todos", {"todos": [{"content": "look", "status": "completed"}]})]
    return "done"


@pytest.mark.parametrize("key", CODEX)
@pytest.mark.spec("CDX-002", "CDX-003")
def test_with_the_profile_of_codex_a_list_is_kept_and_settled(key):
    scripted, result = play(key, planning)
    assert [item["status"] for item in result["todos"]] == ["completed"]
    assert [
        call["name"] for message in result["messages"] if message.type == "ai" for call in message.tool_calls
    ] == [
        "write_todos",
        "ls",
        "write_todos",
    ]
    scripted, result = play(key, planning, ["harness.openai-codex"])
    assert "todos" not in result
    assert "write_todos" not in scripted.requests[0].tool_names
