"""``doctor``: what it finds and advises, and that nothing broken keeps it from looking at the rest."""

from __future__ import annotations

import json

import pytest
from command_line import GOOD, HEAD, CommandLine

from deepagents_kernel.cli.doctor import checks
from deepagents_kernel.plugins.loadcache import LoadResult, update_cache

BAD = "raise RuntimeError('imported')\n"


@pytest.fixture
def cli(tmp_path, monkeypatch):
    return CommandLine(tmp_path, monkeypatch)


def look(cli, *args):
    """Exit code, and the findings of each kind with their remedies."""
    result = cli("doctor", "--json", *args)
    document = json.loads(result.stdout)
    assert result.stderr == ""
    kinds = {"problem": {}, "note": {}}
    for item in document["findings"]:
        kinds[item["kind"]][item["text"]] = item["remedy"]
    assert result.exit_code == (1 if kinds["problem"] else 0)
    return kinds["problem"], kinds["note"]


def about(findings, word):
    """The only finding about something: text and remedy."""
    (found,) = [item for item in findings.items() if word in item[0]]
    return found


def test_a_sound_installation_has_no_problem(cli):
    cli.install("backend.good")
    result = cli("doctor")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("versions     deepagents-kernel 0.1.0, Python 3.")
    text = " ".join(result.stdout.split())
    for word in ("langchain ", "langgraph ", "pluggy ", "interpreter ", " enabled", "no problems"):
        assert word in text
    assert "configuration" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEEPAGENTS_PLUGINS_ENABLE", ""),
        ("DEEPAGENTS_PLUGINS_STRICT", "no"),
        ("DEEPAGENTS_KERNEL__RECURSION_LIMIT", "7"),
    ],
)
def test_the_environment_is_listed_where_it_says_something(cli, monkeypatch, name, value):
    monkeypatch.setenv("DEEPAGENTS_OF_SOMEBODY_ELSE", "1")
    assert json.loads(cli("doctor", "--json").stdout)["configuration"] == []
    monkeypatch.setenv(name, value)
    assert "configuration  environment" in cli("doctor").stdout
    assert json.loads(cli("doctor", "--json").stdout)["configuration"] == ["environment"]


def test_the_files_that_were_read_are_listed_in_order(cli, monkeypatch):
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_STRICT", "no")
    cli.configure_user("")
    cli.configure("")
    document = json.loads(cli("doctor", "--json", "-p", "offline").stdout)
    assert document["configuration"] == [
        "~/config/deepagents-kernel/deepagents.toml",
        "deepagents.toml",
        "environment",
        "command line",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[plugins\n", "deepagents.toml:1: not valid TOML"),
        ("[plugins]\nenabel = []\n", "deepagents.toml:2: plugins.enabel: there is no such key"),
        ("[plugins]\nenable = 'x'\n", "expected a list of names"),
        ("[plugins]\nlock = 'none.lock'\n", "none.lock': "),
        ("[plugin.\"backend.good\"]\nkey = '${NOT_SET_ANYWHERE}'\n", "NOT_SET_ANYWHERE is not set"),
        ("[plugins]\nenable = ['gone']\n", "no plugin named 'gone' (from deepagents.toml:2)"),
        ("[plugins]\nrequired = ['gone']\n", "it is required"),
        ("[plugins]\nenable = ['good']\ndisable = ['backend.good']\n", "enabled by 'good' and disabled by"),
        ("[plugins]\ndisable = ['middleware.filesystem']\n", "scaffolding"),
        ('[plugin."backend.godo"]\nkey = 1\n', "settings for 'backend.godo' (deepagents.toml:1)"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_every_kind_of_broken_configuration_is_a_finding(cli, text, reason):
    cli.install("backend.good")
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    (cli.project / "deepagents.toml").write_bytes(text.encode("utf-8", errors="surrogateescape"))
    problems, _ = look(cli)
    about(problems, reason)
    about(problems, "backend.old")
    assert cli("doctor").exit_code == 1


def test_a_bad_variable_and_a_missing_file_are_findings(cli, monkeypatch):
    about(look(cli, "--config", "none.toml")[0], "there is no such file")
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_STRICT", "perhaps")
    about(look(cli)[0], "DEEPAGENTS_PLUGINS_STRICT")
    assert "can't be read; plugins are judged without it" in cli("doctor").stdout


def test_plugins_in_trouble_are_problems_with_a_remedy(cli):
    cli.install("backend.bad", BAD)
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    cli.install("backend.twin", BAD, package="acme-one")
    cli.install("backend.twin", BAD, package="acme-two")
    update_cache([LoadResult("backend.bad", "acme-bad", "1.0", (), "ImportError: x", 0.1)])
    problems, _ = look(cli)
    assert len(problems) == 4
    text, remedy = about(problems, "backend.bad")
    assert text == "plugin backend.bad (acme-bad 1.0) failed: ImportError: x (at its last load)"
    assert remedy == "see: deepagents-kernel plugins show backend.bad"
    text, remedy = about(problems, "backend.old")
    assert "incompatible: needs deepagents-kernel<0.1, this is 0.1.0" in text
    assert "newer release" in remedy
    text, remedy = about(problems, "(acme-one 1.0)")
    assert "the name is taken: acme-two 1.0 has it too" in text
    assert "-p no:acme-one" in remedy


def test_a_name_that_two_packages_have_is_a_note_when_one_is_off(cli):
    cli.install("backend.twin", BAD, package="acme-one")
    cli.install("backend.twin", BAD, package="acme-two")
    problems, notes = look(cli, "-p", "no:acme-two")
    assert problems == {}
    about(notes, "several packages have a plugin backend.twin: acme-one 1.0, acme-two 1.0")


def test_what_differs_from_the_lock_is_a_problem_and_what_allow_leaves_out_is_not(cli):
    module = cli.install("backend.good")
    cli("plugins", "lock")
    assert look(cli)[0] == {}
    module.write_text("changed", encoding="utf-8")
    _, remedy = about(look(cli)[0], "backend.good (acme-good 1.0) blocked: not as in")
    assert remedy == "install it anew: pip install --force-reinstall acme-good"
    cli.configure("[plugins]\nallow = ['deepagents-kernel']\n")
    problems, notes = look(cli)
    assert problems == {}
    about(notes, "left out by allow (deepagents.toml:2): backend.good")


@pytest.mark.spec("BY-087")
def test_a_slow_plugin_is_named_with_its_time(cli):
    cli.install("backend.slow", BAD)
    cli.install("backend.fast", BAD)
    update_cache(
        [
            LoadResult("backend.slow", "acme-slow", "1.0", (), "", checks.SLOW + 0.01),
            LoadResult("backend.fast", "acme-fast", "1.0", (), "", checks.SLOW),
        ]
    )
    problems, notes = look(cli)
    assert problems == {}
    text, remedy = about(notes, " s to load")
    assert text == "plugin backend.slow (acme-slow 1.0) takes 0.21 s to load"
    assert "plugins disable backend.slow" in remedy


def test_rules_without_a_match_and_packages_without_a_requirement_are_notes(cli):
    cli.install("backend.good", requires=())
    cli.configure("[plugins]\ndisable = ['nobody.*']\n")
    problems, notes = look(cli)
    assert problems == {}
    about(notes, "'nobody.*' (deepagents.toml:2) matches no plugin")
    about(notes, "acme-good 1.0 does not say which kernel it needs")


def test_hooks_that_nobody_declares_are_a_note(cli):
    cli.install("backend.good")
    update_cache([LoadResult("backend.good", "acme-good", "1.0", ("tools", "inert: of_nobody"), "", 0.0)])
    about(look(cli)[1], "hooks that no plugin here declares: of_nobody")


def test_what_can_not_be_read_of_the_environment_is_a_problem(cli):
    cli.install("backend.good")
    (cli.site / "acme_good-1.0.dist-info" / "entry_points.txt").write_bytes(b"[deepagents.plugins]\n\xff")
    about(look(cli)[0], "acme_good-1.0.dist-info can't be read")


def test_files_that_were_passed_over_are_notes(cli):
    cli.configure("# deepagents\nnot toml", "pyproject.toml")
    about(look(cli)[1], "pyproject.toml was not read")


def kernel_metadata(cli, *lines):
    folder = cli.site / "deepagents_kernel-0.1.0.dist-info"
    folder.mkdir()
    head = ["Metadata-Version: 2.1", "Name: deepagents-kernel", "Version: 0.1.0"]
    (folder / "METADATA").write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


def test_extras_that_are_not_installed_are_notes_with_the_command(cli):
    kernel_metadata(
        cli,
        "Provides-Extra: sea",
        "Provides-Extra: here",
        "Requires-Dist: attrs>=20",
        'Requires-Dist: not-to-be-found-anywhere>=1; extra == "sea"',
        'Requires-Dist: click>=1; extra == "here"',
        'Requires-Dist: also-nowhere; python_version < "3"',
    )
    problems, notes = look(cli)
    assert problems == {}
    text, remedy = about(notes, "extra")
    assert text == "the extra 'sea' is not installed: not-to-be-found-anywhere"
    assert remedy == "if you want it: pip install 'deepagents-kernel[sea]'"


def test_packages_that_the_kernel_needs_are_problems(cli):
    kernel_metadata(
        cli,
        "Provides-Extra: here",
        "Requires-Dist: click>=999",
        "Requires-Dist: not-to-be-found-anywhere",
        'Requires-Dist: attrs>=20; extra == "here"',
    )
    problems, notes = look(cli)
    # What the kernel itself lacks is not missing from an extra that is there.
    assert not any("extra" in text for text in notes)
    text, remedy = about(problems, "click>=999")
    assert "is installed" in text
    assert remedy == "pip install 'click>=999'"
    about(problems, "needs not-to-be-found-anywhere: it is not installed")
    assert json.loads(cli("doctor", "--json").stdout)["versions"]["not-to-be-found-anywhere"] == ""


def test_a_kernel_that_is_no_package_is_a_note(cli, monkeypatch):
    import importlib.metadata

    def nowhere(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.metadata", nowhere)
    about(look(cli)[1], "not installed as a package")


def test_a_check_that_breaks_is_a_finding_and_the_others_go_on(cli, monkeypatch):
    def broken(_facts):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(checks, "CHECKS", (broken, *checks.CHECKS))
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    problems, _ = look(cli)
    about(problems, "(broken) can't be looked at: ZeroDivisionError: inside")
    about(problems, "backend.old")


def test_problems_come_before_notes_and_are_counted(cli):
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    cli.configure("[plugins]\ndisable = ['nobody.*']\n")
    text = cli("doctor").stdout
    assert text.index("\nproblems\n  1. plugin backend.old") < text.index("\nnotes\n  1. ")
    assert text.splitlines()[-1].startswith("1 problem, ")


# --probe


@pytest.mark.spec("BY-087")
def test_probe_imports_each_plugin_in_a_process_of_its_own(cli):
    cli.install("backend.good")
    cli.install("backend.exit", "import os; os._exit(3)")
    cli.install("backend.typo", f"{HEAD}@hookimpl\ndef deepagents_tolls(): pass")
    cli.install("backend.off", "import os; os._exit(4)")
    cli.configure("[plugins]\ndisable = ['off']\n")
    result = cli("doctor", "--probe", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    probed = {item["name"]: item["error"] for item in document["probed"]}
    assert probed == {
        "backend.good": "",
        "backend.exit": "it ended the process that imported it, with exit code 3",
        "backend.typo": "there is no hook deepagents_tolls",
    }
    problems = {item["text"]: item["remedy"] for item in document["findings"] if item["kind"] == "problem"}
    text, remedy = about(problems, "backend.typo")
    assert text == "plugin backend.typo (acme-typo 1.0) failed: there is no hook deepagents_tolls"
    assert "nearest: deepagents_tools" in remedy
    about(problems, "backend.exit")
    assert cli.states()["backend.exit"][0] == "failed"


def test_probe_says_why_no_kernel_can_be_built(cli):
    cli.install("backend.good", GOOD.replace("summary=", "conflicts=('model.offline',), summary="))
    cli.configure('[plugin."middleware.filesystem"]\nread_limit = "many"\n')
    assert look(cli)[0] == {}
    text, _ = about(look(cli, "--probe")[0], "no kernel can be built like this: ")
    assert "middleware.filesystem.read_limit" in text
    assert "deepagents.toml:2" in text


def test_probe_of_a_plugin_that_uses_what_is_deprecated(cli):
    cli.install("backend.aged", "import warnings\nwarnings.warn('the old way', DeprecationWarning)\n" + GOOD)
    problems, notes = look(cli, "--probe")
    assert problems == {}
    about(notes, "backend.aged (acme-aged 1.0) uses what is deprecated: the old way")


def test_probe_stops_what_hangs(cli):
    cli.install("backend.hang", "import time; time.sleep(600)")
    problems, _ = look(cli, "--probe", "--timeout", "4")
    about(problems, "backend.hang (acme-hang 1.0) failed: importing it was not done after 4 s")
