"""Faults of nodes: more in use at a time than there is, or two types at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.bench.check.changes import HeldChanges, levels, numbers_of
from experiments.bench.check.rows import RESOURCES
from experiments.bench.check.verdict import AMOUNT, Fault, told
from simulator.model.cluster import Cluster


def capacity_faults(changes: HeldChanges, cluster: Cluster) -> Iterator[Fault]:
    """At each instant, of each node: its GPUs, CPUs and memory; of each GPU that is named, the parts of it."""
    (node, kind), at_s, used = levels([changes.node, changes.kind], changes.at_s, changes.amounts)
    types = cluster.node_types
    has = np.array([[getattr(t, name) for name in RESOURCES] for t in types])[kind]
    for column, name in enumerate(RESOURCES):
        over = used[:, column] > has[:, column] + AMOUNT
        yield from told(
            over,
            lambda at, c=column, name=name: (  # type: ignore[misc]
                f"node {node[at]}",
                f"{used[at, c]:g} {name} in use at {at_s[at]:.9g} s, {types[kind[at]].name} has {has[at, c]:g}",
            ),
            node,
        )
    if cluster.is_configurable:
        owner, at_s, count = numbers_of(changes.node, changes.kind, changes.at_s, changes.gpus)
        yield from told(
            count > 1,
            lambda at: (f"node {owner[at]}", f"has two types at {at_s[at]:.9g} s"),
            owner,
        )
    yield from _shared(changes)


def _shared(changes: HeldChanges) -> Iterator[Fault]:
    """Parts of one GPU that are more than the GPU."""
    each = np.array([len(ids) for ids in changes.gpu_ids])[changes.gpus_code]
    row = np.repeat(np.arange(len(each)), each)
    if not len(row):
        return
    own = [changes.gpu_ids[code] for code in changes.gpus_code.tolist()]
    gpu = np.array([number for ids in own for number in ids], dtype=np.int64)
    parts = (changes.gpus[:, 0] / np.maximum(each, 1))[row][:, None]
    (node, gpu), at_s, used = levels([changes.node[row], gpu], changes.at_s[row], parts)
    yield from told(
        used[:, 0] > 1 + AMOUNT,
        lambda at: (
            f"node {node[at]}",
            f"{used[at, 0]:g} of GPU {gpu[at]} in use at {at_s[at]:.9g} s",
        ),
        node,
    )
