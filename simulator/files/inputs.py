"""Files that users bring, opened with care: regular files of at most a stated size.

A named pipe would wait for ever, a device never ends, and a few kilobytes of gzip can hold
gigabytes. What is refused is one line that names the file, its size and the limit.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from simulator.errors import InputError

MOST_BYTES = 2 * 2**30
"""Of a data file, compressed or not: 2 GiB."""

MOST_UNPACKED, FREE_BYTES = 100, 64 * 2**20
"""A compressed file holds at most so many times its bytes; 64 MiB are free."""

MOST_CONFIG_BYTES = 10 * 2**20
"""Of a configuration file: 10 MiB."""

_CHUNK = 2**20
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)


def read_input(path: str | Path, expected: str = "a file", most: int = MOST_BYTES) -> bytes:
    """The content of a file; one that ends in .gz, .bz2 or .xz is uncompressed.

    Parameters
    ----------
    expected : what should be there, for messages.
    most : bytes at most, also after uncompressing.

    Raises InputError: no such file, no regular file, too large, cannot be read, or not what its name
    says.
    """
    path = Path(path)
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file, expected {expected}") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path!s}: cannot be read ({_reason(error)})".replace("\0", "\\0")
        ) from None
    if not stat.S_ISREG(found.st_mode):
        kind = "is a folder" if stat.S_ISDIR(found.st_mode) else "is no regular file"
        raise InputError(f"{path}: cannot be read ({kind}), expected {expected}")
    if found.st_size > most:
        raise InputError(f"{path}: has {found.st_size:,} bytes, expected at most {most:,}")
    opener = _OPENERS.get(path.suffix.lower(), _plain)
    if opener is not _plain:
        most = min(most, max(FREE_BYTES, MOST_UNPACKED * found.st_size))
    try:
        if opener is not _plain:  # what is too much is not kept until that is known
            with opener(path) as file:
                _expect_at_most(path, file, most)
        with opener(path) as file:
            return cast(bytes, file.read())
    except _BROKEN as error:
        raise InputError(
            f"{path}: cannot be read ({_reason(error)}), expected {expected}"
        ) from None


def _expect_at_most(path: Path, file: IO[bytes], most: int) -> None:
    total = 0
    while part := file.read(_CHUNK):
        total += len(part)
        if total > most:
            raise InputError(f"{path}: has more than {most:,} bytes, expected at most that")


def read_input_text(path: str | Path, expected: str = "a text file", most: int = MOST_BYTES) -> str:
    """The content of a file as text (UTF-8, with or without a byte-order mark)."""
    content = read_input(path, expected, most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: cannot be read (not UTF-8 text, byte {error.start}), expected {expected}"
        ) from None


def read_json(path: str | Path, expected: str, most: int = MOST_BYTES) -> Any:
    """The value in a JSON file of at most so many bytes; raises InputError naming file and line."""
    text = read_input_text(path, expected, most)
    try:
        found = json.loads(text)
        if "\\ud" in text.lower():  # else each text in it came from UTF-8
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise InputError(
            f"{path}: has half a character (\\ud800 to \\udfff) in a text, expected {expected}"
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}), expected {expected}"
        ) from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply, expected {expected}") from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{path}: not JSON ({error}), expected {expected}") from None


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())
