"""The ledger and the tables of a folder."""

from __future__ import annotations

import csv
import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from experiments.sweep.export import run_columns, write_export
from experiments.sweep.ledger import StoreFull
from experiments.sweep.records import Report
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from experiments.sweep.sweep import export, status
from experiments.sweep.tables import Mark, table_path, write_table
from experiments.sweep.task import Task
from simulator.errors import InputError


def tasks(count: int) -> list[Task]:
    return [Task("sweep_functions:draw", {"seed": s}, {"seed": s}) for s in range(count)]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "out", create=True) as store:
        yield store


def test_states_of_the_present_sweep(store):
    first, second, third = tasks(3)
    other = Task("sweep_functions:draw", {"seed": 99})
    store.plan([first, second, third, first], {"time_limit_s": 2.0})
    store.record([Report(first.key, "done"), Report(second.key, "failed", error="E: x\nE: y")])
    store.record([Report(other.key, "done")])
    counts = store.counts()
    assert (counts.total, counts.done, counts.failed, counts.left) == (4, 2, 1, 1)
    assert [task.key for task in store.tasks()] == [first.key, second.key, third.key, first.key]
    assert store.note("time_limit_s") == 2.0
    assert store.failures() == [({"seed": 1}, "E: x\nE: y")]
    assert store.forget_failed() == 1
    assert set(store.states()) == {first.key, other.key}


def test_done_is_never_replaced_and_failed_is(store):
    (task,) = tasks(1)
    store.record([Report(task.key, "failed", error="once")])
    store.record([Report(task.key, "done", {"x": 1})])
    store.record([Report(task.key, "failed", error="late"), Report(task.key, "done", {"x": 2})])
    run = store.run(task.key)
    assert run is not None
    assert (run.status, run.scalars, run.error) == ("done", {"x": 1}, "")


def test_a_batch_is_kept_as_a_whole_or_not_at_all(store):
    first, second = tasks(2)
    with pytest.raises(sqlite3.IntegrityError):
        store.record([Report(first.key, "done"), Report(second.key, "nonsense")])  # type: ignore[arg-type]
    assert store.states() == {}


def test_recover_removes_what_no_finished_run_owns(store):
    whole, cut, missing, failed, unknown, zeros, tail, head = tasks(8)
    for task in (whole, cut, failed, unknown, zeros, tail, head):
        write_table(store.folder, task.key, "values", b"PAR1datsPAR1")
    sizes = {"values": Mark(12)}
    store.record(
        [
            Report(whole.key, "done", tables=sizes),
            Report(cut.key, "done", tables=sizes),
            Report(missing.key, "done", tables=sizes),
            Report(failed.key, "failed", error="E"),
            *(Report(task.key, "done", tables=sizes) for task in (zeros, tail, head)),
        ]
    )
    # Blocks that a power cut kept from the disk read as zeros in a file of full length.
    table_path(store.folder, zeros.key, "values").write_bytes(bytes(12))
    table_path(store.folder, tail.key, "values").write_bytes(b"PAR1".ljust(12, b"\0"))
    table_path(store.folder, head.key, "values").write_bytes(b"PAR1".rjust(12, b"\0"))
    path = table_path(store.folder, cut.key, "values")
    path.write_bytes(b"twelve")
    path.with_name(f".{path.name}.1.2.tmp").write_bytes(b"tw")
    store.recover()
    assert store.states() == {whole.key: "done", failed.key: "failed"}
    left = [p for p in (store.folder / "tables").rglob("*") if p.is_file()]
    assert sorted(p.name for p in left) == sorted(
        table_path(store.folder, task.key, "values").name
        for task in (whole, cut, zeros, tail, head)
    )


def test_a_table_that_cannot_be_read_is_named_in_one_line(store):
    (task,) = tasks(1)
    store.plan([task])
    write_table(store.folder, task.key, "values", b"PAR1".ljust(40, b"\0") + b"PAR1")
    store.record([Report(task.key, "done", tables={"values": Mark(44)})])
    with pytest.raises(
        InputError, match="table 'values' of the run seed=0 cannot be read"
    ) as error:
        write_export(store, format="csv", out=None, table="values", timings=False)
    assert str(table_path(store.folder, task.key, "values")) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full; 0 finished runs are kept"),
        (sqlite3.SQLITE_IOERR_READ, "full or cannot be read or written \\(SQLite: disk I/O error"),
    ],
)
def test_what_sqlite_says_of_the_disk_is_told(store, code, told):
    def fail() -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    with pytest.raises(StoreFull, match=told), store._transaction():
        fail()


def test_table_is_whole_or_not_there(store, monkeypatch):
    (task,) = tasks(1)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)  # A directory that grows needs room too.
    with pytest.raises(StoreFull, match="0 finished runs are kept"):
        store.write_table(task.key, "values", b"x")
    assert not [p for p in (store.folder / "tables").rglob("*") if p.is_file()]


def test_one_sweep_at_a_time(store):
    with store.locked(), Store(store.folder, create=True) as other:
        assert other.is_locked()
        with pytest.raises(InputError, match=f"is running on this folder .process {os.getpid()}"):
            other.locked().__enter__()
    assert not store.is_locked()
    with store.locked():
        pass


def test_tables_of_workers_elsewhere_are_written_by_the_store(store):
    (task,) = tasks(1)
    store.plan([task])
    table = pd.DataFrame({"value": [1.0, 2.0]})
    store.record([Report(task.key, "done", {"x": 1}, contents={"values": table.to_parquet()})])
    results = Results(store, [task])
    pd.testing.assert_frame_equal(results.outcome(task).tables["values"], table)
    assert results.table("values")["seed"].tolist() == [0, 0]


def test_results_select_and_skip(store):
    done = [Task("sweep_functions:draw", {"seed": s, "n": n}) for s in range(3) for n in (5, 10)]
    other = Task("sweep_functions:logged", {"seed": 7}, {"part": "server"})
    lost = Task("sweep_functions:draw", {"seed": 9, "n": 5})
    store.record([Report(t.key, "done", {"cost": t.config["seed"], "n": -1}) for t in done])
    store.record([Report(other.key, "done"), Report(lost.key, "failed", error="E")])
    results = Results(store, [*done, other, lost], "quick")
    assert results.missing == [lost]
    assert results.seeds == (0, 1, 2, 7)
    assert results.where("logged").tasks == [other]
    assert results.where(part="server").tasks == [other]
    part = results.where("draw", n=10).scalars()
    assert part["seed"].tolist() == [0, 1, 2]
    assert part["n"].tolist() == [10, 10, 10]
    assert list(part.columns) == ["seed", "n", "cost", "run_cpu_s"]
    with pytest.raises(KeyError):
        results.outcome(lost)


def test_export_is_tidy_and_leaves_measurements_out(store, capsys):
    planned = tasks(3)
    store.plan(planned)
    scalars = {"cost": 1.5, "decision_cpu_s": 0.1, "seed": 0, "name": 'a,"b"'}
    store.record([Report(planned[0].key, "done", scalars)])
    store.record([Report(planned[1].key, "failed", error="Traceback\nValueError: <no>")])
    assert export(store.folder) == 0
    assert capsys.readouterr().out == f"{store.folder / 'runs.csv'}: 3 rows\n"
    with (store.folder / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {"seed": "0", "status": "done", "error": "", "cost": "1.5", "result_seed": "0",
         "name": 'a,"b"'},
        {"seed": "1", "status": "failed", "error": "ValueError: <no>", "cost": "",
         "result_seed": "", "name": ""},
        {"seed": "2", "status": "left", "error": "", "cost": "", "result_seed": "", "name": ""},
    ]  # fmt: skip
    assert "decision_cpu_s" in run_columns(store, timings=True)
    export(store.folder, format="parquet", out=store.folder / "elsewhere.parquet")
    table = pd.read_parquet(store.folder / "elsewhere.parquet")
    assert table["cost"].tolist()[0] == 1.5
    assert table["status"].tolist() == ["done", "failed", "left"]


def test_export_of_a_table_has_the_labels_of_its_run(store):
    planned = [
        Task("sweep_functions:draw", {"seed": s}, {"seed": s, "x": x})
        for s, x in enumerate([1, 2.5])
    ]
    store.plan(planned)
    for task in planned:
        part = pd.DataFrame({"job": [0, 1], "wait_s": [0.5, task.config["seed"]]})
        store.record([Report(task.key, "done", contents={"jobs": part.to_parquet(index=False)})])
    path, rows = write_export(store, format="csv", out=None, table="jobs", timings=False)
    assert rows == 4
    assert path.read_text().splitlines()[:2] == ["seed,x,job,wait_s", "0,1,0,0.5"]
    with pytest.raises(InputError, match="no finished run has a table 'decisions'"):
        write_export(store, format="csv", out=None, table="decisions", timings=False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "xlsx"}, "--format: got 'xlsx', expected one of csv, parquet"),
        ({"out": "/proc/nowhere/runs.csv"}, "cannot be written"),
    ],
)
def test_export_mistakes_are_one_line(store, options, told):
    store.plan(tasks(1))
    with pytest.raises(InputError, match=told):
        export(store.folder, **options if "out" not in options else {"out": _path(options)})


def _path(options):

    return Path(options["out"])


def test_a_folder_without_a_ledger_is_told(tmp_path):
    with pytest.raises(InputError, match=r"got no ledger\.sqlite"):
        status(tmp_path)


def test_something_else_under_that_name_is_told(tmp_path):
    (tmp_path / "ledger.sqlite").write_text("this is no database, it is a longish text" * 50)
    with pytest.raises(InputError, match="not a ledger of schedlab"):
        status(tmp_path)
    (tmp_path / "ledger.sqlite").unlink()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        db.execute("CREATE TABLE something (x)")
    with pytest.raises(InputError, match="not a ledger"):
        Store(tmp_path, create=True)


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Store(tmp_path / "out", create=True)


def test_status_groups_equal_errors(store, capsys):
    planned = tasks(4)
    store.plan(planned)
    store.record([Report(t.key, "failed", error="Trace\nValueError: no") for t in planned[:3]])
    status(store.folder, tracebacks=True)
    assert capsys.readouterr().out.splitlines() == [
        f"{store.folder}: 4 runs, 0 done, 3 failed, 1 left; no sweep is running",
        "  failed: seed=0 (and 2 more): ValueError: no",
        "    Trace",
        "    ValueError: no",
    ]


def large_ledger(folder, runs: int) -> None:
    policies = ("fifo", "edf", "ps", "milp")
    config = {"workload": {"kind": "poisson", "num_jobs": 1000}, "cluster": {"num_nodes": 16}}
    planned = [
        Task(
            "sweep_functions:draw",
            {**config, "policy": policies[i % 4], "seed": i // 4},
            {"policy": policies[i % 4], "seed": i // 4, "load": 0.9},
        )
        for i in range(runs)
    ]
    names = [f"scalar_{n}" for n in range(16)]
    with Store(folder, create=True) as store:
        store.plan(planned)
        store.record(
            Report(t.key, "done", {name: i / 7 + n for n, name in enumerate(names)})
            for i, t in enumerate(planned)
        )


COMMAND = "import sys; from pathlib import Path; from experiments.sweep import sweep; "


def cpu_s_of(code: str, *arguments: str) -> float:
    """CPU seconds of a Python process of its own."""
    before = os.times()
    subprocess.run([sys.executable, "-c", COMMAND + code, *arguments], check=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


@pytest.mark.slow
def test_ledger_of_100_000_runs_is_quick(tmp_path):
    large_ledger(tmp_path / "out", 100_000)
    start = cpu_s_of("")
    for code in ("sweep.status(Path(sys.argv[1]))", "sweep.export(Path(sys.argv[1]))"):
        # The target is 2 s on a quiet machine (benchmarks/bench_sweep.py); twice that on a busy one.
        assert cpu_s_of(code, str(tmp_path / "out")) - start < 4.0
    with (tmp_path / "out" / "runs.csv").open() as file:
        assert sum(1 for _ in file) == 100_001


def test_ledger_of_2_000_runs_exports_whole(tmp_path):
    large_ledger(tmp_path, 2_000)
    with Store(tmp_path) as store:
        assert store.counts().done == 2_000
        columns = run_columns(store)
    assert len(columns["scalar_15"]) == 2_000
    assert columns["scalar_3"][7] == 1 + 3
