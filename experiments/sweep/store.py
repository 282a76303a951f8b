"""A folder of results: a ledger with one row a run, and one Parquet file a run and table.

    DIR/ledger.sqlite                     written by the coordinating process alone
    DIR/tables/ab/ab12...<name>.parquet   written by whoever computed the run
    DIR/lock                              held while a sweep runs on the folder
    DIR/id                                by which a worker elsewhere knows the folder

A run is finished once its row is committed. A table comes before its row and takes its name only
when it is whole, so that the folder can be resumed from whatever instant it was left at.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from experiments.files import write_whole
from experiments.sweep.ledger import (
    LEDGER,
    NO_SPACE,
    StoreFull,
    StoreLost,
    disk_problem,
    is_full,
    is_read_only,
    open_ledger,
    reading,
)
from experiments.sweep.records import Counts, Report, Rows
from experiments.sweep.tables import (
    Mark,
    is_whole,
    mark_of,
    marks_of,
    own_files,
    read_table,
    table_path,
    write_table,
)
from experiments.sweep.task import Scalar, Task
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame


class Store:
    """The results in one folder. Reading needs no lock; ``plan`` and ``record`` want ``locked()``.

    Parameters
    ----------
    folder : where; made where ``create`` is set.
    create : False opens for reading, and only a folder that has a ledger.

    Raises
    ------
    InputError
        No ledger there, not a ledger of schedlab, or one of another version.
    """

    def __init__(self, folder: Path | str, *, create: bool = False) -> None:
        self.folder = Path(folder)
        self._db = open_ledger(self.folder, create=create)
        self._place = _place(self.folder)

    @property
    def identity(self) -> str:
        """What a worker finds in the folder's file "id" if it sees the folder."""
        path = self.folder / "id"
        try:
            if not path.exists():
                write_whole(path, uuid.uuid4().hex)
            return path.read_text()
        except OSError as error:
            raise self.full() if error.errno in NO_SPACE else error from None

    def close(self) -> None:
        """Close the ledger."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps off the folder; raises InputError where one runs already."""
        with _lock_file(self.folder) as file:
            if not _lock(file):
                file.seek(0)
                who = file.read().strip() or "another process"
                raise InputError(
                    f"{self.folder}: a sweep is running on this folder ({who}), "
                    "expected one at a time"
                )
            file.truncate(0)
            # A full disk must not keep a resume from starting.
            with contextlib.suppress(OSError):
                file.write(f"process {os.getpid()} on {os.uname().nodename}")
                file.flush()
            yield

    def is_locked(self) -> bool:
        """True while a sweep runs on the folder."""
        import fcntl

        try:
            with (self.folder / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    # -- writing: the coordinating process alone ----------------------------------------------

    def plan(self, tasks: Sequence[Task], notes: Mapping[str, Any] | None = None) -> None:
        """Make ``tasks`` the present sweep; what was computed before stays and is reused by key."""
        rows = (
            (
                position,
                task.key,
                json.dumps(task.columns()),
                task.function,
                task.config_json,
                json.dumps(task.sources),
                json.dumps(task.files),
                task.cost_s,
            )
            for position, task in enumerate(tasks)
        )
        with self._transaction() as db:
            db.execute("DELETE FROM tasks")
            db.executemany("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            for name, value in (notes or {}).items():
                db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, json.dumps(value)))

    def record(self, reports: Iterable[Report]) -> None:
        """Commit what came out of runs; a row with status "done" is never replaced.

        Raises
        ------
        StoreFull
            Nothing of ``reports`` is kept, everything before is.
        """
        reports = list(reports)
        self.expect_there()
        for report in reports:
            for name, content in report.contents.items():
                self.write_table(report.key, name, content)
        rows = [
            (
                report.key,
                report.status,
                json.dumps(report.scalars),
                json.dumps(
                    {**report.tables, **{n: mark_of(c) for n, c in report.contents.items()}}
                ),
                report.error,
                report.cpu_s,
                report.wall_s,
                time.time(),
            )
            for report in reports
        ]
        with self._transaction() as db:
            db.executemany(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
                "SET status = excluded.status, scalars = excluded.scalars, "
                "tables = excluded.tables, error = excluded.error, "
                "cpu_s = excluded.cpu_s, wall_s = excluded.wall_s, "
                "finished_at = excluded.finished_at WHERE runs.status != 'done'",
                rows,
            )

    def forget_failed(self) -> int:
        """Take the failed runs of the present sweep out of the ledger; returns how many."""
        with self._transaction() as db:
            return db.execute(
                "DELETE FROM runs WHERE status = 'failed' AND key IN (SELECT key FROM tasks)"
            ).rowcount

    @reading
    def recover(self) -> None:
        """Make the tables agree with the ledger again, after whatever stopped an earlier sweep.

        Removes files that no finished run owns, and the rows of runs whose files are missing, cut
        short, or without the first and last bytes of a Parquet file, as a power cut may leave them.
        """
        owned = {
            table_path(self.folder, key, name).name: (key, mark)
            for key, tables in self._db.execute(
                "SELECT key, tables FROM runs WHERE status = 'done' AND tables != '{}'"
            )
            for name, mark in marks_of(tables).items()
        }
        for entry in own_files(self.folder):
            if entry.name not in owned:
                os.unlink(entry.path)
            elif is_whole(entry, owned[entry.name][1]):
                del owned[entry.name]
        broken = {(key,) for key, _ in owned.values()}
        if broken:
            with self._transaction() as db:
                db.executemany("DELETE FROM runs WHERE key = ?", sorted(broken))

    def expect_there(self) -> None:
        """Raise StoreLost where the folder is not any more the one that was opened."""
        if _place(self.folder) != self._place:
            raise StoreLost(
                f"{self.folder}: was removed or replaced while a sweep was running on it; "
                "start the same command again"
            )

    @reading
    def expect_tables(self) -> None:
        """Raise StoreLost where tables of finished runs of the present sweep are not there."""
        self.expect_there()
        there = {entry.name for entry in own_files(self.folder)}
        rows = self._db.execute(
            "SELECT key, tables FROM runs WHERE status = 'done' AND tables != '{}' "
            "AND key IN (SELECT key FROM tasks)"
        )
        lost = sum(
            any(table_path(self.folder, key, name).name not in there for name in marks_of(tables))
            for key, tables in rows
        )
        if lost:
            raise StoreLost(
                f"{self.folder}: the tables of {lost} finished runs were removed while a sweep was "
                "running on it; start the same command again, which computes these runs anew"
            )

    def write_table(self, key: str, name: str, content: bytes) -> Mark:
        """Write one table's file; returns its mark. Raises StoreFull."""
        try:
            return write_table(self.folder, key, name, content)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise self.full() from None

    def full(self, error: sqlite3.OperationalError | None = None) -> StoreFull:
        """The error of a full disk, or the one that SQLite gives."""
        kept = self._db.execute("SELECT count(*) FROM runs WHERE status = 'done'").fetchone()[0]
        return StoreFull(
            errno.ENOSPC,
            f"{disk_problem(error)}; {kept} finished runs are kept, "
            "make room and start the same command again",
            str(self.folder),
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError) and is_full(error):
                raise self.full(error) from None
            if isinstance(error, sqlite3.OperationalError) and is_read_only(error):
                self.expect_there()  # SQLite says so of a ledger that was taken away, too.
                raise InputError(
                    f"{self.folder}: cannot be written ({error}); what is in it is kept"
                ) from None
            raise

    # -- reading ------------------------------------------------------------------------------

    @reading
    def counts(self) -> Counts:
        """How far the present sweep is."""
        states = self.states()
        found = Counter(states.get(key) for key in self.planned_keys())
        return Counts(found.total(), found["done"], found["failed"])

    @reading
    def states(self) -> dict[str, str]:
        """Key -> "done" or "failed", of every run in the ledger."""
        return dict(self._db.execute("SELECT key, status FROM runs").fetchall())

    @reading
    def tasks(self) -> list[Task]:
        """The present sweep."""
        rows = self._db.execute(
            "SELECT function, config, labels, cost_s, sources, files FROM tasks ORDER BY position"
        )
        return [
            Task(
                _text(function),
                _table(json.loads(config)),
                _table(json.loads(labels)),
                float(cost_s),
                tuple(json.loads(sources)),
                tuple(json.loads(files)),
            )
            for function, config, labels, cost_s, sources, files in rows
        ]

    @reading
    def planned_keys(self) -> list[str]:
        """The keys of the present sweep as they were when it was started."""
        return [key for (key,) in self._db.execute("SELECT key FROM tasks ORDER BY position")]

    @reading
    def note(self, name: str, default: Any = None) -> Any:
        """What the sweep noted under ``name`` when it was planned."""
        row = self._db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else default

    @reading
    def failures(self) -> list[tuple[dict[str, Scalar], str]]:
        """Labels and traceback of the failed runs of the present sweep, in its order."""
        rows = self._db.execute(
            "SELECT labels, error FROM tasks JOIN runs USING (key) WHERE status = 'failed' "
            "ORDER BY position"
        )
        return [(_table(json.loads(labels)), _text(error)) for labels, error in rows]

    @reading
    def rows(self) -> Rows:
        """The present sweep in its order, one entry a run, whether it was computed or not."""
        from pydantic_core import from_json

        runs = {
            key: values
            for key, *values in self._db.execute("SELECT key, status, scalars, error FROM runs")
        }
        planned = self._db.execute("SELECT key, labels FROM tasks ORDER BY position").fetchall()
        found = [runs.get(key, ("left", "{}", "")) for key, _ in planned]
        # Parsed in one go: of a large ledger, one text at a time takes most of the time.
        return Rows(
            [key for key, _ in planned],
            _tables(from_json("[" + ",".join([labels for _, labels in planned]) + "]")),
            [status for status, _, _ in found],
            _tables(from_json("[" + ",".join([scalars for _, scalars, _ in found]) + "]")),
            [_text(error) for _, _, error in found],
        )

    @reading
    def marks(self) -> dict[str, dict[str, Mark]]:
        """The tables of each finished run, by its key."""
        rows = self._db.execute("SELECT key, tables FROM runs WHERE status = 'done'")
        return {key: marks_of(tables) for key, tables in rows}

    @reading
    def run(self, key: str) -> Report | None:
        """The row of one run; None where it was not computed."""
        row = self._db.execute(
            "SELECT status, scalars, tables, error, cpu_s, wall_s FROM runs WHERE key = ?",
            (key,),
        ).fetchone()
        if row is None:
            return None
        status, scalars, tables, error, cpu_s, wall_s = row
        return Report(
            key,
            status,
            _table(json.loads(scalars)),
            marks_of(tables),
            error=_text(error),
            cpu_s=cpu_s,
            wall_s=wall_s,
        )

    def table(self, key: str, name: str) -> DataFrame:
        """One table of one finished run; raises KeyError where the run left no such table."""
        import pandas as pd

        run = self.run(key)
        if run is None or name not in run.tables:
            raise KeyError(f"run {key[:12]} has no table {name!r}")
        return pd.read_parquet(BytesIO(read_table(self.folder, key, name, run.tables[name])))


def _text(value: Any) -> str:
    """A text of the ledger; TypeError where it holds something else."""
    if not isinstance(value, str):
        raise TypeError(f"got {value!r}, expected a text")
    return value


def _table(value: Any) -> dict[str, Any]:
    """A JSON table of the ledger; TypeError where it holds something else."""
    if not isinstance(value, dict):
        raise TypeError(f"got {value!r}, expected a table")
    return value


def _tables(values: list[Any]) -> list[dict[str, Any]]:
    return [_table(value) for value in values]


def _place(folder: Path) -> tuple[int, int] | None:
    """Which file the ledger of a folder is, whatever its name; None where there is none."""
    try:
        found = os.stat(folder / LEDGER)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _lock_file(folder: Path) -> IO[str]:
    path = folder / "lock"
    try:
        return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+")
    except OSError as error:
        why = "is a symbolic link" if path.is_symlink() else error.strerror
        raise InputError(f"{path}: cannot be written ({why})") from None


def _lock(file: IO[str]) -> bool:
    import fcntl

    # More than once, because ``is_locked`` of another process holds the lock for an instant.
    for _ in range(5):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.02)
    return False
