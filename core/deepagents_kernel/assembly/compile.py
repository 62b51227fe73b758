"""Compile a planned stack with LangChain's ``create_agent``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen, validators

from deepagents_kernel.assembly.specs import StackKind
from deepagents_kernel.model_facts import ModelFacts  # noqa: TC001 - types of settings are read at run time
from deepagents_kernel.trace_version import trace_version

if TYPE_CHECKING:
    from deepagents_kernel.assembly.plan import StackPlan


@frozen
class KernelSettings:
    """Settings of the kernel itself, under the key ``kernel``.

    Attributes:
        integration: what traces say the agent is made with.
        recursion_limit: graph steps of a main agent's run, unless the caller's config says otherwise.
        guard: plugin that may fill the guard segment; empty for the one of the built-in table.
        default_backend: backend string used when a request has none; empty for the one of the built-in table.
        model_facts: key (``provider`` or ``provider:model``) to facts that stand above those of plugins.
    """

    integration: str = field(default="deepagents-kernel", validator=validators.instance_of(str))
    recursion_limit: int = field(default=9_999, validator=[validators.instance_of(int), validators.ge(1)])
    guard: str = field(default="", validator=validators.instance_of(str))
    default_backend: str = field(default="", validator=validators.instance_of(str))
    model_facts: dict[str, ModelFacts] = field(factory=dict, hash=False)


def compile_with_langchain(stack: StackPlan) -> Any:
    """The compiled agent of a stack, as ``create_agent`` makes it."""
    # Looked up at call time, so that an application which replaces create_agent is honoured.
    import langchain.agents as host

    context = stack.context
    request = context.request
    main = context.kind is StackKind.MAIN
    arguments: dict[str, Any] = {
        "model": context.model,
        "tools": list(context.tools) or None,
        "system_prompt": stack.prompt,
        "middleware": stack.middleware,
        "response_format": context.response_format,
        "state_schema": stack.state_schema,
        "context_schema": request.context_schema,
        "name": request.name if main else context.name,
    }
    if main:
        arguments |= {
            "checkpointer": request.checkpointer,
            "store": request.store,
            "debug": request.debug,
            "cache": request.cache,
        }
    graph = host.create_agent(**arguments)
    return graph if main else _without_limit(graph)


def _without_limit(graph: Any) -> Any:
    """The graph without the limit of 9,999 steps that the host binds, which would win over the caller's."""
    from langgraph.pregel import Pregel

    if not isinstance(graph, Pregel) or graph.config is None:
        return graph
    kept = {key: value for key, value in graph.config.items() if key != "recursion_limit"}
    return graph.copy({"config": kept})


def bound_config(stack: StackPlan, settings: KernelSettings) -> dict[str, Any]:
    """The run config that a compiled stack carries; a caller's config wins over it key by key."""
    main = stack.context.kind is StackKind.MAIN
    metadata = {
        "ls_integration": settings.integration,
        "lc_versions": {settings.integration: trace_version()},
        "lc_agent_name": stack.context.request.name if main else stack.name,
    }
    if main:
        return {"recursion_limit": settings.recursion_limit, "metadata": metadata}
    # No limit of its own for a child: the caller's bounds it, through the config that surrounds the call.
    return {"metadata": metadata}
