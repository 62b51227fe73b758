"""docs/settings.md has every setting, with its type and its default, and says where values come from."""

import ast
import inspect
import re

import attrs
import pytest
from pages import ROOT, code, read, rows, section, sources

from deepagents_kernel import Kernel
from deepagents_kernel.assembly.compile import KernelSettings
from deepagents_kernel.config.environment import VARIABLES

PAGE = read("docs/settings.md")
KERNEL = Kernel()
CLASSES = {
    "kernel": KernelSettings,
    **{record.name: record.info.settings for record in KERNEL.plugins if record.info.settings},
}
OPTIONS = {spec.name: spec.options for _, spec in KERNEL.backends.values() if spec.options}


def shown(kind):
    """A type as its class writes it."""
    return kind if isinstance(kind, str) else inspect.formatannotation(kind).replace("typing.", "")


def table(cls):
    """Key, type and default of each field."""
    kinds = inspect.get_annotations(cls)
    empty = cls()
    return [
        (field.alias, shown(kinds[field.name]), repr(getattr(empty, field.name)))
        for field in attrs.fields(cls)
        if field.init
    ]


def test_every_plugin_with_settings_has_a_section_and_no_other():
    headings = re.findall(r"^## `(.+)`$", PAGE, re.MULTILINE)
    assert headings == list(CLASSES)
    assert re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE) == list(OPTIONS)


@pytest.mark.parametrize("name", [*CLASSES, *OPTIONS])
def test_keys_types_and_defaults(name):
    cls = CLASSES.get(name) or OPTIONS[name]
    found = rows(section(PAGE, f"## `{name}`" if name in CLASSES else f"### `{name}`"))
    assert [(code(row[0]), code(row[1]), code(row[2])) for row in found] == table(cls)
    assert all(row[3].endswith(".") for row in found)


def environment_reads():
    """``(module, what)`` wherever a package reads the environment, or lets click read it."""
    found = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "arg", None))
            of_os = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "os"
            if (of_os and name in {"environ", "environb", "getenv"}) or name in {
                "envvar",
                "auto_envvar_prefix",
            }:
                found.add((str(path.relative_to(ROOT)), name))
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                found |= {(str(path.relative_to(ROOT)), f"from os import {item.name}") for item in node.names}
    return found


def test_the_environment_is_read_where_a_kernel_and_a_command_begin():
    # Whatever else needs a variable is handed the mapping; docs/configuration.md has the table of all.
    allowed = ("core/deepagents_kernel/config/", "core/deepagents_kernel/cli/")
    elsewhere = {item for item in environment_reads() if not item[0].startswith(allowed)}
    assert elsewhere == {
        ("core/deepagents_kernel/kernel.py", "environ"),
        # variables of OpenRouter's own package, and one of deepagents, where the settings are silent
        ("plugins_builtin/deepagents_builtin/profiles/provider/openrouter.py", "environ"),
        (
            "core/deepagents_kernel/testing/environments.py",
            "environ",
        ),  # that of the tests, for their children
    }
    assert {what for _, what in environment_reads()} == {"environ"}


def test_the_page_names_where_the_variables_are():
    text = section(PAGE, "## Environment variables")
    assert "configuration.md#environment-variables" in text
    assert all(name.startswith("DEEPAGENTS_") for name, _ in VARIABLES)


def test_what_is_read_from_nowhere(monkeypatch):
    # A kernel that is constructed, and a built-in plugin, read no variable.
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_DISABLE", "model.scripted")
    monkeypatch.setenv("DEEPAGENTS_KERNEL__RECURSION_LIMIT", "7")
    kernel = Kernel()
    assert "model.scripted" in kernel.records
    assert [row for row in kernel.effective_settings() if row.where] == []
