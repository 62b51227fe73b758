"""What profiles change in the plan of an agent, found out without the model.

Two plans are made on a stand-in that reports the provider and the name of the model: one as it would be, and
one by a kernel without profiles. No package of a provider and no key is needed, and nothing is asked.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.assembly.request import make_request
from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.explain.diff import diff
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.profiles.names import as_reported, read_name
from deepagents_kernel.profiles.registry import ProfileRegistry
from deepagents_kernel.testing.scripted import ScriptedChatModel

if TYPE_CHECKING:
    from deepagents_kernel.assembly.plan import AgentPlan


@frozen
class Effect:
    """What profiles do to a plan.

    Attributes:
        lines: what changes, in words; empty for nothing.
        warnings: what the plan warns about.
        refusal: why there is no such plan; empty if there is one.
    """

    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def effect_of(kernel: Kernel, spec: str, profile: str | None) -> Effect:
    """What the profiles of a model, and one given for this agent, change in its plan.

    Args:
        kernel: whose profiles.
        spec: the model string.
        profile: file of a harness profile, if any.
    """
    bare = _plan(_Rehearsal.of(kernel, profiles=False), spec, None)
    try:
        full = _plan(_Rehearsal.of(kernel), spec, profile)
    except DeepAgentsError as error:
        return Effect(refusal=str(error))
    warnings = tuple("; ".join(filter(None, (item.text, item.hint))) for item in full.warnings)
    return Effect(tuple(diff(bare.to_dict(), full.to_dict())), warnings)


def _plan(kernel: Kernel, spec: str, profile: str | None) -> AgentPlan:
    return kernel.plan(make_request(model=spec, profile=profile))


def stand_in(spec: str) -> ScriptedChatModel:
    """A model that reports what the model of this string would."""
    parts = read_name(spec)
    provider, name = (parts.provider, parts.model or spec) if parts else ("", spec)
    return ScriptedChatModel([], provider=as_reported(provider), model_name=name)


class _Rehearsal(Kernel):
    """A view of a kernel that hands out stand-ins for models; plugins and settings are shared."""

    @classmethod
    def of(cls, kernel: Kernel, *, profiles: bool = True) -> _Rehearsal:
        view = cls.__new__(cls)
        vars(view).update(vars(kernel))
        if not profiles:
            view._parts = copy.copy(kernel._parts)
            view._parts.profiles = ProfileRegistry()
        return view

    def resolve_model(self, model: Any) -> Any:
        """A stand-in for a string, anything else as it is."""
        return stand_in(model) if isinstance(model, str) else super().resolve_model(model)
