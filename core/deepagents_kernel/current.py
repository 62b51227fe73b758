"""The kernel that ``get_kernel()`` means here: the one being built, or one that a program has chosen."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.kernel import Kernel

_current: ContextVar[Kernel | None] = ContextVar("deepagents_kernel", default=None)


def current_kernel() -> Kernel | None:
    """The kernel of this context, if one was chosen."""
    return _current.get()


@contextmanager
def use_kernel(kernel: Kernel) -> Iterator[Kernel]:
    """Let ``get_kernel()``, and with it all that takes the shared kernel by default, mean another one.

    It holds in this thread, or in the asyncio tasks started here, until the block ends.

    Args:
        kernel: the kernel to use.
    """
    token = _current.set(kernel)
    try:
        yield kernel
    finally:
        _current.reset(token)
