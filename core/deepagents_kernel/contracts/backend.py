"""The protocol that every backend speaks, and how to ask what a backend can do.

``BackendProtocol`` has no abstract methods: a backend implements what it can, and the tool layer hides the
rest. Each method has an async twin that runs the sync one in a worker thread with the caller's context
variables; a twin can't stop its worker, so a cancelled call runs on to its end unobserved.
"""

from __future__ import annotations

import abc
import asyncio
import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING

from deepagents_kernel.contracts import results
from deepagents_kernel.contracts.results import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from collections.abc import Callable


class BackendTypeError(DeepAgentsError, TypeError):
    """Something other than a backend instance was given as a backend.

    Attributes:
        given: what it was.
    """

    def __init__(self, given: object) -> None:
        self.given = given
        if isinstance(given, type):
            reason, hint = f"the class {given.__name__}", f"call it: {given.__name__}(...)"
        elif callable(given):
            reason, hint = "a function", "call it and pass what it returns; factories are not taken"
        else:
            reason, hint = f"a {type(given).__name__}", "pass an instance of a BackendProtocol subclass"
        super().__init__(f"backend must be an instance of BackendProtocol, not {reason}\n  {hint}")


class BackendProtocol(abc.ABC):  # noqa: B024 - every method is optional, yet the type is a protocol to subclass
    """Nine file operations, each with an async twin.

    Paths are absolute, with ``/`` between components. Failures are results with ``error`` set; only a misuse
    of the backend itself raises.
    """

    def _lacks(self, method: str) -> str:
        return f"{type(self).__name__} does not implement {method}"

    def ls(self, path: str) -> LsResult:
        """List the direct children of a directory.

        Args:
            path: the directory.

        Returns:
            Its entries, or an error. ``not_a_directory`` in the error means that *path* is a file.
        """
        raise NotImplementedError(self._lacks("ls"))

    async def als(self, path: str) -> LsResult:
        """Async twin of :meth:`ls`."""
        return await asyncio.to_thread(self.ls, path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines of a text file, or all of a binary one.

        Args:
            file_path: the file.
            offset: lines to skip; a negative one counts as 0.
            limit: most lines to return; 0 or less returns empty content and ``no_lines_requested``.

        Returns:
            Raw content without line numbers, and the window that it is.
        """
        raise NotImplementedError(self._lacks("read"))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Async twin of :meth:`read`."""
        return await asyncio.to_thread(self.read, file_path, offset, limit)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Find lines that hold a literal text.

        Args:
            pattern: the text; no regular expression.
            path: file or directory to search; the backend's root when left out.
            glob: only files that match it.
            max_count: most matches over all files.

        Returns:
            The matches; ``truncated`` when there were more than *max_count*.
        """
        raise NotImplementedError(self._lacks("grep"))

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Async twin of :meth:`grep`; waits ``ASYNC_GREP_TIMEOUT`` seconds at most.

        Works over a ``grep`` that has no *max_count* too: the result is trimmed in any case.
        """
        passed = {"max_count": max_count} if grep_accepts_max_count(type(self)) else {}
        return await wait_for_grep(functools.partial(self.grep, pattern, path, glob, **passed), max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name.

        Args:
            pattern: a glob in the shared dialect.
            path: directory to search; the backend's root when left out.

        Returns:
            Matching regular files under absolute paths, never directories.
        """
        raise NotImplementedError(self._lacks("glob"))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Async twin of :meth:`glob`."""
        return await asyncio.to_thread(self.glob, pattern, path)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file, or replace all of its content.

        Args:
            file_path: the file.
            content: its new text.

        Returns:
            The path, or an error.
        """
        raise NotImplementedError(self._lacks("write"))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Async twin of :meth:`write`."""
        return await asyncio.to_thread(self.write, file_path, content)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - positional in the published signature
    ) -> EditResult:
        """Replace a literal text in a file.

        Args:
            file_path: the file.
            old_string: the text to replace; must occur once unless *replace_all*.
            new_string: what to put there.
            replace_all: replace every occurrence.

        Returns:
            How many places changed, or an error.
        """
        raise NotImplementedError(self._lacks("edit"))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - positional in the published signature
    ) -> EditResult:
        """Async twin of :meth:`edit`."""
        return await asyncio.to_thread(self.edit, file_path, old_string, new_string, replace_all)

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, or a directory with everything below it. Optional: see :func:`supports_delete`.

        Args:
            file_path: what to remove.

        Returns:
            The path, or an error.
        """
        raise NotImplementedError(self._lacks("delete"))

    async def adelete(self, file_path: str) -> DeleteResult:
        """Async twin of :meth:`delete`."""
        return await asyncio.to_thread(self.delete, file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store several files, each independent of the others.

        Args:
            files: path and bytes of each.

        Returns:
            One response for each, in the same order.
        """
        raise NotImplementedError(self._lacks("upload_files"))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Async twin of :meth:`upload_files`."""
        return await asyncio.to_thread(self.upload_files, files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Fetch several files, each independent of the others.

        Args:
            paths: the files.

        Returns:
            One response for each, in the same order; a missing file has the error ``file_not_found``.
        """
        raise NotImplementedError(self._lacks("download_files"))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Async twin of :meth:`download_files`."""
        return await asyncio.to_thread(self.download_files, paths)

    def real_path(self, file_path: str) -> str | None:
        """The path that *file_path* leads to once links are followed, in the backend's own namespace.

        Permission rules are checked on it as well as on the path asked for. A backend without links answers
        with the path itself; ``None`` means that it can't be resolved, which counts as denied.
        """
        return file_path


class SandboxBackendProtocol(BackendProtocol):
    """A backend that also runs commands."""

    @property
    def id(self) -> str:
        """A name for this sandbox."""
        raise NotImplementedError(self._lacks("id"))

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a shell command.

        Args:
            command: what to run.
            timeout: seconds; the backend's own default when left out.

        Returns:
            Output and exit code.
        """
        raise NotImplementedError(self._lacks("execute"))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:  # noqa: ASYNC109 - published signature; the limit belongs to the command, not to the wait
        """Async twin of :meth:`execute`; *timeout* is passed on only where ``execute`` takes it."""
        passed = {"timeout": timeout} if timeout is not None and execute_accepts_timeout(type(self)) else {}
        return await asyncio.to_thread(self.execute, command, **passed)


async def wait_for_grep(search: Callable[[], GrepResult], max_count: int | None = None) -> GrepResult:
    """Run a search in a worker thread, wait ``ASYNC_GREP_TIMEOUT`` seconds at most, and trim its result.

    Args:
        search: the search; what it raises is raised here.
        max_count: most matches to keep.

    Returns:
        The result, or one with ``error`` when the time is up. The search itself can't be stopped.
    """
    work = asyncio.ensure_future(asyncio.to_thread(search))
    seconds = results.ASYNC_GREP_TIMEOUT
    try:
        # Waiting is kept apart from fetching: a TimeoutError of the search itself is not ours to report.
        done, _ = await asyncio.wait({work}, timeout=seconds)
    finally:
        if not work.done():
            work.cancel()
    if not done:
        return GrepResult(error=f"grep timed out after {seconds:g}s; search a smaller path")
    return trim_grep_result(work.result(), max_count)


def trim_grep_result(result: GrepResult, max_count: int | None) -> GrepResult:
    """Cut a result to *max_count* matches; a negative count is taken as 0.

    Returns:
        *result* itself when nothing has to go, else a copy with ``truncated`` set and everything else kept.
    """
    if max_count is None or result.matches is None or len(result.matches) <= max(max_count, 0):
        return result
    return dataclasses.replace(result, matches=result.matches[: max(max_count, 0)], truncated=True)


def _accepts(cls: type, method: str, parameter: str) -> bool:
    try:
        parameters = inspect.signature(getattr(cls, method)).parameters.values()
    except (AttributeError, TypeError, ValueError) as error:
        from deepagents_kernel.log import get_logger  # structlog is kept off the import path of these types

        get_logger(__name__).warning(
            "backend.signature_unknown",
            backend=cls.__qualname__,
            method=method,
            parameter=parameter,
            reason=str(error),
        )
        return False
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(
        item.kind is inspect.Parameter.VAR_KEYWORD or (item.name == parameter and item.kind in by_name)
        for item in parameters
    )


@functools.lru_cache(maxsize=128)
def execute_accepts_timeout(cls: type) -> bool:
    """Whether ``cls.execute`` takes ``timeout``, by name or through ``**kwargs``.

    ``False``, with a warning in the log, when its signature can't be read.
    """
    return _accepts(cls, "execute", "timeout")


@functools.lru_cache(maxsize=128)
def grep_accepts_max_count(cls: type) -> bool:
    """Whether ``cls.grep`` takes ``max_count``, by name or through ``**kwargs``.

    ``False``, with a warning in the log, when its signature can't be read.
    """
    return _accepts(cls, "grep", "max_count")


def supports_delete(backend: BackendProtocol) -> bool:
    """Whether a backend can delete: its class overrides ``delete`` or ``adelete``."""
    cls = type(backend)
    return (
        getattr(cls, "delete", None) is not BackendProtocol.delete
        or getattr(cls, "adelete", None) is not BackendProtocol.adelete
    )


def ensure_backend(value: object) -> BackendProtocol:
    """*value*, if it is a backend instance.

    Raises:
        BackendTypeError: it is a class, a factory or something else.
    """
    if isinstance(value, BackendProtocol):
        return value
    raise BackendTypeError(value)
