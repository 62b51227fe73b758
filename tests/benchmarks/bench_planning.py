"""What other people's plugins cost an agent that is planned: silent ones, and ones that contribute."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import agents
from langchain.agents.middleware import AgentMiddleware
from measure import BASE, OURS, Row, Run, Samples, alternate, timed

from deepagents_kernel import Kernel, MiddlewareSpec, Segment, hookimpl, make_request

GROUP = "planning"
FEW, MANY = 20, 200
LIMIT_SILENT = 2.0
#: What an entry costs among many, compared with what it costs among few. Linear is 1; the rest is noise.
LIMIT_EACH = 1.25
ROUNDS = 21


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure; a row for silent plugins, one for each way to contribute, one for registration."""
    yield _silent("answer nothing", _silent_plugin, rounds)
    yield _growth("one entry each", _contributing_plugin, rounds)
    yield _growth("one entry each, after the one before", _chained_plugin, rounds)
    yield _registration(rounds)


def _silent(case: str, make: Callable[[int], Any], rounds: int) -> Row:
    samples = alternate({BASE: _planned(make, FEW), OURS: _planned(make, MANY)}, rounds)
    ratios = samples.ratios(OURS)
    detail = {
        f"{FEW}": round(samples.median(BASE) * 1e3, 3),
        f"{MANY}": round(samples.median(OURS) * 1e3, 3),
    }
    return Row(
        GROUP,
        f"{MANY} plugins over {FEW}: {case}",
        samples.ratio(OURS),
        LIMIT_SILENT,
        min(ratios),
        max(ratios),
        samples.best(OURS),
        detail=detail,
    )


def _growth(case: str, make: Callable[[int], Any], rounds: int) -> Row:
    samples = alternate({str(count): _planned(make, count) for count in (0, FEW, MANY)}, rounds)
    none, few, many = (samples.rounds[str(count)] for count in (0, FEW, MANY))
    costs = Samples(
        {
            BASE: [(high - low) / FEW for low, high in zip(none, few, strict=True)],
            OURS: [(high - low) / (MANY - FEW) for low, high in zip(few, many, strict=True)],
        }
    )
    ratios = costs.ratios(OURS)
    best = (min(many) - min(few)) / (MANY - FEW) / ((min(few) - min(none)) / FEW)
    detail = {
        f"us an entry among {FEW}": round(costs.median(BASE) * 1e6, 1),
        f"among {MANY}": round(costs.median(OURS) * 1e6, 1),
    }
    return Row(
        GROUP,
        f"cost of an entry: {case}",
        costs.ratio(OURS),
        LIMIT_EACH,
        min(ratios),
        max(ratios),
        best,
        detail=detail,
    )


def _registration(rounds: int) -> Row:
    samples = alternate({str(count): timed(lambda n=count: _kernel(n)) for count in (0, MANY)}, rounds)
    each = [
        (many - none) / MANY * 1e3
        for none, many in zip(samples.rounds["0"], samples.rounds[str(MANY)], strict=True)
    ]
    detail = {"ms for the built-ins": round(samples.median("0") * 1e3, 1)}
    middle = statistics.median(each)
    return Row(GROUP, "ms to register a plugin", middle, None, min(each), max(each), min(each), detail=detail)


def _planned(make: Callable[[int], Any], count: int) -> Run:
    kernel = _kernel(count, make)
    request = make_request(agents.Writer())
    return timed(lambda: kernel.plan(request), times=3)


def _kernel(count: int, make: Callable[[int], Any] | None = None) -> Kernel:
    make = make or _silent_plugin
    return Kernel({f"middleware.extra{number:03d}": make(number) for number in range(count)})


def _silent_plugin(number: int) -> Any:
    class Silent:
        @hookimpl
        def deepagents_middleware(self, context: Any) -> None:
            return None

    return Silent()


def _contributing_plugin(number: int) -> Any:
    return _with_slot(number)


def _chained_plugin(number: int) -> Any:
    return _with_slot(number, after=(f"Extra{number - 1}",) if number else ())


def _with_slot(number: int, **options: Any) -> Any:
    name = f"Extra{number}"
    cls = type(name, (AgentMiddleware,), {})

    class Contributing:
        @hookimpl
        def deepagents_middleware(self, context: Any) -> MiddlewareSpec | None:
            if context.kind != "main":
                return None
            return MiddlewareSpec(name, cls, lambda _: cls(), segment=Segment.USER, **options)

    return Contributing()
