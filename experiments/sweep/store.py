"""The results of a sweep in one folder.

    DIR/runs.sqlite    the run database: one row a run, and its tables as Parquet
    DIR/lock           held while a sweep runs on the folder

The coordinating process alone writes. A run is finished once its row is committed, and its tables are
committed with it, so the folder can be resumed from whatever instant it was left at.

Damage has one rule: each row and each table is kept with its hash. `Store.recover` removes the runs that
do not match, and the sweep computes them again; whoever reads one before is told so in one line.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from experiments.files import not_there, taken_away, write_whole
from experiments.sweep.task import Scalar, Task
from simulator.errors import InputError

if TYPE_CHECKING:
    from filelock import FileLock
    from pandas import DataFrame

DATABASE = "runs.sqlite"
LOCK, HOLDER = "lock", "lock-holder"
"""Held while a sweep runs on the folder, and who holds it."""
PARTS = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK, HOLDER)
"""A sweep's own files; SQLite keeps two beside the database."""
OF_EARLIER_RELEASES = "ledger.sqlite"

APPLICATION_ID = 0x5C4ED1AB
SCHEMA_VERSION = 4
SCHEMA = """
CREATE TABLE runs (           -- the computed runs, by whichever version of the code
  key TEXT PRIMARY KEY, status TEXT NOT NULL, scalars TEXT NOT NULL, tables TEXT NOT NULL,
  error TEXT NOT NULL, seed_used INTEGER NOT NULL, cpu_s REAL NOT NULL, wall_s REAL NOT NULL,
  digest TEXT NOT NULL        -- hash of all columns before
);
CREATE TABLE contents (       -- Parquet files by their hash
  digest TEXT PRIMARY KEY, content BLOB NOT NULL
);
CREATE TABLE tasks (          -- the runs of the present sweep, in order
  position INTEGER PRIMARY KEY, key TEXT NOT NULL, labels TEXT NOT NULL,
  function TEXT NOT NULL, config TEXT NOT NULL, sources TEXT NOT NULL,
  files TEXT NOT NULL, cost_s REAL NOT NULL, fixed_jobs INTEGER NOT NULL,
  digest TEXT NOT NULL        -- hash of all columns before
);
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
COLUMNS = "key, status, scalars, tables, error, seed_used, cpu_s, wall_s"
PLAN = "position, key, labels, function, config, sources, files, cost_s, fixed_jobs"
VALUES = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"

READ_ONLY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
AGAIN = "start the same sweep again, which computes them anew"

Method = TypeVar("Method", bound=Callable[..., Any])


class StoreFull(OSError):
    """The disk under a store is full; the message is one line: what is kept and what to do."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class StoreLost(RuntimeError):
    """The folder of a store was removed or replaced while a sweep was running."""


@dataclass(frozen=True)
class Report:
    """The result of one run, as it travels from a worker to the run database.

    Attributes
    ----------
    tables : name -> Parquet file.
    error : traceback of a failed run, empty for a finished one.
    seed_used : False where no random number was drawn, so that another seed gives the same result.
    """

    key: str
    status: Literal["done", "failed"]
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    tables: Mapping[str, bytes] = field(default_factory=dict)
    error: str = ""
    seed_used: bool = True
    cpu_s: float = 0.0
    wall_s: float = 0.0


class Run(NamedTuple):
    """A row of the run database. ``tables``: name -> hash of the Parquet file; see `Report`."""

    key: str
    status: str
    scalars: dict[str, Scalar]
    tables: dict[str, str]
    error: str
    seed_used: bool
    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class Counts:
    """Runs of the present sweep by state; ``kept`` are others that the database holds."""

    total: int
    done: int
    failed: int
    kept: int

    @property
    def left(self) -> int:
        """Neither done nor failed."""
        return self.total - self.done - self.failed


class Rows(NamedTuple):
    """The runs of the present sweep, as lists of equal length.

    ``runs`` are None where a run was not computed.
    """

    keys: list[str]
    labels: list[dict[str, Scalar]]
    runs: list[Run | None]


def reading(method: Method) -> Method:
    """Turn damage that a method finds in the database into an `InputError` of one line."""

    @functools.wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except InputError:
            raise
        except (sqlite3.Error, ValueError, TypeError, AttributeError) as error:
            if isinstance(error, sqlite3.Error) and is_full(error):
                raise
            first_line = str(error).partition("\n")[0]
            raise InputError(
                f"{self.folder / DATABASE}: is damaged ({first_line}); "
                "move it away and start the sweep again"
            ) from None

    return cast(Method, read)


class Store:
    """The results in one folder. Reading needs no lock; ``plan`` and ``record`` want ``locked()``.

    Parameters
    ----------
    folder : where; made where ``create`` is set, and then it has to be empty or a sweep's.
    create : False opens for reading, and only a folder that has a run database.

    Raises
    ------
    InputError
        No run database there, not one of schedlab, of another version, or other files in the folder.
    StoreFull
        The disk is full.
    """

    def __init__(self, folder: Path | str, *, create: bool = False) -> None:
        self.folder = Path(folder)
        self._db = _open(self.folder, create=create)
        self._place = _place(self.folder)

    def close(self) -> None:
        """Close the run database."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps off the folder; raises InputError where one runs already."""
        from filelock import Timeout

        lock = _lock(self.folder)
        with contextlib.ExitStack() as held:
            try:
                # `is_locked` of another process holds it for an instant.
                held.enter_context(lock.acquire(timeout=0.1))
            except Timeout:
                raise InputError(
                    f"{self.folder}: a sweep is running on this folder ({_holder(self.folder)}), "
                    "expected one at a time"
                ) from None
            except OSError as error:
                path = self.folder / LOCK
                why = "is a symbolic link" if path.is_symlink() else error.strerror
                raise InputError(f"{path}: cannot be written ({why})") from None
            # A full disk must not keep a resume from starting.
            with contextlib.suppress(OSError):
                write_whole(self.folder / HOLDER, f"process {os.getpid()} on {platform.node()}")
            yield

    def is_locked(self) -> bool:
        """True while a sweep runs on the folder."""
        from filelock import Timeout

        try:
            with _lock(self.folder).acquire(timeout=0):
                return False
        except Timeout:
            return True
        except OSError:
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
                float(task.cost_s),
                int(task.fixed_jobs),
            )
            for position, task in enumerate(tasks)
        )
        with self._transaction() as db:
            db.execute("DELETE FROM tasks")
            db.executemany(
                "INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((*row, _digest_of_row(row)) for row in rows),
            )
            for name, value in (notes or {}).items():
                db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, json.dumps(value)))

    def record(self, reports: Iterable[Report]) -> None:
        """Commit results of runs, all or none; a row with status "done" is never replaced.

        Raises
        ------
        StoreFull
            Nothing of ``reports`` is kept, everything before is.
        """
        reports = list(reports)
        self.expect_there()
        contents: dict[str, bytes] = {}
        rows = []
        for report in reports:
            digests = {name: _digest(content) for name, content in report.tables.items()}
            contents |= {digests[name]: content for name, content in report.tables.items()}
            row = (
                report.key,
                report.status,
                json.dumps(report.scalars),
                json.dumps(digests),
                report.error,
                int(report.seed_used),
                float(report.cpu_s),
                float(report.wall_s),
            )
            rows.append((*row, _digest_of_row(row)))
        with self._transaction() as db:
            db.executemany(
                "INSERT INTO contents VALUES (?, ?) ON CONFLICT DO NOTHING", contents.items()
            )
            db.executemany(
                "DELETE FROM runs WHERE key = ? AND status != 'done'", [row[:1] for row in rows]
            )
            db.executemany(f"INSERT INTO runs VALUES {VALUES} ON CONFLICT DO NOTHING", rows)

    def share(self, key: str, others: Iterable[str]) -> None:
        """Give the result of a finished run to ``others``, which differ from it in a seed unused."""
        row = self._db.execute(f"SELECT {COLUMNS} FROM runs WHERE key = ?", (key,)).fetchone()
        rows = [(other, *row[1:-2], 0.0, 0.0) for other in others]
        with self._transaction() as db:
            db.executemany(
                f"INSERT OR REPLACE INTO runs VALUES {VALUES}",
                [(*row, _digest_of_row(row)) for row in rows],
            )

    def forget_failed(self) -> int:
        """Take the failed runs of the present sweep out of the database; returns how many."""
        with self._transaction() as db:
            return db.execute(
                "DELETE FROM runs WHERE status = 'failed' AND key IN (SELECT key FROM tasks)"
            ).rowcount

    @reading
    def recover(self) -> int:
        """Remove the runs that do not match their hash, or whose tables do not; returns how many."""
        contents = self._db.execute("SELECT digest, content FROM contents")
        whole = {digest for digest, content in contents if _digest(content) == digest}
        broken, owned = [], set[str]()
        for number, *row, digest in self._db.execute(f"SELECT rowid, {COLUMNS}, digest FROM runs"):
            if digest == _digest_of_row(row) and whole.issuperset(
                tables := _table(row[3]).values()
            ):
                owned.update(tables)
            else:
                broken.append((number,))
        there = self._db.execute("SELECT rowid, digest FROM contents").fetchall()
        stale = [(number,) for number, digest in there if digest not in owned]
        if broken or stale:
            with self._transaction() as db:
                db.executemany("DELETE FROM runs WHERE rowid = ?", broken)
                db.executemany("DELETE FROM contents WHERE rowid = ?", stale)
        return len(broken)

    def expect_there(self) -> None:
        """Raise StoreLost where the folder is not any more the one that was opened."""
        if _place(self.folder) != self._place:
            raise StoreLost(
                f"{self.folder}: was removed or replaced while a sweep was running on it; "
                "start the same command again"
            )

    def full(self, error: sqlite3.Error) -> StoreFull:
        """The error of a full disk."""
        kept = self._db.execute("SELECT count(*) FROM runs WHERE status = 'done'").fetchone()[0]
        return _full(self.folder, error, f"{kept} finished runs are kept, ")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error) and is_full(error):
                raise self.full(error) from None
            if isinstance(error, sqlite3.Error) and is_read_only(error):
                self.expect_there()  # SQLite says so of a database that was taken away, too.
                raise InputError(
                    f"{self.folder}: cannot be written ({error}); what is in it is kept"
                ) from None
            raise

    # -- reading ------------------------------------------------------------------------------

    @reading
    def counts(self) -> Counts:
        """Progress of the present sweep."""
        states = self.states()
        planned = self.planned_keys()
        found = Counter(states.get(key) for key in planned)
        kept = len(states.keys() - set(planned))
        return Counts(found.total(), found["done"], found["failed"], kept)

    @reading
    def states(self) -> dict[str, str]:
        """Key -> "done" or "failed", of every run in the database."""
        return dict(self._db.execute("SELECT key, status FROM runs").fetchall())

    @reading
    def seedless(self) -> set[str]:
        """The keys of finished runs that drew no random number."""
        rows = self._db.execute("SELECT key FROM runs WHERE status = 'done' AND NOT seed_used")
        return {key for (key,) in rows}

    @reading
    def same_under_all_seeds(self) -> set[str]:
        """The keys of the runs of the present sweep with fixed jobs that drew no random number."""
        rows = self._db.execute(
            "SELECT key FROM tasks JOIN runs USING (key) "
            "WHERE fixed_jobs AND status = 'done' AND NOT seed_used"
        )
        return {key for (key,) in rows}

    @reading
    def tasks(self) -> list[Task]:
        """The present sweep."""
        return [
            Task(
                _text(function),
                _table(config),
                _table(labels),
                float(cost_s),
                tuple(json.loads(sources)),
                tuple(json.loads(files)),
                bool(fixed_jobs),
            )
            for _, _, labels, function, config, sources, files, cost_s, fixed_jobs in self._plan()
        ]

    @reading
    def planned_keys(self) -> list[str]:
        """The keys of the present sweep as they were when it was started."""
        return [key for (key,) in self._db.execute("SELECT key FROM tasks ORDER BY position")]

    @reading
    def note(self, name: str, default: Any = None) -> Any:
        """The value that the sweep noted under ``name`` when it was planned."""
        row = self._db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else default

    @reading
    def failures(self) -> list[tuple[dict[str, Scalar], str]]:
        """Labels and traceback of the failed runs of the present sweep, in its order."""
        failed = dict(self._db.execute("SELECT key, error FROM runs WHERE status = 'failed'"))
        return [
            (_table(labels), _text(failed[key]))
            for _, key, labels, *_ in self._plan()
            if key in failed
        ]

    @reading
    def rows(self) -> Rows:
        """The present sweep in its order, one entry a run, whether it was computed or not."""
        runs = {run.key: run for run in self._runs("")}
        planned = list(self._plan())
        keys = [key for _, key, *_ in planned]
        labels = [_table(labels) for _, _, labels, *_ in planned]
        return Rows(keys, labels, [runs.get(key) for key in keys])

    @reading
    def run(self, key: str) -> Run | None:
        """The row of one run; None where it was not computed."""
        return next(self._runs("WHERE key = ?", key), None)

    @reading
    def content(self, run: Run, name: str) -> bytes:
        """One table of a finished run as a Parquet file.

        Raises
        ------
        KeyError
            The run left no such table.
        InputError
            The bytes are not those that were written.
        """
        if name not in run.tables:
            raise KeyError(f"run {run.key[:12]} has no table {name!r}")
        digest = run.tables[name]
        row = self._db.execute("SELECT content FROM contents WHERE digest = ?", (digest,))
        content = (row.fetchone() or (b"",))[0]
        if _digest(content) != digest:
            raise self._changed(f"table {name!r} of the run {run.key[:12]}")
        return bytes(content)

    def table(self, key: str, name: str) -> DataFrame:
        """One table of one finished run; raises as ``content``."""
        import pandas as pd

        run = self.run(key)
        if run is None:
            raise KeyError(f"no run {key[:12]}")
        return pd.read_parquet(BytesIO(self.content(run, name)))

    def _runs(self, where: str, *values: str) -> Iterator[Run]:
        from pydantic_core import from_json  # three times as fast as json

        for *row, digest in self._db.execute(f"SELECT {COLUMNS}, digest FROM runs {where}", values):
            if digest != _digest_of_row(row):
                raise self._changed(f"the run {row[0][:12]}")
            key, status, scalars, tables, error, seed_used, cpu_s, wall_s = row
            yield Run(
                key, status, from_json(scalars), from_json(tables), error, bool(seed_used), cpu_s,
                wall_s,
            )  # fmt: skip

    def _plan(self) -> Iterator[Sequence[Any]]:
        """The rows of the present sweep, in its order, each as its hash says."""
        for *row, digest in self._db.execute(f"SELECT {PLAN}, digest FROM tasks ORDER BY position"):
            if digest != _digest_of_row(row):
                raise self._changed(f"the plan of the run {_text(row[1])[:12]}")
            yield row

    def _changed(self, what: str) -> InputError:
        return InputError(f"{self.folder / DATABASE}: {what} does not match its hash; {AGAIN}")


@contextlib.contextmanager
def store_to_write(folder: Path) -> Iterator[Store]:
    """The store of a folder, made where there is none; a new one goes away again where its sweep is refused."""
    is_new = not is_sweep(folder)
    with (
        taken_away(not_there(folder)),
        contextlib.ExitStack() as refused,
        Store(folder, create=True) as store,
    ):
        try:
            yield store
        except InputError:
            if is_new and not store.states():
                for name in PARTS:
                    refused.callback((folder / name).unlink, missing_ok=True)
            raise


def _digest(content: Any) -> str:
    """Hash (hex) of bytes; empty where a damaged cell holds something else."""
    if not isinstance(content, bytes):
        return ""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _digest_of_row(row: Sequence[Any]) -> str:
    return _digest(repr(tuple(row)).encode(errors="surrogatepass"))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"got {value!r}, expected a text")
    return value


def _table(text: Any) -> dict[str, Any]:
    """A table from JSON; TypeError where it is something else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"got {value!r}, expected a table")
    return value


# -- opening ----------------------------------------------------------------------------------


def is_full(error: sqlite3.Error) -> bool:
    """Whether an error means that the disk has no space left."""
    code = getattr(error, "sqlite_errorcode", 0)
    # Inside WAL mode a full disk may show as a failed write of the shared-memory file.
    return bool(code == sqlite3.SQLITE_FULL or code & 0xFF == sqlite3.SQLITE_IOERR)


def is_read_only(error: sqlite3.Error) -> bool:
    """Whether an error means that the database cannot be written."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in READ_ONLY


def is_sweep(folder: Path) -> bool:
    """Whether a folder holds the run database of a sweep."""
    return (folder / DATABASE).exists()


def _full(folder: Path, error: sqlite3.Error, kept: str = "") -> StoreFull:
    problem = "the disk is full"
    if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_FULL:
        problem = f"the disk is full or cannot be read or written (SQLite: {error})"
    todo = f"{problem}; {kept}free some space and start the same command again"
    return StoreFull(errno.ENOSPC, todo, str(folder))


def _open(folder: Path, *, create: bool) -> sqlite3.Connection:
    path = folder / DATABASE
    if path.is_symlink():
        raise InputError(f"{path}: is a symbolic link, expected a file of this folder")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is no regular file, expected a run database of schedlab")
    if (folder / OF_EARLIER_RELEASES).exists() and not path.exists():
        raise InputError(
            f"{folder}: holds a sweep of an earlier release ({OF_EARLIER_RELEASES}), which that "
            "release reads; expected another folder"
        )
    if not create and not path.is_file():
        raise InputError(f"{folder}: got no {DATABASE}, expected a folder that a sweep has written")
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
            _expect_empty(folder)
        db = _connect(path, "mode=rwc" if create else "mode=ro")
        try:
            _check(db, folder, create=create)
        except BaseException:
            db.close()
            raise
        # Damaged texts are read all the same: their hash tells.
        db.text_factory = functools.partial(str, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    except sqlite3.Error as error:
        if is_full(error):
            raise _full(folder, error) from None
        if create and is_read_only(error):
            raise InputError(f"{folder}: cannot be written ({error})") from None
        raise InputError(f"{path}: not a run database of schedlab ({error})") from None
    return db


def _expect_empty(folder: Path) -> None:
    """A folder without a run database that holds something belongs to somebody else."""
    if is_sweep(folder):
        return
    others = sorted(path.name for path in folder.iterdir() if path.name not in (LOCK, HOLDER))
    if others:
        named = ", ".join(others[:3]) + (", .." if len(others) > 3 else "")
        raise InputError(
            f"{folder}: holds other files ({named}), expected a new or empty folder, "
            "or one that a sweep has written"
        )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    url = path.absolute().as_uri()
    db = sqlite3.connect(f"{url}?{mode}", uri=True, isolation_level=None, timeout=30)
    try:
        db.execute("PRAGMA user_version")
    except sqlite3.OperationalError as error:
        # A folder that cannot be written holds no place for SQLite's shared memory.
        db.close()
        if mode != "mode=ro" or not is_read_only(error):
            raise
        # A sweep that was killed leaves its last runs in a file beside the database.
        beside = path.with_name(f"{path.name}-wal")
        if beside.exists() and beside.stat().st_size:
            raise InputError(
                f"{beside}: holds runs that cannot be read where the folder cannot be written, "
                "expected a copy of the whole folder at a place that can be written"
            ) from None
        db = sqlite3.connect(f"{url}?immutable=1", uri=True, isolation_level=None)
    return db


def _check(db: sqlite3.Connection, folder: Path, *, create: bool) -> None:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if create:
        # NORMAL: a commit survives the end of the process; after a power cut the last few runs
        # may be computed again, the database stays whole.
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
            f"{folder / DATABASE}: not a run database that this version of schedlab reads "
            f"(version {version}, expected {SCHEMA_VERSION})"
        )


def _place(folder: Path) -> tuple[int, int] | None:
    """Device and inode of a folder's run database; None where there is none."""
    try:
        found = os.stat(folder / DATABASE)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _lock(folder: Path) -> FileLock:
    from filelock import FileLock  # takes a tenth of a second, with all that it imports

    return FileLock(folder / LOCK, mode=0o666)


def _holder(folder: Path) -> str:
    try:
        return (folder / HOLDER).read_text("utf-8") or "another process"
    except OSError:
        return "another process"
