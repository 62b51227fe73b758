"""Make the context of each stack: the main one from the request, a child's from its parent's and its spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deepagents_kernel.assembly.context import StackContext
from deepagents_kernel.assembly.specs import ChildStack, StackKind
from deepagents_kernel.assembly.tools import rewrite_descriptions
from deepagents_kernel.errors import PlanTypeError, Problem
from deepagents_kernel.profiles.lookup import ProfileRef

#: Resolves a model of a sub-agent spec: (model, its spec string, the profile that the registry has for it).
ResolveModel = Callable[[Any], tuple[Any, str, ProfileRef]]


def child_context(parent: StackContext, child: ChildStack, resolve_model: ResolveModel) -> StackContext:
    """The context of a child stack.

    A general-purpose child runs on its parent's model and profile. Another child has its own where its spec
    names a model, and otherwise its parent's, with the profile that the registry has for that model: a
    ``profile=`` given for one agent is for that agent and its general-purpose child.

    Raises:
        PlanTypeError: a field of the spec has the wrong type.
        ModelSpecError: the spec's model can't be resolved.
    """
    spec = child.spec
    model, model_spec, registry_profile = parent.model, parent.model_spec, parent.registry_profile
    profile = parent.profile if child.kind is StackKind.GENERAL_PURPOSE else registry_profile
    if spec.get("model") is not None:
        model, model_spec, registry_profile = resolve_model(spec["model"])
        profile = registry_profile
    raw = _own(spec, "tools", parent.raw_tools) or ()
    # Not parent.tools: those include what plugins gave to the parent, and they are asked about each stack.
    rewriter = parent.profile if child.tools == "rewritten" and "tools" not in spec else profile
    skills, memory = _sources(parent, child)
    # Not attrs.evolve: it takes as long as all the rest of this, and every sub-agent comes by here.
    return StackContext(
        request=parent.request,
        backend=parent.backend,
        call=parent._call,
        settings=parent._settings,
        shared=parent._shared,
        kind=child.kind,
        name=child.name,
        path=f"{parent.path}/{child.name}",
        parent=parent,
        spec=spec,
        model=model,
        model_spec=model_spec,
        profile=profile,
        registry_profile=registry_profile,
        tools=rewrite_descriptions(raw, rewriter.profile.tool_description_overrides),
        raw_tools=raw,
        middleware=_own(spec, "middleware", ()) or (),
        skills=skills,
        memory=memory,
        permissions=_own(spec, "permissions", parent.permissions),
        interrupt_on=_mapping(spec, "interrupt_on", parent.interrupt_on),
        response_format=spec.get("response_format"),
    )


def _sources(
    parent: StackContext, child: ChildStack
) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    """Skills and memory: general-purpose has the parent's skills, a fork both, a declared child its own."""
    if child.kind is StackKind.SUBAGENT:
        return _own(child.spec, "skills", None) or None, _own(child.spec, "memory", None)
    return parent.skills, parent.memory if child.kind is StackKind.FORK else None


def _own(spec: Mapping[str, Any], key: str, inherited: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """The spec's own value if the key is there, ``None`` and empty included; else what is inherited."""
    if key not in spec:
        return None if inherited is None else tuple(inherited)
    value = spec[key]
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        text = f"{key!r} of a sub-agent spec takes a list, not {type(value).__name__}"
        raise PlanTypeError(Problem(text))
    return tuple(value)


def _mapping(
    spec: Mapping[str, Any], key: str, inherited: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    if key not in spec:
        return inherited
    value = spec[key]
    if value is None or isinstance(value, Mapping):
        return value
    raise PlanTypeError(Problem(f"{key!r} of a sub-agent spec takes a mapping, not {type(value).__name__}"))
