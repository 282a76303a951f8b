"""Files that are written whole or not at all.

A file is written under a random name beside its place and renamed (`simulator.files.outputs`); a link that
stands in the place itself is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from simulator.errors import InputError
from simulator.files.outputs import created_beside


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write; it becomes ``path`` when the block ends, and goes away where it fails.

    Example: ``with replacing(Path("runs.csv")) as file: file.write(b"seed")``.

    Raises
    ------
    OSError
        It cannot be written, or there is something that is no file: ``/dev/stdout`` must not become one.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
    temporary, file = created_beside(path)
    try:
        with file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def taken_away(made: Iterable[Path]) -> Iterator[None]:
    """Take folders away again, the innermost first, where the block fails and they are empty."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # Something is in it, or it was not made.
            for path in made:
                path.rmdir()
        raise


def not_there(folder: Path) -> list[Path]:
    """A folder and those that hold it, as far as they do not exist."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text as UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def expect_writable(path: Path, inputs: Iterable[Path | None] = (), what: str = "--out") -> None:
    """Check before any work that a file can be written, and make its folder where there is none.

    Parameters
    ----------
    inputs : files that the work reads; none of them is written over.

    Raises
    ------
    InputError
        It cannot be written, or is one of the inputs; one line.
    """
    expect_no_input(path, inputs, what)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"{what} {path}: cannot be written ({error.strerror})") from None
    if path.exists() and not path.is_file():
        raise InputError(f"{what} {path}: is no regular file, expected one or a new name")


def expect_no_input(path: Path, inputs: Iterable[Path | None], what: str = "--out") -> None:
    """Raise InputError where ``path`` is one of the inputs, under any name."""
    if any(given is not None and is_same(path, given) for given in inputs):
        raise InputError(f"{what} {path}: is an input, expected another file")


def is_same(one: Path, other: Path) -> bool:
    """True where two names mean one file or folder; False where either is not there."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
