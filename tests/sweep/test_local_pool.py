"""The pool of worker processes, as an executor."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from experiments.sweep.executors import LocalPool
from simulator.errors import InputError


def square(x: int) -> int:
    return x * x


def die_once(mark: str) -> str:
    if not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def die_while_sending(mark: str) -> bytes:
    """The first time, the worker dies when a third of its result is in the pipe."""
    if os.path.exists(mark):
        return bytes(3_000_000)
    Path(mark).touch()
    sent = 0

    def write(pipe: int, data: bytes) -> int:
        nonlocal sent
        sent += (done := os.write(pipe, data[:65_536]))
        if sent > 1_000_000:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    Connection._send.__defaults__ = (write,)
    return bytes(3_000_000)


def wait_for(mark: str) -> str:
    while not os.path.exists(mark):
        time.sleep(0.01)
    return mark


def not_to_be_sent() -> object:
    return lambda: None


class Peculiar(Exception):
    """Cannot be put together from its arguments on the other side."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


def raise_peculiar() -> None:
    raise Peculiar(1, 2)


def environment(_: int) -> tuple[int, str]:
    return os.getpid(), os.environ["OMP_NUM_THREADS"]


@pytest.fixture(scope="module")
def pool():
    with LocalPool(2) as pool:
        yield pool


def test_is_an_executor(pool):
    assert isinstance(pool, Executor)
    assert list(pool.map(square, range(20))) == [x * x for x in range(20)]


def test_what_cannot_travel_fails_alone(pool):
    for future in (
        pool.submit(not_to_be_sent),
        pool.submit(square, lambda: None),
        pool.submit(raise_peculiar),
    ):
        with pytest.raises(Exception, match=r"pickle|local|missing 1 required"):
            future.result()
    assert pool.submit(square, 3).result() == 9


def test_workers_use_one_thread_each_in_processes_of_their_own(pool):
    found = set(pool.map(environment, range(10)))
    assert os.getpid() not in {pid for pid, _ in found}
    assert {threads for _, threads in found} == {"1"}


def test_call_whose_worker_dies_is_tried_again(pool, tmp_path):
    assert pool.submit(die_once, str(tmp_path / "mark")).result() == "survived"


def test_a_worker_that_dies_while_it_sends_is_not_waited_for(pool, tmp_path):
    assert len(pool.submit(die_while_sending, str(tmp_path / "mark")).result(60)) == 3_000_000
    assert pool.submit(square, 3).result(60) == 9


def test_killing_a_worker_from_outside_costs_nothing(pool, tmp_path):
    future = pool.submit(wait_for, str(tmp_path / "go"))
    while not future.running():
        time.sleep(0.01)
    for pid in pool.pids():
        os.kill(pid, signal.SIGKILL)
    (tmp_path / "go").touch()
    assert future.result() == str(tmp_path / "go")


def test_kill_ends_workers_and_futures(tmp_path):
    pool = LocalPool(1)
    running = pool.submit(wait_for, str(tmp_path / "never"))
    waiting = pool.submit(square, 1)
    while not running.running():
        time.sleep(0.01)
    pool.kill()
    with pytest.raises(BrokenExecutor):
        running.result()
    with pytest.raises(CancelledError):
        waiting.result()
    assert pool.pids() == []
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(square, 1)


def test_a_module_that_cannot_be_imported_is_told():
    with LocalPool(1, modules=("no_such_module",)) as pool:
        future = pool.submit(square, 1)
        with pytest.raises(BrokenExecutor, match="No module named 'no_such_module'"):
            future.result()
        with pytest.raises(BrokenExecutor, match="cannot start: ModuleNotFoundError"):
            pool.submit(square, 1).result()
        assert pool.pids() == []


def test_a_new_worker_does_not_read_the_exit_code_of_another():
    """Python polls its children when a process starts, and an exit code can be read once."""
    with LocalPool(1) as pool:
        assert pool.submit(square, 3).result() == 9
        assert len(pool.pids()) == 1
        assert multiprocessing.active_children() == []


def test_no_workers_are_refused():
    with pytest.raises(InputError, match="workers: got 0"):
        LocalPool(0)
