"""Tiny kernels: plugins made on the spot, one backend, and nothing else.

kernel = tiny.kernel({"middleware.audit": tiny.slots(tiny.slot("Audit", segment=Segment.TAIL))})
plan = kernel.plan(tiny.request())
assert tiny.order(plan.main) == ["Audit"]
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from deepagents_kernel import (
    BackendSpec,
    ChildStack,
    Kernel,
    MiddlewareSpec,
    PluginInfo,
    hookimpl,
    make_request,
)
from deepagents_kernel._builtin import BuiltinTable
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.testing import ScriptedChatModel


def plugin(info: PluginInfo | None = None, **hooks: Any) -> SimpleNamespace:
    """A plugin with these implementations; each function names the arguments that it takes."""
    return SimpleNamespace(
        PLUGIN=info or PluginInfo(), **{name: hookimpl(function) for name, function in hooks.items()}
    )


def slots(*specs: MiddlewareSpec, kinds: str = "") -> SimpleNamespace:
    """A plugin that has these slots in every stack, or in stacks of the kinds named."""
    return plugin(
        deepagents_middleware=lambda context: specs if context.kind in (kinds or context.kind) else ()
    )


@functools.cache
def middleware_class(name: str) -> type:
    """A middleware class of that name that does nothing; the same one each time."""
    return type(name, (AgentMiddleware,), {})


def slot(name: str, **options: Any) -> MiddlewareSpec:
    """A slot filled with a middleware that does nothing."""
    cls = middleware_class(name)
    return MiddlewareSpec(name, cls, lambda _: cls(), **options)


def children(*, inherit: Any = "slots", general_purpose: bool = True) -> SimpleNamespace:
    """The sub-agents plugin in small: a general-purpose child, and one for each spec of the request."""

    def deepagents_child_stacks(context: Any) -> Any:
        if context.kind != "main":
            return
        if general_purpose:
            yield ChildStack("general-purpose", "general-purpose", inherit=inherit)
        for spec in context.request.subagents:
            yield ChildStack("subagent", spec["name"], spec)

    return plugin(PluginInfo(serves=("subagents",)), deepagents_child_stacks=deepagents_child_stacks)


def table(builtins: Any = None, *, guard: str = "") -> BuiltinTable:
    """A built-in table of these plugins and a backend."""
    backend = plugin(
        deepagents_backends=lambda: BackendSpec("tiny", lambda _path, _options: BackendProtocol())
    )
    return BuiltinTable(
        plugins={**(builtins or {}), "backend.tiny": backend}, default_backend="tiny", guard=guard
    )


def kernel(plugins: Any = (), *, builtins: Any = None, guard: str = "", **options: Any) -> Kernel:
    """A kernel of these plugins and a backend."""
    return Kernel(plugins, builtins=table(builtins, guard=guard), **options)


def request(model: Any = None, **keywords: Any) -> Any:
    """A request with a model that answers ``"done"`` as often as it is asked."""
    return make_request(
        model=ScriptedChatModel(["done"], repeat_last=True) if model is None else model, **keywords
    )


def order(stack: Any) -> list[str]:
    """Names of the entries of a stack, in order."""
    return [entry.name for entry in stack.entries]


def orders(plan: Any) -> dict[str, list[str]]:
    """Stack path to :func:`order`."""
    return {stack.path: order(stack) for stack in plan.stacks()}
