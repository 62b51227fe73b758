"""A package of a third party, from its source tree to the lines that it writes.

It is built and installed as its users would do it, and everything is done with the command.
"""

import json
import shutil

import pytest
import wheels
from pages import ROOT, code_blocks, read, section

pytest_plugins = ["deepagents_kernel.testing.pytest_plugin"]

PACKAGE = ROOT / "contrib" / "deepagents-audit-log"
NAME = "middleware.audit-log"


@pytest.fixture(scope="module")
def environment(plugin_environment_factory, tmp_path_factory):
    environment = plugin_environment_factory()
    wheels.install(environment, PACKAGE, tmp_path_factory.mktemp("wheel"))
    return environment


@pytest.fixture
def folder(tmp_path):
    """Where the command is called: beside a folder of notes, in which the agent works."""
    shutil.copytree(ROOT / "examples" / "notes", tmp_path / "notes")
    return tmp_path


def run(environment, folder, *options, **more):
    done = environment.cli(
        "run", "Report", "--workspace", "notes", "--model", "offline", *options, cwd=folder, **more
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "notes" / "REPORT.md").exists()
    return done


def entries(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def listed(environment, folder, *options):
    done = environment.cli("plugins", "list", "--json", *options, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return next(row for row in json.loads(done.stdout)["plugins"] if row["name"] == NAME)


def test_it_records_what_an_agent_did(environment, folder):
    done = run(environment, folder, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    made = [(event["name"]) for event in events if event["event"] == "tool_call"]
    found = entries(folder / "audit.jsonl")
    assert sorted(entry["tool"] for entry in found) == sorted(made)
    assert {"main", "main/general-purpose"} == {entry["stack"] for entry in found}
    assert {entry["outcome"] for entry in found} == {"success"}
    assert done.stderr == ""


def test_it_is_listed_with_where_it_comes_from(environment, folder):
    row = listed(environment, folder)
    assert (row["state"], row["why"]) == ("enabled", "installed")
    assert (row["distribution"], row["version"], row["target"]) == (
        "deepagents-audit-log",
        "0.1.0",
        "deepagents_audit_log",
    )


@pytest.mark.parametrize("name", ["audit-log", NAME, "deepagents-audit-log", "middleware.audit*"])
def test_it_is_switched_off_for_one_call(environment, folder, name):
    run(environment, folder, "-p", f"no:{name}")
    assert not (folder / "audit.jsonl").exists()


def test_a_file_of_the_project_switches_and_sets_it(environment, folder):
    config = folder / "deepagents.toml"
    config.write_text(f'[plugin."{NAME}"]\npath = "calls.jsonl"\nmax_chars = 3\n', encoding="utf-8")
    run(environment, folder)
    texts = [text for entry in entries(folder / "calls.jsonl") for text in entry["arguments"].values()]
    assert texts
    assert max(map(len, texts)) == 3
    config.write_text('[plugins]\ndisable = ["audit-log"]\n', encoding="utf-8")
    row = listed(environment, folder)
    assert (row["state"], row["why"]) == ("disabled", "deepagents.toml:2")
    assert listed(environment, folder, "-p", "audit-log")["state"] == "enabled"


def test_a_variable_sets_it(environment, folder):
    run(environment, folder, env={"DEEPAGENTS_PLUGIN__MIDDLEWARE_AUDIT_LOG__PATH": "other.jsonl"})
    assert entries(folder / "other.jsonl")
    assert not (folder / "audit.jsonl").exists()


def test_its_own_tests_pass(environment, folder):
    shutil.copytree(PACKAGE, folder / "package", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    plugins = ["-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "deepagents_kernel.testing.pytest_plugin"]
    done = environment.run("-m", "pytest", "-q", *plugins, cwd=folder / "package", timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.mark.spec("BY-086")
def test_its_settings_are_listed_with_the_place_where_each_was_set(environment, folder):
    config = folder / "deepagents.toml"
    config.write_text(
        f'[plugin."{NAME}"]\npath = "${{LOGS:-logs}}/a.jsonl"\nmax_chars = 3\n', encoding="utf-8"
    )
    variables = {"DEEPAGENTS_PLUGIN__MIDDLEWARE_AUDIT_LOG__MAX_CHARS": "5", "LOGS": "elsewhere"}
    done = environment.cli("settings", "audit-log", "--json", cwd=folder, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    found = {row["key"]: (row["value"], row["where"]) for row in json.loads(done.stdout)["settings"]}
    assert found == {
        "path": ("elsewhere/a.jsonl", "deepagents.toml:2"),
        "max_chars": (5, "DEEPAGENTS_PLUGIN__MIDDLEWARE_AUDIT_LOG__MAX_CHARS"),
    }
    done = environment.cli("settings", cwd=folder)
    assert "deepagents.toml:2" in done.stdout


# -- the package of docs/plugins.md ---------------------------------------------------------------


@pytest.fixture
def source(tmp_path):
    """The two files of the page, as whoever copies them has them."""
    text = section(read("docs/plugins.md"), "## A package in two files")
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(next(code_blocks(text, "toml"))[1], encoding="utf-8")
    module = next(code_blocks(text, "python"))[1]
    (folder / "deepagents_harbour_time.py").write_text(module, encoding="utf-8")
    return folder


def plan(environment, **variables):
    done = environment.cli("plan", "--json", "--no-tokens", env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_two_files_of_the_page_are_a_plugin(plugin_environment, source):
    environment = plugin_environment()
    assert "time zone" not in plan(environment)
    environment.install_editable(source)
    assert "harbour-time" in environment.cli("plugins", "list").stdout
    assert "in the time zone UTC" in plan(environment)
    there = {"DEEPAGENTS_PLUGIN__BUNDLE_HARBOUR_TIME__ZONE": "Europe/Lisbon"}
    assert "in the time zone Europe/Lisbon" in plan(environment, **there)
    # What is edited is seen at the next start, and so is what is gone.
    module = source / "deepagents_harbour_time.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("Write times", "Write all times"), encoding="utf-8")
    assert "Write all times in the time zone UTC" in plan(environment)
    environment.uninstall("deepagents-harbour-time")
    assert "time zone" not in plan(environment)


def test_the_settings_of_the_page_are_taken(plugin_environment, source):
    environment = plugin_environment()
    environment.install_editable(source)
    text = section(read("docs/plugins.md"), "## A package in two files")
    _, settings = [block for _, block in code_blocks(text, "toml")]
    (environment.workspace / "deepagents.toml").write_text(settings, encoding="utf-8")
    assert "in the time zone Europe/Lisbon" in plan(environment)
    (environment.workspace / "deepagents.toml").write_text(
        settings.replace("zone =", "zon ="), encoding="utf-8"
    )
    done = environment.cli("plan")
    assert done.returncode == 2
    assert "deepagents.toml:2" in done.stderr
    assert "nearest: zone" in done.stderr


def test_it_is_not_imported_by_another_kernel(plugin_environment, source):
    project = source / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace(">=0.1,<0.2", ">=99"), encoding="utf-8")
    (source / "deepagents_harbour_time.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    environment = plugin_environment()
    environment.install_editable(source)
    done = environment.cli("plan", "--no-tokens")
    assert done.returncode == 0
    assert "incompatible: needs deepagents-kernel>=99" in done.stderr


def test_a_package_that_is_off_until_enabled(plugin_environment, source):
    project = source / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("deepagents.plugins", "deepagents.optional_plugins"), encoding="utf-8")
    environment = plugin_environment()
    environment.install_editable(source)
    assert "time zone" not in plan(environment)
    assert "in the time zone UTC" in plan(environment, DEEPAGENTS_PLUGINS_ENABLE="harbour-time")
    assert environment.cli("plugins", "enable", "harbour-time").returncode == 0
    assert "in the time zone UTC" in plan(environment)
