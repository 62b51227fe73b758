"""Distributions laid into a folder on ``sys.path``: found like installed ones, in the time of a unit test.

site = Site(tmp_path, monkeypatch)
site.add("deepagents-audit", {"middleware.audit": AUDIT})
kernel = site.kernel()
"""

from __future__ import annotations

import functools
import itertools
import sys
import zipfile
from pathlib import Path
from typing import Any

import tiny

from deepagents_kernel import Kernel
from deepagents_kernel.plugins.installed import scan
from deepagents_kernel.testing import Distribution
from deepagents_kernel.testing.distributions import write_wheel

_numbers = itertools.count()

#: A plugin that adds a middleware named after it.
MIDDLEWARE = """
from deepagents_kernel import MiddlewareSpec, Segment, hookimpl
from langchain.agents.middleware import AgentMiddleware

class {name}(AgentMiddleware):
    pass

@hookimpl
def deepagents_middleware():
    return MiddlewareSpec("{name}", {name}, lambda _: {name}(), segment=Segment.TAIL)
"""


def middleware(name: str) -> str:
    """Source of a plugin that adds a middleware of that name."""
    return MIDDLEWARE.format(name=name)


class Site:
    """A folder of distributions.

    Kernels find those and no others: a plugin that is installed where the tests run must not be in them.
    """

    def __init__(self, folder: Path, monkeypatch: Any) -> None:
        self.folder = folder / "site"
        self.folder.mkdir()
        self._wheels = folder / "wheels"
        self._wheels.mkdir()
        monkeypatch.syspath_prepend(str(self.folder))
        monkeypatch.setattr("deepagents_kernel.kernel.scan", functools.partial(scan, [str(self.folder)]))
        self._monkeypatch = monkeypatch
        for name in ("DEEPAGENTS_CONFIG", "DEEPAGENTS_PLUGINS_ENABLE", "DEEPAGENTS_PLUGINS_DISABLE"):
            monkeypatch.delenv(name, raising=False)

    def add(
        self,
        name: str,
        plugins: dict[str, str],
        *,
        version: str = "1.0",
        group: str = "deepagents.plugins",
        requires: tuple[str, ...] = (),
    ) -> dict[str, str]:
        """Lay a distribution into the folder.

        Args:
            name: the distribution.
            plugins: entry-point name to the source of its module; ``name:attribute`` picks an attribute.
            version: its version.
            group: the group of its entry points.
            requires: what it requires.

        Returns:
            Entry-point name to the name of its module.
        """
        modules, targets, names = {}, {}, {}
        for entry, source in plugins.items():
            entry_name, _, attribute = entry.partition(":")
            module = f"installed_{next(_numbers)}"
            modules[f"{module}.py"] = source
            targets[entry_name] = f"{module}:{attribute}" if attribute else module
            names[entry_name] = module
        self.lay(Distribution(name, version, modules, {group: targets}, requires))
        return names

    def lay(self, distribution: Distribution) -> None:
        """Lay any distribution into the folder."""
        with zipfile.ZipFile(write_wheel(self._wheels, distribution)) as wheel:
            wheel.extractall(self.folder)

    def kernel(self, plugins: Any = (), *, builtins: Any = None, **options: Any) -> Kernel:
        """A kernel of these distributions and a backend, without the built-ins."""
        return Kernel.discover(plugins, builtins=tiny.table(builtins), **options)

    @staticmethod
    def imported(module: str) -> bool:
        """Whether a module of a distribution was imported."""
        return module in sys.modules
