"""What the ``task`` tool can start: declared, compiled and planned sub-agents behind one small interface."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

from attrs import evolve

from deepagents_builtin.middleware.subagents.errors import ResponseFormatError
from deepagents_builtin.middleware.subagents.response_format import FormatCache
from deepagents_kernel.contracts.subagents import spec_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepagents_kernel.assembly.plan import StackPlan

#: The limit that ``create_agent`` binds to every graph. Nobody chose it, and a bound limit would win over the
#: caller's.
_HOST_RECURSION_LIMIT: Final = 9_999


class ChildHandle(Protocol):
    """A sub-agent as the ``task`` tool sees it."""

    @property
    def name(self) -> str:
        """What the model writes as ``subagent_type``."""

    @property
    def description(self) -> str:
        """What the model is told about it."""

    def graph(self) -> Any:
        """The runnable, compiled now if it has not been."""

    def graph_for(self, response_format: Any) -> Any:
        """The runnable with another response format.

        Raises:
            ResponseFormatError: this kind of sub-agent can't be given one.
        """


class DeclaredChild:
    """A sub-agent compiled from its spec when it is first used, once for each response format."""

    def __init__(self, spec: Mapping[str, Any], state_schema: type | None = None) -> None:
        self.name: str = spec["name"]
        self.description: str = spec["description"]
        self._spec = spec
        self._state_schema = state_schema
        self._graphs: FormatCache[Any] = FormatCache(self._compile)

    def graph(self) -> Any:
        """The graph with the spec's own response format."""
        return self._graphs.get(None)

    def graph_for(self, response_format: Any) -> Any:
        """The graph with another response format."""
        return self._graphs.get(response_format)

    def _compile(self, response_format: Any) -> Any:
        from deepagents_builtin.middleware.subagents.create_sub_agent import create_sub_agent

        return create_sub_agent(self._spec, state_schema=self._state_schema, response_format=response_format)


class CompiledChild:
    """A runnable that the caller brought; named for tracing, never changed."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.name: str = spec["name"]
        self.description: str = spec["description"]
        self._runnable = spec["runnable"]
        self._lock = threading.Lock()
        self._named: Any = None

    def graph(self) -> Any:
        """A copy of the runnable that carries the sub-agent's name."""
        if self._named is None:
            with self._lock:
                if self._named is None:
                    self._named = bounded_by_caller(self._runnable).with_config(
                        {"metadata": {"lc_agent_name": self.name}, "run_name": self.name}
                    )
        return self._named

    def graph_for(self, response_format: Any) -> Any:  # noqa: ARG002 - the interface's argument
        """Not possible."""
        reason = (
            "it is compiled already, and a format is part of what is compiled; declare it with a spec instead"
        )
        raise ResponseFormatError(self.name, reason)


class PlannedChild:
    """A sub-agent that the kernel planned; the kernel compiles it when it is first used."""

    def __init__(self, name: str, description: str, stack: StackPlan | None = None) -> None:
        self.name = name
        self.description = description
        self._stack = stack
        self._graph: Any = None
        self._formats: FormatCache[Any] = FormatCache(self._compile)

    def graph(self) -> Any:
        """The graph of the planned stack."""
        if self._graph is None:
            self._graph = bounded_by_caller(self._planned().handle.graph())
        return self._graph

    def graph_for(self, response_format: Any) -> Any:
        """The graph of the planned stack with another response format."""
        return self._formats.get(response_format)

    def _compile(self, response_format: Any) -> Any:
        stack = self._planned()
        changed = evolve(stack, context=evolve(stack.context, response_format=response_format))
        return bounded_by_caller(stack.handle.compile(changed))

    def _planned(self) -> StackPlan:
        if self._stack is None:
            msg = f"subagent {self.name!r} is still being planned"
            raise RuntimeError(msg)
        return self._stack


def standalone_children(
    specs: Sequence[Mapping[str, Any]], state_schema: type | None = None
) -> tuple[ChildHandle, ...]:
    """The sub-agents of a middleware that is used without a kernel, in order."""
    return tuple(
        CompiledChild(spec) if spec_kind(spec) == "compiled" else DeclaredChild(spec, state_schema)
        for spec in specs
    )


def bounded_by_caller(runnable: Any) -> Any:
    """The runnable without the host's default recursion limit, so that the caller's reaches it.

    A limit that an author bound is theirs and stays. The object itself is not changed.
    """
    from langgraph.pregel import Pregel

    if not isinstance(runnable, Pregel):
        return runnable
    config = dict(runnable.config or {})
    if config.get("recursion_limit") != _HOST_RECURSION_LIMIT:
        return runnable
    del config["recursion_limit"]
    return runnable.copy({"config": config})
