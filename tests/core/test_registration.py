"""What can be a plugin, what is refused and how, and that the order of loading never matters."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import types

import pytest
import tiny
from attrs import frozen

from deepagents_kernel import Kernel, PluginInfo, Segment, hookimpl, hookspec
from deepagents_kernel._builtin import BuiltinTable
from deepagents_kernel.errors import PluginError
from deepagents_kernel.plugins.info import HOOK_API


def refused(plugins=(), **options):
    with pytest.raises(PluginError) as caught:
        tiny.kernel(plugins, **options)
    return caught.value


# -- what a plugin may be ------------------------------------------------------------------------


class Audit:
    PLUGIN = PluginInfo(name="middleware.audit")

    @hookimpl
    def deepagents_middleware(self):
        return tiny.slot("Audit")


def test_a_class_is_refused_where_an_instance_belongs():
    error = refused({"middleware.audit": Audit})
    assert error.plugin == "middleware.audit"
    assert "class" in error.reason
    assert "instance" in error.hint


def test_an_instance_a_module_and_static_functions_are_taken():
    class Static:
        @staticmethod
        @hookimpl
        def deepagents_middleware(context):
            return tiny.slot("Static")

    module = types.ModuleType("a_module")
    module.deepagents_middleware = hookimpl(lambda: tiny.slot("Module"))
    kernel = tiny.kernel({"middleware.c": Audit(), "middleware.b": Static(), "middleware.a": module})
    assert tiny.order(kernel.plan(tiny.request()).main) == ["Module", "Static", "Audit"]


def test_a_function_named_like_a_hook_must_be_marked():
    class Unmarked:
        def deepagents_tools(self, context):
            return []

    error = refused({"middleware.audit": Unmarked()})
    assert "deepagents_tools" in error.reason
    assert "hookimpl" in error.hint


def test_an_object_without_implementations_is_refused():
    for plugin in (types.ModuleType("empty"), tiny.plugin(), "middleware.audit"):
        error = refused({"middleware.audit": plugin})
        assert error.plugin == "middleware.audit"
        assert "no hook implementations" in error.reason


def test_an_unknown_hook_is_refused_with_the_nearest():
    error = refused({"middleware.audit": tiny.plugin(deepagents_midleware=lambda context: None)})
    assert "deepagents_midleware" in error.reason
    assert "deepagents_middleware" in error.hint


def test_an_unknown_argument_is_refused_with_the_nearest():
    error = refused({"middleware.audit": tiny.plugin(deepagents_middleware=lambda contxt: None)})
    assert "'contxt'" in error.reason
    assert "nearest: context" in error.hint


def test_an_argument_with_a_default_is_the_plugins_own_affair():
    def deepagents_middleware(context, own="Mine"):
        return tiny.slot(own)

    kernel = tiny.kernel({"middleware.audit": tiny.plugin(deepagents_middleware=deepagents_middleware)})
    assert tiny.order(kernel.plan(tiny.request()).main) == ["Mine"]


@pytest.mark.parametrize("kind", ["wrapper", "hookwrapper"])
def test_a_wrapper_is_refused(kind):
    class Wraps:
        @hookimpl(**{kind: True})
        def deepagents_middleware(self):
            yield

    error = refused({"middleware.audit": Wraps()})
    assert "wrapper" in error.reason
    assert "plain function" in error.hint


@pytest.mark.parametrize(
    "name", ["audit", "middleware.Audit", "middleware.audit_log", "thing.audit", "middleware.", "kernel", ""]
)
def test_a_malformed_name_is_refused(name):
    error = refused([(name, Audit())])
    assert "name" in error.reason
    assert "kind.name" in error.hint or not name


def test_a_plugin_without_a_name_is_refused_with_the_ways_to_give_one():
    error = refused([tiny.plugin()])
    assert "no name" in error.reason
    assert "PLUGIN" in error.hint


def test_plugin_info_of_another_type_is_refused():
    error = refused({"middleware.audit": types.SimpleNamespace(PLUGIN={"name": "middleware.audit"})})
    assert "PluginInfo" in error.reason
    assert "dict" in error.reason


def test_a_plugin_for_another_hook_contract_is_refused():
    error = refused({"middleware.audit": tiny.plugin(PluginInfo(hook_api=HOOK_API + 1))})
    assert str(HOOK_API + 1) in error.reason
    assert str(HOOK_API) in error.reason


def test_a_duplicate_name_is_refused():
    error = refused([("middleware.audit", Audit()), ("middleware.audit", Audit())])
    assert error.plugin == "middleware.audit"
    assert "already" in error.reason


def test_the_name_of_a_builtin_is_refused_even_when_that_is_disabled():
    for disable in ((), ("middleware.audit",)):
        error = refused([Audit()], builtins={"middleware.audit": Audit()}, disable=disable)
        assert "already" in error.reason
        assert "replaces=" in error.hint


def test_equal_plugin_objects_are_two_plugins():
    @frozen
    class Tagged:
        tag: str = "same"

        @hookimpl
        def deepagents_tools(self):
            return {"type": self.tag}

    kernel = tiny.kernel({"middleware.a": Tagged(), "middleware.b": Tagged()})
    assert [item.plugin for item in kernel.hooks("deepagents_tools", context=None)] == [
        "middleware.a",
        "middleware.b",
    ]


def test_one_object_is_not_two_plugins_of_one_kernel():
    audit = Audit()
    error = refused({"middleware.a": audit, "middleware.b": audit})
    assert error.plugin == "middleware.b"
    assert "middleware.a" in error.reason


def test_an_implementation_under_another_name_is_checked_like_any_other():
    class Renamed:
        @hookimpl(specname="deepagents_middleware")
        def slots(self, contxt):
            return None

    error = refused({"middleware.audit": Renamed()})
    assert "deepagents_middleware has no argument 'contxt'" in error.reason
    assert "nearest: context" in error.hint


def test_one_object_serves_two_kernels():
    audit = Audit()
    first, second = tiny.kernel([audit]), tiny.kernel({"middleware.second": audit})
    for kernel, name in ((first, "middleware.audit"), (second, "middleware.second")):
        assert kernel.plan(tiny.request()).main.entries[0].plugin == name


@pytest.mark.parametrize(
    "plugins",
    [[Audit()], [("middleware.audit", Audit())], {"middleware.audit": Audit()}, iter([Audit()])],
    ids=["objects", "pairs", "mapping", "iterator"],
)
def test_plugins_are_given_as_objects_as_pairs_or_by_name(plugins):
    kernel = tiny.kernel(plugins)
    assert list(kernel.records) == ["backend.tiny", "middleware.audit"]
    assert kernel.builtin_names == {"backend.tiny"}


# -- two phases ----------------------------------------------------------------------------------


class EchoHooks:
    @hookspec
    def deepagents_echo(self, word):
        """Say it again."""


DECLARER = tiny.plugin(deepagents_addhooks=lambda pluginmanager: pluginmanager.add_hookspecs(EchoHooks))


@pytest.mark.parametrize(
    ("implementer", "declarer"), [("middleware.a", "bundle.z"), ("middleware.z", "bundle.a")]
)
def test_a_hook_may_be_implemented_by_a_plugin_loaded_before_its_declarer(implementer, declarer):
    plugins = {implementer: tiny.plugin(deepagents_echo=lambda word: word * 2), declarer: DECLARER}
    for given in (plugins, dict(reversed(plugins.items()))):
        [answer] = tiny.kernel(given).hooks("deepagents_echo", word="ho")
        assert (answer.plugin, answer.value) == (implementer, "hoho")


def test_the_argument_of_a_declared_hook_is_checked_too():
    plugins = {"middleware.a": tiny.plugin(deepagents_echo=lambda wrod: wrod), "middleware.b": DECLARER}
    assert "nearest: word" in refused(plugins).hint


def test_an_implementation_of_an_absent_plugins_hook_is_inert_only_if_declared_optional():
    class Optional:
        @hookimpl(optionalhook=True)
        def deepagents_echo(self, word):
            return word

    kernel = tiny.kernel({"middleware.a": Optional()})
    with pytest.raises(PluginError, match="deepagents_echo"):
        kernel.hooks("deepagents_echo", word="ho")
    kernel = tiny.kernel({"middleware.a": Optional(), "middleware.b": DECLARER})
    assert [item.value for item in kernel.hooks("deepagents_echo", word="ho")] == ["ho"]
    assert (
        "deepagents_echo" in refused({"middleware.a": tiny.plugin(deepagents_echo=lambda word: word)}).reason
    )


def test_declaring_hooks_that_raises_refuses_the_plugin_by_name():
    def deepagents_addhooks(pluginmanager):
        raise RuntimeError("no luck")

    error = refused({"bundle.broken": tiny.plugin(deepagents_addhooks=deepagents_addhooks)})
    assert error.plugin == "bundle.broken"
    assert "RuntimeError: no luck" in error.reason
    assert isinstance(error.__cause__, RuntimeError)


# -- disable, requires, conflicts -----------------------------------------------------------------


def test_a_disabled_plugin_is_not_there():
    kernel = tiny.kernel([Audit()], disable="middleware.audit")
    assert list(kernel.records) == ["backend.tiny"]
    assert tiny.order(kernel.plan(tiny.request()).main) == []


def test_disabling_an_unknown_plugin_is_an_error_with_the_nearest():
    error = refused([Audit()], disable=["middelware.audit"])
    assert error.plugin == "middelware.audit"
    assert "middleware.audit" in error.hint


def test_a_disabled_builtin_is_never_imported(tmp_path):
    (tmp_path / "costly_plugin.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    (tmp_path / "main.py").write_text(
        "import sys\n"
        "from deepagents_kernel import Kernel\n"
        "from deepagents_kernel._builtin import BuiltinTable\n"
        "table = BuiltinTable(plugins={'middleware.costly': 'costly_plugin'})\n"
        "kernel = Kernel(builtins=table, disable=['middleware.costly'])\n"
        "assert not kernel.records\n"
        "print('costly_plugin' in sys.modules)\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "main.py")],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("False\n", "", 0)


def test_builtins_are_loaded_from_a_module_an_attribute_or_an_object(monkeypatch):
    module = types.ModuleType("some_plugin_module")
    module.deepagents_middleware = hookimpl(lambda: tiny.slot("OfModule"))
    module.AUDIT = Audit()
    monkeypatch.setitem(sys.modules, "some_plugin_module", module)
    builtins = {
        "middleware.z": "some_plugin_module",
        "middleware.y": "some_plugin_module:AUDIT",
        "middleware.x": tiny.slots(tiny.slot("OfObject")),
    }
    kernel = tiny.kernel(builtins=builtins)
    assert tiny.order(kernel.plan(tiny.request()).main) == ["OfModule", "Audit", "OfObject"]


def test_a_required_plugin_must_be_there():
    needs = tiny.plugin(PluginInfo(requires="middleware.audit-log"), deepagents_tools=lambda: None)
    error = refused({"middleware.needs": needs, "middleware.audit-logs": Audit()})
    assert error.plugin == "middleware.needs"
    assert "middleware.audit-log" in error.reason
    assert "middleware.audit-logs" in error.hint
    assert tiny.kernel({"middleware.needs": needs, "middleware.audit-log": Audit()})


def test_a_required_plugin_that_is_disabled_is_not_there():
    plugins = {
        "middleware.needs": tiny.plugin(
            PluginInfo(requires="middleware.audit"), deepagents_tools=lambda: None
        ),
        "middleware.audit": Audit(),
    }
    assert refused(plugins, disable=["middleware.audit"]).plugin == "middleware.needs"


def test_plugins_in_conflict_cannot_be_together():
    rival = tiny.plugin(PluginInfo(conflicts="middleware.audit"), deepagents_tools=lambda: None)
    error = refused({"middleware.rival": rival, "middleware.audit": Audit()})
    assert {error.plugin, *error.reason.split()} >= {"middleware.rival", "middleware.audit"}
    assert "disable" in error.hint
    assert tiny.kernel({"middleware.rival": rival})


def test_a_kernel_without_plugins_is_a_kernel():
    kernel = Kernel(builtins=BuiltinTable())
    assert kernel.plugins == ()
    assert kernel.hooks("deepagents_tools", context=None) == ()


# -- order ---------------------------------------------------------------------------------------


@pytest.mark.spec("BY-084")
def test_the_order_of_registration_never_changes_a_plan():
    plugins = {
        "middleware.a": tiny.slots(tiny.slot("A1"), tiny.slot("A2", before="D")),
        "middleware.b": tiny.slots(tiny.slot("B", segment=Segment.TAIL)),
        "bundle.c": tiny.slots(tiny.slot("C", segment=Segment.USER)),
        "middleware.d": tiny.slots(tiny.slot("D"), tiny.slot("D2", segment=Segment.TAIL, before="B")),
    }
    seen = set()
    for names in itertools.permutations(plugins):
        for forms in ([(name, plugins[name]) for name in names], {name: plugins[name] for name in names}):
            kernel = tiny.kernel(forms)
            assert list(kernel.records) == ["backend.tiny", *sorted(plugins)]
            plan = kernel.plan(tiny.request())
            seen.add((tuple(tiny.order(plan.main)), plan.fingerprint))
    assert len(seen) == 1
    [(order, _)] = seen
    assert order == ("A1", "A2", "D", "C", "D2", "B")


@pytest.mark.spec("BY-084")
def test_builtins_keep_the_order_of_their_table_and_come_before_third_parties():
    builtins = {"middleware.z": tiny.slots(tiny.slot("Z")), "middleware.y": tiny.slots(tiny.slot("Y"))}
    third = {"middleware.a": tiny.slots(tiny.slot("A"))}
    assert tiny.order(tiny.kernel(third, builtins=builtins).plan(tiny.request()).main) == ["Z", "Y", "A"]
