"""When controllers decide, and what all processes of one simulation share."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simulator.core.clock import Clock
from simulator.core.node import Node
from simulator.core.records import DecisionLog, ScheduleLog
from simulator.features.network import Network
from simulator.model.cluster import Cluster
from simulator.model.contract import Column, JobLog, Placement, View
from simulator.model.workload import Workload


@dataclass(frozen=True)
class DecisionPoints:
    """When a controller decides.

    Attributes
    ----------
    on_arrival, on_completion : at each of these events.
    period_s : and at every multiple of this, while there are jobs; None: not periodically.
    since_last_s : and when a controller has not decided for so long, counted from its last decision
        whatever made it; None: not. A wake-up that a policy asks for takes its place.
    on_request : and when a policy asked for it (`simulator.model.contract.Decision.again_s`).
    finish_at_tick : a job that ends between two ticks is over at the next (rounds as in the
        released Synergy simulator); needs ``period_s``.
    """

    on_arrival: bool = True
    on_completion: bool = True
    period_s: float | None = None
    finish_at_tick: bool = False
    on_request: bool = True
    since_last_s: float | None = None

    @classmethod
    def rounds(cls, round_s: float, finish_at_tick: bool = False) -> DecisionPoints:
        """Only every ``round_s`` seconds, whatever a policy asks for."""
        return cls(False, False, round_s, finish_at_tick, on_request=False)


@dataclass
class World:
    """What all controllers of a simulation share.

    Attributes
    ----------
    nodes : ``(N,)`` those that were used; the others are not made.
    shares : ``(N,)`` what runs on each node, by job.
    free_gpus : ``(N,)`` GPUs not in use where node types are fixed, else 0.
    begin_s : the first submission, from when nodes of fixed types are open.
    measure : whether the CPU time of each decision is read.
    arriving : jobs that are still to come.
    """

    clock: Clock
    cluster: Cluster
    workload: Workload
    nodes: list[Node | None]
    shares: list[Mapping[int, Placement]]
    free_gpus: Column
    begin_s: float
    log: JobLog
    completion_s: Column
    preemptions: array[int]
    reconfigurations: array[int]
    decisions: DecisionLog
    schedule: ScheduleLog | None
    points: DecisionPoints
    reconfiguration_s: float
    check: bool
    measure: bool
    policy_name: str
    arriving: int
    shown: Workload
    """The jobs as policies and dispatchers see them: with predicted times, or the true ones."""
    make_view: Callable[..., View] = View
    network: Network | None = None
    """Racks, and how much longer jobs take over them; None: as the performance model says."""
    left: dict[int, None] = field(default_factory=dict)
    """Jobs that left before they started, in order of leaving."""
