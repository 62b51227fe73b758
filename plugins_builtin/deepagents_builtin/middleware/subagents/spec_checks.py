"""What can be wrong with sub-agent specs, found before anything is made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from deepagents_kernel.assembly.context import Contribution
from deepagents_kernel.contracts.subagents import known_keys, spec_kind
from deepagents_kernel.errors import (
    PlanError,
    PlanKeyError,
    PlanTypeError,
    Problem,
    UnsupportedPlanError,
    nearest_hint,
)

MODES: Final = ("isolated", "fork")

#: LangGraph builds checkpoint namespaces with the first two, the kernel paths of stacks with the last one.
_RESERVED_CHARACTERS: Final = "|:/"

#: What protects: a spec that has one of these where nothing enforces it would only look protected.
_PROTECTIONS: Final = ("interrupt_on", "permissions")


def is_async(spec: Any) -> bool:
    """Whether a spec is for the asynchronous sub-agents; ``graph_id`` decides, whatever else is there."""
    return isinstance(spec, Mapping) and spec_kind(spec) == "async"


def is_fork(spec: Any) -> bool:
    """Whether a spec continues its parent's conversation."""
    return isinstance(spec, Mapping) and spec.get("mode") == "fork"


def is_compiled(spec: Mapping[str, Any]) -> bool:
    """Whether a spec brings its own runnable."""
    return spec_kind(spec) == "compiled"


def spec_problems(items: Sequence[Contribution]) -> list[Problem]:
    """Everything that is wrong with isolated specs, each with the plugin that shipped it.

    Args:
        items: the specs in order; an empty plugin name stands for the caller.
    """
    problems: list[Problem] = []
    owners: dict[str, str] = {}
    for position, item in enumerate(items):
        problems += (problem.at("", item.plugin) for problem in _one(item.value, position))
        name = item.value.get("name") if isinstance(item.value, Mapping) else None
        if not isinstance(name, str) or not name:
            continue
        if name in owners:
            problems.append(_duplicate(name, owners[name], item.plugin))
        owners.setdefault(name, item.plugin)
    return problems


def is_sound(spec: Any) -> bool:
    """Whether nothing is wrong with a spec by itself."""
    return next(_one(spec, 0), None) is None


def standalone_problems(specs: Sequence[Any]) -> list[Problem]:
    """The same for specs that no parent agent completes: each needs its own model and tools."""
    if not specs:
        hint = 'pass at least one, such as {"name": ..., "description": ..., "model": ..., "tools": []}'
        return [Problem("no subagents were given", hint=hint)]
    problems = spec_problems([Contribution("", spec) for spec in specs])
    for spec in specs:
        if isinstance(spec, Mapping):
            problems += _unsupported(spec)
            problems += _unfinished(spec)
    return problems


def unknown_keys(spec: Mapping[str, Any]) -> list[str]:
    """Keys that mean nothing here, each with the nearest known one in words."""
    known = known_keys(spec_kind(spec))
    unknown = sorted(key for key in map(str, spec) if key not in known)
    return [f"{key!r} ({hint})" if (hint := nearest_hint(key, known)) else repr(key) for key in unknown]


def _one(spec: Any, position: int) -> Iterator[Problem]:
    if not isinstance(spec, Mapping):
        text = f"subagents[{position}] is {type(spec).__name__} ({spec!r:.60}); a sub-agent spec is a mapping"
        yield Problem(
            text, hint='{"name": ..., "description": ..., "system_prompt": ...}', error=PlanTypeError
        )
        return
    who = _label(spec, position)
    for key in ("name", "description"):
        yield from _text(spec, key, who)
    yield from _name(spec.get("name"), who)
    mode = spec.get("mode")
    if mode is not None and mode not in MODES:
        hint = f"one of {', '.join(MODES)}; " + nearest_hint(str(mode), MODES)
        yield Problem(f"{who} has mode {mode!r}, which doesn't exist", hint=hint.rstrip("; "))
    if is_compiled(spec):
        yield from _runnable(spec["runnable"], who)
        yield from _unprotected(
            spec, _PROTECTIONS, f"{who} is compiled already", "build it into the runnable"
        )


def _text(spec: Mapping[str, Any], key: str, who: str) -> Iterator[Problem]:
    if key not in spec:
        hint = "the model chooses a sub-agent by its name and description"
        yield Problem(f"{who} has no {key!r}", hint=_typo(spec, key) or hint, error=PlanKeyError)
    elif not isinstance(spec[key], str):
        yield Problem(f"{key!r} of {who} is {type(spec[key]).__name__}, not a string", error=PlanTypeError)
    elif not spec[key].strip():
        yield Problem(
            f"{key!r} of {who} is empty", hint="the model chooses a sub-agent by its name and description"
        )


def _typo(spec: Mapping[str, Any], key: str) -> str:
    known = known_keys(spec_kind(spec))
    found = nearest_hint(key, [other for other in map(str, spec) if other not in known])
    return found and f"in the spec, {found}"


def _name(name: Any, who: str) -> Iterator[Problem]:
    bad = [character for character in _RESERVED_CHARACTERS if isinstance(name, str) and character in name]
    if bad:
        yield Problem(
            f"the name of {who} contains {' and '.join(map(repr, bad))}, which sets names apart in "
            "checkpoints or in paths of the plan",
            hint="use letters, digits, hyphens and underscores",
        )


def _runnable(runnable: Any, who: str) -> Iterator[Problem]:
    from langchain_core.runnables import Runnable

    if not isinstance(runnable, Runnable):
        yield Problem(
            f"'runnable' of {who} is {type(runnable).__name__}, not a Runnable",
            hint="pass a compiled graph, or wrap a function in RunnableLambda",
            error=PlanTypeError,
        )


def _unprotected(
    spec: Mapping[str, Any], keys: Sequence[str], because: str, instead: str
) -> Iterator[Problem]:
    for key in keys:
        if spec.get(key):
            yield Problem(
                f"{because}, so {key!r} of its spec would not be enforced",
                hint=f"{instead}, and leave the key out",
                error=UnsupportedPlanError,
            )


def _unsupported(spec: Mapping[str, Any]) -> Iterator[Problem]:
    who = _label(spec)
    if is_fork(spec):
        text = f"{who} has mode 'fork', which this middleware does not serve"
        yield Problem(text, hint="leave `mode` out, or use 'isolated'", error=UnsupportedPlanError)
    if is_async(spec):
        text = (
            f"{who} has a 'graph_id': it is an asynchronous sub-agent, which this middleware does not serve"
        )
        yield Problem(text, hint="pass it to AsyncSubAgentMiddleware", error=UnsupportedPlanError)


def _unfinished(spec: Mapping[str, Any]) -> Iterator[Problem]:
    if is_compiled(spec) or is_async(spec):
        return
    who = _label(spec)
    yield from _unprotected(
        spec,
        ("permissions",),
        f"{who} is not part of a deep agent",
        "pass a middleware that enforces them in its 'middleware'",
    )
    if not spec.get("model"):
        hint = "without a deep agent around it there is no parent model to take"
        yield Problem(f"{who} has no 'model'", hint=hint)
    if "tools" not in spec:
        hint = "without a deep agent around it there are no parent tools to take; `tools=[]` means none"
        yield Problem(f"{who} has no 'tools'", hint=hint)


def _duplicate(name: str, first: str, second: str) -> Problem:
    owners = " and ".join(dict.fromkeys(plugin or "the caller" for plugin in (first, second)))
    text = f"two sub-agents are named {name!r} (from {owners})"
    hint = "rename one of them, or disable the plugin that ships it" if second else "rename one of them"
    return Problem(text, plugin=second, hint=hint, error=PlanError)


def _label(spec: Mapping[str, Any], position: int | None = None) -> str:
    name = spec.get("name")
    if isinstance(name, str) and name:
        return f"subagent {name!r}"
    return "the subagent" if position is None else f"subagents[{position}]"
