"""Distributions that pip has really installed, seen from the command and from Python."""

import json
import os
import signal
import subprocess

import pytest
import zoo

from deepagents_kernel.testing import Distribution, PluginEnvironment
from deepagents_kernel.testing.distributions import write_source

SCRIPT = json.dumps(["done"])
ORDER = """
import json
from deepagents_kernel import get_kernel, make_request
from deepagents_kernel.testing import ScriptedChatModel
kernel = get_kernel()
plan = kernel.plan(make_request(ScriptedChatModel(["done"])))
print(json.dumps({
    "order": [entry.name for entry in plan.main.entries],
    "states": {f"{row.name} {row.distribution}": str(row.state) for row in kernel.catalog.rows},
    "why": {f"{row.name} {row.distribution}": row.why for row in kernel.catalog.rows},
}))
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Everything that leaves a kernel standing, in one environment."""
    environment = PluginEnvironment(tmp_path_factory.mktemp("mixed") / "env")
    environment.install(
        zoo.GOOD,
        zoo.BROKEN_IMPORT,
        zoo.WRONG_ARGUMENT,
        zoo.TOO_NEW,
        zoo.TOO_OLD,
        zoo.CLASH_BUILTIN,
        zoo.CLASH_A,
        zoo.CLASH_B,
        zoo.NO_REQUIREMENT,
    )
    return environment


def installed(environment, *distributions):
    environment.install(*distributions)
    return environment


@pytest.fixture
def fresh(tmp_path):
    return PluginEnvironment(tmp_path / "env")


def listed(environment, *arguments, **options):
    done = environment.cli("plugins", "list", "--json", *arguments, **options)
    assert done.returncode == 0, done.stderr
    return {f"{row['name']} {row['distribution']}": row for row in json.loads(done.stdout)["plugins"]}


EXPECTED = {
    "middleware.good deepagents-good": ("enabled", "installed"),
    "middleware.free deepagents-free": ("enabled", "installed"),
    "middleware.broken deepagents-broken": ("failed", "ModuleNotFoundError: No module named 'boto33'"),
    "middleware.argument deepagents-argument": ("failed", "no argument 'contxt'"),
    "middleware.new deepagents-new": ("incompatible", "deepagents-kernel>=99"),
    "middleware.old deepagents-old": ("incompatible", "deepagents-kernel<0.0.1"),
    "middleware.filesystem deepagents-usurper": ("failed", "built-in has it too"),
    "middleware.clash deepagents-clash-a": ("failed", "deepagents-clash-b 2.0 has it too"),
    "middleware.clash deepagents-clash-b": ("failed", "deepagents-clash-a 1.0 has it too"),
    "middleware.filesystem deepagents-kernel": ("enabled", "scaffolding"),
}


def test_python_gets_a_kernel_of_all_that_work(mixed):
    done = mixed.python(ORDER)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"Good", "Free", "FilesystemMiddleware"} <= set(found["order"])
    for name, (state, reason) in EXPECTED.items():
        assert found["states"][name] == state
        assert reason in found["why"][name]
    warned = [line for line in done.stderr.splitlines() if "PluginWarning" in line]
    failures = [state for state, _ in EXPECTED.values() if state in ("failed", "incompatible")]
    assert len(warned) == len(failures)


def test_the_command_lists_them_before_and_after_they_are_loaded(mixed):
    before = listed(mixed)
    # Nothing was imported yet: what only an import shows is not known.
    assert before["middleware.new deepagents-new"]["state"] == "incompatible"
    assert before["middleware.clash deepagents-clash-a"]["state"] == "failed"
    planned = mixed.cli("plan", "--no-tokens")
    assert planned.returncode == 0, planned.stderr
    assert "deepagents-good 0.3.1" in planned.stdout
    lines = [line for line in planned.stderr.splitlines() if "middleware.broken" in line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "deepagents-kernel: warning: plugin middleware.broken (deepagents-broken 1.2.0"
    )
    assert "boto33" in lines[0]
    assert "plugins disable middleware.broken" in lines[0]
    after = listed(mixed)
    for name, (state, reason) in EXPECTED.items():
        assert after[name]["state"] == state
        assert reason in after[name]["why"]
    assert after["middleware.good deepagents-good"]["provides"] == ["middleware"]


def test_list_is_strict_when_asked(mixed):
    assert mixed.cli("plugins", "list").returncode == 0
    assert mixed.cli("plugins", "list", "--strict").returncode == 1


def test_strict_configuration_stops_a_run_and_names_the_plugin(mixed):
    done = mixed.cli("plan", env={"DEEPAGENTS_PLUGINS_STRICT": "1", "DEEPAGENTS_PLUGINS_AUTOLOAD": "0"})
    assert done.returncode == 0, done.stderr
    switched_on = {"DEEPAGENTS_PLUGINS_STRICT": "1", "DEEPAGENTS_PLUGINS_AUTOLOAD": "0"}
    done = mixed.cli("-p", "broken", "plan", env=switched_on)
    assert done.returncode == 2
    assert "middleware.broken" in done.stderr
    assert "DEEPAGENTS_PLUGINS_STRICT" in done.stderr


def test_a_package_that_requires_no_kernel_is_in_and_noted(mixed):
    done = mixed.cli("doctor")
    assert "deepagents-free" in done.stdout
    assert listed(mixed)["middleware.free deepagents-free"]["state"] == "enabled"


def test_of_a_clash_one_package_can_be_chosen(fresh):
    good = Distribution(
        "deepagents-clash-a",
        "1.1",
        {"clash_a.py": zoo.middleware("Clash")},
        {zoo.GROUP: {"middleware.clash": "clash_a"}},
        (zoo.KERNEL,),
    )
    environment = installed(fresh, good, zoo.CLASH_B)
    plan = environment.cli("-p", "no:deepagents-clash-b", "plan", "--no-tokens")
    assert "deepagents-clash-a 1.1" in plan.stdout
    assert plan.stderr == ""


# -- a hook that raises while an agent is planned -------------------------------------------------


def test_a_hook_that_raises_stops_the_plan_and_is_named(fresh):
    environment = installed(fresh, zoo.RAISING_HOOK)
    done = environment.cli("plan")
    assert done.returncode == 2
    assert "middleware.raising" in done.stderr
    assert "deepagents_middleware" in done.stderr
    assert "no ink in stack main" in done.stderr
    assert "Traceback" not in done.stderr
    assert environment.cli("-p", "no:raising", "plan", "--no-tokens").returncode == 0
    assert environment.cli("plan", "--no-tokens", "-p", "no:raising").returncode == 0


# -- switching ------------------------------------------------------------------------------------


def test_disable_and_enable_edit_the_file_and_keep_its_comments(fresh):
    environment = installed(fresh, zoo.GOOD, zoo.BROKEN_IMPORT)
    config = environment.workspace / "deepagents.toml"
    config.write_text("# ours\n[plugins]\nstrict = true  # no surprises\n", encoding="utf-8")
    assert environment.cli("plan").returncode == 2
    assert environment.cli("plugins", "disable", "broken").returncode == 0
    text = config.read_text(encoding="utf-8")
    assert text.startswith("# ours\n[plugins]\nstrict = true  # no surprises\n")
    assert "middleware.broken" in text
    row = listed(environment)["middleware.broken deepagents-broken"]
    assert row["state"] == "disabled"
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "middleware.broken" in line)
    assert row["why"] == f"deepagents.toml:{line}"
    assert environment.cli("plan", "--no-tokens").returncode == 0
    assert environment.cli("plugins", "enable", "deepagents-broken").returncode == 0
    assert environment.cli("plan").returncode == 2


@pytest.mark.parametrize(
    "command", [["--version"], ["plugins", "list"], ["doctor"], ["plugins", "disable", "exit"]]
)
def test_recovery_commands_import_no_third_party(fresh, command):
    environment = installed(fresh, zoo.INTERRUPT, zoo.EXIT)
    done = environment.cli(*command)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "interrupted" not in done.stderr


def test_explain_says_which_rule_counted(fresh):
    environment = installed(fresh, zoo.GOOD)
    (environment.workspace / "deepagents.toml").write_text(
        '[plugins]\ndisable = ["good"]\n', encoding="utf-8"
    )
    done = environment.cli("plugins", "explain", "good", env={"DEEPAGENTS_PLUGINS_ENABLE": "good"})
    assert done.returncode == 0
    assert "deepagents.toml:2" in done.stdout
    assert "DEEPAGENTS_PLUGINS_ENABLE" in done.stdout
    assert "enabled" in done.stdout


# -- interrupts -----------------------------------------------------------------------------------


@pytest.mark.spec("BOOT-015")
def test_an_interrupt_at_import_ends_the_command_and_costs_the_next_one_nothing(fresh):
    environment = installed(fresh, zoo.INTERRUPT)
    assert environment.cli("plan").returncode == 130
    assert environment.cli("-p", "no:interrupt", "plan", "--no-tokens").returncode == 0
    code = (
        "from deepagents_kernel import Kernel, get_kernel\n"
        "for _ in range(2):\n"
        "    try:\n        get_kernel()\n"
        "    except KeyboardInterrupt:\n        print('interrupted')\n"
        "print(len(Kernel.discover(disable=['interrupt']).records) > 5)\n"
    )
    assert environment.python(code).stdout.split() == ["interrupted", "interrupted", "True"]


# -- what a plugin writes at load -----------------------------------------------------------------


@pytest.mark.spec("DWN-023")
def test_what_a_plugin_prints_at_load_never_reaches_standard_output(fresh):
    environment = installed(fresh, zoo.LOUD)
    (environment.workspace / "notes.md").write_text("Tide at noon.\n", encoding="utf-8")
    done = environment.cli("plan", "--json", "--no-tokens")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"]
    for text in ("LOUD print", "LOUD write", "LOUD child"):
        assert text in done.stderr
        assert text not in done.stdout


@pytest.mark.spec("DWN-023")
def test_a_server_on_standard_output_is_not_disturbed_while_a_kernel_is_built(fresh):
    environment = installed(fresh, zoo.LOUD)
    code = (
        "import sys, threading, time\n"
        "stop = threading.Event()\n"
        "def serve():\n"
        "    while not stop.is_set():\n"
        "        print('message'); time.sleep(0.001)\n"
        "server = threading.Thread(target=serve); server.start()\n"
        "from deepagents_kernel import get_kernel\n"
        "kernel = get_kernel()\n"
        "stop.set(); server.join()\n"
        "assert 'middleware.loud' in kernel.records\n"
    )
    done = environment.python(code)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("message") > 20
    assert "LOUD print" not in lines
    assert "message" not in done.stderr.splitlines()


# -- slow -----------------------------------------------------------------------------------------


@pytest.mark.spec("BY-087")
def test_a_slow_plugin_is_named_by_doctor_with_its_time(fresh):
    environment = installed(fresh, zoo.SLOW, zoo.GOOD)
    before = json.loads(environment.cli("doctor", "--json").stdout)["findings"]
    assert not [finding for finding in before if "to load" in finding["text"]]
    environment.cli("plan", "--no-tokens")
    done = environment.cli("doctor")
    (line,) = [line for line in done.stdout.splitlines() if "middleware.slow" in line and "0.4" in line]
    assert "s" in line
    assert not [
        line for line in done.stdout.splitlines() if "middleware.good" in line and " s" in line.split()
    ]


@pytest.mark.spec("BY-087")
def test_doctor_probes_in_a_process_of_its_own(fresh):
    environment = installed(fresh, zoo.SLOW, zoo.EXIT, zoo.INTERRUPT)
    done = environment.cli("doctor", "--probe")
    assert done.returncode == 1
    assert "middleware.slow" in done.stdout
    assert "middleware.exit" in done.stdout
    assert "middleware.interrupt" in done.stdout
    assert "Traceback" not in done.stderr


# -- conventions, hooks, bundles ------------------------------------------------------------------


@pytest.mark.spec("BOOT-004")
def test_a_package_of_deepagents_own_convention_registers_its_profiles(fresh):
    environment = installed(fresh, zoo.CONVENTION)
    code = (
        "from deepagents_kernel import get_kernel, make_request\n"
        "from deepagents_kernel.profiles.provider import get_provider_profile\n"
        "from deepagents_kernel.testing import ScriptedChatModel\n"
        "print(get_provider_profile('acme:m').init_kwargs)\n"
        "plan = get_kernel().plan(make_request(ScriptedChatModel(['done'])))\n"
        "print([entry.name for entry in plan.main.entries][-1])\n"
    )
    done = environment.python(code)
    assert done.stdout.splitlines() == ["{'timeout': 5}", "_ToolExclusionMiddleware"], done.stderr
    names = [name for name in listed(environment) if "convention" in name]
    assert len(names) == 2
    off = environment.cli("plan", "--no-tokens", "-p", "no:deepagents-convention", "--model", "offline")
    assert "_ToolExclusionMiddleware" not in off.stdout


def test_a_package_answers_a_hook_that_another_one_declares(fresh):
    environment = installed(fresh, zoo.DECLARES, zoo.IMPLEMENTS)
    code = ORDER.replace('"order"', '"prompt": plan.main.prompt, "order"')
    done = environment.python(code)
    assert done.returncode == 0, done.stderr
    assert "Say ahoy." in json.loads(done.stdout)["prompt"]
    # Without the package that declares it, the implementation is refused; if it is optional, it is inert.
    alone = environment.cli("plan", "--no-tokens", "-p", "no:greeter")
    assert alone.returncode == 0
    assert "there is no hook deepagents_greeting" in alone.stderr
    installed(environment, zoo.IMPLEMENTS_MAYBE)
    inert = environment.cli("plan", "--no-tokens", "-p", "no:greeter")
    assert (inert.returncode, inert.stderr) == (0, "")
    assert listed(environment)["bundle.a-greeting deepagents-a-greeting"]["provides"] == ["inert: greeting"]


def test_a_bundle_brings_a_backend_a_middleware_a_profile_and_a_sub_agent(fresh):
    environment = installed(fresh, zoo.BUNDLE)
    (environment.workspace / "tide.md").write_text("noon\n", encoding="utf-8")
    code = f"""
import json
from deepagents_kernel import get_kernel, make_request
from deepagents_kernel.testing import ScriptedChatModel
kernel = get_kernel()
model = ScriptedChatModel([[("read_file", {{"file_path": "/tide.md"}})], "done"])
plan = kernel.plan(make_request(model, backend="harbour:{environment.workspace}"))
answer = kernel.compile(plan).invoke({{"messages": "look"}})
print(json.dumps({{
    "order": [entry.name for entry in plan.main.entries],
    "children": [stack.path for stack in plan.stacks()],
    "prompt": plan.main.prompt,
    "read": answer["messages"][-2].text,
    "provides": kernel.catalog.row("bundle.harbour").provides,
}}))
"""
    done = environment.python(code)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "Harbour" in found["order"]
    assert "main/pilot" in found["children"]
    assert "Mind the tide." in found["prompt"]
    assert "noon" in found["read"]
    assert set(found["provides"]) == {"middleware", "backends", "harness profiles", "subagents"}


# -- installed a moment ago -----------------------------------------------------------------------


def test_a_new_entry_point_of_an_editable_package_is_there_at_the_next_start(fresh, tmp_path):
    def tree(*plugins):
        modules = {f"edited_{name}.py": zoo.middleware(name.title()) for name in plugins}
        entries = {f"middleware.{name}": f"edited_{name}" for name in plugins}
        return Distribution("deepagents-edited", "0.1", modules, {zoo.GROUP: entries}, (zoo.KERNEL,))

    folder = write_source(tmp_path / "source", tree("one"))
    fresh.install_editable(folder)
    assert "middleware.one deepagents-edited" in listed(fresh)
    write_source(tmp_path / "source", tree("one", "two"))
    fresh.install_editable(folder)
    assert {name for name in listed(fresh) if "edited" in name} == {
        "middleware.one deepagents-edited",
        "middleware.two deepagents-edited",
    }
    assert {"One", "Two"} <= set(json.loads(fresh.python(ORDER).stdout)["order"])


def test_an_upgrade_is_seen_at_the_next_start(fresh):
    installed(fresh, zoo.GOOD)
    assert listed(fresh)["middleware.good deepagents-good"]["version"] == "0.3.1"
    installed(fresh, zoo.one("deepagents-good", "middleware.good", zoo.middleware("Better"), version="0.4.0"))
    assert listed(fresh)["middleware.good deepagents-good"]["version"] == "0.4.0"
    assert "Better" in json.loads(fresh.python(ORDER).stdout)["order"]
    fresh.uninstall("deepagents-good")
    assert "middleware.good deepagents-good" not in listed(fresh)


# -- lock -----------------------------------------------------------------------------------------


def test_a_locked_host_runs_what_was_locked_and_nothing_else(fresh, tmp_path):
    environment = installed(fresh, zoo.GOOD)
    assert environment.cli("plugins", "lock").returncode == 0
    assert (environment.workspace / "deepagents.lock").is_file()
    assert "lock" in (environment.workspace / "deepagents.toml").read_text(encoding="utf-8")
    assert environment.cli("plugins", "verify").returncode == 0
    assert listed(environment)["middleware.good deepagents-good"]["state"] == "enabled"

    installed(environment, zoo.NO_REQUIREMENT)
    row = listed(environment)["middleware.free deepagents-free"]
    assert row["state"] == "blocked"
    assert "lock" in row["why"]

    module = environment.site_packages / "deepagents_good.py"
    original = module.read_bytes()
    module.write_bytes(original + b"\nraise SystemExit('edited')\n")
    row = listed(environment)["middleware.good deepagents-good"]
    assert row["state"] == "blocked"
    assert "deepagents_good.py" in row["why"]
    verified = environment.cli("plugins", "verify")
    assert verified.returncode == 1
    assert "deepagents_good.py" in verified.stdout + verified.stderr
    plan = environment.cli("plan", "--no-tokens")
    assert plan.returncode == 0
    assert "middleware.good" in plan.stderr
    module.write_bytes(original)
    assert environment.cli("plugins", "verify").returncode == 1  # the other package is still not in the lock
    environment.uninstall("deepagents-free")
    assert environment.cli("plugins", "verify").returncode == 0

    installed(
        environment, zoo.one("deepagents-good", "middleware.good", zoo.middleware("Good"), version="0.3.2")
    )
    assert "0.3.2" in listed(environment)["middleware.good deepagents-good"]["why"]


def test_an_editable_package_under_a_lock_has_to_be_allowed_by_name(fresh, tmp_path):
    folder = write_source(
        tmp_path / "source",
        Distribution(
            "deepagents-edited",
            "0.1",
            {"edited_one.py": zoo.middleware("One")},
            {zoo.GROUP: {"middleware.one": "edited_one"}},
            (zoo.KERNEL,),
        ),
    )
    fresh.install_editable(folder)
    refused = fresh.cli("plugins", "lock")
    text = refused.stdout + refused.stderr
    assert "editable" in text
    assert fresh.cli("plugins", "lock", "--allow-editable", "middleware.one").returncode == 0
    assert listed(fresh)["middleware.one deepagents-edited"]["state"] == "enabled"


def test_a_lock_that_is_not_there_or_is_garbage_stops_everything(fresh):
    environment = installed(fresh, zoo.GOOD)
    missing = {"DEEPAGENTS_PLUGINS_LOCK": "nowhere.lock"}
    done = environment.cli("plan", env=missing)
    assert done.returncode == 2
    assert "nowhere.lock" in done.stderr
    (environment.workspace / "bad.lock").write_text("not a lock", encoding="utf-8")
    done = environment.cli("plan", env={"DEEPAGENTS_PLUGINS_LOCK": "bad.lock"})
    assert done.returncode == 2
    assert "bad.lock" in done.stderr


# -- configuration --------------------------------------------------------------------------------


def test_configuration_in_the_workspace_of_a_run_is_not_trusted(fresh):
    environment = installed(fresh, zoo.GOOD)
    project = environment.workspace / "project"
    project.mkdir()
    (project / "deepagents.toml").write_text('[plugins]\ndisable = ["good"]\n', encoding="utf-8")
    inside = environment.cli("plan", "--no-tokens", "--workspace", ".", cwd=project)
    assert "deepagents-good" in inside.stdout
    assert "--trust-workspace" in inside.stderr
    trusted = environment.cli("plan", "--no-tokens", "--workspace", ".", "--trust-workspace", cwd=project)
    assert "deepagents-good" not in trusted.stdout
    elsewhere = environment.cli("plan", "--no-tokens", cwd=project)
    assert "deepagents-good" not in elsewhere.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[plugins]\ndisabel = []\n", "nearest: disable"),
        ('[plugins]\ndisable = "good"\n', "list"),
        ("[plugins\n", "deepagents.toml"),
        ("[plugins]\nstrict = true\nstrict = false\n", "deepagents.toml"),
        ('[plugins]\ndisable = ["nope"]\n', "deepagents.toml:2"),
        ('[plugin."middleware.good"]\na = 1\n', "no settings"),
        ("[backends.x]\na = 1\n", "backends"),
    ],
)
def test_bad_configuration_stops_a_plan_and_not_the_list(mixed, tmp_path, text, expected):
    config = tmp_path / "deepagents.toml"
    config.write_text(text, encoding="utf-8")
    done = mixed.cli("plan", "--config", config)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    doctor = mixed.cli("doctor", "--config", config)
    assert doctor.returncode == 1
    assert expected in doctor.stdout + doctor.stderr or "no settings" in expected


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_while_a_slow_plugin_is_loaded_leaves_a_working_command(fresh):
    very_slow = zoo.one("deepagents-slow", "middleware.slow", "import time\ntime.sleep(30)\n")
    environment = installed(fresh, very_slow)
    process = subprocess.Popen(
        [str(environment.interpreter), "-m", "deepagents_kernel", "plan"],
        env=environment.variables(),
        cwd=environment.workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        process.wait(4)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert b"Traceback" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert environment.cli("-p", "no:slow", "plan", "--no-tokens").returncode == 0
