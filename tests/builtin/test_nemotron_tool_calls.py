"""Nemotron's repairs of tool calls and of their results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from deepagents_builtin.profiles.harness.nemotron.profile import behaviours
from deepagents_builtin.profiles.harness.nemotron.read_continuation import continuation_notice
from deepagents_builtin.profiles.harness.nemotron.tool_call_shim import (
    EMPTY_RESULT,
    NemotronToolCallShim,
    is_empty,
    repaired_arguments,
)
from deepagents_kernel import Kernel, create_deep_agent
from deepagents_kernel.testing import ScriptedChatModel

KERNEL = Kernel()


def run(turns, *, profile=True, files=None, **options):
    provider = "NVIDIA" if profile else "another"
    model = ScriptedChatModel(turns, provider=provider, model_name="nvidia/nemotron-3-ultra-550b-a55b")
    graph = create_deep_agent(model, kernel=KERNEL, **options)
    files = {path: {"content": text, "encoding": "utf-8"} for path, text in (files or {}).items()}
    messages = graph.invoke({"messages": "hello", "files": files})["messages"]
    return [message for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.spec("NEMO-050")
@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "delete"])
def test_path_becomes_file_path(name):
    given = {"path": "/a", "limit": 1}
    assert repaired_arguments(name, given) == {"file_path": "/a", "limit": 1}
    assert given == {"path": "/a", "limit": 1}
    both = {"path": "/a", "file_path": "/b", "limit": 1}
    assert repaired_arguments(name, both) is both


@pytest.mark.spec("NEMO-050")
def test_the_limit_of_a_page():
    assert repaired_arguments("read_file", {"file_path": "/a"}) == {"file_path": "/a", "limit": 500}
    explicit = {"file_path": "/a", "limit": None}
    assert repaired_arguments("read_file", explicit) is explicit
    other = {"path": "/a"}
    assert repaired_arguments("ls", other) is other


@pytest.mark.spec("NEMO-050")
def test_a_wrong_argument_name_works_with_the_profile_alone():
    turns = [[("read_file", {"path": "/a"})], "done"]
    text = "".join(f"{n}\n" for n in range(400))
    (repaired,) = run(turns, files={"/a": text})
    assert "lines 1-400 of 400" in repaired.text
    (refused,) = run(turns, files={"/a": text}, profile=False)
    assert refused.status == "error"


@pytest.mark.spec("NEMO-051")
@pytest.mark.parametrize(
    ("content", "empty"),
    [
        (None, True),
        ("", True),
        ([], True),
        ([{"type": "text", "text": ""}, ""], True),
        (" ", False),
        ("\n", False),
        ([{"type": "image", "url": "x"}], False),
        ([{"type": "text", "text": "x"}], False),
    ],
)
def test_what_is_empty(content, empty):
    assert is_empty(content) is empty


@pytest.mark.spec("NEMO-051")
async def test_an_empty_result_says_so():
    @tool
    def quiet(text: str) -> str:
        """Say it."""
        return text

    turns = [[("quiet", {"text": ""}), ("quiet", {"text": " "})], "done"]
    assert [item.text for item in run(turns, tools=[quiet])] == [EMPTY_RESULT, " "]
    assert [item.text for item in run(turns, tools=[quiet], profile=False)] == ["", " "]


@pytest.mark.spec("NEMO-055")
@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("@@ lines 1-3 @@\na\nb\nc", {"limit": 3}, ("limit 3", "offset 0", "offset 3", "may not be")),
        ("[note]\n[note]\n@@ lines 11-13 @@\na", {"limit": 3, "offset": 10}, ("offset 10", "offset 13")),
        ("  1\ta\n  2\tb\n", {"limit": 2, "offset": 4}, ("limit 2", "offset 4", "offset 6")),
        ("  1\ta\n  1.1\tb\n", {"limit": 2}, ()),
        ("@@ lines 1-2 @@\na\nb", {"limit": 3}, ()),
        ("@@ lines 1-499 @@", {}, ()),
        ("@@ lines 1-500 @@", {}, ("limit 500", "offset 500")),
        ("a\nb\nc\n@@ lines 1-9 @@", {"limit": 3}, ()),
        ("talk of lines 1-9 here", {"limit": 3}, ()),
    ],
)
def test_the_notice_of_a_full_page(text, args, expected):
    notice = continuation_notice(text, args)
    assert bool(notice) is bool(expected)
    assert all(part in notice for part in expected)


@pytest.mark.spec("NEMO-056")
def test_the_total_of_the_header_is_used():
    assert continuation_notice("@@ lines 1-3 of 3 @@", {"limit": 3}) == ""
    assert "7 more lines" in continuation_notice("@@ lines 1-3 of 10 @@", {"limit": 3})


@pytest.mark.spec("NEMO-055", "NEMO-056")
def test_pages_of_a_real_file():
    page = lambda offset: ("read_file", {"file_path": "/a", "offset": offset, "limit": 2})  # noqa: E731
    files = {"/a": "a\nb\nc\nd\n"}
    first, last = run([[page(0)], [page(2)], "done"], files=files)
    assert first.text.endswith("2 more lines follow. Go on with offset 2.]")
    assert "Go on" not in last.text
    first, _ = run([[page(0)], [page(2)], "done"], files=files, profile=False)
    assert "Go on" not in first.text


@pytest.mark.spec("NEMO-055")
def test_errors_and_other_tools_get_no_notice():
    missing, listing = run([[("read_file", {"file_path": "/x"}), ("ls", {"path": "/"})], "done"])
    assert missing.status == "error"
    assert "Go on" not in missing.text + listing.text


@given(
    st.text(), st.dictionaries(st.sampled_from(["limit", "offset"]), st.none() | st.integers() | st.text())
)
def test_no_result_breaks_the_notice(text, args):
    assert isinstance(continuation_notice(text, args), str)


@given(st.sampled_from(["read_file", "delete", "ls"]), st.dictionaries(st.text(), st.integers()))
def test_repairing_twice_changes_nothing_more(name, args):
    once = repaired_arguments(name, args)
    assert repaired_arguments(name, once) is once


def retry():
    (found,) = [item for item in behaviours() if item.name == "ToolRetryMiddleware"]
    return found


def test_the_retry_of_file_tools():
    middleware = retry()
    assert (middleware.max_retries, middleware.on_failure) == (1, "continue")
    delays = (middleware.initial_delay, middleware.max_delay, middleware.jitter, middleware.backoff_factor)
    assert delays == (0.0, 0.0, False, 1.0)


@pytest.mark.parametrize(("failures", "expected"), [(1, "fine"), (2, "ValueError")])
def test_a_file_tool_that_raises_is_tried_once_more(failures, expected):
    calls = []

    class Request:
        tool_call = {"name": "ls", "args": {}, "id": "c"}
        tool = None

    def handler(request):
        calls.append(request)
        if len(calls) <= failures:
            raise ValueError("shaky")
        return ToolMessage("fine", tool_call_id="c")

    assert expected in retry().wrap_tool_call(Request(), handler).text
    assert len(calls) == 2


def test_the_shim_leaves_a_good_call_alone():
    class Request:
        tool_call = {"name": "ls", "args": {"path": "/"}, "id": "c"}

    request = Request()
    result = ToolMessage("x", tool_call_id="c")
    assert NemotronToolCallShim().wrap_tool_call(
        request, lambda given: result if given is request else None
    ) is (result)
