"""Times at which jobs start, move or are stopped: rounds, and the least gap between two decisions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.bench.check.changes import NONE, HeldChanges, levels
from experiments.bench.check.rules import TaskRules
from experiments.bench.check.verdict import SECOND, SHARE, Fault, short, slack_s, told
from simulator.model.workload import Workload


def decision_faults(
    changes: HeldChanges, failed: set[tuple[int, float]], workload: Workload, rules: TaskRules
) -> Iterator[Fault]:
    """Decisions off the rounds, or too soon after one another.

    A start and a move are decided; a stop is, unless it is the job's last (its end) or its node went down.
    """
    (job,), at_s, held = levels([changes.job], changes.at_s, changes.gpus)
    is_last = np.append(job[1:] != job[:-1], True)
    stops = held[:, 0] <= NONE
    by_failure = [key in failed for key in zip(job.tolist(), at_s.tolist(), strict=True)]
    decided = ~stops | ~(is_last | np.array(by_failure, dtype=np.bool_))
    if rules.round_s is not None:
        round_s = rules.round_s
        off_s = np.abs(at_s - np.round(at_s / round_s) * round_s)
        yield from told(
            decided & (off_s > slack_s(at_s)),
            lambda at: (
                f"job {short(workload.job_id[job[at]])}",
                f"{'stops' if stops[at] else 'starts or changes'} at {at_s[at]:.9g} s, rounds begin at "
                f"multiples of {round_s:g} s",
            ),
            job,
        )
    if rules.least_gap_s > 0:
        times_s = np.unique(at_s[decided])
        gaps_s = np.diff(times_s)
        yield from told(
            gaps_s < rules.least_gap_s - SECOND - SHARE * times_s[1:],
            lambda at: (
                f"decision at {times_s[at + 1]:.9g} s",
                f"comes {gaps_s[at]:g} s after the one before, expected {rules.least_gap_s:g} s at least",
            ),
        )
