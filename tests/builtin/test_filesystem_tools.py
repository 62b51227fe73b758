"""The file tools in a real agent loop, sync and async."""

import asyncio
import base64
import contextvars
import subprocess
import sys
import threading

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from deepagents_builtin.backends.filesystem.backend import FilesystemBackend
from deepagents_builtin.middleware.filesystem import constants, workers
from deepagents_builtin.middleware.filesystem.boundary import describe
from deepagents_builtin.middleware.filesystem.middleware import FilesystemMiddleware
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.contracts.results import (
    EditResult,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents_kernel.files.file_data import create_file_data
from deepagents_kernel.testing.scripted import ScriptedChatModel

EVERY_CALL = [
    ("ls", {"path": "/d"}),
    ("read_file", {"file_path": "/a"}),
    ("write_file", {"file_path": "/a", "content": "x"}),
    ("edit_file", {"file_path": "/a", "old_string": "x", "new_string": "y"}),
    ("glob", {"pattern": "*"}),
    ("grep", {"pattern": "x"}),
]
PATH_CALLS = {
    "ls": lambda path: {"path": path},
    "read_file": lambda path: {"file_path": path},
    "write_file": lambda path: {"file_path": path, "content": "x"},
    "edit_file": lambda path: {"file_path": path, "old_string": "x", "new_string": "y"},
    "glob": lambda path: {"pattern": "*", "path": path},
    "grep": lambda path: {"pattern": "x", "path": path},
}


class Loop:
    """Runs one turn of parallel calls, or several turns, and keeps the final state."""

    def __init__(self, asynchronous):
        self.asynchronous = asynchronous
        self.state = {}

    def __call__(self, *calls, files=None, turns=None, **arguments):
        agent = create_agent(
            ScriptedChatModel([*(turns or [list(calls)]), "done"]),
            middleware=[FilesystemMiddleware(**arguments)],
        )
        given = {"messages": [("user", "go")]}
        given["files"] = {
            path: {"content": content, "encoding": "utf-8"} if isinstance(content, str) else content
            for path, content in (files or {}).items()
        }
        self.state = asyncio.run(agent.ainvoke(given)) if self.asynchronous else agent.invoke(given)
        return [message for message in self.state["messages"] if message.type == "tool"]

    def one(self, name, arguments, **given):
        (answer,) = self((name, arguments), **given)
        return answer


@pytest.fixture(params=["sync", "async"])
def loop(request):
    return Loop(request.param == "async")


class Answers(BackendProtocol):
    """Gives fixed results, raises what is an exception, and keeps the calls."""

    def __init__(self, **results):
        self.results = results
        self.calls = []

    def _answer(self, method, *arguments):
        self.calls.append((method, *arguments))
        result = self.results.get(method)
        if isinstance(result, BaseException):
            raise result
        return result(*arguments) if callable(result) else result

    def ls(self, path):
        return self._answer("ls", path)

    def read(self, file_path, offset=0, limit=2000):
        return self._answer("read", file_path, offset, limit)

    def write(self, file_path, content):
        return self._answer("write", file_path, content)

    def edit(self, file_path, old_string, new_string, replace_all=False):
        return self._answer("edit", file_path, old_string, new_string, replace_all)

    def glob(self, pattern, path=None):
        return self._answer("glob", pattern, path)

    def grep(self, pattern, path=None, glob=None, *, max_count=None):
        return self._answer("grep", pattern, path, glob, max_count)


def failing(error):
    return Answers(**dict.fromkeys(("ls", "read", "write", "edit", "glob", "grep"), error))


# --- what every tool does -------------------------------------------------------------------------


@pytest.mark.spec("FS-016")
def test_every_tool_answers_with_a_message_of_its_own(loop):
    answers = loop(*EVERY_CALL, files={"/a": "x", "/d/b": "x"})
    assert [answer.name for answer in answers] == [name for name, _ in EVERY_CALL]
    assert [answer.tool_call_id for answer in answers] == [f"call_{number}" for number in range(1, 7)]
    assert {answer.status for answer in answers} == {"success"}
    assert {type(answer.content) for answer in answers} == {str}


@pytest.mark.spec("FS-017", "FS-022", "FS-019")
@pytest.mark.parametrize("name", sorted(PATH_CALLS))
@pytest.mark.parametrize("path", ["../x", "/a/../x", "..\\x", "~/x", "~"])
def test_a_bad_path_is_refused_before_the_backend_is_asked(loop, name, path):
    backend = failing(AssertionError("asked"))
    answer = loop.one(name, PATH_CALLS[name](path), backend=backend)
    assert answer.status == "error"
    assert answer.content.startswith("Error: ")
    assert backend.calls == []


@pytest.mark.spec("FS-018", "FS-019", "FS-020", "FS-021")
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("foo/bar", "/foo/bar"),
        ("/a/./b", "/a/b"),
        ("a//b/", "/a/b"),
        ("///a", "/a"),
        ("//a", "/a"),
        ("\\a\\b", "/a/b"),
        ("/a\\.\\b", "/a/b"),
        ("/..a", "/..a"),
        ("foo..bar", "/foo..bar"),
        ("/a/~", "/a/~"),
        ("/C:/x", "/C:/x"),
        ("", "/"),
        (".", "/"),
        ("./", "/"),
    ],
)
def test_paths_reach_the_backend_in_one_spelling(loop, given, asked):
    backend = Answers(ls=LsResult(entries=[]), glob=GlobResult(matches=[]), grep=GrepResult(matches=[]))
    calls = [(name, PATH_CALLS[name](given)) for name in ("ls", "glob", "grep")]
    answers = loop(*calls, backend=backend)
    assert {answer.status for answer in answers} == {"success"}
    paths = {call[0]: call[2] if call[0] != "ls" else call[1] for call in backend.calls}
    assert paths == {"ls": asked, "glob": asked, "grep": asked}


@pytest.mark.spec("FS-020")
@pytest.mark.parametrize("path", ["C:\\x", "C:/x", "c:rel"])
def test_drive_letters_are_refused_with_the_way_out(loop, path):
    answer = loop.one("ls", {"path": path})
    assert answer.status == "error"
    assert "from the root" in answer.content


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file"])
def test_the_root_is_no_file(loop, name):
    backend = failing(AssertionError("asked"))
    answer = loop.one(name, PATH_CALLS[name]("."), backend=backend)
    assert "root folder" in answer.content
    assert backend.calls == []


@pytest.mark.spec("BY-001")
@pytest.mark.parametrize("name", sorted(PATH_CALLS))
@pytest.mark.parametrize("path", ["/a\0b", "/a\ud800b", "/a\nb", "/a\x1b[0m", "/" + "n" * 300])
def test_an_illegal_name_is_an_error_result(loop, name, path):
    answer = loop.one(name, PATH_CALLS[name](path), files={"/a": "x"})
    assert answer.status == "error"
    assert answer.content.startswith("Error: ")
    answer.content.encode()
    assert loop.state["messages"][-1].content == "done"


@pytest.mark.spec("BY-001")
@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("write_file", {"file_path": "/b", "content": "half \ud800"}, "content"),
        ("edit_file", {"file_path": "/a", "old_string": "x", "new_string": "\ud800"}, "new_string"),
        ("edit_file", {"file_path": "/a", "old_string": "\ud800", "new_string": "x"}, "old_string"),
    ],
)
def test_text_that_nothing_can_store_is_refused(loop, name, arguments, named):
    backend = failing(AssertionError("asked"))
    answer = loop.one(name, arguments, backend=backend)
    assert (answer.status, backend.calls) == ("error", [])
    assert f"`{named}` can't be stored" in answer.content


@pytest.mark.spec("BY-001")
def test_a_name_that_no_message_can_hold_is_shown_escaped(loop):
    backend = Answers(grep=GrepResult(matches=[{"path": "/\udcff", "line": 1, "text": "x"}]))
    answer = loop.one("grep", {"pattern": "x"}, backend=backend)
    assert answer.content == "/\\udcff"


@pytest.mark.spec("FS-023")
def test_errors_of_the_backend_keep_their_words(loop):
    backend = Answers(
        ls=LsResult(error="boom"),
        read=ReadResult(error="boom"),
        write=WriteResult(error="boom"),
        edit=EditResult(error="boom"),
        glob=GlobResult(error="boom"),
        grep=GrepResult(error="boom"),
    )
    answers = loop(*EVERY_CALL, backend=backend)
    assert {answer.status for answer in answers} == {"error"}
    assert {answer.name: answer.content for answer in answers} == {
        "ls": "Error: boom",
        "read_file": "Error: boom",
        "glob": "Error: boom",
        "write_file": "boom",
        "edit_file": "boom",
        "grep": "boom",
    }


def test_an_error_has_its_prefix_only_once(loop):
    backend = Answers(ls=LsResult(error="Error: boom"))
    assert loop.one("ls", {"path": "/"}, backend=backend).content == "Error: boom"


@pytest.mark.spec("FS-024")
def test_arguments_are_checked_before_the_tool_runs(loop):
    backend = Answers(read=ReadResult(file_data=create_file_data("a\n"), start_line=1, end_line=1))
    wrong, missing, odd, good = loop(
        ("read_file", {"file_path": "/a", "limit": 2.5}),
        ("read_file", {}),
        ("grep", {"pattern": "x", "output_mode": "odd"}),
        ("read_file", {"file_path": "/a", "limit": "2", "unknown": True}),
        backend=backend,
    )
    assert [answer.status for answer in (wrong, missing, odd, good)] == ["error", "error", "error", "success"]
    assert "limit" in wrong.content
    assert "file_path" in missing.content
    assert "output_mode" in odd.content
    assert backend.calls == [("read", "/a", 0, 2)]


@pytest.mark.spec("FS-025")
@pytest.mark.parametrize("error", [ValueError("bad luck"), OSError(13, "bad luck"), RuntimeError("bad luck")])
def test_whatever_a_backend_raises_is_an_error_result(loop, error):
    answers = loop(*EVERY_CALL, backend=failing(error))
    assert loop.state["messages"][-1].content == "done"
    for answer in answers:
        assert answer.status == "error"
        assert answer.content.startswith(f"Error: {answer.name} failed: {type(error).__name__}: bad luck.")
        # Reads can simply be repeated; a write may have happened.
        assert ("not known whether" in answer.content) == (answer.name in {"write_file", "edit_file"})


@pytest.mark.spec("FS-025")
def test_a_result_of_the_wrong_kind_is_an_error_result(loop):
    answers = loop(*EVERY_CALL, backend=failing(lambda *arguments: "1 line"))
    assert {answer.status for answer in answers} == {"error"}
    assert all("AttributeError" in answer.content for answer in answers)


@pytest.mark.spec("FS-026")
def test_a_backend_that_lacks_a_method_is_an_error_result(loop):
    answers = loop(*EVERY_CALL, backend=BackendProtocol())
    assert [answer.content for answer in answers] == [
        f"Error: {name} is not supported by this file system." for name, _ in EVERY_CALL
    ]


@pytest.mark.spec("BY-002")
@pytest.mark.parametrize(
    "error",
    [
        PermissionError(13, "Permission denied", "/srv/secret/root/a"),
        ValueError("Path '/srv/secret/root/a' is outside of /srv/secret/root"),
        RuntimeError("Symlink loop from /srv/secret/root/a"),
        OSError("can't open /srv/secret/root: gone"),
        ValueError(r"no file C:\srv\secret\a"),
    ],
)
def test_no_error_shows_a_path_of_the_host(loop, error):
    for answer in loop(*EVERY_CALL, backend=failing(error)):
        assert "secret" not in answer.content
        assert type(error).__name__ in answer.content


def test_the_path_that_was_asked_for_may_be_named():
    text = describe(
        ValueError("/d/a.txt is odd, /etc/passwd too. See https://x.org/a/b"), {"path": "/d/a.txt"}
    )
    assert text == "ValueError: /d/a.txt is odd, <path> too. See https://x.org/a/b"


def test_an_unexpected_error_is_short():
    text = describe(ValueError("word " * 1000), {})
    assert len(text) < 330


def test_what_controls_the_graph_passes(loop):
    class Asks(Answers):
        def write(self, file_path, content):
            return WriteResult(path=interrupt("May I?"))

        async def awrite(self, file_path, content):
            return self.write(file_path, content)

    agent = create_agent(
        ScriptedChatModel([("write_file", {"file_path": "/a", "content": "x"}), "done"]),
        middleware=[FilesystemMiddleware(backend=Asks())],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}}

    def go(given):
        return asyncio.run(agent.ainvoke(given, thread)) if loop.asynchronous else agent.invoke(given, thread)

    assert go({"messages": [("user", "go")]})["__interrupt__"][0].value == "May I?"
    assert go(Command(resume="/elsewhere"))["messages"][-2].content == "Updated file /elsewhere"


@pytest.mark.parametrize("name", ["ls", "glob"])
def test_what_is_no_exception_passes(name):
    with pytest.raises(KeyboardInterrupt):
        Loop(asynchronous=False).one(name, PATH_CALLS[name]("/"), backend=failing(KeyboardInterrupt()))


@pytest.mark.spec("FS-027")
def test_async_tools_call_the_async_methods():
    class Twins(BackendProtocol):
        async def als(self, path):
            return LsResult(entries=[{"path": "/als"}])

        async def aread(self, file_path, offset=0, limit=2000):
            return ReadResult(file_data=create_file_data("aread"))

        async def awrite(self, file_path, content):
            return WriteResult(path="/awrite")

        async def aedit(self, file_path, old_string, new_string, replace_all=False):
            return EditResult(path="/aedit", occurrences=1)

        async def aglob(self, pattern, path=None):
            return GlobResult(matches=[{"path": "/aglob"}])

        async def agrep(self, pattern, path=None, glob=None, *, max_count=None):
            return GrepResult(matches=[{"path": "/agrep", "line": 1, "text": "x"}])

    answers = Loop(asynchronous=True)(*EVERY_CALL, backend=Twins())
    assert [answer.content for answer in answers] == [
        "['/als']",
        "@@ lines 1-1 @@\naread",
        "Updated file /awrite",
        "Replaced 1 occurrence in /aedit",
        "['/aglob']",
        "/agrep",
    ]


# --- ls, read_file, write_file, edit_file ---------------------------------------------------------

TREE = {"/a.txt": "x", "/d/b.py": "x", "/d/s/c.py": "x"}


@pytest.mark.spec("FS-040")
def test_ls_lists_direct_children(loop):
    assert loop.one("ls", {"path": "/"}, files=TREE).content == "['/a.txt', '/d/']"
    assert loop.one("ls", {"path": "/d"}, files=TREE).content == "['/d/b.py', '/d/s/']"
    assert loop.one("ls", {"path": "/nowhere"}, files=TREE).content == "No files found"


def test_ls_marks_folders_whatever_the_backend_does(loop):
    backend = Answers(ls=LsResult(entries=[{"path": "/d", "is_dir": True}, {"path": "/e/", "is_dir": True}]))
    assert loop.one("ls", {"path": "/"}, backend=backend).content == "['/d/', '/e/']"


@pytest.mark.spec("FS-042")
@pytest.mark.parametrize("name", ["ls", "glob"])
def test_lists_are_escaped(loop, name):
    found = [{"path": "/it's"}, {"path": "/n\nl"}]
    backend = Answers(ls=LsResult(entries=found), glob=GlobResult(matches=found))
    content = loop.one(name, PATH_CALLS[name]("/"), backend=backend).content
    assert content.partition("\n\n")[0] == str(["/it's", "/n\nl"])


@pytest.mark.spec("BY-001")
@pytest.mark.parametrize("name", ["ls", "glob"])
@pytest.mark.parametrize("path", ["/n\nl", "/n\\x0al", "/d\\e/", "/half \ud800"])
def test_a_listed_name_that_no_tool_takes_is_said_to_be_one(loop, name, path):
    found = [{"path": "/it's"}, {"path": path}, {"path": "/~x/..y"}]
    backend = Answers(ls=LsResult(entries=found), glob=GlobResult(matches=found))
    content = loop.one(name, PATH_CALLS[name]("/"), backend=backend).content
    assert "\n\n[1 of the paths found hold a backslash or a control character" in content
    assert "no file tool takes such a path" in content


def test_a_file_with_a_line_break_in_its_name_on_a_disk(loop, tmp_path):
    (tmp_path / "new\nline.txt").write_text("x", encoding="utf-8")
    listing = loop.one("ls", {"path": "/"}, backend=FilesystemBackend(tmp_path)).content
    assert listing.startswith("['/new\\\\x0aline.txt']\n\n[1 of the paths found hold a backslash")


@pytest.mark.spec("FS-043")
@pytest.mark.parametrize("name", ["ls", "glob"])
def test_long_lists_are_cut(loop, name):
    found = [{"path": f"/file-{number:05}"} for number in range(20_000)]
    backend = Answers(ls=LsResult(entries=found), glob=GlobResult(matches=found))
    content = loop.one(name, PATH_CALLS[name]("/"), backend=backend).content
    assert len(content) <= 80_000
    assert "of 20000 paths shown" in content.rpartition("]\n\n")[2]


@pytest.mark.spec("FS-044")
def test_one_broken_entry_does_not_hide_the_others(loop):
    backend = Answers(ls=LsResult(error="/loop can't be resolved", entries=[{"path": "/a"}]))
    answer = loop.one("ls", {"path": "/"}, backend=backend)
    assert answer.status == "success"
    assert answer.content == "['/a']\n\n[this listing is incomplete: /loop can't be resolved]"
    backend = Answers(ls=LsResult(error="boom", entries=[]))
    assert loop.one("ls", {"path": "/"}, backend=backend).status == "error"


@pytest.mark.spec("PAG-010", "PAG-011", "PAG-012")
def test_reading_at_the_edges(loop):
    files = {"/a": "".join(f"l{number}\n" for number in range(1, 8))}
    behind, before, none = loop(
        ("read_file", {"file_path": "/a", "offset": 7}),
        ("read_file", {"file_path": "/a", "offset": -3, "limit": 2}),
        ("read_file", {"file_path": "/a", "limit": 0}),
        files=files,
    )
    assert behind.status == "error"
    assert "offset 7" in behind.content
    assert "7 lines" in behind.content
    assert before.content.split("\n")[1:] == ["@@ lines 1-2 of 7 | next offset 2 @@", "l1", "l2"]
    assert (none.status, "`limit` was 0" in none.content) == ("success", True)


@pytest.mark.spec("PAG-020", "PAG-021")
def test_the_size_of_a_read_follows_the_token_limit(loop):
    files = {"/a": "".join("x" * 50 + "\n" for _ in range(20))}
    content = loop.one(
        "read_file", {"file_path": "/a"}, files=files, tool_token_limit_before_evict=200
    ).content
    assert len(content) <= 800
    assert "truncated due to size @@" in content


def test_text_under_the_name_of_an_image_is_paged_like_any_other(loop):
    answer = loop.one(
        "read_file", {"file_path": "/a.png", "offset": 1, "limit": 1}, files={"/a.png": "a\nb\nc\n"}
    )
    assert answer.content == "@@ lines 2-2 of 3 | next offset 2 @@\nb"


def test_a_binary_file_is_not_shown_as_text(loop):
    png = {"content": base64.b64encode(b"\x89PNG").decode(), "encoding": "base64"}
    answer = loop.one("read_file", {"file_path": "/a.png"}, files={"/a.png": png})
    assert answer.status == "error"
    assert "not a text file" in answer.content


@pytest.mark.spec("FS-045")
def test_write_creates_and_replaces_without_reading(loop):
    created, emptied = loop(
        turns=[
            ("write_file", {"file_path": "new", "content": "one\n"}),
            ("write_file", {"file_path": "/a", "content": ""}),
        ],
        files={"/a": "old"},
    )
    assert (created.content, emptied.content) == ("Updated file /new", "Updated file /a")
    assert loop.state["files"]["/new"]["content"] == "one\n"
    assert loop.state["files"]["/a"]["content"] == ""


@pytest.mark.spec("FS-046")
def test_a_file_and_a_folder_may_share_a_name_in_state(loop):
    answer = loop.one("write_file", {"file_path": "/d", "content": "x"}, files={"/d/b": "x"})
    assert answer.status == "success"
    assert set(loop.state["files"]) == {"/d", "/d/b"}


@pytest.mark.spec("FS-047")
def test_edit_replaces_one_occurrence_or_all(loop):
    edit = {"file_path": "/a", "old_string": "foo", "new_string": "z"}
    several = loop.one("edit_file", edit, files={"/a": "foo foo"})
    assert several.status == "error"
    assert "2 times" in several.content
    assert "replace_all" in several.content
    assert "unique" in several.content
    every = loop.one("edit_file", {**edit, "replace_all": True}, files={"/a": "foo foo"})
    assert every.content == "Replaced 2 occurrences in /a"
    assert loop.state["files"]["/a"]["content"] == "z z"
    none = loop.one("edit_file", edit, files={"/a": "bar"})
    assert none.status == "error"
    assert "'foo'" in none.content


@pytest.mark.spec("FS-048", "BY-008")
def test_an_edit_must_change_something(loop):
    backend = failing(AssertionError("asked"))
    answer = loop.one("edit_file", {"file_path": "/a", "old_string": "x", "new_string": "x"}, backend=backend)
    assert answer.status == "error"
    assert "nothing to change" in answer.content
    assert backend.calls == []
    empty = loop.one("edit_file", {"file_path": "/a", "old_string": "", "new_string": "y"}, files={"/a": "x"})
    assert empty.status == "error"
    assert loop.state["files"]["/a"]["content"] == "x"


@pytest.mark.spec("FS-049")
def test_a_missing_final_newline_is_explained(loop):
    answer = loop.one(
        "edit_file",
        {"file_path": "/a", "old_string": "last\n", "new_string": "y"},
        files={"/a": "first\nlast"},
    )
    assert answer.status == "error"
    assert "without a final newline" in answer.content
    assert "Nearly the same" not in answer.content
    twice = loop.one(
        "edit_file", {"file_path": "/a", "old_string": "last\n", "new_string": "y"}, files={"/a": "last last"}
    )
    assert "2 times" in twice.content


@pytest.mark.spec("FS-050")
def test_an_edit_needs_no_read_before(loop):
    edit = {"file_path": "/a", "old_string": "x", "new_string": "y"}
    assert loop.one("edit_file", edit, files={"/a": "x"}).status == "success"


@pytest.mark.spec("FS-051")
def test_a_binary_file_is_not_edited(loop):
    png = {"content": "eHh4", "encoding": "base64"}
    edit = {"file_path": "/a.bin", "old_string": "eHh4", "new_string": "y"}
    answer = loop.one("edit_file", edit, files={"/a.bin": png})
    assert answer.status == "error"
    assert loop.state["files"]["/a.bin"]["content"] == "eHh4"


@pytest.mark.spec("BY-005")
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_text_as_it_was_read_can_be_edited(loop, ending):
    files = {"/a": ending.join(["def f():", "\treturn 1", "", "x"]) + ending}
    shown = loop.one("read_file", {"file_path": "/a", "limit": 3}, files=files).content
    old = shown.partition("\n")[2]
    answer = loop.one("edit_file", {"file_path": "/a", "old_string": old, "new_string": "y\nz"}, files=files)
    assert answer.content == "Replaced 1 occurrence in /a"
    assert loop.state["files"]["/a"]["content"] == ending.join(["y", "z", "x"]) + ending


@pytest.mark.spec("BY-006")
def test_an_edit_that_nearly_fits_says_what_differs(loop):
    edit = {"file_path": "/a", "old_string": "def f():\n    return 1", "new_string": "y"}
    answer = loop.one("edit_file", edit, files={"/a": "def f():\r\n\treturn 1\r\n"})
    assert answer.status == "error"
    assert "line 2 is indented by 1 tab in the file, 4 spaces in old_string" in answer.content


@pytest.mark.spec("BY-006")
@pytest.mark.parametrize(
    "read",
    [
        NotImplementedError(),
        ReadResult(error="gone"),
        ReadResult(file_data=create_file_data("eA==", None, "base64")),
    ],
)
def test_a_hint_that_cannot_be_made_hides_nothing(loop, read):
    backend = Answers(edit=EditResult(error="not found"), read=read)
    answer = loop.one("edit_file", {"file_path": "/a", "old_string": "x", "new_string": "y"}, backend=backend)
    assert (answer.status, answer.content) == ("error", "not found")


@pytest.mark.spec("FS-041")
def test_listing_what_is_no_folder(loop, tmp_path):
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    for path, code in (("/nowhere", "path_not_found"), ("/a.txt", "not_a_directory")):
        answer = loop.one("ls", {"path": path}, backend=FilesystemBackend(tmp_path))
        assert answer.status == "error"
        assert code in answer.content
        answer = loop.one("ls", {"path": path}, files={"/a.txt": "x"})
        assert (answer.status, answer.content) == ("success", "No files found")


@pytest.mark.spec("FS-058", "FS-059", "BY-002")
def test_odd_names_and_links_on_a_disk(loop, tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside.txt"
    root.mkdir()
    outside.write_text("secret", encoding="utf-8")
    (root / "foo..bar.txt").write_text("x\n", encoding="utf-8")
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    listing, dots, *refused = loop(
        ("ls", {"path": "/"}),
        ("read_file", {"file_path": "/foo..bar.txt"}),
        ("read_file", {"file_path": "/out"}),
        ("write_file", {"file_path": "/out", "content": "y"}),
        ("edit_file", {"file_path": "/out", "old_string": "secret", "new_string": "y"}),
        ("read_file", {"file_path": "/loop"}),
        ("read_file", {"file_path": "/a\0"}),
        backend=FilesystemBackend(root),
    )
    # A link stands under its own name, whatever it leads to.
    assert listing.content == "['/foo..bar.txt', '/loop', '/out']"
    assert dots.content == "@@ lines 1-1 of 1 @@\nx"
    assert {answer.status for answer in refused} == {"error"}
    assert not any(str(tmp_path) in answer.content or "secret'" in answer.content for answer in refused)
    assert outside.read_text(encoding="utf-8") == "secret"


# --- glob -----------------------------------------------------------------------------------------


@pytest.mark.spec("FS-060")
def test_without_a_path_the_backend_chooses_where_to_search(loop):
    backend = Answers(glob=GlobResult(matches=[]), grep=GrepResult(matches=[]))
    loop(("glob", {"pattern": "*"}), ("grep", {"pattern": "x"}), backend=backend)
    assert {(call[0], call[2]) for call in backend.calls} == {("glob", None), ("grep", None)}


@pytest.mark.spec("FS-062")
def test_the_worker_sees_the_context_of_the_caller():
    variable = contextvars.ContextVar("variable", default="unset")
    seen = []
    backend = Answers(glob=lambda *_: seen.append((variable.get(), threading.current_thread().daemon)))
    variable.set("set")
    assert workers.run_before(5, lambda: backend.glob("*")) is None
    assert seen == [("set", True)]


class Stuck(Answers):
    """Globs that end when they are let go."""

    def __init__(self):
        super().__init__(glob=self._hang)
        self.gate = threading.Event()
        self.started = threading.Semaphore(0)

    def _hang(self, *_):
        self.started.release()
        assert self.gate.wait(30)
        return GlobResult(matches=[{"path": "/late"}])


@pytest.fixture
def own_workers(monkeypatch):
    """Slots that no other test uses."""
    mine = workers.Workers(constants.GLOB_WORKERS)
    monkeypatch.setattr(workers, "SHARED", mine)
    return mine


@pytest.mark.spec("FS-063", "FS-064")
def test_stuck_globs_keep_their_slots_and_further_ones_are_refused(own_workers, monkeypatch, loop):
    monkeypatch.setattr(constants, "GLOB_TIMEOUT", 0.05)
    backend = Stuck()
    calls = [("glob", {"pattern": "*"})] * 4
    try:
        expired = loop(*calls, backend=backend)
        for _ in calls:
            assert backend.started.acquire(timeout=30)
        assert all("stopped after 0.05 seconds" in answer.content for answer in expired)
        refused = loop.one("glob", {"pattern": "*"}, backend=backend)
        assert refused.status == "error"
        assert "Try again later, or narrow" in refused.content
        assert len(backend.calls) == 4
    finally:
        backend.gate.set()
    # Each worker gives its slot back when its call ends.
    for _ in calls:
        assert own_workers._slots.acquire(timeout=30)
    for _ in calls:
        own_workers.release()
    monkeypatch.setattr(constants, "GLOB_TIMEOUT", 30)
    assert loop.one("glob", {"pattern": "*"}, backend=backend).content == "['/late']"


@pytest.mark.spec("FS-064")
def test_a_call_that_has_not_started_gives_its_slot_back(own_workers):
    ran = []
    job = workers._Job(lambda: ran.append(1))
    own_workers.acquire()
    assert job.future.cancel()
    own_workers._run(job)
    assert ran == []
    for _ in range(constants.GLOB_WORKERS):
        own_workers.acquire()


@pytest.mark.spec("FS-065")
def test_a_timeout_of_the_backend_is_not_the_deadline(loop):
    answer = loop.one("glob", {"pattern": "*"}, backend=failing(TimeoutError("rpc timeout")))
    assert answer.content == "Error: glob failed: TimeoutError: rpc timeout."


@pytest.mark.spec("FS-066")
def test_an_async_glob_is_cancelled_at_the_deadline(own_workers, monkeypatch):
    monkeypatch.setattr(constants, "GLOB_TIMEOUT", 0.05)
    ended = []

    class Slow(BackendProtocol):
        async def aglob(self, pattern, path=None):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(pattern)
                # What comes this late is nobody's business.
                raise RuntimeError("late")

    answers = Loop(asynchronous=True)(
        *[("glob", {"pattern": str(number)}) for number in range(4)], backend=Slow()
    )
    assert all("stopped after 0.05 seconds" in answer.content for answer in answers)
    assert sorted(ended) == ["0", "1", "2", "3"]
    # Sync and async share the slots, and a cancelled task gives its own back.
    for _ in range(constants.GLOB_WORKERS):
        own_workers.acquire()
    refused = Loop(asynchronous=True).one("glob", {"pattern": "*"}, backend=Slow())
    assert "busy" in refused.content


@pytest.mark.spec("FS-062")
def test_stuck_globs_do_not_hold_up_the_end_of_the_process():
    code = (
        "import threading\n"
        "from deepagents_builtin.middleware.filesystem import workers\n"
        "started = threading.Event()\n"
        "def stuck():\n"
        "    started.set()\n"
        "    threading.Event().wait()\n"
        "try:\n"
        "    workers.run_before(0.01, stuck)\n"
        "except workers.DeadlineExpiredError:\n"
        "    assert started.wait(30)\n"
        "    print('over')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert done.stdout == "over\n"


def test_workers_start_over_in_a_forked_process():
    pool = workers.Workers(1)
    assert pool.submit(lambda: 1).result(30) == 1
    pool.acquire()
    pool.reset()
    assert pool.submit(lambda: 2).result(30) == 2


def test_a_glob_deadline_of_the_middleware_wins():
    middleware = FilesystemMiddleware(glob_timeout=3)
    assert middleware.workspace.glob_deadline == 3
    assert FilesystemMiddleware().workspace.glob_deadline == constants.GLOB_TIMEOUT


@pytest.mark.spec("FS-067")
def test_an_error_of_glob_drops_what_was_found(loop):
    backend = Answers(glob=GlobResult(error="boom", matches=[{"path": "/a"}]))
    assert loop.one("glob", {"pattern": "*"}, backend=backend).content == "Error: boom"


@pytest.mark.spec("FS-068")
@pytest.mark.parametrize(
    ("reason", "note"),
    [
        ("unreadable", constants.GLOB_UNREADABLE_NOTE),
        ("budget", constants.GLOB_TRUNCATION_NOTE),
        ("transport", constants.GLOB_TRUNCATION_NOTE),
        (None, constants.GLOB_TRUNCATION_NOTE),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 20_000])
def test_a_glob_that_was_cut_short_says_why(loop, reason, note, count):
    matches = [{"path": f"/file-{number:05}"} for number in range(count)]
    backend = Answers(glob=GlobResult(matches=matches, truncated=True, truncation_reason=reason))
    answer = loop.one("glob", {"pattern": "*"}, backend=backend)
    assert answer.status == "success"
    assert answer.content.endswith(f"\n\n{note}")
    assert "will not help" in constants.GLOB_UNREADABLE_NOTE
    assert "narrow the pattern" in constants.GLOB_TRUNCATION_NOTE


@pytest.mark.spec("FS-069")
@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", None, ["/d/b.py", "/d/s/c.py", "/top.py"]),
        ("d/*.py", None, ["/d/b.py"]),
        ("/*.py", None, ["/top.py"]),
        ("/*.py", "/d", ["/d/b.py"]),
        ("**/*.yml", None, []),
        (".ci/*.yml", None, ["/.ci/x.yml"]),
        ("", None, []),
    ],
)
def test_what_patterns_mean(loop, pattern, path, found):
    files = dict.fromkeys(["/top.py", "/d/b.py", "/d/s/c.py", "/.ci/x.yml"], "x")
    answer = loop.one("glob", {"pattern": pattern, "path": path}, files=files)
    assert answer.content == (str(found) if found else "No files found")


@pytest.mark.spec("FS-069")
def test_a_pattern_cannot_climb(loop):
    assert loop.one("glob", {"pattern": "../*"}, files={"/a": "x"}).status == "error"


@pytest.mark.parametrize(
    ("name", "result"),
    [("glob", GlobResult(matches=[{"path": "/a"}], ignored=3)), ("grep", GrepResult(matches=[], ignored=3))],
)
def test_searches_say_how_much_they_ignored(loop, name, result):
    content = loop.one(name, PATH_CALLS[name]("/"), backend=Answers(**{name: result})).content
    assert content.endswith("\n\n[3 ignored entries were left out]")


# --- grep -----------------------------------------------------------------------------------------

FOO = {"/d.txt": "foo\nfoo\n", "/a.txt": "foo\nbar\nfoo\n", "/c.txt": "foo\n", "/b.txt": "a foo\n"}


@pytest.mark.spec("FS-070")
def test_grep_is_literal(loop):
    files = {"/a": "a.c\n", "/b": "abc\n"}
    assert loop.one("grep", {"pattern": "a.c"}, files=files).content == "/a"


@pytest.mark.spec("FS-074", "FS-075", "FS-076")
@pytest.mark.parametrize(
    ("mode", "content"),
    [
        ("files_with_matches", "/a.txt\n/b.txt\n/c.txt\n/d.txt"),
        ("count", "/a.txt: 2\n/b.txt: 1\n/c.txt: 1\n/d.txt: 2"),
        (
            "content",
            (
                "/a.txt:\n  1: foo\n  3: foo\n/b.txt:\n  1: a foo\n"
                "/c.txt:\n  1: foo\n/d.txt:\n  1: foo\n  2: foo"
            ),
        ),
    ],
)
def test_the_modes_of_grep(loop, mode, content):
    assert loop.one("grep", {"pattern": "foo", "output_mode": mode}, files=FOO).content == content


@pytest.mark.spec("FS-071", "FS-073")
def test_the_cap_of_a_search_counts_what_is_shown(loop):
    def search(mode, max_count=None, cap=2):
        given = {"pattern": "foo", "output_mode": mode, "max_count": max_count}
        return loop.one("grep", given, files=FOO, grep_max_count=cap).content.split("\n\n")

    assert search("content") == ["/d.txt:\n  1: foo\n  2: foo", constants.GREP_TRUNCATION_NOTE]
    # A file with many matches hides no other, and a count is the count.
    assert search("files_with_matches") == ["/a.txt\n/b.txt", constants.GREP_TRUNCATION_NOTE]
    assert search("count") == ["/a.txt: 2\n/b.txt: 1", constants.GREP_TRUNCATION_NOTE]
    assert search("count", 1) == ["/a.txt: 2", constants.GREP_TRUNCATION_NOTE]
    # A call may ask for more than the default, and None takes the default away.
    assert search("count", 4) == ["/a.txt: 2\n/b.txt: 1\n/c.txt: 1\n/d.txt: 2"]
    assert len(search("content", cap=None)) == 1


@pytest.mark.spec("FS-072")
@pytest.mark.parametrize(("max_count", "noted"), [(5, True), (6, False), (7, False)])
def test_only_a_dropped_match_is_noted(loop, max_count, noted):
    given = {"pattern": "foo", "output_mode": "content", "max_count": max_count}
    content = loop.one("grep", given, files=FOO).content
    assert content.endswith(constants.GREP_TRUNCATION_NOTE) == noted
    assert content.count("foo") == min(max_count, 6)


@pytest.mark.spec("FS-072", "DWN-011")
def test_a_grep_that_knows_no_cap_is_trimmed_afterwards(loop):
    class Old(BackendProtocol):
        def grep(self, pattern, path=None, glob=None):
            return GrepResult(matches=[{"path": "/a", "line": line, "text": "x"} for line in (1, 2, 3)])

    class OldAsync(Old):
        async def agrep(self, pattern, path=None, glob=None):
            return self.grep(pattern, path, glob)

    class Open(BackendProtocol):
        def grep(self, pattern, path=None, **options):
            assert options == {"max_count": 2}
            return GrepResult(matches=[])

        async def agrep(self, pattern, path=None, *rest, **options):
            return self.grep(pattern, path, **options)

    given = {"pattern": "x", "output_mode": "content", "max_count": 2}
    for backend in (Old(), OldAsync()):
        content = loop.one("grep", given, backend=backend).content
        assert content == f"/a:\n  1: x\n  2: x\n\n{constants.GREP_TRUNCATION_NOTE}"
    if loop.asynchronous:
        assert loop.one("grep", given, backend=Open()).content == "No matches found"


@pytest.mark.spec("FS-071")
def test_the_cap_on_files_over_fetches_within_bounds(loop, monkeypatch):
    monkeypatch.setattr(constants, "GREP_MATCH_CEILING", 3)
    files = {"/a": "x\nx\n", "/b": "x\nx\n", "/c": "x\n"}
    content = loop.one("grep", {"pattern": "x", "output_mode": "count", "max_count": 2}, files=files).content
    assert content == f"/a: 2\n/b: 1\n\n{constants.GREP_UNFINISHED_NOTE}"
    backend = Answers(grep=GrepResult(matches=[]))
    loop.one("grep", {"pattern": "x"}, backend=backend, grep_max_count=None)
    loop.one("grep", {"pattern": "x", "max_count": 9}, backend=backend)
    assert [call[-1] for call in backend.calls] == [None, 9]


@pytest.mark.spec("FS-077")
def test_grep_with_context(loop):
    def line(number, text):
        return {"line": number, "text": text}

    matches = [
        {
            "path": "/a",
            "line": 3,
            "text": "m",
            "context_before": [line(2, "b")],
            "context_after": [line(4, "c")],
        },
        {"path": "/a", "line": 9, "text": "m2", "context_before": [line(8, "z")], "context_after": []},
    ]
    backend = Answers(grep=GrepResult(matches=matches))
    content = loop.one("grep", {"pattern": "m", "output_mode": "content"}, backend=backend).content
    assert content == "/a:\n  2- b\n  3: m\n  4- c\n  --\n  8- z\n  9: m2"
    assert loop.one("grep", {"pattern": "m", "output_mode": "count"}, backend=backend).content == "/a: 2"


@pytest.mark.spec("FS-078", "FS-079")
@pytest.mark.parametrize(
    "pattern", ["foo|bar", "a.*b", "a.+b", r"\d", r"\(", "a.b", "f(x)", "[a]", "^a$", "a?"]
)
def test_no_match(loop, pattern):
    first, _, hint = loop.one("grep", {"pattern": pattern}, files={"/a": "x"}).content.partition("\n\n")
    assert first == "No matches found"
    assert bool(hint) == (pattern in {"foo|bar", "a.*b", "a.+b", r"\d", r"\("})
    assert not hint or "literal" in hint


@pytest.mark.spec("FS-081")
def test_a_search_that_stopped_early_does_not_claim_that_there_is_nothing(loop):
    backend = Answers(grep=GrepResult(matches=[], truncated=True))
    for mode, note in (
        ("content", constants.GREP_TRUNCATION_NOTE),
        ("count", constants.GREP_UNFINISHED_NOTE),
    ):
        answer = loop.one("grep", {"pattern": "a|b", "output_mode": mode}, backend=backend)
        assert (answer.status, answer.content) == ("success", note)


@pytest.mark.spec("FS-082", "FS-083")
def test_an_error_of_grep_with_and_without_matches(loop):
    for matches in (None, []):
        backend = Answers(grep=GrepResult(error="boom", matches=matches))
        answer = loop.one("grep", {"pattern": "a|b"}, backend=backend)
        assert (answer.status, answer.content) == ("error", "boom")
    backend = Answers(grep=GrepResult(error="boom", matches=[{"path": "/a", "line": 1, "text": "x"}]))
    answer = loop.one("grep", {"pattern": "x"}, backend=backend)
    assert (answer.status, answer.content) == ("error", f"boom\n\n{constants.GREP_PARTIAL_HEADING}\n/a")


@pytest.mark.spec("FS-083", "FS-084")
def test_neither_error_nor_matches_push_the_other_out(loop):
    matches = [{"path": f"/file-{number:05}", "line": 1, "text": "x"} for number in range(500)]
    backend = Answers(grep=GrepResult(error="oh no\n" * 1000, matches=matches, truncated=True))
    content = loop.one("grep", {"pattern": "x"}, backend=backend, result_char_limit=1000).content
    error, _, rest = content.partition(f"\n\n{constants.GREP_PARTIAL_HEADING}\n")
    assert error.startswith("oh no\noh no\n")
    assert len(error) <= 1000
    assert rest.startswith("/file-00000\n")
    assert rest.endswith(constants.GREP_UNFINISHED_NOTE)
    listed = [line for line in rest.split("\n") if line.startswith("/file")]
    assert all(len(line) == len("/file-00000") for line in listed)
    assert f"[{len(listed)} of 500 lines shown" in rest


@pytest.mark.spec("FS-084")
@pytest.mark.parametrize("at", [0, 5_000, 99_997])
def test_a_long_line_is_shown_around_its_match(loop, at):
    line = "-" * at + "foo" + "-" * (100_000 - at - 3)
    content = loop.one("grep", {"pattern": "foo", "output_mode": "content"}, files={"/a": line}).content
    assert "foo" in content
    assert len(content) < 1_100
    assert ("chars] ..." in content) == (at > 0)
    assert ("... [" in content) == (at < 99_997)


@pytest.mark.spec("FS-085")
@pytest.mark.parametrize("wrong", [{"output_mode": "lines"}, {"max_count": 0}, {"max_count": -1}])
def test_arguments_of_grep_are_checked(loop, wrong):
    answer = loop.one("grep", {"pattern": "x", **wrong}, files={"/a": "x"})
    assert answer.status == "error"
    assert next(iter(wrong)) in answer.content


@pytest.mark.spec("PAG-026")
def test_lines_of_grep_and_read_agree(loop):
    files = {"/a": "p\x0cq\nneedle\nz\r\nneedle\rneedle"}
    found = loop.one("grep", {"pattern": "needle", "output_mode": "content"}, files=files).content
    assert found == "/a:\n  2: needle\n  4: needle\n  5: needle"
    for number in (2, 4, 5):
        read = {"file_path": "/a", "offset": number - 1, "limit": 1}
        assert loop.one("read_file", read, files=files).content.split("\n")[1] == "needle"


def test_files_that_were_not_searched_are_named(loop):
    skipped = [f"/{number}.bin" for number in range(7)]
    backend = Answers(grep=GrepResult(matches=[], skipped=skipped))
    content = loop.one("grep", {"pattern": "x"}, backend=backend).content
    assert content.startswith("No matches found\n\n[not searched")
    assert "/0.bin, /1.bin, /2.bin, /3.bin, /4.bin and 2 more" in content
