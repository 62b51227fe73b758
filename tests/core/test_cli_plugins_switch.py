"""``plugins enable`` and ``disable``: names are checked, files are edited, and the outcome is told."""

from __future__ import annotations

import pytest
from command_line import CommandLine

from deepagents_kernel.plugins.loadcache import LoadResult, update_cache

BAD = "raise RuntimeError('imported')\n"


@pytest.fixture
def cli(tmp_path, monkeypatch):
    made = CommandLine(tmp_path, monkeypatch)
    made.install("backend.acme", BAD)
    return made


def refused(result, *words):
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("deepagents-kernel: ")
    for word in words:
        assert word in result.stderr


def test_disable_makes_a_file_and_enable_takes_it_back(cli):
    result = cli("plugins", "disable", "acme")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "deepagents.toml: added backend.acme to disable\nbackend.acme is disabled: deepagents.toml:2\n"
    )
    file = cli.project / "deepagents.toml"
    assert file.read_text(encoding="utf-8") == '[plugins]\ndisable = ["backend.acme"]\n'
    assert cli.states()["backend.acme"][0] == "disabled"
    result = cli("plugins", "enable", "backend.acme")
    assert result.exit_code == 0
    assert "backend.acme is enabled: deepagents.toml:" in result.stdout
    assert cli.states()["backend.acme"][0] == "enabled"


def test_the_nearest_file_is_changed_and_its_comments_stay(cli, monkeypatch):
    text = '# ours\n[tool.deepagents.plugins] # all of them\ndisable = [\n  "offline", # why\n]\n'
    file = cli.configure(text, "pyproject.toml")
    below = cli.project / "deep" / "down"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert cli("plugins", "disable", "acme").exit_code == 0
    changed = file.read_text(encoding="utf-8")
    assert '"backend.acme"' in changed
    for comment in ("# ours", "# all of them", "# why"):
        assert comment in changed
    assert not (below / "deepagents.toml").exists()


def test_the_file_to_change_can_be_named(cli, monkeypatch):
    project = cli.configure("# mine\n")
    assert cli("plugins", "disable", "acme", "--config", "other.toml").exit_code == 0
    assert "backend.acme" in (cli.project / "other.toml").read_text(encoding="utf-8")
    monkeypatch.setenv("DEEPAGENTS_CONFIG", "third.toml")
    assert cli("plugins", "disable", "acme").exit_code == 0
    assert "backend.acme" in (cli.project / "third.toml").read_text(encoding="utf-8")
    assert cli("plugins", "disable", "acme", "--user").exit_code == 0
    own = cli.home / "config" / "deepagents-kernel" / "deepagents.toml"
    assert "backend.acme" in own.read_text(encoding="utf-8")
    assert project.read_text(encoding="utf-8") == "# mine\n"
    refused(cli("plugins", "disable", "acme", "--user", "--config", "x.toml"), "choose one")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acm", ["no plugin named 'acm'", "nearest: backend.acme"]),
        ("filesystem", ["stands for several plugins", "backend.filesystem, middleware.filesystem"]),
        ("middleware.filesystem", ["scaffolding", "replaces="]),
        ("zzz*", ["matches no plugin"]),
    ],
)
def test_a_bad_name_is_refused_before_anything_is_written(cli, name, words):
    refused(cli("plugins", "disable", "acme", name), *words)
    assert not (cli.project / "deepagents.toml").exists()


def test_scaffolding_may_be_enabled(cli):
    assert cli("plugins", "enable", "middleware.filesystem").exit_code == 0


def test_a_package_is_written_as_its_plugins_and_a_wildcard_as_it_is(cli):
    result = cli("plugins", "disable", "acme-acme", "model.*")
    assert result.exit_code == 0
    text = (cli.project / "deepagents.toml").read_text(encoding="utf-8")
    assert '"backend.acme"' in text
    assert "acme-acme" not in text
    assert '"model.*"' in text
    assert "backend.acme is disabled" in result.stdout
    assert "model.offline is disabled" in result.stdout


def test_a_wildcard_passes_over_scaffolding(cli):
    result = cli("plugins", "disable", "middleware.*")
    assert result.exit_code == 0
    assert "middleware.patch-tool-calls is disabled" in result.stdout
    assert "middleware.filesystem" not in result.stdout + result.stderr


def test_what_counts_more_than_the_file_is_a_warning(cli, monkeypatch):
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_DISABLE", "acme")
    result = cli("plugins", "enable", "acme")
    assert result.exit_code == 0
    assert "backend.acme is disabled all the same: DEEPAGENTS_PLUGINS_DISABLE counts more" in result.stderr
    monkeypatch.delenv("DEEPAGENTS_PLUGINS_DISABLE")
    cli.configure_user("[plugins]\nallow = ['deepagents-kernel']\n")
    result = cli("plugins", "enable", "acme")
    assert "backend.acme is blocked all the same: not in allow" in result.stderr
    assert "add 'backend.acme' there" in result.stderr


def test_a_required_plugin_that_is_switched_off_is_a_warning(cli):
    cli.configure_user("[plugins]\nrequired = ['acme']\n")
    result = cli("plugins", "disable", "acme")
    assert "no kernel can be built without it" in result.stderr


def test_a_plugin_that_failed_at_its_last_load_is_a_warning(cli):
    update_cache([LoadResult("backend.acme", "acme-acme", "1.0", (), "ImportError: x", 0.1)])
    result = cli("plugins", "enable", "acme")
    assert result.exit_code == 0
    assert "backend.acme failed all the same: ImportError: x" in result.stderr


def test_other_plugins_that_change_with_it_are_named(cli):
    cli.install("backend.extra", BAD, optional=True)
    cli.configure_user("[plugins]\nenable = ['extra']\n")
    assert cli.states()["backend.extra"][0] == "enabled"
    result = cli("plugins", "enable", "acme")
    assert "backend.extra was enabled and is discovered now" in result.stderr


def test_other_mistakes_do_not_keep_it_from_working(cli, monkeypatch):
    cli.configure('[plugins]\nenable = ["gone"]\n')
    result = cli("plugins", "disable", "acme")
    assert result.exit_code == 0
    assert "backend.acme is disabled" in result.stdout
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_STRICT", "perhaps")
    result = cli("plugins", "disable", "offline")
    assert result.exit_code == 0
    assert "added model.offline to disable" in result.stdout
    assert "can't be told" in result.stderr
    assert "DEEPAGENTS_PLUGINS_STRICT" in result.stderr


def test_a_file_that_can_not_be_understood_is_left_alone(cli):
    file = cli.configure("[plugins\n")
    refused(cli("plugins", "disable", "acme"), "not valid TOML")
    assert file.read_text(encoding="utf-8") == "[plugins\n"
