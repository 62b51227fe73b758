"""Measure several ways to do one thing against each other, on a machine that is not quiet."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

#: The side that the others are compared with, and the side that has a limit.
BASE = "bare"
OURS = "ours"

Clock = Callable[[], float]
Run = Callable[[], float]


@frozen
class Samples:
    """What each side took, round by round.

    Attributes:
        rounds: side to one value a round; value *n* of all sides was measured in round *n*.
    """

    rounds: Mapping[str, Sequence[float]]

    def median(self, side: str) -> float:
        return statistics.median(self.rounds[side])

    def ratios(self, side: str, base: str = BASE) -> list[float]:
        """Side over base within each round: what slows a whole round down cancels out."""
        return [one / other for one, other in zip(self.rounds[side], self.rounds[base], strict=True)]

    def ratio(self, side: str, base: str = BASE) -> float:
        return statistics.median(self.ratios(side, base))

    def best(self, side: str, base: str = BASE) -> float:
        """Ratio of the fastest rounds of both, which noise has disturbed least."""
        return min(self.rounds[side]) / min(self.rounds[base])


@frozen
class Row:
    """One line of the report.

    Attributes:
        group: the benchmark.
        case: what was measured.
        value: what is held against the limit.
        limit: the most that it may be; ``None`` for a line that only informs.
        low, high: spread of the value over the rounds.
        best: the value computed from the fastest rounds.
        detail: absolute numbers, by name.
    """

    group: str
    case: str
    value: float
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    best: float | None = None
    detail: Mapping[str, Any] = field(factory=dict)

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "-"
        return "ok" if self.value <= self.limit else "OVER"


def timed(work: Callable[[], Any], *, times: int = 1, clock: Clock = time.process_time) -> Run:
    """A measurement: seconds that one call of *work* takes, the garbage of others cleared away first."""

    def run() -> float:
        gc.collect()
        start = clock()
        for _ in range(times):
            work()
        return (clock() - start) / times

    return run


def alternate(sides: Mapping[str, Run], rounds: int) -> Samples:
    """Run all sides in turn, *rounds* times, after one round that doesn't count.

    Every other round goes backwards, so that no side always follows the same one.
    """
    for run in sides.values():
        run()
    found: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds):
        order = list(sides.items())
        for side, run in order if number % 2 == 0 else reversed(order):
            found[side].append(run())
    return Samples(found)


def ratio_row(group: str, case: str, samples: Samples, limit: float | None, unit: float = 1e3) -> Row:
    """Ours over bare, with every side's median in milliseconds (or another unit)."""
    ratios = samples.ratios(OURS)
    detail: dict[str, Any] = {side: round(samples.median(side) * unit, 3) for side in samples.rounds}
    others = [side for side in samples.rounds if side not in (BASE, OURS)]
    detail |= {f"{side} ratio": round(samples.ratio(side), 2) for side in others}
    return Row(
        group, case, samples.ratio(OURS), limit, min(ratios), max(ratios), samples.best(OURS), detail=detail
    )
