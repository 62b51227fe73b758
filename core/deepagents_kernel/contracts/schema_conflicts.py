"""State keys that two schemas merge in different ways.

LangChain joins the schemas of all middleware and of the agent into one; of a key that several declare, the
last declaration wins, silently. If they differ in how writes are merged, the loser's middleware works on a
state that doesn't behave as it expects: lost updates, or an error at the first parallel write.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Required, get_origin

from attrs import frozen
from langchain.agents.middleware.types import AgentState
from langgraph.channels.base import BaseChannel
from langgraph.managed.base import is_managed_value

from deepagents_kernel.contracts.private_state import checked, schema_name, state_hints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@frozen
class Conflict:
    """Two schemas that declare different reducers or channels for one key.

    Attributes:
        key: the state key.
        first: the schema that declares it earlier; its reducer loses, unless a third one agrees with it.
        second: the schema that disagrees.
    """

    key: str
    first: type
    second: type

    def describe(self) -> str:
        """The conflict as one sentence."""
        one, other = schema_channels(self.first)[self.key], schema_channels(self.second)[self.key]
        return (
            f"state key {self.key!r} is merged by {_text(one)} in {schema_name(self.first)} "
            f"and by {_text(other)} in {schema_name(self.second)}"
        )


def schema_channels(schema: type) -> Mapping[str, Any]:
    """How a schema wants the writes to each of its keys merged.

    Returns:
        For each key: a channel, a managed value's class, a reducer, or ``None`` for a key that simply
        holds the last value.

    Raises:
        UnresolvableSchemaError: an annotation can't be evaluated.
    """
    return _rules(checked(schema))


@functools.lru_cache(maxsize=1024)
def _rules(schema: type) -> Mapping[str, Any]:
    return {key: _rule(hint) for key, hint in state_hints(schema).items()}


def conflicting_keys(schemas: Sequence[type]) -> tuple[Conflict, ...]:
    """The keys whose reducer or channel differs between *schemas*.

    What a schema merely has from ``AgentState`` is no claim: every middleware's schema has it, and the
    agent's own may replace it. Two plain declarations agree. A plain declaration next to one with a reducer
    is a conflict only if it comes last and so takes the reducer away.

    Args:
        schemas: in the order in which the host joins them: those of the middleware, then the agent's.

    Returns:
        For each key the first schema that claims it with every later one that disagrees, in order.

    Raises:
        UnresolvableSchemaError: a schema can't be read.
    """
    claims: dict[str, list[tuple[type, Any]]] = {}
    for schema in _as_joined(schemas):
        for key, rule in schema_channels(schema).items():
            if not _is_default(key, rule):
                claims.setdefault(key, []).append((schema, rule))
    return tuple(conflict for key, claimed in claims.items() for conflict in _disagreements(key, claimed))


def _as_joined(schemas: Sequence[type]) -> list[type]:
    # The host moves a schema that occurs twice to its last place.
    return list(dict.fromkeys(reversed(schemas)))[::-1]


def _is_default(key: str, rule: Any) -> bool:
    defaults = schema_channels(AgentState)
    return key in defaults and _same(rule, defaults[key])


def _disagreements(key: str, claims: Sequence[tuple[type, Any]]) -> list[Conflict]:
    ruled = [(schema, rule) for schema, rule in claims if rule is not None]
    if not ruled:
        return []
    first, wanted = ruled[0]
    found = [Conflict(key, first, schema) for schema, rule in ruled[1:] if not _same(rule, wanted)]
    last, rule = claims[-1]
    return [*found, Conflict(key, first, last)] if rule is None else found


def _rule(hint: Any) -> Any:
    """What the host makes of an annotation: a managed value, else a channel, else a reducer."""
    while get_origin(hint) in (Required, NotRequired):
        hint = hint.__args__[0]
    if get_origin(hint) is not Annotated:
        return None
    metadata = hint.__metadata__
    last = metadata[-1]
    if is_managed_value(get_origin(last) or last):
        return get_origin(last) or last
    for item in metadata:
        if isinstance(item, BaseChannel):
            return item
        if inspect.isclass(item) and issubclass(item, BaseChannel):
            return _instance(item, hint.__origin__)
    return last if callable(last) else None


def _instance(channel: type[BaseChannel[Any, Any, Any]], typ: Any) -> Any:
    try:
        return channel(typ)
    # It needs more than a type. The host will say so; here it still tells one rule from another.
    except TypeError:
        return channel


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, BaseChannel) and isinstance(other, BaseChannel):
        return one == other and _same_lambda(_operator(one), _operator(other))
    if isinstance(one, types.FunctionType) and isinstance(other, types.FunctionType):
        # An annotation that is a string is evaluated anew for each schema that inherits it.
        return _parts(one) == _parts(other) and one.__globals__ is other.__globals__ and not one.__closure__
    return bool(one == other)


def _parts(function: types.FunctionType) -> tuple[Any, ...]:
    return (function.__code__, function.__defaults__, function.__kwdefaults__)


def _same_lambda(one: Any, other: Any) -> bool:
    # The host's channels count a lambda as equal to any function.
    has_lambda = "<lambda>" in (getattr(one, "__name__", ""), getattr(other, "__name__", ""))
    return not has_lambda or _same(one, other)


def _operator(channel: BaseChannel[Any, Any, Any]) -> Any:
    return getattr(channel, "reducer", None) or getattr(channel, "operator", None)


def _text(rule: Any) -> str:
    if rule is None:
        return "nothing (the last value counts)"
    if isinstance(rule, BaseChannel):
        inner = _operator(rule)
        return f"{type(rule).__name__}({_text(inner)})" if inner else type(rule).__name__
    return str(getattr(rule, "__qualname__", rule))
