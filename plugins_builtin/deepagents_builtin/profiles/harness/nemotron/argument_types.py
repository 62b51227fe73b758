"""Give values that were written as text the types that the tool's schema asks for."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_WORDS = {"true": True, "false": False}


def parameter_schemas(tool: Any) -> Mapping[str, Any]:
    """The JSON schema of each parameter of a tool; empty if it can't be found out.

    Args:
        tool: a tool as a model request has it: an object, or a dictionary of a provider's form.
    """
    from langchain_core.utils.function_calling import convert_to_openai_tool

    try:
        function = convert_to_openai_tool(tool)["function"]
        properties = function.get("parameters", {}).get("properties", {})
    # A schema of any make; without one the values stay texts, and the tool says what is wrong with them.
    except Exception:
        return {}
    return properties if isinstance(properties, dict) else {}


def typed(value: str, schema: Any) -> Any:
    """A value as its schema wants it; the text itself if it can't be that.

    Args:
        value: the text.
        schema: the JSON schema of the parameter.
    """
    kinds = set(_kinds(schema))
    bare = value.strip()
    if "null" in kinds and bare in {"null", "None"}:
        return None
    if "string" in kinds:
        return value
    if "boolean" in kinds and bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    if "integer" in kinds and _INTEGER.fullmatch(bare):
        return int(bare)
    for kind, python in (("number", (int, float)), ("array", list), ("object", dict)):
        if kind in kinds:
            parsed = _parsed(bare)
            if isinstance(parsed, python) and not isinstance(parsed, bool):
                return parsed
    return value


def _kinds(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    yield from (item for item in ([kind] if isinstance(kind, str) else _list(kind)) if isinstance(item, str))
    for value in (*_list(schema.get("enum")), schema.get("const")):
        if isinstance(value, str):
            yield "string"
    for key in ("anyOf", "oneOf", "allOf"):
        for inner in _list(schema.get(key)):
            yield from _kinds(inner)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _refused(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    # "NaN" and numbers that no float can hold have no form in JSON; a tool could not tell what was meant.
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
