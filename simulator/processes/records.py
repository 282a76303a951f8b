"""What a simulation writes down as it goes: decisions, and shares of nodes over time.

Columns of plain numbers, not objects: the garbage collector need not walk them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

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
    """All shares in the order in which they ended, held as columns."""

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {
            name: array("q" if name in ("job", "node", "node_type") else "d")
            for name in ShareRecord._fields
        }
        self._append = [column.append for column in self.columns.values()]
        self._real = dict.fromkeys(_AMOUNTS, False)

    def add(
        self,
        job: int,
        node: int,
        node_type: int,
        gpus: float,
        cpus: float,
        memory_gb: float,
        start_s: float,
        end_s: float,
    ) -> None:
        """One more share."""
        jobs, nodes, types, all_gpus, all_cpus, memories, starts, ends = self._append
        jobs(job)
        nodes(node)
        types(node_type)
        all_gpus(gpus)
        all_cpus(cpus)
        memories(memory_gb)
        starts(start_s)
        ends(end_s)
        if type(gpus) is float:
            self._real["gpus"] = True
        if type(cpus) is float:
            self._real["cpus"] = True
        if type(memory_gb) is float:
            self._real["memory_gb"] = True

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
