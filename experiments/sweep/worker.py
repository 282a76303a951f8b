"""What happens in a worker process: run a task, write its tables, report.

Nothing here touches the ledger. An exception of the task becomes a failed report; a full disk and
a worker of another version of the code are no fault of the task and are raised.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from experiments.sweep.ledger import NO_SPACE, StoreFull, is_read_only
from experiments.sweep.records import Report
from experiments.sweep.tables import Mark, write_table
from experiments.sweep.task import Outcome, Scalar, plain_scalar, resolve
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

# One thread a worker: runs side by side are the parallelism, and solvers stay deterministic.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)
# How long a run over its limit gets to end by an exception before its process is ended.
GRACE_S = 20.0


class RunTimeout(RuntimeError):
    """A run took longer than its time limit."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(limit_s)
        self.limit_s = limit_s

    def __str__(self) -> str:
        return f"the run was ended at its time limit of {self.limit_s:g} s"


@dataclass(frozen=True)
class Order:
    """One task as it travels to a worker."""

    key: str
    function: str
    config_json: str


@dataclass(frozen=True)
class Site:
    """Where the results go, and what a remote worker has to agree on.

    Attributes
    ----------
    folder : the store's folder; None where workers are remote and ``store_id`` does not match.
    store_id : the name in the store's folder, to know it on a shared file system.
    time_limit_s : enforced here; None where the executor does it.
    code : (function, sources) -> code version of the coordinating process, checked if given.
    """

    folder: str
    store_id: str = ""
    time_limit_s: float | None = None
    code: tuple[tuple[str, tuple[str, ...], str], ...] = ()


def prepare(modules: Sequence[str]) -> None:
    """Set up a worker process: one thread, deaf to Ctrl-C, gone with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(ONE_THREAD)
    for module in modules:
        importlib.import_module(module)


def execute(orders: Sequence[Order], site: Site) -> list[Report]:
    """Run the tasks one after another; see the module's text for what is raised."""
    _check_code(site)
    folder = Path(site.folder) if _sees_store(site) else None
    return [_execute(order, folder, site.time_limit_s) for order in orders]


def _execute(order: Order, folder: Path | None, time_limit_s: float | None) -> Report:
    wall, cpu = time.perf_counter(), time.process_time()
    scalars: dict[str, Scalar] = {}
    contents: dict[str, bytes] = {}
    error = ""
    try:
        function = resolve(order.function)
        with _limit(time_limit_s):
            outcome = function(json.loads(order.config_json))
        scalars, contents = _checked(outcome, order.function)
    except _OverLimit:
        error = in_brief(RunTimeout(time_limit_s or 0.0))
    except BaseException as problem:  # also SystemExit or KeyboardInterrupt of the run's own
        error = _report_of(problem)
    if error:
        scalars, contents = {}, {}
    tables = {}
    if folder is not None:
        tables = {name: _write(folder, order.key, name, c) for name, c in contents.items()}
        contents = {}
    return Report(
        order.key,
        "failed" if error else "done",
        scalars,
        tables,
        contents,
        error,
        cpu_s=time.process_time() - cpu,
        wall_s=time.perf_counter() - wall,
    )


def _checked(outcome: object, function: str) -> tuple[dict[str, Scalar], dict[str, bytes]]:
    if not isinstance(outcome, Outcome):
        raise TypeError(f"{function} returned a {type(outcome).__name__}, expected an Outcome")
    scalars = {name: plain_scalar(value, name) for name, value in outcome.scalars.items()}
    for name in outcome.tables:
        if not name.isidentifier():
            raise ValueError(f"table {name!r} of {function}: expected letters, digits and _")
    return scalars, {name: _parquet(table) for name, table in outcome.tables.items()}


def _parquet(table: DataFrame) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    arrow = pa.Table.from_pandas(table, preserve_index=False, nthreads=1)
    # Neither dictionaries nor statistics pay in files this small.
    pq.write_table(
        arrow,
        buffer,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )
    return buffer.getvalue()


def _write(folder: Path, key: str, name: str, content: bytes) -> Mark:
    try:
        return write_table(folder, key, name, content)
    except OSError as error:
        if is_read_only(error):
            raise InputError(
                f"{error.filename or folder}: cannot be written ({error.strerror}); finished runs "
                "are kept"
            ) from None
        if error.errno not in NO_SPACE:
            raise
        raise StoreFull(error.errno, "the disk is full", str(folder)) from None


def in_brief(problem: BaseException) -> str:
    """Type and message, for what is no fault of a line of code."""
    return f"{type(problem).__name__}: {problem}"


def _report_of(problem: BaseException) -> str:
    """The traceback from the task's own frame on."""
    frames = problem.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(problem), problem, frames)).rstrip()


def _sees_store(site: Site) -> bool:
    if not site.store_id:
        return True
    try:
        return (Path(site.folder) / "id").read_text() == site.store_id
    except OSError:
        return False


def _check_code(site: Site) -> None:
    from experiments.sweep.codeversion import code_version

    for function, sources, version in site.code:
        if code_version(function, sources) != version:
            raise InputError(
                f"worker on {os.uname().nodename}: its code, data or libraries differ from the "
                f"coordinating process's (for {function}), expected the same"
            )


@contextmanager
def _limit(time_limit_s: float | None) -> Iterator[None]:
    """Throw _OverLimit into the block once it lasts too long; if that fails, end the process.

    The exception reaches Python code only, so a run that hangs in compiled code takes its worker
    with it, ``GRACE_S`` later. For executors that cannot end a worker from outside.
    """
    if time_limit_s is None:
        yield
        return
    thread = ctypes.c_ulong(threading.get_ident())
    throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
    timer = threading.Timer(time_limit_s, throw, (thread, ctypes.py_object(_OverLimit)))
    timer.daemon = True
    timer.start()
    # A worker's stderr may be no file; then the process cannot be ended, only interrupted.
    stderr = _descriptor(sys.__stderr__)
    if stderr is not None:
        faulthandler.dump_traceback_later(time_limit_s + GRACE_S, exit=True, file=stderr)
    try:
        yield
    finally:
        timer.cancel()
        if stderr is not None:
            faulthandler.cancel_dump_traceback_later()


class _OverLimit(BaseException):
    """Thrown into a run; no ``except Exception`` of the run catches it."""


def _descriptor(file: IO[str] | None) -> int | None:
    try:
        return file.fileno() if file is not None else None
    except (OSError, ValueError):
        return None
