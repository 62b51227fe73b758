"""Consume a blocking iterator in a thread, so that Ctrl-C is answered at once.

A model or a tool at work can't be interrupted from outside. Waiting for it in the main thread would hold
Ctrl-C back until it has finished; waiting for a queue does not.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

_GRACE = 0.5


def in_background(produce: Callable[[], Iterator[Any]]) -> Generator[Any]:
    """The items of ``produce()``, made in a thread of their own with the caller's context.

    Closing the iterator asks the producer to stop behind its present item and waits a moment for it; one
    that does not come to an end is left behind in a daemon thread.

    Raises:
        BaseException: whatever the producer raised.
    """
    # Room for one item: a consumer that is slow, or gone, holds the producer back.
    items: queue.Queue[tuple[bool, Any]] = queue.Queue(maxsize=1)
    stop = threading.Event()
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(_produce, produce, items, stop), daemon=True)
    thread.start()
    try:
        while True:
            last, value = items.get()
            if not last:
                yield value
            elif value is None:
                return
            else:
                raise value
    finally:
        stop.set()
        with contextlib.suppress(queue.Empty):
            items.get_nowait()
        thread.join(_GRACE)


def _produce(
    produce: Callable[[], Iterator[Any]], items: queue.Queue[tuple[bool, Any]], stop: threading.Event
) -> None:
    failure: BaseException | None = None
    try:
        for item in produce():
            if stop.is_set():
                return
            items.put((False, item))
    except BaseException as error:
        failure = error
    if not stop.is_set():
        items.put((True, failure))
