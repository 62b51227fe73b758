"""What installed plugins cost: listing many of them, and starting with a few of many switched on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from measure import BASE, OURS, Row, alternate, ratio_row

from deepagents_kernel.testing.distributions import Distribution, write_wheel

GROUP = "plugins"
ROUNDS = 15
LISTED, INSTALLED, ENABLED = 50, 100, 3

#: Packages that a listing may not load: none of them is needed to tell what is installed.
FORBIDDEN = (
    "langchain",
    "langchain_core",
    "langgraph",
    "cattrs",
    "structlog",
    "stevedore",
    "pluggy",
    "tomlkit",
)

_PLUGIN = """
from deepagents_kernel import MiddlewareSpec, hookimpl
from langchain.agents.middleware import AgentMiddleware

class Middleware{number}(AgentMiddleware):
    pass

@hookimpl
def deepagents_middleware():
    return MiddlewareSpec("Middleware{number}", Middleware{number}, lambda _: Middleware{number}())
"""
_PROFILE = """
from deepagents_kernel import HarnessProfile, hookimpl

@hookimpl
def deepagents_harness_profiles():
    return [("vendor-{number}:large", HarnessProfile(system_prompt_suffix="Mind number {number}."))]
"""
_COMMAND = "import sys; sys.argv[1:] = {arguments!r}; from deepagents_kernel.cli.entry import main; main()"
_LIST = _COMMAND.format(arguments=["plugins", "list"])
_FLOOR = "import importlib.metadata, click, rich"
_START = "from deepagents_kernel import get_kernel; get_kernel()"


def install(folder: Path, count: int, source: str = _PLUGIN, kind: str = "middleware") -> Path:
    """A folder with that many distributions, one plugin each."""
    site = folder / f"{kind}-{count}"
    site.mkdir()
    for number in range(count):
        module = f"benchmarked_{number}"
        distribution = Distribution(
            f"deepagents-benchmarked-{number}",
            "1.0",
            {f"{module}.py": source.format(number=number)},
            {"deepagents.plugins": {f"{kind}.benchmarked-{number}": module}},
            ("deepagents-kernel>=0.0.1",),
        )
        with zipfile.ZipFile(write_wheel(folder, distribution)) as wheel:
            wheel.extractall(site)
    return site


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure both, each against its floor in alternation."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed, few, many = install(folder, LISTED), install(folder, ENABLED), install(folder, INSTALLED)
        environment = _environment(folder, listed)
        found = _loaded(environment)
        yield Row(
            GROUP,
            f"heavy packages: plugins list, {LISTED} installed",
            len(found),
            0,
            detail={"loaded": found},
        )
        samples = alternate(
            {BASE: lambda: _busy(_FLOOR, environment), OURS: lambda: _busy(_LIST, environment)}, rounds
        )
        yield ratio_row(GROUP, f"plugins list, {LISTED} installed / imports", samples, 2.0)
        chosen = ",".join(f"benchmarked-{number}" for number in range(ENABLED))
        selected = {"DEEPAGENTS_PLUGINS_AUTOLOAD": "0", "DEEPAGENTS_PLUGINS_ENABLE": chosen}
        small, large = _environment(folder, few) | selected, _environment(folder, many) | selected
        samples = alternate({BASE: lambda: _busy(_START, small), OURS: lambda: _busy(_START, large)}, rounds)
        yield ratio_row(GROUP, f"start, {INSTALLED} installed / {ENABLED} installed", samples, 1.2)
        none = _environment(folder, install(folder, 0))
        profiles = _environment(folder, install(folder, INSTALLED, _PROFILE, "harness"))
        samples = alternate(
            {BASE: lambda: _busy(_START, none), OURS: lambda: _busy(_START, profiles)}, rounds
        )
        yield ratio_row(GROUP, f"start, {INSTALLED} profile packages / none", samples, 2.0)


def _environment(folder: Path, site: Path) -> dict[str, str]:
    paths = [str(site), *(path for path in sys.path if path)]
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    return {**os.environ, **home, "PYTHONPATH": os.pathsep.join(paths)}


def _loaded(environment: dict[str, str]) -> list[str]:
    code = f"import sys, atexit\natexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\n{_LIST}"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    return [package for package in FORBIDDEN if package in done.stderr.split()]


def _busy(code: str, environment: dict[str, str]) -> float:
    """Seconds of processor time of a process: the rest of the machine shows less than in real time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        env=environment,
        cwd=environment["HOME"],
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
