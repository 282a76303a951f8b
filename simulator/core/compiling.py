"""CPU seconds that numba spends on making kernels, which are no time of any decision.

The first call of a kernel compiles it, or reads it from disk. Where a policy decides by kernels, this happens
inside its first decisions: seconds, where the decision itself takes milliseconds.
"""

from __future__ import annotations

import sys
import time
from typing import Any

EVENT = "numba:compiler_lock"
"""What numba tells its listeners about when it begins and ends to make a kernel."""


class _Stopwatch:
    """Adds up CPU seconds between the outermost begin and its end."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._begin_s = 0.0
        self._depth = 0

    def on_start(self, event: object) -> None:
        """A kernel is begun, perhaps within another."""
        self._depth += 1
        if self._depth == 1:
            self._begin_s = time.process_time()

    def on_end(self, event: object) -> None:
        """It is made."""
        self._depth -= 1
        if not self._depth:
            self.total_s += time.process_time() - self._begin_s


_watch: _Stopwatch | None = None


def compiling_s() -> float:
    """CPU seconds that this process has spent on making kernels since the first call of this function.

    Nothing is counted, and nothing imported, where numba is not loaded.
    """
    global _watch
    if _watch is None:
        events: Any = sys.modules.get("numba.core.event")
        if events is None:
            return 0.0
        kind: Any = type("Stopwatch", (_Stopwatch, events.Listener), {})
        _watch = kind()
        events.register(EVENT, _watch)
    return _watch.total_s
