"""``SubAgentMiddleware``: gives an agent the ``task`` tool."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from attrs import evolve
from langchain.agents.middleware import AgentMiddleware
from langgraph.types import TracePolicy, omit_payload

from deepagents_builtin.middleware.subagents.channels import ParentChannels
from deepagents_builtin.middleware.subagents.children import ChildHandle, standalone_children
from deepagents_builtin.middleware.subagents.listing import prompt_block, task_description
from deepagents_builtin.middleware.subagents.prompt import with_prompt_hooks
from deepagents_builtin.middleware.subagents.settings import SubAgentSettings
from deepagents_builtin.middleware.subagents.spec_checks import standalone_problems
from deepagents_builtin.middleware.subagents.task_tool import Delegation, build_task_tool
from deepagents_kernel.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from langchain_core.tools import BaseTool

    from deepagents_kernel.contracts.backend import BackendProtocol
    from deepagents_kernel.contracts.subagents import CompiledSubAgent, SubAgent


class SubAgentMiddleware(AgentMiddleware[Any, Any, Any]):
    """Lets the model hand work to other agents and get one report back for each.

    Used by itself, with ``create_agent``, it compiles each sub-agent from its spec, when it is first used and
    once. In a deep agent the kernel plans and compiles them.

    Args:
        backend: where the files of the parent live.
        subagents: ``SubAgent`` and ``CompiledSubAgent`` specs. Used by itself, the middleware has no parent
            agent to take a model and tools from: a ``SubAgent`` needs both.
        system_prompt: added to the system message, followed by the list of agents; empty means none.
        task_description: replaces the description of the ``task`` tool; ``{available_agents}`` in it is
            replaced by the list of agents.
        private_state_keys: state keys that never go to a child and never come back.
        state_schema: base state schema of declared children, and of the agent that this middleware is for:
            its reducers decide how a child's changes are sent back.
        settings: limits on depth, fan-out and steps.

    Attributes:
        tools: the ``task`` tool.
        system_prompt: as given, ``None`` if empty.
        subagent_names: what the model may name.

    Raises:
        PlanError: no specs, or something is wrong with them; all problems at once. A ``ValueError``, and a
            ``KeyError`` when a name or a description is missing.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)

    def __init__(
        self,
        *,
        backend: BackendProtocol,
        subagents: Sequence[SubAgent | CompiledSubAgent],
        system_prompt: str | None = None,
        task_description: str | None = None,
        private_state_keys: frozenset[str] | None = None,
        state_schema: type | None = None,
        settings: SubAgentSettings | None = None,
    ) -> None:
        specs: list[Any] = list(subagents)
        problems = standalone_problems(specs)
        if problems:
            raise PlanError.of(problems)
        self._set_up(
            standalone_children(specs, state_schema),
            backend=backend,
            system_prompt=system_prompt,
            description=task_description,
            private=frozenset(private_state_keys or ()),
            channels=ParentChannels((state_schema,) if state_schema else ()),
            settings=settings or SubAgentSettings(),
        )

    @classmethod
    def over(
        cls,
        children: Iterable[ChildHandle],
        *,
        backend: Any,
        task_description: str | None = None,
        settings: SubAgentSettings | None = None,
    ) -> Self:
        """A middleware over sub-agents that somebody else compiles."""
        middleware = cls.__new__(cls)
        middleware._set_up(
            children, backend=backend, description=task_description, settings=settings or SubAgentSettings()
        )
        return middleware

    def _set_up(
        self,
        children: Iterable[ChildHandle],
        *,
        backend: Any,
        settings: SubAgentSettings,
        system_prompt: str | None = None,
        description: str | None = None,
        private: frozenset[str] = frozenset(),
        channels: ParentChannels | None = None,
    ) -> None:
        self.backend = backend
        self.system_prompt = system_prompt or None
        self._template = description
        self._install(
            Delegation(
                {child.name: child for child in children}, private, channels or ParentChannels(), settings
            )
        )
        if self.system_prompt is not None:
            self.prompt_block = prompt_block(self.system_prompt, self._delegation.children.values())
            plain: Any = type(self)
            self.__class__ = with_prompt_hooks(plain)

    def _install(self, delegation: Delegation) -> None:
        self._delegation = delegation
        description = task_description(delegation.children.values(), self._template)
        self.tools: Sequence[BaseTool] = [build_task_tool(delegation, description)]

    @property
    def subagent_names(self) -> frozenset[str]:
        """What the model may write as ``subagent_type``."""
        return frozenset(self._delegation.children)

    @property
    def private_state_keys(self) -> frozenset[str]:
        """State keys that never go to a child and never come back. Setting them makes a new ``task`` tool."""
        return self._delegation.private

    @private_state_keys.setter
    def private_state_keys(self, keys: Iterable[str]) -> None:
        self._install(evolve(self._delegation, private=frozenset(keys)))

    def configured(
        self,
        *,
        children: Mapping[str, ChildHandle] | None = None,
        private_state_keys: Iterable[str] = (),
        state_schemas: Sequence[type] = (),
    ) -> Self:
        """A copy for one agent; this object stays as it is and may serve others.

        Args:
            children: the sub-agents in order, instead of the present ones.
            private_state_keys: added to the present ones.
            state_schemas: the state schemas of the agent, in the order in which it merges them.
        """
        present = self._delegation
        configured = copy.copy(self)
        configured._install(
            Delegation(
                present.children if children is None else dict(children),
                present.private | frozenset(private_state_keys),
                ParentChannels(state_schemas) if state_schemas else present.channels,
                present.settings,
            )
        )
        return configured
