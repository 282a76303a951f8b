"""Running tasks: what is computed, what is kept, what is told."""

import io
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Set
from concurrent.futures import Executor, Future

import pytest

from experiments.sweep import executors, progress, runner
from experiments.sweep.export import message_of
from experiments.sweep.progress import Meter, Pace, SweepState, in_good_order
from experiments.sweep.results import Results
from experiments.sweep.store import Report, Store
from experiments.sweep.task import Task
from simulator.errors import InputError
from tests.sweep.runs import draws, exported, only_failure, run


def test_tasks_are_run_once_and_resumed(tmp_path):
    tasks = draws(12)
    first = run(tasks[:8], tmp_path)
    assert (first.total, first.done, first.failed, first.computed) == (8, 8, 0, 8)
    second = run(tasks, tmp_path)
    assert (second.total, second.done, second.computed) == (12, 12, 4)
    assert run(tasks, tmp_path).computed == 0
    with Store(tmp_path) as store:
        results = Results(store, tasks)
        assert results.scalars()["seed"].tolist() == list(range(12))
        assert len(results.table("values")) == 120


def test_the_order_of_workers_does_not_show(tmp_path):
    tasks = draws(10)
    run(tasks, tmp_path / "two")
    run(list(reversed(tasks)), tmp_path / "one", workers=1)
    run(tasks, tmp_path / "one", workers=1)
    assert exported(tmp_path / "one") == exported(tmp_path / "two")


def test_a_task_that_stands_twice_in_the_list_runs_once(tmp_path):
    task = Task("sweep_functions:draw", {"seed": 1}, {"seed": 1, "figure": 1})
    again = Task("sweep_functions:draw", {"seed": 1}, {"seed": 1, "figure": 2})
    summary = run([task, again], tmp_path)
    assert (summary.total, summary.computed) == (1, 1)
    with Store(tmp_path) as store:
        assert store.counts().done == 2


class Lost(Exception):
    """A worker over a network has gone."""


class Remote(Executor):
    """Runs nothing: each task takes a millisecond, or no time; the workers of some go."""

    def __init__(self, *lost: str, short: Set[str] = frozenset()) -> None:
        self.lost, self.short, self.batches = lost, short, []

    def submit(self, function, orders, *_):
        keys = [order.key for order in orders]
        self.batches.append(keys)
        future = Future()
        if set(keys) & set(self.lost):
            future.set_exception(Lost())
        else:
            future.set_result(
                [Report(key, "done", wall_s=0.001 * (key not in self.short)) for key in keys]
            )
        return future


@pytest.mark.parametrize("slots", [1, 2])
def test_runs_that_travelled_with_one_that_loses_its_worker_run_again_alone(
    tmp_path, monkeypatch, slots
):
    """One slot: four runs alone, since none has ended. Of 9 left, a quarter of 8 travels together; of 7, none. Both runs
    go again before the others, when those that were on their way have ended. Two slots: six alone, then two together where 16 are left."""
    monkeypatch.setattr(runner, "_versions", lambda tasks: ())
    first = 2 * slots + 2
    tasks = draws(first + 8 * slots + 1)
    keys = [task.key for task in tasks]
    remote = Remote(keys[first + 1])
    with Store(tmp_path, create=True) as store:
        store.plan(tasks)
        sweep = runner._Sweep(tasks, store, [], True, lambda _: None)
        sweep.run(executors.Pool(remote, slots, True, (Lost,)), None, Meter(False))
        assert (store.counts().done, store.counts().failed) == (len(tasks) - 1, 1)
        assert store.failures() == [({"seed": first + 1}, runner.DIED_ELSEWHERE)]
    sent = [key for batch in remote.batches for key in batch]
    assert remote.batches[first] == keys[first : first + 2]
    assert remote.batches[2 * first : 2 * first + 2] == [[keys[first]], [keys[first + 1]]]
    assert sorted(sent) == sorted(keys + keys[first : first + 2])
    assert max(map(len, remote.batches)) == 2


def test_the_first_twenty_runs_count_alike_and_later_ones_a_twentieth(tmp_path):
    """Twenty of a millisecond, then five of none."""
    tasks = draws(25)
    remote = Remote(short={task.key for task in tasks[20:]})
    with Store(tmp_path, create=True) as store:
        store.plan(tasks)
        sweep = runner._Sweep(tasks, store, [], True, lambda _: None)
        sweep.run(executors.Pool(remote, 1, False, (Lost,)), None, Meter(False))
    assert sweep._recent_s == pytest.approx(0.001 * 0.95**5)


def test_another_sweep_is_refused_unless_resumed(tmp_path):
    run(draws(4), tmp_path, resume=False)
    run(draws(4), tmp_path, resume=False)
    with pytest.raises(InputError, match=r"another sweep.*4 of 6 runs in common.*--resume"):
        run(draws(6), tmp_path, resume=False)
    assert run(draws(6), tmp_path, resume=True).computed == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("raise", "ValueError: seed 3 is <not> wanted"),
        ("bad key", "load: is 3, expected less"),
        ("hang", "the run was ended at its time limit of 3 s"),
        ("die", "the run's worker process ended (signal 9) 3 times"),
        ("exit", "SystemExit: 3"),
        ("bad scalar", "TypeError: scalar 'value' of an outcome is a list"),
        ("no outcome", "TypeError: sweep_functions:trouble returned a NoneType"),
    ],
)
def test_a_run_that_fails_fails_alone(tmp_path, does, told):
    tasks = draws(6, "trouble", does=does, at=[3])
    summary = run(tasks, tmp_path, time_limit_s=3.0 if does == "hang" else None)
    assert (summary.done, summary.failed) == (5, 1)
    error = only_failure(tmp_path)
    assert message_of(error).startswith(told)
    assert ("sweep_functions.py" in error) is (does in ("raise", "exit", "bad key"))


def test_failed_runs_stay_failed_until_retried(tmp_path):
    task = Task("sweep_functions:until", {"seed": 1, "mark": str(tmp_path / "mark")})
    assert run([task], tmp_path / "out").failed == 1
    (tmp_path / "mark").touch()
    assert run([task], tmp_path / "out").computed == 0
    summary = run([task], tmp_path / "out", retry_failed=True)
    assert (summary.computed, summary.done) == (1, 1)


def test_long_tasks_start_first(tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    tasks = [
        Task("sweep_functions:logged", {"seed": s, "log": str(log)}, cost_s=c)
        for s, c in enumerate([1.0, 5.0, 3.0])
    ]
    run(tasks, tmp_path / "out", workers=1)
    (file,) = log.iterdir()
    assert file.read_text().split() == ["1", "2", "0"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"workers": 0}, "workers: got 0, expected an integer >= 1"),
        ({"time_limit_s": 0.0}, "time_limit_s: got 0.0, expected a number > 0"),
        ({"time_limit_s": float("nan")}, "time_limit_s: got nan"),
    ],
)
def test_bad_arguments_are_one_line(tmp_path, options, told):
    with pytest.raises(InputError, match=told):
        run(draws(1), tmp_path, **options)


class Killer(threading.Thread):
    """Kills a random worker at random instants, at most once for each run that was recorded: else a
    busy machine, where workers start slowly, would never come to an end."""

    def __init__(self, monkeypatch, seed: int, every_s: float) -> None:
        super().__init__(daemon=True)
        self.pools: list[executors.LocalPool] = []
        self.kills = 0
        self.over = threading.Event()
        self.recorded: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._every_s = every_s
        made = executors.LocalPool.__init__

        def remember(pool: executors.LocalPool, *args: object, **kwargs: object) -> None:
            made(pool, *args, **kwargs)
            self.pools.append(pool)

        monkeypatch.setattr(executors.LocalPool, "__init__", remember)

    def run(self) -> None:
        while not self.over.wait(self._random.uniform(0, 2 * self._every_s)):
            pids = [pid for pool in self.pools for pid in pool.pids()]
            if pids and self.kills < self.recorded.total():
                try:
                    os.kill(self._random.choice(pids), signal.SIGKILL)
                    self.kills += 1
                except ProcessLookupError:
                    pass


def kill_workers_at_random(tmp_path, monkeypatch, count: int, every_s: float, seed: int) -> int:
    """Run `count` tasks while workers are killed; returns the number of kills."""
    log = tmp_path / "log"
    log.mkdir(parents=True)
    tasks = draws(count, "logged", log=str(log), sleep_s=0.02)
    # Many kills on few tasks: none of them may look guilty.
    monkeypatch.setattr(executors, "TRIES", 50)
    monkeypatch.setattr(executors, "STARTS", 50)
    killer = Killer(monkeypatch, seed, every_s)
    record = Store.record

    def counted(store, reports):
        reports = list(reports)
        killer.recorded.update(report.key for report in reports)
        record(store, reports)

    monkeypatch.setattr(Store, "record", counted)
    killer.start()
    try:
        summary = run(tasks, tmp_path / "out")
    finally:
        killer.over.set()
        killer.join()
    assert (summary.done, summary.failed) == (count, 0)
    assert set(killer.recorded.values()) == {1}
    finished = [seed for file in log.iterdir() for seed in file.read_text().split()]
    # A run that was killed between its last line and its report is the only one done again.
    assert set(finished) == {str(s) for s in range(count)}
    assert len(finished) <= count + killer.kills
    run(tasks, tmp_path / "calm")
    assert exported(tmp_path / "out") == exported(tmp_path / "calm")
    return killer.kills


@pytest.mark.long
def test_workers_killed_at_random_instants(tmp_path, monkeypatch):
    assert kill_workers_at_random(tmp_path, monkeypatch, 40, 0.2, seed=1) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_workers_killed_often(tmp_path, monkeypatch, seed):
    assert kill_workers_at_random(tmp_path, monkeypatch, 400, 0.2, seed) > 10


def test_pace_learns_what_a_unit_of_cost_takes():
    tasks = [Task("m:a", {"x": i}, cost_s=2.0) for i in range(3)]
    tasks += [Task("m:b", {"x": i}, cost_s=1.0) for i in range(4)]
    assert Pace([Task("m:a", {"x": i}) for i in range(3)], slots=2).left_s() is None
    pace = Pace(tasks, slots=2)
    assert pace.left_s() == pytest.approx((6.0 + 4.0) / 2)  # seconds, as the tasks say
    pace.ended(tasks[0], 6.0)
    assert pace.left_s() == pytest.approx((4.0 + 4.0) * 3.0 / 2)  # all that is known of m:b
    pace.ended(tasks[3], 1.0)
    assert pace.left_s() == pytest.approx((4.0 * 3.0 + 3.0 * 1.0) / 2)
    for task in tasks[4:]:
        pace.ended(task, 1.0)
    assert pace.left_s() == pytest.approx(4.0 * 3.0 / 2)


def test_the_time_left_is_known_once_a_run_of_each_function_has_ended():
    """Two papers whose estimates are a hundred times apart, the cheaper-looking one last."""
    seconds = {"m:a": 0.1, "m:b": 10.0}
    tasks = [Task("m:a", {"x": i}, cost_s=20.0 + i) for i in range(30)]
    tasks += [Task("m:b", {"x": i}, cost_s=1.0 + i / 10) for i in range(31)]
    order = in_good_order(tasks)
    assert sorted(map(id, order)) == sorted(map(id, tasks))
    assert [task.config["x"] for task in order[:2]] == [14, 15]
    assert [task.cost_s for task in order[2:]] == sorted(
        (task.cost_s for task in order[2:]), reverse=True
    )
    pace = Pace(tasks, slots=1)
    left = sum(task.cost_s * seconds[task.function] for task in tasks)
    for task in order:
        pace.ended(task, task.cost_s * seconds[task.function])
        left -= task.cost_s * seconds[task.function]
        assert task is order[0] or pace.left_s() == pytest.approx(left, abs=1e-6)


def test_the_time_left_is_that_of_the_work_left_by_kind():
    """Cheap rules and slow solvers of one function: once only solvers are left, their pace counts."""
    tasks = [Task("m:a", {"x": i, "policy": "fifo"}) for i in range(50)]
    tasks += [Task("m:a", {"x": i, "policy": "milp"}) for i in range(50)]
    pace = Pace(tasks, slots=2)
    for i in range(50):
        pace.ended(tasks[i], 0.5)
    for i in range(50, 60):
        pace.ended(tasks[i], 9.0 if i % 2 else 7.0)
    assert pace.left_s() == pytest.approx(40 * 8.0 / 2)


@pytest.mark.parametrize(
    ("count", "cost_s", "took_s", "left_s"),
    [(1001, 0.01, [20.0], 10.0), (20, 1.0, [9.0, *[1.0] * 9], 18.0)],
    ids=[
        "one that compiles first does not count for the others",
        "the mean counts, not the middle",
    ],
)
def test_the_time_left_counts_long_runs_as_long_as_they_are(count, cost_s, took_s, left_s):
    tasks = [Task("m:a", {"x": i}, cost_s=cost_s) for i in range(count)]
    pace = Pace(tasks, slots=1)
    for task, seconds in zip(tasks, took_s, strict=False):
        pace.ended(task, seconds)
    assert pace.left_s() == pytest.approx(left_s)


def test_without_a_terminal_lines_first_early_each_minute_and_last(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    meter = Meter(True, stream)
    meter.open(SweepState(200, 20, 0, 0, 0, None))
    for second in range(1, 131):
        clock[0] = float(second)
        meter.update(SweepState(200, 20 + second, 2, 1, second + 1, 200.0 - second))
    meter.close(SweepState(200, 199, 0, 1, 180, 0.0))
    assert stream.getvalue().splitlines() == [
        "[0:00:00] 20 of 200 done, 0 running, 0 failed",
        "[0:00:08] 28 of 200 done, 2 running, 1 failed, 1.12 runs/s, 0:03:12 left",
        "[0:01:08] 88 of 200 done, 2 running, 1 failed, 1.01 runs/s, 0:02:12 left",
        "[0:02:08] 148 of 200 done, 2 running, 1 failed, 1.01 runs/s, 0:01:12 left",
        "[0:02:10] 199 of 200 done, 0 running, 1 failed, 1.38 runs/s, 0:00:00 left",
    ]


def test_on_a_terminal_a_bar():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    meter = Meter(True, stream)
    meter.open(SweepState(4, 0, 2, 0, 0, None))
    time.sleep(0.3)
    meter.update(SweepState(4, 2, 2, 0, 2, 5.0))
    meter.close(SweepState(4, 4, 0, 0, 4, 0.0))
    assert "4 of 4 done" in stream.getvalue()


def test_nothing_is_shown_where_nothing_is_wanted():
    stream = io.StringIO()
    meter = Meter(False, stream)
    meter.open(SweepState(1, 0, 0, 0, 0, None))
    meter.close(SweepState(1, 1, 0, 0, 1, 0.0))
    assert stream.getvalue() == ""
