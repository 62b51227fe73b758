"""Stand-ins for plugins that the order tables name and that are not here yet.

They have the right middleware names, segments and conditions and do nothing else. A kernel made of
:func:`full_table` has them in their places among the real built-ins.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve
from langchain.agents.middleware import AgentMiddleware

from deepagents_kernel import ChildStack, MiddlewareSpec, PluginInfo, Segment, hookimpl
from deepagents_kernel._builtin import BuiltinTable, load_table

SHORT = {
    "FilesystemMiddleware": "FS",
    "SubAgentMiddleware": "SA",
    "_ParentNotifierMiddleware": "PN",
    "SummarizationMiddleware": "SUM",
    "PatchToolCallsMiddleware": "PTC",
    "AsyncSubAgentMiddleware": "Async",
    "_ForkTaskToolMiddleware": "Fork",
    "SkillsMiddleware": "SK",
    "AnthropicPromptCachingMiddleware": "AC",
    "MemoryMiddleware": "MEM",
    "HumanInTheLoopMiddleware": "HITL",
    "UnsupportedContentMiddleware": "UC",
    "_ToolExclusionMiddleware": "TX",
}


class SummarizationMiddleware(AgentMiddleware):
    """Stand-in."""


class _ParentNotifierMiddleware(AgentMiddleware):
    """Stand-in."""


class AsyncSubAgentMiddleware(AgentMiddleware):
    """Stand-in."""


class _ForkTaskToolMiddleware(AgentMiddleware):
    """Stand-in."""


class SkillsMiddleware(AgentMiddleware):
    """Stand-in that knows its sources."""

    def __init__(self, sources: Any = None) -> None:
        super().__init__()
        self.sources = sources


class MemoryMiddleware(AgentMiddleware):
    """Stand-in that knows its sources."""

    def __init__(self, sources: Any = None) -> None:
        super().__init__()
        self.sources = sources


class UnsupportedContentMiddleware(AgentMiddleware):
    """Stand-in."""


def make(name: str) -> AgentMiddleware:
    """A middleware that does nothing, of a class of its own and of that name."""
    return type(name, (AgentMiddleware,), {})()


def named(name: str, class_name: str = "Custom") -> AgentMiddleware:
    """A middleware that does nothing, whose class is called something else."""
    return type(class_name, (AgentMiddleware,), {"name": name})()


class Notifier:
    @hookimpl
    def deepagents_middleware(self, context: Any) -> Any:
        if context.kind == "main":
            cls = _ParentNotifierMiddleware
            return MiddlewareSpec(cls.__name__, cls, lambda _: cls(), heritable=False)
        return None


class Summarization:
    @hookimpl
    def deepagents_middleware(self) -> Any:
        cls = SummarizationMiddleware
        return MiddlewareSpec(cls.__name__, cls, lambda _: cls())


class AsyncSubAgents:
    PLUGIN = PluginInfo(serves=("async-subagents",))

    @hookimpl
    def deepagents_middleware(self, context: Any) -> Any:
        if context.kind == "main":
            cls = AsyncSubAgentMiddleware
            vacant = not any("graph_id" in spec for spec in context.request.subagents)
            return MiddlewareSpec(cls.__name__, cls, lambda _: cls(), vacant=vacant, heritable=False)
        return None


class Forks:
    """Fork mode: the child stack and the mirrored task tool's slot."""

    PLUGIN = PluginInfo(serves=("fork",))

    @hookimpl
    def deepagents_child_stacks(self, context: Any) -> Any:
        if context.kind == "main":
            for spec in context.request.subagents:
                if spec.get("mode") == "fork":
                    yield ChildStack("fork", spec["name"], spec, inherit="all")

    @hookimpl
    def deepagents_middleware(self, context: Any) -> Any:
        if context.kind == "fork":
            cls = _ForkTaskToolMiddleware
            return MiddlewareSpec(cls.__name__, cls, lambda _: cls())
        return None


class Skills:
    PLUGIN = PluginInfo(serves=("skills",))

    @hookimpl
    def deepagents_middleware(self, context: Any) -> Any:
        cls = SkillsMiddleware
        return MiddlewareSpec(
            cls.__name__, cls, lambda c: cls(c.skills), segment=Segment.TAIL, vacant=context.skills is None
        )


class Memory:
    PLUGIN = PluginInfo(serves=("memory",))

    @hookimpl
    def deepagents_middleware(self, context: Any) -> Any:
        if context.kind not in ("main", "fork"):
            return None
        cls = MemoryMiddleware
        return MiddlewareSpec(
            cls.__name__,
            cls,
            lambda c: cls(c.memory),
            segment=Segment.TAIL,
            vacant=context.memory is None,
            heritable=False,
        )


class UnsupportedContent:
    @hookimpl
    def deepagents_middleware(self) -> Any:
        cls = UnsupportedContentMiddleware
        return MiddlewareSpec(cls.__name__, cls, lambda _: cls(), segment=Segment.TAIL, heritable=False)


def full_table(**extra: Any) -> BuiltinTable:
    """The built-in table with a stand-in for each plugin of the default stack that is not here yet."""
    real = dict(load_table().plugins)
    places = {
        "middleware.filesystem": None,
        "middleware.subagents": None,
        "middleware.stand-in-notifier": Notifier(),
        "middleware.stand-in-forks": Forks(),
        "middleware.summarization": Summarization(),
        "middleware.patch-tool-calls": None,
        "middleware.async-subagents": AsyncSubAgents(),
        "middleware.skills": Skills(),
        "middleware.prompt-caching-anthropic": None,
        "middleware.prompt-caching-bedrock": None,
        "middleware.prompt-caching-fireworks": None,
        "middleware.memory": Memory(),
        "middleware.human-in-the-loop": None,
        "middleware.unsupported-content": UnsupportedContent(),
    }
    ordered = {name: real.pop(name, None) or plugin for name, plugin in places.items()}
    return evolve(load_table(), plugins={**ordered, **extra, **real})


def names(stack: Any) -> str:
    """The entries of a stack in the abbreviations of the order tables."""
    return " ".join(SHORT.get(entry.name, entry.name) for entry in stack.entries)


def orders(plan: Any) -> dict[str, str]:
    """Stack name to :func:`names`."""
    return {stack.name: names(stack) for stack in plan.stacks()}
