"""Configuration files: what they may say, and what is said about a slip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.files import read_file
from deepagents_kernel.config.source import Level, Switches
from deepagents_kernel.errors import DeepAgentsError

EVERYTHING = """\
# switches
[plugins]
enable = ["middleware.one", " middleware.two "]
disable = [
    # not now
    "backend.three",
    'backend.four',
]
allow = []
required = ["middleware.one"]
autoload = false
strict = true
lock = "locks/agents.lock"

[plugin."middleware.one"]
limit = 3
nested.deep = { size = 1.5, words = ["a", "b"] }

[kernel]
recursion_limit = 50
"""


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def source(text, environ=None, name="deepagents.toml"):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_file(Path(name), Level.PROJECT, environ or {})


def error(text, environ=None, name="deepagents.toml"):
    with pytest.raises(ConfigError) as caught:
        source(text, environ, name)
    return caught.value


def in_pyproject(text):
    for name in ("[plugins]", "[kernel]", "[plugin."):
        text = text.replace(name, f"[tool.deepagents.{name[1:]}")
    return f'[project]\nname = "notes"\n\n{text}'


def test_everything_that_a_file_may_say(tmp_path):
    found = source(EVERYTHING)
    assert (found.level, found.label, found.path) == (
        Level.PROJECT,
        "deepagents.toml",
        tmp_path / "deepagents.toml",
    )
    assert found.switches == Switches(
        enable=("middleware.one", "middleware.two"),
        disable=("backend.three", "backend.four"),
        allow=(),
        required=("middleware.one",),
        autoload=False,
        strict=True,
        lock=tmp_path / "locks" / "agents.lock",
    )
    assert found.settings == {
        "middleware.one": {"limit": 3, "nested": {"deep": {"size": 1.5, "words": ["a", "b"]}}},
        "kernel": {"recursion_limit": 50},
    }
    assert found.expanded == {}


def test_pyproject_says_the_same_in_a_table():
    own, table = source(EVERYTHING), source(in_pyproject(EVERYTHING), name="pyproject.toml")
    assert (table.switches, table.settings) == (own.switches, own.settings)
    assert table.where("plugins", "autoload") == "pyproject.toml:14"
    assert table.where("plugins", "disable", "backend.four") == "pyproject.toml:10"


@pytest.mark.parametrize("text", ["", "[tool.other]\n", "tool = 1\n", "[project]\nname='deepagents'\n"])
def test_a_pyproject_without_the_table_is_no_configuration(text):
    assert source(text, name="pyproject.toml") is None


def test_an_empty_file_and_an_empty_table_say_nothing():
    for found in (source(""), source("[tool.deepagents]\n", name="pyproject.toml")):
        assert (found.switches, found.settings) == (Switches(), {})


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (("plugins",), ":2"),
        (("plugins", "enable"), ":3"),
        (("plugins", "enable", "middleware.two"), ":3"),
        (("plugins", "disable"), ":4"),
        (("plugins", "disable", "backend.three"), ":6"),
        (("plugins", "disable", "backend.four"), ":7"),
        (("plugins", "lock"), ":13"),
        (("plugin", "middleware.one"), ":15"),
        (("plugin", "middleware.one", "nested", "deep", "size"), ":17"),
        (("kernel", "recursion_limit"), ":20"),
        (("plugins", "disable", "middleware.one"), ""),
        (("plugins", "single"), ""),
        (("nonsense", "x", "y", "z"), ""),
        ((), ""),
    ],
)
def test_where_a_value_stands(key, place):
    assert source(EVERYTHING).where(*key) == f"deepagents.toml{place}"


@pytest.mark.parametrize(
    ("text", "lock"),
    [("true", "deepagents.lock"), ("'a/b'", "a/b"), ("'../x'", "../x"), ("'${DIR}/y'", "there/y")],
)
def test_a_lock_is_a_path_beside_the_file(tmp_path, text, lock):
    Path("sub").mkdir()
    found = source(f"[plugins]\nlock = {text}\n", {"DIR": "there"}, "sub/deepagents.toml")
    assert found.switches.lock == tmp_path / "sub" / lock


def test_a_lock_may_be_absolute_or_at_home_or_none(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert source(f"[plugins]\nlock = '{tmp_path / 'x'}'\n").switches.lock == tmp_path / "x"
    assert source("[plugins]\nlock = '~/x'\n").switches.lock == tmp_path / "home" / "x"
    assert source("[plugins]\nlock = false\n").switches.lock is False


def test_what_is_expanded_is_said_by_key():
    found = source(
        "[plugins]\nlock = '${DIR}/x'\n[kernel]\nname = '${A} and ${B:-b}'\n"
        "[plugin.'middleware.one']\nargs = ['${A}', {x = '${C}'}]\nenv.inner = '${B:-b}'\nplain = '$A'\n",
        {"A": "1", "C": "3", "DIR": "d"},
    )
    assert found.settings == {
        "kernel": {"name": "1 and b"},
        "middleware.one": {"args": ["1", {"x": "3"}], "env": {"inner": "b"}, "plain": "$A"},
    }
    assert found.expanded == {
        ("plugins", "lock"): ("DIR",),
        ("kernel", "name"): ("A", "B"),
        ("plugin", "middleware.one", "args"): ("A", "C"),
        ("plugin", "middleware.one", "env", "inner"): ("B",),
    }


def test_names_of_plugins_are_not_expanded():
    found = source("[plugins]\nenable = ['${A}']\n", {"A": "middleware.one"})
    assert found.switches.enable == ("${A}",)


def test_the_fields_and_the_text_of_an_error(tmp_path):
    found = error("# a\n[plugins]\n\ndisable = 'x'\n")
    assert isinstance(found, DeepAgentsError)
    assert isinstance(found, ValueError)
    assert (found.path, found.line, found.key) == (str(tmp_path / "deepagents.toml"), 4, "plugins.disable")
    assert str(found) == (
        "deepagents.toml:4: plugins.disable: expected a list of names, got 'x'\n  write disable = ['x']"
    )


# Text, line of the error, what it says.
SLIPS = [
    ("[plugin]\n[plugins]\ndisabled = []\n", 3, "plugins.disabled: there is no such key\n  nearest: disable"),
    ("[plugins]\nxyz = []\n", 2, "there are: enable, disable, allow, required, autoload, strict, lock"),
    ("[plugns]\n", 1, "plugns: there is no such table\n  nearest: plugins, plugin"),
    ("\n[zzz.y]\n", 2, "there are: plugins, plugin, profiles, kernel"),
    ("enable = []\n", 1, "enable: there is no such table"),
    ("\n[backends.x]\n", 2, "backends: this version does not read"),
    ("[agents]\n", 1, "agents: this version does not read"),
    ("[permissions]\n", 1, "permissions: this version does not read"),
    ("plugins = 1\n", 1, "plugins: expected a table, got a single value\n  write [plugins]"),
    ("[[plugins]]\n", 1, "plugins: expected a table, got a list"),
    ("kernel = 'x'\n", 1, "kernel: expected a table, got text\n  write [kernel]"),
    ("[plugin]\n'middleware.x' = 1\n", 2, 'plugin."middleware.x": expected a table'),
    ("[plugins]\nenable = [\n 'a',\n 3,\n]\n", 2, "expected a list of names, got one with 3 in it"),
    ("[plugins]\nenable = 3\n", 2, "expected a list of names, got 3"),
    ("[plugins]\nenable = true\n", 2, "expected a list of names, got true"),
    ("[plugins]\nenable = {}\n", 2, "expected a list of names, got a table"),
    ("[plugins]\nenable = [\n 'a',\n ' ',\n]\n", 4, "plugins.enable: a name is empty"),
    ("[plugins]\nenable = [\n 'a',\n 'a, b'\n]\n", 4, "'a, b' is not one name\n  put each name into quotes"),
    ("[plugins]\nenable = [\n 'b',\n ' a',\n 'a ']\n", 4, "'a' stands there twice"),
    ("[plugins]\nautoload = 'true'\n", 2, "plugins.autoload: expected true or false, got 'true'"),
    ("[plugins]\nstrict = 1\n", 2, "plugins.strict: expected true or false, got 1"),
    ("[plugins]\nlock = 1\n", 2, "plugins.lock: expected a path, true or false, got 1"),
    ("[plugins]\nlock = ' '\n", 2, "the path is empty\n  write false for no lock file"),
    ("[plugins]\nlock = '${A:-}'\n", 2, "the path is empty"),
    ("[plugins]\nlock = '${A}'\n", 2, "plugins.lock: the environment variable A is not set"),
    (
        "[plugin.middleware.audit-log]\nkeep = 1\n",
        1,
        'needs quotes\n  write [plugin."middleware.audit-log"]',
    ),
    ("[kernel]\n[plugin.backend]\nx = 1\n", 2, 'needs quotes\n  write [plugin."backend.NAME"]'),
    ("plugin.model = 1\n", 1, 'needs quotes\n  write [plugin."model.NAME"]'),
    ("[plugin.kernel]\n", 1, "plugin.kernel: the kernel is no plugin\n  write [kernel]"),
    (
        "[plugin]\nenable = []\n",
        2,
        "plugin.enable: there is no such plugin\n  which plugins are in is said in",
    ),
    ("[plugin.' middleware.x']\n", 1, "' middleware.x' is not one name"),
    ("[plugin.'']\n", 1, "a name is empty"),
    ("[plugins.'middleware.x']\n", 1, 'settings of a plugin stand in [plugin."middleware.x"]'),
    ("[kernel]\nx = 1\ny = '${NOT_SET}'\n", 3, "kernel.y: the environment variable NOT_SET is not set"),
    (
        "[[plugin.'backend.x'.rules]]\na = '${NOT_SET}'\n",
        1,
        'plugin."backend.x".rules: the environment variable NOT_SET is not set',
    ),
    ("[kernel]\n\nx = '${1}'\n", 3, "kernel.x: what begins with ${ has to be a variable"),
]


@pytest.mark.parametrize(("text", "line", "said"), SLIPS)
def test_a_slip_is_named_with_its_line_and_the_way_out(text, line, said):
    found = error(text)
    assert found.line == line
    assert said in str(found)


def test_hints_of_a_pyproject_name_the_whole_table():
    found = error("[tool.deepagents.plugin.middleware.x]\n", name="pyproject.toml")
    assert 'write [tool.deepagents.plugin."middleware.x"]' in found.hint
    assert found.key == "tool.deepagents.plugin.middleware.x"
    found = error("[tool]\ndeepagents = 1\n", name="pyproject.toml")
    assert str(found).startswith("pyproject.toml:2: tool.deepagents: expected a table, got a single value")


def test_settings_are_never_shown_in_an_error():
    for text in ("[plugin]\n'middleware.x' = 'hunter2'\n", "kernel = ['hunter2']\n"):
        assert "hunter2" not in str(error(text))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[plugins]\nenable = \n", 2, "not valid TOML: Invalid value (at line 2, column 10)"),
        ("[plugins]\nautoload = true\nautoload = true\n", 3, "stands there for the second time"),
        ("[kernel]\n[plugins]\n[kernel]\n", 3, "stands there for the second time"),
        ("x = [1,\n", None, "not valid TOML"),
        (b"[plugins]\n# \xff\n", 2, "the file is not UTF-8\n  save the file in the encoding UTF-8"),
        ("x = " + "[" * 5000, None, "nested too deeply"),
        ("x = " + "1" * 5000, None, "not valid TOML"),
        ("[kernel]\nx = " + "[" * 60 + "]" * 60, 1, "kernel: values are nested too deeply"),
        ("kernel" + ".a" * 3000 + " = 1", None, "kernel: values are nested too deeply"),
    ],
)
def test_what_is_no_toml_file(text, line, said):
    found = error(text)
    assert found.line == line
    assert said in str(found)


def test_a_byte_order_mark_and_windows_line_ends_are_fine():
    found = source(b"\xef\xbb\xbf" + EVERYTHING.replace("\n", "\r\n").encode())
    assert found.switches.strict is True
    assert found.where("plugins", "disable", "backend.four") == "deepagents.toml:7"


def test_files_that_can_not_be_read(tmp_path):
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    said = {
        "folder": "it is a folder",
        "loop": "symbolic links",
        "gone": "No such file",
        "pipe": "not a regular",
    }
    for name, reason in {**said, "nul\0": "null"}.items():
        with pytest.raises(ConfigError, match=reason) as caught:
            read_file(Path(name), Level.USER, {})
        assert caught.value.path == str(tmp_path / name)
        assert caught.value.line is None


def test_the_null_device_is_an_empty_file():
    assert read_file(Path(os.devnull), Level.USER, {}).switches == Switches()


def test_a_file_without_permission(tmp_path):
    path = tmp_path / "deepagents.toml"
    path.write_text("", encoding="utf-8")
    path.chmod(0)
    seen = _as_ordinary_user(path)
    assert seen["uid"] != 0
    assert "deepagents.toml: the file can't be read: Permission denied" in seen["said"]


def _as_ordinary_user(path):
    """What reading a file says in a forked child without root's rights."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            try:
                read_file(path, Level.USER, {})
                said = "nothing"
            except ConfigError as error:
                said = str(error)
            os.write(writer, json.dumps({"uid": os.getuid(), "said": said}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        outcome = json.loads(stream.read())
    os.waitpid(child, 0)
    return outcome


def test_reading_configuration_imports_nothing_heavy(tmp_path):
    (tmp_path / "deepagents.toml").write_text(EVERYTHING, encoding="utf-8")
    program = (
        "import sys\n"
        "from deepagents_kernel.config import code, edit, secrets\n"
        "from deepagents_kernel.config.load import load_for_library\n"
        "found = load_for_library('deepagents.toml', {})\n"
        "found.sources[0].where('plugins', 'strict')\n"
        "heavy = {'langchain', 'langchain_core', 'cattrs', 'structlog', 'stevedore', 'tomlkit',"
        " 'platformdirs', 'pluggy', 'packaging', 'click', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=tmp_path,
    )
    assert ran.stdout == "[]\n"


def test_a_file_that_another_one_replaces_while_it_is_read_is_read_whole(tmp_path, monkeypatch):
    from deepagents_kernel.config import paths

    file, larger = tmp_path / "cache.json", tmp_path / "larger.json"
    file.write_bytes(b"small")
    larger.write_bytes(b"x" * 5000)
    at_once = paths._open_at_once

    def replaced(path, flags):
        larger.replace(file)
        return at_once(path, flags)

    monkeypatch.setattr(paths, "_open_at_once", replaced)
    assert paths.read_regular(file) == b"x" * 5000
