"""The shared kernel: made once, by whoever asks first, whatever threads and plugins do meanwhile."""

import contextvars
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import tiny

from deepagents_kernel import (
    HarnessProfile,
    Kernel,
    PluginError,
    ProviderProfile,
    api,
    get_kernel,
    use_kernel,
)
from deepagents_kernel.api import register_harness_profile, register_provider_profile
from deepagents_kernel.current import current_kernel
from deepagents_kernel.models import model_matches_spec
from deepagents_kernel.profiles.lookup import harness_for_spec
from deepagents_kernel.profiles.provider import apply_provider_profile, get_provider_profile
from deepagents_kernel.shared import SharedKernel
from deepagents_kernel.testing import ScriptedChatModel


@pytest.fixture
def shared(monkeypatch):
    """A shared kernel of its own for each test, and a list of what made one."""
    made = []

    def make():
        made.append(threading.get_ident())
        return tiny.kernel()

    monkeypatch.setattr(api, "_shared", SharedKernel(make))
    return made


def start_thread(work, *args):
    """A thread that never keeps the tests from ending, whatever hangs in it."""
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def join(threads):
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def in_threads(count, work):
    start, results = threading.Barrier(count, timeout=30), []

    def run():
        start.wait()
        results.append(work())

    join([start_thread(run) for _ in range(count)])
    return results


# -- when it is made ------------------------------------------------------------------------------


@pytest.mark.spec("BOOT-001")
def test_importing_and_looking_at_models_makes_no_kernel(shared):
    HarnessProfile(excluded_tools={"grep"})
    ProviderProfile(init_kwargs={"a": 1})
    assert not model_matches_spec(ScriptedChatModel(["done"]), "acme:m")
    assert shared == []
    code = (
        "import deepagents_kernel, sys\n"
        "from deepagents_kernel import HarnessProfile, ProviderProfile\n"
        "HarnessProfile(); ProviderProfile()\n"
        "assert 'deepagents_kernel.kernel' not in sys.modules\n"
        "from deepagents_kernel import api\n"
        "from deepagents_kernel.models import resolve_model\n"
        "from deepagents_kernel.testing import ScriptedChatModel\n"
        "model = ScriptedChatModel(['done'])\n"
        "assert resolve_model(model) is model\n"
        "assert api._shared._kernel is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.spec("BOOT-002")
@pytest.mark.parametrize(
    "use",
    [
        lambda: register_harness_profile("acme", HarnessProfile()),
        lambda: register_provider_profile("acme", ProviderProfile()),
        lambda: get_provider_profile("acme:m"),
        lambda: apply_provider_profile("acme:m"),
        lambda: harness_for_spec(get_kernel().profiles, "acme:m"),
    ],
)
def test_registering_and_looking_up_makes_it_once(shared, use):
    use()
    use()
    assert len(shared) == 1


@pytest.mark.spec("BOOT-006", "BOOT-005")
def test_what_a_program_registers_lies_on_top_of_what_plugins_bring(monkeypatch):
    brings = tiny.plugin(
        deepagents_harness_profiles=lambda: [("acme", HarnessProfile(base_system_prompt="plugin"))]
    )
    monkeypatch.setattr(api, "_shared", SharedKernel(lambda: tiny.kernel({"harness.acme": brings})))
    register_harness_profile("acme", HarnessProfile(base_system_prompt="program"))
    registry = get_kernel().profiles
    assert registry.harness("acme").base_system_prompt == "program"
    assert [layer.owner for layer in registry.layers("harness", "acme")] == ["harness.acme", ""]


# -- threads --------------------------------------------------------------------------------------


@pytest.mark.spec("BOOT-021")
def test_thirty_two_threads_make_one_kernel(monkeypatch):
    made = []

    def make():
        made.append(1)
        time.sleep(0.05)
        return tiny.kernel()

    monkeypatch.setattr(api, "_shared", SharedKernel(make))
    kernels = in_threads(32, get_kernel)
    assert made == [1]
    assert len({id(kernel) for kernel in kernels}) == 1
    assert len(kernels) == 32


@pytest.mark.spec("BOOT-021", "BOOT-026")
def test_registrations_while_it_is_made_are_stored_afterwards(monkeypatch):
    started, go = threading.Event(), threading.Event()
    brings = tiny.plugin(deepagents_harness_profiles=lambda: [("acme", HarnessProfile(excluded_tools={"a"}))])

    def make():
        started.set()
        assert go.wait(10)
        return tiny.kernel({"harness.acme": brings})

    monkeypatch.setattr(api, "_shared", SharedKernel(make))
    builder = start_thread(get_kernel)
    assert started.wait(10)
    others = [
        start_thread(register_harness_profile, "acme", HarnessProfile(excluded_tools={str(number)}))
        for number in range(8)
    ]
    go.set()
    join([builder, *others])
    layers = get_kernel().profiles.layers("harness", "acme")
    assert [layer.owner for layer in layers] == ["harness.acme", *[""] * 8]
    assert get_kernel().profiles.harness("acme").excluded_tools == {"a", *map(str, range(8))}


@pytest.mark.spec("BOOT-022")
def test_when_making_it_fails_a_waiting_thread_tries_again(monkeypatch):
    attempts, started, waiting = [], threading.Event(), threading.Event()

    def make():
        attempts.append(1)
        started.set()
        if len(attempts) == 1:
            assert waiting.wait(10)
            time.sleep(0.05)
            raise RuntimeError("no ink")
        return tiny.kernel()

    monkeypatch.setattr(api, "_shared", SharedKernel(make))
    results = []

    def first():
        with pytest.raises(RuntimeError, match="no ink"):
            get_kernel()
        results.append("failed")

    def second():
        waiting.set()
        results.append(get_kernel())

    threads = [start_thread(first)]
    assert started.wait(10)
    join([*threads, start_thread(second)])
    assert len(attempts) == 2
    assert "failed" in results
    assert in_threads(1, get_kernel)[0] in results


@pytest.mark.spec("BOOT-015")
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_leaves_nothing_that_others_wait_for(monkeypatch, interrupt):
    attempts = []

    def make():
        attempts.append(1)
        if len(attempts) == 1:
            raise interrupt
        return tiny.kernel()

    monkeypatch.setattr(api, "_shared", SharedKernel(make))

    def interrupted():
        with pytest.raises(interrupt):
            get_kernel()
        return "interrupted"

    assert in_threads(1, interrupted) == ["interrupted"]
    assert len({id(kernel) for kernel in in_threads(4, get_kernel)}) == 1


# -- plugins that use the kernel while it is made -------------------------------------------------


@pytest.mark.spec("BOOT-020")
def test_a_plugin_sees_the_kernel_that_is_being_made(monkeypatch):
    seen = {}

    def earlier():
        return [("acme", HarnessProfile(base_system_prompt="earlier"))]

    def later():
        kernel = get_kernel()
        seen["earlier"] = kernel.profiles.harness("acme").base_system_prompt
        register_harness_profile("acme", HarnessProfile(system_prompt_suffix="mine"))
        seen["agent"] = kernel.create_deep_agent(ScriptedChatModel(["built"])).invoke({"messages": "go"})

    plugins = {
        "harness.a": tiny.plugin(deepagents_harness_profiles=earlier),
        "harness.b": tiny.plugin(deepagents_harness_profiles=later),
    }
    made = []
    monkeypatch.setattr(api, "_shared", SharedKernel(lambda: made.append(1) or tiny.kernel(plugins)))
    kernel = get_kernel()
    assert made == [1]
    assert seen["earlier"] == "earlier"
    assert seen["agent"]["messages"][-1].text == "built"
    assert kernel.profiles.harness("acme").system_prompt_suffix == "mine"
    assert [layer.owner for layer in kernel.profiles.layers("harness", "acme")] == ["harness.a", "harness.b"]


@pytest.mark.spec("BOOT-023")
def test_a_plugin_that_waits_for_a_thread_that_waits_for_it_is_told_and_nothing_hangs(monkeypatch):
    monkeypatch.setattr("deepagents_kernel.shared.PATIENCE", 0.2)
    told = []

    def ask():
        try:
            get_kernel()
        except PluginError as error:
            told.append(error)

    def profiles():
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(30)

    plugin = tiny.plugin(deepagents_harness_profiles=profiles)
    monkeypatch.setattr(api, "_shared", SharedKernel(lambda: tiny.kernel({"harness.waits": plugin})))
    assert "harness.waits" in get_kernel().records
    (error,) = told
    assert "0.2 seconds" in error.reason
    assert "must not wait" in error.hint


def test_the_plugin_that_keeps_others_waiting_is_named(tmp_path, monkeypatch):
    from installed import Site

    source = textwrap.dedent("""
        import threading
        from deepagents_kernel import get_kernel, hookimpl
        TOLD = []

        def ask():
            try:
                get_kernel()
            except Exception as error:
                TOLD.append(error)

        @hookimpl
        def deepagents_configure():
            thread = threading.Thread(target=ask, daemon=True)
            thread.start()
            thread.join(30)
    """)
    site = Site(tmp_path, monkeypatch)
    module = site.add("deepagents-waits", {"bundle.waits": source})["bundle.waits"]
    monkeypatch.setattr("deepagents_kernel.shared.PATIENCE", 0.2)
    monkeypatch.setattr(api, "_shared", SharedKernel(site.kernel))
    get_kernel()
    (error,) = sys.modules[module].TOLD
    assert error.plugin == "bundle.waits"
    assert "plugin bundle.waits" in str(error)


# -- another kernel for a while -------------------------------------------------------------------


def test_a_program_may_choose_what_the_shared_kernel_is(shared):
    mine = Kernel()
    with use_kernel(mine) as chosen:
        assert chosen is mine
        assert get_kernel() is mine
        register_harness_profile("acme", HarnessProfile(base_system_prompt="mine"))
        assert contextvars.copy_context().run(get_kernel) is mine
    assert shared == []
    assert mine.profiles.harness("acme").base_system_prompt == "mine"
    assert current_kernel() is None
    assert get_kernel() is not mine


def test_the_choice_ends_with_an_error_too(shared):
    with pytest.raises(RuntimeError), use_kernel(Kernel()):
        raise RuntimeError
    assert current_kernel() is None
