"""Decision trace: ``edf-backfill@decision-trace`` is EDF with backfilling, with a record of each decision.

The wrapped policy decides as ever. Beside each decision stands (`Decision.info`, so in decisions.csv, in the
replay and in ``schedlab show explain``) how many jobs waited, how many were started and stopped, by what the policy
orders them, which still wait, and what is short for the first of these. For example:

    waiting 3, started 1, by due date, still_waiting j7, j9, short GPUs on one node: 6 free, at most 3 on one; needs 4

A policy without it works none of this out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from policies.registry.registration import Wrapper, register
from simulator.model.cluster import FloatArray
from simulator.model.contract import Decision, Placement, Policy, View
from simulator.model.feasibility import plan_after
from simulator.model.fractional import SharedDuration, demanded_gpus
from simulator.model.tolerances import SUMS
from simulator.model.workload import ELASTIC

MOST_NAMED = 5
"""So many of the jobs that still wait are named; the others are counted."""

Shares = Mapping[int, tuple[Placement, ...]]


@register("@decision-trace")
class DecisionTrace(Wrapper):
    """A policy whose decisions record the jobs and resources that were considered.

    Where the wrapped policy has ``by`` (text) and ``ordered(view)``, these say in what order it looks at the
    waiting jobs; else they are named as they queue.
    """

    decides_alike = True

    def __init__(self, policy: Policy, inner_name: str) -> None:
        super().__init__(policy, inner_name)
        self.plans_anew = False  # within @fractional it would record units as GPUs

    def decide(self, view: View) -> Decision:
        """The policy's decision, and what was considered."""
        decision = self.policy.decide(view)
        after = plan_after(decision, view, self.name)
        facts: dict[str, float | int | str | bool] = {
            "waiting": len(view.waiting),
            "started": sum(job not in view.running for job in after),
            "stopped": sum(job not in after for job in view.running),
        }
        if self.by:
            facts["by"] = self.by
        in_order = self.ordered(view) if self.ordered else view.waiting
        waits = [job for job in in_order if job not in after]
        if waits:
            names = [view.workload.job_id[job] for job in waits[:MOST_NAMED]]
            more = len(waits) - MOST_NAMED
            facts["still_waiting"] = ", ".join(names) + (f" and {more} more" if more > 0 else "")
            short = what_is_short(waits[0], after, view, self.fractional_gpus)
            if short is not None:
                facts["short"] = short
        return replace(decision, info={**facts, **decision.info})


def what_is_short(job: int, after: Shares, view: View, in_parts: bool = False) -> str | None:
    """Resources that a job lacks beside those that run; "nothing" where it would fit.

    None where it is not known: the policy chooses the job's GPUs or the nodes' types, or it gives parts of GPUs
    (``in_parts``), and these suffice in sum.
    """
    fixed, performance = view.cluster.node_type_of, view.workload.performance
    if fixed is None or view.cluster.is_pool or view.workload.num_gpus[job] == ELASTIC:
        return None
    if in_parts and performance.time_shared:
        return None
    gpus = float(demanded_gpus(view.workload, in_parts)[job])
    left = _left(after, view)
    total, most = float(left[:, 0].sum()), float(left[:, 0].max())
    if total < gpus - SUMS:
        return f"GPUs: {total:g} free; needs {gpus:g}"
    if in_parts and isinstance(performance, SharedDuration):
        return None  # which parts are free on one GPU is not known here
    if most < gpus - SUMS:
        return f"GPUs on one node: {total:g} free, at most {most:g} on one; needs {gpus:g}"
    return _beside_gpus(job, left[left[:, 0] >= gpus - SUMS], view)


def _beside_gpus(job: int, left: FloatArray, view: View) -> str:
    """Shortage of a job on the nodes whose GPUs suffice: CPUs, memory, or both on the same node."""
    fits = np.ones(len(left), dtype=np.bool_)
    for k, what, wanted in (
        (1, "CPUs", float(view.workload.num_cpus[job])),
        (2, "GB of memory", float(view.workload.memory_gb[job])),
    ):
        enough, least = float(left[:, k].max()), wanted - SUMS * max(1.0, wanted)
        if enough < least:  # never where it is not stated, NaN
            return f"{what}: {enough:g} free at most where the GPUs suffice; needs {wanted:g}"
        fits &= ~(left[:, k] < least)
    return "nothing" if fits.any() else "CPUs and memory on one node"


def _left(after: Shares, view: View) -> FloatArray:
    """``(N/K, 3)`` GPUs, CPUs and GB that the controller's nodes have left."""
    cluster, nodes = view.cluster, view.nodes.tolist()
    types = [cluster.type_of[n] for n in nodes]
    left = np.array([[t.gpus, t.cpus, t.memory_gb] for t in types], dtype=np.float64)
    row = {n: i for i, n in enumerate(nodes)}
    for shares in after.values():
        for share in shares:
            if share.node in row:  # the engine reports a wrong node
                left[row[share.node]] -= (share.gpus, share.cpus, share.memory_gb)
    return left
