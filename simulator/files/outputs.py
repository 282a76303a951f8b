"""New files under names that nobody can foresee.

A file in the making has a random name beside its place. It is created anew and never followed, so
a link that somebody planted does no harm. It gets its name when it is whole.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import IO


def created_beside(path: Path) -> tuple[Path, IO[bytes]]:
    """The name of a new file beside ``path``, to be renamed to it, and the file, open to write.

    Example: ``.jobs.parquet.0f1e2d3c4b5a6978.tmp`` beside ``jobs.parquet``.

    Raises OSError: it cannot be created.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    return temporary, open(temporary, "x+b")
