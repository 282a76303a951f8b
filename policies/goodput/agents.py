"""Agents: what each job has measured, and the speed-ups that it expects from it (Pollux, Section 3).

Jobs without tables of goodput have known times and no batch sizes to choose (`KnownTimes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from policies.goodput.estimate import (
    LEAST_SQUARES,
    Choice,
    Estimator,
    Limits,
    StepModel,
    best_batch_sizes,
)
from policies.goodput.times import node_type_of
from policies.queues.free_gpus import Nodes
from simulator.model.batch_size import BatchSize
from simulator.model.cluster import FloatArray
from simulator.model.contract import Placement, View
from simulator.model.goodput import Application, Goodput, Ring, packed, ring_of

KEPT = 10_000
"""Fits, and choices, that are kept for other jobs."""


@dataclass
class Agent:
    """One job's place, and how often it was moved.

    Attributes
    ----------
    most_gpus : most GPUs that it has held.
    starts : how often it was started or moved.
    nodes : where it was put last.
    """

    most_gpus: int = field(default=0, init=False)
    starts: int = field(default=0, init=False)
    nodes: Nodes = field(default=(), init=False)

    @property
    def keeps_batch(self) -> bool:
        """Whether it has its user's batch size on any GPUs."""
        return False

    def put(self, nodes: Nodes) -> BatchSize | None:
        """Remember where it is put; the batch size that it chooses there."""
        if nodes and sorted(nodes) != sorted(self.nodes):
            self.starts += 1
            self.most_gpus = max(self.most_gpus, sum(g for _, g in nodes))
        self.nodes = nodes
        return None

    def goodput(self, nodes: Nodes) -> float:
        """Expected goodput on these nodes."""
        raise NotImplementedError

    def speedups(self, per_node: int, most: int, node_type: int = 0) -> FloatArray:
        """``(most + 1,)`` goodput on 0, 1, .. GPUs of as few nodes as possible, over that on one GPU; 0: not there.

        On a cluster of several types it is on nodes of ``node_type``, over any number that is the same for all.
        """
        raise NotImplementedError

    def on_one_node(self, gpus: int) -> float:
        """Expected goodput on so many GPUs as if of one node, over that on one GPU."""
        raise NotImplementedError


@dataclass
class KnownTimes(Agent):
    """A job whose times on one node are known, ``(G + 1,)`` s by GPUs."""

    times_s: FloatArray

    @property
    def alone_s(self) -> float:
        """The time on the fewest GPUs on which there is one, which speed-ups are over."""
        return float(self.times_s[np.isfinite(self.times_s).argmax()])

    def goodput(self, nodes: Nodes) -> float:
        """Part of the job that is done in a second."""
        gpus = sum(g for _, g in nodes)
        return 1.0 / float(self.times_s[gpus]) if gpus < len(self.times_s) else 0.0

    def speedups(self, per_node: int, most: int, node_type: int = 0) -> FloatArray:
        """Speed-ups within a node."""
        known = np.zeros(most + 1)
        width = min(per_node, most, len(self.times_s) - 1) + 1
        known[:width] = self.alone_s / self.times_s[:width]
        return known

    def on_one_node(self, gpus: int) -> float:
        """The speed-up, on the most GPUs that are known where there are fewer."""
        return self.alone_s / float(self.times_s[min(gpus, len(self.times_s) - 1)])


@dataclass
class Learner(Agent):
    """A job's measurements.

    Attributes
    ----------
    apps, asked : what it trains, by node type, and its user's batch size.
    estimator : how it estimates.
    profile : measured times by nodes, GPUs and samples a GPU.
    chosen : its batch size.
    noise : squared norm and variance of the gradient, as measured last.
    """

    apps: Sequence[Application]
    asked: int
    estimator: Estimator = LEAST_SQUARES
    profile: dict[tuple[int, int, int], tuple[float, float]] = field(default_factory=dict)
    chosen: BatchSize | None = None
    _model: StepModel | None = None
    noise: tuple[float, float] = (1.0, 1.0)
    _speedups: FloatArray | None = None

    @property
    def app(self) -> Application:
        """Tables of what it trains; all but its times are used."""
        return self.apps[0]

    @property
    def keeps_batch(self) -> bool:
        """Whether the application does."""
        return self.app.keeps_batch

    def measure(self, ring: Ring, chosen: BatchSize, epoch: int, node_type: int = 0) -> None:
        """Measure a step as the job runs now."""
        gpus = sum(ring)
        key = (len(ring), gpus, chosen.local)
        if key not in self.profile:
            step = self.apps[node_type].step(ring, chosen.local)
            self.profile[key] = (step.step_s, step.sync_s)
            self._model = None
        sqr, var = self.app.noise(gpus * chosen.local * (chosen.accumulation + 1))
        noise = (float(sqr[epoch]), float(var[epoch]))
        if self._model is None or noise != self.noise:
            self._speedups = None
        self.noise = noise

    def choose(
        self, rings: tuple[Ring, ...], within: Sequence[Application] | None = None
    ) -> Choice:
        """Best batch sizes by the job's estimate; before the first measurement, the smallest.

        Parameters
        ----------
        within : applications whose tables have times of them, the job's own where not given; empty: times may be missing.
        """
        if self._model is None and self.profile:
            table = tuple((*key, *times) for key, times in self.profile.items())
            self._model = fitted(self.estimator, table)
        bounds = tuple(self.apps if within is None else within)
        asked = self.asked if self.app.keeps_batch else 0
        return chosen(self.app, self.estimator, self._model, self.noise, asked, rings, bounds)

    def batch_size(self, nodes: Nodes) -> BatchSize:
        """The configuration on these nodes."""
        return self.choose((ring_on(nodes),)).batch_size(0)

    def goodput(self, nodes: Nodes) -> float:
        """Expected goodput on these nodes, 0 where no batch size has times; before the first measurement the number of GPUs."""
        found = float(self.choose((ring_on(nodes),)).goodput[0])
        return found if self.profile or not found else float(sum(ring_on(nodes)))

    def speedups(self, per_node: int, most: int, node_type: int = 0) -> FloatArray:
        """Speed-ups by the estimate; 0 beyond twice the most GPUs that it has held, and where no batch size has times."""
        if self._speedups is None or len(self._speedups) != most + 1:
            goodput = self.choose(rings_up_to(most, per_node)).goodput
            if not self.profile:
                goodput = np.where(goodput > 0, np.arange(1.0, most + 1), 0.0)
            relative = goodput / goodput[0] if goodput[0] > 0 else goodput
            self._speedups = np.concatenate([[0.0], relative])
        known = self._speedups.copy()
        known[max(1, 2 * self.most_gpus) + 1 :] = 0.0
        return known

    def on_one_node(self, gpus: int) -> float:
        """The speed-up by the estimate; before the first measurement the number of GPUs."""
        if not self.profile:
            return float(gpus)
        one, several = self.choose(((1,), (gpus,)), within=()).goodput.tolist()
        return several / one if one > 0 and several > 0 else 1.0

    def put(self, nodes: Nodes) -> BatchSize | None:
        """Remember where it is put, and choose its batch size there."""
        super().put(nodes)
        self.chosen = self.batch_size(nodes) if nodes else None
        return self.chosen


def ring_on(nodes: Nodes) -> Ring:
    """GPUs by node."""
    return tuple(gpus for _, gpus in nodes)


@lru_cache
def rings_up_to(most: int, per_node: int) -> tuple[Ring, ...]:
    """1, 2, .. GPUs on as few nodes as possible."""
    return tuple(packed(gpus, per_node) for gpus in range(1, most + 1))


@lru_cache(maxsize=KEPT)
def fitted(estimator: Estimator, profile: tuple[tuple[float, ...], ...]) -> StepModel:
    """The model of a profile; jobs of one application often measure the same."""
    return estimator.fit(np.array(profile, dtype=np.float64))


@lru_cache(maxsize=KEPT)
def chosen(
    app: Application,
    estimator: Estimator,
    model: StepModel | None,
    noise: tuple[float, float],
    asked: int,
    rings: tuple[Ring, ...],
    within: tuple[Application, ...],
) -> Choice:
    """`Learner.choose`, with the batch size ``asked`` where it is not 0."""
    nodes, gpus = (np.array([of(ring) for ring in rings], dtype=np.float64) for of in (len, sum))
    if within:
        limits = limits_on(within, rings)
    else:
        limits = (np.array([app.smallest_local]), np.array([app.largest_local]))
    if asked:
        batch = np.array([[asked]])
    elif model is not None:
        batch = estimator.candidates(app)[None, :]
    else:
        batch = np.clip(limits[0] * gpus, app.initial, app.largest)[:, None]
    known = model or StepModel((1.0, 0.0), (0.0, 0.0), (0.0, 0.0), 1.0)
    return best_batch_sizes(app, known, noise, nodes, gpus, batch, limits)


def limits_on(apps: Sequence[Application], rings: Sequence[Ring]) -> Limits:
    """Smallest and largest local batch size that have times on each ring, for each of the applications."""
    found = np.array([[app.limits(ring) for ring in rings] for app in apps])
    return found[..., 0].max(axis=0), found[..., 1].min(axis=0)


class TypedLearner(Learner):
    """A job that measures each node type by itself, on one GPU of each before it starts (Sia, Section 3).

    The goodput on several GPUs of a type on which it has not yet run on several is in proportion to that on another type:
    as the goodputs on one GPU are. Before it has run on several GPUs of any type, synchronisation costs nothing.
    """

    def __init__(
        self,
        apps: Sequence[Application],
        asked: int,
        estimator: Estimator,
        node_type_of: Sequence[int],
    ) -> None:
        super().__init__(apps, asked, estimator)
        self._node_type_of = node_type_of
        self._on = [Learner([app], asked, estimator) for app in apps]
        for on in self._on:
            for local in reversed(on.app.by_ring[1,][0].tolist()):
                on.measure((1,), BatchSize(int(local)), 0)
        self._known: dict[int, FloatArray] = {}

    def measure(self, ring: Ring, chosen: BatchSize, epoch: int, node_type: int = 0) -> None:
        """Measure a step on a node type; gradient noise is the same on all."""
        on = self._on[node_type]
        before = len(on.profile), on.noise
        on.measure(ring, chosen, epoch)
        if before != (len(on.profile), on.noise):
            self._known.clear()
        for other in self._on:
            other.noise = on.noise

    def batch_size(self, nodes: Nodes) -> BatchSize:
        """The configuration on these nodes of one type."""
        return self._on[self._node_type_of[nodes[0][0]]].batch_size(nodes)

    def goodput(self, nodes: Nodes) -> float:
        """Expected goodput on these nodes of one type."""
        return self._on[self._node_type_of[nodes[0][0]]].goodput(nodes)

    def speedups(self, per_node: int, most: int, node_type: int = 0) -> FloatArray:
        """Goodputs by the estimate; 0 beyond twice the most GPUs that it has held, and where no batch size fits."""
        if len(self._known.get(node_type, ())) != most + 1:
            self._known[node_type] = self._goodputs(per_node, most, node_type)
        known = self._known[node_type].copy()
        known[max(1, 2 * self.most_gpus) + 1 :] = 0.0
        return known

    def _goodputs(self, per_node: int, most: int, node_type: int) -> FloatArray:
        own = self._on[node_type]
        seen = [on for on in self._on if any(gpus > 1 for _, gpus, _ in on.profile)]
        source = own if own in seen or not seen else seen[0]
        rings = rings_up_to(most, per_node)
        goodput = source.choose(rings, (*source.apps, *own.apps)).goodput
        if source is not own and goodput[0] > 0:
            goodput = goodput * (own.choose(rings[:1]).goodput[0] / goodput[0])
        return np.concatenate([[0.0], goodput])


class Agents:
    """The agents of the active jobs.

    Parameters
    ----------
    estimator : how jobs estimate.
    by_type : whether jobs measure the types of several apart.
    """

    def __init__(self, estimator: Estimator, by_type: bool = False) -> None:
        self._of: dict[int, Agent] = {}
        self._estimator = estimator
        self._by_type = by_type

    def observe(self, view: View) -> dict[int, Agent]:
        """Agents by active job, after those that run have measured."""
        model, jobs = view.workload.performance, view.jobs
        left = dict(zip(jobs.tolist(), view.remaining.tolist(), strict=True))
        new = [job for job in left if job not in self._of]
        if isinstance(model, Goodput):
            model.check_types(view.cluster)
            self._type_of = model.type_of
            self._of.update((job, self._learner(model, job)) for job in new)
        elif new:
            table = model.table_s(np.array(new), view.cluster)[:, node_type_of(view)]
            self._of.update(zip(new, map(KnownTimes, table), strict=True))
        for job, shares in view.running.items():
            agent = self._of[job]
            if isinstance(agent, Learner) and agent.chosen is not None:
                self._measure(agent, agent.chosen, shares, agent.app.epoch(left[job]))
        self._of = {job: self._of[job] for job in left}
        return self._of

    def _learner(self, model: Goodput, job: int) -> Learner:
        apps = [model.application(job, v) for v in range(model.types)]
        asked = int(model.batch_size[job])
        if self._by_type and model.types > 1:
            return TypedLearner(apps, asked, self._estimator, model.node_type_of)
        return Learner(apps, asked, self._estimator)

    def _measure(
        self, agent: Learner, chosen: BatchSize, shares: Sequence[Placement], epoch: int
    ) -> None:
        agent.measure(ring_of(shares), chosen, epoch, self._type_of(s.node for s in shares))

    def choose(self, job: int, shares: Sequence[Placement], left: float) -> BatchSize | None:
        """The batch size at the end of an epoch, after it was measured."""
        agent = self._of[job]
        if not isinstance(agent, Learner) or agent.chosen is None:
            return None
        self._measure(agent, agent.chosen, shares, agent.app.epoch(left) - 1)
        agent.chosen = agent.batch_size(agent.nodes)
        return agent.chosen

    def settle(self, plan: Mapping[int, Nodes]) -> dict[int, BatchSize]:
        """Tell the agents where they are put; the batch sizes that they choose there."""
        chosen = {job: agent.put(plan.get(job, ())) for job, agent in self._of.items()}
        return {job: size for job, size in chosen.items() if size is not None}
