"""The ledger of a store: one SQLite file, its tables and its opening."""

from __future__ import annotations

import contextlib
import errno
import functools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from simulator.errors import InputError

LEDGER = "ledger.sqlite"
APPLICATION_ID = 0x5C4ED1AB
SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Version 1 keeps no hash of a table."""

READ_ONLY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
NO_RIGHTS = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

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
# Files that may lie in a folder before its ledger does.
BEFORE_THE_LEDGER = ("lock", "id")

Method = TypeVar("Method", bound=Callable[..., Any])


class StoreFull(OSError):
    """The disk under a store is full; the message is one line: what is kept and what to do."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class StoreLost(RuntimeError):
    """The folder of a store, or a part of it, was taken away while a sweep was running."""


def reading(method: Method) -> Method:
    """Marks a method that reads the ledger: damage in it becomes an `InputError` of one line."""

    @functools.wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (InputError, sqlite3.OperationalError) as error:
            if isinstance(error, InputError) or is_full(error):
                raise
            raise damaged(self.folder, error) from None
        except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError) as error:
            raise damaged(self.folder, error) from None

    return cast(Method, read)


def damaged(folder: Path, error: Exception) -> InputError:
    """The error of a ledger whose contents are not what schedlab wrote."""
    first_line = str(error).partition("\n")[0]
    return InputError(
        f"{folder / LEDGER}: is damaged ({first_line}); move it away and start the sweep again"
    )


def is_full(error: sqlite3.Error) -> bool:
    """Whether an error means that the disk has no room."""
    code = getattr(error, "sqlite_errorcode", 0)
    # Inside WAL mode a full disk may show as a failed write of the shared-memory file.
    return bool(code == sqlite3.SQLITE_FULL or code & 0xFF == sqlite3.SQLITE_IOERR)


def is_read_only(error: BaseException) -> bool:
    """Whether an error means that files there cannot be written."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in READ_ONLY
    return isinstance(error, OSError) and error.errno in NO_RIGHTS


def disk_problem(error: sqlite3.OperationalError | None) -> str:
    """In words, what is wrong with the disk."""
    if error is None or error.sqlite_errorcode == sqlite3.SQLITE_FULL:
        return "the disk is full"
    return f"the disk is full or cannot be read or written (SQLite: {error})"


def open_ledger(folder: Path, *, create: bool) -> sqlite3.Connection:
    """The ledger of a folder; with ``create`` the folder is made, or has to be empty.

    Raises
    ------
    InputError
        No ledger there, not one of schedlab, damaged, or a folder with other files in it.
    StoreFull
        No room.
    """
    path = folder / LEDGER
    if path.is_symlink():
        raise InputError(f"{path}: is a symbolic link, expected a file of this folder")
    if not create and not path.is_file():
        raise InputError(f"{folder}: got no {LEDGER}, expected a folder that a sweep has written")
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
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.OperationalError) and is_full(error):
            problem = f"{disk_problem(error)}; make room and start again"
            raise StoreFull(errno.ENOSPC, problem, str(folder)) from None
        if create and is_read_only(error):
            raise InputError(f"{folder}: cannot be written ({error})") from None
        raise InputError(f"{path}: not a ledger of schedlab ({error})") from None
    return db


def _expect_empty(folder: Path) -> None:
    """A folder without a ledger that holds something belongs to somebody else."""
    if (folder / LEDGER).exists():
        return
    others = sorted(p.name for p in folder.iterdir() if p.name not in BEFORE_THE_LEDGER)
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
        _expect_all_in_ledger(path)
        db = sqlite3.connect(f"{url}?immutable=1", uri=True, isolation_level=None)
    return db


def _expect_all_in_ledger(path: Path) -> None:
    """A sweep that was killed leaves its last runs in a file beside the ledger."""
    beside = path.with_name(f"{path.name}-wal")
    if beside.exists() and beside.stat().st_size:
        raise InputError(
            f"{beside}: holds runs that cannot be read where the folder cannot be written, "
            "expected a copy of the whole folder at a place that can be written"
        )


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
    elif application != APPLICATION_ID or version not in READABLE_VERSIONS:
        raise InputError(
            f"{folder / LEDGER}: not a ledger that this version of schedlab reads "
            f"(version {version}, expected {SCHEMA_VERSION})"
        )
    elif create and version != SCHEMA_VERSION:
        with contextlib.suppress(sqlite3.OperationalError):
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
