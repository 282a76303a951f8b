"""Slurm's multifactor priority of waiting jobs.

priority = weight_age * age + weight_fairshare * fair share + weight_size * size + weight_qos * QOS
+ weight_partition * partition, each factor between 0 and 1. Source: Slurm's documentation, Multifactor Priority Plugin,
Classic Fairshare Algorithm and Fair Tree Fairshare Algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.queues.of_tenants import tenants_of
from policies.queues.usage import Usage
from simulator import InputError, View
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import FloatArray
from simulator.model.ranks import ranks


@dataclass
class Multifactor:
    """Priorities of waiting jobs at one controller, and the usage that it remembers.

    Parameters
    ----------
    weight_age : of the time since submission over max_age_s, at most 1 (PriorityWeightAge).
    weight_fairshare : of 2 ** (-usage / share), both as parts of all, of the job's tenant (PriorityWeightFairshare). Shares are
        the tenants' weights; usage is in GPU-seconds, of which half counts after half_life_s (`policies.queues.usage`).
    fair_tree : the factor of a tenant is its rank over the number of tenants, the one of least usage / share highest, as Slurm's
        Fair Tree has it for users of one account; False: the formula of weight_fairshare.
    weight_size : of the job's part of all GPUs (PriorityWeightJobSize).
    weight_qos, weight_partition : of the priority of the job's QOS or partition over the highest one (PriorityWeightQOS,
        PriorityWeightPartition).
    max_age_s : PriorityMaxAge, s.
    half_life_s : PriorityDecayHalfLife, s; 0: usage counts for ever.
    favor_small : small jobs have the high factor of size (PriorityFavorSmall).
    qos_priority, partition_priority : priorities by name, "high=100 normal=10"; a name that is not there has 0.
    """

    weight_age: float = 1000.0
    weight_fairshare: float = 0.0
    fair_tree: bool = False
    weight_size: float = 0.0
    weight_qos: float = 0.0
    weight_partition: float = 0.0
    max_age_s: float = 7 * DAY_S
    half_life_s: float = 7 * DAY_S
    favor_small: bool = False
    qos_priority: str = ""
    partition_priority: str = ""
    _factors: dict[str, FloatArray] = field(default_factory=dict, init=False, repr=False)
    _usage: Usage = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.max_age_s > 0:
            raise InputError(f"max_age_s is {self.max_age_s}, expected a number > 0")
        if not self.half_life_s >= 0:
            raise InputError(f"half_life_s is {self.half_life_s}, expected a number >= 0")
        self._usage = Usage(self.half_life_s)
        self._of_qos = _by_name("qos_priority", self.qos_priority)
        self._of_partition = _by_name("partition_priority", self.partition_priority)

    def priority(
        self, view: View, jobs: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> FloatArray:
        """``(n,)`` priorities of jobs now."""
        if not self._factors:
            rows = view.rows
            size = rows.num_gpus / view.cluster.total_gpus
            self._factors = {
                "size": 1 - size if self.favor_small else size,
                "qos": _relative(rows.qos, self._of_qos),
                "partition": _relative(rows.vc, self._of_partition),
            }
        age = np.minimum((view.now_s - view.workload.submit_s[jobs]) / self.max_age_s, 1)
        found = self.weight_age * age
        if self.weight_fairshare:
            found = (
                found + self.weight_fairshare * self._fair_share(view)[tenants_of(view).of[jobs]]
            )
        for name, factor in self._factors.items():
            found = found + getattr(self, f"weight_{name}") * factor[jobs]
        return np.asarray(found, dtype=np.float64)

    def _fair_share(self, view: View) -> FloatArray:
        """``(T,)`` factors of the tenants, what they have used until now included."""
        tenants, used = tenants_of(view), self._usage.until_now(view)
        used = used / (used.sum() or 1.0) / (tenants.weight / tenants.weight.sum())
        if not self.fair_tree:
            return np.asarray(2.0**-used)
        place = ranks(used)
        return 1 - np.searchsorted(np.sort(place), place) / len(place)


def _by_name(option: str, text: str) -> dict[str, float]:
    """Numbers by name: "high=100 normal=10"."""
    found = {}
    for word in text.split():
        name, _, number = word.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = -1.0
        if not 0 <= found[name] < np.inf:
            raise InputError(
                f'{option} has {word!r}, expected NAME=NUMBER like "high=100 normal=10"'
            )
    return found


def _relative(names: Sequence[str], priority: dict[str, float]) -> FloatArray:
    """``(J,)`` priorities of names over the highest one."""
    highest = max(priority.values(), default=0.0) or 1.0
    return np.array([priority.get(name, 0.0) / highest for name in names])
