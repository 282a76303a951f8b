"""Partitions: groups of nodes on which only the jobs that name them may run.

    jobs = in_partitions(jobs, cluster, [frozenset({"gpu"}), frozenset({"gpu", "debug"})])

A job names its partitions as its virtual cluster (`Workload.vc`), several as "gpu,debug". What it may use becomes the
groups of nodes that it asks for (`Workload.gpu_types`, "@NAME"), which all that places jobs keeps to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.model.cluster import Cluster
from simulator.model.places import BETWEEN, group_of, may_use, types_of
from simulator.model.workload import Workload


def in_partitions(
    workload: Workload, cluster: Cluster, partitions: Sequence[frozenset[str] | None]
) -> Workload:
    """The jobs on the nodes of their partitions, with notes on those that have none here.

    Parameters
    ----------
    partitions : by node type, those whose jobs may run there; None: jobs of any.
    """
    types = cluster.node_types
    known = frozenset[str]().union(*filter(None, partitions))
    texts: dict[tuple[str, str], str] = {}
    unknown = without = 0
    first = ["", ""]
    for job, key in zip(
        workload.job_id, zip(workload.vc, workload.gpu_types, strict=True), strict=True
    ):
        vc, asked = key
        names = {name.strip() for name in vc.split(",")} & known
        if not names:
            unknown += 1
            first[0] = first[0] or f"{job}: {vc or 'none'}"
            texts[key] = asked
            continue
        inside = [t for t, of in zip(types, partitions, strict=True) if of is None or names & of]
        chosen = [t for t in inside if may_use(t, types_of(asked))]
        if not chosen:
            without += 1
            first[1] = first[1] or f"{job}: {asked} in {vc}"
        chosen = chosen or inside
        texts[key] = asked if len(chosen) == len(types) else BETWEEN.join(map(group_of, chosen))
    asks = [texts[key] for key in zip(workload.vc, workload.gpu_types, strict=True)]
    notes = [
        f"workload: {count} jobs {what} (the first is {one})"
        for count, what, one in (
            (unknown, "name no partition of the cluster, here they may use any node", first[0]),
            (
                without,
                "ask for a type of GPU that their partition lacks, here they take any of it",
                first[1],
            ),
        )
        if count
    ]
    return replace(workload, gpu_types=asks).noted(*notes)
