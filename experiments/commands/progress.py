"""A line on stderr now and then while a command works."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.text import printable

FIRST_S, EVERY_S = 5.0, 10.0


@contextmanager
def shown(line: Callable[[], str] = str, first_s: float = FIRST_S) -> Iterator[None]:
    """On a terminal, print the time and ``line()`` after five seconds, then every ten, until the block ends."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    over, start = threading.Event(), time.monotonic()

    def report() -> None:
        wait_s = first_s
        while not over.wait(wait_s):
            text = f"schedlab: {time.monotonic() - start:.0f} s; {line() or 'still at work'}"
            print(printable(text), file=sys.stderr, flush=True)
            wait_s = EVERY_S

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        over.set()
        reporter.join()
