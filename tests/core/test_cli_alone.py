"""Whatever plugins print, raise or end: a result is alone on standard output, and success is no lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from command_line import GOOD, HEAD, CommandLine

LOUD = f"""{HEAD}
import atexit, os, subprocess, sys
STDOUT = sys.stdout

def shout(text):
    print(text)
    sys.__stdout__.write(text + " below\\n")
    sys.__stdout__.flush()
    os.write(1, (text + " as bytes\\n").encode())
    subprocess.run([sys.executable, "-c", f"print({{text!r}} + ' from a child')"])

atexit.register(shout, "at the exit")
shout("at import")

@hookimpl
def deepagents_middleware(context):
    shout("in a hook")
    return None
"""
JSON = [
    ("plan", "--json", "--no-tokens"),
    ("run", "x", "--model", "offline", "--workspace", ".", "--json"),
    ("plugins", "list", "--json"),
    ("plugins", "show", "loud", "--json"),
    ("settings", "--json"),
    ("doctor", "--json"),
    ("profiles", "list", "--json"),
    ("profiles", "explain", "openai:x", "--json"),
]


@pytest.fixture
def cli(tmp_path, monkeypatch):
    return CommandLine(tmp_path, monkeypatch)


def process(cli, *args):
    """A call in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "deepagents_kernel", *args],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=cli.project,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


# Standard output


@pytest.mark.parametrize("args", JSON, ids=lambda args: " ".join(args[:2]))
def test_json_is_alone_on_standard_output(cli, args):
    cli.install("backend.loud", LOUD)
    done = process(cli, *args)
    assert done.returncode == 0, done.stderr
    documents = done.stdout.splitlines() if args[0] == "run" else [done.stdout]
    assert all(isinstance(json.loads(text), dict) for text in documents)
    assert "at the exit" not in done.stdout
    if args[0] in ("plan", "run"):
        for where in ("at import", "in a hook", "at the exit"):
            for how in ("", " below", " as bytes", " from a child"):
                assert f"{where}{how}\n" in done.stderr


def test_json_is_alone_where_a_host_has_put_its_own_streams(cli):
    cli.install("backend.loud", f"{HEAD}@hookimpl\ndef deepagents_middleware(context):\n    print('hook')\n")
    before = sys.stdout
    result = cli("plan", "--json", "--no-tokens")
    assert json.loads(result.stdout)["format"] == 1
    assert "hook\n" in result.stderr
    assert sys.stdout is before


def test_json_is_written_without_a_standard_error(cli):
    cli.install("backend.quiet")
    code = f"exec {sys.executable} -m deepagents_kernel plugins list --json 2>&-"
    done = subprocess.run(
        ["sh", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=cli.project,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert "backend.quiet" in {row["name"] for row in json.loads(done.stdout)["plugins"]}


# The end of the process

ENDS = f"""{HEAD}
@hookimpl
def deepagents_middleware(context):
    raise SystemExit(0)
"""


def test_a_hook_that_ends_the_process_is_a_failure_of_the_command(cli):
    cli.install("backend.ends", ENDS)
    for args in (("plan",), ("plan", "--json"), ("run", "x", "--model", "offline", "--workspace", ".")):
        result = cli(*args)
        assert (result.exit_code, result.stdout) == (1, ""), args
        assert "SystemExit(0)" in result.stderr


class Odd(BaseException):
    """What is no Exception, and has no text."""

    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SystemExit(0), "something ended the process in the middle of the work: SystemExit(0)"),
        (SystemExit("bye"), "SystemExit('bye')"),
        (GeneratorExit("gone"), "GeneratorExit: gone"),
        (Odd(), "Odd (its text can't be shown)"),
    ],
)
def test_whatever_a_command_raises_is_a_message_and_exit_code_1(cli, monkeypatch, error, text):
    def discover(*_, **__):
        raise error

    monkeypatch.setattr("deepagents_kernel.kernel.Kernel.discover", discover)
    for args in (("plan",), ("--debug", "settings")):
        result = cli(*args)
        assert (result.exit_code, result.stdout) == (1, "")
        assert text in result.stderr


def test_a_command_of_a_plugin_ends_as_it_likes(cli):
    code = f"""{HEAD}
import click, sys

@click.command()
@click.argument("how")
def leave(how):
    sys.exit({{"none": None, "three": 3, "text": "no ink"}}[how])

@hookimpl
def deepagents_cli_commands():
    return leave
"""
    cli.install("bundle.leaver", code)
    assert [cli("leave", how).exit_code for how in ("none", "three", "text")] == [0, 3, 1]
    assert cli("leave", "text").stderr == "deepagents-kernel: no ink\n"


def test_a_plugin_that_ends_the_process_when_asked_for_commands_takes_only_its_own_away(cli):
    cli.install("bundle.ends", f"{HEAD}@hookimpl\ndef deepagents_cli_commands():\n    raise SystemExit(0)\n")
    result = cli("--help")
    assert result.exit_code == 0
    assert "doctor" in result.stdout
    assert "the commands of plugin bundle.ends are missing" in result.stderr


def test_a_tool_that_ends_the_process_is_a_run_that_failed(cli):
    code = f"""{HEAD}
from langchain.agents.middleware import AgentMiddleware
from deepagents_kernel import MiddlewareSpec, Segment

class Leaves(AgentMiddleware):
    def before_agent(self, state, runtime):
        raise SystemExit(0)

@hookimpl
def deepagents_middleware():
    return MiddlewareSpec("Leaves", Leaves, lambda _: Leaves(), segment=Segment.TAIL)
"""
    cli.install("middleware.leaves", code)
    result = cli("run", "x", "--model", "offline", "--workspace", ".", "--json")
    last = json.loads(result.stdout.splitlines()[-1])
    assert (result.exit_code, last["exit_code"], last["status"]) == (1, 1, "failed")
    assert "SystemExit" in last["error"]


# What is wrong with the environment


def break_package(cli):
    folder = cli.site / "broken_thing-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_bytes(b"[deepagents.plugins]\n\xff\xfe = \xff")
    (folder / "METADATA").write_text("Name: broken-thing\nVersion: 1.0\n", encoding="utf-8")


def fail(*_, **__):
    raise TypeError("Pair.__new__() missing 1 required positional argument: 'value'")


def test_an_unexpected_error_comes_with_what_can_not_be_read_of_the_environment(cli, monkeypatch):
    monkeypatch.setattr("deepagents_kernel.kernel.Kernel.discover", fail)
    result = cli("plan")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    break_package(cli)
    first, second, third = cli("plan").stderr.splitlines()
    assert "TypeError: Pair.__new__()" in first
    assert "broken_thing-1.0.dist-info can't be read: entry_points.txt" in second
    assert third == "  see: deepagents-kernel doctor"


def test_an_environment_that_can_not_be_looked_at_adds_nothing(cli, monkeypatch):
    monkeypatch.setattr("deepagents_kernel.kernel.Kernel.discover", fail)
    monkeypatch.setattr("deepagents_kernel.plugins.installed.scan", fail)
    result = cli("settings")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_in_a_process_that_error_is_no_traceback(cli):
    break_package(cli)
    cli.install("backend.good", GOOD)
    done = process(cli, "plan", "--json", "--no-tokens")
    assert "Traceback" not in done.stderr
    assert "broken_thing-1.0.dist-info" in done.stderr
