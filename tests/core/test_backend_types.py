"""Result types, the protocol with its async twins, and what is probed about a backend."""

import asyncio
import contextvars
import copy
import dataclasses
import logging
import pickle
import threading

import pytest

from deepagents_kernel.contracts import results
from deepagents_kernel.contracts.backend import (
    BackendProtocol,
    SandboxBackendProtocol,
    ensure_backend,
    execute_accepts_timeout,
    grep_accepts_max_count,
    supports_delete,
    trim_grep_result,
)
from deepagents_kernel.contracts.results import (
    DeleteResult,
    EditResult,
    ExecuteOffloadResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)


def matches(count):
    return [{"path": "/a", "line": number, "text": "x"} for number in range(1, count + 1)]


# Invariants -------------------------------------------------------------------------------------------


@pytest.mark.spec("BK-001", "BK-002", "BK-003", "BK-004", "BK-005")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"start_line": 1}, "set together"),
        ({"end_line": 1}, "set together"),
        ({"next_offset": 1}, "without a window"),
        ({"total_lines": 1}, "without a window"),
        ({"start_line": 0, "end_line": 1}, "no window"),
        ({"start_line": 3, "end_line": 2}, "no window"),
        ({"start_line": 1, "end_line": 3, "total_lines": 2}, "less than end_line"),
        ({"start_line": 1, "end_line": 3, "next_offset": 4}, "skip or repeat"),
        ({"start_line": 1, "end_line": 3, "next_offset": 2}, "skip or repeat"),
    ],
)
def test_a_window_that_contradicts_itself_is_refused(fields, reason):
    with pytest.raises(ValueError, match=reason):
        ReadResult(**fields)


@pytest.mark.spec("BK-003", "BK-004", "BK-005")
def test_a_sound_window_is_accepted():
    result = ReadResult(start_line=2, end_line=2, total_lines=3, next_offset=2)
    assert (result.start_line, result.end_line, result.total_lines, result.next_offset) == (2, 2, 3, 2)
    assert ReadResult(start_line=1, end_line=3, total_lines=3).next_offset is None
    assert ReadResult(start_line=1, end_line=3, next_offset=3).total_lines is None


@pytest.mark.spec("BK-006")
def test_no_lines_requested_goes_with_content_only():
    for fields in (
        {"error": "x"},
        {"start_line": 1, "end_line": 1},
        {"next_offset": 1},
        {"total_lines": 1},
    ):
        with pytest.raises(ValueError, match="no_lines_requested"):
            ReadResult(no_lines_requested=True, **fields)
    kept = ReadResult(file_data={"content": "", "encoding": "utf-8"}, no_lines_requested=True)
    assert kept.no_lines_requested


@pytest.mark.spec("BK-008")
def test_a_resume_point_past_the_end_is_refused():
    with pytest.raises(ValueError, match="past the last line"):
        ReadResult(start_line=1, end_line=3, total_lines=3, next_offset=3)


@pytest.mark.spec("BK-011")
def test_a_reason_needs_a_truncation():
    with pytest.raises(ValueError, match="truncation_reason without truncated"):
        GlobResult(matches=[], truncation_reason="budget")
    assert GlobResult(matches=[], truncated=True, truncation_reason="budget").truncation_reason == "budget"


@pytest.mark.spec("BK-007", "BK-012")
def test_a_failure_carries_no_success():
    for build in (
        lambda: ReadResult(error="x", file_data={"content": "", "encoding": "utf-8"}),
        lambda: ReadResult(error="x", start_line=1, end_line=1),
        lambda: WriteResult(error="x", path="/a"),
        lambda: EditResult(error="x", path="/a"),
        lambda: EditResult(error="x", occurrences=1),
        lambda: DeleteResult(error="x", path="/a"),
        lambda: FileDownloadResponse("/a", b"", "file_not_found"),
    ):
        with pytest.raises(ValueError, match="error together with"):
            build()
    for result in (
        ReadResult(error="x"),
        WriteResult(error="x"),
        EditResult(error="x"),
        DeleteResult(error="x"),
    ):
        assert result.error == "x"


@pytest.mark.spec("BK-013", "BK-010")
def test_listings_and_searches_may_fail_in_part():
    assert LsResult(error="x", entries=[]).entries == []
    assert GrepResult(error="x", matches=matches(1)).matches == matches(1)
    assert GlobResult(error="x", matches=[]).matches == []
    cut_short = GrepResult(matches=[], truncated=True)
    assert cut_short.error is None
    assert GrepResult(error="x").matches is None


@pytest.mark.spec("DWN-016")
def test_results_are_ordinary_dataclasses():
    positional = ReadResult(None, {"content": "a", "encoding": "utf-8"}, 1, 1, 1, None, False)
    by_name = ReadResult(
        file_data={"content": "a", "encoding": "utf-8"}, total_lines=1, start_line=1, end_line=1
    )
    assert positional == by_name
    assert FileDownloadResponse("/a", b"x") == FileDownloadResponse(path="/a", content=b"x", error=None)
    assert FileUploadResponse("/a", "invalid_path").error == "invalid_path"
    changed = dataclasses.replace(GrepResult("e", matches(2)), truncated=True)
    assert (changed.error, changed.truncated, changed.matches) == ("e", True, matches(2))
    written = WriteResult(path="/a")
    written.path = "/b"
    assert written == WriteResult(None, "/b")
    assert pickle.loads(pickle.dumps(changed)) == changed == copy.deepcopy(changed)
    with pytest.raises(TypeError):
        hash(written)


@pytest.mark.spec("DWN-016")
def test_an_offload_result_can_not_be_changed():
    result = ExecuteOffloadResult(True, ExecuteResponse("out", 0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.offloaded = False
    assert not hasattr(result, "__dict__")
    assert result.response == ExecuteResponse(output="out", exit_code=0, truncated=False)


@pytest.mark.spec("BK-036")
def test_codes_and_limits_are_exact():
    codes = (results.FILE_NOT_FOUND, results.PERMISSION_DENIED, results.IS_DIRECTORY, results.INVALID_PATH)
    assert codes == ("file_not_found", "permission_denied", "is_directory", "invalid_path")
    assert (results.DEFAULT_GREP_TIMEOUT, results.ASYNC_GREP_TIMEOUT, results.ASYNC_GLOB_TIMEOUT) == (
        15,
        35,
        30,
    )


# The protocol -----------------------------------------------------------------------------------------

CALLS = [
    ("ls", ("/",)),
    ("read", ("/a",)),
    ("grep", ("x",)),
    ("glob", ("*",)),
    ("write", ("/a", "x")),
    ("edit", ("/a", "x", "y")),
    ("delete", ("/a",)),
    ("upload_files", ([("/a", b"")],)),
    ("download_files", (["/a"],)),
]


@pytest.mark.spec("BK-020", "DWN-010")
@pytest.mark.parametrize(("method", "arguments"), CALLS)
async def test_what_a_backend_lacks_says_so(method, arguments):
    backend = BackendProtocol()
    with pytest.raises(NotImplementedError, match=f"BackendProtocol does not implement {method}"):
        getattr(backend, method)(*arguments)
    with pytest.raises(NotImplementedError, match=method):
        await getattr(backend, f"a{method}")(*arguments)


@pytest.mark.spec("DWN-010")
async def test_a_subclass_may_implement_one_method_only():
    class OnlyRead(BackendProtocol):
        def read(self, file_path, offset=0, limit=2000):
            return ReadResult(file_data={"content": f"{file_path} {offset} {limit}", "encoding": "utf-8"})

    assert (await OnlyRead().aread("/a", 3, limit=4)).file_data["content"] == "/a 3 4"
    with pytest.raises(NotImplementedError):
        OnlyRead().ls("/")


@pytest.mark.spec("BK-021")
async def test_twins_work_in_a_thread_with_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    seen = {}

    class Seeing(BackendProtocol):
        def __getattribute__(self, name):
            if name in dict(CALLS):

                def record(*arguments, **options):
                    seen[name] = (variable.get(), threading.get_ident())
                    return GrepResult(matches=[])

                return record
            return super().__getattribute__(name)

    variable.set("set")
    for method, arguments in CALLS:
        await getattr(Seeing(), f"a{method}")(*arguments)
    assert {name: value for name, (value, _) in seen.items()} == dict.fromkeys(dict(CALLS), "set")
    assert threading.get_ident() not in {thread for _, thread in seen.values()}


class Blocking(BackendProtocol):
    """Works until it is told to stop."""

    def __init__(self):
        self.started = threading.Event()
        self.release = threading.Event()
        self.finished = threading.Event()

    def _work(self):
        self.started.set()
        assert self.release.wait(30)
        self.finished.set()

    def grep(self, pattern, path=None, glob=None, *, max_count=None):
        self._work()
        return GrepResult(matches=matches(1))

    def ls(self, path):
        self._work()
        return LsResult(entries=[])


@pytest.mark.spec("BK-022", "BK-023")
async def test_a_search_that_takes_too_long_is_abandoned(monkeypatch):
    monkeypatch.setattr(results, "ASYNC_GREP_TIMEOUT", 0.01)
    backend = Blocking()
    result = await backend.agrep("x")
    assert "timed out" in result.error
    assert (result.matches, result.truncated) == (None, False)
    assert not backend.finished.is_set()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    backend.release.set()
    assert await asyncio.to_thread(backend.finished.wait, 30)


@pytest.mark.spec("BK-022", "BK-027")
async def test_other_twins_wait_for_ever_and_a_cancelled_one_runs_on(monkeypatch):
    monkeypatch.setattr(results, "ASYNC_GREP_TIMEOUT", 0.01)
    backend = Blocking()
    call = asyncio.ensure_future(backend.als("/"))
    await asyncio.to_thread(backend.started.wait, 30)
    done, _ = await asyncio.wait({call}, timeout=0.05)
    assert not done
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not backend.finished.is_set()
    backend.release.set()
    assert await asyncio.to_thread(backend.finished.wait, 30)


@pytest.mark.spec("BK-023")
async def test_a_timeout_inside_of_the_search_is_not_the_twins():
    class Failing(BackendProtocol):
        def grep(self, pattern, path=None, glob=None, *, max_count=None):
            raise TimeoutError("the remote end gave up")

    with pytest.raises(TimeoutError, match="the remote end gave up"):
        await Failing().agrep("x")


@pytest.mark.spec("BK-024")
async def test_max_count_is_passed_where_it_is_taken_and_kept_everywhere():
    class Old(BackendProtocol):
        def grep(self, pattern, path=None, glob=None):
            return GrepResult(matches=matches(5))

    class Named(BackendProtocol):
        def grep(self, pattern, path=None, glob=None, *, max_count=None):
            return GrepResult(error=f"got {max_count}", matches=matches(5))

    class Open(BackendProtocol):
        def grep(self, pattern, path=None, glob=None, **options):
            return GrepResult(error=f"got {options['max_count']}", matches=matches(5))

    assert [grep_accepts_max_count(cls) for cls in (Old, Named, Open)] == [False, True, True]
    old = await Old().agrep("x", max_count=2)
    assert (old.matches, old.truncated) == (matches(2), True)
    for cls in (Named, Open):
        result = await cls().agrep("x", max_count=2)
        assert (result.error, result.matches, result.truncated) == ("got 2", matches(2), True)


@pytest.mark.spec("BK-025", "BK-026")
def test_trimming():
    five = GrepResult(error="e", matches=matches(5), skipped=["/s"], ignored=2)
    cut = trim_grep_result(five, 2)
    assert (cut.matches, cut.truncated, cut.error, cut.skipped, cut.ignored) == (
        matches(2),
        True,
        "e",
        ["/s"],
        2,
    )
    assert five.matches == matches(5)
    assert trim_grep_result(five, 5) is five
    assert trim_grep_result(five, None) is five
    for count in (0, -1):
        nothing = trim_grep_result(five, count)
        assert (nothing.matches, nothing.truncated) == ([], True)
    assert trim_grep_result(GrepResult(matches=[]), 0) == GrepResult(matches=[])
    assert trim_grep_result(GrepResult(error="x"), 0) == GrepResult(error="x")


@pytest.mark.spec("BK-028")
def test_delete_is_supported_when_it_is_overridden():
    class Sync(BackendProtocol):
        def delete(self, file_path):
            return DeleteResult(path=file_path)

    class Async(BackendProtocol):
        async def adelete(self, file_path):
            return DeleteResult(path=file_path)

    class Inherits(Sync):
        pass

    assert [supports_delete(cls()) for cls in (BackendProtocol, Sync, Async, Inherits)] == [
        False,
        True,
        True,
        True,
    ]


class Shell(SandboxBackendProtocol):
    def execute(self, command, *, timeout=None):
        return ExecuteResponse(f"{command} {timeout}", 0)


class OldShell(SandboxBackendProtocol):
    def execute(self, command):
        return ExecuteResponse(command, 0)


class OpenShell(SandboxBackendProtocol):
    def execute(self, command, **options):
        return ExecuteResponse(f"{command} {sorted(options.items())}", 0)


@pytest.mark.spec("BK-029")
async def test_timeout_is_passed_where_it_is_taken():
    assert [execute_accepts_timeout(cls) for cls in (Shell, OldShell, OpenShell)] == [True, False, True]
    assert (await Shell().aexecute("c", timeout=5)).output == "c 5"
    assert (await Shell().aexecute("c")).output == "c None"
    assert (await OldShell().aexecute("c", timeout=5)).output == "c"
    assert (await OpenShell().aexecute("c", timeout=5)).output == "c [('timeout', 5)]"
    assert (await OpenShell().aexecute("c")).output == "c []"


@pytest.mark.spec("BK-030")
def test_an_unreadable_signature_counts_as_no_capability(caplog):
    class Odd(SandboxBackendProtocol):
        execute = dict.fromkeys
        grep = property(lambda self: None)

    with caplog.at_level(logging.WARNING):
        assert not execute_accepts_timeout(Odd)
        assert not grep_accepts_max_count(Odd)
    assert [record.event for record in caplog.records] == ["backend.signature_unknown"]
    assert caplog.records[0].fields["method"] == "grep"


@pytest.mark.spec("BK-020")
async def test_a_sandbox_without_commands_says_so():
    sandbox = SandboxBackendProtocol()
    with pytest.raises(NotImplementedError, match="does not implement id"):
        sandbox.id  # noqa: B018 - the access is the test
    with pytest.raises(NotImplementedError, match="does not implement execute"):
        sandbox.execute("c")
    with pytest.raises(NotImplementedError):
        await sandbox.aexecute("c")


@pytest.mark.spec("BK-031")
def test_only_instances_are_backends():
    backend = BackendProtocol()
    assert ensure_backend(backend) is backend
    with pytest.raises(TypeError, match=r"the class BackendProtocol\n  call it: BackendProtocol"):
        ensure_backend(BackendProtocol)
    with pytest.raises(TypeError, match="a function"):
        ensure_backend(lambda runtime: backend)
    with pytest.raises(TypeError, match="a str"):
        ensure_backend("state")


def test_real_path_of_a_backend_without_links_is_the_path():
    assert BackendProtocol().real_path("/a/b") == "/a/b"


# Doors ------------------------------------------------------------------------------------------------


@pytest.mark.spec("DWN-018")
def test_helpers_for_backend_authors_are_public():
    from deepagents_kernel.backends import protocol, utils

    for name in (
        "perform_string_replacement",
        "format_content_with_line_numbers",
        "validate_path",
        "create_file_data",
        "update_file_data",
        "check_empty_content",
        "compile_grep_include_glob",
        "slice_read_response",
        "normalize_read_bounds",
    ):
        assert callable(getattr(utils, name))
    for module in (protocol, utils):
        assert module.__all__ == sorted(module.__all__)
        assert all(getattr(module, name) is not None for name in module.__all__)
        assert set(module.__all__) <= set(dir(module))


def test_the_door_of_backends_opens_what_is_there_and_names_what_is_not():
    import deepagents_kernel.backends as door
    from deepagents_kernel._builtin import load_table

    assert door.BackendProtocol is BackendProtocol
    assert set(load_table().backend_exports) <= set(door.__all__)
    for name in load_table().backend_exports:
        assert issubclass(getattr(door, name), BackendProtocol)
    absent = {name: plugin for name, plugin in load_table().absent.items() if plugin.startswith("backend.")}
    for name, plugin in absent.items():
        with pytest.raises(AttributeError, match=plugin):
            getattr(door, name)
    with pytest.raises(AttributeError, match="nearest: BackendProtocol"):
        door.BackendProtocl  # noqa: B018 - the access is the test
