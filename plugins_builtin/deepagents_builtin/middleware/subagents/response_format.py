"""A response format that the caller of a run asks of every child, and graphs kept for each format."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, Generic, TypeVar

#: Key in a run's ``configurable``; ``None`` under it means the same as its absence.
SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY: Final = "__deepagents_subagent_response_format"

#: Formats made anew for each request must not keep every graph alive that was ever compiled for one.
_KEPT: Final = 8

GraphT = TypeVar("GraphT")


def requested_format(config: Mapping[str, Any]) -> Any:
    """The format that the caller of the run set, or ``None``."""
    return (config.get("configurable") or {}).get(SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY)


class FormatCache(Generic[GraphT]):
    """Compiled graphs by response format; a format that comes again is not compiled again."""

    def __init__(self, build: Callable[[Any], GraphT]) -> None:
        self._build = build
        self._lock = threading.Lock()
        # The format is kept beside its graph: a key made from an id is only good while the object lives.
        self._graphs: OrderedDict[Hashable, tuple[Any, GraphT]] = OrderedDict()

    def get(self, response_format: Any) -> GraphT:
        """The graph for a format; compiled now if it is not there. A failure is raised and not kept."""
        key = _key(response_format)
        with self._lock:
            if key not in self._graphs:
                self._graphs[key] = (response_format, self._build(response_format))
            self._graphs.move_to_end(key)
            graph = self._graphs[key][1]
            while len(self._graphs) > _KEPT:
                self._graphs.popitem(last=False)
        return graph


def _key(response_format: Any) -> Hashable:
    if isinstance(response_format, Mapping):
        try:
            return ("schema", json.dumps(response_format, sort_keys=True))
        except (TypeError, ValueError):
            return ("object", id(response_format))
    try:
        hash(response_format)
    except TypeError:
        return ("object", id(response_format))
    return ("value", response_format)
