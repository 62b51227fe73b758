"""What it takes to make an agent: ours with 0 to 130 sub-agents, a bare one as large as our main stack."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import agents
from measure import BASE, OURS, Row, Samples, alternate, ratio_row, timed

from deepagents_kernel.assembly.tools import stack_tool_names

GROUP = "construct"
LIMITS = {0: 1.3, 10: 1.5, 30: 2.1}
MANY = 130
LIMIT_EACH = 0.03
ROUNDS = 15


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure; a row for each number of sub-agents, and one for what a further one adds."""
    model = agents.Writer()
    stack = agents.main_stack(model)
    tools = agents.plain_tools(len(stack_tool_names(stack)))
    layers = agents.layers(len(stack.entries))
    mirror = [agents.mirrored(entry.instance) for entry in stack.entries]

    sides = {
        BASE: timed(lambda: agents.bare(model, tools, layers), times=3),
        "mirrored": timed(lambda: agents.bare(model, tools, mirror), times=3),
    }
    for count in (*LIMITS, MANY):
        sides[f"{OURS} {count}"] = _made(agents.ours, model, count)
        if agents.HAS_DEEPAGENTS and count in LIMITS:
            sides[f"deepagents {count}"] = _made(agents.deepagents, model, count)
    samples = alternate(sides, rounds)

    for count, limit in LIMITS.items():
        chosen = {BASE: samples.rounds[BASE], OURS: samples.rounds[f"{OURS} {count}"]}
        if f"deepagents {count}" in samples.rounds:
            chosen["deepagents"] = samples.rounds[f"deepagents {count}"]
        case = f"{count} sub-agents ({len(tools)} tools, {len(layers)} layers)"
        yield ratio_row(GROUP, case, Samples(chosen), limit)
    yield _each_further(samples)
    strict = Samples({BASE: samples.rounds["mirrored"], OURS: samples.rounds[f"{OURS} 0"]})
    yield ratio_row(GROUP, "0 sub-agents, against layers with our hooks only", strict, None)


def _made(create: Any, model: Any, count: int) -> Any:
    specs = [
        {"name": f"helper{number}", "description": "Helps.", "system_prompt": "You help."}
        for number in range(count)
    ]
    return timed(lambda: create(model, subagents=specs), times=3 if create is agents.ours else 1)


def _each_further(samples: Samples) -> Row:
    few, many = max(LIMITS), MANY
    each = [
        (large - small) / (many - few)
        for small, large in zip(
            samples.rounds[f"{OURS} {few}"], samples.rounds[f"{OURS} {many}"], strict=True
        )
    ]
    ratios = [one / base for one, base in zip(each, samples.rounds[BASE], strict=True)]
    best = min(samples.rounds[f"{OURS} {many}"]) - min(samples.rounds[f"{OURS} {few}"])
    return Row(
        GROUP,
        f"each further sub-agent ({few} to {many})",
        statistics.median(ratios),
        LIMIT_EACH,
        min(ratios),
        max(ratios),
        best / (many - few) / min(samples.rounds[BASE]),
        detail={OURS: round(statistics.median(each) * 1e3, 3)},
    )
