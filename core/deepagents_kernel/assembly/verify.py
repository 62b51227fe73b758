"""Check finished stacks: what a lazily compiled child would reveal at its first use is found here."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from deepagents_kernel.assembly.arrange import constraint_edges
from deepagents_kernel.assembly.specs import Segment
from deepagents_kernel.assembly.tools import as_tools
from deepagents_kernel.errors import DuplicateMiddlewareError, PlanTypeError, Problem
from deepagents_kernel.profiles.parts import static_extras

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.plan import Entry
    from deepagents_kernel.contracts.schema_conflicts import Conflict

# Node names of a graph can't contain these; a middleware with node hooks becomes a node.
_RESERVED = frozenset("|:")
_NODE_HOOKS = ("before_agent", "before_model", "after_model", "after_agent")


def verify_order(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Segments in order, the guard alone and last, every declared constraint met."""
    for earlier, later in itertools.pairwise(entries):
        if earlier.segment > later.segment:
            here, there = later.segment.name.lower(), earlier.segment.name.lower()
            text = f"{later.name} ({here}) stands behind {earlier.name} ({there})"
            yield Problem(text, entry=later.name, plugin=later.plugin, hint="segments never mix")
    guards = [entry for entry in entries if entry.segment is Segment.GUARD]
    if guards and (len(guards) > 1 or entries[-1] is not guards[0]):
        yield Problem("the guard segment holds one entry, the last one of the stack", entry=guards[0].name)
    for first, second, declarer in constraint_edges(entries):
        if first > second:
            owner = entries[declarer]
            wish = f"{entries[first].name} comes before {entries[second].name}"
            text = f"{owner.name} asks that {wish}, and it does not"
            yield Problem(
                text, entry=owner.name, plugin=owner.plugin, hint="a plan_modify hook moved one of them"
            )


def verify_middleware(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Names that are unique, stable and possible, and tools that can be tools."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        actual = getattr(entry.instance, "name", None)
        if actual != entry.name:
            text = (
                f"{entry.cls.__name__}.name is {actual!r} now and was {entry.name!r}; a name must not change"
            )
            yield Problem(text, entry=entry.name, plugin=entry.plugin)
        other = seen.setdefault(entry.name, entry)
        if other is not entry:
            text = f"two middleware are named {entry.name}: one from {other.source}, one from {entry.source}"
            yield Problem(text, entry=entry.name, plugin=entry.plugin, error=DuplicateMiddlewareError)
        if not _RESERVED.isdisjoint(entry.name) and _is_node(entry.instance):
            text = (
                f"the name {entry.name!r} contains {' or '.join(sorted(_RESERVED))}, which no graph node can"
            )
            yield Problem(text, entry=entry.name, plugin=entry.plugin)
        yield from _middleware_tools(entry)


def verify_state(entries: Sequence[Entry], state_schema: type) -> Iterator[Problem]:
    """State schemas that can be read, and no two that disagree about a key."""
    from deepagents_kernel.contracts.private_state import UnresolvableSchemaError, private_state_field_names

    readable = []
    for owner, schema in [
        *((e.name, e.instance.state_schema) for e in entries),
        ("state_schema=", state_schema),
    ]:
        try:
            private_state_field_names(schema)
        except UnresolvableSchemaError as error:
            yield Problem(str(error), entry=owner, error=PlanTypeError, cause=error)
        else:
            readable.append(schema)
    for conflict in _conflicts(tuple(readable)):
        hint = "give both the same reducer, or rename one of the keys"
        yield Problem(conflict.describe(), hint=hint)


@functools.lru_cache(maxsize=256)
def _conflicts(schemas: tuple[type, ...]) -> tuple[Conflict, ...]:
    # Most stacks of a process have the same schemas.
    from deepagents_kernel.contracts.schema_conflicts import conflicting_keys

    return conflicting_keys(schemas)


def verify_model(context: StackContext) -> Iterator[Problem]:
    """A model that can be called."""
    from langchain_core.language_models import BaseChatModel

    from deepagents_kernel.models import unwrap_model

    if not isinstance(unwrap_model(context.model), BaseChatModel):
        text = f"the model is a {type(context.model).__name__}, not a chat model"
        yield Problem(text, error=PlanTypeError)


def verify_response_format(context: StackContext) -> Iterator[Problem]:
    """Structured output whose schema the host can use."""
    from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy

    wanted = context.response_format
    if wanted is None or isinstance(wanted, AutoStrategy | ProviderStrategy | ToolStrategy):
        return
    try:
        ToolStrategy(schema=wanted)
    except Exception as error:
        text = f"response_format {wanted!r:.60} can't be used: {error}"
        hint = "give a pydantic model, a dataclass, a TypedDict or a JSON schema"
        yield Problem(text, hint=hint, error=PlanTypeError, cause=error)


def verify_children(names: Sequence[str], context: StackContext) -> Iterator[Problem]:
    """Child stacks with names of their own."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Problem(f"two child stacks of {context.path} are named {name!r}", hint="rename one of them")
        seen.add(name)


def verify_extras(stacks: Iterable[tuple[StackContext, Sequence[Entry]]]) -> Iterator[Problem]:
    """Factories of extra middleware that make new ones for each stack, as they promise."""
    first: dict[int, str] = {}
    for context, entries in stacks:
        static = {id(middleware) for middleware in static_extras(context.profile.parts)}
        for entry in entries:
            if entry.origin != "profile" or id(entry.original) in static:
                continue
            path = first.setdefault(id(entry.original), context.path)
            if path != context.path:
                text = (
                    f"the factory of extra_middleware of {entry.source} gave this very {entry.name} to {path}"
                )
                hint = "make a new one in each call; to share one on purpose, give a list, not a factory"
                yield Problem(text, context.path, entry.name, hint=hint)


def placed(problems: Iterable[Problem], stack: str) -> list[Problem]:
    """The problems with their stack filled in."""
    return [problem.at(stack) for problem in problems]


def verify_message_channel(state_schema: Any) -> Iterator[Problem]:
    """The messages of a base schema are stored as what each step added, or checkpoints hold them all."""
    from langgraph.channels import DeltaChannel

    from deepagents_kernel.contracts.private_state import UnresolvableSchemaError
    from deepagents_kernel.contracts.schema_conflicts import schema_channels

    try:
        channels = schema_channels(state_schema)
    except UnresolvableSchemaError:
        return  # reported with the others
    hint = "extend deepagents_kernel.DeepAgentState and leave its messages as they are"
    if "messages" not in channels:
        text = f"state_schema= {state_schema.__name__} has no key 'messages'"
        yield Problem(text, hint=hint, error=PlanTypeError)
    elif not isinstance(channels["messages"], DeltaChannel):
        text = f"state_schema= {state_schema.__name__} stores all messages in every checkpoint"
        yield Problem(text, hint=hint, severity="warning")


def _is_node(middleware: Any) -> bool:
    from langchain.agents.middleware import AgentMiddleware

    cls = type(middleware)
    return any(
        getattr(cls, name) is not getattr(AgentMiddleware, name)
        for hook in _NODE_HOOKS
        for name in (hook, f"a{hook}")
    )


def _middleware_tools(entry: Entry) -> Iterator[Problem]:
    tools = getattr(entry.instance, "tools", ())
    # An iterator would be used up by this very check.
    if not isinstance(tools, Iterable) or isinstance(tools, (str, bytes, Iterator)):
        text = f"{entry.name}.tools is {tools!r:.60}; a sequence of tools is expected"
        yield Problem(
            text, entry=entry.name, plugin=entry.plugin, hint="leave the attribute out, or give an empty list"
        )
        return
    _, problems = as_tools(list(tools), f"{entry.name}.tools")
    yield from problems
