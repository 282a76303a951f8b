"""Files that are written whole or not at all.

A file is written under a random name beside its place and renamed. The random name is created
anew and never followed, so a link that somebody planted under it does no harm; a link that stands
in the place itself is replaced.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write; it becomes ``path`` when the block ends, and goes away where it fails.

    Example: ``with replacing(Path("runs.csv")) as file: file.write(b"seed")``.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with open(descriptor, "w+b") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text as UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def is_same(one: Path, other: Path) -> bool:
    """Whether two names mean one file or folder; False where either is not there."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
