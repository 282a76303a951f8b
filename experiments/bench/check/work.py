"""Work of jobs: what is done in their stretches, less what starts, checkpoints and failures cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from experiments.bench.check.rules import TaskRules
from experiments.bench.check.stretches import Stretches
from experiments.bench.check.verdict import MOST_FAULTS, Fault, short, slack_s
from simulator.model.cluster import FloatArray
from simulator.model.workload import Workload

PART = 1e-6
"""Of the time that a job holds GPUs: so much may be missing, since times are rounded."""


def work_faults(
    stretches: Stretches,
    rates: FloatArray,
    failed: set[tuple[int, float]],
    workload: Workload,
    rules: TaskRules,
) -> Iterator[Fault]:
    """Jobs that do less than their work, or hold GPUs for longer than it takes.

    What is forgiven is granted once a job, however many stretches it has.
    """
    rows = [stretches.start_s, stretches.end_s, stretches.gpus, rates]
    columns = [column.tolist() for column in rows]
    found = 0
    for job, own in enumerate(stretches.of_jobs(len(workload))):
        starts, ends, gpus, speeds = (column[own] for column in columns)
        if not starts or not all(speeds):
            continue
        stops = [(job, end) in failed for end in ends]
        work = work_done(starts, ends, gpus, speeds, stops, rules)
        apart_s = (work - 1) / speeds[-1]
        held_s = math.fsum(ends) - math.fsum(starts)
        known_s = float(slack_s(ends[-1])) + PART * held_s
        what = ""
        if apart_s < -known_s:
            what = f"does {work:.6%} of its work"
        elif rules.is_exact and apart_s > known_s + rules.late_s:
            what = f"holds GPUs for {work:.6%} of its work"
        if what:
            yield Fault(f"job {short(workload.job_id[job])}", what)
            found += 1
            if found == MOST_FAULTS:
                return


def work_done(
    starts: Sequence[float],
    ends: Sequence[float],
    gpus: Sequence[float],
    rates: Sequence[float],
    failed: Sequence[bool],
    rules: TaskRules,
) -> float:
    """Part of a job's work that is done in its stretches, in order of time.

    Parameters
    ----------
    starts, ends, gpus : of each stretch; s, s, GPUs.
    rates : part of the work in a second of work.
    failed : whether it ends as a node of the job goes down.
    """
    work, delays, cycle_s = 0.0, rules.delays, rules.interval_s + rules.cost_s
    for i, (start_s, end_s, rate) in enumerate(zip(starts, ends, rates, strict=True)):
        delay_s = delays.first_s
        if i:
            delay_s = delays.move_s if ends[i - 1] == start_s else delays.resume_s
            delay_s += rules.restart_s * failed[i - 1]
        if delays.doubling_s:
            delay_s += delays.doubling_s * math.log2(max(1.0, gpus[i]))
        runs_s = max(0.0, end_s - start_s - delay_s)
        if rules.interval_s == 0:  # work is saved all the time
            work += runs_s * rate
            continue
        saves = math.floor((runs_s + float(slack_s(end_s))) / cycle_s)
        saved_s, since_s = 0.0, runs_s
        if saves:  # else the interval may be infinite
            saved_s, since_s = saves * rules.interval_s, max(0.0, runs_s - saves * cycle_s)
        if not failed[i] or i == len(starts) - 1:
            saved_s += min(since_s, rules.interval_s)
        work += saved_s * rate
    return work
