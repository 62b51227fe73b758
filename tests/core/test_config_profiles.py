"""``[profiles]`` of a configuration file: read, refused with the line, layered over those of plugins."""

from __future__ import annotations

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel import (
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    HarnessProfileConfig,
    Kernel,
    ProviderProfile,
    hookimpl,
)
from deepagents_kernel.config.document import Document
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.files import read_file, source_from
from deepagents_kernel.config.load import load_for_command
from deepagents_kernel.config.profiles import FIELDS
from deepagents_kernel.config.source import Level
from deepagents_kernel.profiles.lookup import harness_for_spec, provider_kwargs

FILE = """
[profiles.harness."acme:large"]
base_system_prompt = ""
system_prompt_suffix = "Pay ${PRICE}."
excluded_tools = ["grep"]
excluded_middleware = ["TodoListMiddleware"]
restored_tools = ["glob"]
restored_middleware = ["PatchToolCallsMiddleware"]
tool_description_overrides = { ls = "Look." }

[profiles.harness."acme:large".general_purpose_subagent]
enabled = false

[profiles.provider.acme.init_kwargs]
timeout = 30
base_url = "${SERVER:-http://localhost}/v1"
stop = ["a", "${STOP}"]

[profiles.provider.acme.init_kwargs.default_headers]
x-team = "docs"
"""
LARGE = HarnessProfileConfig(
    base_system_prompt="",
    system_prompt_suffix="Pay ${PRICE}.",
    tool_description_overrides={"ls": "Look."},
    excluded_tools={"grep"},
    excluded_middleware={"TodoListMiddleware"},
    general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False),
    restored_tools={"glob"},
    restored_middleware={"PatchToolCallsMiddleware"},
)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Read a configuration file of a text."""
    monkeypatch.chdir(tmp_path)

    def read(text, environ=None, name="deepagents.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_file(path, Level.PROJECT, environ or {})

    return read


@pytest.mark.spec("HP-063", "HP-065")
def test_both_sorts_are_read_with_their_places(source):
    found = source(FILE, {"STOP": "b"})
    rows = {(row.kind, row.key): row.profile() for row in found.profiles}
    kwargs = {
        "timeout": 30,
        "base_url": "http://localhost/v1",
        "stop": ["a", "b"],
        "default_headers": {"x-team": "docs"},
    }
    assert rows == {("harness", "acme:large"): LARGE, ("provider", "acme"): ProviderProfile(kwargs)}
    assert found.where("profiles", "harness", "acme:large") == "deepagents.toml:2"
    assert found.where("profiles", "provider", "acme") == "deepagents.toml:14"
    path = ("profiles", "provider", "acme", "init_kwargs")
    assert found.expanded == {(*path, "base_url"): ("SERVER",), (*path, "stop"): ("STOP",)}


def test_in_a_pyproject_the_same_stands_below_its_table(source):
    text = "[project]\nname = 'x'\n[tool.deepagents.profiles.harness.acme]\nexcluded_tools = ['ls']\n"
    found = source(text, name="pyproject.toml")
    assert [(row.kind, row.key, row.given) for row in found.profiles] == [
        ("harness", "acme", HarnessProfileConfig(excluded_tools={"ls"}))
    ]
    assert found.where("profiles", "harness", "acme") == "pyproject.toml:3"
    with pytest.raises(ConfigError, match=r'^pyproject.toml:2: tool.deepagents.profiles.harness."a:b".x: '):
        source("[tool.deepagents.profiles.harness.'a:b']\nx = 1\n", name="pyproject.toml")


def test_a_key_holds_a_secret_that_no_repr_shows(source):
    found = source("[profiles.provider.acme.init_kwargs]\napi_key = 'hush'\n")
    assert "hush" not in repr(found.profiles)


@pytest.mark.spec("HP-063")
def test_every_field_of_the_serialisable_form_is_read():
    assert list(FIELDS) == [field.name for field in fields(HarnessProfileConfig)]


H = '[profiles.harness."a:m"]\n'
P = "[profiles.provider.a]\n"
# Text, line of the error, what it says.
SLIPS = [
    ("profiles = 1\n", 1, "profiles: expected a table, got a single value"),
    ("[profiles]\nharness = 'x'\n", 2, "profiles.harness: expected a table, got text"),
    ("[profiles.harnes.x]\n", 1, "profiles.harnes: there is no such sort of profile\n  nearest: harness"),
    ("[profiles.'openai:m']\n", 1, 'write [profiles.harness."openai:m"] or [profiles.provider."openai:m"]'),
    ("[profiles.harness]\n':m' = {}\n", 2, "nothing stands before the colon\n  write 'provider'"),
    ("[profiles.provider]\n'a:' = {}\n", 2, "provider profile key 'a:': nothing stands behind the colon"),
    ("[profiles.harness]\n'a: m' = {}\n", 2, "has whitespace beside the colon"),
    ("[profiles.harness]\n'' = {}\n", 2, "is empty"),
    ("[profiles.harness]\nx = 3\n", 2, "profiles.harness.x: expected a table, got a single value"),
    (f"{H}\nexcluded_tool = ['ls']\n", 3, "has no such field\n  nearest: excluded_tools"),
    (f"{H}zzz = 1\n", 2, "there are: base_system_prompt, system_prompt_suffix"),
    (f"{H}extra_middleware = []\n", 2, "register the profile in code or in a plugin"),
    ("[profiles.harness.gpt-5.1-codex]\n", 1, 'needs quotes: [profiles.harness."gpt-5.1-codex"]'),
    ("[profiles.harness.gpt-5.4]\n", 1, 'a dot in it needs quotes: [profiles.harness."gpt-5.4"]'),
    ("[profiles.harness.openai.gpt-5]\n", 1, 'a colon, in quotes: [profiles.harness."openai:gpt-5"]'),
    ("[profiles.harness.openai.gpt-5.4]\n", 1, 'in quotes: [profiles.harness."openai:gpt-5.4"]'),
    ("[profiles.harness.'openai:gpt-5'.4]\n", 1, 'needs quotes: [profiles.harness."openai:gpt-5.4"]'),
    ("[profiles.provider.openai.gpt-5]\n", 1, 'in quotes: [profiles.provider."openai:gpt-5"]'),
    (f"{H}excluded_tools = [\n 'a',\n 'ls ']\n", 4, "'ls ': has blanks around it, so it matches nothing"),
    (f"{H}tool_description_overrides = {{ ' ls' = 'x' }}\n", 2, "has blanks around it"),
    (f"{H}tool_description_overrides = {{ '' = 'x' }}\n", 2, "an empty name matches nothing"),
    (f"{H}base_system_prompt = 3\n", 2, 'profiles.harness."a:m".base_system_prompt: expected a text, got 3'),
    (f"{H}system_prompt_suffix = ['x']\n", 2, "expected a text, got a list"),
    (f"{H}tool_description_overrides = 'x'\n", 2, "expected a table, got text"),
    (
        f"{H}[profiles.harness.'a:m'.tool_description_overrides]\n\nls = 1\n",
        4,
        "overrides.ls: expected a text",
    ),
    (f"{H}excluded_tools = 'ls'\n", 2, "expected a list of names, got 'ls'\n  write excluded_tools = ['ls']"),
    (f"{H}restored_tools = [\n 'a',\n 3]\n", 2, "got one with 3 in it"),
    (f"{H}restored_tools = [\n 'a',\n ' ']\n", 4, "a name is empty"),
    (
        f"{H}excluded_middleware = [\n 'A',\n 'FilesystemMiddleware']\n",
        4,
        "'FilesystemMiddleware': every agent",
    ),
    (f"{H}restored_middleware = [\n 'A',\n '_B']\n", 4, "'_B': names with a leading underscore"),
    (f"{H}general_purpose_subagent = true\n", 2, "expected a table"),
    (f"{H}general_purpose_subagent.enabled = 1\n", 2, "subagent.enabled: expected true or false, got 1"),
    (f"{H}general_purpose_subagent.enable = true\n", 2, "no such field\n  nearest: enabled"),
    (f"{P}pre_init = 'x'\n", 2, "register the profile in code or in a plugin"),
    (f"{P}init_kwarg = {{}}\n", 2, "nearest: init_kwargs"),
    (f"{P}base_url = 'x'\n", 2, "keyword arguments of the model stand in [profiles.provider.a.init_kwargs]"),
    ("[profiles.provider.gpt-5.1]\n", 1, 'needs quotes: [profiles.provider."gpt-5.1"]'),
    (f"{P}init_kwargs = 3\n", 2, "init_kwargs: expected a table"),
    (f"{P}init_kwargs.x = 1979-05-27\n", 2, "init_kwargs.x: a date or a time"),
    (f"{P}init_kwargs.x = [\n 07:32:00]\n", 2, "init_kwargs.x: a date or a time"),
    (f"{P}init_kwargs.api_key = '${{NO_KEY}}'\n", 2, "the environment variable NO_KEY is not set"),
]


@pytest.mark.spec("HP-063", "HP-064", "HP-065", "PP-002")
@pytest.mark.parametrize(("text", "line", "says"), SLIPS)
def test_a_slip_is_named_with_its_line_and_the_way_out(source, text, line, says):
    with pytest.raises(ConfigError) as caught:
        source(text)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"deepagents.toml:{line}: profiles")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "token = 'hush'",
        "token = ['hush']",
        "init_kwargs = 'hush'",
        "init_kwargs = { a = 'hush', when = 07:32:00 }",
        "init_kwargs = { a = 'hush${' }",
    ],
)
def test_no_error_shows_the_value_of_a_keyword_argument(source, line):
    with pytest.raises(ConfigError) as caught:
        source(f"{P}{line}\n")
    assert "hush" not in str(caught.value)


TOOL_NAMES = st.text(min_size=1).filter(lambda name: name == name.strip())


@pytest.mark.spec("HP-062")
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "base_system_prompt": st.text(),
            "system_prompt_suffix": st.text(),
            "tool_description_overrides": st.dictionaries(TOOL_NAMES, st.text(), max_size=3),
            "excluded_tools": st.sets(st.from_regex(r"[a-z]+", fullmatch=True)),
            "restored_middleware": st.sets(st.from_regex(r"[A-Z][a-z]+", fullmatch=True)),
            "general_purpose_subagent": st.builds(
                GeneralPurposeSubagentProfile, enabled=st.booleans(), description=st.text()
            ),
        },
    )
)
def test_what_a_profile_writes_is_read_as_the_same(tmp_path_factory, values):
    profile = HarnessProfileConfig(**values)
    path = tmp_path_factory.getbasetemp() / "deepagents.toml"
    document = Document(path, "", {"profiles": {"harness": {"a:m": profile.to_dict()}}})
    (row,) = source_from(document, Level.PROJECT, {}).profiles
    assert row.profile() == profile


# -- layers ---------------------------------------------------------------------------------------


class Acme:
    @hookimpl
    def deepagents_harness_profiles(self):
        yield "acme:large", HarnessProfile(system_prompt_suffix="plugin", excluded_tools={"ls", "glob"})

    @hookimpl
    def deepagents_provider_profiles(self):
        yield "acme", ProviderProfile({"a": "plugin", "b": "plugin", "headers": {"x": "plugin"}})


ACME = ("harness.acme", Acme())
USER = """
[profiles.harness."acme:large"]
system_prompt_suffix = "user"
restored_tools = ["glob"]
[profiles.provider.acme.init_kwargs]
b = "user"
c = "user"
"""
PROJECT = """
[profiles.harness."acme:large"]
excluded_tools = ["grep"]
[profiles.provider.acme.init_kwargs]
c = "project"
headers = { y = "project" }
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel of the plugin, with a user's file and one of the project, as the command reads them."""
    monkeypatch.setattr("deepagents_kernel.config.load.user_file", lambda: tmp_path / "user.toml")
    (tmp_path / "user.toml").write_text(USER, encoding="utf-8")
    (tmp_path / "deepagents.toml").write_text(PROJECT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    configuration = load_for_command(
        directory=tmp_path, workspace=None, trust_workspace=False, config=None, environ={}
    )
    return Kernel.discover([ACME], config=configuration)


@pytest.mark.spec("PP-020", "HP-051")
def test_the_project_stands_above_the_user_and_both_above_plugins(kernel):
    found = harness_for_spec(kernel.profiles, "acme:large")
    assert found.profile.system_prompt_suffix == "user"
    assert found.profile.excluded_tools == {"ls", "grep"}
    assert [part.owner for part in found.parts] == ["harness.acme", "user.toml:2", "deepagents.toml:2"]
    assert provider_kwargs(kernel.profiles, "acme:large") == {
        "a": "plugin",
        "b": "user",
        "c": "project",
        "headers": {"x": "plugin", "y": "project"},
    }


@pytest.mark.spec("BOOT-006")
def test_what_the_program_registers_stands_above_the_files(kernel):
    kernel.profiles.register_harness("acme:large", HarnessProfile(system_prompt_suffix="program"))
    assert harness_for_spec(kernel.profiles, "acme:large").profile.system_prompt_suffix == "program"
    assert [layer.owner for layer in kernel.profiles.layers("harness", "acme:large")][-1] == ""


def test_a_program_reads_them_from_the_file_that_it_names_and_from_no_other(tmp_path, monkeypatch):
    path = tmp_path / "deepagents.toml"
    path.write_text(PROJECT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    named = harness_for_spec(Kernel.discover(config=path).profiles, "acme:large")
    assert named.profile.excluded_tools == {"grep"}
    assert harness_for_spec(Kernel.discover().profiles, "acme:large").key == ""
    assert harness_for_spec(Kernel().profiles, "acme:large").key == ""


def test_the_model_of_a_key_beats_its_provider_whoever_says_it(tmp_path):
    path = tmp_path / "deepagents.toml"
    path.write_text("[profiles.harness.acme]\nsystem_prompt_suffix = 'file'\n", encoding="utf-8")
    profiles = Kernel.discover([ACME], config=path).profiles
    assert harness_for_spec(profiles, "acme:large").profile.system_prompt_suffix == "plugin"
    assert harness_for_spec(profiles, "acme:small").profile.system_prompt_suffix == "file"


def test_an_error_names_the_place_of_a_profile_and_not_a_plugin(kernel):
    text = harness_for_spec(kernel.profiles, "acme:large").parts[-1].label
    assert text == "acme:large (deepagents.toml:2)"
