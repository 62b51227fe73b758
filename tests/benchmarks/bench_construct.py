"""What it takes to make an agent: ours with 0 to 130 sub-agents against a bare one as large as our main stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import agents
from deepagents_kernel.assembly.tools import stack_tool_names
from measure import BASE, OURS, Row, alternate, ratio_row, timed

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
    layers = [agents.pass_through(entry.instance) for entry in stack.entries]
    base = timed(lambda: agents.bare(model, tools, layers), times=3)

    sides = {BASE: base}
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
        yield ratio_row(GROUP, case, type(samples)(chosen), limit)
    yield _each_further(samples)


def _made(create: Any, model: Any, count: int) -> Any:
    specs = [
        {"name": f"helper{number}", "description": "Helps.", "system_prompt": "You help."}
        for number in range(count)
    ]
    return timed(lambda: create(model, subagents=specs), times=3 if create is agents.ours else 1)


def _each_further(samples: Any) -> Row:
    few, many = max(LIMITS), MANY
    each = [
        (large - small) / (many - few)
        for small, large in zip(
            samples.rounds[f"{OURS} {few}"], samples.rounds[f"{OURS} {many}"], strict=True
        )
    ]
    ratios = [one / base for one, base in zip(each, samples.rounds[BASE], strict=True)]
    middle = type(samples)({OURS: ratios}).median(OURS)
    best = min(samples.rounds[f"{OURS} {many}"]) - min(samples.rounds[f"{OURS} {few}"])
    return Row(
        GROUP,
        f"each further sub-agent ({few} to {many})",
        middle,
        LIMIT_EACH,
        min(ratios),
        max(ratios),
        best / (many - few) / min(samples.rounds[BASE]),
        detail={OURS: round(type(samples)({OURS: each}).median(OURS) * 1e3, 3)},
    )
