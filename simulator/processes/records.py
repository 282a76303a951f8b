"""What a simulation writes down as it goes: decisions, and shares of nodes over time.

Columns of plain numbers, not objects: the garbage collector need not walk them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, overload

from simulator.contract import Placement

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


_AMOUNTS = ("gpus", "cpus", "memory_gb")


class ScheduleLog(Sequence[ShareRecord]):
    """All shares in the order in which they ended, held as columns.

    What came last is kept as it came, and is spread over the columns a block at a time.

    Parameters
    ----------
    node_type_of : of nodes of fixed types; None: placements say the type.
    """

    BLOCK = 4096

    def __init__(self, node_type_of: Sequence[int] | None = None) -> None:
        self._columns: dict[str, array[Any]] = {
            name: array("q" if name in ("job", "node", "node_type") else "d")
            for name in ShareRecord._fields
        }
        self._node_type_of = node_type_of
        self._real = dict.fromkeys(_AMOUNTS, False)
        self._latest: list[tuple[tuple[Placement, ...], float, float]] = []

    def add(self, shares: tuple[Placement, ...], start_s: float, end_s: float) -> None:
        """One more stretch of time of one job, with all its shares."""
        self._latest.append((shares, start_s, end_s))
        if len(self._latest) >= self.BLOCK:
            self._spread()

    def _spread(self) -> None:
        """Move what came last to the columns."""
        latest = self._latest
        if not latest:
            return
        shares_of, starts, ends = zip(*latest, strict=True)
        count = tuple(map(len, shares_of))
        job, node, gpus, types, cpus, memory_gb = zip(*chain.from_iterable(shares_of), strict=True)
        fixed = self._node_type_of
        parts: dict[str, Sequence[float]] = {
            "job": job,
            "node": node,
            "node_type": types if fixed is None else [fixed[n] for n in node],
            "gpus": gpus,
            "cpus": cpus,
            "memory_gb": memory_gb,
            "start_s": list(chain.from_iterable(map(repeat, starts, count))),
            "end_s": list(chain.from_iterable(map(repeat, ends, count))),
        }
        for name, part in parts.items():
            column = self._columns[name]
            column.extend(array(column.typecode, part))  # at once, not number by number
        for name in _AMOUNTS:
            self._real[name] = self._real[name] or float in set(map(type, parts[name]))
        latest.clear()

    @property
    def columns(self) -> dict[str, array[Any]]:
        """One column of numbers for each field of `ShareRecord`."""
        self._spread()
        return self._columns

    def table(self) -> dict[str, Any]:
        """The columns as NumPy arrays; amounts that were whole numbers throughout are whole."""
        import numpy as np

        found = {name: np.array(column) for name, column in self.columns.items()}
        for name in _AMOUNTS:
            if not self._real[name]:
                found[name] = found[name].astype(np.int64)
        return found

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
