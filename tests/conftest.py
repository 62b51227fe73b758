"""Rules of the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before anything imports LangChain: a test run reports to nobody.
os.environ.setdefault("LANGSMITH_TRACING", "false")

_ALLOWED = Path(__file__).parent / "allowed_skips.txt"


class SkipAudit:
    """A test that is skipped proves nothing; only those listed by name may be, the others fail the run."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self.allowed = allowed
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.found[report.nodeid] = str(report.longrepr[-1]) if isinstance(report.longrepr, tuple) else ""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._unexpected() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for node in self._unexpected():
            terminalreporter.line(
                f"skipped and not in {_ALLOWED.name}: {node} ({self.found[node]})", red=True
            )

    def _unexpected(self) -> list[str]:
        return sorted(node for node in self.found if node.split("[")[0] not in self.allowed)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    lines = _ALLOWED.read_text(encoding="utf-8").splitlines()
    allowed = frozenset(line for line in lines if line and not line.startswith("#"))
    config.pluginmanager.register(SkipAudit(allowed), "skip-audit")
