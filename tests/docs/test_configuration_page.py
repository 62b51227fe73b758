"""docs/configuration.md is what the code reads: keys, variables, names, states; and its files load."""

import inspect
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
import tiny
from installed import Site, middleware
from pages import ROOT, code, code_blocks, read, rows, section

from deepagents_kernel import Kernel, PluginState
from deepagents_kernel._builtin import load_table
from deepagents_kernel._version import __version__
from deepagents_kernel.cli.app import COMMANDS
from deepagents_kernel.cli.plugins.group import COMMANDS as PLUGIN_COMMANDS
from deepagents_kernel.config.environment import VARIABLES, environment_source
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.files import read_file
from deepagents_kernel.config.load import load_for_command, user_file
from deepagents_kernel.config.source import Level
from deepagents_kernel.config.values import SWITCH_KEYS, flag_words
from deepagents_kernel.errors import PluginRuleError, SettingsError
from deepagents_kernel.plugins.installed import scan
from deepagents_kernel.plugins.lockfile import write_lock
from deepagents_kernel.plugins.selectors import Candidate, select
from deepagents_kernel.testing import Distribution

PAGE = read("docs/configuration.md")
PACKAGE = ROOT / "contrib" / "deepagents-audit-log"
WORDS = " ".join(PAGE.split())
BLOCKS = list(code_blocks(PAGE, "toml"))
NAME = "middleware.audit-log"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of distributions in which the package of the page is installed."""
    site = Site(tmp_path, monkeypatch)
    source = (PACKAGE / "deepagents_audit_log.py").read_text(encoding="utf-8")
    site.lay(
        Distribution(
            "deepagents-audit-log",
            "0.1.0",
            {"deepagents_audit_log.py": source},
            {"deepagents.plugins": {NAME: "deepagents_audit_log"}},
        )
    )
    yield site
    sys.modules.pop("deepagents_audit_log", None)


def state(kernel, name):
    return str(kernel.catalog.row(name).state)


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line-{block[0]}")
def test_the_files_of_the_page_load(site, tmp_path, block):
    _, text = block
    path = tmp_path / ("pyproject.toml" if "[tool.deepagents" in text else "deepagents.toml")
    path.write_text(text, encoding="utf-8")
    if "lock =" in text:
        write_lock(tmp_path / "deepagents.lock", scan([str(site.folder)]).plugins, kernel=__version__)
    kernel = Kernel.discover(config=path)
    table = tomllib.loads(text)
    table = table.get("tool", {}).get("deepagents", table)
    for name in table.get("plugins", {}).get("required", ()):
        assert state(kernel, "middleware.audit-log" if name == "audit-log" else name) == "enabled"
    given = {(name, key) for name, values in table.get("plugin", {}).items() for key in values}
    given |= {("kernel", key) for key in table.get("kernel", {})}
    shown = {(row.plugin, row.key) for row in kernel.effective_settings() if row.where}
    assert shown == given


def test_the_page_has_files():
    assert len(BLOCKS) == 5


def test_the_first_file_does_what_it_says(tmp_path):
    path = tmp_path / "deepagents.toml"
    path.write_text(BLOCKS[0][1], encoding="utf-8")
    kernel = Kernel.discover(config=path)
    assert state(kernel, "middleware.prompt-caching-bedrock") == "disabled"
    found = {(row.plugin, row.key): row.value for row in kernel.effective_settings() if row.where}
    assert found == {("middleware.filesystem", "grep_max_count"): 200, ("kernel", "recursion_limit"): 500}


def test_the_file_of_the_rules_does_what_they_say(site, tmp_path):
    (text,) = [text for _, text in BLOCKS if "autoload" in text]
    path = tmp_path / "deepagents.toml"
    path.write_text(text, encoding="utf-8")
    site.add("deepagents-later", {"middleware.later": "raise SystemExit"})
    kernel = Kernel.discover(config=path)
    assert state(kernel, NAME) == "enabled"
    assert state(kernel, "middleware.later") == "discovered"
    assert state(kernel, "model.offline") == "enabled"
    assert state(kernel, "model.scripted") == "disabled"


def test_exactly_the_keys_that_are_read(tmp_path):
    keys = [code(row[0]) for row in rows(section(PAGE, "## The file").partition("In a `pyproject.toml`")[0])]
    assert keys == [
        *(f"plugins.{key}" for key in SWITCH_KEYS),
        'plugin."NAME".KEY',
        'profiles.harness."KEY".FIELD',
        'profiles.provider."KEY".init_kwargs',
        "kernel.KEY",
    ]
    values = {"autoload": "false", "strict": "true", "lock": '"a.lock"'}
    lines = [f"{key} = {values.get(key, '[]')}" for key in SWITCH_KEYS]
    path = tmp_path / "deepagents.toml"
    path.write_text("\n".join(["[plugins]", *lines]), encoding="utf-8")
    switches = read_file(path, Level.PROJECT, {}).switches
    assert all(getattr(switches, key) is not None for key in SWITCH_KEYS)
    assert switches.lock == tmp_path / "a.lock"


def test_the_arguments_of_a_call_are_called_like_the_keys():
    taken = inspect.signature(Kernel.discover).parameters
    listed = re.search(r"are called like the keys of the file: (.+?)\.", WORDS)[1]
    assert re.findall(r"`(\w+)`", listed) == [*SWITCH_KEYS, "settings"]
    assert {*SWITCH_KEYS, "settings", "config"} <= set(taken)


def test_reserved_tables_are_refused(tmp_path):
    names = re.findall(r"`(\w+)`", re.search(r"The tables (.+?) are reserved", WORDS)[1])
    assert names == ["backends", "agents", "permissions"]
    for name in names:
        path = tmp_path / "deepagents.toml"
        path.write_text(f"[{name}]\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="does not read this table yet"):
            read_file(path, Level.PROJECT, {})


def test_every_place_has_a_row_in_the_order_of_precedence():
    table = rows(section(PAGE, "## Where it comes from").partition("### ")[0])
    words = ["the plugin", "user file", "project file", "environment", "command line", "code"]
    assert [row[0] for row in table] == words
    assert len(Level) == len(words)


def test_no_file_is_what_the_null_device_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    (tmp_path / "deepagents.toml").write_text("[plugins]\ndisable = ['offline']\n", encoding="utf-8")
    assert "--config /dev/null" in PAGE
    where = {"directory": tmp_path, "workspace": None, "trust_workspace": False, "environ": {}}
    found = load_for_command(config=None, **where)
    assert [source.level for source in found.sources] == [Level.PROJECT, Level.ENVIRONMENT]
    without = load_for_command(config=os.devnull, **where)
    assert not any(source.switches.disable for source in without.sources)
    assert user_file().name == "deepagents.toml"


def test_a_program_reads_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    text = '[plugins]\ndisable = ["model.scripted"]\n'
    for path in (tmp_path / "deepagents.toml", tmp_path / "deepagents-kernel" / "deepagents.toml"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert state(Kernel.discover(), "model.scripted") == "enabled"
    assert state(Kernel.discover(config="deepagents.toml"), "model.scripted") == "disabled"
    monkeypatch.setenv("DEEPAGENTS_CONFIG", "deepagents.toml")
    assert state(Kernel.discover(), "model.scripted") == "disabled"
    assert state(Kernel(), "model.scripted") == "enabled"


# -- names and rules ------------------------------------------------------------------------------


def test_every_form_of_a_name_stands_for_what_the_page_says():
    candidates = [
        Candidate(NAME, "deepagents-audit-log", NAME),
        Candidate("middleware.filesystem"),
        Candidate("model.offline"),
    ]
    table = rows(section(PAGE, "## Names"))
    assert [row[0] for row in table] == ["registered name", "short name", "distribution", "wildcard"]
    for row in table:
        for text in re.findall(r"`([^`]+)`", row[1]):
            selection = select(text.upper().replace("-", "_"), candidates)
            assert 0 in selection.found
            assert selection.wide == (row[0] in ("distribution", "wildcard"))
    assert select("middleware.*", candidates).found == (0, 1)


def test_scaffolding_is_named():
    listed = re.search(r"\*\*Scaffolding can't be switched off\*\*:(.+?)can be replaced", WORDS)[1]
    assert set(re.findall(r"`([^`]+)`", listed)) == load_table().required


@pytest.mark.parametrize("rule", [{"allow": ["deepagents-kernel"]}, {"required": ["deepagents-kernel"]}])
def test_the_kernels_own_distribution_stands_for_built_ins_where_the_page_says(site, rule):
    kernel = Kernel.discover(**rule, enable=load_table().optional)  # all of them, those off by default too
    assert state(kernel, "model.offline") == "enabled"
    assert state(kernel, NAME) == ("blocked" if "allow" in rule else "enabled")


@pytest.mark.parametrize("rule", ["enable", "disable"])
def test_and_nowhere_else(rule):
    with pytest.raises(PluginRuleError, match="no plugin named 'deepagents-kernel'"):
        Kernel.discover(**{rule: ["deepagents-kernel"]})


def test_what_an_outer_file_demands_is_not_taken_back(site, tmp_path, monkeypatch):
    (text,) = [text for _, text in BLOCKS if "allow =" in text]
    write_lock(tmp_path / "deepagents.lock", scan([str(site.folder)]).plugins, kernel=__version__)
    path = tmp_path / "deepagents.toml"
    path.write_text(text, encoding="utf-8")
    site.add("deepagents-other", {"middleware.other": middleware("Other")})
    for rules in ({"enable": ["middleware.other"]}, {"allow": ["*"]}):
        assert state(Kernel.discover(config=path, **rules), "middleware.other") == "blocked"
    with pytest.raises(PluginRuleError, match="is required and disabled"):
        Kernel.discover(config=path, disable=["audit-log"])
    with pytest.raises(SettingsError, match="sets a lock"):
        Kernel.discover(config=path, lock=False)
    module = site.folder / "deepagents_audit_log.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    with pytest.raises(PluginRuleError, match="is required and blocked"):
        Kernel.discover(config=path)


def test_objects_of_the_program_are_not_covered_by_a_closed_list():
    mine = tiny.slots(tiny.slot("Mine"))
    kernel = Kernel.discover([("middleware.mine", mine)], allow=["deepagents-kernel"])
    assert "middleware.mine" in kernel.records


# -- environment ----------------------------------------------------------------------------------


def test_exactly_the_variables_that_are_read():
    table = rows(section(PAGE, "## Environment variables"))
    assert [(code(row[0]), row[1]) for row in table] == list(VARIABLES)


def test_words_for_yes_and_no():
    listed = re.search(r"Yes and no are written (.+?)\.", WORDS)[1]
    assert set(re.findall(r"`(\w+)`", listed)) == set(flag_words().split(", "))


def test_the_variables_of_the_page_are_taken():
    (block,) = [text for _, text in code_blocks(PAGE, "console") if "export" in text]
    found = dict(re.findall(r"""^\$ export (\w+)=["']?(.+?)["']?$""", block, re.MULTILINE))
    source = environment_source(found)
    assert source.switches.disable == ("audit-log", "model.scripted")
    assert source.settings == {
        "middleware.filesystem": {"grep_max_count": "200"},
        "model.init-chat-model": {"options": {"timeout": 30}},
    }


def test_a_variable_that_is_almost_one_is_refused():
    near = re.search(r"almost one of these, such as `(\w+)`", WORDS)[1]
    with pytest.raises(ConfigError, match="DEEPAGENTS_PLUGINS_DISABLE"):
        environment_source({near: "x"})
    assert environment_source({"DEEPAGENTS_COLOUR": "blue"}).settings == {}


# -- what is seen ---------------------------------------------------------------------------------


def test_exactly_the_states():
    table = [row for row in rows(section(PAGE, "## See what holds")) if len(row) == 2]
    assert [code(row[0]) for row in table][-len(PluginState) :] == [str(item) for item in PluginState]


def test_the_code_of_the_page_shows_who_decided(monkeypatch):
    for name in [name for name in os.environ if name.startswith("DEEPAGENTS_")]:
        monkeypatch.delenv(name)
    namespace = {}
    for _, block in code_blocks(PAGE, "python"):
        exec(block, namespace)
    assert namespace["states"]["model.scripted"] == ("disabled", "Kernel.discover(disable=...)")
    assert namespace["states"]["model.offline"][0] == "enabled"
    assert namespace["changed"] == {"kernel.recursion_limit": (500, "Kernel.discover(settings=...)")}


@pytest.mark.parametrize("page", ["README.md", "docs/configuration.md", "docs/plugins.md"])
def test_commands_that_a_page_names_are_there(page):
    # As they stand in code: with the program in front, or below `plugins`.
    text = read(page)
    named = re.findall(r"deepagents-kernel ([a-z]+)(?: ([a-z]+))?", text)
    named += re.findall(r"`(plugins) ([a-z]+)", text)
    assert named
    for command, word in named:
        assert command in COMMANDS
        assert command != "plugins" or word in PLUGIN_COMMANDS


def test_the_package_of_the_page_is_there():
    assert Path(PACKAGE, "pyproject.toml").is_file()
