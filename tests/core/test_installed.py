"""Installed plugins are found by their metadata, and nothing of theirs is imported."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepagents_kernel
from deepagents_kernel._builtin import BuiltinTable
from deepagents_kernel.config.source import Configuration, Level, Source, Switches
from deepagents_kernel.plugins.catalog import make_catalog
from deepagents_kernel.plugins.info import PLUGIN_NAME
from deepagents_kernel.plugins.installed import scan
from deepagents_kernel.plugins.names import distribution_key

PLUGIN = "[deepagents.plugins]\nmiddleware.audit = audit:plugin\n"


def distribution(folder, name, entry_points=PLUGIN, *, version="1.0", headers="", kind="dist-info"):
    """Write the metadata of an installed distribution, and modules that must not be imported."""
    info = Path(folder) / f"{name.replace('-', '_')}-{version}.{kind}"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}\nName: description\n"
    (info / ("METADATA" if kind == "dist-info" else "PKG-INFO")).write_text(text, encoding="utf-8")
    if entry_points is not None:
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (Path(folder) / "audit.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    return info


def names(found):
    return [plugin.name for plugin in found.plugins]


# -- what is found ---------------------------------------------------------------------------------


def test_the_facts_of_a_plugin(tmp_path):
    distribution(tmp_path, "Deepagents-Audit", headers="Summary: s\nRequires-Dist: deepagents-kernel>=0.1\n")
    found = scan([str(tmp_path)])
    assert found.troubles == ()
    (plugin,) = found.plugins
    assert plugin.dist.version == "1.0"
    facts = (plugin.name, plugin.entry_point, plugin.group, plugin.value, plugin.distribution, plugin.version)
    audit = ("middleware.audit", "middleware.audit", "deepagents.plugins", "audit:plugin")
    assert facts == (*audit, "Deepagents-Audit", "1.0")
    assert (plugin.requirements, plugin.optional, plugin.legacy) == (("deepagents-kernel>=0.1",), False, "")


def test_the_four_groups_and_no_other(tmp_path):
    text = """
[console_scripts]
audit = audit:main

[deepagents.optional_plugins]
middleware.careful = audit.careful

[deepagents.provider_profiles]
Own.Models = audit.profiles:register

[deepagents.harness_profiles]
own_models = audit.profiles:register_harness
[deepagents.other]
x = y:z
"""
    distribution(tmp_path, "own_models", text)
    found = [
        (plugin.name, plugin.value, plugin.optional, plugin.legacy) for plugin in scan([tmp_path]).plugins
    ]
    assert found == [
        ("harness.own-models", "audit.profiles:register_harness", False, "harness"),
        ("middleware.careful", "audit.careful", True, ""),
        ("provider.own-models", "audit.profiles:register", False, "provider"),
    ]


@pytest.mark.parametrize(
    ("dist", "entry_point", "name"),
    [
        ("langchain-own", "default", "provider.langchain-own-default"),
        ("own", "own", "provider.own"),
        ("Own__Models", "own.models", "provider.own-models"),
        ("own", "Two  Words!", "provider.own-two-words"),
        ("own", "___", "provider.own"),
        ("", "Own.Models", "provider.own-models"),
    ],
)
def test_names_of_plugins_that_have_none(tmp_path, dist, entry_point, name):
    distribution(tmp_path, dist, f"[deepagents.provider_profiles]\n{entry_point} = audit:register\n")
    (plugin,) = scan([str(tmp_path)]).plugins
    assert plugin.name == name
    assert PLUGIN_NAME.match(name)
    assert plugin.entry_point == entry_point


def test_a_bad_plugin_name_is_kept_for_the_catalog_to_refuse(tmp_path):
    distribution(tmp_path, "own", "[deepagents.plugins]\nMy Audit = audit\nnothing = audit:x\n")
    found = scan([str(tmp_path)])
    assert (names(found), found.troubles) == (["My Audit", "nothing"], ())


def test_sorted_by_name_then_distribution(tmp_path):
    for name in ("zulu", "alpha"):
        distribution(tmp_path, name, "[deepagents.plugins]\nbackend.b = audit\nbackend.a = audit\n")
    found = [(plugin.name, plugin.distribution) for plugin in scan([str(tmp_path)]).plugins]
    assert found == [
        ("backend.a", "alpha"),
        ("backend.a", "zulu"),
        ("backend.b", "alpha"),
        ("backend.b", "zulu"),
    ]


def test_the_first_distribution_of_a_name_wins_even_if_it_has_no_plugin(tmp_path):
    distribution(tmp_path / "a", "own-audit", version="1.0")
    distribution(tmp_path / "b", "own.audit", "[deepagents.plugins]\nbackend.b = audit\n", version="2.0")
    distribution(tmp_path / "c", "Own_Audit", None, version="3.0")
    folders = {letter: str(tmp_path / letter) for letter in "abc"}
    assert names(scan([folders["a"], folders["b"], folders["c"]])) == ["middleware.audit"]
    assert names(scan([folders["b"], folders["a"]])) == ["backend.b"]
    assert names(scan([folders["c"], folders["a"]])) == []
    assert [plugin.version for plugin in scan([folders["a"], folders["b"]]).plugins] == ["1.0"]


def test_the_path_is_that_of_python_unless_given(tmp_path, monkeypatch):
    distribution(tmp_path, "own-audit")
    assert "middleware.audit" not in names(scan())
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "middleware.audit" in names(scan())


def test_what_was_installed_a_moment_ago_is_there_and_can_be_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    assert scan([str(tmp_path)]).plugins == ()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("just_installed")
    stamp = tmp_path.stat()
    distribution(tmp_path, "own-audit")
    (tmp_path / "just_installed.py").write_text("there = True", encoding="utf-8")
    # A clock that is too coarse to show it.
    os.utime(tmp_path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert names(scan([str(tmp_path)])) == ["middleware.audit"]
    assert importlib.import_module("just_installed").there
    monkeypatch.delitem(sys.modules, "just_installed")


def test_what_was_removed_a_moment_ago_is_gone(tmp_path):
    info = distribution(tmp_path, "own-audit")
    assert names(scan([str(tmp_path)])) == ["middleware.audit"]
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
    assert scan([str(tmp_path)]) == scan([])


def test_in_a_zip_file(tmp_path):
    info = distribution(tmp_path / "site", "own-audit")
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        for file in info.iterdir():
            archive.write(file, f"{info.name}/{file.name}")
    found = scan([str(tmp_path / "own.zip")])
    assert [(plugin.distribution, plugin.version) for plugin in found.plugins] == [("own-audit", "1.0")]


def test_nothing_is_imported(tmp_path, monkeypatch):
    distribution(tmp_path, "own-audit")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    assert "middleware.audit" in names(scan())
    assert set(sys.modules) == before


# -- metadata --------------------------------------------------------------------------------------

HEADERS = """\
Requires-Dist: attrs>=24
Requires-Dist: deepagents-kernel-tools
Requires-Dist: Deepagents_Kernel >=0.1,
        <2
requires-dist: deepagents.kernel!=0.5; python_version > "3"
Classifier: deepagents-kernel
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_requirements_on_the_kernel_alone_are_kept(tmp_path, newline):
    info = distribution(tmp_path, "own-audit", headers=HEADERS)
    text = (info / "METADATA").read_text(encoding="utf-8") + "\nRequires-Dist: deepagents-kernel>=99\n"
    (info / "METADATA").write_bytes(text.replace("\n", newline).encode())
    (plugin,) = scan([str(tmp_path)]).plugins
    assert (plugin.distribution, plugin.version) == ("own-audit", "1.0")
    kept = [" ".join(text.split()) for text in plugin.requirements]
    assert kept == ["Deepagents_Kernel >=0.1, <2", 'deepagents.kernel!=0.5; python_version > "3"']


def test_an_egg_has_its_requirements_in_either_place(tmp_path):
    distribution(tmp_path, "one", kind="egg-info", headers="Requires-Dist: deepagents-kernel>=1\n")
    text = "[deepagents.plugins]\nbackend.b = audit\n"
    info = distribution(tmp_path, "two", text, kind="egg-info")
    (info / "requires.txt").write_text("attrs\ndeepagents-kernel>=2\n\n[extra]\nx\n", encoding="utf-8")
    found = scan([str(tmp_path)])
    assert found.troubles == ()
    rows = {plugin.distribution: (plugin.version, plugin.requirements) for plugin in found.plugins}
    assert rows == {"one": ("1.0", ("deepagents-kernel>=1",)), "two": ("1.0", ("deepagents-kernel>=2",))}


def test_the_same_as_the_parser_of_python_finds(tmp_path):
    distribution(tmp_path, "own-audit", headers=HEADERS + "Author: Ann\n B\nName-Of: x\n")
    (plugin,) = scan([str(tmp_path)]).plugins
    assert (plugin.distribution, plugin.version) == (plugin.dist.metadata["Name"], plugin.dist.version)
    assert ["".join(text.split()) for text in plugin.requirements] == [
        "".join(text.split())
        for text in plugin.dist.requires
        if text.startswith(("Deep", "deepagents.kernel"))
    ]


# -- trouble ---------------------------------------------------------------------------------------


def broken_link(info):
    (info / "entry_points.txt").unlink()
    (info / "entry_points.txt").symlink_to("entry_points.txt")


def folder_for_file(info):
    (info / "entry_points.txt").unlink()
    (info / "entry_points.txt").mkdir()


def file_for_folder(info):
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
    info.write_text("", encoding="utf-8")


def pipe(name):
    def change(info):
        (info / name).unlink()
        os.mkfifo(info / name)

    return change


def device(name):
    def change(info):
        (info / name).unlink()
        (info / name).symlink_to("/dev/zero")

    return change


def large(name):
    def change(info):
        with (info / name).open("ab") as stream:
            stream.truncate(10_000_001)

    return change


def entries(text):
    return lambda info: (info / "entry_points.txt").write_bytes(text)


def metadata(text):
    return lambda info: (info / "METADATA").write_bytes(text)


def left_over(info):
    info.rename(info.with_name(f"~{info.name[1:]}"))


# What is done to a distribution, what is said about it, and whether the plugin is listed all the same.
TROUBLES = {
    "a loop of links": (broken_link, "entry_points.txt can't be read", False),
    "a folder for a file": (folder_for_file, "entry_points.txt can't be read", False),
    "a file for a folder": (file_for_folder, "a file where a folder belongs", False),
    "bytes": (entries(b"\xff\xfe\x00garbage"), "entry_points.txt can't be read: not UTF-8 (byte 0)", False),
    "an open head": (entries(b"[deepagents.plugins\nmiddleware.x = audit"), "not the head of a group", False),
    "no head": (entries(b"[]\nmiddleware.x = audit:deepagents.plugins"), "not the head of a group", False),
    "no value": (
        entries(PLUGIN.encode() + b"middleware.x\n"),
        "'middleware.x' in [deepagents.plugins]",
        True,
    ),
    "an empty value": (entries(PLUGIN.encode() + b"middleware.x =\n"), "is not name = module:attr", True),
    "no name": (entries(PLUGIN.encode() + b"= audit\n"), "is not name = module:attribute", True),
    "no module": (entries(PLUGIN.encode() + b"backend.x = a-b:c\n"), "is not name = module:attribute", True),
    "relative": (entries(PLUGIN.encode() + b"backend.x = .a:c\n"), "is not name = module:attribute", True),
    "no metadata": (lambda info: (info / "METADATA").unlink(), "it has no METADATA", True),
    "another name": (metadata(b"Name: deepagents-kernel\nVersion: 1\n"), "not that of the folder", False),
    "no version": (metadata(b"Name: own-audit\n\nVersion: 1\n"), "its metadata give no version", True),
    "bytes in metadata": (
        metadata(b"Name: own-audit\nVersion: 1\nAuthor: \xe9\n"),
        "METADATA can't be read",
        True,
    ),
    "a pipe": (pipe("entry_points.txt"), "entry_points.txt can't be read: it is not a regular file", False),
    "a device": (device("entry_points.txt"), "entry_points.txt can't be read: it is not a regular", False),
    "too much": (large("entry_points.txt"), "entry_points.txt can't be read: it is larger than 10 MB", False),
    "a pipe for metadata": (pipe("METADATA"), "METADATA can't be read: it is not a regular file", True),
    "a device for metadata": (device("METADATA"), "METADATA can't be read: it is not a regular file", True),
    "too much metadata": (large("METADATA"), "METADATA can't be read: it is larger than 10 MB", True),
    "left over": (left_over, "left over from an interrupted run of pip", False),
}


@pytest.mark.parametrize("what", TROUBLES)
def test_trouble_is_told_and_hides_nobody(tmp_path, what):
    breaking, reason, listed = TROUBLES[what]
    info = distribution(tmp_path, "own-audit")
    for name in ("another", "zulu"):
        distribution(tmp_path, name, f"[deepagents.plugins]\nbackend.{name} = audit\n")
    breaking(info)
    found = scan([str(tmp_path)])
    (trouble,) = found.troubles
    assert reason in trouble.reason
    assert trouble.where.startswith(str(tmp_path))
    assert names(found) == ["backend.another", "backend.zulu", *(["middleware.audit"] if listed else [])]


def test_without_metadata_name_and_version_are_unknown(tmp_path):
    (distribution(tmp_path, "own-audit") / "METADATA").unlink()
    (plugin,) = scan([str(tmp_path)]).plugins
    assert (plugin.distribution, plugin.version, plugin.requirements) == ("", "", ())


@pytest.mark.parametrize("text", ["", "Metadata-Version: 2.1\nVersion: 1.0\n\n"])
def test_a_distribution_without_a_name_is_listed_and_no_trouble(tmp_path, text):
    (distribution(tmp_path, "own-audit") / "METADATA").write_text(text, encoding="utf-8")
    found = scan([str(tmp_path)])
    assert ([plugin.distribution for plugin in found.plugins], found.troubles) == ([""], ())


@pytest.mark.parametrize("name", ["own-audit", "Own.Audit", "own__audit"])
def test_the_name_of_the_folder_may_be_spelt_otherwise(tmp_path, name):
    text = f"Name: {name}\nVersion: 1.0\n\n"
    (distribution(tmp_path, "own-audit") / "METADATA").write_text(text, encoding="utf-8")
    found = scan([str(tmp_path)])
    assert ([plugin.distribution for plugin in found.plugins], found.troubles) == ([name], ())


@pytest.mark.parametrize(
    "text",
    [
        "[console_scripts]\n= nonsense\n[",
        "",
        "# deepagents.plugins\n",
        "[deepagents.pluginsandmore]\nx\n",
        PLUGIN.replace("deepagents.", "deepagents2."),
    ],
)
def test_what_is_not_ours_is_no_trouble(tmp_path, text):
    distribution(tmp_path, "own-audit", text)
    found = scan([str(tmp_path)])
    assert (found.plugins, found.troubles) == ((), ())


def test_comments_extras_and_doubled_lines(tmp_path):
    text = "; x\n[ deepagents.plugins ]\n# middleware.x = y\n middleware.audit=audit : plugin [extra]\n"
    distribution(tmp_path, "own-audit", text + "middleware.audit = audit:plugin\n")
    found = scan([str(tmp_path)])
    assert [(plugin.name, plugin.value) for plugin in found.plugins] == [("middleware.audit", "audit:plugin")]
    assert found.troubles == ()


def test_an_old_metadata_file_is_no_trouble(tmp_path):
    (tmp_path / "old-1.0.egg-info").write_text("Metadata-Version: 1.0\nName: old\n", encoding="utf-8")
    distribution(tmp_path, "own-audit")
    found = scan([str(tmp_path)])
    assert (names(found), found.troubles) == (["middleware.audit"], ())


@pytest.mark.parametrize("folder", ["no-such-folder", "file", "broken.zip"])
def test_folders_that_are_none(tmp_path, folder):
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    distribution(tmp_path / "site", "own-audit")
    assert names(scan([str(tmp_path / folder), str(tmp_path / "site")])) == ["middleware.audit"]


@pytest.mark.parametrize("name", ["deepagents-kernel", "Deepagents_Kernel", "deepagents.kernel"])
def test_the_name_of_the_kernel_lets_its_own_plugins_in_and_no_package_that_takes_it(tmp_path, name):
    distribution(tmp_path, name)
    found = scan([str(tmp_path)])
    assert [plugin.distribution for plugin in found.plugins] == [name]
    table = BuiltinTable(plugins={"middleware.filesystem": "builtin"})

    def states(*allow):
        switches = Switches(allow=allow)
        source = Source(Level.USER, "user file", switches=switches)
        rows = make_catalog(table, {}, found, Configuration((source,))).rows
        return {row.name: str(row.state) for row in rows}

    closed = states("deepagents-kernel")
    assert closed == {"middleware.filesystem": "enabled", "middleware.audit": "blocked"}
    named = states("deepagents-kernel", "middleware.audit")
    assert named == {"middleware.filesystem": "enabled", "middleware.audit": "enabled"}


# -- finders of others -----------------------------------------------------------------------------


class BrokenFinder:
    """A finder on ``sys.meta_path`` that raises when it is asked for distributions."""

    def __init__(self, *found):
        self.found = found

    def find_spec(self, *_):
        return None

    def find_distributions(self, _context):
        yield from self.found
        raise RuntimeError("out of order")


class BrokenRefresh(BrokenFinder):
    def find_distributions(self, _context):
        return ()

    def invalidate_caches(self):
        raise RuntimeError("out of order")


class Foreign(importlib.metadata.Distribution):
    """A distribution that is not made of files."""

    def __init__(self, files, error=None):
        self.texts = files
        self.error = error

    def read_text(self, filename):
        if self.error:
            raise self.error
        return self.texts.get(filename)

    def locate_file(self, path):
        return Path(path)


@pytest.mark.parametrize("finder", [BrokenFinder(), BrokenRefresh()])
@pytest.mark.parametrize("first", [True, False])
def test_a_broken_finder_is_told_and_hides_nothing(tmp_path, monkeypatch, finder, first):
    distribution(tmp_path, "own-audit")
    broken = distribution(tmp_path, "broken")
    (broken / "METADATA").unlink()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path] if first else [*sys.meta_path, finder])
    found = scan([str(tmp_path)])
    assert names(found) == ["middleware.audit"] * 2
    reasons = sorted(trouble.reason for trouble in found.troubles)
    assert len(reasons) == 2
    assert "RuntimeError: out of order" in reasons[0]


def test_a_path_that_python_cannot_list(tmp_path):
    distribution(tmp_path, "own-audit")
    found = scan([None, str(tmp_path)])
    assert names(found) == ["middleware.audit"]
    assert found.troubles


def test_distributions_that_a_foreign_finder_makes(tmp_path, monkeypatch):
    distribution(tmp_path, "own-audit")
    headers = "Name: Foreign\nVersion: 3\nRequires-Dist: deepagents-kernel>=1\n\n"
    text = "[deepagents.plugins]\nbackend.foreign = foreign\n"
    good = Foreign({"METADATA": headers, "entry_points.txt": text})
    monkeypatch.setattr(sys, "meta_path", [BrokenFinder(Foreign({}, OSError("gone")), good), *sys.meta_path])
    found = scan([str(tmp_path)])
    assert names(found) == ["backend.foreign", "middleware.audit"]
    foreign = found.plugins[0]
    assert (foreign.distribution, foreign.version, foreign.dist) == ("Foreign", "3", good)
    assert foreign.requirements == ("deepagents-kernel>=1",)
    assert any(trouble.where == "Foreign" and "gone" in trouble.reason for trouble in found.troubles)


def test_a_distribution_that_raises_in_the_middle_hides_no_other(tmp_path, monkeypatch):
    class Broken(Foreign):
        @property
        def metadata(self):
            raise LookupError("no metadata today")

    def foreign(name):
        text = f"[deepagents.plugins]\nbackend.{name} = {name}\n"
        return Foreign({"METADATA": f"Name: {name}\nVersion: 1\n\n", "entry_points.txt": text})

    class Finder(BrokenFinder):
        def find_distributions(self, _context):
            return iter(self.found)

    finder = Finder(foreign("one"), Broken({}), Foreign({}, RuntimeError("gone")), foreign("two"))
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    distribution(tmp_path, "own-audit")
    found = scan([str(tmp_path)])
    assert names(found) == ["backend.one", "backend.two", "middleware.audit"]
    assert [(trouble.where, trouble.reason) for trouble in found.troubles] == [
        ("Broken", "it can't be read: LookupError: no metadata today"),
        ("Foreign", "it can't be read: RuntimeError: gone"),
    ]


# -- any text --------------------------------------------------------------------------------------


@given(
    st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "ignore")))
)
def test_whatever_stands_in_the_files_is_a_row_or_a_trouble(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("site")
    info = distribution(folder, "own-audit")
    (info / "entry_points.txt").write_bytes(PLUGIN.encode() + content)
    (info / "METADATA").write_bytes(content)
    found = scan([str(folder)])
    assert "middleware.audit" in names(found) or found.troubles


@given(st.lists(st.sampled_from(["a", "Bc", "1"]), min_size=1), st.data())
def test_names_that_are_spelt_differently_are_one_distribution(words, data):
    runs = st.text("-_.", min_size=1, max_size=3)
    spelt = words[0] + "".join(data.draw(runs) + word for word in words[1:])
    assert distribution_key(spelt) == "-".join(words).lower()


def test_importing_it_is_cheap():
    heavy = (
        "structlog",
        "langchain",
        "langchain_core",
        "cattrs",
        "pluggy",
        "stevedore",
        "packaging",
        "tomlkit",
    )
    code = f"import sys, deepagents_kernel.plugins.installed\nassert not {{*{heavy}}} & set(sys.modules)"
    core = str(Path(deepagents_kernel.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": core}, check=True)
