"""Specification of faults: outages of nodes, jobs that fail, checkpoints.

`simulator.simulate` takes a `Failures`. Without one, nothing of this exists in a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Literal

import numpy as np

from simulator.arguments import checked, is_number, short
from simulator.columns import Column
from simulator.errors import InputError
from simulator.laws import Law
from simulator.model.cluster import IntArray
from simulator.theory.reliability import best_interval_s, daly_interval_s, young_interval_s

Interval = float | Literal["young", "daly", "best"]

OPTIMAL = {"young": young_interval_s, "daly": daly_interval_s, "best": best_interval_s}
"""Intervals between checkpoints from the cost of one and the mean time between failures."""


COLUMNS = (
    Column(
        "failures", "", "times that a failure of a node, or of its own, stopped the job", "integer",
        when="something can fail",
    ),
    Column(
        "lost_gpu_s", "GPU-seconds", "work that failures destroyed", "number",
        when="something can fail",
    ),
)  # fmt: skip


@checked("outages")
@dataclass(frozen=True)
class Outages:
    """One cause of outages: groups of nodes that go and come back together.

    Attributes
    ----------
    time_to : seconds from the end of an outage (or the start) to the next.
    duration : seconds that an outage lasts.
    groups : the nodes of each group; a group has a process of its own.
    notice_s : how long before it is known. Where that is enough for a checkpoint, the jobs on the
        node save their work first, and lose no more than the time of it.
    warns : whether policies are asked and see it (`simulator.features.fault_injection.NodeFaults.leaving_s`) when
        notice is given; False: only the jobs know.
    stagger_s : the first outage of group ``k`` comes ``k * stagger_s`` later (rolling maintenance).
    name : for the record and the random stream: "failure", "rack", "spot", "maintenance".
    """

    time_to: Law
    duration: Law
    groups: Sequence[Sequence[int]]
    notice_s: float = 0.0
    stagger_s: float = 0.0
    name: str = "failure"
    warns: bool = False

    def __post_init__(self) -> None:
        for what in ("notice_s", "stagger_s"):
            value = getattr(self, what)
            if not 0 <= value < math.inf:
                raise InputError(f"{self.name}: {what} is {value}, expected a number >= 0")
        for what in ("time_to", "duration"):
            _check_law(f"{self.name}: {what}", getattr(self, what))
        if not self.groups or not all(self.groups):
            raise InputError(f"{self.name}: no nodes, expected one at least in each group")
        nodes: list[object] = [n for group in self.groups for n in group]
        wrong = [n for n in nodes if not isinstance(n, Integral)]
        if wrong:
            raise InputError(
                f"{self.name}: groups has the node {short(wrong[0])}, expected numbers of nodes"
            )

    @classmethod
    def of_each_node(cls, num_nodes: int, time_to: Law, duration: Law) -> Outages:
        """Every node fails by itself."""
        return cls(time_to, duration, [(n,) for n in range(num_nodes)])

    @classmethod
    def of_racks(cls, num_nodes: int, rack: int, time_to: Law, duration: Law) -> Outages:
        """Racks of ``rack`` nodes each (neighbours by number) fail as a whole."""
        return cls(time_to, duration, racks_of(num_nodes, rack), name="rack")


def _check_law(what: str, law: object) -> None:
    """A law draws, and has a mean, which the intervals of checkpoints and `NodeFaults` are made from."""
    if not (callable(law) and is_number(getattr(law, "mean", None))):
        raise InputError(f"{what} is {short(law)}, expected a law of seconds (simulator.laws)")


def racks_of(num_nodes: int, rack: int) -> list[range]:
    """Nodes in racks of ``rack`` nodes, by number; the last rack may have fewer.

    Raises
    ------
    InputError
        A rack of less than one node.
    """
    if rack < 1:
        raise InputError(f"racks have {rack} nodes, expected at least 1")
    return [range(n, min(n + rack, num_nodes)) for n in range(0, num_nodes, rack)]


@checked("checkpoints")
@dataclass(frozen=True)
class Checkpoints:
    """Specification of checkpoints.

    A job works for ``interval_s`` seconds, then saves for ``cost_s`` seconds, and so on; there is no
    checkpoint at its end. What it has done since the last whole checkpoint is lost when it fails.
    A job that a policy preempts or moves saves its work, as everywhere (`reconfiguration_s`).

    Attributes
    ----------
    interval_s : seconds of work; infinite: never. 0 (at no cost): all the time, nothing is lost.
        "young", "daly" or "best" choose it by the failures that the job has to expect.
    cost_s : of one checkpoint, s.
    restart_s : until a job that failed works again, s after its start.
    cost_of_model : cost by name of the network, where it is another one.
    cost_per_gpu_s : more for each GPU of the job, s.
    """

    interval_s: Interval = math.inf
    cost_s: float = 0.0
    restart_s: float = 0.0
    cost_of_model: Mapping[str, float] = field(default_factory=dict)
    cost_per_gpu_s: float = 0.0

    def __post_init__(self) -> None:
        interval = self.interval_s
        if isinstance(interval, str):
            if interval not in OPTIMAL:
                known = ", ".join(OPTIMAL)
                raise InputError(
                    f"checkpoints: interval_s is {interval!r}, expected seconds, or one of {known}"
                )
        elif not interval >= 0:
            raise InputError(f"checkpoints: interval_s is {interval}, expected a number >= 0")
        costs = {
            "cost_s": self.cost_s,
            "cost_per_gpu_s": self.cost_per_gpu_s,
            "restart_s": self.restart_s,
            **self.cost_of_model,
        }
        for name, value in costs.items():
            if not 0 <= value < math.inf:
                raise InputError(f"checkpoints: {name} is {value}, expected a number >= 0")
        positive = [c for n, c in costs.items() if n != "restart_s" and c > 0]
        if interval == 0 and positive:
            raise InputError("checkpoints: interval_s is 0 at a cost, expected more than 0")

    def plan(self, model: str, mean_up_s: float, gpus: float = 0.0) -> tuple[float, float]:
        """Interval and cost (s) for a job of this model that fails every ``mean_up_s`` on average."""
        cost_s = self.cost_of_model.get(model, self.cost_s) + self.cost_per_gpu_s * gpus
        if not isinstance(self.interval_s, str):
            return self.interval_s, cost_s
        if cost_s == 0:
            return 0.0, 0.0
        if math.isinf(mean_up_s):
            return math.inf, cost_s
        return OPTIMAL[self.interval_s](cost_s, mean_up_s), cost_s


@checked("failures")
@dataclass(frozen=True)
class Failures:
    """All that goes wrong in a simulation.

    Attributes
    ----------
    outages : the causes for which nodes go away.
    checkpoints : how jobs save their work.
    job_time_to_failure : seconds that a job runs until it fails by itself (Philly's attempts), drawn
        anew at each start; None: never.
    max_attempts : a job that has failed so often by itself is given up; None: never.
    """

    outages: Sequence[Outages] = ()
    checkpoints: Checkpoints = Checkpoints()
    job_time_to_failure: Law | None = None
    max_attempts: int | None = None

    def __post_init__(self) -> None:
        if self.max_attempts is not None and self.max_attempts < 1:
            raise InputError(f"max_attempts is {self.max_attempts}, expected at least 1")
        if self.job_time_to_failure is not None:
            _check_law("failures: job_time_to_failure", self.job_time_to_failure)

    def failure_rate_of(self, num_nodes: int) -> list[float]:
        """``(N,)`` failures per second that each node expects, over all causes without notice."""
        rate = [0.0] * num_nodes
        for cause in self.outages:
            for group in cause.groups:
                for node in group:
                    if not 0 <= node < num_nodes:
                        raise InputError(
                            f"{cause.name}: node {node}, expected 0 to {num_nodes - 1}"
                        )
                    if cause.notice_s == 0:
                        rate[node] += 1 / cause.time_to.mean
        return rate


@dataclass(frozen=True)
class Damage:
    """Records of faults in a simulation.

    Attributes
    ----------
    failures : ``(J,)`` how often each job was thrown off its nodes, or failed by itself.
    lost_gpu_s : ``(J,)`` GPU-seconds of work that were done and lost.
    overhead_gpu_s : ``(J,)`` GPU-seconds held without work: checkpoints, restarts, reconfigurations.
    killed : ``(J,)`` 1 for a job that was given up.
    outages : ``(N,)`` outages of each node.
    down_s : ``(N,)`` seconds that each node was away until the last job ended.
    gives_up : whether a job can be given up.
    away : ``(O, 3)`` node, start and end (s) of each stretch of time that it was away, in order of the ends; one
        that goes on ends with the last job.
    """

    failures: IntArray
    lost_gpu_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    overhead_gpu_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    killed: IntArray
    outages: IntArray
    down_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    gives_up: bool = False
    away: np.ndarray[tuple[int, int], np.dtype[np.float64]] = field(
        default_factory=lambda: np.empty((0, 3))
    )
