"""``settings``: every value with its origin, secrets hidden, what is set in vain listed apart."""

from __future__ import annotations

import json

import pytest
from command_line import HEAD, CommandLine

CODE = f"""{HEAD}
from attrs import frozen, field

@frozen
class Settings:
    keep: int = 100
    api_key: str = ""
    where: str = ""
    options: dict = field(factory=dict)

PLUGIN = PluginInfo(settings=Settings)

@hookimpl
def deepagents_tools(context):
    return None
"""


@pytest.fixture
def cli(tmp_path, monkeypatch):
    return CommandLine(tmp_path, monkeypatch)


def found(cli, *args):
    document = json.loads(cli(*args, "settings", "--json").stdout)
    return {f"{row['plugin']}.{row['key']}": (row["value"], row["where"]) for row in document["settings"]}


@pytest.mark.spec("BY-086")
def test_every_setting_has_its_value_and_who_set_it(cli, monkeypatch):
    cli.install("backend.set", CODE)
    cli.configure_user('[plugin."middleware.filesystem"]\nread_limit = 5\ngrep_max_count = 6\n')
    cli.configure('[plugin."middleware.filesystem"]\n\nread_limit = 7\n[kernel]\nrecursion_limit = 50\n')
    monkeypatch.setenv("DEEPAGENTS_PLUGIN__BACKEND_SET__KEEP", "3")
    rows = found(cli)
    assert rows["middleware.filesystem.read_limit"] == (7, "deepagents.toml:3")
    assert rows["middleware.filesystem.grep_max_count"] == (6, "~/config/deepagents-kernel/deepagents.toml:3")
    assert rows["middleware.filesystem.result_char_limit"][1] == "default"
    assert rows["kernel.recursion_limit"] == (50, "deepagents.toml:5")
    assert rows["backend.set.keep"] == (3, "DEEPAGENTS_PLUGIN__BACKEND_SET__KEEP")


def test_as_text_each_plugin_is_a_heading(cli):
    cli.configure('[plugin."middleware.subagents"]\nmax_depth = 2\n')
    result = cli("settings", "subagents")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[:3] == [
        ["SETTING", "VALUE", "SET", "BY"],
        ["middleware.subagents"],
        ["max_depth", "2", "deepagents.toml:2"],
    ]
    assert ["raise_errors", "false", "default"] in lines
    assert {line[0] for line in lines if len(line) == 1} == {"middleware.subagents"}
    assert "recursion_limit" in cli("settings", "kernel").stdout


def test_secrets_are_never_shown(cli, monkeypatch):
    cli.install("backend.set", CODE)
    monkeypatch.setenv("SECRET_TOKEN", "hidden-1")
    cli.configure(
        '[plugin."backend.set"]\napi_key = "hidden-2"\nwhere = "${SECRET_TOKEN}"\n'
        'options = { password = "hidden-3", plain = "seen" }\n'
    )
    for args in ((), ("--json",), ("-p", "no:set"), ("-p", "no:set", "--json")):
        result = cli("settings", *args)
        assert result.exit_code == 0, result.stderr
        assert "hidden" not in result.stdout
        assert result.stdout.count("[redacted]") == 3
        assert "seen" in result.stdout


def test_what_is_set_for_plugins_that_are_off_is_listed_apart(cli):
    cli.install("backend.set", CODE)
    cli.configure('[plugins]\ndisable = ["set"]\n[plugin."backend.set"]\nkeep = 5\nno_such_thing = 1\n')
    result = cli("settings")
    assert result.exit_code == 0, result.stderr
    before, _, apart = result.stdout.partition("set for plugins that are off, and so without effect:\n")
    assert "backend.set" not in before
    lines = [" ".join(line.split()) for line in apart.splitlines()]
    assert lines[1:] == [
        "backend.set, disabled (deepagents.toml:2)",
        "keep 5 deepagents.toml:4",
        "no_such_thing 1 deepagents.toml:5",
    ]
    document = json.loads(cli("settings", "set", "--json").stdout)
    assert document["settings"] == []
    assert [row["key"] for row in document["off"]] == ["keep", "no_such_thing"]


def test_a_setting_that_can_not_be_is_one_error(cli):
    for text, words in (
        ("read_limti = 1", ["read_limti", "deepagents.toml:2", "nearest: read_limit"]),
        ("read_limit = 'many'", ["middleware.filesystem.read_limit", "deepagents.toml:2"]),
    ):
        cli.configure(f'[plugin."middleware.filesystem"]\n{text}\n')
        result = cli("settings")
        assert (result.exit_code, result.stdout) == (2, "")
        for word in words:
            assert word in result.stderr


def test_a_plugin_without_settings_or_an_unknown_one_is_refused(cli):
    result = cli("settings", "offline")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'offline' has no settings" in result.stderr
    assert "middleware.filesystem" in result.stderr
    result = cli("settings", "subagnts")
    assert result.exit_code == 2
    assert "nearest: middleware.subagents" in result.stderr


def test_values_can_not_steer_the_terminal(cli):
    cli.install("backend.set", CODE)
    cli.configure('[plugin."backend.set"]\nwhere = "a\\u001b[2Jb\\u202e"\n')
    text = cli("settings", "set").stdout
    assert "\x1b" not in text
    assert "\u202e" not in text
