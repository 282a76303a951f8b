"""The machines of a scenario, and its workload as it runs on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.config import KeyedError, at_key
from experiments.scenario.schema import Scenario
from simulator.adaptation import Rules
from simulator.errors import InputError
from simulator.workloads.machines import (
    Machines,
    Partitioned,
    Pool,
    ServerGroup,
    StandingServers,
    Vms,
)
from simulator.workloads.table import Modelled

if TYPE_CHECKING:
    from simulator import Cluster, Workload
    from simulator.model.performance import Performance
    from simulator.statistics import Streams

SHARING_IN_TIME = ("processor-sharing", "las")
"""Policies under which the jobs of a scenario may share GPUs in time."""


Built = tuple["Workload", "Cluster | None"]


def jobs_and_machines(scenario: Scenario) -> Built:
    """The workload of a scenario's table, and the machines that it brings."""
    jobs = scenario.workload
    try:
        made = jobs.make(scenario.setting)
        return made if isinstance(made, tuple) else (made, None)
    except KeyedError:
        raise
    except InputError as error:
        path = getattr(jobs, "path", None)
        if path is None:
            raise KeyedError("workload", str(error)) from None
        if str(error).startswith(path):
            raise  # It names the file and the line in it.
        raise KeyedError("workload", f"{path}: {error}") from None


def fitted(
    workload: Workload, own_cluster: Cluster | None, scenario: Scenario
) -> tuple[Workload, Cluster]:
    """The workload as it runs on the machines asked for, and these."""
    from simulator.workloads.fits import check_fits, sized, with_known_types
    from simulator.workloads.reshaping import time_shared

    with at_key("cluster"):
        cluster = _cluster(scenario.cluster, own_cluster, scenario)
        if isinstance(scenario.cluster, Partitioned):
            cluster = replace(cluster, nodes_per_rack=scenario.cluster.nodes_per_rack)
        cluster = _with_features(cluster, scenario)
        workload = _on_gpus(workload, own_cluster, scenario)
    rules, asked = scenario.adapt, workload.performance
    if rules is not None:
        workload, cluster = _adapted(workload, own_cluster, cluster, rules, scenario.streams)
        cluster = _with_features(cluster, scenario)  # its prices are new
    oversized = getattr(scenario.workload, "oversized", None)
    try:
        workload = with_known_types(workload, cluster)
        if oversized in ("leave-out", "clip"):
            workload = sized(workload, cluster, oversized)
        if rules is not None and rules.sensitivity is not None:
            pass  # done, or not wanted
        elif any(workload.model) and _is_fixed_demand(workload) and not cluster.is_configurable:
            workload = _with_sensitivity(workload, cluster, scenario)
        workload = _noted_without_parts(workload, asked)
        if scenario.policy in SHARING_IN_TIME and _is_fixed_demand(workload):
            workload = time_shared(workload)
        check_fits(workload, cluster)
        if workload.one_rack.any() and cluster.nodes_per_rack is None:
            workload = workload.noted(
                f"workload: {workload.one_rack.sum()} jobs ask for one rack, and all nodes are in one "
                "(key cluster.nodes_per_rack)"
            )
    except KeyedError:
        raise
    except InputError as error:
        path = getattr(scenario.workload, "path", "")
        hint = '; workload.oversized = "leave-out"' if oversized == "refuse" else ""
        hint += ' or "clip"' if hint and _is_fixed_demand(workload) else ""
        text = f"{path}: {error}" if path else str(error)
        raise KeyedError("workload", text + hint) from None
    return workload, cluster


def _on_gpus(workload: Workload, own: Cluster | None, scenario: Scenario) -> Workload:
    """The jobs of fixed demand on the GPUs of the scenario; `[adapt]` knows those that it makes elastic."""
    from simulator.workloads.other_gpus import has_one_duration, on_kinds

    machines, adapt = scenario.cluster, scenario.adapt or Rules()
    if not isinstance(machines, StandingServers):
        return workload
    groups = machines.groups_by_key().items()
    jobs = on_kinds(workload, [_on_servers(workload, *each, own, adapt) for each in groups])
    made = (adapt.speedup, adapt.speedup_curve, adapt.demand, adapt.sensitivity)
    if (
        any(each not in (None, "none") for each in made)
        and has_one_duration(workload)
        and not has_one_duration(jobs)
    ):
        raise KeyedError(
            "cluster.groups",
            "the jobs have a duration for each kind of server, and [adapt] makes others of them, "
            "expected one of both",
        )
    return jobs


def _on_servers(
    workload: Workload, key: str, servers: ServerGroup, own: Cluster | None, adapt: Rules
) -> Workload:
    """The jobs on servers of one kind, whose keys stand at ``key``."""
    from simulator.workloads.other_gpus import faster, has_one_duration, on_gpu_type

    if servers.speed is not None:
        with at_key(f"{key}.speed"):
            return faster(workload, servers.speed).noted(
                f"{key}.speed: jobs are {servers.speed:g} times as fast as in the trace"
            )
    if servers.gpu_type is None or adapt.speedup or not has_one_duration(workload):
        return workload
    ran_on = [*workload.gpu_type]
    if adapt.gpu_type is not None:
        ran_on = [adapt.gpu_type] * len(workload)
    elif own is not None and not any(ran_on):
        ran_on = [own.node_types[0].gpu_type] * len(workload)
    if not any(ran_on):
        return workload.noted(
            "cluster.gpu_type: the jobs do not say on which GPUs their durations were taken: they count "
            "as they are (key adapt.gpu_type)"
        )
    with at_key("adapt.gpu_type"):
        return on_gpu_type(workload, servers.gpu_type, ran_on)


def _with_features(cluster: Cluster, scenario: Scenario) -> Cluster:
    for table in scenario.features.values():
        cluster = table.on_cluster(cluster)
    return cluster


def _adapted(
    workload: Workload, own: Cluster | None, cluster: Cluster, rules: Rules, streams: Streams
) -> tuple[Workload, Cluster]:
    from simulator.adaptation import adapt

    times_of = own if own is not None and own.node_types != cluster.node_types else None
    try:
        return adapt(workload, cluster, rules, streams, times_of)
    except KeyedError as error:
        raise KeyedError(f"adapt.{error.key}", error.text) from None


def _noted_without_parts(workload: Workload, asked: Performance) -> Workload:
    """With a note where jobs asked for parts of GPUs, and what was added lets them hold whole ones."""
    from simulator.model.fractional import SharedDuration
    from simulator.model.performance import FixedDuration

    if not isinstance(asked, SharedDuration) or isinstance(workload.performance, FixedDuration):
        return workload
    count = int((asked.part < 1).sum())
    if not count:
        return workload
    why = "they choose their GPUs"
    if workload.num_gpus.any():
        why = 'their rates depend on CPUs and memory ([adapt] sensitivity = "none" keeps the parts)'
    note = f"workload: {count} jobs asked for a part of a GPU, and hold whole ones: {why}"
    return workload.noted(note)


def _with_sensitivity(workload: Workload, cluster: Cluster, scenario: Scenario) -> Workload:
    """With what CPUs and memory do to each model, where the nodes have a number of them."""
    from simulator.workloads.other_gpus import has_one_duration
    from simulator.workloads.synergy import with_sensitivity

    if not all(t.cpus < float("inf") for t in cluster.node_types):
        return workload
    if not has_one_duration(workload):
        return workload.noted(
            "cluster: CPUs and memory change no durations, which depend on the kind of server"
        )
    jobs = scenario.workload
    released = isinstance(jobs, Modelled) and jobs.speeds == "released"
    round_s = scenario.decisions.round_s
    whole = released and round_s is not None
    if isinstance(jobs, Modelled) and jobs.whole_iterations is not None:
        whole = jobs.whole_iterations
    if whole and round_s is None:
        raise KeyedError("workload.whole_iterations", "given without decisions.round_s")
    return with_sensitivity(
        workload, cluster, released=released, round_s=round_s if whole else None
    )


def _is_fixed_demand(workload: Workload) -> bool:
    from simulator import FixedDuration

    return isinstance(workload.performance, FixedDuration)


def _cluster(machines: Machines | None, own: Cluster | None, scenario: Scenario) -> Cluster:
    """The machines asked for; those of the workload by default."""
    from simulator import Cluster

    if isinstance(machines, StandingServers | Pool):
        if own is not None and scenario.adapt is None:
            raise KeyedError(
                "cluster.kind",
                f"got {machines.kind!r}, expected none or "
                f"{'instance' if scenario.workload.kind == 'instance' else 'vms'!r}: workload "
                f"{scenario.workload.kind!r} brings its machines (with a table [adapt] it runs on "
                "others)",
            )
        if isinstance(machines, StandingServers):
            return machines.cluster(own.node_types[0].gpu_type if own is not None else "GPU")
        return Cluster.rental_pool(machines.price_per_gpu_hour)
    kind = scenario.workload.kind
    if own is None and isinstance(machines, Vms) and scenario.adapt and scenario.adapt.speedup:
        return machines.cluster()
    if own is None:
        others = "" if kind == "elastic" else " (with [adapt] speedup it runs on 'vms' too)"
        raise KeyedError(
            "cluster.kind" if machines else "cluster",
            f"{f'got {machines.kind!r}' if machines else 'missing'}, expected 'nodes' or 'pool': "
            f"workload {kind!r} brings no machines{others}",
        )
    if machines is None:
        return own
    if isinstance(machines, Vms) and kind in ("instance", "andreas"):
        if own.node_type_of is not None:
            raise KeyedError("cluster.kind", "got 'vms', expected 'instance': its nodes are fixed")
        if machines.catalog is not None:
            raise KeyedError("cluster.catalog", "given with an instance, which brings its own")
        if machines.gpu_types is not None:
            raise KeyedError(
                "cluster.gpu_types",
                "given with an instance, expected none: it brings its own types",
            )
    num_nodes = machines.num_nodes if isinstance(machines, Vms) else None
    num_nodes = num_nodes or own.num_nodes
    controllers = machines.controllers_of(num_nodes)
    return replace(own, num_nodes=num_nodes, num_controllers=controllers)
