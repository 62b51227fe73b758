"""docs/settings.md has every setting, with its type and its default, and every environment variable."""

import ast
import inspect
import re

import attrs
import pytest
from pages import ROOT, code, read, rows, section, sources

from deepagents_kernel import Kernel
from deepagents_kernel.assembly.compile import KernelSettings

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
    found = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "arg", None)))
            if name in {"environ", "getenv", "environb", "envvar", "auto_envvar_prefix"}:
                found.append((str(path.relative_to(ROOT)), name))
    return found


def test_no_environment_variable_is_read():
    # As soon as one is, the page needs a table of them, and this test has to compare it.
    assert "read none" in section(PAGE, "## Environment variables")
    assert environment_reads() == []
