"""The functions that applications call: build an agent, register a profile, get the shared kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.current import current_kernel
from deepagents_kernel.errors import PlanTypeError, Problem
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.shared import SharedKernel

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from langchain.agents.middleware import AgentMiddleware, InterruptOnConfig
    from langchain.agents.structured_output import ResponseFormat
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import SystemMessage
    from langchain_core.tools import BaseTool
    from langgraph.cache.base import BaseCache
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore
    from langgraph.types import Checkpointer

    from deepagents_kernel.contracts.backend import BackendProtocol
    from deepagents_kernel.contracts.permissions import FilesystemPermission
    from deepagents_kernel.contracts.state import DeepAgentState
    from deepagents_kernel.contracts.subagents import AsyncSubAgent, CompiledSubAgent, SubAgent
    from deepagents_kernel.profiles.config import HarnessProfileConfig
    from deepagents_kernel.profiles.harness import HarnessProfile
    from deepagents_kernel.profiles.provider import ProviderProfile

# The frames between a caller of get_kernel() and the warning about a plugin.
_shared = SharedKernel(lambda: Kernel.discover(stacklevel=5))


def get_kernel() -> Kernel:
    """The kernel that is used where none is named.

    Inside :func:`use_kernel`, and while a kernel is being built, it is that one. Otherwise it is the shared
    kernel of the process, ``Kernel.discover()``, made when it is first asked for; threads that ask at the
    same time get the same one.

    Raises:
        DeepAgentsError: it can't be built; the next call tries again.
    """
    return current_kernel() or _shared.get()


def create_deep_agent(
    model: str | BaseChatModel | None = None,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    middleware: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    subagents: Sequence[SubAgent | CompiledSubAgent | AsyncSubAgent] | None = None,
    skills: list[str] | None = None,
    memory: list[str] | None = None,
    permissions: list[FilesystemPermission] | None = None,
    backend: BackendProtocol | str | None = None,
    interrupt_on: dict[str, bool | InterruptOnConfig] | None = None,
    response_format: ResponseFormat[Any] | type[Any] | dict[str, Any] | None = None,
    state_schema: type[DeepAgentState] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    debug: bool = False,
    name: str | None = None,
    cache: BaseCache[Any] | None = None,
    kernel: Kernel | None = None,
    profile: HarnessProfile | HarnessProfileConfig | str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    eager: bool = False,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build an agent.

    Args:
        model: a chat model, or a string such as ``"openai:gpt-5.4"`` or ``"offline"``.
        tools: tools besides those that middleware brings.
        system_prompt: the agent's instructions; a profile's texts follow it.
        middleware: middleware instances. One whose ``.name`` is that of a slot takes its place; the others
            follow the built-in core, in the order given.
        subagents: agents that this one can delegate to.
        skills: sources of skills.
        memory: memory files.
        permissions: access rules for files and commands.
        backend: where the files live: a backend, or a string such as ``"filesystem:./work"``, of which the
            model sees that folder as ``/`` and nothing else. By default files live in the agent's state.
        interrupt_on: tools whose calls a person has to approve.
        response_format: structured output.
        state_schema: the state, an extension of ``DeepAgentState``.
        context_schema: the run context.
        checkpointer: where state is saved between runs.
        store: LangGraph's long-term store.
        debug: LangGraph's debug output.
        name: name of the agent, in graphs and traces.
        cache: LangGraph's node cache.
        kernel: the plugins to build it from; by default the shared kernel of :func:`get_kernel`.
        profile: a harness profile for this one agent, merged over the registered ones; a path is that of a
            file with one.
        settings: plugin name to settings, for this one agent.
        eager: compile the graphs of sub-agents now instead of at their first use.

    Returns:
        A compiled LangGraph graph.

    Raises:
        PlanError: the agent can't be built as asked; lists every problem.
        DeepAgentsError: a model, a backend or a setting can't be resolved, or a plugin's hook raised.
    """
    given: Any = kernel
    if given is not None and not isinstance(given, Kernel):
        text = f"kernel= takes a Kernel, not {type(given).__name__}"
        raise PlanTypeError(Problem(text, hint="make one with Kernel(plugins=[...])"))
    chosen = get_kernel() if kernel is None else kernel
    graph: CompiledStateGraph[Any, Any, Any, Any] = chosen.create_deep_agent(
        model,
        tools,
        system_prompt=system_prompt,
        middleware=middleware,
        subagents=subagents,
        skills=skills,
        memory=memory,
        permissions=permissions,
        backend=backend,
        interrupt_on=interrupt_on,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        checkpointer=checkpointer,
        store=store,
        debug=debug,
        name=name,
        cache=cache,
        profile=profile,
        settings=settings,
        eager=eager,
        stacklevel=3,
    )
    return graph


def register_provider_profile(key: str, profile: ProviderProfile, *, kernel: Kernel | None = None) -> None:
    """Say how models of a provider, or one model, are constructed; merged over what is registered already.

    Args:
        key: ``provider`` or ``provider:model``.
        profile: the profile.
        kernel: where to register it; by default the shared kernel.

    Raises:
        ProfileError: malformed key or profile.
    """
    (get_kernel() if kernel is None else kernel).profiles.register_provider(key, profile)


def register_harness_profile(
    key: str, profile: HarnessProfile | HarnessProfileConfig, *, kernel: Kernel | None = None
) -> None:
    """Say how agents run on models of a provider, or on one model; merged over what is registered already.

    Args:
        key: ``provider`` or ``provider:model``.
        profile: the profile.
        kernel: where to register it; by default the shared kernel.

    Raises:
        ProfileError: malformed key or profile.
    """
    (get_kernel() if kernel is None else kernel).profiles.register_harness(key, profile)
