"""Texts of Slurm's commands: times ("1-02:00:00"), trackable resources ("cpu=8,gres/gpu:a100=2,mem=64G")."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

UNLIMITED = ("UNLIMITED", "INFINITE", "PARTITION_LIMIT", "NOT_SET", "")
"""Limits of time that state none, in capitals."""

_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_GPUS = re.compile(r"(?:^|,)(?:gres[/:])?gpu(?::([^=:,(]*[^=:,(\d][^=:,(]*))?[=:](\d{1,9})(?!\d)")
_SLICE = re.compile(r"(?:^|[^0-9])([1-7])g\.(\d{1,3})gb", re.ASCII)
A30 = {(1, 6), (2, 12), (4, 24)}
"""Slices of a GPU that has four of them, and GB of each."""
_LATEST = 4_102_444_800
"""2100, as seconds since 1970."""
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([KMGTP]?)[cn]?", re.ASCII)


def seconds_of(text: str) -> float:
    """Seconds of "7-0", "1-02:00:00", "90" (minutes), "90:00" (minutes and seconds) or "12:00:00"; NaN of no time."""
    found = _TIME.fullmatch(text)
    if found is None:
        return math.nan
    days, first, second, third = (int(part or 0) for part in found.groups())
    if found[1] is not None or found[4] is not None:
        return days * 86_400.0 + first * 3600 + second * 60 + third
    return first * 60.0 + second


def epoch_date(text: str) -> str:
    """Seconds since 1970 as a date; "" for 0, which stands for what is not known; another text as it is."""
    if text.isascii() and text.isdecimal() and len(text) <= 10 and 0 < int(text) < _LATEST:
        return datetime.fromtimestamp(int(text), UTC).isoformat()
    return "" if text == "0" else text


def gpus_of(text: str) -> float:
    """GPUs of a list of resources: "gres/gpu=8" is the sum of the types that are listed beside it.

    A slice ("a100_1g.5gb=1", MIG) is its part of a GPU.
    """
    of_type = {kind: int(count) for kind, count in _GPUS.findall(text)}
    listed = sum(count for kind, count in of_type.items() if kind)
    parts = sum(count * part_of(kind) for kind, count in of_type.items() if kind)
    return max(of_type.get("", listed) - listed + parts, 0.0)


def part_of(kind: str) -> float:
    """The part of a GPU that a type of MIG is ("1g.5gb": 1/7, of an A30 "1g.6gb": 1/4); 1 for a whole GPU."""
    found = _SLICE.search(kind)
    if found is None:
        return 1.0
    slices, size = int(found[1]), int(found[2])
    return min(slices / (4 if (slices, size) in A30 else 7), 1.0)


def has_slices(text: str) -> bool:
    """Whether a list of resources names slices of GPUs."""
    return any(part_of(kind) < 1 for kind, _ in _GPUS.findall(text))


def gpu_type_of(text: str) -> str:
    """The type of GPU in a list of resources; "" where none or several are listed."""
    kinds = {_card(kind) for kind, count in _GPUS.findall(text) if kind and int(count)} - {""}
    return kinds.pop() if len(kinds) == 1 else ""


def gpu_types_in(text: str) -> str:
    """Types of the GPUs in a list of resources, "a100" or "a100|h100"; "" where it names none."""
    return "|".join(filter(None, (_card(kind) for kind, _ in _GPUS.findall(text))))


def _card(kind: str) -> str:
    """The GPU that a type is of, "a100" of "a100_1g.5gb"; "" where a slice does not say it."""
    found = _SLICE.search(kind)
    return kind[: found.start()].rstrip("_-.") if found else kind


def amount_of(text: str, name: str) -> float:
    """Number of a resource ("cpu"), bytes where it has a unit of memory ("mem=64G"); NaN where it is not listed."""
    given = dict(part.partition("=")[::2] for part in text.split(","))
    found = _SIZE.fullmatch(given.get(name, ""))
    return float(found[1]) * 1024.0 ** " KMGTP".index(found[2] or " ") if found else math.nan
