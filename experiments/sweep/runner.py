"""Runs a list of tasks on workers and keeps what comes out, whatever happens on the way."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from concurrent.futures import CancelledError as Cancelled
from dataclasses import dataclass
from types import FrameType
from typing import Any

from experiments.sweep.changes import SOURCES, changes, sources_of
from experiments.sweep.executors import Pool, WorkerDied, open_pool
from experiments.sweep.progress import Meter, Pace, SweepState, in_good_order
from experiments.sweep.store import NO_SPACE, Report, Store, StoreFull, StoreLost
from experiments.sweep.task import Task, canonical_json
from experiments.sweep.worker import MOST_LIMIT_S, RunTimeout, WorkerCall, execute
from simulator.errors import InputError

# How soon a signal and a full disk are noticed.
TICK_S = 0.25
# On a cluster, short runs travel together so that a message carries about this much work.
BATCH_S = 0.2
BATCH_MOST = 64
DIED_ELSEWHERE = "the run's worker process ended several times"


class Interrupted(KeyboardInterrupt):
    """Stopped by a signal; the run database is whole and the same call goes on."""

    def __init__(self, number: int, left: int) -> None:
        super().__init__(f"stopped with {left} runs left; the same command goes on with them")
        self.exit_code = 128 + number


@dataclass(frozen=True)
class RunSummary:
    """Counts of a call of ``run_tasks``.

    Attributes
    ----------
    total, done, failed : distinct runs of the list, by their state now.
    computed : how many of them ended in this call.
    cpu_s, wall_s : CPU seconds of those runs; duration of the call.
    """

    total: int
    done: int
    failed: int
    computed: int
    cpu_s: float
    wall_s: float


def exit_code(work: Callable[[], int]) -> int:
    """Result of ``work()``; where it is stopped or cannot go on, one line on stderr and a code.

    128 + signal where it was stopped, 1 where the disk is full, or the folder or the workers are gone.
    """
    try:
        return work()
    except Interrupted as stop:
        print(f"schedlab: {stop}", file=sys.stderr)
        return stop.exit_code
    except (StoreFull, StoreLost, BrokenExecutor) as error:
        print(f"schedlab: {error}", file=sys.stderr)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        print(f"schedlab: {error.filename or 'cannot write'}: the disk is full", file=sys.stderr)
    return 1


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    workers: int | None = None,
    progress: bool = True,
    time_limit_s: float | None = None,
    dask: str | None = None,
    resume: bool = True,
    retry_failed: bool = False,
    notes: Mapping[str, Any] | None = None,
    in_order: bool = False,
    watch: Callable[[Set[str]], object] = lambda _: None,
) -> RunSummary:
    """Run what the store does not have yet, long ones early (``progress.in_good_order``).

    Parameters
    ----------
    store : opened with ``create=True``. Its lock is held for the duration.
    workers : processes; the cores of this machine where None.
    progress : show it on stderr.
    time_limit_s : wall-clock seconds a run may take before it is ended and counts as failed.
    dask : None, "local", or the address of a Dask scheduler.
    resume : False refuses a folder that holds another list of tasks, or this one by another
        version of the code; True keeps of it what still fits.
    retry_failed : runs of the list that failed before are run again.
    notes : kept in the run database beside the tasks.
    in_order : in the order of ``tasks``.
    watch : called with the keys of the runs that are done or failed, first and whenever one is.

    Raises
    ------
    InputError
        Bad arguments, the folder is in use or holds another sweep.
    Interrupted
        Ctrl-C or SIGTERM. Finished runs are kept, running ones are lost.
    StoreFull
        The disk is full. Finished runs are kept.
    StoreLost
        The folder was removed meanwhile.
    BrokenExecutor
        The workers cannot be started, or the cluster is gone.
    """
    started = time.monotonic()
    _check(workers, time_limit_s)
    with store.locked(), _signals() as stop:
        if broken := store.recover():
            what = "a run does" if broken == 1 else f"{broken} runs do"
            why = f"{what} not match the hash that was kept, and will be computed again"
            print(f"schedlab: note: {store.folder}: {why}", file=sys.stderr)
        if not resume and (changed := changes(store, tasks)):
            raise InputError(
                f"{store.folder}: holds {changed}, "
                "expected an empty folder, or --resume to keep the runs that still fit"
            )
        store.plan(tasks, {**(notes or {}), SOURCES: sources_of(tasks)})
        if retry_failed:
            store.forget_failed()
        present = _Sweep(tasks, store, stop, in_order, watch)
        watch(present.done | present.failed)
        if present.pending:
            count = min(workers or os.cpu_count() or 1, len(present.pending))
            modules = sorted({task.function.partition(":")[0] for task in present.pending})
            with open_pool(count, dask=dask, time_limit_s=time_limit_s, modules=modules) as pool:
                present.run(pool, time_limit_s, Meter(progress))
            store.expect_there()
    return RunSummary(
        present.total,
        len(present.done),
        len(present.failed),
        present.ended,
        present.cpu_s,
        time.monotonic() - started,
    )


class _Sweep:
    """The runs of one call: which wait, which are under way, which have ended."""

    def __init__(
        self,
        tasks: Sequence[Task],
        store: Store,
        stop: list[int],
        in_order: bool,
        watch: Callable[[Set[str]], object],
    ) -> None:
        states = store.states()
        self.tasks = {task.key: task for task in tasks}
        self.total = len(self.tasks)
        self.done = {key for key in self.tasks if states.get(key) == "done"}
        self.failed = {key for key in self.tasks if states.get(key) == "failed"}
        left = [task for key, task in self.tasks.items() if key not in states]
        self.ended = 0
        self.cpu_s = 0.0
        self._recent_s = 0.0
        self._store = store
        self._stop = stop
        self._watch = watch
        self._alone: set[str] = set()
        self._under_way: dict[Future[list[Report]], list[Task]] = {}
        self._twins: dict[str, list[Task]] = {}
        left = self._without_twins(left)
        self.pending = deque(left if in_order else in_good_order(left))

    def _without_twins(self, left: Iterable[Task]) -> list[Task]:
        """The tasks without those that wait for another one, of the same jobs under another seed.

        If that one draws no random number, they have its result.
        """
        first: dict[tuple[str, str], Task] = {}
        now = []
        seedless = self._store.seedless()
        for task in [self.tasks[key] for key in self.tasks if key in self.done] + list(left):
            if not task.fixed_jobs:
                found = None
            else:
                rest = {name: value for name, value in task.config.items() if name != "seed"}
                found = first.setdefault((task.function, canonical_json(rest)), task)
            if task.key in self.done:
                continue
            if found is None or found is task:
                now.append(task)
            elif found.key not in self.done:
                self._twins.setdefault(found.key, []).append(task)
            elif found.key in seedless:
                self._share(found.key, [task])
            else:
                now.append(task)
        return now

    def _share(self, key: str, twins: Sequence[Task]) -> None:
        self._store.share(key, [task.key for task in twins])
        self.done.update(task.key for task in twins)

    def run(self, pool: Pool, time_limit_s: float | None, meter: Meter) -> None:
        """Until nothing is left, or something stands in the way."""
        remote = (time_limit_s, _versions(self.tasks.values())) if pool.remote else ()
        pace = Pace(self.pending, pool.slots)
        meter.open(self._state(pool, pace))
        try:
            while self.pending or self._under_way:
                self._submit(pool, remote)
                ended, _ = wait(self._under_way, TICK_S, FIRST_COMPLETED)
                self._collect(ended, pool, pace)
                if self._stop:
                    raise Interrupted(self._stop[0], self.total - len(self.done | self.failed))
                meter.update(self._state(pool, pace))
        finally:
            meter.close(self._state(pool, pace))

    def _submit(self, pool: Pool, remote: tuple[Any, ...]) -> None:
        # Enough that no worker waits for this loop, few enough that a stop loses little.
        while self.pending and len(self._under_way) < 2 * pool.slots + 2:
            batch = [self.pending.popleft()]
            if pool.remote and batch[0].key not in self._alone:
                batch += self._companions(pool.slots)
            orders = [WorkerCall(task.key, task.function, task.config_json) for task in batch]
            self._under_way[pool.executor.submit(execute, orders, *remote)] = batch

    def _companions(self, slots: int) -> list[Task]:
        """More short tasks for one message to a remote worker."""
        if not self.ended:
            return []
        fair = len(self.pending) // (4 * slots)
        most = min(int(BATCH_S / max(self._recent_s, 1e-4)), BATCH_MOST, fair) - 1
        companions: list[Task] = []
        while len(companions) < most and self.pending[0].key not in self._alone:
            companions.append(self.pending.popleft())
        return companions

    def _collect(self, ended: set[Future[list[Report]]], pool: Pool, pace: Pace) -> None:
        reports: list[Report] = []
        obstacle: BaseException | None = None
        for future in ended:
            batch = self._under_way.pop(future)
            try:
                reports += self._reports(future, batch, pool)
            except BaseException as error:
                self.pending.extendleft(batch)
                obstacle = error
        self._store.record(reports)
        for report in reports:
            (self.done if report.status == "done" else self.failed).add(report.key)
            self.ended += 1
            self.cpu_s += report.cpu_s
            # The first runs of a worker import what they need; that wears off.
            self._recent_s += (report.wall_s - self._recent_s) / min(self.ended, 20)
            pace.ended(self.tasks[report.key], report.wall_s)
            twins = self._twins.pop(report.key, [])
            if report.status == "done" and not report.seed_used:
                self._share(report.key, twins)
            else:
                pace.add(twins)
                self.pending.extend(twins)
        if reports:
            self._watch(self.done | self.failed)
        if obstacle is not None and not self._stop:
            raise obstacle

    def _reports(self, future: Future[list[Report]], batch: list[Task], pool: Pool) -> list[Report]:
        """Result of one submission; raises what no task is to blame for."""
        try:
            return future.result()
        except pool.lost as error:
            if self._stop:  # The signal went to all processes of the group.
                raise
            if len(batch) > 1:  # One of them is to blame; each shows for itself.
                self._alone.update(task.key for task in batch)
                self.pending.extendleft(reversed(batch))
                return []
            # Dask's own message names the workers, and would differ from one sweep to the next.
            died = error if isinstance(error, WorkerDied) else WorkerDied(DIED_ELSEWHERE)
            return [Report(batch[0].key, "failed", error=str(died))]
        except RunTimeout as error:
            return [Report(batch[0].key, "failed", error=str(error), wall_s=error.limit_s)]
        except (InputError, BrokenExecutor):
            raise
        except Cancelled:
            raise BrokenExecutor("the cluster of workers is gone") from None
        except Exception as error:
            raise BrokenExecutor(
                f"a worker cannot run tasks ({type(error).__name__}: {error})"
            ) from error

    def _in_flight(self) -> int:
        return sum(len(batch) for batch in self._under_way.values())

    def _state(self, pool: Pool, pace: Pace) -> SweepState:
        running = min(pool.slots, self._in_flight())
        return SweepState(
            self.total, len(self.done), running, len(self.failed), self.ended, pace.left_s()
        )


def _versions(tasks: Iterable[Task]) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    return tuple(sorted({(task.function, task.sources, task.code) for task in tasks}))


def _check(workers: int | None, time_limit_s: float | None) -> None:
    if workers is not None and workers < 1:
        raise InputError(f"workers: got {workers}, expected an integer >= 1")
    if time_limit_s is not None and not 0 < time_limit_s <= MOST_LIMIT_S:
        expected = f"a number > 0 and <= {MOST_LIMIT_S:g}"
        raise InputError(f"time_limit_s: got {time_limit_s}, expected {expected}")


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM instead of letting them strike anywhere; the second one does."""
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def note(number: int, _: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
