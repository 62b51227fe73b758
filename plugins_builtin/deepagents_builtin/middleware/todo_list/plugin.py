"""The ``middleware.todo-list`` plugin: the ``write_todos`` tool in every stack. Off until it is enabled."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.assembly.specs import MiddlewareSpec

PLUGIN = PluginInfo(summary="Gives agents a list of tasks to keep (write_todos).")


@functools.cache
def _slot() -> MiddlewareSpec:
    from langchain.agents.middleware import TodoListMiddleware

    from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment

    # In the tail, where a profile's own one would stand: whoever brings it, the stack looks the same.
    return MiddlewareSpec(
        "TodoListMiddleware",
        TodoListMiddleware,
        lambda _context: TodoListMiddleware(),
        segment=Segment.TAIL,
        shared=True,
        summary="a list of tasks that the model keeps",
    )


@hookimpl
def deepagents_middleware() -> MiddlewareSpec:
    """The slot, the same one in every stack."""
    return _slot()
