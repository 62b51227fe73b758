"""What profiles cost an agent that is planned: looking them up, and merging them after a registration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import agents
from measure import BASE, OURS, Row, alternate, timed

from deepagents_kernel import HarnessProfile, Kernel, ProviderProfile, make_request
from deepagents_kernel.profiles.lookup import harness_for_model, harness_for_spec, provider_kwargs

GROUP = "profiles"
ROUNDS = 21
#: A lookup's share of the time that planning a default agent takes. What is without a limit happens once for
#: each content of the registry (merging), or calls LangChain (asking a model) or a model's constructor next.
LIMIT = 0.01
OTHERS = 200
SPEC = "openai:gpt-5.4-2026-03-05"


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure; a row for each way to look up, one for the merge after a registration, one for registering."""
    kernel = _kernel()
    registry = kernel.profiles
    model = agents.Writer()
    yield _share(
        kernel, "harness profile of a string", lambda: harness_for_spec(registry, SPEC), rounds, LIMIT
    )
    yield _share(kernel, "harness profile of a model", lambda: harness_for_model(registry, model), rounds)
    yield _share(kernel, "arguments of a model", lambda: provider_kwargs(registry, SPEC), rounds)
    yield _share(kernel, "merge after a registration", _merging(kernel), rounds)
    yield _registering(rounds)


def _share(
    kernel: Kernel, case: str, work: Callable[[], Any], rounds: int, limit: float | None = None
) -> Row:
    request = make_request(agents.Writer())
    sides = {BASE: timed(lambda: kernel.plan(request), times=3), OURS: timed(work, times=200)}
    samples = alternate(sides, rounds)
    ratios = samples.ratios(OURS)
    detail = {
        "us": round(samples.median(OURS) * 1e6, 1),
        "us to plan": round(samples.median(BASE) * 1e6),
    }
    value, best = samples.ratio(OURS), samples.best(OURS)
    return Row(GROUP, f"{case} over a plan", value, limit, min(ratios), max(ratios), best, detail=detail)


def _merging(kernel: Kernel) -> Callable[[], Any]:
    """The first lookup in a content of the registry: with the merge, without the registration before it."""
    contents = []
    for number in range(400):
        kernel.profiles.register_harness(f"fresh{number}", HarnessProfile())
        contents.append(kernel.profiles.snapshot())
    remaining = iter(())

    def merge() -> Any:
        nonlocal remaining
        state = next(remaining, None)
        if state is None:
            for content in contents:
                content.harnesses._merged.clear()
                content._refs.clear()
            remaining = iter(contents)
            state = next(remaining)
        return harness_for_spec(_Frozen(state), SPEC)  # type: ignore[arg-type]

    return merge


class _Frozen:
    """A registry that stays as it is."""

    def __init__(self, state: Any) -> None:
        self.snapshot = lambda: state


def _registering(rounds: int) -> Row:
    samples = alternate({BASE: timed(lambda: _kernel(0)), OURS: timed(lambda: _kernel(OTHERS))}, rounds)
    each = [
        (many - none) / OTHERS / 2 * 1e6
        for none, many in zip(samples.rounds[BASE], samples.rounds[OURS], strict=True)
    ]
    middle = sorted(each)[len(each) // 2]
    return Row(
        GROUP, f"us to register one of {2 * OTHERS} profiles", middle, None, min(each), max(each), min(each)
    )


def _kernel(others: int = OTHERS) -> Kernel:
    """A kernel with three layers for the model, and profiles of *others* models more."""
    kernel = Kernel()
    registry = kernel.profiles
    for number in range(others):
        registry.register_harness(f"acme:model{number}", HarnessProfile(excluded_tools={f"tool{number}"}))
        registry.register_provider(f"acme:model{number}", ProviderProfile({"seed": number}))
    for key in ("openai", "openai:gpt-5.4", "openai:gpt-5.4"):
        registry.register_harness(
            key,
            HarnessProfile(
                system_prompt_suffix=key, excluded_tools={key, "x"}, tool_description_overrides={key: key}
            ),
        )
        registry.register_provider(key, ProviderProfile({"default_headers": {key: key}, "seed": 1}))
    return kernel
