"""Logs of a simulation, written as it goes: decisions, and shares of nodes over time.

Columns of plain numbers, not objects: the garbage collector need not walk them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from simulator.model.contract import Placement

Facts = Mapping[str, float | int | str | bool]


class DecisionLog:
    """One row a decision, held as columns: time, controller, active jobs, CPU seconds, facts.

    ``info`` and ``again_s`` (seconds until the wake-up that was asked for) hold only the rows that
    have any; ``cpu_s`` has a value a row, or none at all where it was not measured.
    """

    def __init__(self) -> None:
        self.time_s = array("d")
        self.controller = array("q")
        self.active = array("q")
        self.cpu_s = array("d")
        self.info: dict[int, Facts] = {}
        self.again_s: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self.time_s)

    def mean_cpu_s(self) -> float | None:
        """CPU seconds of a decision on average; None where they were not measured."""
        return sum(self.cpu_s) / len(self.cpu_s) if self.cpu_s else None

    def add(self, time_s: float, controller: int, active: int) -> None:
        """One more decision; what else is known of it goes to the other columns under its row."""
        self.time_s.append(time_s)
        self.controller.append(controller)
        self.active.append(active)


class ShareRecord(NamedTuple):
    """One share of a node for one job over one stretch of time."""

    job: int
    node: int
    node_type: int
    gpus: float
    cpus: float
    memory_gb: float
    start_s: float
    end_s: float


_WIDTH = len(Placement._fields)
_AMOUNTS = ("gpus", "cpus", "memory_gb")


def _has_real(numbers: Sequence[float]) -> bool:
    """Whether one of them is of type `float`."""
    return type(sum(numbers)) is not int and float in set(map(type, numbers))


class ScheduleLog(Sequence[ShareRecord]):
    """All shares in the order in which they ended, held as columns.

    What came last is kept as it came, and is spread over the columns a block at a time.

    Parameters
    ----------
    node_type_of : of nodes of fixed types; None: placements say the type.
    names_gpus : whether the numbers of GPUs that decisions name are kept.
    """

    BLOCK = 4096

    def __init__(self, node_type_of: Sequence[int] | None = None, names_gpus: bool = False) -> None:
        self._columns: dict[str, array[Any]] = {
            name: array("q" if name in ("job", "node", "node_type") else "d")
            for name in ShareRecord._fields
        }
        self._type_of = None if node_type_of is None else np.array(node_type_of, dtype=np.int64)
        self._full = _WIDTH * self.BLOCK
        self._real = dict.fromkeys(_AMOUNTS, False)
        self._shares: list[float] = []
        self._stretches: list[float] = []
        self._gpus_of: dict[int, Sequence[int]] | None = {} if names_gpus else None

    def add(
        self,
        shares: tuple[Placement, ...],
        start_s: float,
        end_s: float,
        gpus_of: Sequence[int] = (),
    ) -> None:
        """One more stretch of time of one job, with all its shares; none where it has no length.

        Parameters
        ----------
        gpus_of : numbers of the GPUs of its only share, where the decision named them.
        """
        if end_s <= start_s:
            return
        latest = self._shares
        if gpus_of and self._gpus_of is not None:
            self._gpus_of[len(self._columns["job"]) + len(latest) // _WIDTH] = gpus_of
        for share in shares:
            latest += share  # numbers alone: the shares themselves need not live on
        self._stretches += (len(shares), start_s, end_s)
        if len(latest) >= self._full:
            self._spread()

    def _spread(self) -> None:
        """Move what came last to the columns."""
        latest = self._shares
        if not latest:
            return
        stretches = self._stretches
        count = np.fromiter(stretches[0::3], np.int64)
        parts: dict[str, Any] = {}
        for i, name in enumerate(Placement._fields):
            if name == "node_type" and self._type_of is not None:
                continue
            numbers = latest[i::_WIDTH]
            if name in _AMOUNTS:
                self._real[name] = self._real[name] or _has_real(numbers)
                parts[name] = np.array(numbers, dtype=np.float64)
            else:
                parts[name] = np.fromiter(numbers, np.int64)
        for i, name in ((1, "start_s"), (2, "end_s")):
            parts[name] = np.repeat(np.array(stretches[i::3], dtype=np.float64), count)
        if self._type_of is not None:
            parts["node_type"] = self._type_of[parts["node"]]
        for name, column in self._columns.items():
            kind = np.int64 if column.typecode == "q" else np.float64
            column.frombytes(parts[name].astype(kind).tobytes())
        latest.clear()
        self._stretches.clear()

    @property
    def columns(self) -> dict[str, array[Any]]:
        """One column of numbers for each field of `ShareRecord`."""
        self._spread()
        return self._columns

    def table(self) -> dict[str, Any]:
        """The columns as NumPy arrays; amounts that were whole numbers throughout are whole."""
        found = {name: np.array(column) for name, column in self.columns.items()}
        for name in _AMOUNTS:
            if not self._real[name]:
                found[name] = found[name].astype(np.int64)
        return found

    def gpu_ids(self) -> list[str] | None:
        """Numbers of the GPUs of each share of `columns`, "0 3", empty where none were named; None: not kept."""
        if self._gpus_of is None:
            return None
        named = {row: " ".join(map(str, sorted(gpus))) for row, gpus in self._gpus_of.items()}
        return [named.get(row, "") for row in range(len(self._columns["job"]))]

    def __len__(self) -> int:
        return len(self.columns["job"])

    @overload
    def __getitem__(self, index: int) -> ShareRecord: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ShareRecord]: ...

    def __getitem__(self, index: int | slice) -> ShareRecord | Sequence[ShareRecord]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return ShareRecord(*(column[index] for column in self.columns.values()))

    def __iter__(self) -> Iterator[ShareRecord]:
        return (ShareRecord(*row) for row in zip(*self.columns.values(), strict=True))
