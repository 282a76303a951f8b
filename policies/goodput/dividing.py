"""Common part of Pollux and Sia: agents estimate, GPUs are divided, jobs are placed apart.

At most one job that spans nodes uses a node, since two would slow each other down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from policies.goodput.agents import Agent, Agents
from policies.goodput.estimate import LEAST_SQUARES, Estimator
from policies.goodput.placing import Nodes, capacities, nodes_of, placements
from simulator.model.contract import Decision, View


class Candidate(NamedTuple):
    """A job as it is now: its agent, the GPUs that it holds, and the seconds since its submission."""

    agent: Agent
    gpus: int
    age_s: float

    def kept(self, restart_s: float) -> float:
        """The part of a speed-up that a move leaves; below 0 where the job was moved more often than it is old."""
        moves = max(self.agent.starts - 1, 0)
        return (self.age_s - moves * restart_s) / (self.age_s + restart_s)


class GoodputPolicy:
    """Divides GPUs by what the jobs' agents expect of them; jobs choose their batch sizes."""

    def __init__(self, estimator: Estimator = LEAST_SQUARES) -> None:
        self._agents = Agents(estimator)

    def divide(self, jobs: Sequence[Candidate], per_node: int, num_nodes: int) -> list[int]:
        """GPUs of each job."""
        raise NotImplementedError

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; jobs choose their batch sizes on them."""
        capacity = capacities(view)
        if not capacity:  # all nodes are down
            return Decision()
        agents = self._agents.observe(view)
        running = {job: nodes_of(shares) for job, shares in view.running.items()}
        held = {job: sum(g for _, g in nodes) for job, nodes in running.items()}
        ages = dict(zip(view.jobs.tolist(), (view.now_s - view.submit_s).tolist(), strict=True))
        jobs = [Candidate(agent, held.get(job, 0), ages[job]) for job, agent in agents.items()]
        gpus = self.divide(jobs, max(capacity.values()), len(capacity))
        wanted = dict(zip(agents, gpus, strict=True))
        plan = place_apart(wanted, running, capacity, lambda job, nodes: agents[job].goodput(nodes))
        return Decision(
            placements(plan, view.cluster),
            configuration_of=self._agents.settle(plan),
            choose=self._agents.choose,
        )


def place_apart(
    gpus: Mapping[int, int],
    running: Mapping[int, Nodes],
    capacity: Mapping[int, int],
    goodput: Callable[[int, Nodes], float],
) -> dict[int, Nodes]:
    """Nodes for the jobs; at most one of those that span nodes on a node.

    Jobs that keep their number of GPUs keep their nodes. Of the others, the largest come first, on as few nodes as possible;
    a job for which too few GPUs are left gets those that one node has.
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
            nodes = max(_places(gpus[job], free, spanned), key=partial(goodput, job), default=())
            for node, part in nodes:
                free[node] -= part
            if len(nodes) > 1:
                spanned.update(node for node, _ in nodes)
            if nodes:
                plan[job] = nodes
    return plan


def _places(wanted: int, free: Mapping[int, int], spanned: set[int]) -> list[Nodes]:
    """Possible placements of a job: on the fullest node that has enough, else over nodes, or on fewer GPUs of one."""
    fits = [node for node, gpus in free.items() if gpus >= wanted]
    if fits:
        return [((min(fits, key=lambda node: free[node]), wanted),)]
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
