"""What state schemas say about their keys: which are private, and where two of them disagree.

Both questions are answered from the annotations as the host will read them, when an agent is planned. A
schema that can't be read is an error: it may hide a private field, which would reach sub-agents unnoticed.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Hashable
from typing import Any

from langchain.agents.middleware.types import OmitFromSchema

from deepagents_kernel.errors import DeepAgentsError

if typing.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class UnresolvableSchemaError(DeepAgentsError, TypeError):
    """The annotations of a state schema can't be evaluated.

    Attributes:
        schema: the schema.
        key: the state key whose annotation is at fault; empty if it can't be told.
        annotation: that annotation as it is written; empty if it can't be told.
        reason: what went wrong.
        hint: the way out.
    """

    def __init__(self, schema: object, key: str, annotation: str, reason: str) -> None:
        self.schema = schema
        self.key = key
        self.annotation = annotation
        self.reason = reason
        self.hint = (
            "define or import the name at module level, outside `if TYPE_CHECKING:`; "
            "until it resolves, private keys can't be told from shared ones"
            if isinstance(schema, type)
            else "a state schema is a TypedDict, a dataclass or a pydantic model: the class itself"
        )
        what = f"annotation {annotation!r} of {key!r}" if key else "an annotation"
        super().__init__(
            f"state schema {schema_name(schema)}: {what} can't be resolved: {reason}\n  {self.hint}"
        )


def schema_name(schema: object) -> str:
    """A schema as ``module.Class``, for messages."""
    name = getattr(schema, "__qualname__", None)
    return f"{getattr(schema, '__module__', '?')}.{name}" if name else repr(schema)


def state_hints(schema: type) -> Mapping[str, Any]:
    """The evaluated annotations of a schema (TypedDict, dataclass or pydantic model), extras included.

    Raises:
        UnresolvableSchemaError: an annotation can't be evaluated, or it is no schema.
    """
    return _evaluated(checked(schema))


def checked(schema: type) -> type:
    """The schema itself, unless it is a value that can't be one, such as a dict.

    Raises:
        UnresolvableSchemaError: it is no schema.
    """
    if not isinstance(schema, Hashable):
        raise UnresolvableSchemaError(schema, "", "", f"it is a {type(schema).__name__}")
    return schema


@functools.lru_cache(maxsize=1024)
def _evaluated(schema: type) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(schema, include_extras=True)
    # Annotations are expressions of the schema's author: they can raise anything.
    except Exception as error:
        key, annotation = _culprit(schema)
        raise UnresolvableSchemaError(schema, key, annotation, f"{type(error).__name__}: {error}") from error


def private_state_field_names(*schemas: type) -> frozenset[str]:
    """The keys that are private in at least one of *schemas*.

    Private is a key whose annotation carries LangChain's ``PrivateStateAttr``, or a marker equal to it, at
    any depth: within ``Required`` and ``NotRequired``, in an argument of a generic, behind a type alias.

    Args:
        *schemas: state schemas, of an agent and of its middleware.

    Raises:
        UnresolvableSchemaError: a schema can't be read.
    """
    return frozenset(name for schema in schemas for name in _private_names(checked(schema)))


@functools.lru_cache(maxsize=1024)
def _private_names(schema: type) -> frozenset[str]:
    hints = _evaluated(schema)
    return frozenset(key for key, hint in hints.items() if any(map(_is_private_marker, _metadata(hint, {}))))


def _is_private_marker(value: object) -> bool:
    # By value, not by identity: a module loaded twice, or an author who writes it out, means the same.
    return isinstance(value, OmitFromSchema) and value.input and value.output


def _metadata(hint: Any, seen: dict[int, Any]) -> Iterator[Any]:
    # A class is where a type ends: what is private inside another schema is that schema's affair.
    if isinstance(hint, type) or id(hint) in seen:
        return
    # An alias can contain itself. The object is kept, or its id could be used again by the next one.
    seen[id(hint)] = hint
    yield from getattr(hint, "__metadata__", ())
    # `__origin__` is what Annotated annotates, or the alias that got arguments; `__value__` what it means.
    for name in ("__origin__", "__value__"):
        inner = getattr(hint, name, None)
        if inner is not None:
            yield from _metadata(inner, seen)
    for argument in typing.get_args(hint):
        for part in argument if isinstance(argument, list) else (argument,):
            yield from _metadata(part, seen)


def _culprit(schema: object) -> tuple[str, str]:
    """Key and text of the first annotation that can't be evaluated by itself."""
    for cls in reversed(getattr(schema, "__mro__", ())):
        try:
            annotations = inspect.get_annotations(cls)
        # From Python 3.14 on, annotations are evaluated when they are asked for.
        except Exception:
            return "", ""
        for key, annotation in annotations.items():
            probe = type(
                cls.__name__, (), {"__annotations__": {key: annotation}, "__module__": cls.__module__}
            )
            try:
                typing.get_type_hints(probe, include_extras=True)
            except Exception:
                return key, annotation if isinstance(annotation, str) else _written(annotation)
    return "", ""


def _written(annotation: object) -> str:
    return str(getattr(annotation, "__forward_arg__", annotation))
