"""The one kernel of a process, made once, by whichever thread asks first."""

from __future__ import annotations

import os
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
    process: int = field(factory=os.getpid)
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
        while self._kernel is None:
            building, mine = self._begin()
            if building is None:
                continue
            if not mine:
                self._wait(building)
                continue
            try:
                self._kernel = self._make()
            finally:
                self._building = None
                building.done.set()
        return self._kernel

    def _begin(self) -> tuple[_Building | None, bool]:
        """Who is building, and whether that is this call; nobody if there is a kernel by now."""
        with self._lock:
            if self._kernel is not None:
                return None, False
            other = self._building
            # In a child of a process that was forked meanwhile the thread at work does not exist.
            if other is not None and other.process == os.getpid():
                return other, False
            self._building = _Building()
            return self._building, True

    @staticmethod
    def _wait(building: _Building) -> None:
        if building.thread == threading.get_ident():
            reason = "the shared kernel is asked for by what is needed to make it"
            raise PluginError("kernel", reason, "ask for it when it is there")
        if building.done.wait(PATIENCE):
            return
        plugin = RUNNING.get(building.thread, "")
        reason = f"the shared kernel has been in the making for {PATIENCE:g} seconds by another thread"
        at = f", which is at the code of plugin {plugin}" if plugin else ""
        hint = "a plugin must not wait, while it is loaded, for a thread that uses the shared kernel"
        raise PluginError(plugin or "kernel", f"{reason}{at}", hint)
