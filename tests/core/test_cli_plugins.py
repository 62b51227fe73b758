"""``plugins list`` and ``explain``, and the options that say which plugins are in; nothing is imported."""

from __future__ import annotations

import json

import pytest
from command_line import CommandLine

from deepagents_kernel._builtin import load_table
from deepagents_kernel.cli.table import pairs, table
from deepagents_kernel.plugins.loadcache import LoadResult, update_cache

BAD = "raise RuntimeError('imported')\n"


@pytest.fixture
def cli(tmp_path, monkeypatch):
    return CommandLine(tmp_path, monkeypatch)


def row(result, name):
    (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"{name} ")]
    return " ".join(line.split())


# list


def test_list_has_every_plugin_built_ins_first(cli):
    cli.install("backend.acme", BAD)
    cli.install("middleware.zebra", BAD, version="2.1")
    cli.configure('[plugins]\ndisable = ["zebra"]\n')
    result = cli("plugins", "list")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "FROM", "PROVIDES", "WHY"]
    names = [line.split()[0] for line in lines[1:-1]]
    own = names.index("backend.acme")
    assert names[own:] == ["backend.acme", "middleware.zebra"]
    assert names[:own] == sorted(names[:own])
    assert row(result, "middleware.filesystem").startswith(
        "middleware.filesystem enabled built-in middleware"
    )
    assert row(result, "middleware.filesystem").endswith(" scaffolding")
    assert row(result, "backend.acme") == "backend.acme enabled acme-acme 1.0 - installed"
    assert row(result, "middleware.zebra") == "middleware.zebra disabled acme-zebra 2.1 - deepagents.toml:2"
    off = len(load_table().optional)
    assert lines[-1] == f"{len(names) - 1 - off} enabled, 1 disabled, {off} discovered"


def test_list_as_json(cli):
    cli.install("backend.acme", BAD)
    cli.configure('[plugins]\nallow = ["*"]\ndisable = ["nobody.*"]\n')
    document = json.loads(cli("plugins", "list", "--json").stdout)
    (found,) = [item for item in document["plugins"] if item["name"] == "backend.acme"]
    assert (found["state"], found["distribution"], found["version"]) == ("enabled", "acme-acme", "1.0")
    assert document["counts"]["enabled"] == len(document["plugins"]) - len(load_table().optional)
    assert document["unmatched"] == [{"rule": "nobody.*", "where": "deepagents.toml:3"}]
    assert (document["problems"], document["unread"], document["locks"]) == ([], [], [])


def test_list_shows_what_the_last_load_has_shown(cli):
    cli.install("backend.good", BAD)
    cli.install("backend.bad", BAD)
    cli.install("backend.off", BAD)
    cli.install("backend.newer", BAD, version="2.0")
    cli.configure('[plugins]\ndisable = ["backend.off"]\n')
    update_cache(
        [
            LoadResult("backend.good", "acme-good", "1.0", ("backends", "2 hooks"), "", 0.1),
            LoadResult("backend.bad", "acme-bad", "1.0", (), "ImportError: no boto3", 0.1),
            LoadResult("backend.off", "acme-off", "1.0", (), "ImportError: no boto3", 0.1),
            LoadResult("backend.newer", "acme-newer", "1.0", ("old news",), "it was broken", 0.1),
        ]
    )
    result = cli("plugins", "list")
    assert row(result, "backend.good").endswith(" backends, 2 hooks installed")
    assert row(result, "backend.bad").endswith(" - ImportError: no boto3 (at its last load)")
    assert row(result, "backend.bad").startswith("backend.bad failed ")
    assert row(result, "backend.off").startswith("backend.off disabled ")
    assert row(result, "backend.newer").endswith("- installed")
    assert result.exit_code == 0
    assert cli("plugins", "list", "--strict").exit_code == 1
    assert cli("-p", "no:bad", "plugins", "list", "--strict").exit_code == 0


def test_strict_is_about_what_does_not_fit_as_well(cli):
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    assert "needs deepagents-kernel<0.1, this is 0.1.0" in row(cli("plugins", "list"), "backend.old")
    assert cli("plugins", "list").exit_code == 0
    assert cli("plugins", "list", "--strict").exit_code == 1


def test_problems_of_the_rules_follow_the_table(cli):
    cli.configure('[plugins]\nenable = ["gone", "ofline"]\n')
    result = cli("plugins", "list")
    assert result.exit_code == 2
    assert result.stdout.endswith(f" enabled, {len(load_table().optional)} discovered\n")
    assert "no plugin named 'gone' (from deepagents.toml:2)" in result.stderr
    assert "nearest: model.offline" in result.stderr


def test_what_can_not_be_read_of_the_environment_is_a_warning(cli):
    cli.install("backend.acme", BAD)
    (cli.site / "acme_acme-1.0.dist-info" / "entry_points.txt").write_bytes(b"[deepagents.plugins]\n\xff")
    result = cli("plugins", "list")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1
    assert "acme_acme-1.0.dist-info can't be read: entry_points.txt" in result.stderr


def test_names_and_errors_of_third_parties_can_not_steer_the_terminal(cli):
    cli.install("backend.bad", BAD)
    update_cache([LoadResult("backend.bad", "acme-bad", "1.0", (), "no\x1b[2J\r\nway", 0.1)])
    text = cli("plugins", "list").stdout
    assert "\x1b" not in text
    assert "\r" not in text
    assert "no\N{REPLACEMENT CHARACTER}[2J way (at its last load)" in text


def test_a_bad_configuration_is_one_message(cli):
    cli.configure("[plugins\n")
    result = cli("plugins", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("deepagents-kernel: deepagents.toml:1: not valid TOML")


# -p and --config


@pytest.mark.parametrize(
    ("before", "behind", "state"),
    [
        ((), ("-p", "no:backend.acme"), "disabled"),
        (("-p", "no:acme"), (), "disabled"),
        (("-p", "no:acme"), ("-p", "acme"), "enabled"),
        (("-p", "acme"), ("-p", "no:acme"), "disabled"),
        (("-p", "no:acme", "-p", "acme"), (), "enabled"),
        ((), ("-p", "acme", "-p", "no:acme-acme"), "disabled"),
    ],
)
def test_single_switches_count_in_the_order_written(cli, before, behind, state):
    cli.install("backend.acme", BAD)
    document = json.loads(cli(*before, "plugins", "list", "--json", *behind).stdout)
    assert next(item["state"] for item in document["plugins"] if item["name"] == "backend.acme") == state


def test_the_command_line_counts_more_than_environment_and_file(cli, monkeypatch):
    cli.install("backend.acme", BAD)
    cli.configure('[plugins]\ndisable = ["acme"]\n')
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_DISABLE", "acme")
    assert cli.states()["backend.acme"] == ("disabled", "DEEPAGENTS_PLUGINS_DISABLE")
    assert cli.states("-p", "acme")["backend.acme"] == ("enabled", "-p acme")


@pytest.mark.parametrize("text", ["", "no:", "no: "])
def test_a_switch_without_a_name_is_refused(cli, text):
    result = cli("-p", text, "plugins", "list")
    assert result.exit_code == 2
    assert "write -p NAME or -p no:NAME" in result.stderr


def test_a_switch_for_an_unknown_plugin_is_refused_where_a_kernel_is_needed(cli):
    for args in (("-p", "no:ofline", "plan"), ("plan", "-p", "no:ofline")):
        result = cli(*args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "no plugin named 'ofline' (from -p no:ofline)" in result.stderr
        assert "nearest: model.offline" in result.stderr


def test_config_stands_in_for_the_file_of_the_project(cli):
    cli.install("backend.acme", BAD)
    cli.configure('[plugins]\ndisable = ["acme"]\n')
    other = cli.configure("[plugins]\nstrict = false\n", "other.toml")
    assert cli.states()["backend.acme"][0] == "disabled"
    assert cli.states("--config", other)["backend.acme"][0] == "enabled"
    missing = cli("plugins", "list", "--config", "othr.toml")
    assert missing.exit_code == 2
    assert "nearest: other.toml" in missing.stderr


def test_misspelt_sub_commands_offer_the_nearest_and_none_is_help(cli):
    result = cli("plugins", "lst")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "deepagents-kernel: no command named 'plugins lst'; nearest: list\n"
    assert cli("plugins").stdout == cli("plugins", "--help").stdout
    assert cli("plugins").exit_code == 0


# explain


def test_explain_shows_every_rule_and_the_one_that_counts(cli, monkeypatch):
    cli.install("backend.acme", BAD)
    cli.configure('[plugins]\ndisable = [\n  "acme-acme",\n]\n')
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_ENABLE", "backend.acme")
    result = cli("plugins", "explain", "acme", "-p", "no:acme")
    assert result.exit_code == 0, result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines == [
        "backend.acme is disabled: -p no:acme",
        "from acme-acme 1.0 (plugin_backend_acme)",
        "rules 1. off by 'acme-acme' in deepagents.toml:3",
        "2. on by 'backend.acme' in DEEPAGENTS_PLUGINS_ENABLE",
        "3. off by -p no:acme <- counts",
        "needs deepagents-kernel>=0.1: this is 0.1.0, which fits",
        "lock no lock file is set",
        "change on: leave out -p no:acme",
    ]


def change(result):
    return " ".join(result.stdout.partition("\n  change ")[2].split())


@pytest.mark.parametrize(
    ("text", "state", "way"),
    [
        ("", "enabled: installed", "off: deepagents-kernel plugins disable backend.acme"),
        (
            "disable = ['backend.*']",
            "disabled: deepagents.toml:2",
            "on: take 'backend.*' out of deepagents.toml:2, or deepagents-kernel plugins enable backend.acme",
        ),
        (
            "autoload = false",
            "discovered: autoload is off",
            "on: deepagents-kernel plugins enable backend.acme",
        ),
        ("allow = ['deepagents-kernel']", "blocked: not in allow", "add 'backend.acme' there"),
        ("required = ['acme']", "enabled: installed", "take it out of required first (deepagents.toml:2)"),
    ],
)
def test_explain_says_what_would_change_the_state(cli, text, state, way):
    cli.install("backend.acme", BAD)
    cli.configure(f"[plugins]\n{text}\n")
    result = cli("plugins", "explain", "backend.acme")
    assert result.stdout.startswith(f"backend.acme is {state}")
    assert way in change(result)


def test_of_two_closed_lists_the_outer_one_counts(cli):
    cli.install("backend.acme", BAD)
    cli.configure_user('[plugins]\nallow = ["deepagents-kernel"]\n')
    cli.configure('[plugins]\nenable = ["acme"]\nallow = ["deepagents-kernel"]\n')
    lines = [" ".join(line.split()) for line in cli("plugins", "explain", "acme").stdout.splitlines()]
    outer = "~/config/deepagents-kernel/deepagents.toml:2"
    assert lines[0] == f"backend.acme is blocked: not in allow ({outer})"
    assert lines[2:5] == [
        "rules 1. on by 'acme' in deepagents.toml:2",
        f"2. left out: not in allow ({outer}) <- counts",
        "3. left out: not in allow (deepagents.toml:3)",
    ]


def test_explain_does_not_advise_a_file_against_a_variable(cli, monkeypatch):
    cli.install("backend.acme", BAD)
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_DISABLE", "acme")
    text = change(cli("plugins", "explain", "acme"))
    assert text.startswith(
        "on: take 'acme' out of DEEPAGENTS_PLUGINS_DISABLE on for one call: -p backend.acme"
    )


def test_explain_scaffolding(cli):
    result = cli("plugins", "explain", "middleware.filesystem")
    assert result.stdout.startswith("middleware.filesystem is enabled: scaffolding\n")
    assert "it can't be switched off; replace its middleware" in change(result)


def test_explain_what_does_not_fit_and_what_failed(cli):
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    cli.install("backend.acme", BAD, requires=())
    update_cache([LoadResult("backend.acme", "acme-acme", "1.0", (), "ImportError: x", 0.25)])
    assert "needs deepagents-kernel<0.1: needs" in " ".join(cli("plugins", "explain", "old").stdout.split())
    text = cli("plugins", "explain", "acme").stdout
    assert text.startswith("backend.acme: failed, ImportError: x (at its last load)\n")
    assert text.endswith("see: deepagents-kernel plugins show backend.acme\n")
    assert "does not say which kernel it needs" in text
    assert "last load  ImportError: x (0.250 s)" in text


def test_explain_takes_every_form_of_a_name(cli):
    cli.install("backend.one", BAD, package="acme-all")
    cli.install("backend.two", BAD, package="acme-all-2")
    for name in ("backend.one", "one", "acme-all", "Backend.ONE"):
        assert cli("plugins", "explain", name).stdout.startswith("backend.one is enabled")
    both = cli("plugins", "explain", "acme-*").stdout
    assert both.count(" is enabled") == 2
    for name, reason in (
        ("filesystem", "stands for several plugins"),
        ("backend.oen", "nearest: backend.one"),
        ("zzz*", "matches no plugin"),
        ("deepagents-kernel", "no plugin named"),
    ):
        result = cli("plugins", "explain", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert reason in result.stderr


# Tables


HEADS = ("NAME", "STATE", "WHY")


def test_without_a_terminal_nothing_is_wrapped():
    long = "word " * 60
    assert list(table(HEADS, [("a", "b", long.strip())], None, fixed=2))[1] == f"a     b      {long.strip()}"


def test_the_last_column_wraps_where_there_is_room():
    lines = list(table(HEADS, [("name-that-is-long", "on", "one two three four five six")], 50, fixed=2))
    assert lines[1:] == [
        "name-that-is-long  on     one two three four five",
        "                          six",
    ]


def test_a_narrow_terminal_gets_two_lines_a_row_and_whole_names():
    name = "middleware.with-a-name-that-is-very-long"
    lines = list(table(HEADS, [(name, "on", "why it is so"), (name, "on", "-")], 60, fixed=2))
    assert lines[1:] == [f"{name}  on", "    why it is so", f"{name}  on"]


@pytest.mark.parametrize("width", [None, 100])
def test_a_cell_that_is_very_long_widens_its_own_row_alone(width):
    lines = list(
        table(
            HEADS, [("n" * 61, "on", "why"), ("short", "on", "why"), ("m" * 60, "off", "x")], width, fixed=2
        )
    )
    assert lines[1:] == [f"{'n' * 61}  on     why", f"{'short':60}  on     why", f"{'m' * 60}  off    x"]


def test_pairs_repeat_no_label_and_keep_hard_blanks():
    rows = [("a", "one two"), ("a", "x\N{NO-BREAK SPACE}y"), ("long", "z")]
    assert list(pairs(rows, None)) == ["  a     one two", "        x y", "  long  z"]
