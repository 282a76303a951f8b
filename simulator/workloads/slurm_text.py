"""Texts of Slurm's commands: times ("1-02:00:00"), trackable resources ("cpu=8,gres/gpu:a100=2,mem=64G")."""

from __future__ import annotations

import math
import re

UNLIMITED = ("UNLIMITED", "INFINITE", "PARTITION_LIMIT", "NOT_SET", "")
"""Limits of time that state none, in capitals."""

_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_GPUS = re.compile(r"(?:^|,)(?:gres[/:])?gpu(?::([^=:,(]*[^=:,(\d][^=:,(]*))?[=:](\d{1,9})(?!\d)")
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


def gpus_of(text: str) -> int:
    """GPUs of a list of resources: "gres/gpu=8" is the sum of the types that are listed beside it."""
    of_type = {kind: int(count) for kind, count in _GPUS.findall(text)}
    return of_type.get("", sum(of_type.values()))


def gpu_type_of(text: str) -> str:
    """The type of GPU in a list of resources; "" where none or several are listed."""
    kinds = {kind for kind, count in _GPUS.findall(text) if kind and int(count)}
    return kinds.pop() if len(kinds) == 1 else ""


def gpu_types_in(text: str) -> str:
    """Types of the GPUs in a list of resources, "a100" or "a100|h100"; "" where it names none."""
    return "|".join(kind for kind, _ in _GPUS.findall(text) if kind)


def amount_of(text: str, name: str) -> float:
    """Number of a resource ("cpu"), bytes where it has a unit of memory ("mem=64G"); NaN where it is not listed."""
    given = dict(part.partition("=")[::2] for part in text.split(","))
    found = _SIZE.fullmatch(given.get(name, ""))
    return float(found[1]) * 1024.0 ** " KMGTP".index(found[2] or " ") if found else math.nan
