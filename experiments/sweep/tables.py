"""The tables of runs: one Parquet file a run and table.

    DIR/tables/ab/ab12...<name>.parquet

Every file has a mark, its length and a hash, which the ledger keeps. What is deleted here is only
what a store itself has named: never a file of somebody else, never through a link.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from experiments.files import write_whole
from simulator.errors import InputError

TABLES = "tables"
PARQUET = b"PAR1"

GROUP = re.compile(r"[0-9a-f]{2}")
FILE = re.compile(r"[0-9a-f]{64}\.\w+\.parquet")
TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.\w+\.parquet(\.[0-9a-f]+)+\.tmp")


class Mark(NamedTuple):
    """By which a table is known again: its bytes, and their hash (hex; empty where not kept)."""

    size: int
    digest: str = ""


def mark_of(content: bytes) -> Mark:
    """The mark of a file's content."""
    return Mark(len(content), hashlib.blake2b(content, digest_size=16).hexdigest())


def marks_of(text: str) -> dict[str, Mark]:
    """The marks of a run's tables by name, as its row in the ledger has them (JSON)."""
    found = {}
    marks = json.loads(text)
    if not isinstance(marks, dict):
        raise TypeError(f"got {text!r}, expected a table of marks")
    for name, mark in marks.items():
        found[name] = Mark(*mark) if isinstance(mark, list) else Mark(int(mark))
    return found


def table_path(folder: Path, key: str, name: str) -> Path:
    """Where the table ``name`` of the run ``key`` is kept."""
    return folder / TABLES / key[:2] / f"{key}.{name}.parquet"


def write_table(folder: Path, key: str, name: str, content: bytes) -> Mark:
    """Write a table's file so that it is either whole or not there; returns its mark."""
    path = table_path(folder, key, name)
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    expect_own(folder, path.parent)
    # Not flushed to the disk, like the ledger's last rows: the kernel outlives a killed
    # process, and ``Store.recover`` finds what a power cut shortened or left as zeros.
    write_whole(path, content)
    return mark_of(content)


def read_table(folder: Path, key: str, name: str, mark: Mark) -> bytes:
    """The file of a table, as it was written.

    Raises
    ------
    InputError
        It is not there, or its bytes are not those that were written.
    """
    path = table_path(folder, key, name)
    again = "start the same sweep again, which computes the run anew"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: is missing; {again}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if mark not in (mark_of(content), Mark(len(content))):
        raise InputError(f"{path}: was changed since it was written; delete it and {again}")
    return content


def expect_own(folder: Path, group: Path | None = None) -> None:
    """Raise InputError where the folder of tables, or a part of it, is a link to elsewhere."""
    for path in (folder / TABLES, *([group] if group is not None else [])):
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link, expected a folder of this sweep alone")


def own_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The files that a store has named, tables and what was left of them under way."""
    expect_own(folder)
    try:
        groups = sorted(os.scandir(folder / TABLES), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for group in groups:
        if GROUP.fullmatch(group.name) and group.is_dir(follow_symlinks=False):
            with os.scandir(group.path) as entries:
                yield from (entry for entry in entries if _is_own(entry, group.name))


def _is_own(entry: os.DirEntry[str], group: str) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return False
    if FILE.fullmatch(entry.name):
        return entry.name.startswith(group)
    return TEMPORARY.fullmatch(entry.name) is not None and entry.name.startswith(f".{group}")


def is_whole(entry: os.DirEntry[str], mark: Mark) -> bool:
    """Whether a file has its length, and begins and ends as Parquet files do.

    A block that was lost in a power cut reads as zeros.
    """
    if entry.is_symlink() or entry.stat().st_size != mark.size:
        return False
    with open(entry.path, "rb", buffering=0) as file:
        return _has_ends(file)


def _has_ends(file: IO[bytes]) -> bool:
    head = file.read(len(PARQUET))
    file.seek(-min(len(PARQUET), len(head)), os.SEEK_END)
    return head == file.read(len(PARQUET)) == PARQUET
