"""Tools of a stack: their names, their rewritten descriptions, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.errors import PlanTypeError, Problem, nearest_hint

if TYPE_CHECKING:
    from deepagents_kernel.assembly.plan import StackPlan


@frozen(eq=False)
class ToolRow:
    """A tool that the model of a stack can be offered.

    Attributes:
        name: what the model calls it.
        description: what the model is told about it.
        source: name of the middleware that brings it, or ``"caller"``.
        tool: the tool itself.
    """

    name: str
    description: str
    source: str
    tool: Any


def tool_name(tool: Any) -> str | None:
    """The name of a tool in any form; ``None`` when it has none.

    A plain function answers ``None``: it becomes a tool only when the agent is compiled.
    """
    if isinstance(tool, Mapping):
        return _dict_name(tool)
    name = getattr(tool, "name", None)
    return name if isinstance(name, str) and name else None


def effective_name(tool: Any) -> str | None:
    """Like :func:`tool_name`, with the name that a plain function is going to have."""
    found = tool_name(tool)
    if found is not None or isinstance(tool, Mapping):
        return found
    name = getattr(tool, "__name__", None)
    return name if isinstance(name, str) and name else None


def rewrite_descriptions(tools: Sequence[Any], overrides: Mapping[str, str]) -> tuple[Any, ...]:
    """The tools with overridden descriptions, on copies; the caller's objects stay as they are."""
    if not overrides:
        return tuple(tools)
    return tuple(_rewritten(tool, overrides) for tool in tools)


def stack_tools(stack: StackPlan) -> tuple[ToolRow, ...]:
    """Every tool of a stack as its model is offered them; of one name the later, in the first one's place."""
    rows: dict[str, ToolRow] = {}
    provider_tools = []
    for entry in stack.entries:
        for tool in getattr(entry.instance, "tools", None) or ():
            row = _row(tool, entry.name)
            rows[row.name] = row
    for tool in stack.context.tools:
        row = _row(tool, "caller")
        if isinstance(tool, Mapping):
            provider_tools.append(row)
        else:
            rows[row.name] = row
    return (*rows.values(), *provider_tools)


def stack_tool_names(stack: StackPlan) -> tuple[str, ...]:
    """Names of :func:`stack_tools`, in order."""
    return tuple(row.name for row in stack_tools(stack))


def as_tools(
    tools: Sequence[Any], where: str, made: dict[int, Any] | None = None, *, beside: Sequence[Any] = ()
) -> tuple[tuple[Any, ...], list[Problem]]:
    """The tools with plain functions converted, and a problem for each one that can't be a tool.

    What the agent's constructor would find out is found out here, for child agents too, which are compiled
    when they are first used; the converted tool is handed on, so nothing is converted twice.

    Args:
        tools: tools in any form.
        where: whose they are, for the reader.
        made: tools that were made of functions already, by ``id`` of the function, which has to live.
        beside: tools that stand in the same list and whose names are taken.
    """
    from langchain_core.tools import BaseTool

    made = {} if made is None else made
    converted: list[Any] = []
    problems: list[Problem] = []
    for tool in tools:
        if isinstance(tool, BaseTool) and tool.name:
            converted.append(tool)
            continue
        result = made.get(id(tool)) or _as_tool(tool, where)
        if isinstance(result, Problem):
            problems.append(result)
        else:
            converted.append(result)
            made[id(tool)] = result
    problems += _duplicates(converted, where, beside)
    return tuple(converted), problems


def stale_overrides(overrides: Mapping[str, str], names: Iterable[str], by: str) -> list[Problem]:
    """A warning for each description override whose tool nobody has."""
    return _unmatched(overrides, names, f"tool_description_overrides of {by}")


def stale_exclusions(excluded: Iterable[str], names: Iterable[str], by: str) -> list[Problem]:
    """A warning for each excluded tool that nobody has."""
    return _unmatched(excluded, names, f"excluded_tools of {by}")


def _unmatched(wanted: Iterable[str], names: Iterable[str], where: str) -> list[Problem]:
    known = sorted(set(names))
    return [
        Problem(
            f"{where} names {name!r}, and no tool is called that",
            hint=nearest_hint(name, known),
            severity="warning",
        )
        for name in sorted(set(wanted) - set(known))
    ]


def _dict_name(tool: Mapping[str, Any]) -> str | None:
    nested = tool.get("function")
    for candidate in (
        tool.get("name"),
        nested.get("name") if isinstance(nested, Mapping) else None,
        tool.get("type"),
    ):
        if isinstance(candidate, str) and candidate:
            return candidate
    return None


def _rewritten(tool: Any, overrides: Mapping[str, str]) -> Any:
    name = tool_name(tool)
    if name is None or name not in overrides:
        return tool
    text = overrides[name]
    if isinstance(tool, Mapping):
        nested = tool.get("function")
        if isinstance(nested, Mapping) and "name" in nested:
            return {**tool, "function": {**nested, "description": text}}
        return {**tool, "description": text}
    copy = getattr(tool, "model_copy", None)
    return tool if copy is None else copy(update={"description": text})


def _as_tool(tool: Any, where: str) -> Any:
    from langchain_core.tools import BaseTool
    from langchain_core.tools import tool as make_tool

    if isinstance(tool, BaseTool):
        return Problem(f"{where} has a tool without a name: {tool!r:.80}")
    if isinstance(tool, Mapping):
        if _dict_name(tool) is None:
            return Problem(f"{where} has a tool dict without a name or a type: {dict(tool)!r:.80}")
        return tool
    if isinstance(tool, type) or not callable(tool):
        text = f"{where} has {tool!r:.80}, which is not a tool"
        return Problem(
            text, hint="a tool is a BaseTool, a function or a provider's tool dict", error=PlanTypeError
        )
    try:
        return make_tool(tool)
    except Exception as error:
        name = getattr(tool, "__name__", repr(tool))
        return Problem(f"{where} has {name}, which can't become a tool: {error}", cause=error)


def _duplicates(tools: Sequence[Any], where: str, beside: Sequence[Any]) -> list[Problem]:
    taken = {_own_name(tool) for tool in beside}
    names = [name for tool in tools if (name := _own_name(tool))]
    if len(set(names)) == len(names) and taken.isdisjoint(names):
        return []
    seen: set[str] = set()
    problems = []
    for name in names:
        hint = "rename one of them, or drop it"
        if name in seen:
            problems.append(Problem(f"{where} has two tools named {name!r}", hint=hint))
        elif name in taken:
            text = (
                f"{where} has a tool named {name!r}, and so have the tools of the caller or of another plugin"
            )
            problems.append(Problem(text, hint=hint))
        seen.add(name)
    return problems


def _own_name(tool: Any) -> str | None:
    """The name that the model would call; a provider's own tool with only a type may stand there twice."""
    name = getattr(tool, "name", None)
    if isinstance(name, str) and name:
        return name
    if isinstance(tool, Mapping) and "name" not in tool and "function" not in tool:
        return None
    return effective_name(tool)


def _row(tool: Any, source: str) -> ToolRow:
    if isinstance(tool, Mapping):
        nested = tool.get("function")
        description = (nested if isinstance(nested, Mapping) else tool).get("description") or ""
    else:
        description = getattr(tool, "description", None) or getattr(tool, "__doc__", None) or ""
    return ToolRow(effective_name(tool) or type(tool).__name__, str(description), source, tool)
