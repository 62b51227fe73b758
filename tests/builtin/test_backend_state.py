"""Files in the state of a running graph."""

import asyncio
import base64
import contextvars
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from deepagents_builtin.backends.state.backend import StateBackend
from deepagents_builtin.backends.state.files_state import SNAPSHOT_FREQUENCY, FilesystemState, merge_files
from deepagents_builtin.backends.state.plugin import deepagents_backends
from deepagents_kernel.errors import BackendSpecError

BACKEND = StateBackend()


def text(content, **more):
    return {"content": content, "encoding": "utf-8", **more}


def one_node(work, **compile_options):
    graph = StateGraph(FilesystemState)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph.compile(**compile_options)


def writing(path):
    def node(state):
        assert BACKEND.write(path, "x").error is None

    return node


def run(work, files=None):
    """Run *work* in a node; returns what it returned, and the files after the run."""
    results = []

    def node(state):
        results.append(work())

    state = one_node(node).invoke({"messages": [], "files": files or {}})
    return results[0], state["files"]


def paths(entries):
    return [entry["path"] for entry in entries]


# Where it works ---------------------------------------------------------------------------------------

OPERATIONS = [
    lambda: BACKEND.ls("/"),
    lambda: BACKEND.read("/x"),
    lambda: BACKEND.grep("x"),
    lambda: BACKEND.glob("*"),
    lambda: BACKEND.write("/x", "y"),
    lambda: BACKEND.edit("/x", "a", "b"),
    lambda: BACKEND.delete("/x"),
    lambda: BACKEND.upload_files([("/x", b"")]),
    lambda: BACKEND.download_files(["/x"]),
]


@pytest.mark.spec("STB-001")
def test_outside_of_a_graph_it_says_how_to_give_files():
    for operation in OPERATIONS:
        with pytest.raises(RuntimeError, match='under the key "files" of its input'):
            operation()


@pytest.mark.spec("STB-002")
def test_a_runnable_is_not_enough():
    for operation in OPERATIONS:
        with pytest.raises(RuntimeError, match="in no node of a graph"):
            RunnableLambda(lambda _, operation=operation: operation()).invoke(None)


def test_a_graph_without_the_key_is_named():
    class Other(TypedDict):
        x: int

    graph = StateGraph(Other)
    graph.add_node("n", lambda state: {"x": len(BACKEND.ls("/").entries)})
    graph.add_edge(START, "n")
    with pytest.raises(RuntimeError, match='has no key "files"'):
        graph.compile().invoke({"x": 1})


@pytest.mark.spec("STB-009", "DWN-015")
async def test_threads_with_the_context_work_and_bare_ones_do_not():
    seen = {}

    async def node(state):
        await BACKEND.awrite("/a", "async")
        seen["twins"] = (await BACKEND.agrep("async")).matches
        context = contextvars.copy_context()

        def in_thread(name, call):
            try:
                seen[name] = call()
            except RuntimeError as error:
                seen[name] = error

        for name, call in (
            ("copied", lambda: context.run(BACKEND.read, "/a")),
            ("bare", lambda: BACKEND.read("/a")),
        ):
            thread = threading.Thread(target=in_thread, args=(name, call))
            thread.start()
            await asyncio.to_thread(thread.join)

    await one_node(node).ainvoke({"messages": []})
    assert seen["twins"] == [{"path": "/a", "line": 1, "text": "async"}]
    assert seen["copied"].file_data["content"] == "async"
    assert isinstance(seen["bare"], RuntimeError)


@pytest.mark.spec("DWN-015", "STB-006", "STB-007")
def test_tools_of_an_agent_write_and_read_in_one_call():
    @tool
    def note(words: str, runtime: ToolRuntime) -> str:
        """Write a note."""
        BACKEND.write("/note.md", words)
        BACKEND.edit("/note.md", words, words.upper())
        return BACKEND.read("/note.md").file_data["content"]

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    call = {"name": "note", "args": {"words": "hello"}, "id": "1", "type": "tool_call"}
    model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
    agent = create_agent(model, tools=[note], state_schema=FilesystemState)
    state = agent.invoke({"messages": [("user", "go")]})
    assert state["messages"][2].content == "HELLO"
    assert state["files"]["/note.md"]["content"] == "HELLO"


# State ------------------------------------------------------------------------------------------------


@pytest.mark.spec("STB-003", "STB-010")
def test_files_go_in_and_out_and_stay_with_their_thread():
    agent = one_node(writing("/new"), checkpointer=InMemorySaver())
    first, second = ({"configurable": {"thread_id": name}} for name in "12")
    assert set(agent.invoke({"messages": [], "files": {"/seed": text("s")}}, first)["files"]) == {
        "/seed",
        "/new",
    }
    assert set(agent.invoke({"messages": []}, second)["files"]) == {"/new"}
    assert set(agent.invoke({"messages": []}, first)["files"]) == {"/seed", "/new"}
    assert vars(BACKEND) == {}


@pytest.mark.spec("STB-004")
def test_checkpoints_hold_changes_with_a_snapshot_now_and_then():
    saver = InMemorySaver()
    agent = one_node(writing("/f"), checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}}
    for _ in range(SNAPSHOT_FREQUENCY + 5):
        agent.invoke({"messages": []}, config)
    kept = [found for found in saver.list(config) if "files" in found.checkpoint["channel_values"]]
    everything = list(saver.list(config))
    assert 1 <= len(kept) <= len(everything) / 20
    assert agent.get_state(config).values["files"]["/f"]["content"] == "x"


@pytest.mark.spec("STB-005")
def test_the_reducer():
    base = {"/a": text("1"), "/b": text("2")}
    merged = merge_files(
        base, [{"/a": text("3"), "/c": text("4")}, {"/b": None, "/missing": None}, {"/c": text("5")}]
    )
    assert merged == {"/a": text("3"), "/c": text("5")}
    assert base == {"/a": text("1"), "/b": text("2")}
    assert merge_files(None, [{"/a": text("1")}, None]) == {"/a": text("1")}
    assert merge_files(base, [{"/a": None}, {"/a": text("9")}])["/a"] == text("9")


updates = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from([None, text("1"), text("2")])), max_size=5
)


@pytest.mark.spec("STB-005")
@given(updates, updates)
def test_the_reducer_does_not_care_about_batches(first, second):
    apart = merge_files(merge_files({}, first), second)
    together = merge_files({}, first + second)
    assert list(apart.items()) == list(together.items())


@pytest.mark.spec("STB-006")
def test_a_node_sees_its_own_writes():
    def work():
        assert BACKEND.write("/a.txt", "one\ntwo").path == "/a.txt"
        assert BACKEND.edit("/a.txt", "one", "ONE").occurrences == 1
        read = BACKEND.read("/a.txt").file_data["content"]
        BACKEND.delete("/a.txt")
        gone = BACKEND.read("/a.txt").error
        BACKEND.write("/a.txt", "again")
        return read, gone

    (read, gone), files = run(work)
    assert read == "ONE\ntwo"
    assert "not found" in gone
    assert files["/a.txt"]["content"] == "again"


@pytest.mark.spec("STB-007")
def test_updates_hold_only_what_changed():
    seen = []
    graph = StateGraph(FilesystemState)
    graph.add_node("work", writing("/new"))
    graph.add_edge(START, "work")
    for update in graph.compile().stream(
        {"messages": [], "files": {"/old": text("o")}}, stream_mode="updates"
    ):
        seen.append(update["work"]["files"])
    assert [set(files) for files in seen] == [{"/new"}]


@pytest.mark.spec("STB-008")
def test_tasks_of_one_step_do_not_see_each_other():
    barrier = threading.Barrier(2, timeout=30)
    seen = {}

    def task(name):
        def node(state):
            BACKEND.write(f"/{name}", name)
            BACKEND.write("/both", name)
            barrier.wait()
            seen[name] = paths(BACKEND.ls("/").entries), BACKEND.read("/both").file_data["content"]

        return node

    graph = StateGraph(FilesystemState)
    for name in "ab":
        graph.add_node(name, task(name))
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    files = graph.compile().invoke({"messages": []})["files"]
    assert seen == {"a": (["/a", "/both"], "a"), "b": (["/b", "/both"], "b")}
    assert set(files) == {"/a", "/b", "/both"}
    assert files["/both"]["content"] == "b"


# Operations -------------------------------------------------------------------------------------------


@pytest.mark.spec("STB-011", "STB-012")
def test_listing():
    files = {
        "/d/z": text("é", modified_at="2020-01-01T00:00:00+00:00"),
        "/d/a/b/c": text(""),
        "/d/a/e": text(""),
        "/d/bin": {"content": base64.b64encode(b"12345").decode(), "encoding": "base64"},
        "/dx": text(""),
    }
    (listed, root, unknown), _ = run(
        lambda: (BACKEND.ls("/d/"), BACKEND.ls(""), BACKEND.ls("/nowhere")), files
    )
    assert listed.entries == [
        {"path": "/d/a/", "is_dir": True, "size": 0, "modified_at": ""},
        {"path": "/d/bin", "is_dir": False, "size": 5, "modified_at": ""},
        {"path": "/d/z", "is_dir": False, "size": 2, "modified_at": "2020-01-01T00:00:00+00:00"},
    ]
    assert paths(root.entries) == ["/d/", "/dx"]
    assert (unknown.entries, unknown.error) == ([], None)


@pytest.mark.spec("STB-013", "BK-034", "BK-063")
def test_reading():
    files = {
        "/t.txt": text("a\r\nb\nc"),
        "/p.png": text("a\nb"),
        "/b.txt": {"content": "QUFB\nQkJC", "encoding": "base64"},
        "/v.mkv": {"content": "QQ==", "encoding": "base64"},
    }

    def work():
        return [BACKEND.read(path, 1, 1) for path in files]

    (window, image, binary, video), _ = run(work, files)
    assert (window.file_data["content"], window.start_line, window.end_line) == ("b\n", 2, 2)
    for result, path in ((image, "/p.png"), (binary, "/b.txt"), (video, "/v.mkv")):
        assert (result.file_data, result.start_line) == (files[path], None)


@pytest.mark.spec("BK-032", "STB-014")
def test_writing_again_keeps_the_birthday():
    old = {"content": "QQ==", "encoding": "base64", "created_at": "2020", "modified_at": "2020"}
    result, files = run(lambda: BACKEND.write("/a", "text"), {"/a": old})
    assert result.path == "/a"
    assert (files["/a"]["content"], files["/a"]["encoding"], files["/a"]["created_at"]) == (
        "text",
        "utf-8",
        "2020",
    )
    assert files["/a"]["modified_at"] > "2020"


@pytest.mark.spec("STB-015", "BY-004", "BY-005", "BY-008")
def test_editing():
    files = {"/crlf": text("a\r\nb\r\nc\n"), "/bin": {"content": "QQ==", "encoding": "base64"}}

    def work():
        return (
            BACKEND.edit("/crlf", "a\nb", "X\nY"),
            BACKEND.edit("/bin", "Q", "R"),
            BACKEND.edit("/crlf", "c", "c"),
            BACKEND.edit("/missing", "a", "b"),
        )

    (edited, binary, same, missing), after = run(work, files)
    assert edited.occurrences == 1
    assert after["/crlf"]["content"] == "X\r\nY\r\nc\n"
    assert "binary" in binary.error
    assert after["/bin"] == files["/bin"]
    assert "nothing to change" in same.error
    assert "not found" in missing.error


@pytest.mark.spec("STB-016", "STB-019")
def test_deleting():
    files = {path: text("") for path in ("/d", "/d/a", "/d/b/c", "/dx", "relative")}

    def work():
        return (
            BACKEND.delete("/d/"),
            paths(BACKEND.ls("/").entries),
            BACKEND.delete("/d"),
            BACKEND.delete("/"),
        )

    (removed, left, again, everything), after = run(work, files)
    assert removed.path == "/d"
    assert left == ["/dx"]
    assert "not found" in again.error
    assert everything.path == "/"
    assert set(after) == {"relative"}


@pytest.mark.spec("STB-017", "STB-018", "BK-035", "BK-036")
def test_transfers():
    old = text("o", created_at="2020", modified_at="2020")

    def work():
        sent = BACKEND.upload_files(
            [("/u.txt", b"hi"), ("/bad\0", b""), ("/u.bin", b"\xff"), ("/u.png", b"ok")]
        )
        return sent, BACKEND.download_files(["/u.bin", "/missing", "/u.txt", "/a\ud800"])

    (sent, fetched), files = run(work, {"/u.txt": old})
    assert [(item.path, item.error) for item in sent] == [
        ("/u.txt", None),
        ("/bad\0", "invalid_path"),
        ("/u.bin", None),
        ("/u.png", None),
    ]
    assert [(item.content, item.error) for item in fetched] == [
        (b"\xff", None),
        (None, "file_not_found"),
        (b"hi", None),
        (None, "invalid_path"),
    ]
    assert (files["/u.txt"]["content"], files["/u.txt"]["created_at"]) == ("hi", "2020")
    assert (files["/u.bin"]["content"], files["/u.bin"]["encoding"]) == ("/w==", "base64")
    assert files["/u.png"]["encoding"] == "utf-8"


@pytest.mark.spec("STB-017")
def test_an_upload_is_one_update():
    sent = []
    agent = one_node(lambda state: sent.append(BACKEND.upload_files([("/a", b""), ("/b", b"")])))
    updates = list(agent.stream({"messages": []}, stream_mode="updates"))
    assert [set(update["work"]["files"]) for update in updates] == [{"/a", "/b"}]


@pytest.mark.spec("BK-051", "BK-052", "BK-054")
def test_older_files_are_read_and_stored_anew_only_by_a_change():
    files = {"/list": {"content": ["a", "b"]}, "/untouched": {"content": ["a"]}}

    def work():
        return (
            BACKEND.read("/list").file_data["content"],
            BACKEND.read("/untouched"),
            BACKEND.ls("/").entries[1],
            BACKEND.download_files(["/list"])[0].content,
            BACKEND.edit("/list", "a", "A"),
        )

    (read, _, entry, downloaded, _), after = run(work, files)
    assert (read, downloaded) == ("a\nb", b"a\nb")
    assert entry == {"path": "/untouched", "is_dir": False, "size": 1, "modified_at": ""}
    assert (after["/list"]["content"], after["/list"]["encoding"]) == ("A\nb", "utf-8")
    assert after["/untouched"] == {"content": ["a"]}


@pytest.mark.spec("BK-053")
def test_a_broken_file_hides_no_other():
    files = {"/broken": {"content": 3}, "/good": text("hit")}

    def work():
        return (
            BACKEND.ls("/"),
            BACKEND.glob("*"),
            BACKEND.grep("hit"),
            BACKEND.read("/broken"),
            BACKEND.edit("/broken", "a", "b"),
            BACKEND.download_files(["/broken", "/good"]),
        )

    (listed, globbed, grepped, read, edited, fetched), _ = run(work, files)
    assert paths(listed.entries) == paths(globbed.matches) == ["/broken", "/good"]
    assert paths(grepped.matches) == ["/good"]
    for error in (grepped.error, read.error, edited.error, fetched[0].error):
        assert "must be text or a list of lines, not int" in error
    assert fetched[1].content == b"hit"


@pytest.mark.spec("BY-001", "PATH-006")
def test_illegal_paths_are_results_and_the_root_has_many_names():
    def work():
        for path in ("/a\0", "/\ud800", "/a/../b", "/" + "x" * 300):
            for result in (
                BACKEND.ls(path),
                BACKEND.read(path),
                BACKEND.grep("x", path),
                BACKEND.glob("*", path),
                BACKEND.write(path, ""),
                BACKEND.edit(path, "a", "b"),
                BACKEND.delete(path),
            ):
                assert "Path '/" in result.error
        assert "lone surrogate" in BACKEND.write("/a", "\ud800").error
        assert "lone surrogate" in BACKEND.edit("/a", "x", "\udfff").error
        return [paths(BACKEND.ls(path).entries) for path in ("/", "", ".", "//", "/.")]

    roots, files = run(work, {"/a": text("x")})
    assert roots == [["/a"]] * 5
    assert files == {"/a": text("x")}


@pytest.mark.spec("PATH-009", "PATH-010", "PATH-017")
def test_search_roots_and_keys():
    files = {path: text("hit") for path in ("/d/a", "/d/b/a", "/dx", "loose")}

    def work():
        return (
            [
                paths(BACKEND.glob("*", root).matches)
                for root in (None, "", "d", "/d//", "/d/a", "/nowhere", " ")
            ],
            BACKEND.read("loose").file_data["content"],
            BACKEND.write("d/a", "new").path,
        )

    (found, loose, written), after = run(work, files)
    assert found == [
        ["/d/a", "/d/b/a", "/dx"],
        ["/d/a", "/d/b/a", "/dx"],
        ["/d/a", "/d/b/a"],
        ["/d/a", "/d/b/a"],
        ["/d/a"],
        [],
        [],
    ]
    assert loose == "hit"
    assert written == "/d/a"
    assert set(after) == set(files)


@pytest.mark.spec("GLOB-012", "GLOB-018", "GLOB-019")
def test_globbing():
    files = {path: text("x") for path in ("/b.py", "/a/c.py", "/a.py")}
    (found, below, refused), _ = run(
        lambda: (BACKEND.glob("*.py"), BACKEND.glob("/*.py", "/a"), BACKEND.glob("../*.py")), files
    )
    assert paths(found.matches) == ["/a.py", "/a/c.py", "/b.py"]
    assert not any(match["is_dir"] for match in found.matches)
    assert paths(below.matches) == ["/a/c.py"]
    assert (refused.matches, "not allowed" in refused.error) == (None, True)


async def test_twins_of_all_operations_agree():
    async def work(state):
        assert (await BACKEND.aupload_files([("/a", b"x\n")]))[0].error is None
        assert (await BACKEND.awrite("/b", "y")).path == "/b"
        assert (await BACKEND.aedit("/b", "y", "z", replace_all=True)).occurrences == 1
        assert await BACKEND.aread("/b") == BACKEND.read("/b")
        assert await BACKEND.als("/") == BACKEND.ls("/")
        assert await BACKEND.aglob("*") == BACKEND.glob("*")
        assert await BACKEND.agrep("z", max_count=1) == BACKEND.grep("z")
        assert await BACKEND.adownload_files(["/a"]) == BACKEND.download_files(["/a"])
        assert (await BACKEND.adelete("/a")).path == "/a"

    files = (await one_node(work).ainvoke({"messages": []}))["files"]
    assert {path: file["content"] for path, file in files.items()} == {"/b": "z"}


def test_it_can_be_named_in_a_string():
    spec = deepagents_backends()
    assert spec.name == "state"
    assert isinstance(spec.factory("", None), StateBackend)
    with pytest.raises(BackendSpecError, match="filesystem:DIR"):
        spec.factory("./work", None)
