"""The command as a process of its own: start-up, terminal, signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOTS = os.pathsep.join(str(Path(path)) for path in sys.path if path and Path(path).is_dir())
HEAVY = (
    "click",
    "rich",
    "langchain",
    "langchain_core",
    "langgraph",
    "pydantic",
    "pluggy",
    "structlog",
    "asyncio",
)


def command(*args, **env):
    variables = {
        key: value for key, value in os.environ.items() if not key.startswith(("DEEPAGENTS_", "NO_COLOR"))
    }
    return {
        "args": [sys.executable, "-m", "deepagents_kernel", *map(str, args)],
        "env": {**variables, "PYTHONPATH": ROOTS, **env},
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }


def call(*args, **env):
    return subprocess.run(**command(*args, **env), text=True, encoding="utf-8", timeout=120, check=False)


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    for name, text in (
        ("tides.md", "# Tides\n\nHigh water is at noon.\n"),
        ("boats.md", "# Boats\n\nThree are out.\n"),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_version_imports_nothing_heavy():
    result = call("--version", PYTHONPROFILEIMPORTTIME="1")
    assert (result.returncode, result.stdout) == (0, "deepagents-kernel 0.1.0\n")
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()}
    assert "deepagents_kernel" in imported
    assert imported.isdisjoint(HEAVY), imported & set(HEAVY)


def test_a_wrong_word_and_help_import_no_agent_framework():
    for args in (("rnu",), ("--help",)):
        result = call(*args, PYTHONPROFILEIMPORTTIME="1")
        imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()}
        assert imported.isdisjoint({"langchain", "langchain_core", "langgraph"})


def test_a_run_from_start_to_end(workspace):
    result = call("run", "Summarise this folder", "--model", "offline", "--workspace", workspace)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "> " in result.stdout
    assert "done after" in result.stdout


@pytest.mark.parametrize(
    ("env", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)]
)
def test_colour_on_a_terminal_unless_no_color_is_set(env, coloured):
    # A misspelt command: its error is written in colour.
    main, other = pty.openpty()
    result = subprocess.run(
        **{**command("rnu", **env), "stdout": other, "stderr": other}, timeout=60, check=False
    )
    os.close(other)
    shown = os.read(main, 65536)
    os.close(main)
    assert result.returncode == 2
    assert b"nearest: run" in shown
    assert (b"\x1b[31m" in shown) is coloured


def test_without_a_terminal_there_is_no_escape(workspace):
    result = call("run", "Summarise", "--model", "offline", "--workspace", workspace)
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr


def test_a_plan_is_the_same_in_every_process():
    found = {call("plan", "--json", "--no-tokens", PYTHONHASHSEED=str(seed)).stdout for seed in (1, 2)}
    assert len(found) == 1
    assert json.loads(found.pop())["fingerprint"]


def test_an_encoding_that_lacks_characters_does_not_end_the_run(workspace):
    (workspace / "höhe.md").write_text("# Höhe\n", encoding="utf-8")
    result = call(
        "run", "Summarise", "--model", "offline", "--workspace", workspace, PYTHONIOENCODING="ascii"
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("args", [("plan", "--json"), ("run", "x", "--model", "offline", "--workspace")])
def test_a_reader_that_leaves_ends_it_quietly(workspace, args):
    folder = [workspace] if args[-1] == "--workspace" else []
    with subprocess.Popen(**command(*args, *folder)) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


SLOW = """
import os
import time
from pathlib import Path

from langchain_core.tools import tool

from deepagents_kernel import Kernel, hookimpl
from deepagents_kernel.cli.call import Call
from deepagents_kernel.cli.entry import main
from deepagents_kernel.testing.scripted import ScriptedChatModel

FIRST = ("write_file", {"file_path": "/made.txt", "content": "x"})


def work(*_):
    Path(os.environ["AT_WORK"]).touch()
    time.sleep(600)


SECOND = {"model": work, "tool": ("wait", {})}


@tool
def wait() -> str:
    'Wait.'
    work()


class Slow:
    @hookimpl
    def deepagents_resolve_model(self, spec):
        return ScriptedChatModel([FIRST, SECOND[spec]])

    @hookimpl
    def deepagents_tools(self):
        return wait


kernel = Kernel(plugins={"model.slow": Slow()})
Call.kernel = lambda self, workspace=None: kernel
main()
"""


@pytest.mark.parametrize(("at_work", "flags"), [("model", ()), ("tool", ()), ("tool", ("--json",))])
def test_ctrl_c_ends_a_run_at_once(workspace, tmp_path, at_work, flags):
    script = tmp_path / "slow.py"
    script.write_text(SLOW, encoding="utf-8")
    begun = tmp_path / "begun"
    run = ("run", "x", "--model", at_work, "--workspace", workspace, *flags)
    options = command(*run, AT_WORK=str(begun))
    options["args"][1:3] = [str(script)]
    with subprocess.Popen(**options, encoding="utf-8") as process:
        while not begun.exists() and process.poll() is None:
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert err == ""
    if flags:
        last = json.loads(out.splitlines()[-1])
        assert (last["status"], last["exit_code"], last["files"]["created"]) == (
            "interrupted",
            130,
            ["made.txt"],
        )
    else:
        assert "> write_file(" in out
        assert "interrupted after" in out
        assert "created: made.txt" in out
