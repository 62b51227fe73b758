"""Temporary environments: real distributions, installed with pip, seen by a new process."""

import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path

import pytest

from deepagents_kernel.testing import (
    Distribution,
    PluginEnvironment,
    PluginEnvironmentError,
    ProcessTimeoutError,
    write_source,
    write_wheel,
)
from deepagents_kernel.testing.environments import shared_folders

MODULE = "deepagents_kernel.testing.pytest_plugin"

pytest_plugins = [MODULE]

GROUP = "deepagents.plugins"
GOOD = Distribution(
    "deepagents-good",
    version="1.0",
    modules={"deepagents_good/__init__.py": "from deepagents_kernel import hookimpl\nWORD = 'one'\n"},
    entry_points={GROUP: {"middleware.good": "deepagents_good"}},
)
BROKEN = Distribution(
    "deepagents-broken",
    version="0.3",
    modules={"deepagents_broken.py": "raise RuntimeError('broken on purpose')\n"},
    entry_points={GROUP: {"middleware.broken": "deepagents_broken", "backend.lost": "no_such_module"}},
    requires=["deepagents-kernel>=99"],
)

LIST = f"""
import importlib.metadata, json
points = importlib.metadata.entry_points(group={GROUP!r})
rows = [[p.name, p.value, p.dist.name, p.dist.version, p.dist.requires] for p in points]
print(json.dumps(sorted(row for row in rows if row[2].lower()[11:] in ("good", "broken"))))
"""


def listed(environment):
    """What a new process finds of these: name, value, distribution, version and requirements of each."""
    done = environment.python(LIST)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def shared(plugin_environment_factory):
    return plugin_environment_factory(GOOD, BROKEN)


def test_a_new_process_finds_what_is_installed(shared):
    assert listed(shared) == [
        ["backend.lost", "no_such_module", "deepagents-broken", "0.3", ["deepagents-kernel>=99"]],
        ["middleware.broken", "deepagents_broken", "deepagents-broken", "0.3", ["deepagents-kernel>=99"]],
        ["middleware.good", "deepagents_good", "deepagents-good", "1.0", ["deepagents-kernel>=0.1"]],
    ]
    assert shared.installed == {"deepagents-broken": "0.3", "deepagents-good": "1.0"}


def test_a_good_one_can_be_imported_and_a_broken_one_says_why(shared):
    assert shared.python("import deepagents_good; print(deepagents_good.WORD)").stdout == "one\n"
    broken = shared.python("import deepagents_broken")
    assert broken.returncode == 1
    assert "RuntimeError: broken on purpose" in broken.stderr


def test_what_pip_wrote_agrees_with_the_record(shared):
    found = importlib.metadata.distributions(path=[str(shared.site_packages)])
    (good,) = [item for item in found if item.name == "deepagents-good"]
    assert {str(file) for file in good.files} >= {"deepagents_good/__init__.py"}
    assert all(file.locate().is_file() for file in good.files)
    assert good.read_text("INSTALLER").strip() == "pip"


def test_the_kernel_runs_in_it(shared):
    version = importlib.import_module("deepagents_kernel").__version__
    assert shared.cli("--version").stdout == f"deepagents-kernel {version}\n"
    wrong = shared.cli("plna")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "nearest: plan" in wrong.stderr


def test_its_process_is_clean(shared, monkeypatch):
    for name in ("DEEPAGENTS_PLUGINS_DISABLE", "PYTHONPATH", "PIP_INDEX_URL", "LANGSMITH_TRACING_V2"):
        monkeypatch.setenv(name, "mine")
    monkeypatch.setenv("XDG_CONFIG_DIRS", "mine")
    monkeypatch.setenv("UNRELATED", "kept")
    code = "import json, os; print(json.dumps([dict(os.environ), os.getcwd(), os.path.expanduser('~')]))"
    variables, folder, home = json.loads(shared.python(code, env={"EXTRA": "ü"}).stdout)
    assert "mine" not in variables.values()
    assert (variables["UNRELATED"], variables["EXTRA"]) == ("kept", "ü")
    assert variables["LANGSMITH_TRACING"] == "false"
    assert home == str(shared.home)
    assert list(Path(folder).iterdir()) == []
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        assert Path(variables[name]).is_relative_to(shared.path)


def test_how_something_is_run(shared, tmp_path):
    code = "import os, sys; print(os.getcwd()); print(sys.stdin.read()); sys.exit(3)"
    done = shared.python(code, cwd=tmp_path, input="Grüße")
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\nGrüße\n", "")
    (tmp_path / "hello.py").write_text("import sys; print(sys.argv[1:])", encoding="utf-8")
    assert shared.run(tmp_path / "hello.py", "a b").stdout == "['a b']\n"
    assert shared.python("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_what_takes_too_long_is_ended_with_all_that_it_started(shared):
    code = (
        "import subprocess, sys, time\n"
        "quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], **quiet)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(ProcessTimeoutError, match="not done after 3 seconds") as caught:
        shared.python(code, timeout=3)
    assert caught.value.stderr == ""
    assert caught.value.command[1] == "-c"
    assert gone(int(caught.value.stdout))


def gone(pid):
    """Whether a process has ended; a zombie that nobody waits for counts as ended."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_another_version_takes_the_place_of_the_first(plugin_environment):
    environment = plugin_environment(GOOD)
    second = Distribution(
        "Deepagents_Good",
        version="2.0",
        modules={"good_two.py": ""},
        entry_points={GROUP: {"middleware.good": "good_two"}},
    )
    environment.install(second)
    assert [row[:4] for row in listed(environment)] == [
        ["middleware.good", "good_two", "Deepagents_Good", "2.0"]
    ]
    assert environment.installed == {"Deepagents_Good": "2.0"}
    assert environment.python("import deepagents_good").returncode == 1
    # The same version with another content replaces it too: what is installed is what was asked for.
    environment.install(Distribution(second.name, second.version, {"good_two.py": "WORD = 'new'\n"}))
    assert environment.python("import good_two; print(good_two.WORD)").stdout == "new\n"


def test_uninstalling(plugin_environment):
    environment = plugin_environment(GOOD, BROKEN)
    environment.uninstall("Deepagents.Good")
    assert environment.installed == {"deepagents-broken": "0.3"}
    assert environment.python("import deepagents_good").returncode == 1
    with pytest.raises(PluginEnvironmentError, match="nearest: deepagents-broken"):
        environment.uninstall("deepagents-brokn")
    with pytest.raises(PluginEnvironmentError, match="'attrs' was installed in it"):
        environment.uninstall("attrs")


def test_the_environment_of_the_tests_stays_as_it_is(plugin_environment):
    before = importlib.metadata.version("iniconfig")
    environment = plugin_environment(
        Distribution("iniconfig", version="99.0", modules={"iniconfig.py": "MINE = True\n"})
    )
    code = (
        "import importlib.metadata as m, iniconfig; print(m.version('iniconfig'), hasattr(iniconfig, 'MINE'))"
    )
    assert environment.python(code).stdout == "99.0 True\n"
    environment.uninstall("iniconfig")
    assert environment.python(code).stdout == f"{before} False\n"
    assert importlib.metadata.version("iniconfig") == before


def test_an_editable_install_follows_its_source(plugin_environment, tmp_path):
    environment = plugin_environment()
    folder = write_source(tmp_path / "source", GOOD)
    environment.install_editable(folder)
    assert [row[:4] for row in listed(environment)] == [
        ["middleware.good", "deepagents_good", "deepagents-good", "1.0"]
    ]
    word = "import deepagents_good; print(deepagents_good.WORD, deepagents_good.__file__)"
    source = folder / "src" / "deepagents_good" / "__init__.py"
    assert environment.python(word).stdout == f"one {source}\n"
    # As long and as old as before: bytecode would not be taken for stale.
    before = source.stat()
    source.write_text("from deepagents_kernel import hookimpl\nWORD = 'two'\n", encoding="utf-8")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_size == before.st_size
    assert environment.python(word).stdout == f"two {source}\n"
    more = {GROUP: {"middleware.good": "deepagents_good", "backend.good": "deepagents_good"}}
    write_source(folder, Distribution(GOOD.name, "1.1", GOOD.modules, more))
    assert len(listed(environment)) == 1
    environment.install_editable(folder)
    assert [row[0] for row in listed(environment)] == ["backend.good", "middleware.good"]
    assert environment.installed == {"deepagents-good": "1.1"}


def test_pip_that_fails_is_quoted(plugin_environment, tmp_path):
    environment = plugin_environment()
    with pytest.raises(PluginEnvironmentError, match="pip install failed with exit code 1") as caught:
        environment.install_editable(tmp_path)
    assert "ERROR" in caught.value.output
    assert "ERROR" in str(caught.value)
    assert caught.value.path == environment.path


def test_pip_that_is_missing_is_said_to_be(plugin_environment, monkeypatch):
    environment = plugin_environment()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PluginEnvironmentError, match="pip is missing") as caught:
        environment.install(GOOD)
    assert "install" in caught.value.hint


def test_installing_nothing_needs_no_pip(plugin_environment, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    plugin_environment().install()


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(PluginEnvironmentError, match="the folder is not empty"):
        PluginEnvironment(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_it_has_itself_comes_first(plugin_environment, tmp_path):
    """Its own packages, then what it has editable (some backends name the file after the module)."""
    environment = plugin_environment()
    (environment.site_packages / "zebra.pth").write_text(f"{tmp_path}\n", encoding="utf-8")
    path = json.loads(environment.python("import json, sys; print(json.dumps(sys.path))").stdout)
    own = path.index(str(environment.site_packages))
    assert path[own + 1 :] == [str(tmp_path), *(str(folder) for folder in shared_folders())]


def test_shared_folders(tmp_path, monkeypatch):
    """Where packages are installed, and where what is installed points; nothing else that tests import."""
    installed, named, source, lost, here = (
        tmp_path / name for name in ("site-packages", "named", "source", "lost", "here")
    )
    for folder in (installed, named, source, here):
        folder.mkdir()
    lines = f"# comment\nimport sys\n{source}\n{lost}\n"
    (installed / "editable.pth").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(named))
    standard = [path for path in sys.path if path.endswith(".zip") or Path(path) == Path(os.__file__).parent]
    monkeypatch.setattr(
        sys,
        "path",
        ["", str(here), str(source), "relative", *standard, str(installed), str(lost), str(named)],
    )
    kernel = Path(importlib.import_module("deepagents_kernel").__file__).parents[1]
    assert shared_folders() == [source, installed, named, kernel]


def test_the_fixtures_are_there_where_the_kernel_is_installed(plugin_environment, tmp_path):
    entry = Distribution("stands-for-the-kernel", entry_points={"pytest11": {MODULE: MODULE}})
    environment = plugin_environment(entry)
    body = "def test_it(make_kernel):\n    assert make_kernel().builtin_names\n"
    (tmp_path / "test_plain.py").write_text(body, encoding="utf-8")
    (tmp_path / "test_named.py").write_text(f"pytest_plugins = [{MODULE!r}]\n{body}", encoding="utf-8")
    plugins = ["-p", "no:cacheprovider", "-p", "no:asyncio"]
    done = environment.run("-m", "pytest", "-q", *plugins, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "2 passed" in done.stdout


def test_a_wheel_from_a_file_is_one_that_pip_takes(plugin_environment, tmp_path):
    """Names and versions that pip writes differently in file names."""
    odd = Distribution("Odd.Name_here", version="1.0.post1+local.2", modules={"odd.py": ""}, requires=())
    assert write_wheel(tmp_path, odd).name == "odd_name_here-1.0.post1+local.2-py3-none-any.whl"
    assert plugin_environment(odd).installed == {"Odd.Name_here": "1.0.post1+local.2"}
