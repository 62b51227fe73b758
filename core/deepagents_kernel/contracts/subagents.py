"""What a caller writes to describe a sub-agent, and which keys each kind of description has."""

# No `from __future__ import annotations` here: as strings, NotRequired would not be seen, and every key would
# count as required. The names below are real classes for type checkers and Any at run time, so that
# `get_type_hints` works on these types and on subclasses without importing LangChain.
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from deepagents_kernel.contracts.permissions import FilesystemPermission

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware, InterruptOnConfig
    from langchain.agents.structured_output import ResponseFormat
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool

    _Middleware = AgentMiddleware[Any, Any, Any]
    _Runnable = Runnable[Any, Any]
    _ResponseFormat = ResponseFormat[Any]
else:
    BaseChatModel = BaseTool = InterruptOnConfig = _Middleware = _ResponseFormat = _Runnable = Any

#: How much of the parent's conversation a child sees: nothing but its task, or all of it.
Mode = Literal["isolated", "fork"]

#: The three kinds of description, told apart by their keys; see :func:`spec_kind`.
SpecKind = Literal["declarative", "compiled", "async"]


class SubAgent(TypedDict):
    """A sub-agent that is assembled like the main agent, from what is said here.

    Attributes:
        name: what the model calls it by; unique among its siblings.
        description: when to use it; shown to the parent's model.
        system_prompt: its instructions; under ``fork`` added to the inherited ones.
        tools: instead of the parent's; an empty list leaves the built-in ones.
        model: instead of the parent's.
        middleware: merged with its stack by name.
        interrupt_on: instead of the parent's approval rules, even if empty.
        skills: folders with skills; not inherited, not possible under ``fork``.
        memory: files with standing notes; not inherited.
        permissions: instead of the parent's file rules, as a whole.
        response_format: structured output.
        mode: ``"isolated"`` unless said otherwise.
    """

    name: str
    description: str
    system_prompt: NotRequired[str]
    tools: NotRequired[Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]]
    model: NotRequired[str | BaseChatModel]
    middleware: NotRequired[list[_Middleware]]
    interrupt_on: NotRequired[dict[str, bool | InterruptOnConfig]]
    skills: NotRequired[list[str]]
    memory: NotRequired[list[str]]
    permissions: NotRequired[list[FilesystemPermission]]
    response_format: NotRequired[_ResponseFormat | type | dict[str, Any]]
    mode: NotRequired[Mode]


class CompiledSubAgent(TypedDict):
    """A sub-agent that exists already.

    Attributes:
        name: what the model calls it by; unique among its siblings.
        description: when to use it; shown to the parent's model.
        runnable: takes a state with ``messages`` and returns one.
        mode: under ``fork`` it gets the conversation, never the private part of the state.
    """

    name: str
    description: str
    runnable: _Runnable
    mode: NotRequired[Mode]


class AsyncSubAgent(TypedDict):
    """A sub-agent that runs on a server, in the background.

    Attributes:
        name: what the model calls it by.
        description: when to use it; shown to the parent's model.
        graph_id: the graph or assistant on the server.
        url: the server; the parent's own deployment if absent.
        headers: added to each request.
        webhook: called by the server when a run ends.
        update_strategy: what new instructions do to a run in progress; ``"interrupt"`` unless said otherwise.
        notify_parent: whether the child may wake its parent; ``True`` unless said otherwise.
        mode: ``"isolated"`` unless said otherwise.
    """

    name: str
    description: str
    graph_id: str
    url: NotRequired[str]
    headers: NotRequired[dict[str, str]]
    webhook: NotRequired[str]
    update_strategy: NotRequired[Literal["interrupt", "enqueue"]]
    notify_parent: NotRequired[bool]
    mode: NotRequired[Mode]


_KEYS: Mapping[SpecKind, tuple[frozenset[str], frozenset[str]]] = {
    "declarative": (SubAgent.__required_keys__, SubAgent.__optional_keys__),
    "compiled": (CompiledSubAgent.__required_keys__, CompiledSubAgent.__optional_keys__),
    "async": (AsyncSubAgent.__required_keys__, AsyncSubAgent.__optional_keys__),
}


def spec_kind(spec: Mapping[str, Any]) -> SpecKind:
    """The kind of a description: ``graph_id`` makes it async, or else ``runnable`` makes it compiled."""
    if "graph_id" in spec:
        return "async"
    return "compiled" if "runnable" in spec else "declarative"


def known_keys(kind: SpecKind) -> frozenset[str]:
    """The keys that mean something in a description of this kind; others are the caller's own."""
    required, optional = _KEYS[kind]
    return required | optional


def required_keys(kind: SpecKind) -> frozenset[str]:
    """The keys that a description of this kind can't do without."""
    return _KEYS[kind][0]
