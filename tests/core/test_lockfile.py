"""Locked plugins: the file, and whether an installation is the one that was locked."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import deepagents_kernel
from deepagents_kernel.errors import DeepAgentsError, PluginError
from deepagents_kernel.plugins import record
from deepagents_kernel.plugins.installed import InstalledPlugin, scan
from deepagents_kernel.plugins.lockfile import (
    Lock,
    LockedPlugin,
    LockError,
    difference,
    lock_entry,
    read_lock,
    write_lock,
)

NAME = "middleware.audit"
MODULES = {"audit/__init__.py": "", "audit/hooks.py": "HOOKS = 1\n", "audit/table.json": "{}\n"}
INFO = "deepagents_audit-1.0.dist-info"


def row(name, content, algorithm="sha256"):
    """A line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode()
    return f'"{name}",{algorithm}={digest},{len(content)}'


class Environment:
    """A folder like that of a virtual environment, with one distribution installed."""

    def __init__(self, folder, modules=MODULES, target="audit.hooks:plugin", version="1.0"):
        self.top = folder
        self.site = folder / "lib" / "python3.11" / "site-packages"
        self.info = self.site / INFO.replace("1.0", version)
        self.rows = {}
        self.add(f"{self.info.name}/METADATA", f"Name: Deepagents-Audit\nVersion: {version}\n\n")
        self.add(f"{self.info.name}/entry_points.txt", f"[deepagents.plugins]\n{NAME} = {target}\n")
        for name, text in modules.items():
            self.add(name, text)
        self.record()

    def write(self, name, text):
        path = Path(os.path.normpath(self.site / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def add(self, name, text, algorithm="sha256"):
        self.write(name, text)
        self.rows[name] = row(name, text.encode(), algorithm)

    def record(self):
        lines = [*self.rows.values(), f"{self.info.name}/RECORD,,"]
        (self.info / "RECORD").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def plugin(self):
        (plugin,) = scan([str(self.site)]).plugins
        return plugin

    def lock(self):
        return write_lock(self.top / "plugins.lock", [self.plugin()], kernel="0.1.0")


def fault(plugin):
    """Why a plugin can't be locked."""
    try:
        lock_entry(plugin)
    except PluginError as error:
        return error.reason
    return ""


@pytest.fixture
def env(tmp_path):
    return Environment(tmp_path)


# -- the file --------------------------------------------------------------------------------------


def test_what_is_written_is_read_again(env):
    path = env.top / "plugins.lock"
    written = env.lock()
    assert read_lock(path) == read_lock(str(path)) == written
    assert (written.path, written.kernel) == (path, "0.1.0")
    assert written.plugins == (lock_entry(env.plugin()),)
    (locked,) = written.plugins
    assert (locked.name, locked.distribution, locked.version) == (NAME, "Deepagents-Audit", "1.0")
    assert not locked.editable


def test_the_file_is_sorted_stable_and_says_what_it_is(env):
    plugin = env.plugin()
    plugins = [evolve(plugin, name=f"backend.{letter}") for letter in "cab"]
    path = env.top / "plugins.lock"
    write_lock(path, plugins, kernel="0.1.0")
    text = path.read_text(encoding="utf-8")
    write_lock(path, plugins[::-1], kernel="0.1.0")
    assert path.read_text(encoding="utf-8") == text
    assert text.startswith("# ")
    assert "deepagents-kernel plugins lock" in text
    assert [entry["name"] for entry in tomllib.loads(text)["plugin"]] == [
        "backend.a",
        "backend.b",
        "backend.c",
    ]


def test_nothing_locked_is_a_lock_too(tmp_path, env):
    write_lock(tmp_path / "empty.lock", [], kernel="0.1.0")
    empty = read_lock(tmp_path / "empty.lock")
    assert empty.plugins == ()
    assert difference(env.plugin(), empty) == "it is not listed"


def test_the_digest_is_that_of_the_content(env):
    env.add("audit/sha512.txt", "more", "sha512")
    env.record()
    lines = [
        f"{name},{hashlib.sha256((env.site / name).read_bytes()).hexdigest()}\n" for name in sorted(env.rows)
    ]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert lock_entry(env.plugin()).digest == f"sha256:{digest}"


GOOD = """format = 1
kernel = "0.1.0"
[[plugin]]
name = "middleware.audit"
distribution = "deepagents-audit"
version = "1.0"
digest = "sha256:{digest}"
editable = false
""".format(digest="0" * 64)

BROKEN = {
    "bytes": (b"\xff", "not UTF-8"),
    "no toml": (b"format =", "not TOML"),
    "deep": (b"format = " + b"[" * 5000, "not TOML"),
    "empty": (b"", "format is None"),
    "another format": (
        GOOD.replace("format = 1", "format = 2").encode(),
        "format is 2, and 1 is the known one",
    ),
    "format of text": (GOOD.replace("format = 1", 'format = "1"').encode(), "format is '1'"),
    "format true": (GOOD.replace("format = 1", "format = true").encode(), "format is True"),
    "no kernel": (b"format = 1\n", "kernel is not a text"),
    "a table": (b'format = 1\nkernel = "1"\n[plugin]\n', "plugin not a list"),
    "rows of numbers": (b'format = 1\nkernel = "1"\nplugin = [1]\n', "other keys"),
    "an unknown key": (b"x = 1\n" + GOOD.encode(), "unknown key 'x'"),
    "an unknown key in a row": (GOOD.encode() + b"x = 1\n", "other keys"),
    "a missing key": (GOOD.replace("editable = false\n", "").encode(), "other keys"),
    "a number": (GOOD.replace('"1.0"', "1.0").encode(), "wrong type"),
    "a flag of text": (GOOD.replace("false", '"false"').encode(), "wrong type"),
    "a short digest": (GOOD.replace("0" * 64, "0" * 63).encode(), "digest of 'middleware.audit' is none"),
    "no digest": (GOOD.replace("sha256:" + "0" * 64, "").encode(), "digest of 'middleware.audit' is none"),
    "editable with digest": (GOOD.replace("false", "true").encode(), "digest of 'middleware.audit' is none"),
    "twice": (GOOD.encode() + GOOD[GOOD.index("[[") :].encode(), "'middleware.audit' is in it twice"),
    "twice a key": (GOOD.encode() + b'version = "2"\n', "not TOML"),
}


def test_the_smallest_good_file(tmp_path):
    (tmp_path / "lock").write_text(GOOD, encoding="utf-8")
    assert read_lock(tmp_path / "lock").plugins[0].version == "1.0"


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_an_error(tmp_path, what):
    content, reason = BROKEN[what]
    (tmp_path / "lock").write_bytes(content)
    with pytest.raises(LockError) as caught:
        read_lock(tmp_path / "lock")
    error = caught.value
    assert reason in error.reason
    assert (error.path, bool(error.hint)) == (tmp_path / "lock", True)
    assert isinstance(error, DeepAgentsError)
    assert isinstance(error, ValueError)
    assert str(error).startswith(f"lock file {str(tmp_path / 'lock')!r}: {error.reason}\n  {error.hint}")


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(LockError, match="it can't be read") as caught:
            read_lock(path)
        assert caught.value.path == path


def test_a_file_that_never_ends_is_an_error(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(10_000_001)
    said = {"/dev/zero": "not a regular file", tmp_path / "pipe": "not a regular file"}
    for path, reason in {**said, tmp_path / "large": "larger than 10 MB"}.items():
        with pytest.raises(LockError, match=f"it can't be read: it is {reason}"):
            read_lock(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DIGEST = st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda digits: f"sha256:{digits}")


@given(st.lists(st.builds(LockedPlugin, TEXT, TEXT, TEXT, DIGEST), unique_by=lambda row: row.name), TEXT)
def test_any_text_is_read_as_it_was_written(tmp_path_factory, rows, kernel):
    path = tmp_path_factory.mktemp("lock") / "lock"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepagents_kernel.plugins.lockfile.lock_entry", lambda row, _reader: row)
        written = write_lock(path, rows, kernel=kernel)
    assert read_lock(path) == written == Lock(path, kernel, tuple(sorted(rows, key=lambda row: row.name)))


@given(st.binary(max_size=80))
def test_whatever_stands_in_a_file_is_a_lock_or_an_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("lock") / "lock"
    path.write_bytes(GOOD.encode() + content)
    try:
        assert read_lock(path).plugins
    except LockError as error:
        assert error.reason  # noqa: PT017


# -- writing ---------------------------------------------------------------------------------------


def test_every_plugin_that_cannot_be_locked_is_named_and_nothing_is_written(env):
    path = env.top / "plugins.lock"
    good = env.plugin()
    before = env.lock()
    bad = [evolve(good, name=f"backend.{name}", dist=None) for name in "ab"]
    with pytest.raises(LockError) as caught:
        write_lock(path, [good, *bad, good], kernel="0.2.0")
    text = str(caught.value)
    assert text.count("its distribution is not known") == 2
    assert "backend.a: " in text
    assert "backend.b: " in text
    assert f"{NAME}: declared by Deepagents-Audit and by Deepagents-Audit" in text
    assert read_lock(path) == before


def test_a_place_that_cannot_be_written_to(env):
    for path in (env.top / "no" / "folder" / "lock", env.site):
        with pytest.raises(LockError, match="it can't be written"):
            write_lock(path, [env.plugin()], kernel="0.1.0")
    with pytest.raises(LockError, match="it can't be written"):
        write_lock(env.top / "lock", [], kernel="\ud800")
    assert sorted(path.name for path in env.top.iterdir()) == ["lib"]


def test_an_interrupt_while_writing_leaves_the_old_file_alone(env, monkeypatch):
    before = env.lock()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_lock(before.path, [], kernel="0.2.0")
    assert read_lock(before.path) == before
    assert sorted(path.name for path in env.top.iterdir()) == ["lib", "plugins.lock"]


def test_a_link_is_followed_and_the_mode_stays(env):
    real = env.top / "real.lock"
    real.write_text("", encoding="utf-8")
    real.chmod(0o640)
    (env.top / "plugins.lock").symlink_to(real)
    env.lock()
    assert (env.top / "plugins.lock").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert read_lock(real).plugins


# -- differences -----------------------------------------------------------------------------------


def test_an_installation_that_has_not_changed(env):
    assert difference(env.plugin(), env.lock()) == ""
    assert difference(env.plugin(), read_lock(env.top / "plugins.lock")) == ""


def test_the_same_files_elsewhere_are_the_same(env, tmp_path):
    assert difference(Environment(tmp_path / "other").plugin(), env.lock()) == ""


def test_a_plugin_that_is_not_listed(env):
    assert difference(evolve(env.plugin(), name="middleware.other"), env.lock()) == "it is not listed"


def test_another_version_and_another_distribution(env):
    lock = env.lock()
    changed = evolve(env.plugin(), version="1.1")
    assert difference(changed, lock) == "it is version 1.1, and 1.0 is locked"
    taken_over = evolve(env.plugin(), distribution="evil")
    assert difference(taken_over, lock) == "it comes from 'evil', and that of 'Deepagents-Audit' is locked"
    assert difference(evolve(env.plugin(), distribution="deepagents_audit"), lock) == ""


def grow(path):
    return lambda env: env.write(path, "x = 2\n")


def grow_description(env):
    with (env.info / "METADATA").open("a", encoding="utf-8") as stream:
        stream.write("more")


def loop(env):
    (env.site / "audit/hooks.py").unlink()
    (env.site / "audit/hooks.py").symlink_to("hooks.py")


def folder(env):
    (env.site / "audit/hooks.py").unlink()
    (env.site / "audit/hooks.py").mkdir()


def pipe(name):
    def change(env):
        (env.info / name).unlink(missing_ok=True)
        os.mkfifo(env.info / name)

    return change


def unhashed(name):
    def change(env):
        env.rows[name] = f"{name},,"
        env.record()

    return change


def rowed(line):
    def change(env):
        env.rows["more"] = line
        env.record()

    return change


# What is done to an installation, and what is said about it.
CHANGES = {
    "changed": (grow("audit/hooks.py"), "'audit/hooks.py' has changed"),
    "changed data": (grow("audit/table.json"), "'audit/table.json' has changed"),
    "changed metadata": (grow_description, f"'{INFO}/METADATA' has changed"),
    "missing": (lambda env: (env.site / "audit/hooks.py").unlink(), "'audit/hooks.py' is missing"),
    "a loop of links": (loop, "'audit/hooks.py' can't be read: "),
    "a folder": (folder, "'audit/hooks.py' is not a file"),
    "a module more": (grow("audit/extra.py"), "'audit/extra.py' is not in it"),
    "a library more": (grow("audit/extra.cpython-311-x86_64-linux-gnu.so"), "-gnu.so' is not in it"),
    "a windows library": (grow("audit/extra.pyd"), "'audit/extra.pyd' is not in it"),
    "compiled in place": (grow("audit/extra.pyc"), "'audit/extra.pyc' is not in it"),
    "in front of a module": (grow("audit/hooks/__init__.py"), "'audit/hooks/__init__.py' is not in it"),
    "no hash": (unhashed("audit/hooks.py"), "'audit/hooks.py' has no hash"),
    "no hash of entry points": (unhashed(f"{INFO}/entry_points.txt"), "does not cover its entry_points.txt"),
    "a weak hash": (rowed(row("audit/table.json", b"{}\n", "md5")), "has a hash by 'md5'"),
    "an unknown hash": (rowed("audit/table.json,crc=1,3"), "has a hash by 'crc'"),
    "no algorithm": (rowed("audit/table.json,123,3"), "has a hash by '123'"),
    "outside": (
        rowed(row("../../../../secret", b"")),
        "'../../../../secret' lies outside of the environment",
    ),
    "absolute": (rowed(row("/etc/hostname", b"")), "'/etc/hostname' is an absolute path"),
    "absolute on windows": (rowed(row("C:/x", b"")), "'C:/x' is an absolute path"),
    "a line break": (rowed(row("a\nb", b"")), r"'a\nb' has a control character"),
    "an open quote": (rowed('"audit'), "its files can't be checked"),
    "a pipe for record": (pipe("RECORD"), "its files can't be checked: OSError: [Errno 22] it is not a reg"),
    "a pipe for the origin": (pipe("direct_url.json"), "OSError: [Errno 22] it is not a regular file"),
    "no record": (lambda env: (env.info / "RECORD").unlink(), "it has no RECORD"),
    "bytes in record": (lambda env: (env.info / "RECORD").write_bytes(b"\xff"), "its files can't be checked"),
    "an empty record": (lambda env: (env.info / "RECORD").write_bytes(b""), "does not cover"),
    "one file more": (lambda env: (env.add("audit/new.py", ""), env.record()), "its RECORD is not the one"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_told(env, what):
    change, reason = CHANGES[what]
    lock = env.lock()
    change(env)
    assert reason in difference(env.plugin(), lock)


def test_a_change_together_with_its_record_is_told(env):
    lock = env.lock()
    env.add("audit/hooks.py", "HOOKS = 2\n")
    env.record()
    assert difference(env.plugin(), lock) == "its RECORD is not the one that it had when it was locked"
    del env.rows["audit/table.json"]
    env.record()
    assert difference(env.plugin(), env.lock()) == ""
    assert "its RECORD is not the one" in difference(env.plugin(), lock)


def test_the_first_few_files_are_named(env):
    lock = env.lock()
    for number in range(5):
        env.write(f"audit/extra_{number}.py", "")
    told = difference(env.plugin(), lock)
    assert told.startswith("its files are not those of its RECORD: 'audit/extra_0.py' is not in it, ")
    assert told.endswith("'audit/extra_2.py' is not in it, and 2 more")


def test_the_other_rules_for_entry_points_and_target(tmp_path):
    elsewhere = Environment(tmp_path, target="another.module:plugin")
    with pytest.raises(PluginError, match=r"does not cover the module another\.module, which the plugin is"):
        lock_entry(elsewhere.plugin())
    near = Environment(tmp_path / "near", {"auditing.py": ""}, target="audit:plugin")
    with pytest.raises(LockError, match="does not cover the module audit"):
        near.lock()


@pytest.mark.parametrize(
    ("modules", "target"),
    [
        ({"audit.py": ""}, "audit:plugin"),
        ({"audit.py": ""}, "audit"),
        ({"audit/__init__.py": ""}, "audit:plugin"),
        ({"ns/audit/__init__.py": ""}, "ns.audit"),
        ({"ns/audit.cpython-311-x86_64-linux-gnu.so": ""}, "ns.audit:plugin"),
    ],
)
def test_where_a_plugin_may_be_loaded_from(tmp_path, modules, target):
    env = Environment(tmp_path, modules, target)
    assert difference(env.plugin(), env.lock()) == ""


def test_what_python_and_others_put_next_to_it_is_no_change(tmp_path):
    env = Environment(
        tmp_path, {"audit.py": "", "own/__init__.py": "", "own/__pycache__/a.pyc": "x"}, "audit"
    )
    env.rows["own/__pycache__/b.pyc"] = "own/__pycache__/b.pyc,,"
    env.record()
    lock = env.lock()
    for name in (
        "another.py",
        "another/__init__.py",
        "__pycache__/audit.cpython-311.pyc",
        "own/__pycache__/__init__.cpython-311.pyc",
        "own/__pycache__/a.pyc",
        "own/data.json",
        "own/templates/example.py",
        f"{INFO}/REQUESTED",
    ):
        env.write(name, "new")
    assert difference(env.plugin(), lock) == ""


@pytest.mark.parametrize("name", ["audit.so", "audit.cpython-311-x86_64-linux-gnu.so", "audit/__init__.py"])
def test_what_goes_before_a_single_module_is_told(tmp_path, name):
    env = Environment(tmp_path, {"audit.py": ""}, "audit")
    lock = env.lock()
    env.write(name, "")
    assert f"{name!r} is not in it" in difference(env.plugin(), lock)


def test_scripts_above_site_packages_are_fine_and_checked(env):
    env.add("../../../bin/audit", "#!python\n")
    env.add("../../../bin/audit.py", "#!python\n")
    env.record()
    env.write("../../../bin/other.py", "")
    lock = env.lock()
    assert difference(env.plugin(), lock) == ""
    env.write("../../../bin/audit", "#!sh\n")
    assert "'../../../bin/audit' has changed" in difference(env.plugin(), lock)


@pytest.mark.parametrize(
    ("site", "inside"),
    [
        ("lib/python3.11/site-packages", "../../../x"),
        ("lib64/python3.11/site-packages", "../../../x"),
        ("lib/python3/dist-packages", "../../../x"),
        ("Lib/site-packages", "../../x"),
        ("target", "x"),
        ("own/site-packages", "x"),
    ],
)
def test_how_far_up_a_record_may_go(tmp_path, site, inside):
    env = Environment(tmp_path / "env")
    moved = tmp_path / "top" / site
    moved.parent.mkdir(parents=True)
    env.site.rename(moved)
    env.site, env.info = moved, moved / INFO
    env.add(inside, "inside")
    env.record()
    assert fault(env.plugin()) == ""
    env.add(f"../{inside}", "outside")
    env.record()
    assert f"'../{inside}' lies outside of the environment" in fault(env.plugin())


# -- what is imported ------------------------------------------------------------------------------


def first_on_path(monkeypatch, *folders):
    for folder in reversed(folders):
        monkeypatch.syspath_prepend(str(folder))


SHADOWED = {
    "a module": ({"shaded.py": ""}, "shaded:plugin", "shaded.py", "shaded"),
    "a module by a package": ({"shaded.py": ""}, "shaded:plugin", "shaded/__init__.py", "shaded"),
    "a package": ({"shaded/__init__.py": ""}, "shaded", "shaded.py", "shaded"),
    "a module below": ({"shaded/__init__.py": "", "shaded/a.py": ""}, "shaded.a", "shaded.py", "shaded"),
    "a namespace": ({"shaded/a/b.py": ""}, "shaded.a.b", "shaded/__init__.py", "shaded"),
    "part of a namespace": ({"shaded/a/b.py": ""}, "shaded.a.b", "shaded/a/b.py", "shaded.a.b"),
    "a package of it": ({"shaded/a/b.py": ""}, "shaded.a.b", "shaded/a/__init__.py", "shaded.a"),
}


@pytest.mark.parametrize("what", SHADOWED)
def test_what_would_be_imported_in_its_place_is_told(tmp_path, monkeypatch, what):
    modules, target, shadow, name = SHADOWED[what]
    env = Environment(tmp_path / "env", modules, target)
    place = tmp_path / "workspace" / shadow
    place.parent.mkdir(parents=True)
    place.write_text("raise SystemExit('imported')", encoding="utf-8")
    first_on_path(monkeypatch, env.site)
    before = set(sys.modules)
    lock = env.lock()
    assert difference(env.plugin(), lock) == ""
    first_on_path(monkeypatch, tmp_path / "workspace")
    told = f"{name} would be imported from {place}, which is not of Deepagents-Audit"
    assert difference(env.plugin(), lock) == fault(env.plugin()) == told
    assert not {module for module in set(sys.modules) - before if module.startswith("shaded")}


def test_what_is_imported_already_counts_and_links_do_not(tmp_path, monkeypatch):
    env = Environment(tmp_path / "env", {"shaded.py": ""}, "shaded")
    (tmp_path / "link").symlink_to(env.site)
    lock = env.lock()
    first_on_path(monkeypatch, tmp_path / "link")
    assert difference(env.plugin(), lock) == ""
    monkeypatch.setitem(sys.modules, "shaded", json)
    assert difference(env.plugin(), lock).startswith(f"shaded would be imported from {json.__file__}, which")
    monkeypatch.setitem(sys.modules, "shaded", type(sys)("shaded"))
    assert difference(env.plugin(), lock).startswith("its files can't be checked: ValueError: ")


def test_a_module_of_python_itself_is_none_of_a_distribution(tmp_path):
    env = Environment(tmp_path, {"time.py": ""}, "time")
    assert fault(env.plugin()) == "time would be imported from built-in, which is not of Deepagents-Audit"


def test_an_editable_installation_may_be_imported_from_anywhere(tmp_path, monkeypatch):
    env = Environment(tmp_path / "env", {"shaded.py": ""}, "shaded")
    make_editable(env)
    (tmp_path / "shaded.py").write_text("", encoding="utf-8")
    first_on_path(monkeypatch, tmp_path, env.site)
    lock = write_lock(tmp_path / "lock", [env.plugin()], kernel="0.1.0", allow_editable=[NAME])
    assert difference(env.plugin(), lock) == ""


@pytest.mark.parametrize("options", [[], ["-P"]])
def test_the_module_of_the_command_takes_nothing_from_the_working_directory(tmp_path, options):
    (tmp_path / "attrs").mkdir()
    (tmp_path / "attrs" / "__init__.py").write_text("raise SystemExit('from here')", encoding="utf-8")
    shadow = Environment(tmp_path, {"shaded.py": "raise SystemExit('from here')"}, "shaded")
    shadow.info.rename(tmp_path / shadow.info.name)
    core = Path(deepagents_kernel.__file__).parents[1]
    paths = [str(core), str(core.parent / "plugins_builtin")]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HOME": str(tmp_path)}
    command = [sys.executable, *options, "-m", "deepagents_kernel", "plugins", "list"]
    done = subprocess.run(command, capture_output=True, env=environ, cwd=tmp_path, encoding="utf-8")
    assert (done.returncode, NAME in done.stdout) == (0, False), done.stderr
    assert "middleware.filesystem" in done.stdout


# -- editable --------------------------------------------------------------------------------------


def make_editable(env, *, editable=True):
    origin = {"url": "file:///src", "dir_info": {"editable": editable}}
    env.add(f"{INFO}/direct_url.json", json.dumps(origin))
    env.record()


def test_an_editable_installation_has_to_be_allowed_by_name(env):
    lock = env.lock()
    make_editable(env)
    assert difference(env.plugin(), lock).startswith("it is an editable installation, and the lock does not")
    path = env.top / "plugins.lock"
    with pytest.raises(LockError, match="it is an editable installation, and not allowed"):
        write_lock(path, [env.plugin()], kernel="0.1.0", allow_editable=["middleware.other"])
    assert read_lock(path) == lock


@pytest.mark.parametrize("allowed", [[NAME], {"deepagents_audit"}, "Deepagents-Audit"])
def test_an_editable_installation_that_is_allowed_is_not_checked(env, allowed):
    make_editable(env)
    path = env.top / "plugins.lock"
    write_lock(path, [env.plugin()], kernel="0.1.0", allow_editable=allowed)
    lock = read_lock(path)
    assert lock.plugins == (LockedPlugin(NAME, "Deepagents-Audit", "1.0", "", editable=True),)
    env.write("audit/hooks.py", "changed")
    assert difference(env.plugin(), lock) == ""
    assert difference(evolve(env.plugin(), version="2"), lock) == "it is version 2, and 1.0 is locked"
    make_editable(env, editable=False)
    assert difference(env.plugin(), lock) == "it was locked as an editable installation, and is none any more"


def test_an_installation_from_a_folder_or_an_archive_is_not_editable(env):
    make_editable(env, editable=False)
    assert difference(env.plugin(), env.lock()) == ""
    env.add(f"{INFO}/direct_url.json", json.dumps({"url": "https://example.org/x.whl", "archive_info": {}}))
    env.record()
    assert difference(env.plugin(), env.lock()) == ""


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"dir_info": 1}'])
def test_an_origin_that_cannot_be_read_is_a_difference(env, text):
    lock = env.lock()
    env.add(f"{INFO}/direct_url.json", text)
    env.record()
    assert difference(env.plugin(), lock).startswith("its files can't be checked: ")


def egg(folder):
    info = folder / "deepagents_audit.egg-info"
    info.mkdir(parents=True)
    (info / "PKG-INFO").write_text("Name: deepagents-audit\nVersion: 1.0\n\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[deepagents.plugins]\n{NAME} = audit\n", encoding="utf-8")
    (folder / "audit.py").write_text("", encoding="utf-8")
    (plugin,) = scan([str(folder)]).plugins
    return plugin, info


def test_a_source_tree_on_the_path_is_an_editable_installation(tmp_path):
    plugin, info = egg(tmp_path / "src")
    assert lock_entry(plugin) == LockedPlugin(NAME, "deepagents-audit", "1.0", "", editable=True)
    (info / "installed-files.txt").write_text("../audit.py\n", encoding="utf-8")
    with pytest.raises(PluginError, match="it has no RECORD"):
        lock_entry(plugin)


def test_an_egg_in_site_packages_is_not_and_cannot_be_locked(tmp_path):
    plugin, _ = egg(tmp_path / "lib" / "python3" / "dist-packages")
    with pytest.raises(PluginError, match="it has no RECORD") as caught:
        lock_entry(plugin)
    assert caught.value.plugin == NAME
    assert caught.value.hint == "install it anew: pip install --force-reinstall deepagents-audit"


# -- the real thing --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "module"), [("attrs", "attr"), ("pluggy", "pluggy")])
def test_installations_of_this_environment_are_as_their_record_says(name, module):
    dist = importlib.metadata.distribution(name)
    plugin = InstalledPlugin("backend.x", "x", "deepagents.plugins", module, name, dist.version, dist=dist)
    # They may have no entry points, which is found when all files have been looked at.
    assert fault(plugin) in {"", "its RECORD does not cover its entry_points.txt"}


def test_importing_it_is_cheap():
    heavy = ("tomlkit", "tomllib", "packaging", "structlog", "langchain", "cattrs", "pluggy", "platformdirs")
    code = f"import sys, deepagents_kernel.plugins.lockfile\nassert not {{*{heavy}}} & set(sys.modules)"
    core = str(Path(deepagents_kernel.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": core}, check=True)


def test_a_distribution_with_many_plugins_is_read_once(env, monkeypatch):
    names = [f"middleware.audit-{number}" for number in range(4)]
    lines = "".join(f"{name} = audit.hooks\n" for name in names)
    env.add(f"{env.info.name}/entry_points.txt", f"[deepagents.plugins]\n{lines}")
    env.record()
    plugins = scan([str(env.site)]).plugins
    lock = write_lock(env.top / "plugins.lock", plugins, kernel="0.1.0")
    reads = []
    checked = record._checked
    monkeypatch.setattr(record, "_checked", lambda dist: reads.append(1) or checked(dist))
    reader = record.RecordReader()
    assert [difference(plugin, lock, reader) for plugin in plugins] == [""] * 4
    assert reads == [1]
    write_lock(env.top / "plugins.lock", plugins, kernel="0.1.0")
    assert reads == [1, 1]
