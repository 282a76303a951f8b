"""The workload of a scenario, and the machines that it brings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config import KeyedError, at_key
from experiments.scenario.schema import (
    AndreasJobs,
    CsvJobs,
    ElasticflowJobs,
    ElasticJobs,
    GavelLikeJobs,
    HierarchicalJobs,
    InstanceJobs,
    Machines,
    Nodes,
    OpenbJobs,
    OpenbLikeJobs,
    PhillyLikeJobs,
    PluginJobs,
    PoissonJobs,
    PolluxJobs,
    Scenario,
    SynergyJobs,
    TraceJobs,
    TrainingJobs,
    Vms,
    is_file,
)
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator import Cluster, NodeType, Workload
    from simulator.model.cluster import FloatArray

Built = tuple["Workload", "Cluster | None"]


def jobs_and_machines(scenario: Scenario) -> Built:
    """The workload of a scenario's table, and the machines that it brings."""
    jobs = scenario.workload
    try:
        workload, cluster = _BUILDERS[jobs.kind](jobs, scenario)
        block = getattr(jobs, "block_bootstrap", None)
        if block is not None:
            with at_key("workload.block_bootstrap"):
                workload = _drawn_again(workload, block, scenario.seed)
        return workload, cluster
    except KeyedError:
        raise
    except InputError as error:
        path = getattr(jobs, "path", None)
        if path is None:
            raise KeyedError("workload", str(error)) from None
        if str(error).startswith(path):
            raise  # It names the file and the line in it.
        raise KeyedError("workload", f"{path}: {error}") from None


def _drawn_again(workload: Workload, block: int, seed: int) -> Workload:
    from simulator.statistics import Streams
    from simulator.workloads.bootstrap import resampled

    return resampled(workload, block, Streams(seed).generator("bootstrap"))


def _hierarchical(jobs: HierarchicalJobs, scenario: Scenario) -> Built:
    from simulator import Cluster
    from simulator.workloads import hierarchical

    cluster = scenario.cluster
    catalog = vm_catalog(cluster if isinstance(cluster, Vms) else None)
    workload = hierarchical.generate(
        hierarchical.HierarchicalScenario(
            catalog=catalog,
            seed=scenario.seed if jobs.seed is None else jobs.seed,
            **jobs.model_dump(exclude={"kind", "seed"}),
        )
    )
    return workload, Cluster.of_vms(catalog, jobs.num_nodes)


def _andreas(jobs: AndreasJobs, scenario: Scenario) -> Built:
    from simulator.workloads import andreas

    return andreas.generate(
        andreas.AndreasScenario(
            seed=scenario.seed, **jobs.model_dump(exclude={"kind"}, exclude_none=True)
        )
    )


def _philly_like(jobs: PhillyLikeJobs, scenario: Scenario) -> Built:
    from simulator.statistics import Streams
    from simulator.workloads.synergy import philly_like_trace

    streams = Streams(scenario.seed)
    workload = philly_like_trace(jobs.num_jobs, streams, jobs.jobs_per_hour, split=jobs.split)
    return workload, None


def _csv(jobs: CsvJobs, scenario: Scenario) -> Built:
    from simulator.workloads.plain_csv import read_csv_jobs

    return read_csv_jobs(jobs.path), None


def _instance(jobs: InstanceJobs, scenario: Scenario) -> Built:
    from simulator.workloads.authors import read_instance

    instance = read_instance(jobs.path)
    return instance.workload, instance.cluster


def arrival_rate_per_h(jobs: PoissonJobs, cluster: Machines | None) -> float:
    """Mean number of arrivals in an hour, as given, or by the load of the cluster's GPUs.

    Raises KeyedError: a load without nodes, or a law that is none.
    """
    from simulator.laws import parse_law
    from simulator.model.cluster import SECONDS_PER_HOUR

    if jobs.load is None:
        assert jobs.arrival_rate_per_h is not None
        return jobs.arrival_rate_per_h
    if not isinstance(cluster, Nodes):
        raise KeyedError(
            "workload.load", "given without [cluster] of the kind 'nodes', expected both"
        )
    with at_key("workload.duration_s"):
        duration_s = parse_law(jobs.duration_s).mean
    gpus = cluster.num_nodes * cluster.gpus_per_node
    gpu_s_of_a_job = duration_s * sum(jobs.num_gpus) / len(jobs.num_gpus)
    return jobs.load * gpus * SECONDS_PER_HOUR / gpu_s_of_a_job


def _poisson(jobs: PoissonJobs, scenario: Scenario) -> Built:
    from simulator.laws import parse_law
    from simulator.statistics import Streams
    from simulator.workloads.poisson import class_shares, gaps_cv2, gaps_of_trace, poisson_jobs
    from simulator.workloads.traces import FORMATS

    with at_key("workload.duration_s"):
        duration_s = parse_law(jobs.duration_s)
    with at_key("workload.gaps"):
        gaps_cv2(jobs.gaps)
    gaps: str | FloatArray = jobs.gaps
    if jobs.gaps_of is not None:
        with at_key("workload.gaps_of"):
            gaps = gaps_of_trace(FORMATS[jobs.gaps_of.kind].read(Path(jobs.gaps_of.path)))
    with at_key("workload.patience"):
        law = jobs.patience
        patience = parse_law(law) if isinstance(law, str) else law
    with at_key("workload.priorities"):
        class_shares(jobs.priorities)
    with at_key("workload"):
        workload = poisson_jobs(
            jobs.num_jobs,
            Streams(scenario.seed),
            arrival_rate_per_h=arrival_rate_per_h(jobs, scenario.cluster),
            duration_s=duration_s,
            num_gpus=jobs.num_gpus,
            gaps=gaps,
            priorities=jobs.priorities,
            patience=patience,
        )
    return workload, None


def _elastic(jobs: ElasticJobs, scenario: Scenario) -> Built:
    """Elastic jobs of the types in a file; what was noted of the types is noted of the jobs."""
    from experiments.scenario.job_types import read_types
    from simulator.laws import Scaled, parse_law
    from simulator.model.tolerances import CAPACITY
    from simulator.statistics import Streams
    from simulator.workloads.elastic import elastic_jobs

    with at_key("workload.sizes"):
        law = parse_law(jobs.sizes)
        if abs(law.mean - 1) > CAPACITY:
            raise InputError(
                f"law {jobs.sizes!r}: its mean is {law.mean:.9g}, expected 1, the mean size of the job's type"
            )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        types = read_types(Path(jobs.path), leave="no file of a scenario may name functions")
    workload = elastic_jobs(
        jobs.num_jobs,
        Streams(scenario.seed),
        names=[t.name for t in types],
        arrival_rates_per_h=[t.arrival_rate_per_h for t in types],
        sizes_h=[law if t.mean_size_h == 1 else Scaled(law, t.mean_size_h) for t in types],
        speedups=[t.speedup for t in types],
        arrivals=jobs.arrivals,
    )
    return workload.noted(*(str(w.message) for w in caught)), None


def _synergy(jobs: SynergyJobs, scenario: Scenario) -> Built:
    from simulator.statistics import Streams
    from simulator.workloads.synergy import SERVER, derived_trace, server, with_durations_of

    nodes, ratio = scenario.cluster, jobs.durations_at_cpus_per_gpu
    spec = SERVER
    if isinstance(nodes, Nodes) and nodes.cpus_per_node is not None:
        spec = server(nodes.cpus_per_node / nodes.gpus_per_node)
    base = spec if ratio is None else server(ratio)
    if jobs.draw == "released":
        workload = _released_draw(jobs, base)
    else:
        workload = derived_trace(
            jobs.num_jobs,
            Streams(scenario.seed),
            split=jobs.split,
            jobs_per_hour=jobs.jobs_per_hour,
            multi_gpu=jobs.multi_gpu,
            gpu_law=jobs.gpu_law,
        )
    if ratio is not None:
        workload = with_durations_of(workload, base, spec, jobs.speeds == "released")
    return workload, None


def _released_draw(jobs: SynergyJobs, spec: NodeType) -> Workload:
    """The jobs of the released simulator, one for one, with the durations on a server."""
    from simulator.workloads.synergy import released_draw

    if jobs.multi_gpu:
        raise KeyedError(
            "workload.multi_gpu",
            "given with draw = 'released', expected false: its GPU demands come from a log that "
            "is not part of it",
        )
    if jobs.jobs_per_hour is None:
        raise KeyedError("workload.jobs_per_hour", "missing, expected it with draw = 'released'")
    return released_draw(
        jobs.num_jobs, jobs.jobs_per_hour, split=jobs.split, seed=jobs.draw_seed, spec=spec
    )


def _trace(jobs: TraceJobs, scenario: Scenario) -> Built:
    from dataclasses import replace

    import numpy as np

    from simulator.workloads.traces import FORMATS

    workload = _read_attempts(jobs) if jobs.attempts else FORMATS[jobs.kind].read(Path(jobs.path))
    if jobs.between_h is not None:
        first, last = jobs.between_h
        after_h = (workload.submit_s - workload.submit_s.min()) / 3600
        chosen = np.flatnonzero((first <= after_h) & (after_h < last))
        if not len(chosen):
            raise KeyedError(
                "workload.between_h",
                f"no job is submitted {first:g} to {last:g} h after the first, expected some of the {after_h.max():g} h",
            )
        workload = replace(workload, **workload.rows(chosen))
    if jobs.max_jobs is not None:
        workload = workload.head(jobs.max_jobs)
    if jobs.split is not None:
        from simulator.workloads.synergy import models_of_split

        workload = replace(workload, model=models_of_split(len(workload), jobs.split))
    return workload, None


def _read_attempts(jobs: TraceJobs) -> Workload:
    from simulator.workloads.philly import read_philly

    if jobs.kind != "philly":
        raise KeyedError(
            "workload.attempts",
            f'given with kind = "{jobs.kind}", expected "philly": its log names attempts',
        )
    return read_philly(Path(jobs.path), attempts=True)


def _openb_like(jobs: OpenbLikeJobs, scenario: Scenario) -> Built:
    from simulator.laws import parse_law
    from simulator.statistics import Streams
    from simulator.workloads.openb import openb_queue

    with at_key("workload.duration_s"):
        duration_s = parse_law(jobs.duration_s)
    streams = Streams(scenario.seed)
    return openb_queue(jobs.num_jobs, jobs.num_nodes, jobs.load, duration_s, streams)


def _openb(jobs: OpenbJobs, scenario: Scenario) -> Built:
    from simulator.laws import parse_law
    from simulator.statistics import Streams
    from simulator.workloads.openb_trace import openb_trace

    with at_key("workload.duration_s"):
        duration_s = None if jobs.duration_s is None else parse_law(jobs.duration_s)
    given = jobs.model_dump(include={"nodes", "num_nodes", "max_jobs", "load"})
    return openb_trace(jobs.path, Streams(scenario.seed), duration_s=duration_s, **given)


def _training(jobs: TrainingJobs, scenario: Scenario) -> Built:
    from simulator.workloads.gavel import training_workload
    from simulator.workloads.training import RoundWork

    rules = RoundWork(jobs.resume_s, jobs.first_start_s, jobs.reallocation_s)
    return training_workload(jobs.path, jobs.gpus, jobs.throughputs, jobs.gpus_per_node, rules)


def _gavel_like(jobs: GavelLikeJobs, scenario: Scenario) -> Built:
    from simulator.workloads.gavel_like import SPREAD, gavel_like
    from simulator.workloads.training import RoundWork

    return gavel_like(
        jobs.num_jobs,
        jobs.jobs_per_h,
        jobs.throughputs,
        jobs.gpus,
        scenario.seed,
        jobs.multi_gpu,
        jobs.spread or SPREAD,
        jobs.gpus_per_node,
        RoundWork(jobs.resume_s, jobs.first_start_s, jobs.reallocation_s),
    )


def _pollux(jobs: PolluxJobs, scenario: Scenario) -> Built:
    from simulator.workloads.pollux import read_pollux

    workload = read_pollux(jobs.path, jobs.tables, jobs.max_local, jobs.kept_batch)
    known = {*workload.model}
    workload = workload.noted(
        *(
            f"workload.{key}: no job trains {name!r}; the applications are {', '.join(sorted(known))}"
            for key, given in (("max_local", jobs.max_local), ("kept_batch", jobs.kept_batch))
            for name in given or ()
            if name not in known
        )
    )
    return workload if jobs.max_jobs is None else workload.head(jobs.max_jobs), None


def _elasticflow(jobs: ElasticflowJobs, scenario: Scenario) -> Built:
    from simulator.workloads.elasticflow import read_elasticflow

    machines = scenario.cluster
    most_gpus = machines.gpus_per_node if isinstance(machines, Nodes) else 128
    return read_elasticflow(jobs.path, jobs.throughputs, jobs.elastic, most_gpus), None


def _plugin(jobs: PluginJobs, scenario: Scenario) -> Built:
    from experiments.scenario.extensions import make_workload
    from simulator.statistics import Streams

    return make_workload(jobs.name, jobs.options, Streams(scenario.seed))


_BUILDERS: dict[str, Callable[[Any, Scenario], Built]] = {
    "hierarchical": _hierarchical,
    "andreas": _andreas,
    "philly-like": _philly_like,
    "csv": _csv,
    "instance": _instance,
    "poisson": _poisson,
    "elastic": _elastic,
    "synergy": _synergy,
    "philly": _trace,
    "philly-table": _trace,
    "gavel": _trace,
    "alibaba": _trace,
    "swf": _trace,
    "openb-like": _openb_like,
    "openb": _openb,
    "helios": _trace,
    "training": _training,
    "gavel-like": _gavel_like,
    "pollux": _pollux,
    "elasticflow": _elasticflow,
    "plugin": _plugin,
}


def vm_catalog(machines: Vms | None) -> tuple[NodeType, ...]:
    """The VM types of a scenario, that of Table II by default; raises KeyedError where there are none."""
    from simulator.workloads.catalogs import catalog_names, read_catalog

    name = (machines.catalog if machines is not None else None) or "hierarchical"
    if not is_file(name) and name not in catalog_names():
        known = ", ".join(catalog_names())
        raise KeyedError("cluster.catalog", f"got {name!r}, expected {known} or a CSV file")
    with at_key("cluster.catalog"):
        types = read_catalog(name)
    wanted = machines.gpu_types if machines is not None else None
    return types if wanted is None else _with_gpus(types, wanted, name)


def _with_gpus(
    types: tuple[NodeType, ...], wanted: Sequence[str], name: str
) -> tuple[NodeType, ...]:
    known = list(dict.fromkeys(t.gpu_type for t in types))
    for gpu_type in wanted:
        if gpu_type not in known:
            raise KeyedError(
                "cluster.gpu_types",
                f"got {gpu_type!r}, expected GPUs of the catalogue {name!r}: {', '.join(known)}",
            )
    return tuple(t for t in types if t.gpu_type in wanted)
