"""The past of a log as columns: what each job asked for, and when it came, started and ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

if TYPE_CHECKING:
    from simulator import Workload


class Request(NamedTuple):
    """The resources that a job asks for, and whose it is.

    Attributes
    ----------
    gpus : GPUs.
    asked_s : time limit, s; NaN: none.
    partition, user : "" where it names none.
    """

    gpus: float
    asked_s: float = np.nan
    partition: str = ""
    user: str = ""


@dataclass(frozen=True)
class History:
    """``J`` jobs in order of submission.

    Attributes
    ----------
    submit_s, start_s, end_s : ``(J,)`` s on the clock of the log; NaN: not known.
    gpus, asked_s : ``(J,)`` as `Request`.
    partition, user : ``(J,)`` numbers of names, in the order in which they first came.
    partitions, users : the names.
    origin_s : time 0 in s since 1970 on the clocks of the site; NaN: the log has no dates.
    """

    submit_s: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    gpus: FloatArray
    asked_s: FloatArray
    partition: IntArray
    user: IntArray
    partitions: Sequence[str]
    users: Sequence[str]
    origin_s: float = np.nan

    def __len__(self) -> int:
        return len(self.submit_s)

    @classmethod
    def of(cls, workload: Workload, source: str = "the log") -> History:
        """The history of jobs that have a record.

        Raises InputError: no job of them has a recorded start.
        """
        record = workload.record
        if record is None or not np.isfinite(record.recorded_start_s).any():
            raise InputError(
                f"{source}: no start of a job is recorded, expected a log with starts or waits"
            )
        partition, partitions = _numbered(record.partition)
        user, users = _numbered(record.user)
        return cls(
            record.submit_s, record.recorded_start_s, record.end_s, record.num_gpus,
            np.array(workload.requested_s), partition, user, partitions, users, record.origin_s,
        )  # fmt: skip

    @property
    def wait_s(self) -> FloatArray:
        """``(J,)`` from submission to start, s."""
        return self.start_s - self.submit_s

    def known_at(self, at_s: float) -> IntArray:
        """Jobs that were submitted, and have started, before a time."""
        return np.flatnonzero((self.submit_s < at_s) & (self.start_s < at_s))


def _numbered(names: Sequence[str]) -> tuple[IntArray, list[str]]:
    index: dict[str, int] = {}
    found = [index.setdefault(name, len(index)) for name in names]
    return np.array(found, dtype=np.int64), list(index)
