"""Times of jobs as in the public pool of the hierarchical paper's authors: a model of eight factors.

The pool has 176 jobs, eight for each of 22 pairs of network and batch size, with times on four GPU
types and 1 to 8 GPUs (repository elenacirillo/Neighbourhood, 2020). They were made by regression: of half
of the jobs the times do not fall as GPUs are added. With ``t`` a job's time over its shortest,

    log t[type, gpus] = mean[type, gpus] + sum over k of score[pair, k] factor[type, gpus, k]

with means and factors in ``data/pool_times.csv`` and the scores of the pairs in ``data/pool_jobs.csv``:
the first eight principal components, the least number with which a pair's fastest configuration takes at
most a tenth longer than its shortest time. (Three hold 98 % of the variance, and the fastest configuration
is another one for half of the pairs.) The root mean square error of ``log t`` is 0.04; quartiles of a job's
longest over its shortest time are 5.6, 8.4 and 28 (pool: 5.8, 8.3 and 28).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.arguments import times_shape
from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.model.cluster import FloatArray, NodeType

FACTORS = 8


def pool_times(
    count: int, catalog: Sequence[NodeType], rng: np.random.Generator
) -> tuple[FloatArray, list[str]]:
    """Times ``(J, V, G + 1)`` of jobs drawn as in the pool, s, and their names.

    Every pair of network and batch size is as likely; the shortest time over all four GPU types is
    log-uniform between the extremes of the pair's eight jobs.

    Raises InputError: a node type with a GPU type or a number of GPUs that the pool does not have.
    """
    cells, pairs = read_table("pool_times.csv"), read_table("pool_jobs.csv")
    factors = cells[[f"factor_{k + 1}" for k in range(FACTORS)]].to_numpy()
    scores = pairs[[f"score_{k + 1}" for k in range(FACTORS)]].to_numpy()
    logs = cells["mean"].to_numpy() + scores @ factors.T
    logs -= logs.min(axis=1, keepdims=True)
    drawn = rng.integers(len(pairs), size=count)
    low, high = (np.log(pairs[f"shortest_{end}_s"].to_numpy())[drawn] for end in ("low", "high"))
    times_s = np.exp(logs[drawn] + rng.uniform(low, high)[:, None])
    column = {cell: c for c, cell in enumerate(zip(cells["gpu_type"], cells["gpus"], strict=True))}
    found = np.full(times_shape(count, len(catalog), max(int(t.gpus) for t in catalog)), np.inf)
    for v, node_type in enumerate(catalog):
        for g in range(1, int(node_type.gpus) + 1):
            if (node_type.gpu_type, g) not in column:
                known = ", ".join(dict.fromkeys(cells["gpu_type"]))
                raise InputError(
                    f"catalog: {node_type.name!r} has {node_type.gpus:g} {node_type.gpu_type!r}, expected "
                    f"at most 8 GPUs of {known}, for which the pool has times"
                )
            found[:, v, g] = times_s[:, column[node_type.gpu_type, g]]
    names = (pairs["framework"] + "_" + pairs["network"]).tolist()
    return found, [names[pair] for pair in drawn]
