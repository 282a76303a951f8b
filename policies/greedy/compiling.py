"""The two ways in which the greedy family's kernels are compiled.

Both are serial, release the GIL and are kept on disk (in ``__pycache__`` beside the source), so
they are compiled once after an installation. numba compiles a function again when its own file is
newer; what it calls in other files is not looked at. Here the stamp of every function is that of
all kernels together, so that a change in one compiles its callers again.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

from simulator.model import tolerances

F = TypeVar("F", bound=Callable[..., Any])

KERNELS = (
    "chance", "compiling", "construction", "neighbourhoods", "plan", "pool", "post_processing",
    "problem", "queue", "relinking", "search", "state",
)  # fmt: skip
"""Modules whose text decides what the compiled code does."""


def _stamp() -> str:
    """A hash of all kernels' source, and of the tolerances that are compiled into them."""
    here = Path(__file__).parent
    sources = [*(here / f"{name}.py" for name in KERNELS), Path(tolerances.__file__)]
    text = b"".join(source.read_bytes() for source in sources)
    return hashlib.sha256(text).hexdigest()


STAMP = _stamp()


def _stamped(dispatcher: Any) -> Any:
    """A compiled function whose file on disk carries the stamp of all kernels."""
    file: Any = getattr(dispatcher._cache, "_cache_file", None)
    if hasattr(file, "_source_stamp"):  # else another numba: stamped by its own file alone
        file._source_stamp = STAMP
    return dispatcher


def allocating(function: F) -> F:
    """Compile a function that makes arrays."""
    return cast(F, _stamped(njit(cache=True, nogil=True, error_model="numpy")(function)))


def compiled(function: F) -> F:
    """Compile a function that makes none.

    It goes without numba's runtime, which counts references to arrays: on the hot path the
    atomic counting took half of the time.
    """
    return cast(
        F, _stamped(njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function))
    )


_compiled = False
PATIENCE_S = 1.0


@contextlib.contextmanager
def compilation_announced() -> Iterator[None]:
    """Say on a terminal what the first call waits for, should it take longer than a second."""
    global _compiled
    if _compiled or not sys.stderr.isatty():
        yield
        _compiled = True
        return
    note = "compiling the greedy kernels, once after an installation (about a minute) .."
    timer = threading.Timer(PATIENCE_S, lambda: print(note, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _compiled = True
