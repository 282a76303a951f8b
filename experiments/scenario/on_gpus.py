"""Jobs of fixed demand on the GPUs that a scenario names: their durations there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.config import KeyedError, at_key
from experiments.scenario.schema import Scenario
from simulator.adaptation import Rules
from simulator.workloads.machines import ServerGroup, StandingServers

if TYPE_CHECKING:
    from simulator import Cluster, Workload


def on_gpus(workload: Workload, own: Cluster | None, scenario: Scenario) -> Workload:
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
            "the jobs have a duration for each kind of server, and [adapt] computes others, "
            "expected one of the two",
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
            "cluster.gpu_type: the jobs do not say on which GPUs their durations were measured, so these "
            "do not change; state the GPUs with adapt.gpu_type"
        )
    with at_key("adapt.gpu_type"):
        return on_gpu_type(workload, servers.gpu_type, ran_on)
