"""Changing configuration files: what is not meant stays as it is."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from deepagents_kernel.config import edit
from deepagents_kernel.config.edit import set_lock, switch
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.files import read_file
from deepagents_kernel.config.source import Level

COMMENTED = """\
#  Notes of the team.   \n\
title-less = {x=1,y =  2} # odd spacing

[plugins]   # what is in
disable = [   # one a line
\t"middleware.one",   # not now

  # ask before
  'backend.two' # really
]
  enable=["harness.three","harness.four"]#tight
strict    =     true


# about the kernel
[kernel]
text = '''
[plugins]
enable = []
'''
"a b".c = 1979-05-27T07:32:00Z
nan = nan
"""


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deepagents.toml"


def edited(path, text, change):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    change(path)
    return path.read_bytes().decode()


def on(name):
    return lambda path: switch(path, name, on=True)


def off(name):
    return lambda path: switch(path, name, on=False)


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (off("model.x"), "'backend.two' # really\n", "'backend.two', # really\n  \"model.x\"\n"),
        (on("model.x"), '"harness.four"]#tight', '"harness.four", "model.x"]#tight'),
        (lambda path: set_lock(path, "a.lock"), "=     true\n", '=     true\nlock = "a.lock"\n'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_all_other_bytes_stay(path, change, old, new, end, mark):
    before = COMMENTED.replace("\n", end)
    wanted = COMMENTED.replace(old, new).replace("\n", end)
    assert wanted != before
    found = edited(path, mark + before.encode(), change)
    assert found.encode() == mark + wanted.encode()


def test_a_name_moves_from_one_list_to_the_other(path):
    found = edited(path, COMMENTED, on("middleware.one"))
    wanted = COMMENTED.replace('\t"middleware.one",   # not now\n', "")
    wanted = wanted.replace('"harness.four"]', '"harness.four", "middleware.one"]')
    # The blank line belongs to the entry above it or to the one below: either is fine.
    assert [line for line in found.splitlines() if line] == [line for line in wanted.splitlines() if line]
    assert switch(path, "harness.three", on=False) == (
        "deepagents.toml: added harness.three to disable, removed harness.three from enable"
    )
    assert '  enable=["harness.four", "middleware.one"]#tight\n' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "name", "is_on", "said"),
    [
        ("[plugins]\nenable = ['a']\n", "a", True, "a stands in enable already"),
        ("[plugins]\ndisable = [' a ']\n", " a ", False, "a stands in disable already"),
        ("[plugins]\nenable = ['a']\ndisable = ['a']\n", "a", True, "removed a from disable"),
        ("[plugins]\nenable = ['a']\ndisable = ['a']\n", "a", False, "removed a from enable"),
        ("", "a", True, "added a to enable"),
        ("[plugins]\nenable = ['a']\n", "a", False, "added a to disable, removed a from enable"),
    ],
)
def test_what_was_changed_is_said(path, text, name, is_on, said):
    path.write_text(text, encoding="utf-8")
    assert switch(path, name, on=is_on) == f"deepagents.toml: {said}"
    changed = path.read_text(encoding="utf-8")
    assert (changed == text) is said.endswith("already")
    assert switch(path, name, on=is_on).endswith("already")
    assert path.read_text(encoding="utf-8") == changed


# Before, after `off("x")`.
LAYOUTS = [
    ("", '[plugins]\ndisable = ["x"]\n'),
    ("[kernel]\na = 1\n", '[kernel]\na = 1\n\n[plugins]\ndisable = ["x"]\n'),
    ("[kernel]\na = 1", '[kernel]\na = 1\n\n[plugins]\ndisable = ["x"]'),
    ("# only\n", '# only\n\n[plugins]\ndisable = ["x"]\n'),
    ("[plugins]\n", '[plugins]\ndisable = ["x"]\n'),
    ("[plugins]", '[plugins]\ndisable = ["x"]'),
    ("[plugins]\n\n# next\n[kernel]\n", '[plugins]\ndisable = ["x"]\n\n# next\n[kernel]\n'),
    ("[plugins]\nstrict = true", '[plugins]\nstrict = true\ndisable = ["x"]'),
    ("[plugins]\n  strict = true\n# e\n", '[plugins]\n  strict = true\n  disable = ["x"]\n# e\n'),
    ("[plugins]\nenable = [\n 'y',\n]\n\n", "[plugins]\nenable = [\n 'y',\n]\ndisable = [\"x\"]\n\n"),
    ("[ plugins ] # c\n", '[ plugins ] # c\ndisable = ["x"]\n'),
    ("plugins.strict = true\na.b = 1\n", 'plugins.strict = true\nplugins.disable = ["x"]\na.b = 1\n'),
    ("[plugins]\ndisable = []\n", '[plugins]\ndisable = ["x"]\n'),
    ("[plugins]\ndisable = [ 'y' ]\n", "[plugins]\ndisable = [ 'y', \"x\" ]\n"),
    ("[plugins]\ndisable = ['y',]\n", "[plugins]\ndisable = ['y', \"x\",]\n"),
    ("[plugins]\ndisable = [ 'y', 'z', # c\n]\n", "[plugins]\ndisable = [ 'y', 'z', # c\n  \"x\",\n]\n"),
    ("[plugins]\ndisable = ['y' # c\n # d\n]\n", "[plugins]\ndisable = ['y', # c\n  \"x\"\n # d\n]\n"),
    ("[plugins]\ndisable = [\n\t'y'\n]\n", "[plugins]\ndisable = [\n\t'y',\n\t\"x\"\n]\n"),
    ("[plugins]\ndisable = [\n  'y', 'z']\n", "[plugins]\ndisable = [\n  'y', 'z', \"x\"]\n"),
    ("[plugins]\ndisable = [\n # none\n]\n", '[plugins]\ndisable = [\n # none\n "x"\n]\n'),
    ("plugins = {disable = ['y'], allow = ['y']}\n", "plugins = {disable = ['y', \"x\"], allow = ['y']}\n"),
    (
        "# b\r\n[plugins]\ndisable = [\n  'y',\r\n]\n",
        "# b\r\n[plugins]\ndisable = [\n  'y',\r\n  \"x\",\r\n]\n",
    ),
    (
        "[plugins]\ndisable = [\n  'y', # why\n]\n",
        "[plugins]\ndisable = [\n  'y', # why\n  \"x\",\n]\n",
    ),
    ("plugins.disable = ['y']\n", "plugins.disable = ['y', \"x\"]\n"),
    ("plugins = { disable = ['y'] }\n", "plugins = { disable = ['y', \"x\"] }\n"),
    ("[plugins]\r\nstrict = true\r\n", '[plugins]\r\nstrict = true\r\ndisable = ["x"]\r\n'),
    ("[kernel]\r\na = 1\r\n", '[kernel]\r\na = 1\r\n\r\n[plugins]\r\ndisable = ["x"]\r\n'),
    ("# a\r\n[plugins]\n", '# a\r\n[plugins]\ndisable = ["x"]\n'),
]


@pytest.mark.parametrize(("before", "after"), LAYOUTS)
def test_layouts(path, before, after):
    assert edited(path, before, off("x")) == after


PYPROJECT = """\
[project]
name = "notes" # it

[tool.ruff]
line-length = 110

[dependency-groups]
test = ["pytest"]

[tool.deepagents.kernel]
recursion_limit = 50

[tool.mypy]
strict = true
"""


def test_a_pyproject_with_tables_in_any_order(tmp_path):
    path = tmp_path / "pyproject.toml"
    first = edited(path, PYPROJECT, off("backend.x"))
    assert first == f'{PYPROJECT}\n[tool.deepagents.plugins]\ndisable = ["backend.x"]\n'
    moved = first.replace("\n[tool.mypy]\nstrict = true\n", "") + "\n[tool.mypy]\nstrict = true\n"
    second = edited(path, moved, off("backend.y"))
    assert second == moved.replace('["backend.x"]', '["backend.x", "backend.y"]')
    third = edited(path, second, on("backend.y"))
    assert third == moved.replace('["backend.x"]\n', '["backend.x"]\nenable = ["backend.y"]\n')
    found = read_file(path, Level.PROJECT, {})
    assert (found.switches.disable, found.switches.enable) == (("backend.x",), ("backend.y",))


@pytest.mark.parametrize(
    "text",
    [
        "[tool.deepagents]\n",
        "[tool.deepagents]\nplugins.strict = true\n",
        "[tool]\ndeepagents.plugins.strict = true\n",
        "tool.deepagents.plugins.enable = ['y']\n",
        "[tool.deepagents.plugins]\nenable = ['x']\n",
        "[tool.a]\n[b]\n[tool.deepagents.plugins]\nenable = ['x']\n[c]\n[tool.d]\n",
        "[tool.a]\nx = 1\n[b]\n[tool.deepagents]\nplugins = {enable = ['x', 'y']}\n[tool.d]\ny = 2\n",
        "[tool.deepagents.kernel]\n",
    ],
)
def test_forms_of_the_table_in_a_pyproject(tmp_path, text):
    path = tmp_path / "pyproject.toml"
    edited(path, text, off("x"))
    found = read_file(path, Level.PROJECT, {}).switches
    assert found.disable == ("x",)
    assert "x" not in (found.enable or ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[plugins]\nlock = "a/b.lock"\n'),
        (
            "[plugins]\nlock = false # none\nstrict = true\n",
            '[plugins]\nlock = "a/b.lock" # none\nstrict = true\n',
        ),
        ("[plugins]\nlock = 'old'\n", '[plugins]\nlock = "a/b.lock"\n'),
        ("plugins.lock = true\n", 'plugins.lock = "a/b.lock"\n'),
    ],
)
def test_the_lock_is_set(path, before, after):
    assert edited(path, before, lambda path: set_lock(path, "a/b.lock")) == after
    assert set_lock(path, "a/b.lock") == "deepagents.toml: lock is a/b.lock already"
    assert set_lock(path, "c") == "deepagents.toml: set lock to c"


def test_odd_characters_in_a_path_are_kept(path):
    name = '${x}$a"b\\c\x7f\t\u00e9 \U0001f600'
    set_lock(path, name)
    assert read_file(path, Level.USER, {}).switches.lock == path.parent / name


def test_files_and_folders_are_made(tmp_path):
    old = os.umask(0o027)
    try:
        switch(tmp_path / "new" / "folder" / "deepagents.toml", "x", on=True)
    finally:
        os.umask(old)
    path = tmp_path / "new" / "folder" / "deepagents.toml"
    assert path.read_bytes() == b'[plugins]\nenable = ["x"]\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [item.name for item in path.parent.iterdir()] == ["deepagents.toml"]
    switch(tmp_path / "pyproject.toml", "x", on=True)
    assert (tmp_path / "pyproject.toml").read_bytes() == b'[tool.deepagents.plugins]\nenable = ["x"]\n'


def test_mode_and_link_are_kept(tmp_path, path):
    target = tmp_path / "real" / "file.toml"
    target.parent.mkdir()
    target.write_text("# x\n", encoding="utf-8")
    target.chmod(0o604)
    path.symlink_to(target)
    switch(path, "x", on=True)
    assert path.is_symlink()
    assert 'enable = ["x"]' in target.read_text(encoding="utf-8")
    assert stat.S_IMODE(target.stat().st_mode) == 0o604
    path.unlink()
    path.symlink_to("nowhere.toml")
    switch(path, "x", on=True)
    assert path.is_symlink()
    assert (tmp_path / "nowhere.toml").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[plugins\n", "not valid TOML"),
        (b"# \xff\n", "not UTF-8"),
        (b"plugins = 1\n", "deepagents.toml:1: plugins: expected a table, got 1"),
        (b"[plugins]\ndisable = 'x'\n", "plugins.disable: expected a list of names, got 'x'"),
        (b"[plugins]\ndisable = [1]\n", "plugins.disable: expected a list of names"),
        (b"[plugins]\nenable = true\n", "plugins.enable: expected a list of names, got true"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(path, content, said):
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        switch(path, "x", on=False)
    assert said in str(caught.value)
    assert path.read_bytes() == content
    assert [item.name for item in path.parent.iterdir()] == ["deepagents.toml"]


def test_other_slips_in_the_file_do_not_keep_a_plugin_from_being_switched_off(path):
    text = "[plugins]\nstrct = true\n[profiles]\n"
    assert edited(path, text, off("x")) == '[plugins]\nstrct = true\ndisable = ["x"]\n[profiles]\n'


def test_a_layout_that_can_not_be_edited(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool]\ndeepagents = {kernel = {a = 1}}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        switch(path, "x", on=False)
    assert "can't be changed without touching something else" in caught.value.reason
    assert caught.value.hint == 'write it yourself, below [tool.deepagents.plugins]: disable = ["x"]'
    assert path.read_text(encoding="utf-8") == "[tool]\ndeepagents = {kernel = {a = 1}}\n"


def test_what_changes_more_than_it_should_is_not_written(path, monkeypatch):
    path.write_text("[plugins]\n[kernel]\na = 1\n", encoding="utf-8")
    monkeypatch.setattr(edit, "with_line", lambda text, _last, line: f"[plugins]\n{line}\n")
    with pytest.raises(ConfigError, match="write it yourself"):
        switch(path, "x", on=False)
    assert path.read_text(encoding="utf-8") == "[plugins]\n[kernel]\na = 1\n"


def test_a_file_that_changes_meanwhile_is_left_alone(path, monkeypatch):
    path.write_text("[plugins]\n", encoding="utf-8")
    real = edit.with_line

    def slow(*given):
        path.write_text("[plugins]\nstrict = true\n", encoding="utf-8")
        return real(*given)

    monkeypatch.setattr(edit, "with_line", slow)
    with pytest.raises(ConfigError, match="somebody else has just changed it"):
        switch(path, "x", on=False)
    assert path.read_text(encoding="utf-8") == "[plugins]\nstrict = true\n"


@pytest.mark.parametrize("name", ["", " ", "a b", "a,b"])
def test_what_is_not_one_name(path, name):
    with pytest.raises(ConfigError, match="give one name"):
        switch(path, name, on=True)
    assert not path.exists()
    with pytest.raises(ConfigError, match="the path of the lock file is empty"):
        set_lock(path, " ")


def test_a_protected_file_is_left_alone(path):
    path.write_text("[plugins]\n", encoding="utf-8")
    path.chmod(0o444)
    with pytest.raises(ConfigError, match="can't be written: it is read-only"):
        switch(path, "x", on=True)
    assert path.read_bytes() == b"[plugins]\n"
    assert [item.name for item in path.parent.iterdir()] == ["deepagents.toml"]


def test_a_failed_write_leaves_no_trace(path, monkeypatch):
    path.write_text("[plugins]\n", encoding="utf-8")

    def refuse(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigError, match="can't be written: No space left on device"):
        switch(path, "x", on=True)
    assert path.read_bytes() == b"[plugins]\n"
    assert [item.name for item in path.parent.iterdir()] == ["deepagents.toml"]


def test_a_folder_and_a_loop_are_refused(tmp_path):
    (tmp_path / "pyproject.toml").mkdir()
    (tmp_path / "deepagents.toml").symlink_to("deepagents.toml")
    for name in ("pyproject.toml", "deepagents.toml"):
        with pytest.raises(ConfigError, match="can't be read"):
            switch(tmp_path / name, "x", on=True)


def test_names_are_written_as_toml(path):
    names = ["middleware.a", "x*", "[a-z]?", 'quo"te', "back\\slash", "\u00fc", "#"]
    for name in names:
        switch(path, name, on=True)
    assert read_file(path, Level.USER, {}).switches.enable == tuple(names)
    assert json.dumps(names[:2])[1:-1] in path.read_text(encoding="utf-8")
    for name in names:
        switch(path, name, on=False)
    found = read_file(path, Level.USER, {}).switches
    assert (found.enable, found.disable) == ((), tuple(names))
