"""docs/plugins.md and docs/planning.md show what the code has: fields, and the order of the built-ins."""

import importlib
import re
import sys
import tomllib
import warnings

import attrs
import pytest
import tiny
from installed import Site
from pages import ROOT, code, code_blocks, read, rows, section

from deepagents_kernel import (
    BackendSpec,
    HarnessProfile,
    Kernel,
    MiddlewareSpec,
    PluginInfo,
    PluginWarning,
    Segment,
    hookspec,
    make_request,
)
from deepagents_kernel._builtin import load_table
from deepagents_kernel._version import __version__
from deepagents_kernel.cli.doctor.checks import SLOW
from deepagents_kernel.plugins.info import PLUGIN_NAME
from deepagents_kernel.plugins.installed import GROUPS
from deepagents_kernel.plugins.requirements import refusal
from deepagents_kernel.shared import PATIENCE
from deepagents_kernel.testing import Distribution, ScriptedChatModel

PLUGINS = read("docs/plugins.md")
WORDS = " ".join(PLUGINS.split())
PACKAGE = ROOT / "contrib" / "deepagents-audit-log"


@pytest.mark.parametrize(
    ("cls", "heading"),
    [(PluginInfo, "## A first plugin"), (MiddlewareSpec, "## Slots"), (BackendSpec, "## Backends")],
)
def test_every_field_is_explained(cls, heading):
    table = rows(section(read("docs/plugins.md"), heading))
    assert [code(row[0]) for row in table] == [field.name for field in attrs.fields(cls)]
    assert all(row[1].endswith(".") for row in table)


def test_the_features_are_those_of_the_table():
    (row,) = [row for row in rows(read("docs/plugins.md")) if code(row[0]) == "serves"]
    listed = {word.strip("`") for word in row[1].partition("(")[2].partition(")")[0].split(", ")}
    assert listed == set(load_table().features)


def test_segments_are_listed_in_order():
    table = rows(section(read("docs/planning.md"), "## Order"))
    assert [code(row[0]) for row in table[: len(Segment)]] == [segment.name.lower() for segment in Segment]


def test_the_order_of_the_built_ins():
    table = rows(section(read("docs/planning.md"), "## Order"))[len(Segment) :]
    kernel = Kernel()
    plan = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            profile=HarnessProfile(excluded_tools={"grep"}),
            interrupt_on={"ls": True},
            subagents=[{"name": "d", "description": "d"}],
        )
    )
    # The profile given for one agent does not reach a declared child, and a registered one would.
    kernel.profiles.register_harness("scripted", HarnessProfile(excluded_tools={"grep"}))
    registered = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            interrupt_on={"ls": True},
            subagents=[{"name": "d", "description": "d"}],
        )
    )
    assert plan.stack("main/d").entries[-1].segment is not Segment.GUARD
    stacks = [registered.stack(path) for path in ("main", "main/general-purpose", "main/d")]
    for column, stack in enumerate(stacks, 2):
        found = [(entry.name, entry.segment.name.lower()) for entry in stack.entries]
        shown = [(code(row[0]), row[1]) for row in table if row[column] == "x"]
        optional = {code(row[0]) for row in table if "installed" in row[5] or "enabled" in row[5]}
        assert [item for item in shown if item in found or item[0] not in optional] == found


# -- packages -------------------------------------------------------------------------------------


def test_the_package_of_the_page_is_the_one_that_is_tested():
    blocks = [text for _, text in code_blocks(section(PLUGINS, "## A package with middleware"), "python")]
    assert blocks == [(PACKAGE / "deepagents_audit_log.py").read_text(encoding="utf-8")]


def test_that_package_is_small():
    assert len((PACKAGE / "deepagents_audit_log.py").read_text(encoding="utf-8").splitlines()) < 60


@pytest.fixture
def fresh():
    """The module of the package under its own name, which other tests import from elsewhere."""
    sys.modules.pop("deepagents_audit_log", None)
    yield
    sys.modules.pop("deepagents_audit_log", None)


@pytest.mark.usefixtures("fresh")
def test_that_package_explains_its_settings(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGE))
    cls = importlib.import_module("deepagents_audit_log").AuditLogSettings
    table = rows((PACKAGE / "README.md").read_text(encoding="utf-8"))
    found = [(code(row[0]), code(row[1])) for row in table if len(row) == 3]
    assert found == [(field.name, repr(field.default).replace("'", '"')) for field in attrs.fields(cls)]
    shown = tomllib.loads(next(code_blocks((PACKAGE / "README.md").read_text(encoding="utf-8"), "toml"))[1])
    assert cls(**shown["plugin"]["middleware.audit-log"]).max_chars == 80


@pytest.mark.parametrize(
    "project",
    [
        next(code_blocks(PLUGINS, "toml"))[1],
        (PACKAGE / "pyproject.toml").read_text(encoding="utf-8"),
    ],
    ids=["page", "contrib"],
)
def test_a_project_has_what_the_page_asks_for(project):
    project = tomllib.loads(project)["project"]
    ((group, points),) = project["entry-points"].items()
    assert group in GROUPS
    assert all(PLUGIN_NAME.fullmatch(name) for name in points)
    assert project["name"].startswith("deepagents-")
    (contract,) = [text for text in project["dependencies"] if text.startswith("deepagents-kernel")]
    assert f"`{contract}`" in PLUGINS
    assert refusal([contract], __version__) is None
    assert refusal([contract], "0.2.0") is not None
    assert "deepagents-plugin" in project.get("keywords", ["deepagents-plugin"])


def test_every_kind_and_every_group_is_named():
    listed = re.search(r"hyphens; kinds are (.+?) \(several", WORDS)[1]
    kinds = PLUGIN_NAME.pattern.partition("(")[2].partition(")")[0].split("|")
    assert re.findall(r"`(\w+)`", listed) == kinds
    assert all(f"`{group}`" in WORDS for group in GROUPS)


@pytest.mark.usefixtures("fresh")
def test_the_warning_of_the_page_is_the_one_that_users_see(tmp_path, monkeypatch):
    site = Site(tmp_path, monkeypatch)
    site.lay(
        Distribution(
            "deepagents-audit-log",
            "0.1.0",
            {"deepagents_audit_log.py": "import atrs\n"},
            {"deepagents.plugins": {"middleware.audit-log": "deepagents_audit_log"}},
        )
    )
    with pytest.warns(PluginWarning) as caught:
        site.kernel()
    (shown,) = [text for _, text in code_blocks(section(PLUGINS, "## When it fails"), "text")]
    assert " ".join(shown.split()) == str(caught[0].message)


def test_numbers_of_the_page():
    assert f"more than {SLOW:g} seconds" in WORDS
    assert "After two minutes" in WORDS
    assert PATIENCE == 120


def test_what_the_page_calls_interface_can_be_imported():
    (row,) = [row for row in rows(section(PLUGINS, "## What you can build on")) if row[0] == "import paths"]
    names = re.findall(r"`(\.[\w.]+)`", row[1])
    assert ".testing" in names
    for name in names:
        importlib.import_module(f"deepagents_kernel{name}")


class RemovedIn04Warning(DeprecationWarning):
    """As the page names such a class."""


def test_a_hook_that_goes_away_warns_who_implements_it():
    assert f"`@hookspec(warn_on_impl={RemovedIn04Warning.__name__}(" in PLUGINS

    class Hooks:
        @hookspec(warn_on_impl=RemovedIn04Warning("deepagents_ahoy goes; use deepagents_hello"))
        def deepagents_ahoy(self):
            """A greeting."""

        @hookspec(warn_on_impl_args={"loud": RemovedIn04Warning("loud goes; it never did anything")})
        def deepagents_hello(self, loud, name):
            """Another greeting."""

    owner = tiny.plugin(deepagents_addhooks=lambda pluginmanager: pluginmanager.add_hookspecs(Hooks))
    silent = tiny.plugin(deepagents_hello=lambda name: name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny.kernel({"bundle.owner": owner, "bundle.silent": silent})
    for plugin in (
        tiny.plugin(deepagents_ahoy=lambda: "ahoy"),
        tiny.plugin(deepagents_hello=lambda loud: loud),
    ):
        with pytest.warns(RemovedIn04Warning, match="goes"):
            tiny.kernel({"bundle.owner": owner, "bundle.greets": plugin})


def test_listings_say_of_built_ins_what_loading_them_shows():
    table = load_table()
    kernel = Kernel.discover(enable=sorted(table.optional), autoload=False)
    shown = {row.name: row.provides for row in kernel.catalog.rows if row.builtin}
    assert shown == {name: tuple(table.provides.get(name, ())) for name in table.plugins}
    assert all(shown.values())
