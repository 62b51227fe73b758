"""The agents that are compared: ours, a bare ``create_agent``, and deepagents where it is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool

CONTENT = "x" * 500
RECURSION_LIMIT = 100_000

_HOOKS = ("before_agent", "before_model", "after_model", "after_agent", "wrap_model_call", "wrap_tool_call")

#: Whether a third column is measured.
HAS_DEEPAGENTS = importlib.util.find_spec("deepagents") is not None


class Writer(BaseChatModel):
    """Calls ``write_file`` *turns* times, a new file each time, and is done.

    It has nothing in common with the project, so that no side is measured with a model made for it.
    """

    turns: int = 0
    made: int = 0
    # So large that no side compacts the conversation: that would be another run.
    profile: Any = {"max_input_tokens": 1_000_000_000}

    @property
    def _llm_type(self) -> str:
        return "writer"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Writer:
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.made += 1
        if self.made > self.turns:
            return _result(AIMessage("done"))
        args = {"file_path": f"/file{self.made}.txt", "content": CONTENT}
        call = {"name": "write_file", "args": args, "id": f"call{self.made}", "type": "tool_call"}
        return _result(AIMessage("", tool_calls=[call]))


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"Updated file {file_path}"


def plain_tools(count: int) -> list[BaseTool]:
    """``write_file`` and others that look like it."""

    def make(name: str) -> BaseTool:
        @tool(name)
        def other(file_path: str, content: str = "") -> str:
            """Do something with a file."""
            return "ok"

        return other

    return [write_file, *(make(f"tool{number}") for number in range(1, count))]


class _Layer(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        return handler(request)

    def wrap_tool_call(self, request, handler):
        return handler(request)


def layers(count: int) -> list[AgentMiddleware]:
    """Middleware that hands on every model call and every tool call."""
    return [type(f"Layer{number}", (_Layer,), {})() for number in range(count)]


def mirrored(middleware: AgentMiddleware) -> AgentMiddleware:
    """A middleware that acts in the same hooks and does nothing there, without tools and state of its own."""
    cls = type(middleware)
    names = [name for hook in _HOOKS for name in (hook, f"a{hook}")]
    own = [name for name in names if getattr(cls, name) is not getattr(AgentMiddleware, name)]
    return type(f"Mirrored{cls.__name__}", (AgentMiddleware,), {name: _NOTHING[name] for name in own})()


def _nothing(name: str) -> Any:
    if name.startswith("wrap"):
        return lambda self, request, handler: handler(request)
    if name.startswith("awrap"):

        async def forward(self, request, handler):
            return await handler(request)

        return forward
    if name.startswith("a") and name[1:] in _HOOKS:

        async def answer(self, state, runtime):
            return None

        return answer
    return lambda self, state, runtime: None


_NOTHING = {name: _nothing(name) for hook in _HOOKS for name in (hook, f"a{hook}")}


def bare(model: BaseChatModel, tools: list[BaseTool], middleware: list[AgentMiddleware] | None = None) -> Any:
    """The host's own agent."""
    return create_agent(model, tools=tools, middleware=middleware or [])


def ours(model: BaseChatModel, **keywords: Any) -> Any:
    """Ours with its defaults."""
    from deepagents_kernel import create_deep_agent

    return create_deep_agent(model, **keywords)


def deepagents(model: BaseChatModel, **keywords: Any) -> Any:
    """The one that ours is compatible with, as a black box."""
    from deepagents import create_deep_agent

    return create_deep_agent(model, **keywords)


def main_stack(model: BaseChatModel) -> Any:
    """The plan of our main stack."""
    from deepagents_kernel import get_kernel, make_request

    return get_kernel().plan(make_request(model)).main
