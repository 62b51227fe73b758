"""A vendor's package of models and profiles, written from the pages alone, as its users install it."""

import json
import shutil

import pytest
import wheels
from pages import ROOT, code_blocks, read

from deepagents_kernel.testing import Distribution

pytest_plugins = ["deepagents_kernel.testing.pytest_plugin"]

PACKAGE = ROOT / "contrib" / "deepagents-gigacorp"

# The same models and profiles, for a package that knows deepagents' own two groups only: functions that
# register, and no hook.
CLASSIC = """
from deepagents_kernel import HarnessProfile, ProviderProfile
from deepagents_kernel import register_harness_profile, register_provider_profile

def provider():
    register_provider_profile("gigacorp", ProviderProfile(init_kwargs={"region": "eu"}))

def harness():
    register_harness_profile(
        "gigacorp", HarnessProfile(system_prompt_suffix="Answer in short sentences.", excluded_tools={"grep"})
    )
    register_harness_profile("gigacorp:large", HarnessProfile(restored_tools={"grep"}))
"""
CLASSIC_PACKAGE = Distribution(
    "gigacorp-classic",
    version="2.0",
    modules={"gigacorp_classic.py": CLASSIC},
    entry_points={
        "deepagents.provider_profiles": {"gigacorp": "gigacorp_classic:provider"},
        "deepagents.harness_profiles": {"gigacorp": "gigacorp_classic:harness"},
    },
    requires=["deepagents-kernel>=0.1"],
)


@pytest.fixture(scope="module")
def environment(plugin_environment_factory, tmp_path_factory):
    environment = plugin_environment_factory()
    wheels.install(environment, PACKAGE, tmp_path_factory.mktemp("wheel"))
    return environment


@pytest.fixture
def folder(tmp_path):
    """Where the command is called: beside a folder of notes."""
    shutil.copytree(ROOT / "examples" / "notes", tmp_path / "notes")
    return tmp_path


def explained(environment, folder, *options):
    done = environment.cli("profiles", "explain", *options, "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def said(part):
    """Field and value of each row, with the layer that has the last word."""
    return {(row["field"], str(row["value"])): row["layer"] for row in part["fields"]}


@pytest.mark.spec("HP-030", "BY-081")
def test_it_is_explained_where_everything_comes_from(environment, folder):
    found = explained(environment, folder, "gigacorp:large")
    assert [match["key"] for match in found["harness"]["keys"]] == ["gigacorp", "gigacorp:large"]
    harness = said(found["harness"])
    assert harness["restored_tools", "grep"] == "gigacorp:large (harness.gigacorp)"
    provider = said(found["provider"])
    assert provider["init_kwargs.region", "eu"] == "gigacorp (provider.gigacorp)"
    assert provider["init_kwargs.default_headers.x-gigacorp-client", "deepagents-gigacorp"]
    assert any("ReceiptsMiddleware" in line for line in found["changes"])
    assert any("- tool grep" in line for line in explained(environment, folder, "gigacorp:small")["changes"])


def run(environment, folder, *options):
    done = environment.cli(
        "run", "Look", "--workspace", "notes", "--model", "gigacorp:large", "--json", *options, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_agent_runs_on_it(environment, folder):
    events = run(environment, folder)
    assert [event["name"] for event in events if event["event"] == "tool_call"] == ["ls"]
    assert events[-1]["answer"].startswith("I am large in eu, and I saw: ")


def test_a_file_of_the_project_has_the_last_word(environment, folder):
    text = next(code_blocks((PACKAGE / "README.md").read_text(encoding="utf-8"), "toml"))[1]
    (folder / "deepagents.toml").write_text(text, encoding="utf-8")
    assert "I am large in us" in run(environment, folder)[-1]["answer"]
    found = explained(environment, folder, "gigacorp:large")
    assert said(found["provider"])["init_kwargs.region", "us"] == "gigacorp (deepagents.toml:1)"
    suffix = ("system_prompt_suffix", "Answer in Portuguese.")
    assert said(found["harness"])[suffix] == "gigacorp:large (deepagents.toml:4)"


@pytest.mark.spec("BY-080")
def test_a_file_on_the_command_line_stands_above_that(environment, folder):
    (folder / "mine.toml").write_text('excluded_tools = ["ls"]\n', encoding="utf-8")
    found = explained(environment, folder, "gigacorp:large", "--profile", "mine.toml")
    assert said(found["harness"])["excluded_tools", "ls"] == "mine.toml"
    assert any("- tool ls" in line for line in found["changes"])


def test_it_is_listed_and_what_is_lazy_is_not_imported(environment, folder):
    code = (
        "import sys; from deepagents_kernel.cli.app import app\n"
        "assert app.run(['profiles', 'list']) == 0\n"
        "print(sorted(name for name in sys.modules if name.startswith('deepagents_gigacorp')))\n"
    )
    done = environment.python(code, cwd=folder)
    assert done.returncode == 0, done.stderr
    *lines, imported = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("gigacorp:large") and "harness.gigacorp (lazy)" in line]
    names = ["", ".harness", ".models", ".provider"]
    assert imported == str([f"deepagents_gigacorp{name}" for name in names])


def test_its_own_tests_pass(environment, folder):
    shutil.copytree(PACKAGE, folder / "package", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    plugins = ["-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "deepagents_kernel.testing.pytest_plugin"]
    done = environment.run("-m", "pytest", "-q", *plugins, cwd=folder / "package", timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.spec("BOOT-004")
def test_the_same_in_the_convention_of_deepagents(plugin_environment, folder):
    environment = plugin_environment(CLASSIC_PACKAGE)
    found = explained(environment, folder, "gigacorp:large")
    owner = {layer["owner"] for part in ("harness", "provider") for layer in found[part]["layers"]}
    assert len(owner) == 2
    assert all("gigacorp" in name for name in owner)
    assert ("init_kwargs.region", "eu") in said(found["provider"])
    assert ("restored_tools", "grep") in said(found["harness"])
    assert not [line for line in found["changes"] if "tool grep" in line]
    small = explained(environment, folder, "gigacorp:small")
    assert "main: - tool grep (from FilesystemMiddleware)" in small["changes"]


def test_the_page_shows_the_package():
    page = read("docs/profiles.md")
    shown = [text for _, text in code_blocks(page, "python")]
    for name in ("harness.py", "provider.py"):
        assert (PACKAGE / "deepagents_gigacorp" / name).read_text(encoding="utf-8") in shown
