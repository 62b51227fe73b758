"""Excluded tools are neither offered nor run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ToolCallRequest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from deepagents_builtin.middleware.tool_exclusion.middleware import _ToolExclusionMiddleware
from deepagents_builtin.middleware.tool_exclusion.plugin import PLUGIN, deepagents_middleware
from deepagents_kernel.assembly.specs import Segment
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.lookup import ProfileRef

RAN: list[str] = []


@tool
def hidden(text: str) -> str:
    """A tool to exclude."""
    RAN.append(f"hidden {text}")
    return "ran"


@tool
def shown(text: str) -> str:
    """A tool to keep."""
    RAN.append(f"shown {text}")
    return "ran"


@tool
def from_middleware(text: str) -> str:
    """A tool that a middleware brings."""
    RAN.append(f"from_middleware {text}")
    return "ran"


def plain_function(text: str) -> str:
    """A function given as a tool."""
    RAN.append(f"plain_function {text}")
    return "ran"


class Model(BaseChatModel):
    """Replies in turn; keeps the names of the tools bound for each call, ``None`` for none bound."""

    replies: list[AIMessage] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)
    tools: Any = None

    @property
    def _llm_type(self) -> str:
        return "test"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        names = [item["name"] if isinstance(item, dict) else item.name for item in tools]
        return Model(replies=self.replies, bound=self.bound, tools=names).with_shared(self)

    def with_shared(self, other: Model) -> Model:
        self.replies, self.bound = other.replies, other.bound
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.bound.append(self.tools)
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])


class Onlooker(AgentMiddleware[Any, Any, Any]):
    """Brings a tool, adds another to each request, and sees what comes back from tool calls."""

    tools = [from_middleware]

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tools=[*request.tools, {"type": "web_search", "name": "web_search"}]))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(
            request.override(tools=[*request.tools, {"type": "web_search", "name": "web_search"}])
        )

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = handler(request)
        self.seen.append((request.tool_call["name"], result.status))
        return result

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = await handler(request)
        self.seen.append((request.tool_call["name"], result.status))
        return result


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


def call(name: str, call_id: str = "c1") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"text": "x"}, "id": call_id}])


async def run(agent: Any, *, asynchronous: bool) -> list[Any]:
    value = {"messages": [HumanMessage("go")]}
    return (await agent.ainvoke(value) if asynchronous else agent.invoke(value))["messages"]


def request_with(*tools: Any) -> ModelRequest[Any]:
    return ModelRequest(model=Model(), messages=[], tools=list(tools))


def offered(middleware: Any, *tools: Any) -> list[Any]:
    seen: list[Any] = []
    middleware.wrap_model_call(request_with(*tools), lambda request: seen.extend(request.tools))
    return seen


@pytest.mark.spec("TEX-002", "TOOL-010", "TEX-004")
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_tools_of_every_origin_are_left_out_of_the_request(asynchronous: bool):
    excluded = {"hidden", "plain_function", "from_middleware", "web_search"}
    model = Model(replies=[AIMessage("done")])
    onlooker = Onlooker()
    agent = create_agent(
        model,
        [hidden, shown, plain_function],
        middleware=[onlooker, _ToolExclusionMiddleware(excluded=excluded)],
    )

    await run(agent, asynchronous=asynchronous)

    assert model.bound == [["shown"]]


@pytest.mark.spec("TEX-002")
def test_tools_in_dict_form_are_recognised_by_either_layout():
    flat, nested = {"type": "x", "name": "hidden"}, {"type": "function", "function": {"name": "hidden"}}
    unnamed, kept = {"type": "code_execution"}, {"type": "function", "function": {"name": "other"}}
    middleware = _ToolExclusionMiddleware(excluded={"hidden"})

    assert offered(middleware, flat, hidden, nested, unnamed, kept, shown) == [unnamed, kept, shown]


@pytest.mark.spec("TEX-007")
async def test_a_request_with_nothing_to_remove_is_passed_on_as_it_is():
    middleware = _ToolExclusionMiddleware(excluded={"no_such_tool"})
    request = request_with(shown)

    async def handler(given: Any) -> Any:
        return given

    assert middleware.wrap_model_call(request, lambda given: given) is request
    assert await middleware.awrap_model_call(request, handler) is request


@pytest.mark.spec("TEX-003", "TOOL-011", "TOOL-012", "TEX-004")
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_a_call_of_an_excluded_tool_is_refused_where_outer_middleware_sees_it(asynchronous: bool):
    model = Model(replies=[call("hidden"), call("shown", "c2"), AIMessage("done")])
    onlooker = Onlooker()
    agent = create_agent(
        model,
        [hidden, shown],
        middleware=[onlooker, _ToolExclusionMiddleware(excluded={"hidden", "web_search"})],
    )

    messages = await run(agent, asynchronous=asynchronous)

    refusal, result = [message for message in messages if isinstance(message, ToolMessage)]
    assert (refusal.name, refusal.tool_call_id, refusal.status) == ("hidden", "c1", "error")
    assert refusal.text.startswith("Error:")
    assert "not available" in refusal.text
    assert result.status == "success"
    assert RAN == ["shown x"]
    assert onlooker.seen == [("hidden", "error"), ("shown", "success")]


@pytest.mark.spec("TEX-003", "TOOL-011")
async def test_a_refusal_of_a_call_without_an_id_has_an_empty_one():
    middleware = _ToolExclusionMiddleware(excluded={"hidden"})
    request = ToolCallRequest(
        tool_call={"name": "hidden", "args": {}, "id": None}, tool=None, state={}, runtime=SimpleNamespace()
    )

    async def handler(given: Any) -> Any:
        raise AssertionError(given)

    assert middleware.wrap_tool_call(request, handler).tool_call_id == ""
    assert (await middleware.awrap_tool_call(request, handler)).tool_call_id == ""


@pytest.mark.spec("TOOL-014")
async def test_with_every_tool_excluded_the_model_is_called_without_tools():
    model = Model(replies=[AIMessage("done")])
    agent = create_agent(
        model, [hidden, shown], middleware=[_ToolExclusionMiddleware(excluded={"hidden", "shown"})]
    )

    await run(agent, asynchronous=False)

    assert model.bound == [None]


# -- the plugin ------------------------------------------------------------------------------------


def context(*excluded: str, kind: str = "main") -> Any:
    return SimpleNamespace(kind=kind, profile=ProfileRef(HarnessProfile(excluded_tools=frozenset(excluded))))


@pytest.mark.spec("TEX-001")
def test_a_profile_without_exclusions_gets_no_guard():
    assert deepagents_middleware(context()).vacant


@pytest.mark.spec("TEX-006", "TEX-008", "TOOL-015")
@pytest.mark.parametrize("kind", ["main", "general-purpose", "subagent", "fork"])
def test_each_stack_excludes_what_its_own_profile_says(kind: str):
    spec = deepagents_middleware(context("read_file", "grep", kind=kind))
    other = deepagents_middleware(context("hidden", kind=kind))

    assert spec.segment is Segment.GUARD
    assert spec.name == spec.factory(None).name == "_ToolExclusionMiddleware"
    assert type(spec.factory(None)) is spec.cls
    assert spec.factory(None).excluded == {"read_file", "grep"}
    assert other.factory(None).excluded == {"hidden"}
    assert PLUGIN.serves == ("excluded-tools",)
