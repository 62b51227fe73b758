"""Commands that load plugins: the kernel of a call, the cache of loads, ``show`` in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from command_line import GOOD, HEAD, CommandLine

from deepagents_kernel import get_kernel
from deepagents_kernel.plugins.loadcache import read_cache

FULL = f"""{HEAD}
from attrs import field, frozen

@frozen
class Settings:
    keep: int = 100
    api_key: str = "hidden"
    names: tuple[str, ...] = field(default=("a",))

PLUGIN = PluginInfo(
    summary="Keeps \\x1b[2J things.",
    settings=Settings,
    serves=("keeping",),
    requires=("backend.other",),
    conflicts=("backend.enemy",),
)

@hookimpl
def deepagents_tools(context):
    return None

@hookimpl(optionalhook=True)
def deepagents_of_nobody(context):
    return None
"""
WATCHED = "from pathlib import Path\nPath({!r}).touch()\n"


@pytest.fixture
def cli(tmp_path, monkeypatch):
    return CommandLine(tmp_path, monkeypatch)


def one_line(text):
    return " ".join(text.split())


# The kernel of a call


def test_a_plugin_that_fails_is_one_line_and_the_command_goes_on(cli, recwarn):
    cli.install("backend.good")
    cli.install("backend.bad", "import not_to_be_found")
    cli.install("backend.old", "raise 1", requires=("deepagents-kernel<0.1",))
    result = cli("plan", "--no-tokens")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("deepagents-kernel: warning: plugin backend.bad (acme-bad 1.0, ")
    assert "ModuleNotFoundError: No module named 'not_to_be_found'; install 'not_to_be_found'" in lines[0]
    assert "plugin backend.old" in lines[1]
    assert [item for item in recwarn if "backend" in str(item.message)] == []


def test_how_loading_went_is_remembered(cli):
    cli.install("backend.good")
    cli.install("backend.bad", "import not_to_be_found")
    cli.install("backend.off", "raise 1")
    assert "- installed" in one_line(cli("plugins", "list").stdout)
    cli("plan", "--no-tokens", "-p", "no:off")
    found = read_cache()
    assert set(found) == {"backend.good", "backend.bad"}
    assert (found["backend.good"].provides, found["backend.good"].error) == (("tools",), "")
    assert "not_to_be_found" in found["backend.bad"].error
    states = cli.states()
    assert states["backend.good"][0] == "enabled"
    assert states["backend.bad"] == (
        "failed",
        "ModuleNotFoundError: No module named 'not_to_be_found' (at its last load)",
    )


def test_what_a_plugin_prints_is_not_part_of_the_result(cli):
    cli.install("backend.loud", "print('listen')\n" + GOOD)
    result = cli("plan", "--json", "--no-tokens")
    assert json.loads(result.stdout)["format"] == 1
    assert "listen" in result.stderr


def test_a_command_of_a_plugin_runs_with_the_kernel_of_the_call(cli, monkeypatch):
    code = f"""{HEAD}
import click
from deepagents_kernel import get_kernel

@hookimpl
def deepagents_cli_commands():
    @click.command()
    def tell():
        click.echo(sorted(record.name for record in get_kernel().plugins if not record.builtin))
    return tell
"""
    cli.install("bundle.teller", code)
    cli.install("backend.good")
    assert cli("tell").stdout == "['backend.good', 'bundle.teller']\n"
    assert cli("-p", "no:good", "tell").stdout == "['bundle.teller']\n"
    assert "no command named 'tell'" in cli("-p", "no:teller", "tell").stderr
    assert "tell" in cli("--help").stdout
    for args in (("-p", "no:teller", "--help"), ("--help", "-p", "no:teller")):
        assert "tell" not in cli(*args).stdout
    # Nothing of it stays behind.
    assert "bundle.teller" not in get_kernel_names(monkeypatch, cli)


def get_kernel_names(monkeypatch, cli):
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_DISABLE", "bundle.teller")
    return [record.name for record in get_kernel().plugins]


def test_commands_of_plugins_are_missing_where_no_kernel_can_be_built(cli):
    cli.configure('[plugins]\nenable = ["gone"]\n')
    result = cli("--help")
    assert result.exit_code == 0
    assert "doctor" in result.stdout
    assert "the commands of plugins are missing: no plugin named 'gone'" in result.stderr


def test_settings_and_switches_of_the_file_reach_the_run(cli):
    (cli.project / "work").mkdir()
    cli.configure('[plugins]\ndisable = ["offline"]\n')
    result = cli("run", "x", "--model", "offline", "--workspace", "work")
    assert result.exit_code == 2
    assert cli("run", "x", "--model", "offline", "--workspace", "work", "-p", "offline").exit_code == 0


def test_a_server_of_ones_own_changes_nothing_about_the_plugins(cli, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    (cli.project / "work").mkdir()
    run = ("run", "x", "--model", "openai:gpt-5.4", "--base-url", "http://127.0.0.1:1", "--workspace", "work")
    assert "no connection to http://127.0.0.1:1" in cli(*run).stderr
    cli.configure('[plugins]\ndisable = ["init-chat-model"]\n')
    result = cli(*run)
    assert result.exit_code == 2
    assert "no connection" not in result.stderr


def test_configuration_in_the_workspace_is_read_only_if_it_is_trusted(cli):
    work = cli.project / "work"
    work.mkdir()
    (work / "deepagents.toml").write_text('[plugins]\ndisable = ["offline"]\n', encoding="utf-8")
    run = ("run", "x", "--model", "offline", "--workspace", work)
    os.chdir(work)
    result = cli(*run)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("\n") == 1
    assert "not read: deepagents.toml" in result.stderr
    assert "--trust-workspace" in result.stderr
    assert cli(*run, "--trust-workspace").exit_code == 2
    assert "not read" in cli("plan", "--no-tokens", "--workspace", work).stderr
    assert cli("plan", "--model", "scripted:x", "--workspace", work, "--trust-workspace").exit_code == 2


def test_a_working_directory_that_is_gone_is_no_matter(cli):
    gone = cli.project / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert cli("plugins", "list").exit_code == 0


# Nothing is imported


@pytest.mark.parametrize(
    "args",
    [
        ("--version",),
        ("plugins",),
        ("plugins", "list"),
        ("plugins", "explain", "trap"),
        ("plugins", "disable", "trap"),
        ("plugins", "enable", "trap"),
        ("plugins", "lock"),
        ("plugins", "verify"),
        ("plugins", "lst"),
        ("doctor",),
        ("doctor", "--json"),
    ],
)
def test_recovery_imports_no_third_party(cli, tmp_path, args):
    marker = tmp_path / "imported"
    cli.install("backend.trap", WATCHED.format(str(marker)) + "raise SystemExit(9)")
    cli.install("bundle.worse", WATCHED.format(str(marker)) + "import os; os._exit(9)")
    result = cli(*args)
    assert result.exit_code in {0, 1, 2}
    assert not marker.exists()
    assert "plugin_backend_trap" not in sys.modules


# show


def test_show_says_what_a_plugin_brings(cli):
    cli.install("backend.full", FULL, version="3.2")
    cli.install("backend.other")
    result = cli("plugins", "show", "full")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [one_line(line) for line in result.stdout.splitlines()]
    assert lines[0] == "backend.full: Keeps \N{REPLACEMENT CHARACTER}[2J things."
    for line in (
        "state enabled: installed",
        "from acme-full 3.2",
        "needs deepagents-kernel>=0.1",
        "provides tools, inert: of_nobody",
        "serves keeping",
        "requires backend.other",
        "conflicts backend.enemy",
        "hooks deepagents_tools",
        "inert deepagents_of_nobody",
        "settings keep: int = 100",
        "api_key: str = '[redacted]'",
        "names: tuple[str, ...] = ('a',)",
    ):
        assert line in lines
    assert any(line.startswith("load done after 0.") for line in lines)
    assert "plugin_backend_full" not in sys.modules
    found = read_cache()["backend.full"]
    assert (found.version, found.error) == ("3.2", "")
    assert found.seconds > 0


def test_show_as_json(cli):
    cli.install("backend.good")
    (found,) = json.loads(cli("plugins", "show", "good", "--json").stdout)["plugins"]
    assert (found["name"], found["load"]["error"], found["load"]["hooks"]) == (
        "backend.good",
        "",
        ["deepagents_tools"],
    )
    assert found["load"]["summary"] == "Does good."


def test_show_as_json_of_a_plugin_that_fails(cli):
    cli.install("backend.bad", "import not_to_be_found")
    (found,) = json.loads(cli("plugins", "show", "bad", "--json").stdout)["plugins"]
    assert (found["state"], found["why"]) == ("failed", found["load"]["error"])
    assert "not_to_be_found" in found["why"]


def test_show_a_built_in(cli):
    text = cli("plugins", "show", "subagents").stdout
    assert "declares  deepagents_subagents" in text
    assert "max_depth: int = 1" in text
    assert read_cache() == {}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import not_to_be_found", "ModuleNotFoundError: No module named 'not_to_be_found'"),
        ("import os; os._exit(7)", "it ended the process that imported it, with exit code 7"),
        ("raise SystemExit('enough')", "it ended the process that imported it: SystemExit('enough')"),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", "crashed (SIGSEGV)"),
        (f"{HEAD}@hookimpl\ndef deepagents_tolls(): pass", "there is no hook deepagents_tolls"),
        (f"{HEAD}PLUGIN = 1", "PLUGIN must be a PluginInfo"),
        ("import os; os.close(1); os.close(2); raise ValueError('in the dark')", "ValueError: in the dark"),
    ],
)
def test_show_survives_whatever_a_plugin_does(cli, code, reason):
    cli.install("backend.bad", code)
    result = cli("plugins", "show", "bad")
    assert (result.exit_code, result.stderr) == (1, "")
    assert reason in one_line(result.stdout)
    assert "state failed: see load (otherwise enabled: installed)" in one_line(result.stdout)
    assert "backend.bad" in result.stdout
    assert reason.rpartition("'")[0] in read_cache()["backend.bad"].error
    assert cli.states()["backend.bad"][0] == "failed"


def test_show_ends_a_plugin_that_hangs_with_what_it_started(cli, tmp_path):
    child = "import subprocess, sys, time\nprint('waiting', flush=True)\n"
    child += "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    child += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(started.pid))\ntime.sleep(600)\n"
    cli.install("backend.bad", child)
    result = cli("plugins", "show", "bad", "--timeout", "6")
    assert result.exit_code == 1
    text = one_line(result.stdout)
    assert "importing it was not done after 6 s, and was stopped" in text
    assert "output waiting" in text
    assert not is_running(int((tmp_path / "pid").read_text(encoding="utf-8")))


def is_running(pid):
    for _ in range(100):
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            if status.rpartition(")")[2].split()[0] == "Z":
                return False
        except FileNotFoundError:
            return False
        time.sleep(0.05)
    return True


def test_what_a_plugin_leaves_for_the_end_of_its_process_is_not_waited_for(cli, tmp_path):
    marker = tmp_path / "ended"
    late = f"import atexit, pathlib\natexit.register(pathlib.Path({str(marker)!r}).touch)\n"
    cli.install("backend.busy", late + GOOD)
    result = cli("plugins", "show", "busy")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "load      done after" in result.stdout
    assert not marker.exists()


def test_a_flood_of_output_is_kept_short(cli):
    cli.install("backend.bad", "print('x' * 5_000_000)\nprint('the end')\n" + GOOD)
    result = cli("plugins", "show", "bad")
    assert result.exit_code == 0
    assert "the end" in result.stdout
    assert len(result.stdout) < 20_000


def test_show_does_not_import_what_must_not_be(cli, tmp_path):
    marker = tmp_path / "imported"
    trap = WATCHED.format(str(marker))
    cli.install("backend.old", trap, requires=("deepagents-kernel<0.1",))
    cli.install("backend.blocked", trap)
    cli.configure('[plugins]\nallow = ["deepagents-kernel", "old"]\n')
    for name, reason in (("old", "needs deepagents-kernel<0.1"), ("blocked", "not in allow")):
        result = cli("plugins", "show", name)
        assert result.exit_code == 1
        assert f"not loaded {reason}" in one_line(result.stdout)
    cli.configure("")
    cli.install("backend.locked", trap)
    cli("plugins", "lock")
    cli.install("backend.locked", trap + "#")
    for args in ((), ("-p", "no:locked")):
        assert "not loaded not as in" in one_line(cli("plugins", "show", "locked", *args).stdout)
    assert not marker.exists()


def test_show_imports_what_is_off_and_tells(cli):
    cli.install("backend.off", optional=True)
    result = cli("plugins", "show", "off")
    assert result.exit_code == 0
    assert "state     discovered: off by default" in result.stdout


def test_show_uses_what_is_deprecated(cli):
    warn = "import warnings\nwarnings.warn('the old way', DeprecationWarning)\n"
    cli.install("backend.aged", warn + GOOD)
    assert "deprecated  the old way" in cli("plugins", "show", "aged").stdout


def test_show_takes_a_whole_package(cli):
    cli.install("backend.one", package="acme-all")
    assert cli("plugins", "show", "acme-all").stdout.startswith("backend.one: Does good.")
    result = cli("plugins", "show", "nobody")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_timeout_has_to_be_positive(cli):
    result = cli("plugins", "show", "offline", "--timeout", "0")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--timeout" in result.stderr
