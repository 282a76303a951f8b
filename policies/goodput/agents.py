"""Agents: what each job has measured, and the speed-ups that it expects from it (Pollux, Section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from policies.goodput.estimate import Choice, StepModel, best_batch_sizes, fit
from policies.goodput.placing import Nodes
from simulator.model.cluster import FloatArray
from simulator.model.contract import View
from simulator.model.goodput import Application, BatchSize, Goodput, Ring, ring_of


@dataclass
class Agent:
    """One job's measurements.

    Attributes
    ----------
    app : what it trains.
    profile : measured times by nodes, GPUs and samples a GPU.
    most_gpus : most GPUs that it has held.
    starts : how often it was started or moved.
    nodes, chosen : where it was put last, and its batch size there.
    """

    app: Application
    profile: dict[tuple[int, int, int], tuple[float, float]] = field(default_factory=dict)
    most_gpus: int = 0
    starts: int = 0
    nodes: Nodes = ()
    chosen: BatchSize | None = None
    _model: StepModel | None = None
    _noise: tuple[float, float] = (1.0, 1.0)
    _speedups: FloatArray | None = None

    def measure(self, ring: Ring, chosen: BatchSize, epoch: int) -> None:
        """Measure a step as the job runs now."""
        gpus = sum(ring)
        key = (len(ring), gpus, chosen.local)
        if key not in self.profile:
            step = self.app.step(ring, chosen.local)
            self.profile[key] = (step.step_s, step.sync_s)
            self._model = None
        sqr, var = self.app.noise(gpus * chosen.local * (chosen.accumulation + 1))
        noise = (float(sqr[epoch]), float(var[epoch]))
        if self._model is None or noise != self._noise:
            self._speedups = None
        self._noise = noise

    def choose(self, nodes: FloatArray, gpus: FloatArray) -> Choice:
        """Best batch sizes by the job's estimate; before the first measurement, on any placement."""
        if self._model is None and self.profile:
            table = [(*key, *times) for key, times in self.profile.items()]
            self._model = fit(np.array(table, dtype=np.float64))
        model = self._model or StepModel((1.0, 0.0), (0.0, 0.0), (0.0, 0.0), 1.0)
        return best_batch_sizes(self.app, model, self._noise, nodes, gpus)

    def batch_size(self, nodes: Nodes) -> BatchSize:
        """The configuration on these nodes."""
        gpus = sum(g for _, g in nodes)
        if not self.profile:
            smallest = max(self.app.initial, self.app.smallest_local * gpus)
            return self.app.split(min(smallest, self.app.largest), gpus)
        chosen = self.choose(np.array([float(len(nodes))]), np.array([float(gpus)]))
        if not chosen.goodput[0] > 0:
            return self.app.split(self.app.largest, gpus)
        return chosen.batch_size(0)

    def goodput(self, nodes: Nodes) -> float:
        """Expected goodput on these nodes; before the first measurement the number of GPUs."""
        gpus = float(sum(g for _, g in nodes))
        if not self.profile:
            return gpus
        return float(self.choose(np.array([float(len(nodes))]), np.array([gpus])).goodput[0])

    def speedups(self, per_node: int, most: int) -> FloatArray:
        """``(most + 1,)`` goodput on 0, 1, .. GPUs of as few nodes as possible, over that on one GPU.

        0 beyond twice the most GPUs that the job has held, and where no batch size fits.
        """
        if self._speedups is None or len(self._speedups) != most + 1:
            gpus = np.arange(1.0, most + 1)
            if self.profile:
                goodput = self.choose(np.ceil(gpus / per_node), gpus).goodput
                relative = goodput / goodput[0] if goodput[0] > 0 else goodput
            else:
                relative = gpus
            self._speedups = np.concatenate([[0.0], relative])
        known = self._speedups.copy()
        known[max(1, 2 * self.most_gpus) + 1 :] = 0.0
        return known

    def put(self, nodes: Nodes) -> None:
        """Remember where it is put, and choose its batch size there."""
        if nodes and sorted(nodes) != sorted(self.nodes):
            self.starts += 1
            self.most_gpus = max(self.most_gpus, sum(g for _, g in nodes))
        self.nodes = nodes
        self.chosen = self.batch_size(nodes) if nodes else None


def observe(agents: dict[int, Agent], view: View, model: Goodput) -> dict[int, Agent]:
    """Agents of the active jobs, after those that run have measured."""
    left = dict(zip(view.jobs.tolist(), view.remaining.tolist(), strict=True))
    for job in left:
        if job not in agents:
            agents[job] = Agent(model.application(job))
    for job, shares in view.running.items():
        chosen = agents[job].chosen
        if chosen is not None:
            agents[job].measure(ring_of(shares), chosen, model.epoch(job, left[job]))
    return {job: agents[job] for job in left}


def settle(agents: Mapping[int, Agent], plan: Mapping[int, Nodes]) -> dict[int, BatchSize]:
    """Tell the agents where they are put; the batch sizes that the jobs of the plan choose there."""
    chosen = {}
    for job, agent in agents.items():
        agent.put(plan.get(job, ()))
        if agent.chosen is not None:
            chosen[job] = agent.chosen
    return chosen
