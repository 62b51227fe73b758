"""Run the command in this process, in folders of its own, with packages that only this test has installed."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

from click.testing import CliRunner

from deepagents_kernel.cli.app import app
from deepagents_kernel.testing import Distribution
from deepagents_kernel.testing.distributions import write_wheel

#: A plugin that can be loaded: its module, but for the imports.
HEAD = "from deepagents_kernel import PluginInfo, hookimpl\n"
GOOD = f"""{HEAD}
PLUGIN = PluginInfo(summary="Does good.")

@hookimpl
def deepagents_tools(context):
    return None
"""
REQUIRES = ("deepagents-kernel>=0.1",)


class CommandLine:
    """The command, in an empty project below a home folder.

    Attributes:
        home: the home folder; configuration and cache of the user are in it.
        project: the working directory.
        site: where packages are installed.
    """

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.home, self.project, self.site = (folder / name for name in ("home", "home/project", "site"))
        for path in (self.project, self.site):
            path.mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith("DEEPAGENTS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(self.home / "config"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.home / "cache"))
        monkeypatch.chdir(self.project)
        monkeypatch.syspath_prepend(str(self.site))
        self._wheels = folder / "wheels"

    def __call__(self, *args):
        return CliRunner().invoke(app, list(map(str, args)))

    def install(self, name, code=GOOD, *, package=None, version="1.0", requires=REQUIRES, optional=False):
        """Install a package with one plugin; its module is named after the plugin, and has to be new."""
        module = f"plugin_{name.replace('.', '_').replace('-', '_')}"
        sys.modules.pop(module, None)
        group = "deepagents.optional_plugins" if optional else "deepagents.plugins"
        made = Distribution(
            package or f"acme-{name.partition('.')[2]}",
            version=version,
            modules={f"{module}.py": code},
            entry_points={group: {name: module}},
            requires=requires,
        )
        with zipfile.ZipFile(write_wheel(self._wheels, made)) as wheel:
            wheel.extractall(self.site)
        return self.site / f"{module}.py"

    def configure(self, text, file="deepagents.toml"):
        """Write a configuration file of the project."""
        (self.project / file).write_text(text, encoding="utf-8")
        return self.project / file

    def configure_user(self, text):
        """Write the user's own configuration file."""
        path = self.home / "config" / "deepagents-kernel" / "deepagents.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def states(self, *args):
        """State and reason of every plugin that is installed here, as ``plugins list`` has them."""
        import json

        rows = json.loads(self(*args, "plugins", "list", "--json").stdout)["plugins"]
        return {row["name"]: (row["state"], row["why"]) for row in rows if not row["builtin"]}
