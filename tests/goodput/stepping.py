"""A cluster that steps by 60 s, as in the program that published the results; independent of the engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from policies.goodput import Pollux, Sia
from policies.goodput.placing import Nodes, nodes_of, placements
from simulator.model.cluster import Cluster
from simulator.model.contract import Placement, Policy
from simulator.model.goodput import Goodput
from simulator.model.workload import Workload

RESTART_S = 30


class Stepping:
    """Jobs on a cluster, stepped until all are done; ``jct_s`` by job."""

    def __init__(
        self, workload: Workload, cluster: Cluster, policy: Policy | Pollux | Sia, step_s: int = 60
    ) -> None:
        assert isinstance(workload.performance, Goodput)
        self.workload, self.cluster, self.policy, self.step_s = workload, cluster, policy, step_s
        self.model = workload.performance
        count = len(workload.job_id)
        self.left = [1.0] * count
        self.delay_s = [0] * count
        self.attained = [0.0] * count
        self.nodes: dict[int, Nodes] = {}
        self.shares: dict[int, tuple[Placement, ...]] = {}
        self.chosen: dict[int, Any] = {}
        self.jct_s: dict[int, int] = {}
        self.now_s = 0
        self.rounds = 0

    def run(self) -> dict[int, int]:
        submit_s = self.workload.submit_s.tolist()
        while len(self.jct_s) < len(submit_s):
            for job in list(self.nodes):
                self._advance(job)
            self.now_s += self.step_s
            active = [j for j, s in enumerate(submit_s) if s <= self.now_s and j not in self.jct_s]
            if active:
                self.rounds += 1
                self._decide(active)
        return self.jct_s

    def _advance(self, job: int) -> None:
        gpus, seconds = sum(g for _, g in self.nodes[job]), self.step_s
        self.attained[job] += gpus * seconds
        delay_s = min(self.delay_s[job], seconds)
        self.delay_s[job] -= delay_s
        seconds -= delay_s
        while seconds > 0:
            left = self.left[job]
            rate = self.model.rate(job, self.shares[job], self.chosen.get(job), left)
            border = self.model.next_change(job, left)
            if left - rate * seconds > border:
                self.left[job] = left - rate * seconds
                return
            seconds -= round((left - border) / rate)
            self.left[job] = border
            if border == 0:
                end_s = self.now_s + self.step_s - seconds
                self.jct_s[job] = end_s - int(self.workload.submit_s[job])
                del self.nodes[job], self.shares[job]
                return

    def _decide(self, active: list[int]) -> None:
        jobs = np.array(active)
        view: Any = SimpleNamespace(
            now_s=float(self.now_s),
            jobs=jobs,
            workload=self.workload,
            cluster=self.cluster,
            nodes=np.arange(self.cluster.num_nodes),
            running=dict(self.shares),
            num_gpus=self.workload.num_gpus[jobs],
            submit_s=self.workload.submit_s[jobs],
            remaining=np.array([self.left[j] for j in active]),
            attained_gpu_s=np.array([self.attained[j] for j in active]),
        )
        if isinstance(self.policy, Pollux | Sia):
            plan, self.chosen = self.policy.plan(view)
            shares = placements(plan)
        else:
            shares = list(self.policy.decide(view).placements)
        by_job: dict[int, list[Placement]] = {}
        for share in shares:
            by_job.setdefault(share.job, []).append(share)
        nodes = {job: nodes_of(mine) for job, mine in by_job.items()}
        for job, mine in nodes.items():
            if sorted(mine) != sorted(self.nodes.get(job, ())):
                self.delay_s[job] = RESTART_S
                self.shares[job] = tuple(by_job[job])
        self.shares = {job: self.shares[job] for job in nodes}
        self.nodes = nodes
