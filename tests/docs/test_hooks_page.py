"""docs/hooks.md is what the hook specifications say, and they say what they should."""

import importlib.util
import inspect
import re

import pluggy
import pytest
from pages import ROOT, read, section

from deepagents_kernel import Kernel, hookspecs

KINDS = {"load", "collect", "resolve", "observe"}


def generator():
    spec = importlib.util.spec_from_file_location("generate_hooks", ROOT / "docs/generate_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared():
    """Hook name to its specification, of the kernel and of every built-in plugin, as pluggy has them."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for record in Kernel().plugins:
        declare = getattr(record.plugin, "deepagents_addhooks", None)
        if declare is not None:
            declare(pluginmanager=manager)
    return {
        name: caller.spec for name, caller in vars(manager.hook).items() if name.startswith("deepagents_")
    }


HOOKS = declared()


def test_the_page_is_what_the_generator_makes():
    assert read("docs/hooks.md") == generator().page(), "run: python docs/generate_hooks.py"


def test_check_tells_a_stale_page(tmp_path, monkeypatch, capsys):
    module = generator()
    monkeypatch.setattr(module, "PAGE", tmp_path / "hooks.md")
    assert module.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert module.main([]) == 0
    assert module.main(["--check"]) == 0
    assert module.main(["--other"]) == 2


def test_every_hook_of_the_built_in_kernel_is_there():
    assert sorted(HOOKS) == Kernel().calls.declared()
    assert sorted(re.findall(r"^### `(\w+)`$", read("docs/hooks.md"), re.MULTILINE)) == sorted(HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_is_shown_with_its_exact_arguments(name):
    text = section(read("docs/hooks.md"), f"### `{name}`")
    shown = re.search(r"```text\n(\w+)\((.*?)\) -> .*?\n```", text, re.DOTALL)
    assert shown[1] == name
    assert tuple(re.findall(r"(?:^|, |^ +)(\w+): ", shown[2], re.MULTILINE)) == tuple(HOOKS[name].argnames)
    assert re.findall(r"^- `(\w+)` \(`", text, re.MULTILINE) == list(HOOKS[name].argnames)


@pytest.mark.parametrize("name", HOOKS)
def test_a_docstring_follows_the_template(name):
    function = HOOKS[name].function
    lines = inspect.getdoc(function).splitlines()
    assert lines[0].endswith(".")
    assert any(line.startswith("Called ") for line in lines), "when it is called"
    params = [line.split()[1].rstrip(":") for line in lines if line.startswith(":param ")]
    assert params == list(HOOKS[name].argnames)
    assert sum(line.startswith(":returns: ") for line in lines) == 1
    (kind,) = [line for line in lines if line.startswith("Kind: ")]
    kind = re.match(r"Kind: (\w+)", kind)[1]
    assert kind in KINDS
    assert (kind == "resolve") == bool(HOOKS[name].opts.get("firstresult"))
    annotated = {parameter.annotation for parameter in inspect.signature(function).parameters.values()}
    assert inspect.Parameter.empty not in annotated
