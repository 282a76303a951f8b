"""Pollux: GPUs and batch sizes for the goodput of all jobs (Qiao et al., OSDI 2021, Section 4.2).

It maximises the generalised mean of the jobs' speed-ups,

    (1/n sum_j (f_j s_j)^p)^(1/p),    p = -1,

where a job that would be moved loses the part ``1 - f_j`` of its speed-up: ``f_j = (age - moves x restart) / (age + restart)``.
The paper searches with a genetic algorithm. This is a search of our own: for p < 1 the mean is a sum over jobs, so the numbers
of GPUs follow exactly from dynamic programming, on part of a node or on whole nodes; then the jobs are placed.
At most one job that spans nodes uses a node, since two would slow each other down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from policies.goodput.agents import Agent, Agents
from policies.goodput.placing import Nodes, capacities, nodes_of, placements
from policies.goodput.times import ELASTIC
from policies.registration import register
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.contract import Decision, View

LEAST_SPEEDUP = 0.01
"""Of a job without GPUs, in the mean of powers."""


@register("pollux", requires=ELASTIC, paper="Qiao et al., OSDI 2021")
class Pollux:
    """GPUs and batch sizes that maximise the mean of powers of the speed-ups of goodput (Pollux).

    Parameters
    ----------
    p : power of the mean; below 1 and not 0. The smaller, the fairer.
    restart_s : seconds that a restart is expected to cost.

    Raises
    ------
    InputError
        A power or a time out of its range.
    """

    def __init__(self, p: float = -1.0, restart_s: float = 30.0) -> None:
        if not p < 1 or p == 0:
            raise InputError(f"p is {p}, expected a number below 1 that is not 0")
        if not restart_s >= 0:
            raise InputError(f"restart_s is {restart_s}, expected a number >= 0")
        self._p = p
        self._restart_s = restart_s
        self._agents = Agents()

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; jobs choose their batch sizes on them."""
        capacity = capacities(view)
        if not capacity:  # all nodes are down
            return Decision()
        agents = self._agents.observe(view)
        running = {job: nodes_of(shares) for job, shares in view.running.items()}
        total, per_node = sum(capacity.values()), max(capacity.values())
        ages = dict(zip(view.jobs.tolist(), (view.now_s - view.submit_s).tolist(), strict=True))
        value = np.array(
            [
                self._values(agent, running.get(job, ()), ages[job], per_node, total)
                for job, agent in agents.items()
            ]
        )
        gpus = dict(zip(agents, share_out(value, total), strict=True))
        plan = place_apart(gpus, running, capacity, lambda job, nodes: agents[job].goodput(nodes))
        return Decision(
            placements(plan, view.cluster),
            configuration_of=self._agents.settle(plan),
            choose=self._agents.choose,
        )

    def _values(
        self, agent: Agent, now: Nodes, age_s: float, per_node: int, total: int
    ) -> FloatArray:
        """``(total + 1,)`` the job's term of the mean, by GPUs."""
        speedup = agent.speedups(per_node, total)
        sizes = np.arange(total + 1)
        speedup[(sizes > per_node) & (sizes % per_node != 0)] = 0.0  # beyond a node: whole nodes
        if agent.starts:
            factor = (age_s - (agent.starts - 1) * self._restart_s) / (age_s + self._restart_s)
            moved = np.ones(total + 1, dtype=bool)
            moved[sum(g for _, g in now)] = not now
            speedup = np.where(moved, speedup * max(factor, 0.0), speedup)
        term: FloatArray = np.maximum(speedup, LEAST_SPEEDUP) ** self._p
        return -term if self._p < 0 else term


def share_out(value: FloatArray, total: int) -> list[int]:
    """GPUs of each job that maximise the sum of values; as few as possible among equals.

    Parameters
    ----------
    value : ``(n, total + 1)`` value of each job by GPUs.
    total : GPUs that there are.
    """
    best = np.zeros(total + 1)
    picks = []
    rows, columns = np.indices((total + 1, total + 1))
    before = np.maximum(rows - columns, 0)
    allowed = columns <= rows
    for mine in value:
        sums = np.where(allowed, best[before] + mine[columns], -np.inf)
        pick = sums.argmax(axis=1)
        picks.append(pick)
        best = sums[np.arange(total + 1), pick]
    left, gpus = int(best.argmax()), []
    for pick in reversed(picks):
        gpus.append(int(pick[left]))
        left -= gpus[-1]
    return gpus[::-1]


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
