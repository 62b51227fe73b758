"""Problems out of errors: what a plugin raised, with its place filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from deepagents_kernel.errors import PlanError

if TYPE_CHECKING:
    from deepagents_kernel.errors import Problem


def problems_of(error: PlanError, stack: str, plugin: str = "") -> tuple[Problem, ...]:
    """The problems of an error, with stack, plugin and the error's own class where they were left open."""
    kind = None if type(error) is PlanError or type(error).__init__ is not PlanError.__init__ else type(error)
    return tuple(
        evolve(problem.at(stack, plugin), error=problem.error or kind, cause=problem.cause or error.__cause__)
        for problem in error.problems
    )
