"""Tools of a stack: description overrides, names, and which tools a child gets."""

import pytest
from langchain_core.tools import tool
from standins import full_table

from deepagents_kernel import HarnessProfile, Kernel, create_deep_agent, hookimpl, make_request
from deepagents_kernel.assembly.tools import rewrite_descriptions, stack_tool_names, tool_name
from deepagents_kernel.testing import ScriptedChatModel


@tool
def search(query: str) -> str:
    """The original text."""
    return query


def plain(query: str) -> str:
    """A plain function."""
    return query


NESTED = {"type": "function", "function": {"name": "nested", "description": "old", "parameters": {}}}
FLAT = {"name": "flat", "description": "old", "input_schema": {}}


@pytest.fixture(scope="module")
def kernel():
    return Kernel(builtins=full_table())


@pytest.fixture
def plan(kernel):
    def build(tools=None, overrides=None, **arguments):
        kernel.profiles.replace_harness("here:m", HarnessProfile(tool_description_overrides=overrides or {}))
        model = ScriptedChatModel(["done"], provider="here", model_name="m")
        return kernel.plan(make_request(model, tools, **arguments))

    return build


def described(stack):
    return {
        item.name if hasattr(item, "name") else tool_name(item): (
            item.description
            if hasattr(item, "description")
            else (item.get("function") or item)["description"]
        )
        for item in stack.context.tools
    }


@pytest.mark.spec("TOOL-001")
def test_names():
    assert tool_name(search) == "search"
    assert tool_name(FLAT) == "flat"
    assert tool_name(NESTED) == "nested"
    assert tool_name(plain) is None
    assert tool_name({"name": 3}) is None
    assert tool_name(object()) is None


@pytest.mark.spec("TOOL-002", "TOOL-004", "TOOL-007")
def test_overrides_rewrite_copies(plan):
    overrides = {"search": "new", "flat": "newer", "nested": ""}
    found = described(plan([search, FLAT, NESTED], overrides).main)
    assert found == {"search": "new", "flat": "newer", "nested": ""}
    assert search.description == "The original text."
    assert (FLAT["description"], NESTED["function"]["description"]) == ("old", "old")


@pytest.mark.spec("TOOL-003")
def test_plain_functions_are_left_alone():
    rewritten = rewrite_descriptions([plain], {"plain": "new"})
    assert rewritten == (plain,)


@pytest.mark.spec("TOOL-005")
def test_no_tools_stay_no_tools(plan):
    assert plan(None).main.context.request.tools is None
    assert plan(None).main.context.tools == ()
    given = [search]
    assert plan(given).main.context.tools == (search,)
    assert given == [search]


@pytest.mark.spec("TOOL-006", "VIS-012")
def test_built_in_tools_take_the_overrides_and_ignore_an_empty_one(plan):
    found = plan(None, {"ls": "Lists.", "grep": ""})
    default = plan(None)
    for stack, plain_stack in zip(found.stacks(), default.stacks(), strict=True):
        tools = {item.name: item.description for item in stack.entries[0].instance.tools}
        untouched = {item.name: item.description for item in plain_stack.entries[0].instance.tools}
        assert tools["ls"] == "Lists."
        assert tools["grep"] == untouched["grep"]


@pytest.mark.spec("TOOL-008", "SUB-035", "SUB-034")
def test_the_task_override_is_filled_in_literally(plan):
    def description(text):
        found = plan(None, {"task": text}, subagents=[{"name": "d", "description": "does d"}])
        task = next(
            entry for entry in found.main.entries if entry.name == "SubAgentMiddleware"
        ).instance.tools[0]
        return task.description

    filled = description('x {"a"} {other} {available_agents}')
    assert filled.startswith('x {"a"} {other} - general-purpose: ')
    assert filled.endswith("- d: does d")
    assert description("verbatim {x}") == "verbatim {x}"


@pytest.mark.spec("ASM-026")
def test_a_callers_tool_wins_over_a_built_in_of_its_name(plan):
    @tool("ls")
    def mine(path: str) -> str:
        """Mine."""
        return f"mine {path}"

    found = plan([mine])
    assert stack_tool_names(found.main).count("ls") == 1
    model = ScriptedChatModel([[("ls", {"path": "/"})], "done"])
    result = create_deep_agent(model, [mine]).invoke({"messages": [("user", "go")]})
    assert [message.text for message in result["messages"] if message.type == "tool"] == ["mine /"]
    assert model.requests[0].tool_names.count("ls") == 1


@pytest.mark.spec("ASM-065", "SUB-017", "BY-083")
def test_which_tools_a_declared_child_gets(plan):
    children = [
        {"name": "absent", "description": "x"},
        {"name": "none", "description": "x", "tools": None},
        {"name": "empty", "description": "x", "tools": []},
        {"name": "own", "description": "x", "tools": [FLAT]},
    ]
    found = plan([search], subagents=children)
    tools = {stack.name: [tool_name(item) for item in stack.context.tools] for stack in found.stacks()}
    assert tools == {
        "main": ["search"],
        "general-purpose": ["search"],
        "absent": ["search"],
        "none": [],
        "empty": [],
        "own": ["flat"],
    }


@pytest.mark.spec("ASM-065", "ASM-066")
def test_a_child_rewrites_its_parents_raw_tools_with_its_own_profile(kernel):
    kernel.profiles.replace_harness("here:m", HarnessProfile(tool_description_overrides={"search": "main"}))
    kernel.profiles.replace_harness("here:n", HarnessProfile(tool_description_overrides={"search": "child"}))
    kernel.profiles.replace_harness("here:o", HarnessProfile())
    models = {name: ScriptedChatModel(["done"], provider="here", model_name=name) for name in "mno"}
    found = kernel.plan(
        make_request(
            models["m"],
            [search],
            subagents=[{"name": name, "description": "x", "model": models[name]} for name in "no"],
        )
    )
    texts = {stack.name: described(stack)["search"] for stack in found.stacks()}
    assert texts == {"main": "main", "general-purpose": "main", "n": "child", "o": "The original text."}


@pytest.mark.spec("TOOL-010", "TOOL-014", "TEX-002", "TEX-004")
def test_excluded_tools_are_neither_offered_nor_run_whoever_brings_them():
    profile = HarnessProfile(excluded_tools={"plain", "search", "ls"})
    model = ScriptedChatModel([[("search", {"query": "x"})], "done"])
    result = create_deep_agent(model, [search, plain], profile=profile).invoke({"messages": [("user", "go")]})
    assert not {"plain", "search", "ls"} & set(model.requests[0].tool_names)
    assert "grep" in model.requests[0].tool_names
    answer = next(message for message in result["messages"] if message.type == "tool")
    assert (answer.status, answer.name) == ("error", "search")
    assert answer.text.startswith("Error:")
    assert "not available" in answer.text


def test_tools_from_plugins_reach_the_stacks_that_they_are_given_to():
    class Tools:
        @hookimpl
        def deepagents_tools(self, context):
            return search if context.kind == "main" else None

    kernel = Kernel([("bundle.tools", Tools())])
    found = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            [plain],
            profile=HarnessProfile(tool_description_overrides={"search": "new"}),
        )
    )
    assert described(found.main) == {"plain": "A plain function.", "search": "new"}
    assert list(described(found.main.child("general-purpose"))) == ["plain"]
