"""Common part of Pollux and Sia: agents estimate, GPUs are divided, jobs are placed apart.

At most one job that spans nodes uses a node, since two would slow each other down. A job has GPUs of one type. A policy
that takes all types for equal may give it more: then it has those of the type of which it has most, and the others stay idle.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from policies.goodput.agents import Agent, Agents
from policies.goodput.emptiest_nodes import capacities, nodes_of, placements
from policies.goodput.estimate import LEAST_SQUARES, Estimator
from policies.queues.free_gpus import FreeGpus, Nodes
from simulator.model.contract import Decision, View


class NodeGroup(NamedTuple):
    """Equal nodes: their type, the GPUs of one, and how many there are."""

    node_type: int
    per_node: int
    num_nodes: int

    @property
    def gpus(self) -> int:
        """GPUs of all its nodes."""
        return self.per_node * self.num_nodes


class Candidate(NamedTuple):
    """A job as it is now: its agent, the GPUs that it holds, the seconds since its submission, and the type of its nodes."""

    agent: Agent
    gpus: int
    age_s: float
    node_type: int = 0

    def kept(self, restart_s: float) -> float:
        """The part of a speed-up that a move leaves; below 0 where the job was moved more often than it is old."""
        moves, whole_s = max(self.agent.starts - 1, 0), self.age_s + restart_s
        return (self.age_s - moves * restart_s) / whole_s if whole_s else 1.0


class GoodputPolicy:
    """Divides GPUs by what the jobs' agents expect of them; jobs choose their batch sizes."""

    by_type = False
    """Whether it divides the GPUs of each type; else GPUs of several types are alike to it."""

    def __init__(self, estimator: Estimator = LEAST_SQUARES) -> None:
        self._agents = Agents(estimator, self.by_type)

    def divide(
        self, jobs: Sequence[Candidate], groups: Sequence[NodeGroup]
    ) -> list[tuple[int, int]]:
        """Index of its group and GPUs of each job."""
        raise NotImplementedError

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; jobs choose their batch sizes on them."""
        capacity = capacities(view)
        if not capacity:  # all nodes are down
            return Decision()
        fixed = view.cluster.node_type_of
        assert fixed is not None
        agents = self._agents.observe(view)
        running = {job: nodes_of(shares) for job, shares in view.running.items()}
        held = {job: sum(g for _, g in nodes) for job, nodes in running.items()}
        type_of = {job: fixed[nodes[0][0]] for job, nodes in running.items()}
        ages = dict(zip(view.jobs.tolist(), (view.now_s - view.submit_s).tolist(), strict=True))
        jobs = [
            Candidate(agent, held.get(job, 0), ages[job], type_of.get(job, 0))
            for job, agent in agents.items()
        ]
        present = sorted({fixed[node] for node in capacity})
        types = present if self.by_type else present[:1]
        parts = [
            {n: g for n, g in capacity.items() if fixed[n] == v or not self.by_type} for v in types
        ]
        groups = [
            NodeGroup(v, max(part.values()), len(part))
            for v, part in zip(types, parts, strict=True)
        ]
        divided = dict(zip(agents, self.divide(jobs, groups), strict=True))
        plan: dict[int, Nodes] = {}
        for k, part in enumerate(parts):
            wanted = {job: gpus for job, (group, gpus) in divided.items() if group == k}
            here = {job: nodes for job, nodes in running.items() if nodes[0][0] in part}
            plan |= place_apart(wanted, here, part, lambda job, nodes: agents[job].goodput(nodes))
        for job, nodes in list(plan.items()):
            plan[job] = of_one_type(nodes, fixed)
            if plan[job] != nodes and not agents[job].goodput(plan[job]) > 0:
                del plan[job]
        return Decision(
            placements(plan, view.cluster),
            configuration_of=self._agents.settle(plan),
            choose=self._agents.choose,
        )


def of_one_type(nodes: Nodes, node_type_of: Sequence[int]) -> Nodes:
    """Those of a job's nodes that are of the type of which it has most GPUs; of equals the first."""
    gpus: Counter[int] = Counter()
    for node, part in nodes:
        gpus[node_type_of[node]] += part
    most = gpus.most_common(1)[0][0]
    return tuple((node, part) for node, part in nodes if node_type_of[node] == most)


def place_apart(
    gpus: Mapping[int, int],
    running: Mapping[int, Nodes],
    capacity: Mapping[int, int],
    goodput: Callable[[int, Nodes], float],
) -> dict[int, Nodes]:
    """Nodes for the jobs; at most one of those that span nodes on a node.

    Jobs that keep their number of GPUs keep their nodes. Of the others, the largest come first, on as few nodes as possible;
    a job for which too few GPUs are left gets those that one node has, or as many of them as it expects goodput from.
    """
    free, spanned = FreeGpus(capacity), set[int]()
    held = {
        job: running[job]
        for job, wanted in gpus.items()
        if job in running and sum(g for _, g in running[job]) == wanted
    }

    def place(job: int, wanted: int) -> Nodes:
        expected = partial(goodput, job)
        nodes = max(_places(wanted, free, spanned), key=expected, default=())
        if nodes and not expected(nodes) > 0:
            fewer = (((n, g),) for n, _ in free.emptiest(1) for g in range(int(free[n]), 0, -1))
            nodes = next((some for some in fewer if expected(some) > 0), ())
        span(nodes)
        return nodes

    def span(nodes: Nodes) -> None:
        if len(nodes) > 1:
            spanned.update(node for node, _ in nodes)

    for nodes in held.values():
        span(nodes)
    order = sorted(((j, g) for j, g in gpus.items() if g), key=lambda each: -each[1])
    return free.settle(order, held, place)


def _places(wanted: int, free: FreeGpus, spanned: set[int]) -> list[Nodes]:
    """Possible placements of a job: on the fullest node that has enough, else over nodes, or on fewer GPUs of one."""
    if fullest := free.fullest(wanted):
        return [fullest]
    room = sum(int(gpus) for node, gpus in free.now.items() if node not in spanned)
    over = free.emptiest(min(wanted, room), lambda node: 0 if node in spanned else math.inf)
    most = tuple((node, int(free[node])) for node, _ in free.emptiest(1))
    return [nodes for nodes in (over if room else (), most) if nodes]
