"""Installed plugins: found, loaded one by one, listed with their state; a broken one costs only itself."""

import logging
import sys
import textwrap
import warnings

import pytest
import tiny
from installed import Site, middleware

from deepagents_kernel import Kernel, PlanError, PluginError, PluginState, PluginWarning
from deepagents_kernel._version import __version__
from deepagents_kernel.errors import (
    HookError,
    PluginFailedError,
    PluginRuleError,
    PluginSetError,
    SettingsError,
)
from deepagents_kernel.plugins import installed as installed_module

RAISES = "raise RuntimeError('no ink')"
HOOK = "from deepagents_kernel import hookimpl\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    return Site(tmp_path, monkeypatch)


def quiet_kernel(site, *args, **options):
    """A kernel of which some plugins may fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        return site.kernel(*args, **options)


def rows(kernel):
    return {row.name: row for row in kernel.catalog.rows if row.installed}


def states(kernel):
    return {name: str(row.state) for name, row in rows(kernel).items()}


def order(kernel):
    return tiny.order(kernel.plan(tiny.request()).main)


# -- found and in ---------------------------------------------------------------------------------


def test_an_installed_plugin_is_in_without_being_named(site):
    site.add("deepagents-audit-log", {"middleware.audit-log": middleware("Audit")}, version="0.3.1")
    kernel = site.kernel()
    assert order(kernel) == ["Audit"]
    row = kernel.catalog.row("middleware.audit-log")
    assert (row.state, row.why, row.origin) == (
        PluginState.ENABLED,
        "installed",
        "deepagents-audit-log 0.3.1",
    )
    assert row.provides == ("middleware",)
    assert row.seconds > 0
    record = kernel.records["middleware.audit-log"]
    assert (record.distribution, record.version, record.builtin) == ("deepagents-audit-log", "0.3.1", False)


def test_a_plan_names_the_distribution(site):
    site.add("deepagents-audit-log", {"middleware.audit-log": middleware("Audit")}, version="0.3.1")
    text = site.kernel().plan(tiny.request()).render(tokens=False)
    assert "deepagents-audit-log 0.3.1" in text


def test_a_kernel_that_is_constructed_discovers_nothing(site):
    site.add("deepagents-audit", {"middleware.audit": middleware("Audit")})
    assert list(Kernel(builtins=tiny.table()).records) == ["backend.tiny"]


def test_a_plugin_may_be_an_object_of_a_module(site):
    source = textwrap.dedent("""
        from deepagents_kernel import PluginInfo, hookimpl

        class Gate:
            PLUGIN = PluginInfo(summary="Guards the gate.")

            @hookimpl
            def deepagents_plan_validate(self, plan):
                return None

        GATE = Gate()
    """)
    site.add("deepagents-gate", {"bundle.gate:GATE": source})
    kernel = site.kernel()
    assert kernel.records["bundle.gate"].info.summary == "Guards the gate."
    assert kernel.catalog.row("bundle.gate").provides == ("checks",)


def test_the_environment_is_looked_at_once_for_each_kernel(site, monkeypatch):
    looks = []
    real = installed_module.scan
    monkeypatch.setattr("deepagents_kernel.kernel.scan", lambda: looks.append(1) or real())
    site.add("deepagents-a", {"middleware.a": middleware("A"), "middleware.b": middleware("B")})
    assert order(site.kernel()) == ["A", "B"]
    assert looks == [1]


@pytest.mark.spec("BY-084", "BOOT-024")
def test_the_order_in_which_distributions_are_found_changes_nothing(site, monkeypatch):
    for name in ("one", "two", "three"):
        site.add(f"deepagents-{name}", {f"middleware.{name}": middleware(name.title())})
    real = installed_module.importlib.metadata.distributions
    found = []
    for turn in (list, lambda items: list(items)[::-1]):
        monkeypatch.setattr(
            installed_module.importlib.metadata,
            "distributions",
            lambda turn=turn, **options: turn(real(**options)),
        )
        kernel = site.kernel()
        plan = kernel.plan(tiny.request())
        rows = [row.name for row in kernel.catalog.rows]
        plugins = [record.name for record in kernel.plugins]
        found.append((tiny.order(plan.main), plan.fingerprint, rows, plugins))
    assert found[0] == found[1]
    assert found[0][0] == ["One", "Three", "Two"]


# -- switched off ---------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", ["middleware.loud", "loud", "deepagents-loud", "middleware.l*"])
def test_a_disabled_plugin_is_never_imported(site, selector):
    modules = site.add("deepagents-loud", {"middleware.loud": RAISES})
    kernel = site.kernel(disable=[selector])
    row = kernel.catalog.row("middleware.loud")
    assert (row.state, row.why) == (PluginState.DISABLED, "Kernel.discover(disable=...)")
    assert not site.imported(modules["middleware.loud"])


def test_a_blocked_plugin_is_never_imported(site):
    modules = site.add("deepagents-loud", {"middleware.loud": RAISES})
    kernel = site.kernel(allow=["deepagents-kernel"])
    row = kernel.catalog.row("middleware.loud")
    assert (row.state, row.why) == (PluginState.BLOCKED, "not in allow (Kernel.discover(allow=...))")
    assert "'middleware.loud'" in row.hint
    assert not site.imported(modules["middleware.loud"])


def test_without_autoload_only_what_is_named_is_in(site):
    modules = site.add("deepagents-loud", {"middleware.loud": RAISES, "middleware.a": middleware("A")})
    kernel = site.kernel(autoload=False, enable=["middleware.a"])
    assert states(kernel) == {"middleware.a": "enabled", "middleware.loud": "discovered"}
    assert "autoload" in kernel.catalog.row("middleware.loud").why
    assert "plugins enable middleware.loud" in kernel.catalog.row("middleware.loud").hint
    assert not site.imported(modules["middleware.loud"])


def test_a_plugin_that_is_off_by_default_waits_to_be_named(site):
    modules = site.add("deepagents-a", {"middleware.a": middleware("A")}, group="deepagents.optional_plugins")
    kernel = site.kernel()
    assert states(kernel) == {"middleware.a": "discovered"}
    assert kernel.catalog.row("middleware.a").why == "off by default"
    assert not site.imported(modules["middleware.a"])
    assert order(site.kernel(enable="a")) == ["A"]


def test_the_environment_switches_plugins(site, monkeypatch):
    site.add("deepagents-a", {"middleware.a": middleware("A"), "middleware.b": middleware("B")})
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_DISABLE", " a , ")
    kernel = site.kernel()
    assert order(kernel) == ["B"]
    assert kernel.catalog.row("middleware.a").why == "DEEPAGENTS_PLUGINS_DISABLE"
    assert order(site.kernel(enable=["a"])) == ["A", "B"]
    monkeypatch.delenv("DEEPAGENTS_PLUGINS_DISABLE")
    monkeypatch.setenv("DEEPAGENTS_PLUGINS_AUTOLOAD", "0")
    assert order(site.kernel()) == []


def test_a_file_switches_plugins_and_is_named(site, tmp_path):
    site.add("deepagents-a", {"middleware.a": middleware("A"), "middleware.b": middleware("B")})
    config = tmp_path / "deepagents.toml"
    config.write_text('[plugins]\n\ndisable = ["b"]\n', encoding="utf-8")
    kernel = site.kernel(config=config)
    assert order(kernel) == ["A"]
    assert kernel.catalog.row("middleware.b").why.endswith("deepagents.toml:3")


def test_an_unknown_name_is_an_error_before_anything_is_imported(site):
    modules = site.add("deepagents-loud", {"middleware.loud": RAISES})
    with pytest.raises(PluginRuleError) as caught:
        site.kernel(disable=["middelware.loud"])
    assert str(caught.value).startswith(
        "no plugin named 'middelware.loud' (from Kernel.discover(disable=...))"
    )
    assert "nearest: middleware.loud" in caught.value.hint
    assert not site.imported(modules["middleware.loud"])


def test_several_problems_are_told_together(site):
    with pytest.raises(PluginSetError) as caught:
        site.kernel(disable=["nope"], required=["backend.never"])
    assert [error.plugin for error in caught.value.errors] == ["nope", "backend.never"]
    assert "1. no plugin named 'nope'" in str(caught.value)


# -- does not fit ---------------------------------------------------------------------------------


def test_a_plugin_for_another_kernel_is_never_imported(site):
    modules = site.add("deepagents-new", {"middleware.new": RAISES}, requires=("deepagents-kernel>=99",))
    with pytest.warns(PluginWarning, match=r"middleware\.new .*incompatible: needs deepagents-kernel>=99"):
        kernel = site.kernel()
    row = kernel.catalog.row("middleware.new")
    assert row.state is PluginState.INCOMPATIBLE
    assert __version__ in row.why
    assert row.hint
    assert not site.imported(modules["middleware.new"])


def test_a_plugin_for_this_kernel_is_in(site):
    site.add(
        "deepagents-a", {"middleware.a": middleware("A")}, requires=(f"deepagents-kernel>={__version__}",)
    )
    assert order(site.kernel()) == ["A"]


def test_a_plugin_for_another_hook_contract_fails(site):
    source = f"{HOOK}from deepagents_kernel import PluginInfo\nPLUGIN = PluginInfo(hook_api=99)\n"
    site.add("deepagents-a", {"middleware.a": source})
    row = rows(quiet_kernel(site))["middleware.a"]
    assert row.state is PluginState.FAILED
    assert "hook contract 99" in row.why


def test_two_packages_with_one_plugin_name_are_both_refused(site):
    site.add("deepagents-x", {"middleware.a": RAISES}, version="1.0")
    site.add("deepagents-y", {"middleware.a": RAISES}, version="2.0")
    kernel = quiet_kernel(site)
    found = kernel.catalog.named("middleware.a")
    assert [(row.origin, str(row.state)) for row in found] == [
        ("deepagents-x 1.0", "failed"),
        ("deepagents-y 2.0", "failed"),
    ]
    assert "deepagents-y 2.0 has it too" in found[0].why
    assert "-p no:deepagents-x" in found[0].hint


def test_of_two_packages_with_one_name_one_can_be_chosen(site):
    site.add("deepagents-x", {"middleware.a": RAISES})
    site.add("deepagents-y", {"middleware.a": middleware("A")})
    kernel = site.kernel(disable=["deepagents-x"])
    assert order(kernel) == ["A"]
    assert [str(row.state) for row in kernel.catalog.named("middleware.a")] == ["disabled", "enabled"]


def test_a_package_cannot_take_the_name_of_a_built_in_or_of_a_plugin_in_code(site):
    modules = site.add("deepagents-x", {"backend.tiny": RAISES, "middleware.mine": RAISES})
    mine = tiny.slots(tiny.slot("Mine"))
    kernel = quiet_kernel(site, [("middleware.mine", mine)])
    assert order(kernel) == ["Mine"]
    assert states(kernel) == {"backend.tiny": "failed", "middleware.mine": "failed"}
    assert "built-in" in kernel.catalog.named("backend.tiny")[1].why
    assert not any(site.imported(module) for module in modules.values())


def test_a_name_that_is_none_fails_with_what_a_name_is(site):
    site.add("deepagents-x", {"Audit": RAISES})
    (row,) = rows(quiet_kernel(site)).values()
    assert row.state is PluginState.FAILED
    assert "not a plugin name" in row.why
    assert "middleware.audit-log" in row.hint


# -- fails ----------------------------------------------------------------------------------------

INFO = f"{HOOK}from deepagents_kernel import PluginInfo\nPLUGIN = PluginInfo(%s)\n"
TOOLS = "@hookimpl\ndef deepagents_tools(): pass\n"


def hook(name, body):
    """Source of a plugin with one hook."""
    return f"{HOOK}from deepagents_kernel import HarnessProfile\n@hookimpl\ndef deepagents_{name}: {body}\n"


BROKEN = {
    "import": (RAISES, "RuntimeError: no ink"),
    "missing": ("import boto33", "ModuleNotFoundError: No module named 'boto33'"),
    "assertion": ("assert False, 'never'", "AssertionError: never"),
    "syntax": ("def (", "SyntaxError"),
    "no hooks": ("x = 1", "no hook implementations"),
    "unknown hook": (hook("middlewares()", "pass"), "there is no hook deepagents_middlewares"),
    "unknown argument": (hook("middleware(contxt)", "pass"), "no argument 'contxt'"),
    "unmarked": ("def deepagents_tools(): pass", "not marked"),
    "info": (f"PLUGIN = 1\n{HOOK}{TOOLS}", "PluginInfo"),
    "addhooks": (hook("addhooks()", "raise ValueError('no')"), "ValueError: no"),
    "profiles": (
        hook("harness_profiles()", "raise ValueError('no')"),
        "deepagents_harness_profiles: ValueError: no",
    ),
    "profile key": (hook("harness_profiles()", "return [(':', HarnessProfile())]"), "':'"),
    "backends": (hook("backends()", "raise ValueError('no')"), "deepagents_backends: ValueError: no"),
    "backend type": (hook("backends()", "return 3"), "BackendSpec is expected"),
    "configure": (hook("configure()", "raise ValueError('no')"), "deepagents_configure: ValueError: no"),
    "settings": (INFO % "settings=int" + TOOLS, "not an attrs class"),
    "requires": (INFO % "requires='middleware.off'" + TOOLS, "requires middleware.off"),
    "conflicts": (INFO % "conflicts='backend.tiny'" + TOOLS, "can't be together with backend.tiny"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_plugin_that_fails_is_left_out_and_the_others_are_there(site, what):
    source, reason = BROKEN[what]
    site.add("deepagents-a", {"middleware.a": middleware("A")})
    site.add("deepagents-broken", {"middleware.broken": source}, version="2.1")
    site.add("deepagents-z", {"middleware.z": middleware("Z")})
    with pytest.warns(PluginWarning) as caught:
        kernel = site.kernel()
    assert order(kernel) == ["A", "Z"]
    row = kernel.catalog.row("middleware.broken")
    assert row.state is PluginState.FAILED
    assert reason in row.why
    assert row.hint
    assert "middleware.broken" not in kernel.records
    (warning,) = caught
    text = str(warning.message)
    assert "\n" not in text
    assert "plugin middleware.broken (deepagents-broken 2.1" in text
    assert reason in text
    assert row.hint in text
    assert warning.filename == installed_file()


def installed_file():
    import installed

    return installed.__file__


@pytest.mark.spec("BOOT-011", "BOOT-025")
def test_a_failure_is_logged_with_its_traceback_and_where_it_comes_from(site, caplog):
    site.add("deepagents-broken", {"middleware.broken": RAISES}, version="2.1")
    site.add("deepagents-a", {"middleware.a": middleware("A")})
    with pytest.warns(
        PluginWarning, match=r"middleware.broken \(deepagents-broken 2.1, .*RuntimeError: no ink"
    ):
        kernel = site.kernel()
    assert order(kernel) == ["A"]
    (record,) = [item for item in caplog.records if item.event == "plugin_failed"]
    assert record.levelno == logging.ERROR
    assert record.exc_info[0] is RuntimeError
    assert record.fields["origin"] == "deepagents-broken 2.1"
    assert record.fields["plugin"] == "middleware.broken"
    assert record.fields["target"] == kernel.catalog.row("middleware.broken").target


@pytest.mark.spec("BOOT-016")
def test_a_filter_that_makes_errors_of_warnings_does_not_cost_the_kernel(site):
    site.add("deepagents-broken", {"middleware.broken": RAISES})
    site.add("deepagents-a", {"middleware.a": middleware("A")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert order(site.kernel()) == ["A"]


PARTLY = (
    HOOK
    + "from deepagents_kernel import BackendSpec, HarnessProfile, ProviderProfile, hookspec\n"
    + "class Own:\n    @hookspec\n    def deepagents_shelf(self):\n        '''Ours.'''\n"
    + "@hookimpl\ndef deepagents_addhooks(pluginmanager): pluginmanager.add_hookspecs(Own)\n"
    + "@hookimpl\ndef deepagents_harness_profiles(): return [('acme', HarnessProfile())]\n"
    + "@hookimpl\ndef deepagents_provider_profiles(): return [('acme', ProviderProfile())]\n"
    + "@hookimpl\ndef deepagents_backends(): return BackendSpec('shelf', lambda path, options: None)\n"
    + "@hookimpl\ndef deepagents_tools(): pass\n"
)


def test_nothing_of_a_plugin_that_fails_at_last_remains(site):
    site.add("deepagents-a", {"middleware.a": middleware("A")})
    before = site.kernel()
    site.add(
        "deepagents-partly", {"bundle.partly": PARTLY + "@hookimpl\ndef deepagents_configure(): 1 / 0\n"}
    )
    after = quiet_kernel(site)
    assert states(after) == {"bundle.partly": "failed", "middleware.a": "enabled"}
    assert after.calls.declared() == before.calls.declared()
    assert [after.calls.providers(hook) for hook in after.calls.declared()] == [
        before.calls.providers(hook) for hook in before.calls.declared()
    ]
    assert after.profiles.harness_keys() == before.profiles.harness_keys() == []
    assert after.profiles.provider_keys() == []
    assert list(after.backends) == list(before.backends) == ["tiny"]


def test_the_same_plugin_with_nothing_wrong_brings_all_of_it(site):
    site.add("deepagents-partly", {"bundle.partly": PARTLY})
    kernel = site.kernel()
    assert "deepagents_shelf" in kernel.calls.declared()
    assert kernel.profiles.harness_keys() == ["acme"]
    assert kernel.profiles.layers("harness", "acme")[0].owner == "bundle.partly"
    assert "shelf" in kernel.backends
    assert kernel.catalog.row("bundle.partly").provides == (
        "backends",
        "harness profiles",
        "provider profiles",
        "tools",
        "1 hook",
    )


def test_a_plugin_that_was_told_is_told_again_when_a_later_one_fails(site):
    told = []
    watcher = tiny.plugin(
        deepagents_configure=lambda kernel: told.append(sorted(kernel.records)),
        deepagents_unconfigure=lambda kernel: told.append("closed"),
    )
    site.add("deepagents-z", {"middleware.z": f"{HOOK}@hookimpl\ndef deepagents_configure(): 1 / 0\n"})
    quiet_kernel(site, {"bundle.watcher": watcher})
    assert told == [
        ["backend.tiny", "bundle.watcher", "middleware.z"],
        "closed",
        ["backend.tiny", "bundle.watcher"],
    ]


def test_a_failure_takes_along_what_requires_it(site):
    needs = (
        f"{HOOK}from deepagents_kernel import PluginInfo\n"
        "PLUGIN = PluginInfo(requires='middleware.broken')\n@hookimpl\ndef deepagents_tools(): pass\n"
    )
    site.add("deepagents-broken", {"middleware.broken": RAISES})
    site.add("deepagents-needs", {"bundle.needs": needs})
    kernel = quiet_kernel(site)
    assert states(kernel) == {"bundle.needs": "failed", "middleware.broken": "failed"}
    assert "failed (RuntimeError: no ink)" in kernel.catalog.row("bundle.needs").why


def test_an_implementation_of_a_plugin_that_failed_is_refused_or_inert(site):
    owner = PARTLY + "raise RuntimeError('late')\n"
    site.add("deepagents-owner", {"bundle.owner": owner})
    site.add("deepagents-strictly", {"bundle.strictly": f"{HOOK}@hookimpl\ndef deepagents_shelf(): pass\n"})
    maybe = f"{HOOK}@hookimpl(optionalhook=True)\ndef deepagents_shelf(): pass\n"
    site.add("deepagents-maybe", {"bundle.maybe": maybe})
    kernel = quiet_kernel(site)
    assert states(kernel) == {
        "bundle.maybe": "enabled",
        "bundle.owner": "failed",
        "bundle.strictly": "failed",
    }
    assert kernel.catalog.row("bundle.maybe").provides == ("inert: shelf",)


def test_declared_hooks_are_there_for_a_plugin_that_is_loaded_earlier(site):
    site.add("deepagents-a", {"bundle.a": f"{HOOK}@hookimpl\ndef deepagents_shelf(): return 'a'\n"})
    site.add("deepagents-z", {"bundle.z": PARTLY})
    kernel = site.kernel()
    assert [(answer.plugin, answer.value) for answer in kernel.hooks("deepagents_shelf")] == [
        ("bundle.a", "a")
    ]


def test_packages_that_offer_one_backend_are_both_refused(site):
    offer = (
        f"{HOOK}from deepagents_kernel import BackendSpec\n"
        "@hookimpl\ndef deepagents_backends(): return BackendSpec('shelf', lambda path, options: None)\n"
    )
    site.add("deepagents-x", {"backend.x": offer})
    site.add("deepagents-y", {"backend.y": offer})
    kernel = quiet_kernel(site)
    assert states(kernel) == {"backend.x": "failed", "backend.y": "failed"}
    assert list(kernel.backends) == ["tiny"]
    assert list(site.kernel(disable=["backend.y"]).backends) == ["tiny", "shelf"]


def test_a_package_cannot_take_the_backend_of_a_built_in(site):
    offer = (
        f"{HOOK}from deepagents_kernel import BackendSpec\n"
        "@hookimpl\ndef deepagents_backends(): return BackendSpec('tiny', lambda path, options: None)\n"
    )
    site.add("deepagents-x", {"backend.x": offer})
    kernel = quiet_kernel(site)
    assert states(kernel) == {"backend.x": "failed"}
    assert kernel.plan(tiny.request())


@pytest.mark.spec("BOOT-014")
def test_a_built_in_that_fails_is_an_error_and_the_next_kernel_tries_again(site):
    attempts = []

    def configure():
        attempts.append(1)
        if len(attempts) == 1:
            raise RuntimeError("no ink")

    builtins = {"middleware.own": tiny.plugin(deepagents_configure=configure)}
    with pytest.raises(HookError, match="no ink"):
        site.kernel(builtins=builtins)
    assert "middleware.own" in site.kernel(builtins=builtins).records


def test_a_plugin_in_code_that_fails_is_an_error(site):
    def configure():
        raise RuntimeError("no ink")

    with pytest.raises(HookError, match="no ink"):
        site.kernel({"middleware.mine": tiny.plugin(deepagents_configure=configure)})


@pytest.mark.parametrize("interrupt", ["KeyboardInterrupt", "SystemExit"])
@pytest.mark.parametrize("when", ["import", "configure"])
@pytest.mark.spec("BOOT-015")
def test_an_interrupt_passes_and_leaves_nothing_behind(site, monkeypatch, interrupt, when):
    monkeypatch.setenv("TINY_INTERRUPT", "1")
    body = f"import os\nif os.environ.get('TINY_INTERRUPT'): raise {interrupt}('stop')\n"
    if when == "configure":
        body = f"{HOOK}@hookimpl\ndef deepagents_configure():\n    " + body.replace("\n", "\n    ")
    else:
        body += f"{HOOK}@hookimpl\ndef deepagents_tools(): pass\n"
    site.add("deepagents-stop", {"middleware.stop": body})
    closed = []
    watcher = tiny.plugin(
        deepagents_configure=lambda: None, deepagents_unconfigure=lambda: closed.append("closed")
    )
    stdout = sys.stdout
    with pytest.raises(BaseException) as caught:
        site.kernel({"bundle.watcher": watcher})
    assert type(caught.value).__name__ == interrupt
    assert sys.stdout is stdout
    assert closed == (["closed"] if when == "configure" else [])
    monkeypatch.delenv("TINY_INTERRUPT")
    assert states(site.kernel()) == {"middleware.stop": "enabled"}


# -- strict and required --------------------------------------------------------------------------


def test_strict_makes_an_error_of_a_failure(site):
    site.add("deepagents-broken", {"middleware.broken": RAISES}, version="2.1")
    with pytest.raises(PluginFailedError) as caught:
        site.kernel(strict=True)
    assert caught.value.plugin == "middleware.broken"
    assert caught.value.origin == "deepagents-broken 2.1"
    assert caught.value.source == "strict (Kernel.discover(strict=...))"
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_strict_makes_an_error_of_what_does_not_fit(site):
    site.add("deepagents-new", {"middleware.new": RAISES}, requires=("deepagents-kernel>=99",))
    with pytest.raises(PluginFailedError, match="deepagents-kernel>=99"):
        site.kernel(strict=True)


def test_a_required_plugin_that_fails_is_an_error(site):
    site.add("deepagents-broken", {"middleware.broken": RAISES})
    with pytest.raises(PluginFailedError) as caught:
        site.kernel(required=["broken"])
    assert caught.value.source == "required (Kernel.discover(required=...))"


@pytest.mark.parametrize("rule", [{"disable": ["a"]}, {"autoload": False}, {"allow": ["deepagents-kernel"]}])
def test_a_required_plugin_that_is_off_is_an_error(site, rule):
    site.add("deepagents-a", {"middleware.a": middleware("A")})
    with pytest.raises(PluginRuleError) as caught:
        site.kernel(required=["middleware.a"], **rule)
    assert "middleware.a is required and" in str(caught.value)
    assert caught.value.source == "Kernel.discover(required=...)"


def test_a_required_plugin_that_is_not_installed_is_an_error(site):
    with pytest.raises(PluginRuleError, match=r"no plugin named 'middleware\.audit', and it is required"):
        site.kernel(required=["middleware.audit"])
    assert site.kernel(required=["backend.tiny"])


def test_a_closed_list_without_scaffolding_says_what_to_add(site):
    with pytest.raises(PluginError) as caught:
        Kernel.discover(allow=["model.offline"])
    assert "middleware.filesystem" in str(caught.value)
    assert "deepagents-kernel" in str(caught.value)


# -- settings -------------------------------------------------------------------------------------

SETTINGS = textwrap.dedent("""
    from attrs import frozen
    from deepagents_kernel import MiddlewareSpec, PluginInfo, hookimpl
    from langchain.agents.middleware import AgentMiddleware

    @frozen
    class AuditSettings:
        path: str = "audit.log"
        keep: int = 10

    PLUGIN = PluginInfo(settings=AuditSettings)

    class Audit(AgentMiddleware):
        def __init__(self, settings):
            super().__init__()
            self.settings = settings

    @hookimpl
    def deepagents_middleware(context):
        return MiddlewareSpec("Audit", Audit, lambda context: Audit(context.settings(AuditSettings)))
""")


def test_settings_reach_a_plugin_from_file_environment_and_code_in_every_stack(site, tmp_path, monkeypatch):
    site.add("deepagents-audit", {"middleware.audit": SETTINGS})
    config = tmp_path / "deepagents.toml"
    config.write_text('[plugin."middleware.audit"]\npath = "from-file"\nkeep = 20\n', encoding="utf-8")
    builtins = {"middleware.children": tiny.children()}

    def found(**options):
        kernel = site.kernel(builtins=builtins, config=config, **options)
        plan = kernel.plan(tiny.request())
        settings = {stack.entries[0].instance.settings for stack in plan.stacks()}
        assert len(list(plan.stacks())) == 2
        (only,) = settings
        return (only.path, only.keep), {
            row.key: row.where for row in kernel.effective_settings() if row.plugin == "middleware.audit"
        }

    values, where = found()
    assert values == ("from-file", 20)
    assert where["path"].endswith("deepagents.toml:2")
    assert where["keep"].endswith("deepagents.toml:3")
    monkeypatch.setenv("DEEPAGENTS_PLUGIN__MIDDLEWARE_AUDIT__KEEP", "30")
    values, where = found()
    assert values == ("from-file", 30)
    assert where["keep"] == "DEEPAGENTS_PLUGIN__MIDDLEWARE_AUDIT__KEEP"
    values, where = found(settings={"middleware.audit": {"path": "from-code"}})
    assert values == ("from-code", 30)
    assert where["path"] == "Kernel.discover(settings=...)"


@pytest.mark.spec("BY-086")
@pytest.mark.parametrize(
    ("line", "key", "text"),
    [
        ('pth = "x"', "middleware.audit.pth", "nearest: path"),
        ('keep = "many"', "middleware.audit.keep", "many"),
    ],
)
def test_a_bad_setting_names_key_file_and_line(site, tmp_path, line, key, text):
    site.add("deepagents-audit", {"middleware.audit": SETTINGS})
    config = tmp_path / "deepagents.toml"
    config.write_text(f'# settings\n[plugin."middleware.audit"]\n{line}\n', encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        site.kernel(config=config)
    assert caught.value.key == key
    assert caught.value.source.endswith("deepagents.toml:3")
    assert text in str(caught.value)


def test_settings_of_an_unknown_plugin_name_the_nearest(site, tmp_path):
    site.add("deepagents-audit", {"middleware.audit": SETTINGS})
    config = tmp_path / "deepagents.toml"
    config.write_text('[plugin."middleware.audits"]\nkeep = 1\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"nearest: middleware\.audit"):
        site.kernel(config=config)


def test_settings_in_a_file_wait_for_a_plugin_that_is_off(site, tmp_path):
    modules = site.add("deepagents-audit", {"middleware.audit": SETTINGS})
    config = tmp_path / "deepagents.toml"
    config.write_text('[plugin."middleware.audit"]\nanything = 1\n', encoding="utf-8")
    assert site.kernel(config=config, disable=["audit"])
    assert not site.imported(modules["middleware.audit"])


def test_settings_of_the_kernel_itself_come_from_a_file_too(tmp_path, monkeypatch):
    config = tmp_path / "deepagents.toml"
    config.write_text("[kernel]\nrecursion_limit = 77\n", encoding="utf-8")
    monkeypatch.setenv("DEEPAGENTS_KERNEL__INTEGRATION", "harbour")
    kernel = Kernel.discover(config=config)
    found = {row.key: (row.value, row.where) for row in kernel.effective_settings() if row.plugin == "kernel"}
    assert found["recursion_limit"][0] == 77
    assert found["recursion_limit"][1].endswith("deepagents.toml:2")
    assert found["integration"] == ("harbour", "DEEPAGENTS_KERNEL__INTEGRATION")
    assert found["guard"] == ("", "")


def test_a_program_may_read_the_configuration_itself(site):
    from deepagents_kernel import Configuration

    site.add("deepagents-a", {"middleware.a": middleware("A")})
    assert order(site.kernel(config=Configuration())) == ["A"]


# -- hostile packages -----------------------------------------------------------------------------

GATE = """
from deepagents_kernel import Problem, hookimpl

@hookimpl
def deepagents_plan_validate(plan):
    return Problem("closed")
"""


@pytest.mark.parametrize(
    "attempt",
    [
        "pluginmanager.set_blocked('bundle.gate')",
        "pluginmanager.register(object(), 'other.plugin')",
        "pluginmanager.register(object(), 'bundle.gate')",
        "pluginmanager.unregister(name='bundle.gate')",
        "pluginmanager.hook.__dict__.clear()",
    ],
)
def test_a_plugin_can_declare_hooks_and_reach_no_other_plugin(site, attempt):
    site.add("deepagents-gate", {"bundle.gate": GATE})
    site.add("deepagents-evil", {"bundle.evil": hook("addhooks(pluginmanager)", attempt)})
    kernel = quiet_kernel(site)
    assert states(kernel) == {"bundle.evil": "failed", "bundle.gate": "enabled"}
    assert "add_hookspecs" in kernel.catalog.row("bundle.evil").why
    with pytest.raises(PlanError, match="closed"):
        kernel.plan(tiny.request())


TEXTLESS = """
class Odd(ValueError):
    def __str__(self):
        raise {error}

raise Odd
"""


@pytest.mark.parametrize("error", ["ValueError('inner')", "SystemExit(3)", "RecursionError"])
def test_an_exception_that_cannot_be_shown_costs_its_plugin_alone(site, error):
    site.add("deepagents-odd", {"middleware.odd": TEXTLESS.format(error=error)})
    site.add("deepagents-a", {"middleware.a": middleware("A")})
    kernel = quiet_kernel(site)
    assert order(kernel) == ["A"]
    assert kernel.catalog.row("middleware.odd").why == "Odd (its text can't be shown)"


@pytest.mark.parametrize(
    "error",
    [
        "type('Panic', (BaseException,), {})('rust')",
        "GeneratorExit('x')",
        "__import__('asyncio').CancelledError('x')",
        "BaseExceptionGroup('some', [type('Panic', (BaseException,), {})('rust')])",
        "ExceptionGroup('some', [ValueError('x')])",
    ],
)
def test_what_is_no_exception_and_ends_no_process_is_a_failure_too(site, error):
    site.add("deepagents-odd", {"middleware.odd": f"raise {error}"})
    assert states(quiet_kernel(site)) == {"middleware.odd": "failed"}


@pytest.mark.parametrize("error", ["KeyboardInterrupt()", "BaseExceptionGroup('g', [KeyboardInterrupt()])"])
def test_an_interrupt_passes_with_a_note_of_where_it_happened(site, error):
    site.add("deepagents-odd", {"middleware.odd": f"raise {error}"})
    with pytest.raises(BaseException) as caught:
        site.kernel()
    assert "raised while plugin middleware.odd was loaded" in caught.value.__notes__


def test_a_stranger_with_the_name_of_a_required_plugin_stops_nothing(site):
    site.add("deepagents-audit", {"middleware.audit": middleware("Audit")})
    site.add("deepagents-stranger", {"middleware.audit": RAISES})
    allowed = ["deepagents-kernel", "deepagents-audit"]
    kernel = site.kernel(allow=allowed, required=["middleware.audit"], strict=True)
    assert order(kernel) == ["Audit"]
    assert [str(row.state) for row in kernel.catalog.named("middleware.audit")] == ["enabled", "blocked"]
    with pytest.raises(PluginRuleError, match="is required and blocked"):
        site.kernel(allow=["deepagents-kernel"], required=["middleware.audit"])


def test_a_package_with_two_entry_points_of_one_name_is_told_apart(site):
    site.add("deepagents-x", {"middleware.a": RAISES})
    info = next(site.folder.glob("deepagents_x-*.dist-info"))
    (info / "entry_points.txt").write_text(
        "[deepagents.plugins]\nmiddleware.a = one\n\n[deepagents.optional_plugins]\nmiddleware.a = two\n",
        encoding="utf-8",
    )
    kernel = quiet_kernel(site, enable=["middleware.a"])
    assert "two entry points of that name" in kernel.catalog.row("middleware.a").hint


def test_settings_that_cannot_be_made_from_their_defaults_are_refused(site):
    source = (
        f"{HOOK}from attrs import field, frozen\nfrom deepagents_kernel import PluginInfo\n"
        "@frozen\nclass Bad:\n    x: int = field(factory=lambda: 1 // 0)\n"
        "PLUGIN = PluginInfo(settings=Bad)\n" + TOOLS
    )
    kernels = (
        f"{HOOK}from deepagents_kernel import PluginInfo\n"
        "from deepagents_kernel.assembly.compile import KernelSettings\n"
        "PLUGIN = PluginInfo(settings=KernelSettings)\n" + TOOLS
    )
    site.add("deepagents-bad", {"bundle.bad": source, "bundle.takes": kernels})
    kernel = quiet_kernel(site)
    assert states(kernel) == {"bundle.bad": "failed", "bundle.takes": "failed"}
    assert "ZeroDivisionError" in kernel.catalog.row("bundle.bad").why
    assert "the kernel" in kernel.catalog.row("bundle.takes").why


def test_a_plugin_cannot_take_others_out_of_the_kernel(site):
    body = "kernel.records.pop('backend.tiny')"
    site.add("deepagents-evil", {"bundle.evil": hook("configure(kernel)", body)})
    kernel = quiet_kernel(site)
    assert states(kernel) == {"bundle.evil": "failed"}
    assert "backend.tiny" in kernel.records
    for mapping in (kernel.records, kernel.backends, kernel.settings_by_class):
        with pytest.raises(TypeError):
            mapping["x"] = 1
