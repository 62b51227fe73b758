"""Run benchmarks and print one table.

python tests/benchmarks/run.py [imports|plugins|construct|planning|profiles|turn|http ...]
                               [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

# Tracing would be measured along, and would send what is measured.
os.environ["LANGSMITH_TRACING"] = "false"

from attrs import asdict
from measure import Row

GROUPS = ("imports", "plugins", "construct", "planning", "profiles", "turn", "http")
_LINE = "{:<10} {:<46} {:>7} {:>6} {:>15} {:>7}  {:<5} {}"


def main() -> int:
    """Run what the command line names, everything by default; exit with 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description="Benchmarks with limits.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"any of: {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, help="repetitions of each measurement; the default differs")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"unknown group: {', '.join(sorted(unknown))}; there are: {', '.join(GROUPS)}")

    rows: list[Row] = []
    _show(_LINE.format("group", "case", "value", "limit", "spread", "best", "", "medians"))
    for group in options.groups or GROUPS:
        for row in _rows(group, options.rounds):
            _show(_line(row))
            rows.append(row)
    if options.json:
        options.json.write_text(
            json.dumps([{**asdict(row), "verdict": row.verdict} for row in rows], indent=2), encoding="utf-8"
        )
    return 1 if any(row.verdict == "OVER" for row in rows) else 0


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _rows(group: str, rounds: int | None) -> Iterable[Row]:
    module = importlib.import_module(f"bench_{group}")
    found: Iterable[Row] = module.rows() if rounds is None else module.rows(rounds)
    return found


def _line(row: Row) -> str:
    spread = "" if row.low is None else f"{row.low:.3g} .. {row.high:.3g}"
    best = "" if row.best is None else f"{row.best:.3g}"
    limit = "" if row.limit is None else f"{row.limit:g}"
    detail = ", ".join(f"{name} {value}" for name, value in row.detail.items())
    return _LINE.format(row.group, row.case, f"{row.value:.3g}", limit, spread, best, row.verdict, detail)


if __name__ == "__main__":
    sys.exit(main())
