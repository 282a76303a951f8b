"""Common part of Pollux and Sia: agents estimate, GPUs are divided, jobs are placed apart.

At most one job that spans nodes uses a node, since two would slow each other down. A job has GPUs of one type. A policy
that takes all types for equal may give it more: then it has those of the type of which it has most, and the others stay idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from policies.goodput.agents import Agent, Agents
from policies.goodput.emptiest_nodes import capacities, nodes_of, placements
from policies.goodput.estimate import LEAST_SQUARES, Estimator
from policies.queues.free_gpus import FreeGpus, Nodes
from simulator.model.contract import Decision, View


class Group(NamedTuple):
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

    def divide(self, jobs: Sequence[Candidate], groups: Sequence[Group]) -> list[tuple[int, int]]:
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
            Group(v, max(part.values()), len(part)) for v, part in zip(types, parts, strict=True)
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
    plan = {
        job: running[job]
        for job, wanted in gpus.items()
        if job in running and sum(g for _, g in running[job]) == wanted
    }
    free = dict(capacity)
    spanned: set[int] = set()
    for nodes in plan.values():
        for node, part in nodes:
            free[node] -= part
        if len(nodes) > 1:
            spanned.update(node for node, _ in nodes)
    for job in sorted(gpus, key=lambda j: -gpus[j]):
        if job not in plan and gpus[job]:
            expected = partial(goodput, job)
            nodes = max(_places(gpus[job], free, spanned), key=expected, default=())
            if nodes and not expected(nodes) > 0:
                nodes = next((fewer for fewer in _fewer(free) if expected(fewer) > 0), ())
            for node, part in nodes:
                free[node] -= part
            if len(nodes) > 1:
                spanned.update(node for node, _ in nodes)
            if nodes:
                plan[job] = nodes
    return plan


def _places(wanted: int, free: Mapping[int, int], spanned: set[int]) -> list[Nodes]:
    """Possible placements of a job: on the fullest node that has enough, else over nodes, or on fewer GPUs of one."""
    if fullest := FreeGpus(free).fullest(wanted):
        return [fullest]
    found: list[Nodes] = []
    taken, left = [], wanted
    for node in sorted((n for n in free if n not in spanned and free[n]), key=lambda n: -free[n]):
        taken.append((node, min(left, free[node])))
        left -= taken[-1][1]
        if not left:
            break
    if taken:
        found.append(tuple(taken))
    most = max(free, key=lambda n: free[n])
    if free[most]:
        found.append(((most, free[most]),))
    return found


def _fewer(free: Mapping[int, int]) -> Iterator[Nodes]:
    """Ever fewer GPUs of the node that has most."""
    most = max(free, key=lambda n: free[n])
    return (((most, gpus),) for gpus in range(free[most], 0, -1))
