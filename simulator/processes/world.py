"""What all processes of one simulation share, and the records that they leave."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from simulator.catalog import Cluster
from simulator.contract import JobLog, Placement
from simulator.processes.clock import Clock
from simulator.processes.node import Node
from simulator.workload import Workload


@dataclass(frozen=True)
class DecisionPoints:
    """When a controller decides.

    Attributes
    ----------
    on_arrival, on_completion : at each of these events.
    period_s : and at every multiple of this, while there are jobs; None: not periodically.
    on_request : and when a policy asked for it (`simulator.contract.Decision.again_s`).
    finish_at_tick : a job that ends between two ticks is over at the next (rounds as in the
        released Synergy simulator); needs ``period_s``.
    """

    on_arrival: bool = True
    on_completion: bool = True
    period_s: float | None = None
    finish_at_tick: bool = False
    on_request: bool = True

    @classmethod
    def rounds(cls, round_s: float, finish_at_tick: bool = False) -> DecisionPoints:
        """Only every ``round_s`` seconds, whatever a policy asks for."""
        return cls(False, False, round_s, finish_at_tick, on_request=False)


class DecisionLog:
    """One row a decision, held as columns: time, controller, active jobs, CPU seconds, facts.

    ``info`` and ``again_s`` (seconds until the wake-up that was asked for) hold only the rows that
    have any.
    """

    def __init__(self) -> None:
        self.time_s = array("d")
        self.controller = array("q")
        self.active = array("q")
        self.cpu_s = array("d")
        self.info: dict[int, Mapping[str, float | int | str | bool]] = {}
        self.again_s: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self.time_s)

    def add(self, time_s: float, controller: int, active: int, cpu_s: float) -> None:
        """One more decision; its facts, if any, go to ``info`` under its row."""
        self.time_s.append(time_s)
        self.controller.append(controller)
        self.active.append(active)
        self.cpu_s.append(cpu_s)


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


@dataclass
class World:
    """What all controllers of a simulation share."""

    clock: Clock
    cluster: Cluster
    workload: Workload
    nodes: list[Node]
    shares: list[dict[int, Placement]]
    log: JobLog
    completion_s: list[float]
    preemptions: list[int]
    reconfigurations: list[int]
    share_start_s: list[float]
    decisions: DecisionLog
    schedule: list[ShareRecord] | None
    points: DecisionPoints
    reconfiguration_s: float
    check: bool
    policy_name: str
    arriving: int
