"""Networks of jobs, and the times that follow from them on these machines.

A step is ``(workload, context) -> (workload, note)``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.adaptation.rules import Context, Rules
from simulator.errors import InputError
from simulator.files.keys import at_key
from simulator.model.cluster import Cluster
from simulator.model.goodput import Goodput
from simulator.model.performance import FixedDuration, Sensitivity, SpeedupCurve, TimeTable
from simulator.model.sensitive_table import SensitiveTable
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.gpu_types import gpu_type_name
from simulator.workloads.networks import (
    dnn_model_name,
    dnn_models,
    dnn_models_of,
    models_of_split,
    with_sensitive_table,
    with_sensitivity,
)
from simulator.workloads.networks.speeds import rate
from simulator.workloads.reshaping import (
    curves_of_table,
    elastic,
    of_demand,
    with_curves,
)


def with_models(workload: Workload, rules: Rules, streams: Streams) -> Workload:
    """A network for each job, by ``rules.models``."""
    wanted = rules.models
    if wanted is None:
        return workload
    count, rng = len(workload), streams.generator("adapt-models")
    with at_key("models"):
        if wanted == "trace":
            unknown = [j for j, name in enumerate(workload.model) if not name]
            if unknown:
                raise InputError(
                    f"job {workload.job_id[unknown[0]]!r} has no model, expected one for each job"
                )
            return workload
        if wanted == "uniform":
            wanted = list(dnn_models())
        if isinstance(wanted[0], str):
            names = [dnn_model_name(str(name)) for name in wanted]
            model = [names[i] for i in rng.integers(len(names), size=count).tolist()]
            how = f"drawn from {', '.join(names)}"
        else:
            shares = [float(share) for share in wanted]
            model = models_of_split(count, shares)
            how = "in shares of image, language and speech " + ", ".join(f"{s:g}" for s in shares)
    return replace(workload, model=model).noted(f"adapt: models are {how}")


def speedup(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Jobs of fixed demand become elastic."""
    cluster, rules = given.cluster, given.rules
    if cluster.is_pool:
        raise InputError("the cluster is a rental pool, expected speedup_curve there")
    if isinstance(workload.performance, Goodput):
        times_s = workload.performance.table_s(np.arange(len(workload)), cluster)
        table = replace(workload, performance=TimeTable(times_s))
        return table, "jobs are elastic by their own tables, at their users' batch sizes"
    _need_models(workload)
    gpu_type = _type_of_durations(workload, rules, cluster)
    wide = int((workload.num_gpus > cluster.max_gpus_per_node).sum())
    made = elastic(workload, cluster, gpu_type)
    more = f"; {wide} of them ask for more GPUs than a node has" if wide else ""
    return made, (
        f"jobs are elastic by calibrated throughput; their own demand on {gpu_type} takes as long "
        f"as in the trace{more}"
    )


def speedup_curve(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Jobs get s(k), for a rental pool."""
    cluster, rules, own = given.cluster, given.rules, given.own
    if not cluster.is_pool:
        raise InputError("the cluster has nodes, expected a rental pool (or speedup instead)")
    if isinstance(workload.performance, TimeTable):
        if own is None:
            raise InputError("the jobs have times on nodes, expected the machines of these times")
        return curves_of_table(workload, own), "s(k) is the concave hull of each job's own times"
    if isinstance(workload.performance, SpeedupCurve):
        raise InputError("the jobs have curves already, expected jobs without")
    _need_models(workload)
    gpu_type = _type_of_durations(workload, rules, cluster)
    made = with_curves(workload, gpu_type)
    return made, f"s(k) is the concave hull of calibrated throughput on {gpu_type}"


def demand(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Elastic jobs get a fixed number of GPUs, by ``rules.demand``."""
    cluster, rules = given.cluster, given.rules
    if cluster.is_pool:
        raise InputError("the cluster is a rental pool, expected nodes for fixed demands")
    assert rules.demand is not None
    return of_demand(workload, cluster, rules.demand, given.streams.generator("adapt-demand"))


def sensitivity(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Rates depend on CPUs and memory, or not, by ``rules.sensitivity``."""
    performance = workload.performance
    if given.rules.sensitivity == "none":
        if isinstance(performance, Sensitivity):
            plain = FixedDuration(performance.duration_s, performance.num_gpus)
            workload = replace(workload, performance=plain)
        if isinstance(performance, SensitiveTable):
            workload = replace(workload, performance=TimeTable(performance.times_s))
        return workload, "rates do not depend on CPUs and memory"
    if not isinstance(performance, FixedDuration | TimeTable):
        raise InputError("the jobs have curves or a sensitivity, expected times without")
    _need_models(workload)
    if isinstance(performance, TimeTable):
        made = with_sensitive_table(workload, given.cluster)
        return made, "rates depend on CPUs and memory as in Synergy, alike at each number of GPUs"
    return with_sensitivity(
        workload, given.cluster
    ), "rates depend on CPUs and memory as in Synergy"


def _type_of_durations(workload: Workload, rules: Rules, cluster: Cluster) -> str:
    """The GPU type that durations are of; one that was given is checked under its own key."""
    given = rules.gpu_type
    with at_key("gpu_type"):
        if given is None and any(workload.gpu_type):
            types = {gpu_type_name(text) for text in workload.gpu_type}
            if len(types) > 1:
                found = " and ".join(sorted(types))
                raise InputError(f"durations are of {found}, expected one type that they count as")
            given = types.pop()
        if given is None:
            return cluster.node_types[0].gpu_type
        for name in dict.fromkeys(dnn_models_of(workload)):
            rate(name, given, 1)
    return given


def _need_models(workload: Workload) -> None:
    if not all(workload.model):
        job = next(j for j, name in enumerate(workload.model) if not name)
        raise InputError(
            f"job {workload.job_id[job]!r} has no model, expected one for each job (key models)"
        )
