"""Jobs that go on after a failure of a server, with another server in its place.

A failure moves one share of the job: it costs no time in proportion to the nodes of the job, but for sums over arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.execution import Execution
from simulator.core.feature import Feature, FeatureRecord
from simulator.core.plan import DecisionPlan
from simulator.core.record import RunRecord
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.failures.checkpoints import Checkpointing
from simulator.features.failures.guard import FaultGuard
from simulator.features.failures.jobs import JobFailures
from simulator.features.failures.outages import NodeOutages
from simulator.features.failures.servers import Reliability, ServerStates
from simulator.model.cluster import FloatArray


class Gangs(Feature):
    """All jobs on servers that fail.

    Attributes
    ----------
    standbys : servers that are held beside each job that runs.
    lent_until_s : by spare node: when a job took it from other work, s; infinite: not yet.
    failures, systematic, selections, preempted : failures of servers; those of bad ones by their further rate; how
        often servers were selected for a job; spare nodes that were taken.
    """

    name = "reliability"

    def __init__(
        self,
        spec: Reliability,
        guard: FaultGuard,
        jobs: JobFailures,
        saving: Checkpointing,
        nodes: NodeOutages,
    ) -> None:
        self.spec, self._guard = spec, guard
        self._jobs, self._saving, self._nodes = jobs, saving, nodes

    def attach(self, simulation: Simulation) -> None:
        """Start the failures of all servers, and lend the spare nodes."""
        spec, cluster = self.spec, simulation.cluster
        spec.check_machines(cluster)
        for hook in (*simulation.hooks["affected"], *simulation.hooks["before_decision"]):
            other = getattr(getattr(hook, "__self__", None), "name", "another feature")
            raise InputError(
                f"reliability: given beside {other}, expected none that keeps jobs by node or counts their steps"
            )
        self._simulation, self._clock = simulation, simulation.clock
        self._type_of: Sequence[int] = cluster.node_type_of or ()
        count = cluster.num_nodes
        self.servers = ServerStates(spec, count, simulation.streams.generator("servers"))
        self._rng = simulation.streams.generator("failures of servers")
        rate = (1 + spec.bad_fraction * spec.bad_factor) / spec.time_to_failure_s
        self._nodes.failure_rate = [rate] * count
        self.standbys: dict[int, list[int]] = {}
        self.lent_until_s = dict.fromkeys(range(count - spec.spare_nodes, count), math.inf)
        self.failures = self.systematic = self.selections = self.preempted = 0
        self._repaired_s: dict[int, float] = {}
        """When each was repaired last."""
        self._started = Event(self._clock)
        self._clock.process(self._lend())
        self._clock.process(self._failing())

    def _controller(self, node: int) -> Any:
        controllers = self._simulation.controllers
        return controllers[node % len(controllers)]

    def _lend(self) -> ProcessGenerator:
        """SimPy process: other work holds the spare nodes from the begin on."""
        yield self._clock.at(self._simulation.begin_s, EventOrder.OUTAGE)
        for node in self.lent_until_s:
            self._controller(node).take_down([node], "preempted")

    # -- a failure ---------------------------------------------------------------------------------

    def _failing(self) -> ProcessGenerator:
        """SimPy process: failures of all servers, of which those count that are exposed then.

        That is exact, since the times are exponential, and rates only fall between two draws.
        """
        clock, rng, servers = self._clock, self._rng, self.servers
        while True:
            if not self.standbys:  # no job runs
                self._started = Event(clock)
                yield self._started
            rates = servers.rate.cumsum()
            wait_s = rng.exponential(self.spec.time_to_failure_s / rates[-1])
            yield clock.at(clock.now + wait_s, EventOrder.OUTAGE)
            at = rng.random() * rates[-1]
            node = int(rates.searchsorted(at, side="right"))
            is_systematic = bool(rates[node] - at > 1)
            if self._is_exposed(node) and (servers.is_bad[node] or not is_systematic):
                self.systematic += is_systematic
                self._fail(node)

    def _is_exposed(self, node: int) -> bool:
        """Whether a job holds this server, and works where jobs that restart are spared."""
        executions = self._controller(node).executions
        return any(
            self.spec.fails_in_restart or executions[job].begin_s <= self._clock.now
            for job in self._simulation.shares[node]
        )

    def _fail(self, node: int) -> None:
        """A server fails: its jobs go back to their last checkpoints, and the one that is found goes to repair."""
        spec, rng, shares = self.spec, self._rng, self._simulation.shares
        self._guard.count(self._simulation, "failures of servers (reliability.time_to_failure_s)")
        self.failures += 1
        executions, jobs, wait_s = self._controller(node).executions, dict(shares[node]), 0.0
        first = next(iter(jobs))
        if rng.random() < spec.diagnosed:
            if rng.random() < spec.misdiagnosed:
                own = [s.node for s in executions[first].shares if s.node != node] or [node]
                node = own[int(rng.integers(len(own)))]
                jobs |= shares[node]
            wait_s = self._replace(node, first)
            self._nodes.go_down("server", (node,))  # stops the jobs that found no other server
            self._clock.process(self._repair(node, first))
        for job in jobs:
            if job in executions:
                self._jobs.failures[job] += 1
                self._saving.restart(executions[job], wait_s)

    def _replace(self, node: int, job: int) -> float:
        """Another server for the jobs on one, where there is any; seconds until it is there.

        It is a standby of this job. Where none is left, servers are selected anew.
        """
        controller, standbys, wait_s = self._controller(node), self.standbys[job], 0.0
        found = [n for n in standbys if self._is_like(n, node)][:1]
        if found:
            standbys.remove(found[0])
            controller.offer(found)
        else:
            found, wait_s = self._select(node, job), self.spec.host_selection_s
            if not found:
                found, wait_s = self._recall(node), wait_s + self.spec.preemption_s
                self._clock.process(self._recall_more(node, controller.executions[job]))
            self.selections += bool(found)
            self._hold(job, found[1:])
        for other in list(self._simulation.shares[node]) if found else ():
            controller.exchange(controller.executions[other], node, found[0])
        return wait_s

    def _select(self, node: int, job: int) -> list[int]:
        """Free servers for the place of one and for standbys.

        Those that were repaired last come last: free servers also take the place of the job's own that come after them.
        """
        controller, shares = self._controller(node), self._simulation.shares
        execution, free = controller.executions[job], self._free(node)
        own = [s.node for s in execution.shares if s.node != node and len(shares[s.node]) == 1]
        own = [n for n in own if self._is_like(n, node)]
        order = sorted([*own, *free], key=lambda n: self._repaired_s.get(n, -math.inf))
        chosen = set(order[: len(own) + 1 + self.spec.standbys])
        found = [n for n in free if n in chosen]
        for old in own:
            if old not in chosen and len(found) > 1:
                controller.exchange(execution, old, found.pop())
        return found

    def _recall(self, node: int) -> list[int]:
        """A spare node like this one, taken from other work for good; none where no job has left any."""
        there = (n for n, until_s in self.lent_until_s.items() if until_s == math.inf)
        found = [n for n in there if self._is_like(n, node)][:1]
        if found:
            self.lent_until_s[found[0]] = self._clock.now
            self.preempted += 1
            self._controller(node).bring_up(found)
        return found

    def _recall_more(self, node: int, execution: Execution) -> ProcessGenerator:
        """SimPy process: a job stands still until spare nodes, one after the other, and repairs fill its standbys."""
        while True:
            yield self._clock.at(self._clock.now + self.spec.preemption_s, EventOrder.OUTAGE)
            if not execution.is_running or self._has_standbys(execution.job):
                return
            found = self._recall(node)
            if not found:
                return
            self._hold(execution.job, found)
            self._saving.restart(execution, self.spec.preemption_s)

    def _has_standbys(self, job: int) -> bool:
        return len(self.standbys[job]) >= self.spec.standbys

    def _is_like(self, node: int, other: int) -> bool:
        """Whether two nodes are of one type and one controller."""
        kinds, controllers = self._type_of, len(self._simulation.controllers)
        return kinds[node] == kinds[other] and node % controllers == other % controllers

    def _free(self, node: int) -> list[int]:
        """Servers that are up and empty, like this one."""
        shares, nodes = self._simulation.shares, self._controller(node).nodes.tolist()
        return [n for n in nodes if not shares[n] and self._is_like(n, node)]

    def _hold(self, job: int, nodes: Sequence[int]) -> None:
        """Keep servers beside a job."""
        if nodes:
            self.standbys[job] += nodes
            self._controller(nodes[0]).withhold(nodes)

    def _repair(self, node: int, job: int) -> ProcessGenerator:
        """SimPy process: a server is repaired, and retired or back: a standby of the job where that has too few."""
        failed_s = self._clock.now
        yield self._clock.at(failed_s + self.servers.repair_s(node), EventOrder.OUTAGE)
        if self.servers.retires(node, failed_s, self._clock.now):
            return
        self._nodes.come_up((node,))
        self._repaired_s[node] = self._clock.now
        if job in self.standbys and not self._has_standbys(job):
            self._hold(job, [node])

    # -- jobs that come and go -----------------------------------------------------------------------

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """The job's standbys are taken when all that this decision starts has its nodes."""
        self.standbys[execution.job] = []
        self.selections += 1
        if not self._started.triggered:
            self._started.succeed()
        if self.spec.standbys:
            self._clock.process(self._first_standbys(execution))

    def _first_standbys(self, execution: Execution) -> ProcessGenerator:
        """SimPy process: hold standbys for a job that has just started, as many as are free."""
        yield self._clock.at(self._clock.now, EventOrder.AFTER_RENEGING)
        if execution.is_running:
            self._hold(execution.job, self._free(execution.shares[0].node)[: self.spec.standbys])

    def delay_s(self, execution: Execution, start: str) -> float:
        """The selection of the servers."""
        return self.spec.host_selection_s

    def on_release(self, execution: Execution, cause: str) -> None:
        """The standbys of a job are free."""
        standbys = self.standbys.pop(execution.job)
        if standbys:
            self._controller(standbys[0]).offer(standbys)

    # -- the record ----------------------------------------------------------------------------------

    def record(self, end_s: float) -> ServerRecord:
        """Counts, and the stretches of time in which other work held the spare nodes."""
        begin_s, servers = self._simulation.begin_s, self.servers
        lent = [(n, begin_s, min(until_s, end_s)) for n, until_s in self.lent_until_s.items()]
        counts = {
            "server_failures": self.failures,
            "systematic_failures": self.systematic,
            "host_selections": self.selections,
            "preempted_spares": self.preempted,
            "manual_repairs": servers.manual,
            "good_repairs": servers.good,
            "bad_repairs": servers.bad,
            "retired_servers": servers.retired,
        }
        return ServerRecord(counts, np.array(lent, dtype=np.float64).reshape(-1, 3))


@dataclass(frozen=True)
class ServerRecord(FeatureRecord):
    """Record of servers in a simulation.

    Attributes
    ----------
    counts : failures, selections and repairs, by name.
    down : ``(O, 3)`` spare node, start and end (s) of the time for which other work held it.
    """

    counts: Mapping[str, int]
    down: FloatArray = field(default_factory=lambda: np.empty((0, 3)))

    def scalars(self, run: RunRecord) -> Mapping[str, float | int | str | None]:
        """The counts."""
        return self.counts
