"""Admission control: which jobs can be promised their due date.

A job is promised its due date if a schedule exists in which it and all jobs with a promise are on
time: earliest due date first, with preemption, on all GPUs of the cluster together. A job that cannot
be promised it is rejected, or downgraded: it stays, without a due date, behind those that have one.

This is ElasticFlow's test (Gu et al., ASPLOS 2023, Section 4.1) for jobs of a fixed number of GPUs. There,
jobs may also get more or fewer GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from simulator import tolerances
from simulator.errors import InputError

Rule = Literal["reject", "downgrade"]


@dataclass(frozen=True)
class Admission:
    """What happens to jobs that cannot meet their due date.

    Attributes
    ----------
    rule : "reject": they leave at once; "downgrade": they run without a due date.
    """

    rule: Rule = "reject"

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            known = ", ".join(get_args(Rule))
            raise InputError(f"admission: rule is {self.rule!r}, expected one of {known}")


class Promise(NamedTuple):
    """A job that is on time in the schedule: due date (s from now), job, GPUs, seconds left."""

    due_in_s: float
    job: int
    gpus: int
    left_s: float


def all_on_time(promises: Sequence[Promise], total_gpus: float) -> bool:
    """Whether earliest due date first, with preemption, ends every job in time.

    At every completion the jobs are looked at in order of due date, equals in order of submission; who
    fits in the GPUs that are left runs. GPUs count together, wherever they are. A job whose due date has
    passed is work to be done first. Nobody can keep its promise any more, so it does not count as one.
    """
    left = {p.job: p.left_s for p in promises}
    waiting = sorted(promises)
    now_s = 0.0
    while waiting:
        free, running = total_gpus, []
        for p in waiting:
            if p.gpus <= free:
                free -= p.gpus
                running.append(p)
        if not running:
            return False
        step_s = min(left[p.job] for p in running)
        now_s += step_s
        for p in running:
            left[p.job] -= step_s
            if left[p.job] <= tolerances.SUMS * max(1.0, p.left_s):
                if 0 <= p.due_in_s < now_s - tolerances.SUMS * max(1.0, now_s):
                    return False
                left[p.job] = -math.inf
        waiting = [p for p in waiting if left[p.job] != -math.inf]
        if any(
            0 <= p.due_in_s * (1 + tolerances.SUMS) < now_s + left[p.job] - 1e-6 for p in waiting
        ):
            return False
    return True
