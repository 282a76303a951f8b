"""Compilation of kernels that call kernels of other files.

They are serial, release the GIL and are kept on disk (in ``__pycache__`` beside the source), so
they are compiled once after an installation. numba compiles a function again when its own file is
newer; what it calls in other files is not looked at. Here the stamp of every function is that of
all files of its folder together, so that a change in one compiles its callers again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from simulator.model import tolerances

F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def _stamp(folder: Path) -> str:
    """A hash of the source in a folder, of this file, and of the tolerances that are compiled into kernels."""
    sources = [*sorted(folder.glob("*.py")), Path(__file__), Path(tolerances.__file__)]
    text = b"".join(source.read_bytes() for source in sources)
    return hashlib.sha256(text).hexdigest()


def _stamped(dispatcher: Any) -> Any:
    """A compiled function whose file on disk carries the stamp of its folder."""
    file: Any = getattr(dispatcher._cache, "_cache_file", None)
    if hasattr(file, "_source_stamp"):  # else another numba: stamped by its own file alone
        file._source_stamp = _stamp(Path(dispatcher.py_func.__code__.co_filename).parent)
        # The version is compared before what follows in the file is unpickled, which may name classes that are gone.
        file._version = f"{file._version} {file._source_stamp}"
    return dispatcher


ZERO = cast(int, np.int64(0))
"""To count from in a variable that another kernel is given. A literal has a type of its own, for which
that kernel would be compiled once more."""


def compiled(function: F) -> F:
    """Compile a function that other kernels call; from Python it cannot be called.

    No kernel makes arrays, so all go without numba's runtime, which counts references to arrays: on the
    hot path the atomic counting took half of the time.
    """
    return _kernel(function, no_cpython_wrapper=True)


def entry(function: F) -> F:
    """Compile a function that Python calls, with the code that takes its arguments apart."""
    return _kernel(function)


def _kernel(function: F, **options: bool) -> F:
    compiler = njit(
        cache=True, nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, **options
    )
    return cast(F, _stamped(compiler(function)))


@compiled
def _nothing() -> int:
    """A kernel of which nothing is needed but its folder, where the lock is."""
    return 0


_kept: Any = _nothing
_called: set[str] = set()
PATIENCE_S = 1.0


@contextlib.contextmanager
def first_call(method: str) -> Iterator[None]:
    """A method's first call in this process, which compiles its kernels or reads them from disk.

    Of several processes one compiles, and the others wait for it and read. A terminal is told what the
    call waits for, should it take longer than a second.
    """
    if method in _called:
        yield
        return
    note = "compiling the greedy kernels, once after an installation (half a minute) .."
    timer = threading.Timer(PATIENCE_S, lambda: print(note, file=sys.stderr, flush=True))
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        with _one_process(Path(_kept.stats.cache_path)):
            yield
    finally:
        timer.cancel()
    _called.add(method)


@contextlib.contextmanager
def _one_process(folder: Path) -> Iterator[None]:
    """A lock on a folder; none where it cannot be written, and each process compiles for itself."""
    from filelock import FileLock

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(folder / "compiling.lock"))
        yield
