"""The run database of a folder."""

import csv
import os
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from experiments.sweep.export import run_columns, write_export
from experiments.sweep.results import Results
from experiments.sweep.store import Report, Store, StoreFull
from experiments.sweep.sweep import export, status
from experiments.sweep.task import Task
from simulator.errors import InputError
from tests.sweep.runs import draws


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "out", create=True) as store:
        yield store


def test_states_of_the_present_sweep(store):
    first, second, third = draws(3)
    other = Task("sweep_functions:draw", {"seed": 99})
    store.plan([first, second, third, first], {"time_limit_s": 2.0})
    store.record([Report(first.key, "done"), Report(second.key, "failed", error="E: x\nE: y")])
    store.record([Report(other.key, "done")])
    counts = store.counts()
    assert (counts.total, counts.done, counts.failed, counts.left, counts.kept) == (4, 2, 1, 1, 1)
    assert [task.key for task in store.tasks()] == [first.key, second.key, third.key, first.key]
    assert store.note("time_limit_s") == 2.0
    assert store.failures() == [({"seed": 1}, "E: x\nE: y")]
    assert store.forget_failed() == 1
    assert set(store.states()) == {first.key, other.key}


def test_done_is_never_replaced_and_failed_is(store):
    (task,) = draws(1)
    store.record([Report(task.key, "failed", error="once")])
    store.record([Report(task.key, "done", {"x": 1})])
    store.record([Report(task.key, "failed", error="late"), Report(task.key, "done", {"x": 2})])
    run = store.run(task.key)
    assert run is not None
    assert (run.status, run.scalars, run.error) == ("done", {"x": 1}, "")


def test_of_a_run_that_is_stored_twice_the_first_result_is_kept(store):
    """Within a batch and after it, with its tables; of two failures the last."""
    done, failed = draws(2)
    store.record([Report(done.key, "done", {"x": x}, {"t": b"%d" % x}) for x in (1, 2)])
    store.record([Report(done.key, "done", {"x": 3}, {"t": b"3"})])
    for error in ("first", "second"):
        store.record([Report(failed.key, "failed", error=error)])
    assert store.recover() == 0
    run, other = store.run(done.key), store.run(failed.key)
    assert (run.scalars, store.content(run, "t"), other.error) == ({"x": 1}, b"1", "second")
    contents = store._db.execute("SELECT content FROM contents").fetchall()
    assert contents == [(b"1",)]


def test_a_result_that_is_shared_took_no_time_again(store):
    first, second = draws(2)
    store.record([Report(first.key, "done", {"x": 1}, seed_used=False, cpu_s=3.0, wall_s=4.0)])
    store.share(first.key, [second.key])
    run = store.run(second.key)
    assert (run.scalars, run.cpu_s, run.wall_s) == ({"x": 1}, 0.0, 0.0)
    assert store.recover() == 0


def test_a_batch_is_kept_as_a_whole_or_not_at_all(store):
    first, second = draws(2)
    with pytest.raises(sqlite3.IntegrityError):
        store.record([Report(first.key, "done"), Report(second.key, None)])
    assert store.states() == {}


def test_a_folder_of_an_earlier_release_is_told(tmp_path):
    (tmp_path / "ledger.sqlite").write_text("")
    for create in (True, False):
        with pytest.raises(InputError, match="holds a sweep of an earlier release"):
            Store(tmp_path, create=create)


def test_equal_tables_are_kept_once_and_go_with_their_last_run(store):
    done = [Report(task.key, "done", tables={"values": b"same"}) for task in draws(3)]
    store.record([*done, Report("f" * 64, "failed")])
    assert store._db.execute("SELECT count(*) FROM contents").fetchone() == (1,)
    store._db.execute("DELETE FROM runs WHERE status = 'done'")
    assert store.recover() == 0
    assert store._db.execute("SELECT count(*) FROM contents").fetchone() == (0,)


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


def test_one_sweep_at_a_time(store):
    with store.locked(), Store(store.folder, create=True) as other:
        assert other.is_locked()
        with pytest.raises(InputError, match=f"is running on this folder .process {os.getpid()}"):
            other.locked().__enter__()
    assert not store.is_locked()
    with store.locked():
        pass


def test_tables_of_workers_elsewhere_are_written_by_the_store(store):
    (task,) = draws(1)
    store.plan([task])
    table = pd.DataFrame({"value": [1.0, 2.0]})
    store.record([Report(task.key, "done", {"x": 1}, tables={"values": table.to_parquet()})])
    results = Results(store, [task])
    pd.testing.assert_frame_equal(results.outcome(task).tables["values"], table)
    assert results.table("values")["seed"].tolist() == [0, 0]


def test_seeds_of_results_are_sorted(store):
    done = [Task("sweep_functions:draw", {"seed": seed}) for seed in (8, 1)]
    store.record([Report(task.key, "done") for task in done])
    assert Results(store, done).seeds == (1, 8)


def test_failed_runs_of_another_sweep_are_not_forgotten(store):
    here, other = draws(2)
    store.plan([here])
    store.record([Report(task.key, "failed", error="E") for task in (here, other)])
    assert store.forget_failed() == 1
    assert set(store.states()) == {other.key}


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
    planned = draws(3)
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
    seeds = {0: 1, 1: 2.5}.items()
    planned = [Task("sweep_functions:draw", {"seed": s}, {"seed": s, "x": x}) for s, x in seeds]
    store.plan(planned)
    for task in planned:
        part = pd.DataFrame({"job": [0, 1], "wait_s": [0.5, task.config["seed"]]})
        store.record([Report(task.key, "done", tables={"jobs": part.to_parquet(index=False)})])
    path, rows = write_export(store, format="csv", out=None, table="jobs", timings=False)
    assert rows == 4
    assert path.read_text().splitlines()[:2] == ["seed,x,job,wait_s", "0,1,0,0.5"]
    with pytest.raises(InputError, match="no finished run has a table 'decisions'"):
        write_export(store, format="csv", out=None, table="decisions", timings=False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "xlsx"}, "--format: got 'xlsx', expected one of csv, parquet"),
        ({"out": Path("/proc/nowhere/runs.csv")}, "cannot be written"),
    ],
)
def test_export_mistakes_are_one_line(store, options, told):
    store.plan(draws(1))
    with pytest.raises(InputError, match=told):
        export(store.folder, **options)


def test_a_folder_without_a_run_database_is_told(tmp_path):
    with pytest.raises(InputError, match=r"got no runs\.sqlite"):
        status(tmp_path)


def test_something_else_under_that_name_is_told(tmp_path):
    (tmp_path / "runs.sqlite").write_text("this is no database, it is a longish text" * 50)
    with pytest.raises(InputError, match="not a run database of schedlab"):
        status(tmp_path)
    (tmp_path / "runs.sqlite").unlink()
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        db.execute("CREATE TABLE something (x)")
    with pytest.raises(InputError, match="not a run database"):
        Store(tmp_path, create=True)


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Store(tmp_path / "out", create=True)


def test_status_groups_equal_errors(store, capsys):
    planned = draws(4)
    store.plan(planned)
    store.record([Report(t.key, "failed", error="Trace\nValueError: no") for t in planned[:3]])
    status(store.folder, tracebacks=True)
    assert capsys.readouterr().out.splitlines() == [
        f"{store.folder}: 4 runs, 0 done, 3 failed, 1 left; no sweep is running",
        "  failed: seed=0 (and 2 more): ValueError: no",
        "    Trace",
        "    ValueError: no",
    ]
