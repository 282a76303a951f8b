"""The executors of sweeps: processes of this machine, or a Dask cluster.

Both are a ``concurrent.futures.Executor``. On this machine each worker is a pool of its own: if it is killed, the one
task that it had loses an attempt, and no other task loses anything (docs/decisions/0041-pool-of-our-own.md).
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from experiments.sweep.worker import RunTimeout, prepare
from experiments.threads import ONE_THREAD
from simulator.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

# How often a task may lose its worker before the task is taken for the cause.
TRIES = 3
# Workers in a row that may die before their first task until the pool gives up.
STARTS = 10
# How long a Dask scheduler may take to answer.
CONNECT_S = 10
# How long to wait until the server that forks workers is asked again.
AGAIN_S = 0.25

T = TypeVar("T")


class WorkerDied(RuntimeError):
    """A task lost its worker process too often."""


@dataclass(frozen=True)
class Pool:
    """An executor, and what the runner has to know of it.

    Attributes
    ----------
    slots : tasks that run at the same time.
    remote : workers are reached over a network: they check their code, enforce the time limit
        themselves, and take short tasks several at a time.
    lost : the exceptions that mean that a task lost its worker too often.
    """

    executor: Executor
    slots: int
    remote: bool
    lost: tuple[type[BaseException], ...]


@contextlib.contextmanager
def open_pool(
    workers: int, *, dask: str | None, time_limit_s: float | None, modules: Sequence[str]
) -> Iterator[Pool]:
    """Workers for the duration of a block; leaving it by an exception ends them at once.

    Parameters
    ----------
    workers : processes, for a pool on this machine.
    dask : None, "local" for a Dask cluster on this machine, or a scheduler's address.
    modules : imported by each local worker before its first task.

    Raises
    ------
    InputError
        Dask is not installed, or no scheduler answers at the address.
    """
    if dask is not None:
        with _dask_pool(workers, dask) as pool:
            yield pool
        return
    local = LocalPool(workers, time_limit_s=time_limit_s, modules=modules)
    try:
        yield Pool(local, workers, remote=False, lost=(WorkerDied,))
    except BaseException:
        local.kill()
        raise
    local.shutdown()


class LocalPool(ThreadPoolExecutor):
    """Worker processes of this machine, replaced when they die, with a time limit per call.

    Each thread of the executor has a `ProcessPoolExecutor` of one process, so a worker that is killed at
    any instant, also while its result travels, disturbs no other. A call whose worker dies is made
    again in a new one; after ``TRIES`` deaths its future raises WorkerDied. A call over its limit
    loses its worker and its future raises RunTimeout.

    Parameters
    ----------
    workers : processes at most; they are started when there is work for them.
    time_limit_s : wall-clock seconds a call may take; None is no limit.
    modules : imported by each worker before its first call.
    """

    def __init__(
        self, workers: int, *, time_limit_s: float | None = None, modules: Sequence[str] = ()
    ) -> None:
        if workers < 1:
            raise InputError(f"workers: got {workers}, expected an integer >= 1")
        super().__init__(workers, thread_name_prefix="local-pool")
        self._limit_s = time_limit_s
        self._modules = tuple(modules)
        self._context = _context(self._modules)
        self._own = threading.local()
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()
        self._stopped = ""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have ``fn(*args, **kwargs)`` called in a worker; all of it must be picklable."""
        return super().submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what was submitted, or with ``cancel_futures`` only what is running; then stop."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        for worker in list(self._workers) if wait else ():
            self._dismiss(worker)

    def kill(self) -> None:
        """End all workers now; unfinished futures are cancelled or raise BrokenExecutor."""
        with self._lock:  # No worker starts any more.
            self._stopped = "the workers were stopped"
            for worker in self._workers:
                worker.process.kill()
        self.shutdown(cancel_futures=True)

    def pids(self) -> list[int]:
        """Process ids of the present workers."""
        return [w.process.pid for w in list(self._workers) if w.process.pid is not None]

    def _call(self, fn: Callable[..., T], args: Sequence[Any], kwargs: dict[str, Any]) -> T:
        """One call, in a thread of the executor, which waits for its worker."""
        call, why = pickle.dumps((fn, args, kwargs)), ""
        for _ in range(TRIES):
            worker = self._worker()
            try:
                found = pickle.loads(worker.pool.submit(_called, call).result(self._limit_s))
            except TimeoutError:
                self._dismiss(worker)
                raise RunTimeout(self._limit_s or 0.0) from None
            except BrokenExecutor:
                why = self._dismiss(worker)
                continue
            except Exception as error:  # A result or an exception that cannot be put together here.
                raise RuntimeError(f"{type(error).__name__}: {error}") from None
            if isinstance(found, BaseException):
                raise found
            return cast(T, found[0])
        raise WorkerDied(f"the run's worker process ended ({why}) {TRIES} times")

    def _worker(self) -> _Worker:
        """The worker of this thread, ready for a call; a new one where it died."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker in self._workers and not wait([worker.process.sentinel], 0):
            return worker
        why = ""
        for _ in range(STARTS):
            if worker is not None:
                why, worker = self._dismiss(worker), None
            try:
                worker, begun = self._start()
            except (
                OSError,
                EOFError,
            ) as error:  # The server that forks workers has died, or is dying.
                why = str(error)
                time.sleep(AGAIN_S)
                continue
            try:
                told = begun.result()
            except BrokenExecutor:
                continue
            if told:
                self._stopped = f"the workers cannot start: {told}"
                self._dismiss(worker)
                raise BrokenExecutor(self._stopped)
            return worker
        raise BrokenExecutor(f"the workers cannot go on: they die while starting ({why})")

    def _start(self) -> tuple[_Worker, Future[str]]:
        """A new worker of this thread, and its first call, which gets it ready and returns what went wrong."""
        with self._lock:
            if self._stopped:
                raise BrokenExecutor(self._stopped)
            pool = ProcessPoolExecutor(1, self._context)
            begun = pool.submit(_begin, self._modules, os.getcwd(), dict(os.environ))
            (process,) = pool._processes.values()
            # Else the start of another worker might read this one's exit code, which can be read once.
            multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
            # Else the death of a worker that is sending would not show in the pipe.
            pool._result_queue._writer.close()  # type: ignore[attr-defined]
            pool._call_queue._reader.close()  # type: ignore[attr-defined]
            self._own.worker = _Worker(pool, process)
            self._workers.add(self._own.worker)
            return self._own.worker, begun

    def _dismiss(self, worker: _Worker) -> str:
        """End a worker; returns how it ended."""
        with self._lock:
            self._workers.discard(worker)
        worker.process.kill()
        worker.pool.shutdown()  # ends the one thread that may read the exit code
        code = worker.process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


class _Worker(NamedTuple):
    pool: ProcessPoolExecutor
    process: BaseProcess


def _called(call: bytes) -> bytes:
    """The pickled result of a pickled call: a tuple with the value, or the exception."""
    found: Any
    try:
        function, args, kwargs = pickle.loads(call)
    except Exception as error:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    try:
        found = (function(*args, **kwargs),)
    except BaseException as error:
        found = error
    try:
        return pickle.dumps(found)
    except (TypeError, AttributeError, ValueError, pickle.PicklingError) as error:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))


def _begin(modules: Sequence[str], folder: str, environment: dict[str, str]) -> str:
    """Set up a worker in the folder and environment of the sweep, which the server that forks workers may not have.

    Returns what went wrong, as text: not every exception can be sent.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        os.chdir(folder)
        os.environ.update(environment)
        prepare(modules)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _context(modules: Sequence[str]) -> Any:
    """Processes that share nothing with this one, started quickly where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    # Imported once, for all workers; what cannot be imported there, each worker imports.
    context.set_forkserver_preload(
        ["pandas", "pyarrow.parquet", "experiments.sweep.worker", *modules]
    )
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return context


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes started meanwhile are deaf to Ctrl-C; this one deals with it for them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _dask_pool(workers: int, address: str) -> Iterator[Pool]:
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise InputError(
            "--dask: Dask is not installed, expected `pip install 'schedlab[dask]'`"
        ) from None
    with contextlib.ExitStack() as stack:
        if address == "local":
            with _interrupts_ignored():
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
            stack.enter_context(cluster)
            client = stack.enter_context(Client(cluster))
        else:
            with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_S} s"}):
                try:
                    client = stack.enter_context(Client(address))
                except (OSError, ValueError, TimeoutError) as error:
                    raise InputError(f"--dask {address}: no scheduler answers ({error})") from None
        slots = sum(client.nthreads().values()) or workers
        yield Pool(client.get_executor(pure=False), slots, remote=True, lost=(KilledWorker,))
