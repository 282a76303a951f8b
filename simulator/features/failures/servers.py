"""Servers of large jobs: how they fail, are diagnosed, repaired and retired, without the jobs that run on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simulator.arguments import checked
from simulator.errors import InputError
from simulator.features.failures.outages import check_law
from simulator.laws import Law
from simulator.model.cluster import Cluster, FloatArray

PROBABILITIES = (
    "bad_fraction", "to_manual", "auto_fails", "manual_fails", "diagnosed", "misdiagnosed",
)  # fmt: skip
POSITIVE = ("time_to_failure_s", "retire_window_s", "score_half_life_s")
NOT_NEGATIVE = ("bad_factor", "standbys", "spare_nodes", "host_selection_s", "preemption_s")


@checked("reliability")
@dataclass(frozen=True)
class Reliability:
    """Specification of servers that fail, and of jobs that go on with others in their place.

    A server is a node. Times to failure are exponential; a bad server has ``bad_factor`` times the rate more.
    The rules are those of AIReSim (arXiv 2603.07041).

    Attributes
    ----------
    time_to_failure_s : mean time to failure of a good server that a job uses, s; others do not fail.
    auto_repair, manual_repair : laws of the times of the two stages of a repair, s.
    fails_in_restart : whether servers also fail while their job does not work: after its start, or a failure.
    bad_fraction, bad_factor : part of the servers that are bad at first, and their further rate over that of a good one.
    standbys : servers that each job holds beside its own.
    spare_nodes : the last nodes of the cluster; other work holds them until a job takes them for good.
    host_selection_s, preemption_s : time without work when servers are selected, at a start or when no standby is
        left, and for each that is taken from other work, one after the other, when none is free.
    to_manual : probability of the second stage.
    auto_fails, manual_fails : probability that the fault is still there after a repair that ends with this stage.
    diagnosed : probability that a failed server is found; else none is repaired, and the job restarts on the same ones.
    misdiagnosed : probability that another one of the job is repaired in place of the one that failed.
    retire_after, retire_window_s : failures within a time, at which a server is retired when its repair is over;
        None: never.
    retire_score, score_half_life_s : score at which it is retired then: each failure counts 1, and a half after each
        half-life.
    """

    time_to_failure_s: float
    auto_repair: Law
    manual_repair: Law | None = None
    fails_in_restart: bool = False
    bad_fraction: float = 0.0
    bad_factor: float = 0.0
    standbys: int = 0
    spare_nodes: int = 0
    host_selection_s: float = 0.0
    preemption_s: float = 0.0
    to_manual: float = 0.0
    auto_fails: float = 0.0
    manual_fails: float = 0.0
    diagnosed: float = 1.0
    misdiagnosed: float = 0.0
    retire_after: int | None = None
    retire_window_s: float = math.inf
    retire_score: float | None = None
    score_half_life_s: float = math.inf

    def __post_init__(self) -> None:
        for name in PROBABILITIES:
            if not 0 <= getattr(self, name) <= 1:
                self._wrong(name, "from 0 to 1")
        for name in POSITIVE:
            if not getattr(self, name) > 0:
                self._wrong(name, "more than 0")
        for name in NOT_NEGATIVE:
            if not 0 <= getattr(self, name) < math.inf:
                self._wrong(name, "a number >= 0")
        check_law("reliability: auto_repair", self.auto_repair)
        if self.manual_repair is not None:
            check_law("reliability: manual_repair", self.manual_repair)
        elif self.to_manual > 0:
            raise InputError("reliability: manual_repair is missing, expected beside to_manual")

    def _wrong(self, name: str, expected: str) -> None:
        raise InputError(f"reliability: {name} is {getattr(self, name)}, expected {expected}")

    def check(self, cluster: Cluster) -> None:
        """`InputError` where the machines are no nodes, or all of them spare."""
        if cluster.node_type_of is None:
            raise InputError("reliability: given with VMs or a pool, expected nodes")
        if self.spare_nodes >= cluster.num_nodes:
            raise InputError(
                f"reliability: spare_nodes is {self.spare_nodes}, expected fewer than the {cluster.num_nodes} nodes"
            )


class Servers:
    """The state of all servers.

    Attributes
    ----------
    rate : ``(N,)`` rate of failures of each while it is exposed, over that of a good one.
    is_bad : ``(N,)`` whether it has the further rate.
    manual, good, bad, retired : repairs with a second stage; repairs after which the fault was gone, or still
        there; servers that were retired.
    """

    def __init__(self, spec: Reliability, count: int, rng: np.random.Generator) -> None:
        self.spec, self._rng = spec, rng
        self.is_bad = rng.permutation(count) < round(spec.bad_fraction * count)
        self.rate: FloatArray = np.where(self.is_bad, 1.0 + spec.bad_factor, 1.0)
        self.manual = self.good = self.bad = self.retired = 0
        self._failed_s: dict[int, list[float]] = {}

    def retires(self, node: int, failed_s: float, now_s: float) -> bool:
        """Whether a server that is held to have failed is retired now that its repair is over."""
        spec, times = self.spec, self._failed_s.setdefault(node, [])
        times.append(failed_s)
        ages_s = now_s - np.array(times)
        number = float((ages_s <= spec.retire_window_s).sum())
        score = float((0.5 ** (ages_s / spec.score_half_life_s)).sum())
        limits = spec.retire_after, spec.retire_score
        is_over = any(
            m is not None and n >= m for n, m in zip((number, score), limits, strict=True)
        )
        self.retired += is_over
        return is_over

    def repair_s(self, node: int) -> float:
        """Draw the seconds of a repair, and whether it is good: a bad server is then a good one."""
        spec, rng = self.spec, self._rng
        time_s, fails = spec.auto_repair(rng), spec.auto_fails
        if spec.manual_repair is not None and rng.random() < spec.to_manual:
            self.manual += 1
            time_s, fails = time_s + spec.manual_repair(rng), spec.manual_fails
        is_good = bool(rng.random() >= fails)
        self.good += is_good
        self.bad += not is_good
        if is_good:
            self.is_bad[node], self.rate[node] = False, 1.0
        return time_s
