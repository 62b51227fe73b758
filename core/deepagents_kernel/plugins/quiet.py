"""Keep what third-party code writes while it is loaded away from standard output.

Standard output is a result: JSON for a script, the answer of an agent. A plugin that prints at import would
be in the middle of it, so that goes to standard error instead, on two levels. ``sys.stdout`` is replaced by
an object that looks at the thread: writes of a thread that loads go to ``sys.stderr``, those of any other
where they always went. Below it, descriptor 1 is pointed at standard error for child processes and C code,
but only while this is the only thread: a descriptor belongs to the whole process, and the output of another
thread would go astray.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@define
class _State:
    """Who is loading, process-wide.

    Attributes:
        users: a token for each block that is entered.
        original: what ``sys.stdout`` was before the first.
        router: what it is until the last is left.
    """

    users: set[object] = field(factory=set)
    original: Any = None
    router: _Router | None = None


# A signal handler may load plugins while its thread has the lock.
_lock = threading.RLock()
_state = _State()
# One router for each stream that it stands before, by identity, and never freed: print() in another thread
# uses what it found in ``sys.stdout`` without holding a reference, even after that was taken away from there.
# A router holds its stream, so that the identity is not given to another one.
_routers: dict[int, _Router] = {}
_thread = threading.local()


@contextmanager
def third_party_output() -> Iterator[None]:
    """Send to standard error what this thread writes to standard output inside.

    May be nested, and used in several threads at once. Other threads are not disturbed. Whatever the code
    inside puts in place of ``sys.stdout`` is taken away again at the end; what it keeps of it (a logging
    handler, say) writes to the real standard output afterwards.

    Threads that are started inside count as others. Output of C code and of child processes is caught as
    long as no other Python thread is alive when the block is entered.
    """
    with _routed(), _descriptor_moved():
        yield


# An interrupt may hit the clean-up too. What has to happen is done twice below; the second time does no harm.


@contextmanager
def _routed() -> Iterator[None]:
    token, was_inside = object(), _is_inside()
    try:
        _enter(token)
        _thread.inside = True
        yield
    finally:
        try:
            # What the code inside has put in place may hold text back; it belongs to the inside.
            _flush(sys.stdout)
            _flush(sys.stderr)
            _leave(token)
            _thread.inside = was_inside
        finally:
            _leave(token)
            _thread.inside = was_inside


def _enter(token: object) -> None:
    with _lock:
        if not _state.users:
            _state.original = sys.stdout
            _state.router = _router_of(sys.stdout)
        _state.users.add(token)
        sys.stdout = _state.router


def _router_of(stream: Any) -> _Router:
    # Somebody may have kept a router, and put it back after the block that it is from.
    if isinstance(stream, _Router) and stream.is_top:
        return stream
    return _routers.setdefault(id(stream), _Router(stream))


def _leave(token: object) -> None:
    with _lock:
        if token in _state.users:
            sys.stdout = _state.original if _state.users == {token} else _state.router
            _state.users.discard(token)


@contextmanager
def _descriptor_moved() -> Iterator[None]:
    saved = None
    try:
        # The copy of 1 is the lowest number that is free: with 2 closed, it would become 2.
        if threading.active_count() == 1 and _is_open(1) and _is_open(2):
            _flush_all()
            saved = os.dup(1)
            os.dup2(2, 1)
        yield
    finally:
        if saved is not None:
            try:
                _flush_all()
                os.dup2(saved, 1)
            finally:
                os.dup2(saved, 1)
                os.close(saved)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _flush_all() -> None:
    """Write out what is held back on any level, before what is below it changes."""
    for stream in (sys.stdout, _state.original, sys.__stdout__, sys.stderr):
        _flush(stream)
    _flush_c()


def _flush_c() -> None:
    """The same for C code. Where its library is not known by these names, what it holds back stays there."""
    with suppress(Exception):
        import ctypes

        library = ctypes.CDLL(None)
        name = "__stdoutp" if sys.platform == "darwin" else "stdout"
        library.fflush(ctypes.c_void_p.in_dll(library, name))


def _flush(stream: Any) -> None:
    # It may be None, closed, broken, or anything that a plugin has put there, which may want to exit.
    try:
        stream.flush()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: S110
        pass


def _is_inside() -> bool:
    return getattr(_thread, "inside", False)


class _Router:
    """Stands for standard output, or a stream below it, and decides at each use which stream that is."""

    def __init__(self, original: Any, parts: tuple[str, ...] = ()) -> None:
        self._original = original
        self._parts = parts

    @property
    def is_top(self) -> bool:
        """Whether it stands for standard output itself."""
        return not self._parts

    def _stream(self) -> Any:
        stream = _error_stream() if _is_inside() else self._original
        for part in self._parts:
            stream = _below(stream, part)
        return stream

    # Defined, not looked up: who keeps the method instead of the stream keeps a choice as well.

    def write(self, data: Any) -> Any:
        stream = self._stream()
        return len(data) if stream is None else stream.write(data)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        stream = self._stream()
        if stream is not None:
            stream.flush()

    def close(self) -> None:
        """Only flush: a wrapper that is left behind closes its stream when it is collected."""
        self.flush()

    def detach(self) -> Any:
        if self._parts:
            raise io.UnsupportedOperation("detach")
        return self.buffer

    def __getattr__(self, name: str) -> Any:
        if name not in {"buffer", "raw"}:
            return getattr(self._stream(), name)
        _below(self._stream(), name)
        return _Router(self._original, (*self._parts, name))

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self._stream())})

    def __iter__(self) -> Iterator[Any]:
        return iter(self._stream())

    def __next__(self) -> Any:
        return next(self._stream())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def __repr__(self) -> str:
        return f"<standard output by thread, now {self._stream()!r}>"


def _below(stream: Any, part: str) -> Any:
    # Standard error may be unbuffered where standard output is not: its lowest stream is one level up.
    if part == "raw" and isinstance(stream, io.RawIOBase):
        return stream
    return getattr(stream, part)


def _error_stream() -> Any:
    # A plugin may have made standard error the same as standard output, which is the router.
    return sys.__stderr__ if isinstance(sys.stderr, _Router) else sys.stderr
