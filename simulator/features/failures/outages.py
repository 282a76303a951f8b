"""Nodes that go down and come up: causes of outages, and their processes.

A group of nodes is a process: up, notice, down, up. An outage comes after the completions and before the
arrivals of its instant (`EventOrder.OUTAGE`): a job that ends when its node fails has ended.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

import numpy as np
from simpy.events import ProcessGenerator

from simulator.arguments import checked, is_number, short
from simulator.core.clock import EventOrder
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.failures.guard import FaultGuard
from simulator.features.failures.listed import ListedOutages
from simulator.files.keys import at_key
from simulator.laws import Law, parse_law
from simulator.model.cluster import FloatArray, IntArray

MOST_IDLE_OUTAGES = 1_000_000
"""Outages while no job is there, beyond which the time between them is held to be a mistake."""

KEYS = {
    "failure": "failures.time_to_failure",
    "rack": "failures.rack_time_to_failure",
    "spot": "spot.time_to_reclaim",
    "maintenance": "maintenance.every_s",
    "server": "reliability.time_to_failure_s",
    "outages": "outages.path",
}
"""By the name of a cause: the key of a scenario file that says how often it comes."""


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
    warns : whether policies are asked and see it (`NodeFaults.leaving_s`) when
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
            check_law(f"{self.name}: {what}", getattr(self, what))
        if not self.groups or not all(self.groups):
            raise InputError(f"{self.name}: no nodes, expected one at least in each group")
        nodes: list[object] = [n for group in self.groups for n in group]
        wrong = [n for n in nodes if not isinstance(n, Integral)]
        if wrong:
            raise InputError(
                f"{self.name}: groups has the node {short(wrong[0])}, expected numbers of nodes"
            )

    def times(
        self, group: int, begin_s: float, rng: np.random.Generator
    ) -> Iterator[tuple[float, float]]:
        """When a group goes down and comes up, s, one outage after the other, for ever."""
        up_s = begin_s + group * self.stagger_s
        while True:
            down_s = up_s + self.time_to(rng)
            up_s = down_s + self.duration(rng)
            yield down_s, up_s

    def rate(self) -> float:
        """Failures per second without notice that each node expects."""
        return 1 / self.time_to.mean if self.notice_s == 0 else 0.0

    @classmethod
    def of_each_node(cls, num_nodes: int, time_to: Law, duration: Law) -> Outages:
        """Every node fails by itself."""
        return cls(time_to, duration, [(n,) for n in range(num_nodes)])

    @classmethod
    def of_racks(cls, num_nodes: int, rack: int, time_to: Law, duration: Law) -> Outages:
        """Racks of ``rack`` nodes each (neighbours by number) fail as a whole."""
        return cls(time_to, duration, racks_of(num_nodes, rack), name="rack")


Cause = Outages | ListedOutages
"""Why nodes go down."""


def check_law(what: str, law: object) -> None:
    """A law draws, and has a mean, which the intervals of checkpoints and `NodeFaults` are made from."""
    if not (callable(law) and is_number(getattr(law, "mean", None))):
        raise InputError(f"{what} is {short(law)}, expected a law of seconds (simulator.laws)")


def law_of(key: str, law: str | Callable[..., float] | None) -> Law | None:
    """The law that a key names, or is in Python; None where it is not given."""
    if law is None:
        return None
    with at_key(key):
        if isinstance(law, str):
            return parse_law(law)
        check_law("the value", law)
        return cast(Law, law)


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


class NodeFaults:
    """Nodes that are up, and their reliability; nothing of what is to come (``view.faults``)."""

    def __init__(self, nodes: NodeOutages) -> None:
        self._nodes = nodes

    @property
    def leaving_s(self) -> FloatArray:
        """``(N,)`` when each node goes, where policies are given notice of it; infinite: not known."""
        return np.array(self._nodes.leaving_s, dtype=np.float64)

    @property
    def is_up(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """``(N,)`` whether each node of the cluster is up."""
        return np.equal(self._nodes.num_causes, 0)

    @property
    def outages(self) -> IntArray:
        """``(N,)`` how often each has gone down so far."""
        return np.array(self._nodes.outages, dtype=np.int64)

    @property
    def mean_up_s(self) -> FloatArray:
        """``(N,)`` mean time between failures, as the operator knows it; infinite: never."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.array(self._nodes.failure_rate, dtype=np.float64))


class NodeOutages(Feature):
    """The processes of all causes of outages.

    Attributes
    ----------
    causes : for which nodes go down.
    num_causes : ``(N,)`` causes for which each node is down now.
    outages, leaving_s, failure_rate : ``(N,)`` how often each has gone down; when it will, as far as notice was
        given; failures per second without notice that it is known for.
    """

    name = "faults"

    def __init__(self, causes: Sequence[Cause], guard: FaultGuard) -> None:
        self.causes, self._guard = causes, guard

    def attach(self, simulation: Simulation) -> None:
        """Start a process for each group of nodes."""
        nodes = simulation.cluster.num_nodes
        self._simulation, self._clock = simulation, simulation.clock
        self.failure_rate = failure_rates(self.causes, nodes)
        self.num_causes, self.outages = [0] * nodes, [0] * nodes
        self.leaving_s = [math.inf] * nodes
        self._noticed_s: list[list[float]] = [[] for _ in range(nodes)]
        self._since_s = [0.0] * nodes
        self._spans, self._went_down = array("d"), array("d")
        self._warned: list[tuple[Sequence[int], float, float]] = []
        self._num_idle = 0
        for cause in self.causes:
            for k, group in enumerate(cause.groups):
                rng = simulation.streams.generator(cause.name, k)
                times = cause.times(k, simulation.begin_s, rng)
                self._clock.process(self._outages(cause, group, times))

    def seen(self, controller: Controller) -> NodeFaults:
        """Data on nodes for policies."""
        return NodeFaults(self)

    def _outages(
        self, cause: Cause, group: Sequence[int], times: Iterator[tuple[float, float]]
    ) -> ProcessGenerator:
        """SimPy process: a group of nodes goes down and comes up."""
        clock, notice_s = self._clock, cause.notice_s
        for down_s, up_s in times:
            if notice_s > 0:
                yield clock.at(down_s - notice_s, EventOrder.OUTAGE)
                self._give_notice(cause, group, down_s)
            yield clock.at(down_s, EventOrder.OUTAGE)
            self.go_down(cause.name, group)
            yield clock.at(up_s, EventOrder.OUTAGE)
            self.come_up(group)

    def _give_notice(self, cause: Cause, group: Sequence[int], down_s: float) -> None:
        """Jobs will save their work in time; policies learn of it where the cause warns."""
        self._warned.append((group, down_s, cause.notice_s))
        running = dict.fromkeys(job for n in group for job in self._simulation.shares[n])
        for controller in self._simulation.controllers:
            for job in running:
                if job in controller.executions:
                    self._save_before(controller.executions[job], down_s, cause.notice_s)
        if cause.warns:
            for n in group:
                self._noticed_s[n].append(down_s)
                self.leaving_s[n] = min(self._noticed_s[n])
            self._each_controller(group, lambda controller, nodes: controller.ask_again())

    def _save_before(self, execution: Execution, down_s: float, notice_s: float) -> None:
        """Start the last checkpoint of an execution so that it is complete when the node goes."""
        if notice_s >= execution.cost_s:
            self._clock.process(self._last_checkpoint(execution, down_s - execution.cost_s))

    def _last_checkpoint(self, execution: Execution, at_s: float) -> ProcessGenerator:
        """SimPy process: save the work of that time, if the job still runs then."""
        yield self._clock.at(at_s, EventOrder.COMPLETION)
        if execution.is_running:
            execution.keep()

    def go_down(self, name: str, group: Sequence[int]) -> None:
        """Nodes stop for the cause of this name; the controllers that own them learn of it once."""
        now_s = self._clock.now
        if not any(controller.active for controller in self._simulation.controllers):
            self._num_idle += 1
            if self._num_idle > MOST_IDLE_OUTAGES:
                raise InputError(
                    f"failures: more than {MOST_IDLE_OUTAGES:,} outages ({KEYS.get(name, name)}) while no job was "
                    f"there by {now_s:.6g} s, expected a longer time between them"
                )
        elif any(self._simulation.shares[n] for n in group) or not any(
            controller.running for controller in self._simulation.controllers
        ):
            self._guard.count(self._simulation, f"outages ({KEYS.get(name, name)})")
        self._warned = [w for w in self._warned if w[1] > now_s]
        gone = []
        for n in group:
            if self._noticed_s[n]:  # notice that another cause has given still holds
                self._noticed_s[n] = [t for t in self._noticed_s[n] if t > now_s]
                self.leaving_s[n] = min(self._noticed_s[n], default=math.inf)
            self.num_causes[n] += 1
            self.outages[n] += 1
            self._went_down.extend((n, now_s))
            if self.num_causes[n] == 1:
                self._since_s[n] = now_s
                gone.append(n)
        self._each_controller(gone, lambda controller, nodes: controller.take_down(nodes, "failed"))

    def come_up(self, group: Sequence[int]) -> None:
        """Nodes are over one cause of being down."""
        back = []
        for n in group:
            self.num_causes[n] -= 1
            if self.num_causes[n] == 0:
                self._spans.extend((n, self._since_s[n], self._clock.now))
                back.append(n)
        self._each_controller(back, lambda controller, nodes: controller.bring_up(nodes))

    def _each_controller(
        self, nodes: Sequence[int], call: Callable[[Controller, list[int]], None]
    ) -> None:
        controllers = self._simulation.controllers
        of_controller: dict[int, list[int]] = {}
        for n in nodes:
            of_controller.setdefault(n % len(controllers), []).append(n)
        for index in sorted(of_controller):
            call(controllers[index], of_controller[index])

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """The job heeds the notices that its nodes have had."""
        nodes = {share.node for share in execution.shares}
        for group, down_s, notice_s in self._warned:
            if not nodes.isdisjoint(group):
                self._save_before(execution, down_s, notice_s)

    def until(self, end_s: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """Outages of each node ``(N,)`` and seconds that it was down ``(N,)``; ``(O, 3)`` node, start and end of each.

        Outages after the end, while jobs are still to come that do not run, are not counted.
        """
        found = list(self._spans)
        for n, causes in enumerate(self.num_causes):
            if causes:
                found += (n, self._since_s[n], end_s)
        spans: FloatArray = np.array(found, dtype=np.float64).reshape(-1, 3)
        spans = spans[spans[:, 1] < end_s]
        spans[:, 2] = np.minimum(spans[:, 2], end_s)
        down_s, outages = np.zeros(len(self.outages)), np.zeros(len(self.outages), dtype=np.int64)
        np.add.at(down_s, spans[:, 0].astype(np.int64), spans[:, 2] - spans[:, 1])
        node, went_s = np.array(self._went_down, dtype=np.float64).reshape(-1, 2).T
        np.add.at(outages, node[went_s < end_s].astype(np.int64), 1)
        return outages, down_s, spans


def failure_rates(causes: Sequence[Cause], num_nodes: int) -> list[float]:
    """``(N,)`` failures per second that each node expects, over all causes without notice."""
    rate = [0.0] * num_nodes
    for cause in causes:
        for node in (node for group in cause.groups for node in group):
            if not 0 <= node < num_nodes:
                raise InputError(f"{cause.name}: node {node}, expected 0 to {num_nodes - 1}")
            rate[node] += cause.rate()
    return rate
