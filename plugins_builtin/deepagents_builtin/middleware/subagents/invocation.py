"""How a child is run, so that tracing, limits and checkpoints see it as a part of its parent's run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import RunnableConfig
from langsmith.run_helpers import get_tracing_context, tracing_context

from deepagents_builtin.middleware.subagents.limits import one_deeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_AGENT_TYPE: Final = {"ls_agent_type": "subagent"}


def child_config(parent: Mapping[str, Any], max_steps: int | None) -> RunnableConfig:
    """The config to call a child with.

    Everything else (callbacks, tags, metadata, store, thread, limit) reaches the child as the ambient config
    of the tool call; passing it on a second time would double tags and callbacks.
    """
    config = RunnableConfig(configurable=dict(_AGENT_TYPE))
    if max_steps is not None:
        config["recursion_limit"] = min(max_steps, parent.get("recursion_limit") or max_steps)
    return config


@contextlib.contextmanager
def inside_child() -> Iterator[None]:
    """Mark what runs inside as a child's, for traces and for the limit on depth."""
    context = get_tracing_context()
    metadata = {**(context.get("metadata") or {}), **_AGENT_TYPE}
    with one_deeper(), tracing_context(**{**context, "metadata": metadata}):
        yield
