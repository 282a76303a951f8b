"""Types of GPUs that are known: their names and spellings, memory, power and prices (``data/gpu_types.csv``)."""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from simulator.errors import InputError
from simulator.files.bundled import data_path

_MAKER = {"nvidia", "tesla", "geforce"}
"""Words that programs write before a type, and that tell nothing."""


class GpuType(NamedTuple):
    """A type of GPU.

    Attributes
    ----------
    name : as it is written here.
    memory_gb : memory of a GPU, GB.
    power_w : power of a GPU, W, from its data sheet; NaN where it is not known.
    price_per_gpu_hour : on demand, $/h; NaN where it is not known.
    """

    name: str
    memory_gb: float
    power_w: float
    price_per_gpu_hour: float


@cache
def gpu_types() -> Mapping[str, GpuType]:
    """The types by name."""
    figures = GpuType._fields[1:]
    return {
        row["gpu_type"]: GpuType(row["gpu_type"], *(float(row[f] or "nan") for f in figures))
        for row in _rows()
    }


def known_gpu_type(text: str) -> str | None:
    """The name of a type by any of its spellings ("NVIDIA A100-SXM4-80GB", "a100"); None: not known."""
    return _spellings().get(_words(text))


def gpu_type_name(text: str) -> str:
    """The name of a type by any of its spellings; `InputError` with the list for others."""
    found = known_gpu_type(text)
    if found is None:
        near = difflib.get_close_matches(text.lower(), [t.lower() for t in gpu_types()], 3)
        nearest = [t for t in gpu_types() if t.lower() in near]
        said = f"; nearest: {', '.join(nearest)}" if nearest else ""
        raise InputError(
            f"got {text!r}, expected a GPU type of {', '.join(sorted(gpu_types()))}{said}"
        )
    return found


GpuTypeName = Annotated[str, AfterValidator(gpu_type_name)]
"""A key that names a known type."""


def power_w(gpu_type: str, gpus: float) -> tuple[float, ...]:
    """Power of a node with 0, 1, .. of its GPUs in use, W: that of these GPUs alone.

    Raises InputError: a type without power, or a rental pool.
    """
    if math.isinf(gpus):
        raise InputError("the cluster is a rental pool, expected nodes")
    each = _figure("power_w", "power", gpu_type)
    return tuple(each * g for g in range(int(gpus) + 1))


def price_per_gpu_hour(gpu_type: str) -> float:
    """Price of a GPU-hour on demand, $; `InputError` for a type without one."""
    return _figure("price_per_gpu_hour", "price", gpu_type)


def _figure(column: str, what: str, gpu_type: str) -> float:
    known = {t.name: getattr(t, column) for t in gpu_types().values()}
    if not known.get(gpu_type, math.nan) >= 0:
        has = ", ".join(name for name, value in known.items() if value >= 0)
        raise InputError(f"GPU type {gpu_type!r} has no {what}, expected nodes of {has}")
    return float(known[gpu_type])


@cache
def _rows() -> list[dict[str, str]]:
    with data_path("gpu_types.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def _spellings() -> Mapping[frozenset[str], str]:
    return {
        _words(spelling): row["gpu_type"]
        for row in _rows()
        for spelling in (row["gpu_type"], *filter(None, row["spellings"].split(";")))
    }


def _words(text: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z0-9]+", text.lower())) - _MAKER - {""}
