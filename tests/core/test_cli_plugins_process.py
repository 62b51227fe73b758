"""Commands about plugins as processes: what they import, a real environment, a narrow terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from command_line import GOOD, REQUIRES, CommandLine

from deepagents_kernel.cli.output import Output
from deepagents_kernel.testing import Distribution, PluginEnvironment

HEAVY = {
    "cattrs",
    "deepagents_kernel.kernel",
    "langchain",
    "langchain_core",
    "langgraph",
    "pluggy",
    "pydantic",
    "rich.console",
    "stevedore",
    "structlog",
    "tomlkit",
}
CODE = """\
import json, sys
from deepagents_kernel.cli.app import app
code = app.run(sys.argv[1:])
sys.stderr.write(json.dumps([int(code), sorted(sys.modules)]))
"""


@pytest.fixture
def cli(tmp_path, monkeypatch):
    return CommandLine(tmp_path, monkeypatch)


def modules_after(cli, *args):
    """Exit code of a call in a fresh process, and what is imported after it."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *args],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=cli.project,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize(
    "args", [("plugins", "list"), ("plugins", "list", "--json"), ("plugins", "explain", "acme"), ("doctor",)]
)
def test_recovery_imports_nothing_heavy_and_no_plugin(cli, args):
    cli.install("backend.acme", "raise SystemExit(9)")
    cli.configure('[plugins]\ndisable = ["offline"]\n')
    code, names = modules_after(cli, *args)
    assert code == 0
    assert sorted(names & HEAVY) == []
    assert not any(name.startswith(("plugin_", "deepagents_builtin.")) for name in names)


def test_plugins_of_a_real_environment_from_installation_to_removal(tmp_path):
    environment = PluginEnvironment(tmp_path / "env")
    made = Distribution(
        "acme-notes",
        version="1.2",
        modules={"acme_notes.py": GOOD},
        entry_points={"deepagents.plugins": {"middleware.notes": "acme_notes"}},
        requires=REQUIRES,
    )
    environment.install(made)

    def call(*args, code=0):
        done = environment.cli(*args, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return " ".join(done.stdout.split())

    assert "middleware.notes enabled acme-notes 1.2 - installed" in call("plugins", "list")
    assert "middleware.notes: Does good." in call("plugins", "show", "notes")
    assert "middleware.notes enabled acme-notes 1.2 tools installed" in call("plugins", "list")
    assert "1 plugin locked" in call("plugins", "lock")
    assert "1 plugin as locked" in call("plugins", "verify")
    environment.install(
        Distribution(
            made.name,
            version="1.3",
            modules=made.modules,
            entry_points=made.entry_points,
            requires=made.requires,
        )
    )
    assert "it is version 1.3, and 1.2 is locked" in call("plugins", "verify", code=1)
    assert "middleware.notes blocked acme-notes 1.3" in call("plugins", "list")
    call("plugins", "lock")
    assert "middleware.notes is disabled" in call("plugins", "disable", "notes")
    assert "middleware.notes disabled acme-notes 1.3" in call("plugins", "list")
    environment.uninstall("acme-notes")
    assert "it is locked (acme-notes 1.3) and not installed" in call("plugins", "verify", code=1)
    assert "middleware.notes" in environment.cli("plugins", "list").stderr


# A terminal of 80 columns

LONG = "middleware.with-a-name-that-leaves-little-room-for-others"


@pytest.mark.parametrize(
    "args",
    [
        ("plugins", "list"),
        ("plugins", "explain", LONG),
        ("plugins", "show", "subagents"),
        ("settings",),
        ("doctor",),
    ],
)
def test_in_80_columns_no_line_is_longer_and_no_name_is_cut(cli, monkeypatch, args):
    cli.install(LONG, package="acme-tools", requires=())
    cli.configure('[plugin."model.init-chat-model"]\noptions = { a = "' + "x" * 200 + '" }\n')
    monkeypatch.setattr(Output, "width", 80)
    result = cli(*args)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    if args[-1] in ("list", LONG):
        assert LONG in result.stdout
