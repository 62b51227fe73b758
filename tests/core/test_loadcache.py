"""The results of the last loads, kept between runs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import platformdirs
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import deepagents_kernel
from deepagents_kernel.plugins.installed import InstalledPlugin
from deepagents_kernel.plugins.loadcache import LoadResult, cache_path, last_load, read_cache, update_cache

AUDIT = LoadResult("middleware.audit", "deepagents-audit", "0.3.1", ("middleware", "2 hooks"), "", 0.2)
BROKEN = LoadResult("backend.s3", "deepagents-s3", "1.2.0", (), "ImportError: no module named 'boto3'", 0.01)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder that is not there yet."""
    folder = tmp_path / "cache" / "inner"
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: folder / name)
    return folder


def rewritten():
    """Whether an update writes the file, told by a mark in it that every reader passes over."""
    document = json.loads(cache_path().read_text(encoding="utf-8"))
    cache_path().write_text(json.dumps({**document, "mark": True}), encoding="utf-8")
    return lambda: "mark" not in json.loads(cache_path().read_text(encoding="utf-8"))


def test_what_is_kept_is_read_again():
    assert read_cache() == {}
    update_cache([AUDIT, BROKEN])
    assert read_cache() == {"middleware.audit": AUDIT, "backend.s3": BROKEN}


def test_an_update_replaces_the_results_that_it_has_and_keeps_the_others():
    update_cache([AUDIT, BROKEN])
    repaired = evolve(BROKEN, version="1.3.0", error="", provides=("backend",))
    update_cache([repaired])
    assert read_cache() == {"middleware.audit": AUDIT, "backend.s3": repaired}


def test_each_environment_has_a_file_of_its_own(folder, monkeypatch):
    first = cache_path()
    assert first.parent == folder / "deepagents-kernel"
    assert first.name.startswith("loads-")
    update_cache([AUDIT])
    monkeypatch.setattr(sys, "prefix", sys.prefix + "-other")
    assert cache_path() != first
    assert read_cache() == {}


@pytest.mark.parametrize(
    ("change", "counts"),
    [({}, True), ({"distribution": "another"}, False), ({"version": "0.3.2"}, False), ({"name": "x"}, False)],
)
def test_a_result_counts_for_its_distribution_and_version_only(change, counts):
    plugin = InstalledPlugin(
        name="middleware.audit",
        entry_point="middleware.audit",
        group="deepagents.plugins",
        value="audit",
        distribution="deepagents-audit",
        version="0.3.1",
    )
    found = last_load(evolve(plugin, **change), {"middleware.audit": AUDIT})
    assert found is (AUDIT if counts else None)


@pytest.mark.parametrize(
    ("change", "writes"),
    [
        ({}, False),
        ({"seconds": 0.25}, False),
        ({"seconds": 0.11}, False),
        ({"seconds": 0.35}, True),
        ({"seconds": 0.05}, True),
        ({"error": "x"}, True),
        ({"version": "0.4"}, True),
        ({"provides": ("middleware",)}, True),
    ],
)
def test_nothing_is_written_when_nothing_has_changed(change, writes):
    update_cache([AUDIT, BROKEN])
    was_written = rewritten()
    update_cache([evolve(AUDIT, **change)])
    assert was_written() == writes
    update_cache([])
    assert was_written() == writes


WRONG = {
    "empty": b"",
    "no json": b"{",
    "not utf-8": b'{"format": 1, "loads": [], "x": "\xff"}',
    "another format": b'{"format": 2, "loads": []}',
    "a list": b"[]",
    "null": b"null",
    "deep": b"[" * 100_000,
    "no rows": b'{"format": 1}',
    "a row of text": b'{"format": 1, "loads": ["x"]}',
    "a missing key": b'{"format": 1, "loads": [{"name": "x"}]}',
}


@pytest.mark.parametrize("what", WRONG)
def test_anything_wrong_counts_as_empty_and_is_written_anew(what):
    cache_path().parent.mkdir(parents=True)
    cache_path().write_bytes(WRONG[what])
    assert read_cache() == {}
    update_cache([AUDIT])
    assert read_cache() == {"middleware.audit": AUDIT}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", 3),
        ("name", []),
        ("distribution", None),
        ("version", 1.0),
        ("provides", "abc"),
        ("provides", [1]),
        ("error", False),
        ("seconds", "0.1"),
        ("seconds", -1),
        ("seconds", float("nan")),
    ],
)
def test_a_value_of_a_wrong_type_counts_as_empty(key, value):
    update_cache([AUDIT, BROKEN])
    document = json.loads(cache_path().read_text(encoding="utf-8"))
    document["loads"][0][key] = value
    cache_path().write_text(json.dumps(document), encoding="utf-8")
    assert read_cache() == {}


def test_a_folder_in_place_of_the_file(folder):
    cache_path().mkdir(parents=True)
    update_cache([AUDIT])
    assert read_cache() == {}
    assert list(cache_path().parent.iterdir()) == [cache_path()]


def test_a_file_in_place_of_the_folder(folder):
    folder.parent.mkdir()
    folder.write_text("", encoding="utf-8")
    update_cache([AUDIT])
    assert read_cache() == {}


def test_no_folder_for_caches(monkeypatch):
    def nowhere(_name):
        raise RuntimeError("no home")

    monkeypatch.setattr(platformdirs, "user_cache_path", nowhere)
    update_cache([AUDIT])
    assert read_cache() == {}


def test_results_that_break_off_change_nothing():
    def results():
        yield AUDIT
        raise ValueError

    update_cache(results())
    assert read_cache() == {}


def test_an_interrupt_passes_and_leaves_no_file_behind(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    cache_path().parent.mkdir(parents=True)
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        update_cache([AUDIT])
    assert list(cache_path().parent.iterdir()) == []


def test_readers_and_writers_at_once_never_see_a_part():
    update_cache([AUDIT, BROKEN])
    seen, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            seen.append(set(read_cache()))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        update_cache([evolve(AUDIT, error=str(number) * 2000)])
    stop.set()
    reader.join()
    assert all(names == {"middleware.audit", "backend.s3"} for names in seen)
    assert [path.name for path in cache_path().parent.iterdir()] == [cache_path().name]


TEXT = st.text(st.characters(), max_size=12)


@given(
    st.lists(
        st.builds(LoadResult, TEXT, TEXT, TEXT, st.lists(TEXT, max_size=3).map(tuple), TEXT, st.floats(0, 9)),
        max_size=4,
    )
)
def test_any_text_is_read_as_it_was_written(results):
    cache_path().unlink(missing_ok=True)
    update_cache(results)
    assert read_cache() == {result.name: result for result in results}


def test_importing_it_is_cheap():
    heavy = ("platformdirs", "json", "hashlib", "structlog", "langchain", "cattrs", "importlib.metadata")
    code = f"import sys, deepagents_kernel.plugins.loadcache\nassert not {{*{heavy}}} & set(sys.modules)"
    core = str(Path(deepagents_kernel.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": core}, check=True)
