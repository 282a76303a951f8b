"""The shared state of one simulation: the clock, the jobs, the nodes, and the rules for all of them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from simulator.core.clock import Clock
from simulator.core.jobs import JobStates, column_of
from simulator.core.logs import DecisionLog, ScheduleLog
from simulator.core.node import Node
from simulator.errors import InfeasibleDecision
from simulator.model.cluster import Cluster
from simulator.model.contract import Configuration, Placement
from simulator.model.decision_points import DecisionPoints
from simulator.model.so_far import SoFar
from simulator.model.workload import Workload
from simulator.statistics import Streams

NO_SHARES: Mapping[int, Placement] = MappingProxyType({})
"""The shares of a node that was never used."""


class Simulation:
    """State that all processes of one run share.

    Parameters
    ----------
    workload, shown : the jobs, and the jobs as policies and dispatchers may see them: with predicted times, for example.
    cluster, triggers : the machines, and when controllers decide.
    streams : of all random numbers.
    policy_name : for messages.
    check, measure : whether decisions are checked, and whether their CPU time is read.

    Attributes
    ----------
    so_far : what cuts columns after the last job that has come.
    rows, shown : the jobs as policies may see them; those of them that have come, which is what policies and
        dispatchers see.
    informed : whether a policy or dispatcher asked for all jobs.
    clock, jobs : the time, and the state of all jobs.
    nodes : ``(N,)`` the nodes that were used; None for the others.
    shares : ``(N,)`` what runs on each node, by job.
    free_gpus, free_gpus_array : ``(N,)`` GPUs not in use where node types are fixed, else 0.
    arriving, unfinished : jobs that are still to come, and jobs that are not over.
    completion_s, preemptions, reconfigurations : ``(J,)`` the records of jobs.
    reneged : jobs that left before they started, in order of leaving.
    hooks : by name of a method of `simulator.core.feature.Feature`: those that features have of their own.
    fractional_gpus : whether the policy gives parts of GPUs.
    controllers, server, dispatch : `simulator.core.start.begin` makes them.
    """

    def __init__(
        self,
        workload: Workload,
        shown: Workload,
        cluster: Cluster,
        triggers: DecisionPoints,
        streams: Streams,
        policy_name: str,
        check: bool = True,
        measure: bool = False,
    ) -> None:
        count = len(workload)
        self.workload, self.rows, self.cluster = workload, shown, cluster
        self.so_far = SoFar()
        self.shown = self.so_far.of(shown)
        self.informed = False
        self.triggers, self.streams = triggers, streams
        self.policy_name, self.check, self.measure = policy_name, check, measure
        self.clock = Clock()
        self.begin_s = float(workload.submit_s[0])
        self.jobs = JobStates.of_size(count)
        self.nodes: list[Node | None] = [None] * cluster.num_nodes
        self.shares: list[Mapping[int, Placement]] = [NO_SHARES] * cluster.num_nodes
        free_gpus = [cluster.node_types[v].gpus for v in cluster.node_type_of or ()]
        self.free_gpus = array("d", free_gpus or [0.0] * cluster.num_nodes)
        self.free_gpus_array = np.frombuffer(self.free_gpus)
        self.free_gpus_array.flags.writeable = False
        self.arriving = self.unfinished = count
        self.submitted_s = array("d", workload.submit_s)
        self.completion_s = column_of(math.nan, count)
        self.preemptions = array("q", [0]) * count
        self.reconfigurations = array("q", [0]) * count
        self.reneged: dict[int, None] = {}
        self.decisions = DecisionLog()
        self.configurations: list[tuple[int, float, Configuration]] = []
        self.schedule: ScheduleLog | None = None
        self.fractional_gpus = False
        self.hooks: dict[str, list[Callable[..., Any]]] = {}
        self.controllers: Sequence[Any] = ()
        self.server: Any = None
        self.dispatch: Callable[[int], None]

    @property
    def all_jobs(self) -> Workload:
        """`rows`, for dispatchers that know more than what has come: the run is marked as informed."""
        self.informed = True
        return self.rows

    # -- jobs that come and go -------------------------------------------------------------------

    def arrive(self, job: int) -> None:
        """Let a job in, unless a feature rejects it or holds it back."""
        for admits in self.hooks["admits"]:
            if not admits(job):
                return
        self.dispatch(job)

    def renege(self, job: int, at_s: float) -> None:
        """Record a job that leaves without having started."""
        self.reneged[job] = None
        self.completion_s[job] = at_s

    def end(self, job: int) -> None:
        """A job is over."""
        self.unfinished -= 1
        for on_end in self.hooks["on_end"]:
            on_end(job)

    def infeasible(self, what: str) -> InfeasibleDecision:
        """The error that a policy has made, with its name and the time."""
        return InfeasibleDecision(f"policy {self.policy_name} at {self.clock.now:.6g} s: {what}")

    # -- nodes and times -------------------------------------------------------------------------

    def make_node(self, index: int) -> Node:
        """A node that is used for the first time; nodes that are not used cost nothing."""
        node_type, gpus = None, 0.0
        if self.cluster.node_type_of is not None:
            node_type = self.cluster.node_type_of[index]
            gpus = self.cluster.node_types[node_type].gpus
        self.nodes[index] = node = Node(node_type, gpus, self.begin_s)
        self.shares[index] = node.shares
        return node

    def time_on_s(
        self,
        workload: Workload,
        job: int,
        shares: Sequence[Placement],
        configuration: Configuration = None,
        left: float = 1.0,
    ) -> float:
        """Seconds of the whole job on these shares; over nodes of several types, as on the slowest.

        Parameters
        ----------
        workload : the jobs, or the jobs as policies see them.
        configuration, left : what the job runs with beside its GPUs, and the fraction of its work that is
            left, for models whose rates depend on them (`simulator.features.changing_rates`).

        Returns
        -------
        Infinite, where the job cannot run on them.
        """
        performance = workload.performance
        rate = performance.rate(job, shares, configuration, left)
        if rate is not None:
            time_s = 1.0 / rate if rate > 0 else math.inf
        elif len(shares) == 1:
            _, node, gpus, v, cpus, memory_gb = shares[0]
            fixed = self.cluster.node_type_of
            node_type = v if fixed is None else fixed[node]
            time_s = performance.time_s(job, node_type, gpus, cpus, memory_gb)
        else:
            time_s = max(self._times_by_type(workload, job, shares).values())
        for slowdown in self.hooks["slowdown"]:
            time_s *= slowdown(job, shares)
        return time_s

    def _times_by_type(
        self, workload: Workload, job: int, shares: Sequence[Placement]
    ) -> dict[int, float]:
        """Seconds of the whole job on these shares, if all nodes were of one of their types."""
        gpus = cpus = memory_gb = 0.0
        for share in shares:
            gpus += share.gpus
            cpus += share.cpus
            memory_gb += share.memory_gb
        fixed, time_s = self.cluster.node_type_of, workload.performance.time_s
        types = {s.node_type if fixed is None else fixed[s.node] for s in shares}
        return {v: time_s(job, v, gpus, cpus, memory_gb) for v in types}

    def slowest_type(self, job: int, shares: Sequence[Placement]) -> int:
        """The node type among these on which the job is slowest."""
        times_s = self._times_by_type(self.workload, job, shares)
        return max(times_s, key=lambda v: times_s[v])
