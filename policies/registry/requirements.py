"""Requirements of policies on jobs and machines, and the keys that supply what is missing.

    for missing in missing_requirements("milp", workload, cluster):
        print(missing)        # "jobs have no due dates with weights, ..: [adapt] prices = 1.0, .."

The requirements of a policy are names of `REQUIREMENTS`, declared where it is registered. Each is a function of the
jobs and the machines that returns what is missing, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import Cluster
from simulator.model.workload import ELASTIC, Workload


@dataclass(frozen=True)
class MissingRequirement:
    """Something that a policy needs and does not get.

    Attributes
    ----------
    missing : what is missing, a clause: "the jobs have no due dates".
    keys : the ``[adapt]`` keys that supply it; empty where none does.
    essential : without it the policy cannot run, or decides about nothing. Otherwise it runs, and
        a part of it has no effect.
    """

    missing: str
    keys: tuple[str, ...] = ()
    essential: bool = True

    def __str__(self) -> str:
        if not self.keys:
            return self.missing
        said = f"{self.missing}; [adapt] {' and '.join(self.keys)} supplies it"
        own = [OWN[key] for key in self.keys if key in OWN]
        if not own:
            return said
        column = f"column{'s' if len(own) > 1 else ''} {' and '.join(own)}"
        return f"{said} with random values, the {column} of a file of jobs with your own"


Requirement = Callable[[Workload, Cluster], MissingRequirement | None]

MODELS = 'models = "uniform"'
SPEEDUP = 'speedup = "calibrated"'
CURVE = 'speedup_curve = "calibrated"'
DEMAND = 'demand = "cheapest"'
STATED = 'demand = "stated"'
DUE = 'due = "min-2max"'
WEIGHTS = 'weights = "printed"'
PRICES = "prices = 1.0"

OWN = {MODELS: "model", DUE: "due_s", WEIGHTS: "tardiness_weight_per_h"}
"""Keys that draw something for each job, and the column of the format csv that states it."""


def _with_models(workload: Workload, key: str) -> tuple[str, ...]:
    return (key,) if all(workload.model) else (MODELS, key)


def _nodes(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Nodes: VMs or servers, no pool."""
    if cluster.is_pool:
        return MissingRequirement("the cluster is a rental pool, the policy needs nodes")
    return None


def _servers(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Nodes of fixed types."""
    if cluster.is_pool:
        return MissingRequirement("the cluster is a rental pool, the policy needs nodes")
    if cluster.is_configurable:
        return MissingRequirement(
            "the nodes are VMs without a fixed type, the policy needs nodes of fixed types"
        )
    return None


def _pool(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """A rental pool."""
    if not cluster.is_pool:
        return MissingRequirement("the cluster has nodes, the policy needs a rental pool")
    return None


def _curves(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Speed-up curves."""
    if "curves" in workload.performance.offers:
        return None
    fixed = bool((workload.num_gpus != ELASTIC).any())
    keys = _with_models(workload, CURVE) if fixed else (CURVE,)
    return MissingRequirement("the jobs have no speed-up curves", keys)


def _elastic(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Times on several numbers of GPUs."""
    if "fixed-demand" in workload.performance.offers:
        return MissingRequirement("the jobs have a fixed demand", _with_models(workload, SPEEDUP))
    if "elastic" in workload.performance.offers:
        return None
    if "goodput" in workload.performance.offers:
        return MissingRequirement("the jobs have tables of goodput, no times", (SPEEDUP,))
    return MissingRequirement("the jobs have no times on several numbers of GPUs", (SPEEDUP,))


def _speeds(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Tables of goodput, or times, from one GPU on."""
    if "goodput" in workload.performance.offers:
        return None
    return _elastic(workload, cluster) or _from_one_gpu(workload, cluster)


def _stated_demand(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """A fixed number of GPUs, or one that the users of tables of goodput ask for."""
    return None if "goodput" in workload.performance.offers else _fixed_demand(workload, cluster)


def _fixed_demand(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """A fixed number of GPUs for every job."""
    if "fixed-demand" in workload.performance.offers:
        return None
    if "goodput" in workload.performance.offers:
        return MissingRequirement("the jobs have tables of goodput, no one duration", (STATED,))
    if "time-table" in workload.performance.offers:
        if len(cluster.node_types) == 1 and not cluster.is_pool:
            return MissingRequirement("the jobs have no fixed number of GPUs", (DEMAND,))
        return MissingRequirement(
            "the jobs have no fixed number of GPUs, and on nodes of several types they get none"
        )
    return MissingRequirement("the jobs have no fixed number of GPUs")


def _from_one_gpu(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Times on one GPU of the cluster's first type."""
    if cluster.is_pool:
        return MissingRequirement("the cluster is a rental pool, the policy needs nodes")
    fixed = cluster.node_type_of
    first = 0 if fixed is None else fixed[0]
    alone_s = workload.performance.table_s(np.arange(len(workload)), cluster)[:, first, 1]
    if np.isfinite(alone_s).all():
        return None
    job = int(np.argmin(np.isfinite(alone_s)))
    return MissingRequirement(
        f"job {workload.job_id[job]!r} has no time on one GPU, the policy begins with one"
    )


def _time_shared(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Jobs of fixed demand that may share GPUs in time."""
    if "one-duration" not in workload.performance.offers:
        return MissingRequirement(
            "the jobs have no fixed demand with one duration, as sharing in time needs it"
        )
    if "time-shared" not in workload.performance.offers:
        return MissingRequirement(
            "the jobs do not share GPUs in time (simulator.workloads.reshaping.time_shared makes them)"
        )
    return None


def _list_or_node(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """List scheduling of fixed demands, or one job a node."""
    if cluster.is_pool and not (workload.num_gpus != ELASTIC).all():
        return MissingRequirement(
            "the cluster is a rental pool, the policy needs nodes for elastic jobs"
        )
    return _one_node(workload, cluster) if cluster.is_configurable else None


def _any_place(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """No job asks for a number of nodes, one rack, or types of GPU."""
    if not workload.has_places:
        return None
    asks = (workload.num_nodes > 0) | workload.one_rack | (np.array(workload.gpu_types) != "")
    job = int(np.argmax(asks))
    return MissingRequirement(
        f"job {workload.job_id[job]!r} asks for a number of nodes, one rack or types of GPU, and the policy places "
        'jobs anywhere (workload.places = "any" lets jobs be anywhere)'
    )


def _one_node(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """No job is larger than a node, or asks for several."""
    if (several := np.flatnonzero(workload.num_nodes > 1)).size:
        return MissingRequirement(
            f"job {workload.job_id[several[0]]!r} asks for {workload.num_nodes[several[0]]} nodes, and the "
            "policy places a job on one node"
        )
    if cluster.is_pool or "fixed-demand" not in workload.performance.offers:
        return None
    most = cluster.max_gpus_per_node
    larger = np.flatnonzero(workload.num_gpus > most)
    if not len(larger):
        return None
    job = int(larger[0])
    return MissingRequirement(
        f"job {workload.job_id[job]!r} asks for {workload.num_gpus[job]} GPUs, a node has {most}, "
        "and the policy places a job on one node",
        _with_models(workload, SPEEDUP),
    )


def _one_kind(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """No job is larger than a controller's servers of one type together."""
    fixed = cluster.node_type_of
    if fixed is None or cluster.is_pool:
        return None
    most = min(
        max(
            sum(cluster.node_types[v].gpus for n in cluster.nodes_of(k).tolist() if fixed[n] == v)
            for v in set(fixed)
        )
        for k in range(cluster.num_controllers)
    )
    larger = np.flatnonzero(workload.num_gpus > most)
    if not len(larger):
        return None
    job = int(larger[0])
    return MissingRequirement(
        f"job {workload.job_id[job]!r} asks for {workload.num_gpus[job]} GPUs, the servers of one "
        f"type have {most:g}, and the policy places a job on servers of one type"
    )


def _due(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Due dates."""
    return (
        None
        if np.isfinite(workload.due_s).any()
        else MissingRequirement("the jobs have no due dates", (DUE,))
    )


def _weights(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Weights."""
    if workload.weight_per_s.any():
        return None
    missing = "the jobs have no tardiness weights"
    if workload.priority.any():
        missing += " but priorities, by which the policy priority serves them"
    return MissingRequirement(missing, (WEIGHTS,))


def _priorities(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Priorities, or weights."""
    if workload.priority.any() or workload.weight_per_s.any():
        return None
    return MissingRequirement(
        "all jobs have the same priority and no weights, expected a column priority in the file of jobs "
        '(or workload.priorities of kind "poisson")'
    )


def _objective(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Something to minimise: prices, or due dates with weights."""
    priced = any(
        t.price_per_hour or t.price_per_gpu_hour or (t.power_w and cluster.energy_price_per_kwh)
        for t in cluster.node_types
    )
    if priced or (np.isfinite(workload.due_s) & (workload.weight_per_s > 0)).any():
        return None
    return MissingRequirement(
        "nothing is optimised: the nodes have no prices, the jobs no due dates with weights",
        (DUE, WEIGHTS),
    )


def _prices(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """A price of every type of GPU."""
    if all(t.price_per_hour or t.price_per_gpu_hour for t in cluster.node_types):
        return None
    return MissingRequirement("a type of server has no price", (PRICES,), essential=False)


def _sensitive(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """CPUs and memory that matter."""
    if "sensitivity" in workload.performance.offers:
        return None
    stated = np.isfinite(workload.num_cpus) | np.isfinite(workload.memory_gb)
    if stated.any() and cluster.limited_resources:
        return None
    keys = _with_models(workload, 'sensitivity = "synergy"')
    if len(cluster.limited_resources) < 2:
        return MissingRequirement(
            "all mechanisms are alike: the servers have no CPUs and memory "
            "(keys cpus_per_node and memory_gb_per_node)",
            essential=False,
        )
    return MissingRequirement(
        "all mechanisms are alike: rates do not depend on CPUs and memory", keys, essential=False
    )


def _sensitive_widths(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Elastic jobs whose rates depend on CPUs and memory."""
    if "elastic-sensitivity" in workload.performance.offers:
        return None
    if len(cluster.limited_resources) < 2:
        return MissingRequirement(
            "the nodes have no CPUs and memory to give out (keys cpus_per_node and memory_gb_per_node)"
        )
    keys = _with_models(workload, 'sensitivity = "synergy"')
    if "time-table" not in workload.performance.offers:
        keys = (*keys[:-1], SPEEDUP, keys[-1])
    return MissingRequirement("rates of elastic jobs do not depend on CPUs and memory", keys)


def _one_type(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Servers of one type."""
    if len(set(cluster.node_type_of or ())) > 1:
        return MissingRequirement("the servers are of several types, the policy needs equal ones")
    return None


def _types_known(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Servers of one type, or times on each type."""
    try:
        workload.performance.check_types(cluster)
    except InputError as error:
        return MissingRequirement(str(error))
    return None if "types" in workload.performance.offers else _one_type(workload, cluster)


def _arrivals(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """A rate of arrivals."""
    if workload.submit_s[-1] > workload.submit_s[0]:
        return None
    return MissingRequirement("all jobs come at once, the policy needs a rate of arrivals")


def _tenants(workload: Workload, cluster: Cluster) -> MissingRequirement | None:
    """Jobs that say whose they are."""
    if any(workload.vc) or any(workload.user):
        return None
    return MissingRequirement(
        "the jobs name no virtual cluster and no user: all are one tenant's (key tenants.draw)",
        essential=False,
    )


REQUIREMENTS: dict[str, Requirement] = {
    "nodes": _nodes,
    "servers": _servers,
    "pool": _pool,
    "curves": _curves,
    "elastic": _elastic,
    "fixed-demand": _fixed_demand,
    "stated-demand": _stated_demand,
    "speeds": _speeds,
    "time-shared": _time_shared,
    "list-or-node": _list_or_node,
    "any-place": _any_place,
    "one-node": _one_node,
    "one-kind": _one_kind,
    "due": _due,
    "weights": _weights,
    "priorities": _priorities,
    "objective": _objective,
    "prices": _prices,
    "sensitivity": _sensitive,
    "elastic-sensitivity": _sensitive_widths,
    "one-type": _one_type,
    "types-known": _types_known,
    "arrivals": _arrivals,
    "tenants": _tenants,
}
"""Requirements by name; the docstring of each describes it."""


def missing_of(
    requirements: Iterable[str], workload: Workload, cluster: Cluster
) -> list[MissingRequirement]:
    """Missing requirements, the essential first; nothing is named twice."""
    found: list[MissingRequirement] = []
    for name in requirements:
        lack = REQUIREMENTS[name](workload, cluster)
        if lack is not None and lack not in found:
            found.append(lack)
    return sorted(found, key=lambda lack: not lack.essential)


def supplied_by(found: Iterable[MissingRequirement]) -> tuple[str, ...] | None:
    """All ``[adapt]`` keys that together supply what is missing; None where some part has none."""
    keys: list[str] = []
    for lack in found:
        if not lack.keys:
            return None
        keys += [key for key in lack.keys if key not in keys]
    return tuple(keys)
