"""Files in the state of the running graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepagents_builtin.backends.state.channel import read_files, send_files
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.contracts.results import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents_kernel.files.file_data import (
    MalformedFileError,
    bytes_to_file_data,
    create_file_data,
    file_data_to_bytes,
    file_data_to_string,
    file_size,
    unencodable_reason,
    update_file_data,
)
from deepagents_kernel.files.globs import InvalidGlobPatternError, compile_glob
from deepagents_kernel.files.grepping import grep_matches_from_files, select_files
from deepagents_kernel.files.paths import InvalidPathError, canonical_path, show_path
from deepagents_kernel.files.replacing import perform_string_replacement
from deepagents_kernel.files.types_by_suffix import read_type
from deepagents_kernel.files.windows import slice_read_response


class StateBackend(BackendProtocol):
    """Files in the state key ``files``: kept with the thread, seen by nobody else, never on a disk.

    Holds nothing itself, so one instance serves any number of agents, threads and runs. A task sees its own
    writes at once; tasks of the same step see each other's at the step's end. Folders exist as far as files
    are below them, so an unknown folder is an empty one.

    Every method raises :class:`~deepagents_builtin.backends.state.channel.OutsideGraphError`, a
    ``RuntimeError``, outside of a running graph node.
    """

    def ls(self, path: str) -> LsResult:
        """List direct children, sorted by path; folders end with ``/``."""
        files = read_files()
        try:
            root = canonical_path(path)
        except InvalidPathError as error:
            return LsResult(error=str(error))
        prefix = root if root == "/" else f"{root}/"
        entries: dict[str, FileInfo] = {}
        for key in files:
            if not key.startswith(prefix) or key == prefix:
                continue
            name, slash, _ = key[len(prefix) :].partition("/")
            child = f"{prefix}{name}{slash}"
            if not slash:
                entries[child] = _info(key, files[key])
            elif child not in entries:
                entries[child] = {"path": child, "is_dir": True, "size": 0, "modified_at": ""}
        return LsResult(entries=[entries[child] for child in sorted(entries)])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines; a binary file, by its suffix or its encoding, comes whole."""
        files = read_files()
        try:
            key = _key(files, file_path)
            if key not in files:
                return ReadResult(error=f"File {show_path(key)} not found")
            if read_type(key) != "text":
                return ReadResult(file_data={**files[key], "content": file_data_to_string(files[key])})
            return slice_read_response(files[key], offset, limit)
        except InvalidPathError as error:
            return ReadResult(error=str(error))
        except MalformedFileError as error:
            return ReadResult(error=f"File {show_path(file_path)} can't be read: {error}")

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Find a literal text, in the order in which the files are stored."""
        return grep_matches_from_files(read_files(), pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name, sorted by path."""
        files = read_files()
        try:
            root = canonical_path(path)
            compiled = compile_glob(pattern)
        except (InvalidPathError, InvalidGlobPatternError) as error:
            return GlobResult(error=str(error))
        found = sorted(key for key, relative in select_files(files, root) if compiled.matches(relative))
        return GlobResult(matches=[_info(key, files[key]) for key in found])

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a text file, or replace all of its content; ``created_at`` stays."""
        files = read_files()
        try:
            key = _key(files, file_path)
        except InvalidPathError as error:
            return WriteResult(error=f"Error: {error}")
        reason = unencodable_reason(content)
        if reason:
            return WriteResult(error=f"Error: {show_path(key)} was not written: {reason}")
        send_files({key: create_file_data(content, _created_at(files, key))})
        return WriteResult(path=key)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - positional in the published signature
    ) -> EditResult:
        """Replace a literal text; line endings count as equal, and untouched ones stay."""
        files = read_files()
        try:
            key = _key(files, file_path)
            replaced = _replaced(files, key, (old_string, new_string), replace_all=replace_all)
        except InvalidPathError as error:
            return EditResult(error=f"Error: {error}")
        except MalformedFileError as error:
            return EditResult(error=f"Error: {show_path(file_path)} can't be edited: {error}")
        if isinstance(replaced, str):
            return EditResult(error=replaced)
        send_files({key: update_file_data(files[key], replaced[0])})
        return EditResult(path=key, occurrences=replaced[1])

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file and everything below its path; ``/`` removes every file."""
        files = read_files()
        try:
            key = _key(files, file_path)
        except InvalidPathError as error:
            return DeleteResult(error=f"Error: {error}")
        prefix = key if key == "/" else f"{key}/"
        doomed = [path for path in files if path == key or path.startswith(prefix)]
        if not doomed:
            return DeleteResult(error=f"Error: {show_path(key)} not found")
        send_files(dict.fromkeys(doomed))
        return DeleteResult(path=key)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store files in one update: as text where the bytes are UTF-8, else as base64."""
        stored = read_files()
        update: dict[str, FileData] = {}
        responses: list[FileUploadResponse] = []
        for path, content in files:
            try:
                key = _key(stored, path)
            except InvalidPathError:
                responses.append(FileUploadResponse(path, INVALID_PATH))
                continue
            update[key] = bytes_to_file_data(content, _created_at(stored, key))
            responses.append(FileUploadResponse(path))
        if update:
            send_files(update)
        return responses

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Fetch the bytes of files."""
        files = read_files()
        return [_download(files, path) for path in paths]

    # Nothing here waits for anything, so the twins of single-file operations need no thread. Searches keep
    # theirs: over many files they take long enough to hold up other tasks.

    async def als(self, path: str) -> LsResult:
        """Async twin of :meth:`ls`."""
        return self.ls(path)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Async twin of :meth:`read`."""
        return self.read(file_path, offset, limit)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Async twin of :meth:`write`."""
        return self.write(file_path, content)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - positional in the published signature
    ) -> EditResult:
        """Async twin of :meth:`edit`."""
        return self.edit(file_path, old_string, new_string, replace_all)

    async def adelete(self, file_path: str) -> DeleteResult:
        """Async twin of :meth:`delete`."""
        return self.delete(file_path)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Async twin of :meth:`upload_files`."""
        return self.upload_files(files)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Async twin of :meth:`download_files`."""
        return self.download_files(paths)


def _key(files: Mapping[str, Any], path: str) -> str:
    """The key of a path: its canonical spelling, unless a file was put in under exactly this other one."""
    key = canonical_path(path)
    return path if key not in files and path in files else key


def _replaced(
    files: Mapping[str, FileData], key: str, change: tuple[str, str], *, replace_all: bool
) -> tuple[str, int] | str:
    if key not in files:
        return f"Error: File {show_path(key)} not found"
    content = file_data_to_string(files[key])
    if files[key].get("encoding") == "base64":
        return f"Error: {show_path(key)} is binary and can't be edited as text"
    replaced = perform_string_replacement(content, *change, replace_all)
    reason = unencodable_reason(change[1])
    if reason and not isinstance(replaced, str):
        return f"Error: {show_path(key)} was not changed: {reason}"
    return replaced


def _created_at(files: Mapping[str, FileData], key: str) -> str | None:
    found = files.get(key)
    return found.get("created_at") if isinstance(found, Mapping) else None


def _info(key: str, file_data: FileData) -> FileInfo:
    try:
        size = file_size(file_data)
    except MalformedFileError:
        # One broken file must not hide the others.
        return {"path": key, "is_dir": False, "size": 0, "modified_at": ""}
    return {"path": key, "is_dir": False, "size": size, "modified_at": file_data.get("modified_at", "")}


def _download(files: Mapping[str, FileData], path: str) -> FileDownloadResponse:
    try:
        key = _key(files, path)
        if key not in files:
            return FileDownloadResponse(path, error=FILE_NOT_FOUND)
        return FileDownloadResponse(path, file_data_to_bytes(files[key]))
    except InvalidPathError:
        return FileDownloadResponse(path, error=INVALID_PATH)
    except MalformedFileError as error:
        return FileDownloadResponse(path, error=str(error))
