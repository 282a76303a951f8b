"""Nothing of anybody's is lost: foreign files stay, and what went missing or changed is reported."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from experiments.sweep.export import write_export
from experiments.sweep.runner import exit_code
from experiments.sweep.store import DATABASE, Report, Store, StoreLost
from experiments.sweep.sweep import export, retry, status
from experiments.sweep.task import Task
from simulator.errors import InputError
from tests.sweep.runs import draws, exported, run


@pytest.fixture
def finished(tmp_path):
    """A folder with three finished runs, each with a table."""
    run(draws(3), tmp_path / "out", workers=1)
    return tmp_path / "out"


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "tables" / "ab").mkdir(parents=True)
    (tmp_path / "photo.png").write_text("mine")
    told = r"holds other files \(photo.png, tables\), expected a new"
    with pytest.raises(InputError, match=told):
        Store(tmp_path, create=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["photo.png", "tables"]


@pytest.mark.parametrize("name", ["lock", DATABASE])
def test_links_in_place_of_the_store_s_own_files_are_not_followed(tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    if name == DATABASE:
        out.mkdir()
        (out / name).symlink_to(victim)
        with pytest.raises(InputError, match="is a symbolic link"):
            Store(out, create=True)
    else:
        with Store(out, create=True) as store:
            (out / name).symlink_to(victim)
            with pytest.raises(InputError, match=r"lock: cannot be written .is a symbolic"):
                store.locked().__enter__()
    assert victim.read_text() == "mine"


def test_a_folder_that_is_removed_during_a_sweep_is_reported(tmp_path, capsys):
    """The sweep must not end "12 of 12 done" where nothing is left."""
    out = tmp_path / "out"

    def remove(done):
        if len(done) >= 5:
            shutil.rmtree(out, ignore_errors=True)

    assert exit_code(lambda: run(draws(12), out, workers=1, watch=remove).failed) == 1
    told = capsys.readouterr().err
    assert "was removed or replaced while a sweep" in told
    assert told.count("\n") == 1


def test_a_folder_replaced_by_another_sweep_is_noticed(finished, tmp_path):
    with Store(finished, create=True) as store:
        finished.rename(tmp_path / "away")
        Store(finished, create=True).close()
        with pytest.raises(StoreLost, match="was removed or replaced"):
            store.record([Report("0" * 64, "done")])


def test_runs_without_the_table_are_no_loss(finished):
    """A failed run, and one that never left such a table, have nothing to export."""
    with Store(finished, create=True) as store:
        more = [*store.tasks(), *draws(5)[3:]]
        store.plan(more)
        store.record([Report(more[3].key, "failed", error="E"), Report(more[4].key, "done")])
        _, rows = write_export(store, format="csv", out=None, table="values", timings=False)
    assert rows == 30


@pytest.mark.long
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE runs SET scalars = '{' WHERE rowid = 2",
        "UPDATE runs SET scalars = '[1]' WHERE rowid = 2",
        "UPDATE runs SET scalars = replace(scalars, '0', '1') WHERE rowid = 1",
        "UPDATE runs SET tables = 'null' WHERE rowid = 2",
        "UPDATE runs SET tables = '{}' WHERE rowid = 2",
        "UPDATE runs SET cpu_s = 'long' WHERE rowid = 2",
        "UPDATE runs SET error = x'00ff' WHERE rowid = 2",
        "UPDATE runs SET digest = '' WHERE rowid = 2",
        "UPDATE runs SET key = x'ff' WHERE rowid = 2",
        "UPDATE contents SET content = zeroblob(length(content)) WHERE rowid = 2",
        "UPDATE contents SET content = 'text' WHERE rowid = 2",
        "UPDATE contents SET digest = x'ff' WHERE rowid = 2",
        "DELETE FROM contents WHERE rowid = 2",
    ],
)
def test_a_run_that_does_not_match_its_hash_is_computed_again(finished, sql, capsys):
    """One rule, with a line that says so; whoever reads the run before is told in one line."""
    whole = exported(finished)
    damage(finished, sql)
    with pytest.raises(InputError, match="does not match its hash; start the same sweep again"):
        exported(finished)
    assert run(draws(3), finished, workers=1).computed == 1
    told = "a run does not match the hash that was kept, and will be comp"
    assert told in capsys.readouterr().err
    assert exported(finished) == whole


def test_a_single_flipped_bit_of_a_table_is_found_wherever_it_is(finished):
    """At the export, and where figures read tables; each of 60 places of the file."""
    with Store(finished, create=True) as store:
        key = store.planned_keys()[0]
        whole = store.content(store.run(key), "values")
        change = "UPDATE contents SET content = ? WHERE content = ?"
        for place in range(0, len(whole), max(1, len(whole) // 60)):
            flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
            store._db.execute(change, (flipped, whole))
            with pytest.raises(InputError, match="does not match its hash"):
                write_export(store, format="csv", out=None, table="values", timings=False)
            with pytest.raises(InputError, match="does not match its hash"):
                store.table(key, "values")
            store._db.execute(change, (whole, flipped))
        assert len(store.table(key, "values")) == 10


@pytest.mark.parametrize("out", [DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "lock"])
def test_an_export_never_replaces_a_part_of_the_sweep(finished, out):
    before = (finished / DATABASE).read_bytes()
    with pytest.raises(InputError, match="is a part of the sweep, expected another file"):
        export(finished, out=finished / out)
    assert (finished / DATABASE).read_bytes() == before


def test_texts_of_an_export_are_no_formulas(tmp_path):
    """Quoted as spreadsheets need; numbers stay numbers; an option keeps the texts."""
    labels = ["=cmd|' /C calc'!A0", "+1+1", "-1", "@SUM(A1)", "plain", "-x"]
    numbered = enumerate(labels)
    planned = [Task("sweep_functions:draw", {"seed": s}, {"label": text}) for s, text in numbered]
    with Store(tmp_path / "out", create=True) as store:
        store.plan(planned)
        content = pd.DataFrame({"job_id": ["=a", "b"]}).to_parquet()
        store.record([Report(t.key, "done", {"x": 1.5}, tables={"j": content}) for t in planned])

        def labels_of(**options: bool) -> list[str]:
            asked = {"format": "csv", "out": None, "table": None, "timings": False}
            return pd.read_csv(write_export(store, **asked, **options)[0], dtype=str)[
                "label"
            ].tolist()

        assert labels_of() == ["'=cmd|' /C calc'!A0", "'+1+1", "-1", "'@SUM(A1)", "plain", "'-x"]
        assert labels_of(raw=True) == labels
        path, _ = write_export(store, format="csv", out=None, table="j", timings=False)
        assert pd.read_csv(path)["job_id"].tolist() == ["'=a", "b"] * 6
        path, _ = write_export(store, format="parquet", out=None, table=None, timings=False)
        assert pd.read_parquet(path)["label"].tolist() == labels


def test_status_writes_escape_sequences_out(tmp_path, capsys):
    hostile = "\x1b]0;owned\x07\x1b[2K\u202ered"
    task = Task("sweep_functions:draw", {"seed": 0}, {"label": hostile})
    with Store(tmp_path / "out", create=True) as store:
        store.plan([task])
        store.record([Report(task.key, "failed", error=f"Trace\nValueError: {hostile}")])
    status(tmp_path / "out", tracebacks=True)
    printed = capsys.readouterr().out
    assert "\\x1b]0;owned\\x07\\x1b[2K\\u202ered" in printed
    assert all(c.isprintable() or c == "\n" for c in printed)


@pytest.mark.long
@pytest.mark.parametrize("does", ["interrupt", "exit", "generator exit"])
def test_a_run_that_raises_an_exit_fails_like_any_other(tmp_path, does):
    """It must not stop the sweep, now or at each resume."""
    for _ in range(2):
        summary = run(draws(3, "trouble", does=does, at=[1]), tmp_path / "out", workers=1)
        assert (summary.done, summary.failed) == (2, 1)


def damage(folder: Path, sql: str) -> None:
    db = sqlite3.connect(folder / DATABASE, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("PRAGMA ignore_check_constraints = ON")
    db.execute(sql)
    db.close()


def complaint(command: Callable[[], object]) -> str:
    """Complaint of a command; empty if it does its work."""
    try:
        command()
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE runs",
        "DROP TABLE tasks",
        "UPDATE tasks SET labels = '3'",
        "UPDATE tasks SET labels = ''",
        "UPDATE tasks SET config = '[]'",
        "UPDATE tasks SET config = 'x'",
        "UPDATE tasks SET function = 3",
        "UPDATE tasks SET cost_s = 'long'",
        "UPDATE tasks SET files = '{'",
        "UPDATE notes SET value = '{'",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE runs (x)' WHERE name = 'runs'",
    ],
)
def test_a_damaged_database_is_one_line(finished, sql, capsys):
    """Each command either works or says what is wrong in one line."""
    with Store(finished, create=True) as store, store._transaction() as db:
        db.execute("INSERT OR REPLACE INTO notes VALUES ('time_limit_s', 'null')")
    damage(finished, sql)
    commands = (
        lambda: status(finished),
        lambda: export(finished),
        lambda: export(finished, table="values"),
        lambda: retry(finished, workers=1, progress=False, allow_code=True),
    )
    complaints = [found for found in map(complaint, commands) if found]
    assert complaints, "damage that no command sees"
    assert not any("\n" in found for found in complaints)


@pytest.mark.parametrize("seed", range(4))
def test_bytes_of_a_database_at_random(finished, seed):
    """Pages overwritten: one line, or an answer, never a traceback."""
    path = finished / DATABASE
    whole = path.read_bytes()
    chance = random.Random(seed)
    for _ in range(10):
        damaged = bytearray(whole)
        start = chance.randrange(len(whole))
        count = chance.choice([1, 30, 4096])
        damaged[start : start + count] = chance.randbytes(len(damaged[start : start + count]))
        path.write_bytes(damaged[: chance.choice([len(whole), len(whole) // 2])])
        for command in (status, export):
            assert "\n" not in complaint(partial(command, finished))
