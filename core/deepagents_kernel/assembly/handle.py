"""Compile a stack at most once, when it is first used."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepagents_kernel.assembly.plan import StackPlan


class GraphHandle:
    """The graph of one stack, compiled on demand.

    Any number of threads may ask at once: one compiles, the others wait for it. A failure is raised to
    whoever asked and not kept, so that the next one tries again.

    Attributes:
        compilations: how often the stack has been compiled; 0 or 1 unless compiling failed.
    """

    def __init__(self, compile_stack: Callable[[StackPlan], Any]) -> None:
        self._compile_stack = compile_stack
        # Reentrant: a compile hook that asks for the graph it is making recurses, which ends; it would hang.
        self._lock = threading.RLock()
        self._stack: StackPlan | None = None
        self._graph: Any = None
        self.compilations = 0

    def attach(self, stack: StackPlan) -> None:
        """Say which stack to compile; the planner does, once the stack is final."""
        self._stack = stack

    @property
    def compiled(self) -> bool:
        """Whether the graph exists already."""
        return self._graph is not None

    def compile(self, stack: StackPlan) -> Any:
        """Another graph: of a stack that was evolved from this handle's, compiled now and not kept."""
        return self._compile_stack(stack)

    def graph(self) -> Any:
        """The compiled graph; compiles it now if nobody did before."""
        if self._graph is None:
            with self._lock:
                if self._graph is None:
                    if self._stack is None:
                        msg = "this stack is still being planned"
                        raise RuntimeError(msg)
                    self.compilations += 1
                    self._graph = self._compile_stack(self._stack)
        return self._graph
