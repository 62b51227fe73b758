"""Refuse what nobody takes care of: a parameter or a spec whose plugin is not there is never ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.errors import Problem

if TYPE_CHECKING:
    from deepagents_kernel.assembly.request import AgentRequest


@frozen
class Demand:
    """A feature that somebody asks for, and in which words."""

    feature: str
    asked: str
    stack: str = "main"


def demands(request: AgentRequest) -> list[Demand]:
    """Every feature that a request and its sub-agent specs ask for."""
    found = [
        Demand(feature, asked)
        for feature, asked, wanted in (
            ("skills", "skills=", request.skills is not None),
            ("memory", "memory=", request.memory is not None),
            ("permissions", "permissions=", bool(request.permissions)),
            ("interrupts", "interrupt_on=", request.interrupt_on is not None),
        )
        if wanted
    ]
    for spec in request.subagents:
        if isinstance(spec, Mapping):
            found += _spec_demands(spec)
    return found


def unserved(
    wanted: Iterable[Demand], served: Mapping[str, str], expected: Mapping[str, str], known: Iterable[str]
) -> list[Problem]:
    """A problem for each demand that no plugin serves.

    Args:
        wanted: what is asked for.
        served: feature to a plugin that serves it.
        expected: feature to the plugin that a user would expect to serve it.
        known: names of the plugins that are there.
    """
    names = set(known)
    problems = []
    for demand in wanted:
        if demand.feature in served:
            continue
        plugin = expected.get(demand.feature, "")
        if not plugin:
            hint = f"install or enable a plugin that serves {demand.feature!r}"
        elif plugin in names:
            hint = f"{plugin} is here, but does not serve {demand.feature!r} in this version"
        else:
            hint = f"install or enable the plugin {plugin}"
        text = f"{demand.asked} needs a plugin that serves {demand.feature!r}, and none does"
        problems.append(Problem(text, stack=demand.stack, plugin=plugin, hint=hint))
    return problems


def _spec_demands(spec: Mapping[str, Any]) -> list[Demand]:
    name = spec.get("name")
    path = f"main/{name}" if name else "main"
    if "graph_id" in spec:
        return [Demand("async-subagents", "graph_id in a sub-agent spec", path)]
    found = [Demand("subagents", "subagents=", path)]
    if spec.get("mode") == "fork":
        found.append(Demand("fork", 'mode="fork"', path))
    for key, feature in (
        ("skills", "skills"),
        ("memory", "memory"),
        ("permissions", "permissions"),
        ("interrupt_on", "interrupts"),
    ):
        if spec.get(key):
            found.append(Demand(feature, f"{key!r} in a sub-agent spec", path))
    return found
