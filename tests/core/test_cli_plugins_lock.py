"""``plugins lock`` and ``verify``."""

from __future__ import annotations

import pytest
from command_line import GOOD, CommandLine

BAD = "raise RuntimeError('imported')\n"


@pytest.fixture
def cli(tmp_path, monkeypatch):
    made = CommandLine(tmp_path, monkeypatch)
    made.module = made.install("backend.acme", BAD)
    made.install("backend.extra", BAD, optional=True)
    return made


def test_lock_writes_what_is_on_and_sets_the_lock(cli):
    result = cli("plugins", "lock")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "deepagents.lock: 1 plugin locked\n"
        "  backend.acme  acme-acme 1.0\n"
        "deepagents.toml: set lock to deepagents.lock\n"
    )
    text = (cli.project / "deepagents.lock").read_text(encoding="utf-8")
    assert '"backend.acme"' in text
    assert "extra" not in text
    assert (cli.project / "deepagents.toml").read_text(
        encoding="utf-8"
    ) == '[plugins]\nlock = "deepagents.lock"\n'
    verified = cli("plugins", "verify")
    assert (verified.exit_code, verified.stdout) == (0, "deepagents.lock: 1 plugin as locked\n")


def test_the_lock_that_is_named_is_written_anew(cli):
    cli.configure('[plugins]\nlock = "locks/mine.lock"\n')
    (cli.project / "locks").mkdir()
    assert cli("plugins", "list").exit_code == 2  # there is none yet, and whatever loads plugins needs it
    result = cli("plugins", "lock")
    assert result.exit_code == 0
    assert result.stdout.startswith("locks/mine.lock: 1 plugin locked\n")
    assert "set lock" not in result.stdout
    assert cli("plugins", "verify").exit_code == 0


def test_a_changed_plugin_is_blocked_told_of_and_locked_again(cli):
    cli("plugins", "lock")
    cli.install("backend.acme", BAD + "#\n")
    state, why = cli.states()["backend.acme"]
    assert state == "blocked"
    assert "deepagents.lock" in why
    verified = cli("plugins", "verify")
    assert verified.exit_code == 1
    lines = [" ".join(line.split()) for line in verified.stdout.splitlines()]
    assert lines[0] == "deepagents.lock: 1 difference"
    assert lines[1].startswith("backend.acme its RECORD is not the one")
    assert lines[1].endswith("(acme-acme 1.0)")
    assert lines[2] == "if the change is meant: deepagents-kernel plugins lock"
    assert "lock file" not in cli("plugins", "lock").stderr
    assert cli.states()["backend.acme"][0] == "enabled"


def test_verify_finds_what_is_new_changed_and_gone(cli):
    cli.install("backend.gone", BAD)
    cli("plugins", "lock")
    for path in (cli.site / "acme_gone-1.0.dist-info").iterdir():
        path.unlink()
    (cli.site / "acme_gone-1.0.dist-info").rmdir()
    cli.install("backend.fresh", BAD)
    cli.module.write_text("changed", encoding="utf-8")
    result = cli("plugins", "verify")
    assert result.exit_code == 1
    found = dict(line.split(maxsplit=1) for line in result.stdout.splitlines()[1:-2])
    assert "has changed" in found["backend.acme"]
    assert "it is not listed" in found["backend.fresh"]
    assert "acme-gone 1.0) and not installed" in found["backend.gone"]
    assert set(found) == {"backend.acme", "backend.fresh", "backend.gone"}


def test_what_was_changed_in_place_has_to_be_installed_anew(cli):
    cli.install("backend.other", BAD)
    cli("plugins", "lock")
    cli.module.write_text("changed", encoding="utf-8")
    cli.install("backend.other", BAD + "#")
    result = cli("plugins", "verify")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-2:] == [
        "install it anew: pip install --force-reinstall acme-acme",
        "if the change is meant: deepagents-kernel plugins lock",
    ]
    cli.install("backend.other", BAD)
    assert "plugins lock" not in cli("plugins", "verify").stdout


def test_a_locked_plugin_that_is_off_is_compared_too(cli):
    cli("plugins", "lock")
    cli.module.write_text("changed", encoding="utf-8")
    result = cli("plugins", "verify", "-p", "no:acme")
    assert result.exit_code == 1
    assert "has changed" in result.stdout
    assert "not installed" not in result.stdout


def test_another_kernel_is_a_note(cli):
    cli("plugins", "lock")
    file = cli.project / "deepagents.lock"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('kernel = "0.1.0"', 'kernel = "0.0.9"'), encoding="utf-8")
    result = cli("plugins", "verify")
    assert result.exit_code == 0
    assert "note: it was written by deepagents-kernel 0.0.9, this is 0.1.0" in result.stdout


def test_without_a_lock_there_is_nothing_to_verify(cli):
    result = cli("plugins", "verify")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "write one: deepagents-kernel plugins lock" in result.stderr


def test_another_place_for_the_lock(cli):
    (cli.project / "below").mkdir()
    result = cli("plugins", "lock", "--file", "below/x.lock")
    assert result.exit_code == 0
    assert "set lock to below/x.lock" in result.stdout
    assert cli("plugins", "verify").exit_code == 0
    result = cli("plugins", "lock", "--file", "other.lock")
    assert result.exit_code == 0
    assert "other.lock is not in use: the configuration names below/x.lock" in result.stderr
    missing = cli("plugins", "lock", "--file", "nowhere/x.lock")
    assert missing.exit_code == 2
    assert "can't be written" in missing.stderr


def test_a_lock_that_somebody_refuses_is_a_warning(cli, monkeypatch):
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_LOCK", "no")
    result = cli("plugins", "lock")
    assert result.exit_code == 0
    assert "can't be used like that" in result.stderr
    assert "DEEPAGENTS_PLUGINS_LOCK" in result.stderr


def test_what_can_not_be_locked_is_refused_and_what_does_not_fit_is_left_out(cli):
    cli.install("backend.old", BAD, requires=("deepagents-kernel<0.1",))
    result = cli("plugins", "lock")
    assert result.exit_code == 0
    assert "backend.old (acme-old 1.0) is left out: needs deepagents-kernel<0.1" in result.stderr
    cli.module.write_text("changed", encoding="utf-8")
    before = (cli.project / "deepagents.lock").read_bytes()
    result = cli("plugins", "lock")
    assert result.exit_code == 2
    assert "backend.acme: its files are not those of its RECORD" in result.stderr
    assert (cli.project / "deepagents.lock").read_bytes() == before


def test_editable_installations_have_to_be_allowed_by_name(cli):
    origin = cli.site / "acme_acme-1.0.dist-info" / "direct_url.json"
    origin.write_text('{"url": "file:///x", "dir_info": {"editable": true}}', encoding="utf-8")
    result = cli("plugins", "lock")
    assert result.exit_code == 2
    assert "editable" in result.stderr
    assert "no plugin named" in cli("plugins", "lock", "--allow-editable", "acm").stderr
    assert cli("plugins", "lock", "--allow-editable", "acme").exit_code == 0
    assert cli("plugins", "verify").exit_code == 0


def test_rules_that_contradict_each_other_are_settled_first(cli):
    cli.configure('[plugins]\nenable = ["gone"]\n')
    result = cli("plugins", "lock")
    assert result.exit_code == 2
    assert "'gone'" in result.stderr
    assert not (cli.project / "deepagents.lock").exists()


def test_a_kernel_of_the_command_has_only_what_is_locked(cli):
    cli.module.unlink()
    cli.module = cli.install("backend.acme", GOOD)
    cli("plugins", "lock")
    cli.install("backend.late", BAD)
    result = cli("settings", "kernel")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1
    assert "plugin backend.late (acme-late 1.0) blocked: not as in" in result.stderr
