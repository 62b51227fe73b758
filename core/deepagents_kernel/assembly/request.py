"""What the caller of ``create_deep_agent`` asked for, as one immutable value."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from deepagents_kernel.errors import PlanTypeError, Problem


def _refuse(argument: str, expected: str, value: Any) -> PlanTypeError:
    return PlanTypeError(Problem(f"{argument}= takes {expected}, not {type(value).__name__} ({value!r:.60})"))


def _sequence(argument: str, expected: str, value: Any) -> tuple[Any, ...] | None:
    """*value* materialised once: a generator would be empty for the second stack that reads it."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _refuse(argument, expected, value)
    return tuple(value)


@frozen(eq=False)
class AgentRequest:
    """The arguments of ``create_deep_agent``; ``None`` means not given, an empty tuple means given and empty.

    Build one with :func:`make_request`, which checks and materialises them.
    """

    model: Any = None
    tools: tuple[Any, ...] | None = None
    system_prompt: Any = None
    middleware: tuple[Any, ...] = ()
    subagents: tuple[Mapping[str, Any], ...] = ()
    skills: tuple[str, ...] | None = None
    memory: tuple[str, ...] | None = None
    permissions: tuple[Any, ...] | None = None
    backend: Any = None
    interrupt_on: Mapping[str, Any] | None = None
    response_format: Any = None
    state_schema: type | None = None
    context_schema: type | None = None
    checkpointer: Any = None
    store: Any = None
    debug: bool = False
    name: str | None = None
    cache: Any = None
    profile: Any = None
    settings: Mapping[str, Any] | None = field(default=None)


def make_request(
    model: Any = None,
    tools: Any = None,
    *,
    system_prompt: Any = None,
    middleware: Any = (),
    subagents: Any = None,
    skills: Any = None,
    memory: Any = None,
    permissions: Any = None,
    backend: Any = None,
    interrupt_on: Any = None,
    response_format: Any = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    checkpointer: Any = None,
    store: Any = None,
    debug: bool = False,
    name: str | None = None,
    cache: Any = None,
    profile: Any = None,
    settings: Mapping[str, Any] | None = None,
) -> AgentRequest:
    """An :class:`AgentRequest` from the arguments of ``create_deep_agent``.

    Nothing that the caller passed is changed or kept by reference where it could change later: sequences are
    copied, generators are read once.

    Raises:
        PlanTypeError: an argument has a type that can't be meant.
    """
    if interrupt_on is not None and not isinstance(interrupt_on, Mapping):
        raise _refuse("interrupt_on", "a mapping from tool name to True, False or a config", interrupt_on)
    if name is not None and not isinstance(name, str):
        raise _refuse("name", "a string", name)
    if not isinstance(debug, bool):
        raise _refuse("debug", "True or False", debug)
    for argument, value in (("state_schema", state_schema), ("context_schema", context_schema)):
        if value is not None and not isinstance(value, type):
            raise _refuse(argument, "a class", value)
    checkpointer = _host_object("checkpointer", checkpointer)
    return AgentRequest(
        model=model,
        tools=_sequence("tools", "a list of tools", tools),
        system_prompt=_prompt(system_prompt),
        middleware=_sequence("middleware", "a list of middleware instances", middleware) or (),
        subagents=_specs(subagents),
        skills=_sequence("skills", "a list of skill sources", skills),
        memory=_sequence("memory", "a list of memory sources", memory),
        permissions=_sequence("permissions", "a list of rules", permissions),
        backend=backend,
        interrupt_on=None if interrupt_on is None else MappingProxyType(dict(interrupt_on)),
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        checkpointer=checkpointer,
        store=_host_object("store", store),
        debug=debug,
        name=name,
        cache=_host_object("cache", cache),
        profile=profile,
        settings=settings,
    )


def _specs(value: Any) -> tuple[Any, ...]:
    """Sub-agent specs, read-only: plugins see them, and they are the caller's."""
    specs = _sequence("subagents", "a list of sub-agent specs", value) or ()
    return tuple(MappingProxyType(dict(spec)) if isinstance(spec, Mapping) else spec for spec in specs)


# What LangGraph would refuse in its own words, or take and fail with later.
_HOST_CLASSES = {
    "checkpointer": "langgraph.checkpoint.base:BaseCheckpointSaver",
    "store": "langgraph.store.base:BaseStore",
    "cache": "langgraph.cache.base:BaseCache",
}


def _host_object(argument: str, value: Any) -> Any:
    if value is None or (argument == "checkpointer" and isinstance(value, bool)):
        return value
    module, _, name = _HOST_CLASSES[argument].partition(":")
    if isinstance(value, getattr(importlib.import_module(module), name)):
        return value
    raise _refuse(argument, f"a {name}", value)


def _prompt(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    from langchain_core.messages import SystemMessage

    if isinstance(value, SystemMessage):
        return value
    raise _refuse("system_prompt", "a string or a SystemMessage", value)
