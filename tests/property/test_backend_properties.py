"""One behaviour on every backend: state, disk, and a slow model that is obviously right."""

import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph import START, StateGraph

from deepagents_builtin.backends.filesystem.backend import FilesystemBackend
from deepagents_builtin.backends.state.backend import StateBackend
from deepagents_builtin.backends.state.files_state import FilesystemState
from deepagents_kernel.files.text import to_lf

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

names = st.sampled_from(["a", "b.py", "c", ".h", "d d", "é"])
file_paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
contents = st.lists(st.sampled_from(["a", "b", "ab", "\n", "\r\n", "é", " "]), max_size=8).map("".join)


def no_file_is_a_folder(tree):
    return not any(other.startswith(f"{path}/") for path in tree for other in tree)


trees = st.dictionaries(file_paths, contents, max_size=8).filter(no_file_is_a_folder)


def on_both(work, tree):
    """What *work* returns on a state backend and on a filesystem backend that hold *tree*."""
    results = []

    def node(state):
        backend = StateBackend()
        for path, content in tree.items():
            assert backend.write(path, content).error is None
        results.append(work(backend))

    graph = StateGraph(FilesystemState)
    graph.add_node("work", node)
    graph.add_edge(START, "work")
    graph.compile().invoke({"messages": []})
    folder = Path(tempfile.mkdtemp())
    try:
        backend = FilesystemBackend(folder)
        for path, content in tree.items():
            assert backend.write(path, content).error is None
        results.append(work(backend))
    finally:
        shutil.rmtree(folder)
    return results


def model_lines(content):
    """Lines with their endings, by hand."""
    return re.findall(r"[^\n]*\n|[^\n]+", to_lf(content))


def model_listing(tree, folder):
    prefix = folder.rstrip("/") + "/"
    below = [path[len(prefix) :] for path in tree if path.startswith(prefix)]
    return sorted({prefix + name.partition("/")[0] + ("/" if "/" in name else "") for name in below})


@pytest.mark.spec("STB-011", "FSB-020")
@QUICK
@given(trees, file_paths)
def test_listings(tree, elsewhere):
    def work(backend):
        found = [backend.ls(folder) for folder in folders]
        return [
            [(entry["path"], entry["is_dir"], entry["size"]) for entry in result.entries or []]
            for result in found
        ]

    folders = ["/", *sorted({path.rpartition("/")[0] or "/" for path in (*tree, elsewhere)})]
    state, disk = on_both(work, tree)
    assert state == disk
    for folder, entries in zip(folders, disk, strict=True):
        assert [path for path, _, _ in entries] == model_listing(tree, folder)
        for path, is_dir, size in entries:
            assert is_dir == path.endswith("/")
            assert size == (0 if is_dir else len(tree[path].encode()))


@pytest.mark.spec("BK-074", "FSB-034", "STB-013")
@QUICK
@given(contents, st.integers(-2, 6), st.integers(-1, 6))
def test_windows(content, offset, limit):
    state, disk = on_both(lambda backend: backend.read("/f", offset, limit), {"/f": content})
    for result in (state, disk):
        for stamp in ("created_at", "modified_at"):
            (result.file_data or {}).pop(stamp, None)
    assert state == disk
    first, count = max(offset, 0), max(limit, 0)
    lines = model_lines(content)
    if not content.strip():
        assert disk.file_data["content"] == content
    elif count == 0:
        assert disk.no_lines_requested
    elif first >= len(lines):
        assert disk.error
    else:
        assert disk.file_data["content"] == "".join(lines[first : first + count])
        assert disk.total_lines == len(lines)


patterns = st.lists(
    st.sampled_from(["a", "b.py", "*", "**", "?", ".", "/", "{a,c}", "[!a]", "*.py", ".h", "é", "d d"]),
    min_size=1,
    max_size=5,
).map("".join)


@pytest.mark.spec("GLOB-001", "GLOB-002", "GLOB-018", "GLOB-019")
@QUICK
@given(trees, patterns, file_paths)
def test_globs(tree, pattern, folder):
    def work(backend):
        found = backend.glob(pattern), backend.glob(pattern, folder)
        return [[match["path"] for match in result.matches or []] for result in found]

    state, disk = on_both(work, tree)
    assert state == disk
    assert set(disk[0]) <= set(tree)
    if pattern == "**/*":
        assert disk[0] == sorted(path for path in tree if "/." not in path)
    if pattern == "*":
        assert disk[0] == sorted(path for path in tree if not path.rpartition("/")[2].startswith("."))


@pytest.mark.spec("GREP-001", "GREP-002", "GREP-004", "GREP-005")
@QUICK
@given(
    trees,
    st.sampled_from(["a", "b", "ab", "", "é", " "]),
    st.none() | patterns,
    st.none() | st.integers(0, 4),
)
def test_searches(tree, needle, include, cap):
    def work(backend):
        result = backend.grep(needle, glob=include)
        capped = backend.grep(needle, glob=include, max_count=cap)
        every = sorted((match["path"], match["line"], match["text"]) for match in result.matches or [])
        return every, len(capped.matches or []), capped.truncated, bool(result.error)

    state, disk = on_both(work, tree)
    assert state == disk
    every, count, truncated, refused = disk
    if include is None:
        assert every == sorted(
            (path, number, line.removesuffix("\n"))
            for path, content in tree.items()
            for number, line in enumerate(model_lines(content), 1)
            if needle in line.removesuffix("\n")
        )
    if not refused:
        limit = len(every) if cap is None else cap
        assert (count, truncated) == (min(limit, len(every)), len(every) > limit)


@pytest.mark.spec("BY-004", "BY-005", "BK-081", "BK-084")
@QUICK
@given(
    contents,
    st.sampled_from(["a", "b", "a\n", "\nb", "ab"]),
    st.sampled_from(["", "x", "x\ny", "a"]),
    st.booleans(),
)
def test_edits(content, old, new, replace_all):
    def work(backend):
        result = backend.edit("/f", old, new, replace_all)
        return result, backend.download_files(["/f"])[0].content.decode()

    state, disk = on_both(work, {"/f": content})
    assert state == disk
    result, after = disk
    view = to_lf(content)
    found = view.count(old)
    if old == new or found == 0 or (found > 1 and not replace_all):
        assert result.error
        assert after == content
    else:
        assert (result.path, result.occurrences) == ("/f", found)
        assert to_lf(after) == view.replace(old, new)


def parents(path):
    """The folders above a path, without the root."""
    parts = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), file_paths, contents),
        st.tuples(st.just("delete"), file_paths, st.just("")),
        st.tuples(st.just("edit"), file_paths, st.just("")),
    ),
    max_size=10,
)


@pytest.mark.spec("BK-032", "STB-016", "FSB-047")
@QUICK
@given(trees, steps)
def test_any_sequence_of_changes(tree, sequence):
    model = dict(tree)
    applied = []
    # On a disk a folder stays when its last file goes; in the state there is none.
    folders = {folder for path in tree for folder in parents(path)}
    for action, path, content in sequence:
        if action == "write":
            # A file and a folder of one name are a difference between the backends; leave it out.
            if no_file_is_a_folder({**model, path: ""}) and path not in folders:
                applied.append((action, path, content))
                model[path] = content
                folders |= set(parents(path))
        elif action == "delete":
            applied.append((action, path, content))
            folders = {folder for folder in folders if folder != path and not folder.startswith(f"{path}/")}
            for gone in [key for key in model if key == path or key.startswith(f"{path}/")]:
                del model[gone]
        else:
            applied.append((action, path, content))
            if to_lf(model.get(path, "")).count("a") == 1:
                model[path] = model[path].replace("a", "X")

    def work(backend):
        outcomes = []
        for action, path, content in applied:
            if action == "write":
                outcomes.append(backend.write(path, content).error)
            elif action == "delete":
                # An empty folder is there on a disk only, so whether it could be deleted is not compared.
                backend.delete(path)
            else:
                outcomes.append(backend.edit(path, "a", "X").error is None)
        files = [match["path"] for match in backend.glob("**").matches + backend.glob(".*").matches]
        return outcomes, {path: backend.download_files([path])[0].content.decode() for path in files}

    state, disk = on_both(work, tree)
    assert state == disk
    assert disk[1] == model


weird = st.text(alphabet="a/.~\\: \0\n\ud800é", max_size=12)


@pytest.mark.spec("BY-001")
@QUICK
@given(weird, weird)
def test_no_path_and_no_text_makes_a_backend_raise(path, text):
    def work(backend):
        refused = [
            bool(result.error)
            for result in (
                backend.read(path),
                backend.write(path, text),
                backend.edit(path, text, "x"),
                backend.glob(text, path),
                backend.delete(path),
            )
        ]
        errors = [backend.ls(path).error, backend.grep(text, path).error, backend.glob(text).error]
        transfers = backend.upload_files([(path, b"x")])[0].error, backend.download_files([path])[0].error
        assert all(error is None or error.encode() for error in (*errors, *transfers))
        return refused[0]

    state, disk = on_both(work, {"/a": "x"})
    assert state == disk
