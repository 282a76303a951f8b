"""Nodes that are down: jobs on them, and the jobs that stop as a node goes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.bench.check.changes import NONE, HeldChanges, levels
from experiments.bench.check.verdict import Fault, slack_s, told
from simulator.model.cluster import FloatArray


def outage_faults(changes: HeldChanges, outages: FloatArray) -> Iterator[Fault]:
    """GPUs of a node that are held while it is down."""
    (node,), at_s, held = levels([changes.node], changes.at_s, changes.gpus)
    in_use = held[:, 0] > NONE
    ends = np.searchsorted(node, outages[:, 0], side="right")
    bad, when = np.zeros(len(outages), dtype=np.bool_), np.zeros(len(outages))
    for row, (number, down_s, up_s) in enumerate(outages.tolist()):
        first = np.searchsorted(node, number)
        own = slice(first, ends[row])
        begins, uses = at_s[own], in_use[own]
        stops = np.append(begins[1:], np.inf)
        inside = uses & (begins < up_s - slack_s(up_s)) & (stops > down_s + slack_s(down_s))
        if inside.any():
            bad[row], when[row] = True, max(down_s, begins[inside.argmax()])
    yield from told(
        bad,
        lambda row: (
            f"node {outages[row, 0]:g}",
            f"is in use at {when[row]:.9g} s, is down from {outages[row, 1]:.9g} to {outages[row, 2]:.9g} s",
        ),
    )


def stopped_by(changes: HeldChanges, outages: FloatArray) -> set[tuple[int, float]]:
    """Jobs, and times, at which a job gave back GPUs of a node that went down then."""
    by_node: dict[int, list[float]] = {}
    for number, down_s, _ in outages.tolist():
        by_node.setdefault(int(number), []).append(down_s)
    found = set()
    for node, downs in by_node.items():
        own = (changes.node == node) & (changes.gpus[:, 0] < 0)
        times_s, down_s = changes.at_s[own], np.sort(downs)
        near = np.clip(np.searchsorted(down_s, times_s), 1, len(down_s)) - 1
        gone = np.zeros(len(times_s), dtype=np.bool_)
        for other in (near, np.minimum(near + 1, len(down_s) - 1)):
            gone |= np.abs(down_s[other] - times_s) <= slack_s(times_s)
        found |= set(zip(changes.job[own][gone].tolist(), times_s[gone].tolist(), strict=True))
    return found
