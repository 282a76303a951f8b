"""What travels from workers to the ledger, and what is read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from experiments.sweep.tables import Mark
from experiments.sweep.task import Scalar


@dataclass(frozen=True)
class Report:
    """What came out of one run, as it travels from a worker to the ledger.

    Attributes
    ----------
    tables : name -> mark of the file that the worker wrote.
    contents : name -> the file itself, from a worker that cannot see the store's folder.
    error : traceback of a failed run, empty for a finished one.
    """

    key: str
    status: Literal["done", "failed"]
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    tables: Mapping[str, Mark] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    error: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True)
class Counts:
    """How many runs of the present sweep are in which state."""

    total: int
    done: int
    failed: int

    @property
    def left(self) -> int:
        """Neither done nor failed."""
        return self.total - self.done - self.failed


class Rows(NamedTuple):
    """The runs of the present sweep, as lists of equal length.

    ``statuses`` are "done", "failed" or "left"; ``errors`` are tracebacks, empty where all went well.
    """

    keys: list[str]
    labels: list[dict[str, Scalar]]
    statuses: list[str]
    scalars: list[dict[str, Scalar]]
    errors: list[str]
