"""What a turn costs: one ``write_file`` call with 500 characters, in runs of 50 to 1000 turns."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import agents
from measure import BASE, OURS, Row, Run, alternate, ratio_row

GROUP = "turn"
LIMITS = {50: 1.5, 200: 1.35, 500: 1.35, 1000: 1.35}
#: Few rounds of long runs: each is an average over many turns already.
ROUNDS = {50: 11, 200: 7, 500: 5, 1000: 3}


def rows(rounds: int | None = None) -> Iterator[Row]:
    """Measure; a row for each length."""
    for turns, limit in LIMITS.items():
        sides = {
            BASE: _per_turn(lambda model: agents.bare(model, [agents.write_file]), turns),
            OURS: _per_turn(agents.ours, turns),
        }
        if agents.HAS_DEEPAGENTS:
            sides["deepagents"] = _per_turn(agents.deepagents, turns)
        samples = alternate(sides, rounds or ROUNDS[turns])
        yield ratio_row(GROUP, f"{turns} turns, ms a turn", samples, limit)


def _per_turn(create: Callable[[Any], Any], turns: int) -> Run:
    def run() -> float:
        model = agents.Writer(turns=turns)
        agent = create(model).with_config({"recursion_limit": agents.RECURSION_LIMIT})
        gc.collect()
        start = time.process_time()
        result = agent.invoke({"messages": [("user", "go")]})
        took = time.process_time() - start
        assert (model.made, len(result["messages"])) == (turns + 1, 2 * turns + 2), "another run than planned"
        return took / turns

    return run
