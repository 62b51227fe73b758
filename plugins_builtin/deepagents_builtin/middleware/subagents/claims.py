"""Which of several parallel calls may change a state key that takes one value a step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

#: Turns remembered; one is needed only while its calls run, or wait for an answer to an interrupt.
_KEPT: Final = 512


class Claims:
    """First come, first served, for each key of each turn.

    Two writes to a key without a reducer would abort the whole step, and the work of every call in it. The
    memory is that of one process: a turn that is resumed in another one starts without its claims.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: OrderedDict[str, dict[str, str]] = OrderedDict()

    def take(self, turn: str, key: str, call: str) -> bool:
        """Whether *call* may change *key*; a call that took it before may again."""
        with self._lock:
            owners = self._turns.setdefault(turn, {})
            self._turns.move_to_end(turn)
            while len(self._turns) > _KEPT:
                self._turns.popitem(last=False)
            return owners.setdefault(key, call) == call
