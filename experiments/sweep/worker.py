"""The work of a worker process: run a task and report its result.

Nothing here touches the run database. An exception of the task becomes a failed report; a worker of
another version of the code is no fault of the task and is raised.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import io
import json
import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from experiments.sweep.codeversion import code_version
from experiments.sweep.store import Report
from experiments.sweep.task import Outcome, Scalar, plain_scalar, resolve
from experiments.threads import ONE_THREAD, quiet_numbers
from simulator.errors import InfeasibleDecision, InputError

if TYPE_CHECKING:
    from pandas import DataFrame

# How long a run over its limit gets to end by an exception before its process is ended.
GRACE_S = 20.0
# Bytes of a table; SQLite's limit of a cell.
LARGEST = 1_000_000_000


# Seconds of a time limit; the system waits no longer than 2**31 ms.
MOST_LIMIT_S = 2_000_000.0


class RunTimeout(RuntimeError):
    """A run took longer than its time limit."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(limit_s)
        self.limit_s = limit_s

    def __str__(self) -> str:
        return f"the run was ended at its time limit of {self.limit_s:g} s"


@dataclass(frozen=True)
class WorkerCall:
    """One task as it travels to a worker."""

    key: str
    function: str
    config_json: str


def prepare(modules: Sequence[str]) -> None:
    """Set up a worker process: one thread, deaf to Ctrl-C, gone with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(ONE_THREAD)
    quiet_numbers()
    for module in modules:
        importlib.import_module(module)


def execute(
    orders: Sequence[WorkerCall],
    time_limit_s: float | None = None,
    code: Sequence[tuple[str, tuple[str, ...], str]] = (),
) -> list[Report]:
    """Run the tasks one after another.

    Parameters
    ----------
    time_limit_s : of a run, enforced here; None where the executor does it.
    code : (function, sources, code version) of the coordinating process, to be the same here.

    Raises
    ------
    InputError
        The code differs here.
    """
    for function, sources, version in code:
        if code_version(function, sources) != version:
            raise InputError(
                f"worker on {platform.node()}: its code, data or libraries differ from the "
                f"coordinating process's (for {function}), expected the same"
            )
    return [_execute(order, time_limit_s) for order in orders]


def _execute(order: WorkerCall, time_limit_s: float | None) -> Report:
    from simulator.statistics import watched

    wall, cpu = time.perf_counter(), time.process_time()
    scalars: dict[str, Scalar] = {}
    tables: dict[str, bytes] = {}
    error = ""
    drawn = None
    try:
        function = resolve(order.function)
        with _limit(time_limit_s), watched() as drawn:
            outcome = function(json.loads(order.config_json))
        scalars, tables = _checked(outcome, order.function)
    except _OverLimit:
        error = str(RunTimeout(time_limit_s or 0.0))
    except BaseException as problem:  # also SystemExit or KeyboardInterrupt of the run's own
        error = _report_of(problem)
    return Report(
        order.key,
        "failed" if error else "done",
        {} if error else scalars,
        {} if error else tables,
        error,
        seed_used=drawn is None or drawn(),
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
    tables = {name: _parquet(table) for name, table in outcome.tables.items()}
    for name, content in tables.items():
        if len(content) > LARGEST:
            raise ValueError(f"table {name!r} of {function}: larger than 1 GB, expected less")
    return scalars, tables


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


def _report_of(problem: BaseException) -> str:
    """The traceback from the task's own frame on; what a user did wrong stands below it without its class."""
    frames = problem.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    lines = traceback.format_exception(type(problem), problem, frames)
    if isinstance(problem, InputError | InfeasibleDecision):
        own = traceback.format_exception_only(problem)
        lines[-len(own)] = f"{problem}\n"
    return "".join(lines).rstrip()


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
