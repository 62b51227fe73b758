"""``profiles list``, ``show`` and ``explain``; ``--profile`` of ``run`` and ``plan``."""

from __future__ import annotations

import json
import sys
from collections import Counter

import pytest
from command_line import HEAD, CommandLine

from deepagents_kernel import Kernel
from deepagents_kernel.cli.output import Output
from deepagents_kernel.cli.profiles.layers import KINDS, key_layers
from deepagents_kernel.cli.profiles.matching import matches, read_spec
from deepagents_kernel.profiles.lookup import harness_for_spec
from deepagents_kernel.profiles.shelf import Shelf

ACME = f"""{HEAD}
from deepagents_kernel import HarnessProfile, ProviderProfile
from deepagents_kernel.profiles import LazyProfile

def check(spec):
    raise ImportError("never called by a listing")

def made():
    return {{"region": "eu", "default_headers": {{"x-client": "acme", "Authorization": "hush"}}}}

@hookimpl
def deepagents_provider_profiles():
    return [
        ("acme", ProviderProfile({{"region": "us", "timeout": 5}}, check, made)),
        ("acme:large", ProviderProfile({{"timeout": 10}})),
    ]

@hookimpl
def deepagents_harness_profiles():
    return [
        ("acme", HarnessProfile(excluded_tools={{"grep", "glob"}}, system_prompt_suffix="Be brief.")),
        ("acme:large", LazyProfile("acme_large:PROFILE")),
    ]
"""
LARGE = """
from deepagents_kernel import GeneralPurposeSubagentProfile, HarnessProfile

class Extra:
    pass

def extras():
    return []

PROFILE = HarnessProfile(
    restored_tools={"glob"},
    tool_description_overrides={"ls": "Look around."},
    extra_middleware=extras,
    general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False),
)
"""
FILE = """
[profiles.harness."acme:large"]
base_system_prompt = ""
system_prompt_suffix = "Answer in Portuguese."

[profiles.provider.acme.init_kwargs]
timeout = 30
note = "${ACME_TOKEN}"
default_headers = { x-team = "docs" }
"""


@pytest.fixture
def cli(tmp_path, monkeypatch):
    found = CommandLine(tmp_path, monkeypatch)
    found.install("bundle.acme", ACME)
    sys.modules.pop("acme_large", None)
    (found.site / "acme_large.py").write_text(LARGE, encoding="utf-8")
    found.configure(FILE)
    monkeypatch.setenv("ACME_TOKEN", "hush")
    yield found
    sys.modules.pop("acme_large", None)


def read(cli, *args, code=0):
    result = cli("profiles", *args, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def fields(rows):
    return {(row["field"], json.dumps(row["value"])): row["layer"] for row in rows}


# -- list -----------------------------------------------------------------------------------------


def test_every_key_is_listed_with_its_owners_and_nothing_is_imported(cli):
    rows = {(row["key"], row["kind"]): row["layers"] for row in read(cli, "list")["profiles"]}
    assert "acme_large" not in sys.modules
    owners = {key: [layer["owner"] for layer in layers] for key, layers in rows.items() if "acme" in key[0]}
    assert owners == {
        ("acme", "harness"): ["bundle.acme"],
        ("acme", "provider"): ["bundle.acme", "deepagents.toml:6"],
        ("acme:large", "harness"): ["bundle.acme", "deepagents.toml:2"],
        ("acme:large", "provider"): ["bundle.acme"],
    }
    assert [layer["target"] for layer in rows["acme:large", "harness"]] == ["acme_large:PROFILE", ""]
    assert list(rows) == sorted(rows)


def test_the_list_as_text(cli):
    lines = cli("profiles", "list").stdout.splitlines()
    assert lines[0].split() == ["KEY", "SORT", "FROM"]
    (row,) = [line for line in lines if line.startswith("acme:large") and "harness" in line]
    assert row.endswith("bundle.acme (lazy), deepagents.toml:2")
    assert "harness; those of (lazy) are imported" in lines[-1]


def test_a_lazy_profile_that_cannot_be_imported_does_not_spoil_the_list(cli):
    (cli.site / "acme_large.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    assert cli("profiles", "list").exit_code == 0
    shown = cli("profiles", "show", "acme:large")
    assert shown.exit_code == 0, shown.output
    assert "nothing_of_this_name" in shown.stdout
    assert "Answer in Portuguese." in shown.stdout
    (row,) = read(cli, "show", "acme:large")["harness"]["layers"][0]["fields"]
    assert row["field"] == "profile"
    assert "deepagents-kernel plugins disable bundle.acme" in row["value"]


def test_explain_shows_the_layer_that_cannot_be_imported_and_why_there_is_no_plan(cli):
    (cli.site / "acme_large.py").write_text("PROFILE = 3\n", encoding="utf-8")
    result = cli("profiles", "explain", "acme:large")
    assert result.exit_code == 1
    assert "failed: harness profile: expected HarnessProfile" in result.stdout
    assert "Answer in Portuguese." in result.stdout
    for text in ("'acme_large:PROFILE'", "'acme:large'", "plugins disable bundle.acme"):
        assert text in result.stderr


def test_a_provider_layer_that_cannot_be_imported_is_a_row(cli):
    cli.install(
        "provider.lost",
        f"""{HEAD}
from deepagents_kernel.profiles import LazyProfile

@hookimpl
def deepagents_provider_profiles():
    return [("acme", LazyProfile("nothing_of_this_name:PROFILE"))]
""",
    )
    rows = read(cli, "explain", "acme")["provider"]["fields"]
    (row,) = [row for row in rows if row["field"] == "profile"]
    assert row["layer"] == "acme (provider.lost)"
    assert "plugins disable provider.lost" in row["value"]


@pytest.mark.parametrize(("factory", "says"), [("1 / 0", "ZeroDivisionError"), ("3", "returned int")])
def test_a_factory_that_fails_is_named_with_its_layer(cli, factory, says):
    cli.install(
        "provider.broken",
        f"""{HEAD}
from deepagents_kernel import ProviderProfile

@hookimpl
def deepagents_provider_profiles():
    return [("openai", ProviderProfile(init_kwargs_factory=lambda: {factory}))]
""",
    )
    result = cli("plan", "--model", "openai:gpt-5.4")
    assert result.exit_code == 2
    assert says in result.stderr
    assert "raised by the provider profile of the layer openai (plugin provider.broken)" in result.stderr


# -- show -----------------------------------------------------------------------------------------


def test_each_layer_of_a_key_and_what_they_come_to(cli):
    found = read(cli, "show", "acme:large")["harness"]
    assert [layer["owner"] for layer in found["layers"]] == ["bundle.acme", "deepagents.toml:2"]
    assert fields(found["layers"][1]["fields"]) == {
        ("base_system_prompt", '""'): "deepagents.toml:2",
        ("system_prompt_suffix", '"Answer in Portuguese."'): "deepagents.toml:2",
    }
    merged = fields(found["merged"])
    assert merged["tool_description_overrides.ls", '"Look around."'] == "bundle.acme"
    assert merged["base_system_prompt", '""'] == "deepagents.toml:2"
    assert merged["general_purpose_subagent.enabled", "false"] == "bundle.acme"
    assert merged["extra_middleware", '"made anew for each stack by acme_large.extras"'] == "bundle.acme"


def test_functions_are_named_and_not_called(cli):
    found = read(cli, "show", "acme")["provider"]
    merged = fields(found["merged"])
    assert merged["pre_init", '"checked by plugin_bundle_acme.check"'] == "bundle.acme"
    assert merged["init_kwargs_factory", '"made for each model by plugin_bundle_acme.made"'] == "bundle.acme"
    assert merged["init_kwargs.region", '"us"'] == "bundle.acme"
    assert merged["init_kwargs.timeout", "30"] == "deepagents.toml:6"


def test_no_secret_is_shown(cli):
    shown = [cli("profiles", *args) for args in (("show", "acme"), ("explain", "acme:large"))]
    shown += [cli("profiles", "show", "acme", "--json"), cli("profiles", "explain", "acme:large", "--json")]
    for result in shown:
        assert result.exit_code == 0, result.output
        assert "hush" not in result.output
        assert "init_kwargs.note" in result.output
        assert "[redacted]" in result.output


def test_a_key_that_nobody_has_is_answered_with_the_nearest(cli):
    result = cli("profiles", "show", "acme:larg")
    assert result.exit_code == 2
    assert "nearest: acme:large" in result.stderr
    assert "profiles list" in cli("profiles", "show", "zzzzzzz").stderr


def test_a_key_is_found_in_any_spelling(cli):
    cli.configure("[profiles.harness.'azure_openai:m']\nexcluded_tools = ['ls']\n")
    assert read(cli, "show", "azure:m")["harness"]["key"] == "azure_openai:m"


# -- explain --------------------------------------------------------------------------------------


@pytest.mark.spec("HP-030", "BY-081")
def test_what_a_model_gets_field_by_field(cli):
    (cli.project / "mine.json").write_text('{"restored_tools": ["grep"]}', encoding="utf-8")
    found = read(cli, "explain", "acme:large", "--profile", "mine.json")
    assert found["reading"] == {"provider": "acme", "model": "large", "inferred": False}
    assert found["harness"]["keys"] == [
        {"key": "acme", "why": "all models of acme"},
        {"key": "acme:large", "why": "exactly this string"},
    ]
    assert found["harness"]["file"] == "mine.json"
    said = fields(found["harness"]["fields"])
    assert said["system_prompt_suffix", '"Answer in Portuguese."'] == "acme:large (deepagents.toml:2)"
    assert said["restored_tools", '"grep"'] == "mine.json"
    assert not [name for name, _ in said if name == "excluded_tools"]
    made = fields(found["provider"]["fields"])
    assert made["init_kwargs.region", '"eu"'] == "acme (bundle.acme)"
    assert made["init_kwargs.timeout", "10"] == "acme:large (bundle.acme)"
    assert made["init_kwargs.default_headers.x-client", '"acme"'] == "acme (bundle.acme)"
    assert made["init_kwargs.default_headers.x-team", '"docs"'] == "acme (deepagents.toml:6)"


def test_what_changes_in_the_plan_without_package_or_key(cli):
    found = read(cli, "explain", "acme:large")
    assert found["refusal"] == ""
    assert "main: profile none -> acme:large" in found["changes"]
    assert "main: - tool grep (from FilesystemMiddleware)" in found["changes"]
    assert "main/general-purpose: stack removed" in found["changes"]
    assert "main: ~ tool ls: description changed" in found["changes"]
    assert not [line for line in found["changes"] if "tool glob" in line]
    assert read(cli, "explain", "zzz:zzz")["changes"] == []


def test_a_misspelt_tool_is_warned_about_and_a_misspelt_middleware_refused(cli):
    cli.configure("[profiles.harness.acme]\nexcluded_tools = ['gre']\n")
    (warning,) = read(cli, "explain", "acme:small")["warnings"]
    assert "'gre'" in warning
    assert "nearest: grep" in warning
    cli.configure("[profiles.harness.acme]\nexcluded_middleware = ['TodoListMidleware']\n")
    result = cli("profiles", "explain", "acme:small")
    assert result.exit_code == 1
    assert "there is no plan with them" in result.stdout
    assert "TodoListMidleware" in result.stderr
    assert "TodoListMidleware" in read(cli, "explain", "acme:small", code=1)["refusal"]


def test_a_factory_that_fails_is_said_so(cli, monkeypatch):
    code = ACME.replace('return {"region"', 'raise KeyError("ACME_REGION")\n    return {"region"')
    cli.install("bundle.acme", code)
    (row,) = [
        row
        for row in read(cli, "explain", "acme:small")["provider"]["fields"]
        if row["field"] == "init_kwargs_factory"
    ]
    assert row["value"] == "failed: KeyError: 'ACME_REGION'"


WHY = [
    ("acme:large", ["all models of acme", "exactly this string"]),
    ("acme:large-2026-01-31", ["all models of acme", "the name without the day of its release"]),
    ("acme:small", ["all models of acme"]),
    ("acme", ["the name itself"]),
    ("ACME:large", ["all models of ACME, in another spelling", "another spelling of the provider"]),
    ("acme:", []),
    ("other:large", []),
]


@pytest.mark.spec("HP-031", "HP-032")
@pytest.mark.parametrize(("spec", "why"), WHY)
def test_each_key_that_answers_says_why(cli, spec, why):
    assert [match["why"] for match in read(cli, "explain", spec)["harness"]["keys"]] == why


def test_bare_names_are_explained(cli):
    cli.configure(
        "[profiles.harness.'gpt-9']\n[profiles.harness.'openai:gpt-8']\n[profiles.harness.openai]\n"
    )
    found = {
        spec: read(cli, "explain", spec)["harness"]["keys"] for spec in ("gpt-8", "openai:gpt-9", "gpt-9")
    }
    assert [match["why"] for match in found["gpt-8"]] == [
        "all models of openai",
        "the bare name is one of openai",
    ]
    assert found["openai:gpt-9"][1]["why"] == "the key is a bare name, which is one of openai"
    assert found["gpt-9"][1]["why"] == "exactly this string"
    assert "told by the name" in cli("profiles", "explain", "gpt-8").stdout


@pytest.mark.parametrize("dated", ["", "-2026-01-31"])
def test_the_words_agree_with_the_lookup_for_every_key_that_there_is(dated):
    kernel = Kernel()
    for kind in KINDS:
        shelf = kernel.profiles.snapshot().shelf(kind)
        assert isinstance(shelf, Shelf)
        for key in shelf:
            spec = f"{key}{dated}" if ":" in key else key
            found = tuple(match.key for match in matches(shelf, read_spec(spec)))
            assert found
            if kind == "harness":
                assert found == harness_for_spec(kernel.profiles, spec).layers
            assert all(key_layers(kernel, kind, name) for name in found)


def test_nothing_that_answers_names_what_is_near(cli):
    assert "none answers; nearest: acme" in cli("profiles", "explain", "acm").stdout
    result = cli("profiles", "explain", ":")
    assert result.exit_code == 0, result.output
    assert "no profile answers to it" in result.stdout


# -- a terminal of 80 columns ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "args", [("list",), ("show", "acme"), ("show", "acme:large"), ("explain", "acme:large")], ids=" ".join
)
def test_in_80_columns_no_line_is_longer(cli, monkeypatch, args):
    cli.configure(FILE.replace("Answer in Portuguese.", "Answer in Portuguese, " * 40))
    wide = cli("profiles", *args).stdout
    monkeypatch.setattr(Output, "width", 80)
    result = cli("profiles", *args)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    # Nothing is cut but what a wide terminal cuts too; a list puts its last column below, without a head.
    missing = Counter("".join(wide.split())) - Counter("".join(result.stdout.split()))
    assert missing == (Counter("FROM") if args == ("list",) else Counter())


# -- --profile ------------------------------------------------------------------------------------


@pytest.mark.spec("BY-080")
@pytest.mark.parametrize("name", ["mine.toml", "mine.yaml", "mine.yml", "mine.json"])
def test_a_profile_in_a_file_holds_for_one_call(cli, name):
    text = 'excluded_tools = ["glob"]' if name.endswith("toml") else '{"excluded_tools": ["glob"]}'
    (cli.project / name).write_text(text, encoding="utf-8")
    planned = json.loads(cli("plan", "--json", "--no-tokens", "--profile", name).stdout)["main"]
    assert planned["excluded_tools"] == ["glob"]
    assert planned["profile"]["layers"][-1] == name
    assert json.loads(cli("plan", "--json", "--no-tokens").stdout)["main"]["excluded_tools"] == []


@pytest.mark.spec("BY-080")
def test_a_run_has_the_profile(cli):
    (cli.project / "work").mkdir()
    (cli.project / "work" / "notes.md").write_text("# Notes\n", encoding="utf-8")
    (cli.project / "mine.toml").write_text("general_purpose_subagent.enabled = false\n", encoding="utf-8")
    args = ("run", "Report", "--workspace", "work", "--model", "offline", "--profile", "mine.toml", "--json")
    result = cli(*args)
    assert result.exit_code == 0, result.output
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert not [event for event in events if event.get("name") == "task"]


@pytest.mark.parametrize(
    ("command", "text", "says"),
    [
        ("plan", None, "No such file"),
        ("plan", "excluded_tool = []", "nearest: excluded_tools"),
        ("profiles explain acme:large", "excluded_tools = 'ls'", "expected a set of names"),
        ("profiles explain acme:large", None, "No such file"),
    ],
)
def test_a_file_that_is_no_profile_is_named(cli, command, text, says):
    if text is not None:
        (cli.project / "mine.toml").write_text(text, encoding="utf-8")
    result = cli(*command.split(), "--profile", "mine.toml")
    assert result.exit_code == 2
    assert "mine.toml" in result.stderr
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_listings_of_plugins_stay_quick_with_profiles_in_the_file(cli):
    import subprocess

    code = (
        "import sys; from deepagents_kernel.cli.app import app\n"
        "app.run(['plugins', 'list'])\n"
        "print([name for name in ('langchain_core', 'structlog', 'pluggy') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", cwd=cli.project
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("model", ["", " "])
def test_explain_refuses_an_empty_model(cli, model):
    result = cli("profiles", "explain", model)
    assert result.exit_code == 2
    assert "MODEL is empty" in result.stderr


def test_the_first_line_of_explain_fits_a_terminal(cli, monkeypatch):
    monkeypatch.setattr(Output, "width", 80)
    lines = cli("profiles", "explain", f"acme:{'large-' * 9}").stdout.splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("profile", "maker"),
    [
        ("openai", "made for each model by a function of deepagents_builtin.profiles.provider.openai"),
        ("openai:gpt-5.1-codex", "made anew for each stack by deepagents_builtin.profiles.harness."),
    ],
)
def test_what_makes_a_value_is_named_as_it_can_be_found(cli, profile, maker):
    shown = " ".join(cli("profiles", "show", profile).stdout.split())
    assert maker in shown
    assert "<" not in shown.partition(maker)[2].split(" ")[0]
