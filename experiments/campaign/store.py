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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

from experiments.campaign.task import Scalar, Task
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

LEDGER = "ledger.sqlite"
APPLICATION_ID = 0x5C4ED1AB
SCHEMA_VERSION = 1
READ_ONLY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
PARQUET = b"PAR1"

SCHEMA = """
CREATE TABLE runs (           -- what was computed, by whichever version of the code
  key TEXT PRIMARY KEY, status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
  scalars TEXT NOT NULL, tables TEXT NOT NULL, error TEXT NOT NULL,
  cpu_s REAL NOT NULL, wall_s REAL NOT NULL, finished_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE tasks (          -- what the present sweep consists of, in order
  position INTEGER PRIMARY KEY, key TEXT NOT NULL, labels TEXT NOT NULL,
  function TEXT NOT NULL, config TEXT NOT NULL, sources TEXT NOT NULL,
  files TEXT NOT NULL, cost_s REAL NOT NULL
);
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class StoreFull(OSError):
    """The disk under a store is full; the message says in one line what is kept and what to do."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


@dataclass(frozen=True)
class Report:
    """What came out of one run, as it travels from a worker to the ledger.

    Attributes
    ----------
    tables : name -> bytes in the file that the worker wrote.
    contents : name -> the file itself, from a worker that cannot see the store's folder.
    error : traceback of a failed run, empty for a finished one.
    """

    key: str
    status: Literal["done", "failed"]
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    error: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True)
class Counts:
    """How many runs of the present sweep are in which state."""

    total: int
    done: int
    failed: int

    @property
    def left(self) -> int:
        """Neither done nor failed."""
        return self.total - self.done - self.failed


class Rows(NamedTuple):
    """The runs of the present sweep, as lists of equal length.

    ``statuses`` are "done", "failed" or "left"; ``errors`` are tracebacks, empty where all went well.
    """

    keys: list[str]
    labels: list[dict[str, Scalar]]
    statuses: list[str]
    scalars: list[dict[str, Scalar]]
    errors: list[str]


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
        self._db = _open(self.folder, create=create)

    @property
    def identity(self) -> str:
        """What a worker finds in the folder's file "id" if it sees the folder."""
        path = self.folder / "id"
        try:
            if not path.exists():
                path.write_text(uuid.uuid4().hex)
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
        with (self.folder / "lock").open("a+") as file:
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
        """Commit what came out of runs; a row that says done is never replaced.

        Raises
        ------
        StoreFull
            Nothing of ``reports`` is kept, everything before is.
        """
        reports = list(reports)
        for report in reports:
            for name, content in report.contents.items():
                self.write_table(report.key, name, content)
        rows = [
            (
                report.key,
                report.status,
                json.dumps(report.scalars),
                json.dumps({**report.tables, **{n: len(c) for n, c in report.contents.items()}}),
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

    def recover(self) -> None:
        """Make the tables agree with the ledger again, after whatever stopped an earlier sweep.

        Removes files that no finished run owns, and the rows of runs whose files are missing, cut
        short, or without the first and last bytes of a Parquet file, as a power cut may leave them.
        """
        owned = {
            table_path(self.folder, key, name).name: (key, size)
            for key, tables in self._db.execute(
                "SELECT key, tables FROM runs WHERE status = 'done' AND tables != '{}'"
            )
            for name, size in json.loads(tables).items()
        }
        for entry in _files(self.folder / "tables"):
            if entry.name not in owned:
                os.unlink(entry.path)
            elif entry.stat().st_size == owned[entry.name][1] and _is_parquet(entry.path):
                del owned[entry.name]
        broken = {(key,) for key, _ in owned.values()}
        if broken:
            with self._transaction() as db:
                db.executemany("DELETE FROM runs WHERE key = ?", sorted(broken))

    def write_table(self, key: str, name: str, content: bytes) -> int:
        """Write one table's file; returns its bytes. Raises StoreFull."""
        try:
            return write_table(self.folder, key, name, content)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise self.full() from None

    def full(self, error: sqlite3.OperationalError | None = None) -> StoreFull:
        """The error that says that the disk is full, or what else SQLite makes of it."""
        kept = self._db.execute("SELECT count(*) FROM runs WHERE status = 'done'").fetchone()[0]
        return StoreFull(
            errno.ENOSPC,
            f"{_told(error)}; {kept} finished runs are kept, "
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
            if isinstance(error, sqlite3.OperationalError) and _is_full(error):
                raise self.full(error) from None
            raise

    # -- reading ------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """How far the present sweep is."""
        states = self.states()
        found = Counter(states.get(key) for key in self.planned_keys())
        return Counts(found.total(), found["done"], found["failed"])

    def states(self) -> dict[str, str]:
        """Key -> "done" or "failed", of every run in the ledger."""
        return dict(self._db.execute("SELECT key, status FROM runs").fetchall())

    def tasks(self) -> list[Task]:
        """The present sweep."""
        rows = self._db.execute(
            "SELECT function, config, labels, cost_s, sources, files FROM tasks ORDER BY position"
        )
        return [
            Task(
                function,
                json.loads(config),
                json.loads(labels),
                cost_s,
                tuple(json.loads(sources)),
                tuple(json.loads(files)),
            )
            for function, config, labels, cost_s, sources, files in rows
        ]

    def planned_keys(self) -> list[str]:
        """The keys of the present sweep as they were when it was started."""
        return [key for (key,) in self._db.execute("SELECT key FROM tasks ORDER BY position")]

    def note(self, name: str, default: Any = None) -> Any:
        """What the sweep noted under ``name`` when it was planned."""
        row = self._db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else default

    def failures(self) -> list[tuple[dict[str, Scalar], str]]:
        """Labels and traceback of the failed runs of the present sweep, in its order."""
        rows = self._db.execute(
            "SELECT labels, error FROM tasks JOIN runs USING (key) WHERE status = 'failed' "
            "ORDER BY position"
        )
        return [(json.loads(labels), error) for labels, error in rows]

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
            from_json("[" + ",".join([labels for _, labels in planned]) + "]"),
            [status for status, _, _ in found],
            from_json("[" + ",".join([scalars for _, scalars, _ in found]) + "]"),
            [error for _, _, error in found],
        )

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
            json.loads(scalars),
            json.loads(tables),
            error=error,
            cpu_s=cpu_s,
            wall_s=wall_s,
        )

    def table(self, key: str, name: str) -> DataFrame:
        """One table of one finished run; raises KeyError where the run left no such table."""
        import pandas as pd

        path = table_path(self.folder, key, name)
        if not path.exists():
            raise KeyError(f"run {key[:12]} has no table {name!r}")
        return pd.read_parquet(path)


def table_path(folder: Path, key: str, name: str) -> Path:
    """Where the table ``name`` of the run ``key`` is kept."""
    return folder / "tables" / key[:2] / f"{key}.{name}.parquet"


def write_table(folder: Path, key: str, name: str, content: bytes) -> int:
    """Write a table's file so that it is either whole or not there; returns its bytes."""
    path = table_path(folder, key, name)
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    # The process and the clock keep a run that is started twice from writing into one file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        with temporary.open("wb") as file:
            # Not flushed to the disk, like the ledger's last rows: the kernel outlives a killed
            # process, and ``recover`` finds what a power cut shortened or left as zeros.
            file.write(content)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return len(content)


def _is_parquet(path: str) -> bool:
    """Whether a file begins and ends as Parquet files do; a block that was lost reads as zeros."""
    with open(path, "rb", buffering=0) as file:
        head = file.read(len(PARQUET))
        file.seek(-min(len(PARQUET), len(head)), os.SEEK_END)
        return head == file.read(len(PARQUET)) == PARQUET


def _lock(file: IO[str]) -> bool:
    import fcntl

    # More than once, because ``is_locked`` of another process holds the lock for an instant.
    for _ in range(5):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.02)
    return False


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as groups:
        for group in groups:
            if group.is_dir():
                with os.scandir(group.path) as entries:
                    yield from entries


def _is_full(error: sqlite3.OperationalError) -> bool:
    code = getattr(error, "sqlite_errorcode", 0)
    # Inside WAL mode a full disk may show as a failed write of the shared-memory file.
    return code == sqlite3.SQLITE_FULL or code & 0xFF == sqlite3.SQLITE_IOERR


def _told(error: sqlite3.OperationalError | None) -> str:
    if error is None or error.sqlite_errorcode == sqlite3.SQLITE_FULL:
        return "the disk is full"
    return f"the disk is full or cannot be read or written (SQLite: {error})"


def _open(folder: Path, *, create: bool) -> sqlite3.Connection:
    path = folder / LEDGER
    if not create and not path.is_file():
        raise InputError(f"{folder}: got no {LEDGER}, expected a folder that a sweep has written")
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        db = _connect(path, "mode=rwc" if create else "mode=ro")
        _check(db, folder, create=create)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.OperationalError) and _is_full(error):
            raise StoreFull(
                errno.ENOSPC, f"{_told(error)}; make room and start again", str(folder)
            ) from None
        raise InputError(f"{path}: not a ledger of schedlab ({error})") from None
    return db


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    url = path.absolute().as_uri()
    db = sqlite3.connect(f"{url}?{mode}", uri=True, isolation_level=None, timeout=30)
    try:
        db.execute("PRAGMA user_version")
    except sqlite3.OperationalError as error:
        # A folder that cannot be written holds no place for SQLite's shared memory.
        if mode != "mode=ro" or error.sqlite_errorcode & 0xFF not in READ_ONLY:
            raise
        db.close()
        db = sqlite3.connect(f"{url}?immutable=1", uri=True, isolation_level=None)
    return db


def _check(db: sqlite3.Connection, folder: Path, *, create: bool) -> None:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if create:
        # NORMAL: a commit survives the end of the process; after a power cut the last few runs
        # may be computed again, the ledger stays whole.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if create and empty:
        db.executescript(
            f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION_ID}; "
            f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )
    elif (application, version) != (APPLICATION_ID, SCHEMA_VERSION):
        raise InputError(
            f"{folder / LEDGER}: not a ledger that this version of schedlab reads "
            f"(version {version}, expected {SCHEMA_VERSION})"
        )
