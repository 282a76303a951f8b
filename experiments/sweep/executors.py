"""Where tasks are carried out: processes of this machine, or a Dask cluster.

Both are a ``concurrent.futures.Executor``. The local one knows which worker has which task, so a
worker that dies costs that one task an attempt and nobody else anything.
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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from experiments.sweep.worker import ONE_THREAD, RunTimeout, prepare
from simulator.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

# How often a task may lose its worker before the task is taken for the cause.
TRIES = 3
# Workers in a row that may die before their first task until the pool gives up.
STARTS = 10
# How long a Dask scheduler may take to answer.
CONNECT_S = 10


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


@dataclass(eq=False)
class _Item:
    future: Future[Any]
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
    deaths: int = 0


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    ready: bool = False
    item: _Item | None = None
    deadline: float = field(default=float("inf"))


class LocalPool(Executor):
    """Worker processes of this machine, replaced when they die, with a time limit per task.

    A task whose worker dies is given to another one; after ``TRIES`` deaths its future raises
    WorkerDied. A task over its limit loses its worker and its future raises RunTimeout.

    Parameters
    ----------
    workers : processes at most; they are started when there is work for them.
    time_limit_s : wall-clock seconds a task may take; None is no limit.
    modules : imported by each worker before its first task.
    """

    def __init__(
        self, workers: int, *, time_limit_s: float | None = None, modules: Sequence[str] = ()
    ) -> None:
        if workers < 1:
            raise InputError(f"workers: got {workers}, expected an integer >= 1")
        self._most = workers
        self._limit_s = time_limit_s
        self._modules = tuple(modules)
        self._context = _context(self._modules)
        self._workers: list[_Worker] = []
        self._waiting: deque[_Item] = deque()
        self._lock = threading.Lock()
        self._closing = False
        self._killed = False
        # Whether the managing thread sleeps with workers to spare; only then is it to be woken.
        self._idle = False
        self._failed_starts = 0
        self._bell, self._bell_rope = multiprocessing.Pipe(duplex=False)
        self._thread = threading.Thread(target=self._manage, name="local-pool", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have ``fn(*args, **kwargs)`` called in a worker; all of it must be picklable."""
        item = _Item(Future(), (fn, args, kwargs))
        with self._lock:
            if self._closing:
                raise RuntimeError("cannot submit to a pool that was shut down")
            self._waiting.append(item)
            wanted = self._idle
        if wanted:
            self._ring()
        return item.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what was submitted, or with ``cancel_futures`` only what is running; then stop."""
        with self._lock:
            self._closing = True
            if cancel_futures:
                for item in self._waiting:
                    item.future.cancel()
                self._waiting.clear()
        self._ring()
        if wait:
            self._thread.join()

    def kill(self) -> None:
        """End all workers now; unfinished futures are cancelled or raise BrokenExecutor."""
        self._killed = True
        self.shutdown(cancel_futures=True)

    def pids(self) -> list[int]:
        """Process ids of the present workers."""
        return [w.process.pid for w in list(self._workers) if w.process.pid is not None]

    # -- the managing thread --------------------------------------------------------------------

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._bell_rope.send_bytes(b"!")

    def _manage(self) -> None:
        try:
            while not self._killed and self._has_work():
                self._assign()
                self._sleep()
                for worker in list(self._workers):
                    self._attend(worker)
        except BaseException as error:
            self._abandon(BrokenExecutor(f"the workers cannot go on: {error}"), cancel=False)
        finally:
            self._abandon(BrokenExecutor("the workers were stopped"), cancel=True)
            while self._workers:
                self._dismiss(self._workers.pop())

    def _has_work(self) -> bool:
        with self._lock:
            busy = bool(self._waiting) or any(w.item for w in self._workers)
            return busy or not self._closing

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.ready and worker.item is None and (item := self._next()) is not None:
                worker.item = item
                worker.deadline = time.monotonic() + (self._limit_s or float("inf"))
                try:
                    worker.connection.send(item.call)
                except OSError:
                    pass  # It is dead; ``_attend`` sees that next.
                except Exception as error:  # The call cannot be pickled.
                    worker.item = None
                    item.future.set_exception(error)
        with self._lock:
            wanted = self._wanted()
        for _ in range(wanted):
            self._workers.append(self._start())

    def _wanted(self) -> int:
        """How many workers to start: one for each waiting item that no starting worker will take."""
        starting = sum(not w.ready for w in self._workers)
        return min(self._most - len(self._workers), len(self._waiting) - starting)

    def _next(self) -> _Item | None:
        with self._lock:
            while self._waiting:
                item = self._waiting.popleft()
                if item.deaths or item.future.set_running_or_notify_cancel():
                    return item
        return None

    def _start(self) -> _Worker:
        ours, theirs = multiprocessing.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, self._modules), name="schedlab-worker", daemon=True
        )
        process.start()
        # Ours must be the only other end, or the death of the worker would not show in the pipe.
        theirs.close()
        return _Worker(process, ours)

    def _sleep(self) -> None:
        """Until something happens: a message, a death, a submission, a deadline."""
        idle = any(w.ready and w.item is None for w in self._workers)
        with self._lock:
            if (idle and self._waiting) or self._wanted() > 0:
                return  # Submitted since `_assign` looked.
            self._idle = idle or len(self._workers) < self._most
        deadline = min((w.deadline for w in self._workers), default=float("inf"))
        left_s = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        signs: list[Any] = [self._bell]
        for worker in self._workers:
            signs += (worker.connection, worker.process.sentinel)
        wait(signs, left_s)
        with self._lock:
            self._idle = False
        while self._bell.poll():
            self._bell.recv_bytes()

    def _attend(self, worker: _Worker) -> None:
        # Asked first: what a worker sent before it died is still in the pipe and counts.
        alive = worker.process.is_alive()
        while (message := _read(worker.connection)) is not None:
            self._receive(worker, *message)
        if not alive or worker.connection.closed:
            self._bury(worker)
        elif time.monotonic() >= worker.deadline and worker.item is not None:
            item, worker.item = worker.item, None
            self._bury(worker)
            item.future.set_exception(RunTimeout(self._limit_s or 0.0))

    def _receive(self, worker: _Worker, kind: str, value: Any) -> None:
        if kind == "ready":
            worker.ready = True
            self._failed_starts = 0
            return
        if kind == "broken":
            raise RuntimeError(value)
        item, worker.item, worker.deadline = worker.item, None, float("inf")
        if item is not None and kind == "result":
            item.future.set_result(value)
        elif item is not None:
            item.future.set_exception(value)

    def _bury(self, worker: _Worker) -> None:
        """Take a worker that died, or has to, out of the pool; its task gets another try."""
        self._workers.remove(worker)
        self._dismiss(worker)
        item = worker.item
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise RuntimeError(f"they die while starting ({_ending(worker.process)})")
        if item is None:
            return
        item.deaths += 1
        if item.deaths < TRIES:
            with self._lock:
                self._waiting.appendleft(item)
        else:
            why = f"the run's worker process ended ({_ending(worker.process)}) {TRIES} times"
            item.future.set_exception(WorkerDied(why))

    @staticmethod
    def _dismiss(worker: _Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()  # More than once does no harm.

    def _abandon(self, error: BrokenExecutor, *, cancel: bool) -> None:
        """Nothing more will be done: what has not ended ends with ``error``, or cancelled."""
        with self._lock:
            self._closing = True
            left = [w.item for w in self._workers if w.item is not None]
            left += self._waiting
            self._waiting.clear()
        for worker in self._workers:
            worker.item = None
        for item in left:
            future = item.future
            if (cancel and future.cancel()) or future.done():
                continue
            if future.running() or future.set_running_or_notify_cancel():
                future.set_exception(error)


def _read(connection: Connection) -> tuple[str, Any] | None:
    """The next message that waits in the pipe; closes the pipe at its end."""
    try:
        return connection.recv() if not connection.closed and connection.poll() else None
    except (EOFError, OSError):
        connection.close()
        return None
    except Exception as error:  # A result or an exception that cannot be put together here.
        return "error", RuntimeError(f"{type(error).__name__}: {error}")


def _ending(process: BaseProcess) -> str:
    code = process.exitcode
    return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


def _serve(connection: Connection, modules: Sequence[str]) -> None:
    """The life of a worker: call what comes through the pipe until it closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        prepare(modules)
    except Exception as error:
        connection.send(("broken", f"{type(error).__name__}: {error}"))
        return
    connection.send(("ready", None))
    while True:
        try:
            function, args, kwargs = connection.recv()
        except EOFError:
            return
        except Exception as error:  # The call cannot be put together here.
            connection.send(("error", RuntimeError(f"{type(error).__name__}: {error}")))
            continue
        try:
            message = ("result", function(*args, **kwargs))
        except BaseException as error:
            message = ("error", error)
        try:
            connection.send(message)
        except (TypeError, AttributeError, ValueError, pickle.PicklingError) as error:
            connection.send(("error", RuntimeError(f"{type(error).__name__}: {error}")))


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
