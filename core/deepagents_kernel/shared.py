"""The one kernel of a process, made once, by whichever thread asks first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from attrs import field, frozen

from deepagents_kernel.errors import PluginError
from deepagents_kernel.plugins.loading import RUNNING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepagents_kernel.kernel import Kernel

#: Seconds that a thread waits for another one to finish building, before it says what that one is at.
PATIENCE = 120.0


@frozen(eq=False)
class _Building:
    """A thread at work, and the event that it sets when it is done."""

    thread: int = field(factory=threading.get_ident)
    done: threading.Event = field(factory=threading.Event)


class SharedKernel:
    """Makes a kernel when it is first asked for; threads that come meanwhile wait and get the same one.

    No lock is held while plugins run: an interrupt leaves nothing behind, and the next thread builds anew.
    """

    def __init__(self, make: Callable[[], Kernel]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._kernel: Kernel | None = None
        self._building: _Building | None = None

    def get(self) -> Kernel:
        """The kernel.

        Raises:
            PluginError: another thread has been building it for too long, as when a plugin waits for a
                thread that waits for the kernel.
            DeepAgentsError: it can't be built.
        """
        while True:
            kernel, building = self._begin()
            if kernel is not None:
                return kernel
            if building.thread != threading.get_ident():
                self._wait(building)
                continue
            try:
                self._kernel = self._make()
            finally:
                self._building = None
                building.done.set()

    def _begin(self) -> tuple[Kernel | None, _Building]:
        """The kernel if there is one, and who is building it: this thread, if nobody was."""
        if self._kernel is not None:
            return self._kernel, _Building()
        with self._lock:
            if self._building is None and self._kernel is None:
                self._building = _Building()
            return self._kernel, self._building or _Building()

    @staticmethod
    def _wait(building: _Building) -> None:
        if building.done.wait(PATIENCE):
            return
        plugin = RUNNING.get(building.thread, "")
        reason = f"the shared kernel has been in the making for {PATIENCE:g} seconds by another thread"
        at = f", which is at the code of plugin {plugin}" if plugin else ""
        hint = "a plugin must not wait, while it is loaded, for a thread that uses the shared kernel"
        raise PluginError(plugin or "kernel", f"{reason}{at}", hint)
