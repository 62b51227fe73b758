"""Packages of deepagents' own convention: callables that register profiles, in two groups of their own."""

import logging
import os
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest
import tiny
from installed import Site

from deepagents_kernel import PluginState, PluginWarning, api, get_kernel
from deepagents_kernel.plugins import installed as installed_module
from deepagents_kernel.shared import SharedKernel

PROVIDERS, HARNESSES = "deepagents.provider_profiles", "deepagents.harness_profiles"

ACME = textwrap.dedent("""
    from deepagents_kernel import HarnessProfile, ProviderProfile
    from deepagents_kernel import register_harness_profile, register_provider_profile
    CALLS = []

    def provider():
        CALLS.append("provider")
        register_provider_profile("acme", ProviderProfile(init_kwargs={"timeout": 5}))

    def harness():
        CALLS.append("harness")
        register_harness_profile("acme", HarnessProfile(system_prompt_suffix="Be brief."))
""")


@pytest.fixture
def site(tmp_path, monkeypatch):
    return Site(tmp_path, monkeypatch)


def add(site, distribution, source, provider=None, harness=None, **options):
    """A distribution with one module and entry points of the two groups."""
    from deepagents_kernel.testing import Distribution

    module = f"{distribution.replace('-', '_')}_module"
    groups = {}
    if provider:
        groups[PROVIDERS] = {name: f"{module}:{target}" for name, target in provider.items()}
    if harness:
        groups[HARNESSES] = {name: f"{module}:{target}" for name, target in harness.items()}
    site.lay(Distribution(distribution, "1.2", {f"{module}.py": source}, groups, **options))
    return module


def quiet_kernel(site, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        return site.kernel(**options)


@pytest.fixture
def fresh(monkeypatch):
    """Modules of these tests have fixed names."""
    yield
    for name in [name for name in sys.modules if name.endswith("_module")]:
        del sys.modules[name]


pytestmark = pytest.mark.usefixtures("fresh")


@pytest.mark.spec("BOOT-004")
def test_the_callables_register_into_the_kernel_that_is_being_built(site):
    module = add(site, "deepagents-acme", ACME, {"acme": "provider"}, {"acme": "harness"})
    kernel = site.kernel()
    assert kernel.profiles.provider("acme").init_kwargs == {"timeout": 5}
    assert kernel.profiles.harness("acme").system_prompt_suffix == "Be brief."
    assert sys.modules[module].CALLS == ["provider", "harness"]
    other = tiny.kernel()
    assert other.profiles.harness_keys() == []
    names = [row.name for row in kernel.catalog.rows if row.installed]
    assert names == ["harness.deepagents-acme-acme", "provider.deepagents-acme-acme"]
    (layer,) = kernel.profiles.layers("harness", "acme")
    assert layer.owner == "harness.deepagents-acme-acme"
    assert kernel.catalog.row("harness.deepagents-acme-acme").provides == ("harness profiles",)


@pytest.mark.spec("BOOT-004", "BOOT-002")
def test_the_shared_kernel_gets_them_too(site, monkeypatch):
    add(site, "deepagents-acme", ACME, {"acme": "provider"}, {"acme": "harness"})
    monkeypatch.setattr(api, "_shared", SharedKernel(site.kernel))
    assert get_kernel().profiles.harness_keys() == ["acme"]


@pytest.mark.spec("BOOT-025")
def test_two_packages_may_use_one_entry_point_name(site):
    add(site, "deepagents-acme", ACME, harness={"profiles": "harness"})
    other = ACME.replace("Be brief.", "Be kind.")
    add(site, "deepagents-bolt", other, harness={"profiles": "harness"})
    kernel = site.kernel()
    layers = kernel.profiles.layers("harness", "acme")
    assert [layer.owner for layer in layers] == [
        "harness.deepagents-acme-profiles",
        "harness.deepagents-bolt-profiles",
    ]


@pytest.mark.parametrize("selector", ["deepagents-acme", "acme", "harness.*", "harness.deepagents-acme-acme"])
def test_they_are_switched_off_like_any_other_plugin(site, selector):
    module = add(site, "deepagents-acme", ACME, harness={"acme": "harness"})
    kernel = site.kernel(disable=[selector])
    assert kernel.profiles.harness_keys() == []
    assert module not in sys.modules


@pytest.mark.spec("BOOT-012")
def test_a_target_that_cannot_be_called_is_refused(site, caplog):
    add(site, "deepagents-acme", "THING = {'a': 1}\n", harness={"thing": "THING"})
    add(site, "deepagents-bolt", ACME, harness={"acme": "harness"})
    with pytest.warns(PluginWarning, match=r"deepagents-acme-thing.*is dict, and a function is expected"):
        kernel = site.kernel()
    assert kernel.profiles.harness_keys() == ["acme"]
    assert kernel.catalog.row("harness.deepagents-acme-thing").state is PluginState.FAILED
    assert [item.levelno for item in caplog.records if item.event == "plugin_failed"] == [logging.ERROR]


@pytest.mark.spec("BOOT-013")
def test_a_callable_that_raises_leaves_nothing_it_registered(site, caplog):
    half = ACME + "\ndef broken():\n    harness()\n    provider()\n    raise RuntimeError('no ink')\n"
    add(site, "deepagents-acme", half, harness={"acme": "broken"})
    good = ACME.replace('"acme"', '"bolt"')
    add(site, "deepagents-bolt", good, harness={"bolt": "harness"})
    with pytest.warns(PluginWarning, match=r"harness\.deepagents-acme-acme .*RuntimeError: no ink"):
        kernel = site.kernel()
    assert kernel.profiles.harness_keys() == ["bolt"]
    assert kernel.profiles.provider_keys() == []
    (record,) = [item for item in caplog.records if item.event == "plugin_failed"]
    assert record.levelno == logging.ERROR
    assert record.exc_info


@pytest.mark.spec("BOOT-010")
def test_a_part_of_the_environment_that_cannot_be_read_costs_nothing_else(site, caplog):
    add(site, "deepagents-acme", ACME, harness={"acme": "harness"})
    broken = site.folder / "broken_thing-1.0.dist-info"
    broken.mkdir()
    (broken / "entry_points.txt").write_bytes(b"[deepagents.plugins]\n\xff\xfe = \xff")
    (broken / "METADATA").write_text("Name: broken-thing\nVersion: 1.0\n", encoding="utf-8")
    with pytest.warns(PluginWarning, match="broken.thing"):
        kernel = site.kernel()
    assert kernel.profiles.harness_keys() == ["acme"]
    assert len(kernel.catalog.troubles) == 1
    (record,) = [item for item in caplog.records if item.event == "plugin_scan_trouble"]
    assert record.levelno == logging.WARNING
    # In a process in which nobody has imported pydantic, whose own search for plugins such a package breaks.
    code = (
        "import sys\n"
        "assert 'pydantic' not in sys.modules\n"
        "from deepagents_kernel import Kernel\n"
        "kernel = Kernel.discover()\n"
        "assert 'acme' in kernel.profiles.harness_keys()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "broken_thing-1.0.dist-info" in done.stderr


@pytest.mark.spec("BOOT-010", "BOOT-007")
def test_an_environment_that_cannot_be_listed_leaves_the_built_ins(site, monkeypatch):
    def distributions(**_):
        raise RuntimeError("no listing")

    monkeypatch.setattr(installed_module.importlib.metadata, "distributions", distributions)
    with pytest.warns(PluginWarning, match="no listing"):
        kernel = site.kernel()
    assert list(kernel.records) == ["backend.tiny"]
    assert kernel.plan(tiny.request())


@pytest.mark.spec("BOOT-020")
def test_a_callable_may_build_an_agent_and_sees_what_is_registered(site):
    source = ACME + textwrap.dedent("""
        from deepagents_kernel import create_deep_agent, get_kernel
        from deepagents_kernel.testing import ScriptedChatModel
        SEEN = []

        def looks():
            harness()
            SEEN.append(get_kernel().profiles.harness("acme").system_prompt_suffix)
            answer = create_deep_agent(ScriptedChatModel(["hi"])).invoke({"messages": "x"})
            SEEN.append(answer["messages"][-1].text)
    """)
    module = add(site, "deepagents-acme", source, harness={"acme": "looks"})
    site.kernel()
    assert sys.modules[module].SEEN == ["Be brief.", "hi"]


def test_kernels_built_at_the_same_time_do_not_mix(site):
    slow = ACME.replace("def harness():\n", "def harness():\n    import time; time.sleep(0.02)\n")
    add(site, "deepagents-acme", slow, {"acme": "provider"}, {"acme": "harness"})
    kernels = []
    threads = [threading.Thread(target=lambda: kernels.append(site.kernel())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(kernels) == 6
    assert all(len(kernel.profiles.layers("harness", "acme")) == 1 for kernel in kernels)
    assert all(len(kernel.profiles.layers("provider", "acme")) == 1 for kernel in kernels)


def test_a_version_that_does_not_fit_is_not_imported(site):
    module = add(
        site,
        "deepagents-acme",
        "raise SystemExit",
        harness={"acme": "harness"},
        requires=("deepagents-kernel<0.0.1",),
    )
    kernel = quiet_kernel(site)
    assert kernel.catalog.row("harness.deepagents-acme-acme").state is PluginState.INCOMPATIBLE
    assert module not in sys.modules
