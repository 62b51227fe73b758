"""Check, resolve and combine what ``interrupt_on`` says about one tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from langchain.agents.middleware.human_in_the_loop import DecisionType, InterruptOnConfig

from deepagents_kernel.errors import PlanTypeError, Problem, nearest_hint

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

#: Decisions that a person can take, in the order in which they are offered.
DECISIONS: tuple[DecisionType, ...] = get_args(DecisionType)

#: What may be said about one tool.
Approval = bool | InterruptOnConfig

_FIELDS = frozenset(InterruptOnConfig.__annotations__)


def config_problems(interrupt_on: Any, source: str) -> Iterator[Problem]:
    """What is wrong with a mapping of tools to approvals.

    Args:
        interrupt_on: as somebody wrote it.
        source: who wrote it, for the text.
    """
    if not isinstance(interrupt_on, Mapping):
        kind = type(interrupt_on).__name__
        yield Problem(f"{source} is {kind}, not a mapping of tool names to approvals", error=PlanTypeError)
        return
    for tool, value in interrupt_on.items():
        where = f"{source}[{tool!r}]"
        if not isinstance(tool, str) or not tool:
            yield Problem(
                f"{source}: {tool!r} is not the name of a tool", hint="keys are tool names, strings"
            )
        elif isinstance(value, Mapping):
            yield from _mapping_problems(value, where)
        elif not isinstance(value, bool):
            yield Problem(
                f"{where} is {type(value).__name__} {value!r}, not an approval",
                hint="write True, False, or a dict with 'allowed_decisions'",
            )


def _mapping_problems(config: Mapping[Any, Any], where: str) -> Iterator[Problem]:
    for key in config:
        if key not in _FIELDS:
            hint = nearest_hint(str(key), _FIELDS) or f"keys: {', '.join(sorted(_FIELDS))}"
            yield Problem(f"{where} has an unknown key {key!r}", hint=hint)
    yield from _decision_problems(config.get("allowed_decisions"), where)
    when, description = config.get("when"), config.get("description")
    if when is not None and not callable(when):
        yield Problem(
            f"{where}: 'when' is {type(when).__name__}, not a function of the tool call",
            hint="leave it out to ask always",
        )
    if description is not None and not isinstance(description, str) and not callable(description):
        yield Problem(
            f"{where}: 'description' is {type(description).__name__}, neither a text nor a function"
        )


def _decision_problems(decisions: Any, where: str) -> Iterator[Problem]:
    known = ", ".join(DECISIONS)
    if not isinstance(decisions, (list, tuple)) or not decisions:
        yield Problem(
            f"{where}: 'allowed_decisions' must be a list with at least one decision, not {decisions!r}",
            hint=f"decisions: {known}; False means that nobody is asked",
        )
        return
    for decision in decisions:
        if decision not in DECISIONS:
            hint = nearest_hint(str(decision), DECISIONS) or f"decisions: {known}"
            yield Problem(f"{where}: unknown decision {decision!r}", hint=hint)


def resolve(value: Approval) -> InterruptOnConfig | None:
    """The approval that a checked value stands for, ``None`` if nobody is to be asked."""
    if isinstance(value, bool):
        return InterruptOnConfig(allowed_decisions=list(DECISIONS)) if value else None
    return value


def combine(demanded: InterruptOnConfig, wanted: InterruptOnConfig) -> InterruptOnConfig:
    """One approval that is at least as strict as both.

    A person is asked when either side asks, and may answer only what both allow; the description is that of
    *wanted*, if it has one.

    Args:
        demanded: what must hold.
        wanted: what is added to it; its order of decisions is kept.

    Raises:
        ValueError: there is no decision that both allow.
    """
    decisions = [
        decision for decision in wanted["allowed_decisions"] if decision in demanded["allowed_decisions"]
    ]
    if not decisions:
        msg = (
            f"no decision is allowed by both: {', '.join(demanded['allowed_decisions'])} "
            f"and {', '.join(wanted['allowed_decisions'])}"
        )
        raise ValueError(msg)
    combined: InterruptOnConfig = {**demanded, **wanted, "allowed_decisions": decisions}
    when = either(demanded.get("when"), wanted.get("when"))
    if when is None:
        combined.pop("when", None)
    else:
        combined["when"] = when
    return combined


When = Callable[["ToolCallRequest"], bool]


def either(first: When | None, second: When | None) -> When | None:
    """A predicate that holds when one of two does; ``None`` holds always."""
    if first is None or second is None:
        return None
    if first is second:
        return first
    one, other = first, second
    return lambda request: one(request) or other(request)
