"""Servers of large jobs: how they fail, are diagnosed, repaired and retired, without the jobs that run on them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from simulator.errors import InputError
from simulator.features.failures.outages import law_of
from simulator.files.keys import (
    Config,
    KeyedError,
    LawKey,
    NonNegative,
    Positive,
    PositiveInt,
    Probability,
)
from simulator.laws import Law
from simulator.model.cluster import Cluster, FloatArray

NonNegativeInt = Annotated[int, Field(ge=0)]


class Reliability(Config):
    """Servers (nodes) that fail, and large jobs that go on after a failure with others in their place.

    Times to failure are exponential. The rules are those of AIReSim (arXiv 2603.07041).
    """

    time_to_failure_s: Positive = Field(examples=[8640000])
    """mean time to failure of a good server that a job uses, s; exponential"""
    fails_in_restart: bool = False
    """whether servers also fail while their job starts or restarts"""
    bad_fraction: Probability = 0.0
    """part of the servers that are bad at first"""
    bad_factor: NonNegative = 0.0
    """rate of the additional failures of a bad server, divided by the rate of a good one"""
    standbys: NonNegativeInt = 0
    """servers that each job holds beside its own; those that come back from repair fill them up"""
    spare_nodes: NonNegativeInt = 0
    """the last nodes of the cluster: other work holds them until a job takes them for good"""
    host_selection_s: NonNegative = 0.0
    """time without work at a start, and when no standby is left"""
    preemption_s: NonNegative = 0.0
    """time without work for each spare node that is taken, where no server is free"""
    auto_repair: LawKey = Field(examples=["exponential:7200"])
    """law of the time of an automated repair, s"""
    manual_repair: LawKey | None = Field(default=None, examples=["exponential:172800"])
    """law of the time of a manual repair after it, s"""
    to_manual: Probability = 0.0
    """probability that a manual repair follows"""
    auto_fails: Probability = 0.0
    """probability that the fault is still there after an automated repair alone"""
    manual_fails: Probability = 0.0
    """probability that it is still there after a manual repair"""
    diagnosed: Probability = 1.0
    """probability that a failed server is found; else none is repaired, and the job restarts on the same ones"""
    misdiagnosed: Probability = 0.0
    """probability that another server of the job is repaired in place of the one that failed"""
    retire_after: PositiveInt | None = Field(default=None, examples=[3])
    """failures at which a server is retired when its repair is over"""
    retire_window_s: Positive | None = Field(default=None, examples=[604800])
    """time in which they count; left out: always"""
    retire_score: Positive | None = Field(default=None, examples=[2.5])
    """score at which a server is retired when its repair is over: each failure counts 1"""
    score_half_life_s: Positive | None = Field(default=None, examples=[604800])
    """time after which a failure counts a half; left out: never"""

    @model_validator(mode="after")
    def _laws(self) -> Self:
        if self.manual_repair is None and self.to_manual > 0:
            raise KeyedError("manual_repair", "missing, expected beside to_manual")
        self.repairs  # noqa: B018
        return self

    @cached_property
    def repairs(self) -> tuple[Law, Law | None]:
        """The laws of the two stages of a repair, s."""
        automated = law_of("auto_repair", self.auto_repair)
        assert automated is not None
        return automated, law_of("manual_repair", self.manual_repair)

    def check_machines(self, cluster: Cluster) -> None:
        """`InputError` where the machines are no nodes, or all of them spare."""
        if cluster.node_type_of is None:
            raise InputError("reliability: given with VMs or a pool, expected nodes")
        if self.spare_nodes >= cluster.num_nodes:
            raise InputError(
                f"reliability: spare_nodes is {self.spare_nodes}, expected fewer than the {cluster.num_nodes} nodes"
            )


class ServerStates:
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
        number = float((ages_s <= (spec.retire_window_s or math.inf)).sum())
        score = float((0.5 ** (ages_s / (spec.score_half_life_s or math.inf))).sum())
        limits = spec.retire_after, spec.retire_score
        is_over = any(
            m is not None and n >= m for n, m in zip((number, score), limits, strict=True)
        )
        self.retired += is_over
        return is_over

    def repair_s(self, node: int) -> float:
        """Draw the seconds of a repair, and whether it is good: a bad server is then a good one."""
        spec, rng = self.spec, self._rng
        automated, by_hand = spec.repairs
        time_s, fails = automated(rng), spec.auto_fails
        if by_hand is not None and rng.random() < spec.to_manual:
            self.manual += 1
            time_s, fails = time_s + by_hand(rng), spec.manual_fails
        is_good = bool(rng.random() >= fails)
        self.good += is_good
        self.bad += not is_good
        if is_good:
            self.is_bad[node], self.rate[node] = False, 1.0
        return time_s
