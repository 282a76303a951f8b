"""Limits of sizes, for every way in which a size is given.

What is larger is a slip of the pen, and would fill the memory. `simulator.arguments.whole` looks parameters up here
by name; columns of files and keys of scenarios take their bounds from here.
"""

from __future__ import annotations

from simulator.errors import InputError

MOST_NODES = 1_000_000
MOST_JOBS = 10_000_000
MOST_GPUS = 10_000
"""Of one node."""

LATEST_S = 1e12
"""Submissions are before this (over 30,000 years), where a clock still resolves a millisecond."""

MOST_TIMES = 250_000_000
"""Entries of a table of times by job, node type and number of GPUs: 2 GB."""

BY_NAME = {
    "num_nodes": MOST_NODES,
    "num_controllers": MOST_NODES,
    "num_jobs": MOST_JOBS,
    "gpus_per_node": MOST_GPUS,
}
"""Of parameters, by their names."""


def expect_few(count: int, most: int, what: str) -> None:
    """Raise InputError for more than the limit: "12 jobs in all, expected at most 10"."""
    if count > most:
        raise InputError(f"{count:,} {what}, expected at most {most:,}")


def times_shape(jobs: int, types: int, gpus: int) -> tuple[int, int, int]:
    """``(J, V, G + 1)``, the shape of a table of times; raises InputError where it would fill the memory."""
    expect_few(
        jobs * types * (gpus + 1),
        MOST_TIMES,
        f"times of {jobs:,} jobs on {types:,} node types of up to {gpus:,} GPUs",
    )
    return jobs, types, gpus + 1
