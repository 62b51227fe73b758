"""Calls with a deadline, on a few threads that the whole process shares.

A call that outlives its deadline can't be stopped; it keeps its slot until it ends. When all slots are taken,
further calls are refused at once: queued behind stuck ones they would only wait for their own deadline.
The threads are daemons, so that a stuck call doesn't hold up the end of the interpreter.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from deepagents_builtin.middleware.filesystem import constants

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class DeadlineExpiredError(Exception):
    """The call went on for longer than it may; ``seconds`` says how long that is."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")
        self.seconds = seconds


class WorkersBusyError(Exception):
    """Every slot is taken."""


@frozen
class _Job:
    call: Callable[[], Any]
    future: concurrent.futures.Future[Any] = field(factory=concurrent.futures.Future)


class Workers:
    """At most *slots* calls at the same time. Threads are started when they are first needed.

    Args:
        slots: how many.
    """

    def __init__(self, slots: int) -> None:
        self._count = slots
        self.reset()

    def reset(self) -> None:
        """Start over, with all slots free; for a process that was forked, where no thread survives."""
        self._slots = threading.BoundedSemaphore(self._count)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._missing = self._count

    def acquire(self) -> None:
        """Take a slot without waiting.

        Raises:
            WorkersBusyError: there is none.
        """
        if not self._slots.acquire(blocking=False):
            raise WorkersBusyError

    def release(self) -> None:
        """Give a slot back."""
        self._slots.release()

    def submit(self, call: Callable[[], T]) -> concurrent.futures.Future[T]:
        """Run *call* on a worker, with the caller's context variables.

        Raises:
            WorkersBusyError: there is no free slot.
        """
        self.acquire()
        context = contextvars.copy_context()
        job = _Job(lambda: context.run(call))
        self._start_thread()
        self._jobs.put(job)
        return job.future

    def _start_thread(self) -> None:
        with self._lock:
            if not self._missing:
                return
            self._missing -= 1
            number = self._missing
        threading.Thread(target=self._work, name=f"deepagents-glob-{number}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._run(self._jobs.get())

    def _run(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            self.release()
            return
        try:
            result = job.call()
        except BaseException as error:
            # The slot first: whoever sees the result may call again at once.
            self.release()
            job.future.set_exception(error)
        else:
            self.release()
            job.future.set_result(result)


SHARED = Workers(constants.GLOB_WORKERS)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHARED.reset)


def run_before(deadline: float, call: Callable[[], T]) -> T:
    """Run *call* on a worker and wait for it at most *deadline* seconds.

    Raises:
        DeadlineExpiredError: it didn't end in time.
        WorkersBusyError: there is no free slot.
    """
    future = SHARED.submit(call)
    # Waiting and taking the result are two steps: a TimeoutError of the call itself must not pass for the
    # deadline.
    done, _ = concurrent.futures.wait([future], timeout=deadline)
    if not done:
        raise DeadlineExpiredError(deadline)
    return future.result()


async def run_before_async(deadline: float, call: Callable[[], T]) -> T:
    """The same without blocking the loop, for a call that is sync underneath."""
    future = asyncio.wrap_future(SHARED.submit(call))
    return await _wait(future, deadline)


async def await_before(deadline: float, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Await a coroutine at most *deadline* seconds, then cancel it; it counts against the same slots.

    Raises:
        DeadlineExpiredError: it didn't end in time.
        WorkersBusyError: there is no free slot.
    """
    SHARED.acquire()
    try:
        task = asyncio.ensure_future(make())
    except BaseException:
        SHARED.release()
        raise
    task.add_done_callback(lambda _: SHARED.release())
    return await _wait(task, deadline)


async def _wait(future: asyncio.Future[T], deadline: float) -> T:
    try:
        done, _ = await asyncio.wait({future}, timeout=deadline)
    except asyncio.CancelledError:
        _abandon(future)
        raise
    if not done:
        _abandon(future)
        raise DeadlineExpiredError(deadline)
    return future.result()


def _abandon(future: asyncio.Future[Any]) -> None:
    # Its late exception is nobody's any more: look at it once, or asyncio reports it as never retrieved.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    future.cancel()
