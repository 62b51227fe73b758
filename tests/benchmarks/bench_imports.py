"""What it takes to get going: heavy modules that are loaded, and milliseconds until a process is done."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from measure import Row, alternate

GROUP = "imports"
ROUNDS = 7

#: Packages that neither the import nor `--version` may load.
HEAVY = ("langchain", "langchain_core", "langgraph", "langsmith", "pydantic")
LIGHT = (*HEAVY, "cattrs", "click", "pluggy", "rich", "structlog")

_VERSION = (
    "import sys; sys.argv = ['deepagents-kernel', '--version']; from deepagents_kernel.cli.entry import main"
)
CASES = {
    "nothing": ("pass", ()),
    "import deepagents_kernel": ("import deepagents_kernel", HEAVY),
    "deepagents-kernel --version": (f"{_VERSION}\ntry: main()\nexcept SystemExit: pass", LIGHT),
    "from deepagents_kernel import create_deep_agent": (
        "from deepagents_kernel import create_deep_agent",
        None,
    ),
    "import langchain.agents": ("import langchain.agents", None),
}


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure; a row with the heavy packages found for each start that has to be light, then times."""
    for case, (code, forbidden) in CASES.items():
        if forbidden:
            found = loaded(code, forbidden)
            yield Row(GROUP, f"heavy packages: {case}", len(found), 0, detail={"loaded": found})
    samples = alternate({case: lambda code=code: _wall(code) for case, (code, _) in CASES.items()}, rounds)
    for case in CASES:
        took = [seconds * 1e3 for seconds in samples.rounds[case]]
        yield Row(GROUP, f"ms: {case}", statistics.median(took), None, min(took), max(took), min(took))


def loaded(code: str, packages: tuple[str, ...]) -> list[str]:
    """Which of *packages* a fresh interpreter has loaded after running *code*."""
    script = f"{code}\nimport sys, json; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    modules = set(json.loads(done.stderr))
    return [name for name in packages if name in modules]


def _wall(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start
