"""Compile one declared sub-agent without a kernel."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from deepagents_builtin.middleware.subagents.children import bounded_by_caller
from deepagents_builtin.middleware.subagents.spec_checks import standalone_problems
from deepagents_kernel.errors import PlanError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


def create_sub_agent(
    spec: Mapping[str, Any], *, state_schema: type | None = None, response_format: Any = None
) -> Any:
    """Compile a declared sub-agent.

    The child gets what its spec says and nothing else; approval middleware is added when ``interrupt_on``
    asks for it; where the spec brings its own, a copy of that one asks for these tools too. It has no
    checkpointer of its own, and no recursion limit other than its caller's.

    Args:
        spec: the sub-agent; ``model`` and ``tools`` are needed, since there is no parent to take them from.
        state_schema: base state schema of its graph.
        response_format: structured output, over the spec's own ``response_format``.

    Returns:
        The compiled graph.

    Raises:
        PlanError: the spec lacks ``model`` or ``tools``, is malformed, or asks for protection that it would
            not get; a ``ValueError``.
    """
    from langchain.agents import create_agent

    problems = standalone_problems([spec])
    if problems:
        raise PlanError.of(problems)
    graph = create_agent(
        spec["model"],
        list(spec["tools"] or ()),
        # An empty system message is refused by some providers.
        system_prompt=spec.get("system_prompt") or None,
        middleware=_middleware(spec),
        response_format=spec.get("response_format") if response_format is None else response_format,
        state_schema=state_schema,
        name=spec["name"],
    )
    return bounded_by_caller(graph)


def _middleware(spec: Mapping[str, Any]) -> list[Any]:
    middleware = list(spec.get("middleware") or ())
    interrupt_on = spec.get("interrupt_on")
    if not interrupt_on:
        return middleware
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    stage = HumanInTheLoopMiddleware(interrupt_on=dict(interrupt_on))
    # `create_agent` refuses two of one name, so a stage that the author brought asks for the rest as well.
    for position, item in enumerate(middleware):
        if item.name == stage.name:
            if not isinstance(item, HumanInTheLoopMiddleware):
                raise PlanError(_no_stage(spec, item))
            middleware[position] = copy.copy(item)
            middleware[position].interrupt_on = {**stage.interrupt_on, **item.interrupt_on}
            return middleware
    return [*middleware, stage]


def _no_stage(spec: Mapping[str, Any], middleware: Any) -> Problem:
    kind = f"{type(middleware).__module__}.{type(middleware).__qualname__}"
    return Problem(
        f"subagent {spec['name']!r} has 'interrupt_on', and {kind} takes the place of the approval stage "
        "without being one",
        entry=middleware.name,
        hint="derive the class from LangChain's HumanInTheLoopMiddleware, or give it another name",
    )
