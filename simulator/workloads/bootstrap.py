"""Other traces like a given one: its jobs drawn again in blocks, for intervals of what a trace gives.

The moving-block bootstrap on a circle (Künsch 1989; Politis and Romano 1992). A block is a stretch of
consecutive jobs with the gaps before them, so what is alike within a block stays alike: bursts, and
one user's jobs of one kind. What is longer than a block is lost.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.workload import Workload


def block_length(num_jobs: int) -> int:
    """Jobs of a block where nobody says: the square root of their number, rounded up."""
    return math.isqrt(max(num_jobs - 1, 0)) + 1


def drawn_blocks(count: int, block: int, rng: np.random.Generator) -> IntArray:
    """``(count,)`` indices: blocks of consecutive ones from random starts; after the last, the first."""
    starts = rng.integers(count, size=-(-count // block))
    return np.asarray((starts[:, None] + np.arange(block)).ravel()[:count] % count, dtype=np.int64)


def resampled(workload: Workload, block: int, rng: np.random.Generator) -> Workload:
    """As many jobs as before, in blocks drawn with replacement, on a new time line.

    Each job comes after the gap that was before it; before the first job of the trace, that is the mean
    gap. Due dates keep their distance from the submission. The second copy of job "a" is "a#2".

    Parameters
    ----------
    block : jobs of a block, between 1 and the number of jobs.

    Raises InputError: no such block, or a performance model of another package that has no rows.
    """
    count = len(workload)
    if not 1 <= block <= count:
        raise InputError(f"blocks of {block} jobs, expected 1 to {count}, the number of jobs")
    gaps_s = np.diff(workload.submit_s)
    before_s = np.concatenate([[gaps_s.mean() if len(gaps_s) else 0.0], gaps_s])
    jobs = drawn_blocks(count, block, rng)
    submit_s: FloatArray = np.cumsum(before_s[jobs]) - before_s[jobs[0]] + workload.submit_s[0]
    rows = workload.rows(jobs)
    due_s = rows["due_s"] - rows["submit_s"] + submit_s
    rows |= {"job_id": _names(rows["job_id"]), "submit_s": submit_s, "due_s": due_s, "after": ()}
    rows["record"] = None  # the log tells of another order of jobs
    return replace(workload, **rows).noted(
        *(
            ["workload: block_bootstrap: the drawn jobs do not depend on other jobs"]
            if any(workload.after)
            else []
        )
    )


def _names(names: list[str]) -> list[str]:
    """The second copy of a job gets "#2" behind its name, and so on; no name twice."""
    seen: Counter[str] = Counter()
    taken = set(names)
    made = []
    for name in names:
        seen[name] += 1
        copy = name
        while seen[name] > 1 and copy in taken:
            copy = f"{name}#{seen[name]}"
            seen[name] += copy in taken
        taken.add(copy)
        made.append(copy)
    return made
