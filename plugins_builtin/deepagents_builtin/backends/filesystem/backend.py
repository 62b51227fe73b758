"""Files in a folder of the local disk."""

from __future__ import annotations

import asyncio
import codecs
import functools
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attrs import frozen

from deepagents_builtin.backends.filesystem.atomic import replace_file, writing
from deepagents_builtin.backends.filesystem.confinement import Root
from deepagents_builtin.backends.filesystem.decoding import BinaryContentError, decode
from deepagents_builtin.backends.filesystem.failures import (
    Failure,
    describe,
    describe_directory,
    transfer_code,
)
from deepagents_builtin.backends.filesystem.listing import list_directory
from deepagents_builtin.backends.filesystem.reading import read_place
from deepagents_builtin.backends.filesystem.searching import Search, glob_files, grep_files
from deepagents_kernel.contracts.backend import BackendProtocol, grep_accepts_max_count, wait_for_grep
from deepagents_kernel.contracts.results import (
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents_kernel.files.file_data import unencodable_reason
from deepagents_kernel.files.globs import InvalidGlobPatternError, compile_glob
from deepagents_kernel.files.grepping import compile_include
from deepagents_kernel.files.paths import check_name, path_parts, show_path
from deepagents_kernel.files.replacing import perform_string_replacement
from deepagents_kernel.files.windows import normalize_read_bounds

if TYPE_CHECKING:
    from deepagents_builtin.backends.filesystem.confinement import Place


@frozen
class _Target:
    """A path as this backend takes it: components below its root, and what results call it."""

    parts: tuple[str, ...]
    follow_last: bool = True

    @property
    def path(self) -> str:
        return "/" + "/".join(self.parts)


class FilesystemBackend(BackendProtocol):
    """Files in a local folder.

    In virtual mode the folder is ``/``: nothing outside of it is reached, through links neither, and no text
    shows where it is. That guards against paths, not against programs: a shell is not held by it.
    Otherwise paths are host paths, absolute or relative to the folder, and nothing is confined.

    Writes replace files whole. Every failure is a result with ``error``; no method raises for a path.

    Args:
        root_dir: the folder; the working directory when left out. The first write makes it if need be.
        virtual_mode: see above.
        max_file_size_mb: larger files are not searched.
        include_ignored: search what ``.gitignore`` and the built-in ignore rule would pass over.
        durability: ``fsync`` makes each write wait for the disk.
        encoding: encoding of every text file; detected file by file when left out.

    Attributes:
        cwd: the folder, absolute, links resolved.
        virtual_mode: as given.
        max_file_size_bytes: as given, in bytes.
    """

    def __init__(
        self,
        root_dir: str | Path | None = None,
        virtual_mode: bool = True,  # noqa: FBT001, FBT002 - positional in the published signature
        max_file_size_mb: int = 10,
        *,
        include_ignored: bool = False,
        durability: Literal["rename", "fsync"] = "rename",
        encoding: str | None = None,
    ) -> None:
        given = Path.cwd() if root_dir is None else Path(root_dir)
        self.cwd = given.resolve()
        self.virtual_mode = virtual_mode
        self.max_file_size_bytes = max_file_size_mb * 1024 * 1024
        self._include_ignored = include_ignored
        self._durable = durability == "fsync"
        self._encoding = codecs.lookup(encoding).name if encoding else None
        self._root = Root(str(self.cwd), (str(given.absolute()),)) if virtual_mode else Root("/")

    # Files ----------------------------------------------------------------------------------------

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines in bounded memory; a binary file comes whole, as base64."""
        try:
            target = self._target(file_path)
            with self._root.locate(target.parts, follow_last=target.follow_last) as place:
                return read_place(place, target.path, normalize_read_bounds(offset, limit), self._encoding)
        except Failure as error:
            return ReadResult(error=describe(file_path, error))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file in UTF-8, with the folders above it, or replace all of its content."""
        reason = unencodable_reason(content)
        if reason:
            return WriteResult(error=f"Error: {show_path(file_path)} was not written: {reason}")
        try:
            return WriteResult(path=self._store(file_path, content.encode()))
        except Failure as error:
            return WriteResult(error=f"Error: {describe(file_path, error)}")

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - positional in the published signature
    ) -> EditResult:
        """Replace a literal text; every byte around it stays, and so does the file's encoding."""
        try:
            target = self._target(file_path)
            with self._root.locate(target.parts, follow_last=target.follow_last) as place, writing(place):
                outcome = self._edited(place, (old_string, new_string), replace_all=replace_all)
        except Failure as error:
            return EditResult(error=f"Error: {describe(file_path, error)}")
        if isinstance(outcome, int):
            return EditResult(path=target.path, occurrences=outcome)
        return EditResult(error=outcome)

    def _edited(self, place: Place, change: tuple[str, str], *, replace_all: bool) -> int | str:
        with os.fdopen(place.open_file(), "rb") as file:
            content = file.read()
        try:
            decoded = decode(content, self._encoding)
        except BinaryContentError:
            return "Error: the file is binary and can't be edited as text"
        replaced = perform_string_replacement(decoded.text, *change, replace_all)
        if isinstance(replaced, str):
            return replaced
        text, occurrences = replaced
        try:
            changed = text.encode(decoded.codec)
        except UnicodeEncodeError as error:
            culprit = f"U+{ord(text[error.start]):04X}"
            return f"Error: the file is in {decoded.codec}, which can't hold {culprit} of new_string"
        replace_file(place, changed, durable=self._durable)
        return occurrences

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, a folder with everything below it, or a link without what it leads to.

        The root itself, and what is above it, is never removed.
        """
        try:
            target = self._target(file_path)
            if self._is_root(target):
                return DeleteResult(error="Error: the root folder can't be deleted; delete what is in it")
            with self._root.locate(target.parts, follow_last=False) as place, writing(place):
                _remove(place)
        except Failure as error:
            return DeleteResult(error=f"Error: {describe(file_path, error)}")
        return DeleteResult(path=target.path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store files, each whole or not at all, with the folders above them."""
        return [self._upload(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Fetch the bytes of files."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> FileUploadResponse:
        try:
            self._store(path, content)
        except Failure as error:
            return FileUploadResponse(path, transfer_code(error))
        return FileUploadResponse(path)

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            target = self._target(path)
            with (
                self._root.locate(target.parts, follow_last=target.follow_last) as place,
                os.fdopen(place.open_file(), "rb") as file,
            ):
                return FileDownloadResponse(path, file.read())
        except Failure as error:
            return FileDownloadResponse(path, error=transfer_code(error))

    def _store(self, path: str, content: bytes) -> str:
        target = self._target(path)
        with (
            self._root.locate(target.parts, follow_last=target.follow_last, create=True) as place,
            writing(place),
        ):
            replace_file(place, content, durable=self._durable)
        return target.path

    # Folders --------------------------------------------------------------------------------------

    def ls(self, path: str) -> LsResult:
        """List direct children, sorted by path; folders end with ``/``, links say that they are links."""
        try:
            target = self._target(path)
            with self._root.locate(target.parts) as place:
                if not stat.S_ISDIR(place.lstat().st_mode):
                    return LsResult(error=f"Path {show_path(target.path)}: not_a_directory")
                directory = place.open_directory()
                try:
                    prefix = f"{target.path.rstrip('/')}/"
                    return LsResult(entries=list_directory(self._root, place.parts, directory, prefix))
                finally:
                    os.close(directory)
        except Failure as error:
            return LsResult(error=describe_directory(path, error))

    def glob(
        self, pattern: str, path: str | None = None, *, include_ignored: bool | None = None
    ) -> GlobResult:
        """Find files by name, sorted by path.

        Args:
            pattern: a glob in the shared dialect.
            path: folder or file to search; the root folder when left out, and for ``/``.
            include_ignored: overrides what the constructor was told.
        """
        try:
            compiled = compile_glob(pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        try:
            target = self._search_target(None if path == "/" else path)
            with self._root.locate(target.parts) as place:
                return glob_files(self._search(place, target, include_ignored=include_ignored), compiled)
        except Failure as error:
            return GlobResult(error=describe_directory(path or "/", error))

    async def aglob(
        self, pattern: str, path: str | None = None, *, include_ignored: bool | None = None
    ) -> GlobResult:
        """Async twin of :meth:`glob`."""
        return await asyncio.to_thread(self.glob, pattern, path, **_override(include_ignored))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
        include_ignored: bool | None = None,
    ) -> GrepResult:
        """Find lines that hold a literal text, by path; files that can't be searched are named.

        Args:
            pattern: the text.
            path: folder or file to search; the root folder when left out.
            glob: only files that match, relative to *path*.
            max_count: most matches over all files.
            include_ignored: overrides what the constructor was told.
        """
        try:
            include = compile_include(glob)
        except InvalidGlobPatternError as error:
            return GrepResult(error=str(error), matches=[])
        try:
            target = self._search_target(path)
            with self._root.locate(target.parts) as place:
                return grep_files(
                    self._search(place, target, include_ignored=include_ignored), pattern, include, max_count
                )
        except Failure as error:
            return GrepResult(error=describe_directory(path or "/", error))

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
        include_ignored: bool | None = None,
    ) -> GrepResult:
        """Async twin of :meth:`grep`."""
        passed: dict[str, Any] = _override(include_ignored)
        if grep_accepts_max_count(type(self)):
            passed["max_count"] = max_count
        search = functools.partial(self.grep, pattern, path, glob, **passed)
        return await wait_for_grep(search, max_count)

    # Paths ----------------------------------------------------------------------------------------

    def real_path(self, file_path: str) -> str | None:
        """The path that links lead to; ``None`` when they leave the root, loop, or can't be read."""
        try:
            return "/" + "/".join(self._root.real_parts(self._target(file_path).parts))
        except Failure:
            return None

    def _target(self, path: str) -> _Target:
        if self.virtual_mode:
            return _Target(path_parts(path))
        check_name(path)
        given = path.startswith("/")
        absolute = os.path.normpath(self.cwd / path)
        # A host path is taken at its word: the link that it may name is not the file it leads to.
        return _Target(path_parts(absolute), follow_last=not given)

    def _search_target(self, path: str | None) -> _Target:
        if path is None and not self.virtual_mode:
            return _Target(path_parts(str(self.cwd)))
        return self._target(path or "")

    def _search(self, place: Place, target: _Target, *, include_ignored: bool | None) -> Search:
        home = path_parts(str(self.cwd))
        below_home = place.parts[: len(home)] == home
        above = 0 if self.virtual_mode else (len(home) if below_home else len(place.parts))
        return Search(
            self._root,
            place,
            target.path,
            anchor=above,
            include_ignored=self._include_ignored if include_ignored is None else include_ignored,
            max_file_size=self.max_file_size_bytes,
            declared=self._encoding,
        )

    def _is_root(self, target: _Target) -> bool:
        home = () if self.virtual_mode else path_parts(str(self.cwd))
        return home[: len(target.parts)] == target.parts


def _override(include_ignored: bool | None) -> dict[str, Any]:  # noqa: FBT001 - the value is the point
    """Passed on only when given: a subclass may have kept the protocol's signature."""
    return {} if include_ignored is None else {"include_ignored": include_ignored}


def _remove(place: Place) -> None:
    if stat.S_ISDIR(place.lstat().st_mode):
        shutil.rmtree(place.name, dir_fd=place.directory)
    else:
        os.unlink(place.name, dir_fd=place.directory)
