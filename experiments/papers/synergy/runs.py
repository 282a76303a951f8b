"""The runs behind the figures.

The paper has 16 servers and averages over jobs 4000 to 4999, 444 h into the trace at 9 jobs/h. Quick
scale has 4 servers at a quarter of the arrivals, so that jobs 600 to 999 come at 267 to 444 h, when
as much of a queue has built up; where no queue builds up, shorter traces do (jobs 150 to 349). Loads
are always those of 16 servers. Every figure prints its windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.papers.synergy.curves import curves
from experiments.papers.synergy.draw import draw_tasks
from experiments.papers.synergy.lengths import (
    FEW_SEEDS,
    LENGTH,
    LOADS,
    MORE_SEEDS,
    MULTI_CLAIMED,
    NODES,
    PHILLY_LENGTH,
    PHILLY_LOAD,
    PHILLY_NODES,
    SEEDS,
    SETTLED,
)
from experiments.report.contents import Scale
from experiments.sweep.task import Outcome, Task

if TYPE_CHECKING:
    from simulator import Cluster, Result, Workload

HERE = "experiments.papers.synergy.runs"
SOURCES = ("simulator", "policies.synergy", "policies.milp")
ROUND_S = 300.0
SHORT_H = 4.0
"""Jobs below this many hours at the proportional share are short (Section 5.3.1)."""

W1, W2, EVEN = (20, 70, 10), (50, 0, 50), (33, 33, 33)
PAIR = ("proportional", "tune")
SEEDS_OF_PAIRS: dict[Scale, tuple[int, ...]] = {
    "quick": SEEDS["quick"],
    "paper": MORE_SEEDS["paper"],
}
"""Of Figures 6 and 13, where each number is a ratio of few long runs."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper, each once."""
    found = [*_others(scale), *draw_tasks(scale), *curves(scale), *_timelines(scale)]
    for seed in SEEDS[scale]:
        found += [*_multi(scale, seed)]
    for seed in SEEDS_OF_PAIRS[scale]:
        found += [*_single(scale, seed), *_philly(scale, seed)]
    for seed in MORE_SEEDS[scale]:
        found += [*_printed(scale, seed)]
    return list({task.key: task for task in found}.values())


def _printed(scale: Scale, seed: int) -> Iterator[Task]:
    """Averages over jobs that the paper prints: 3.4, 1.6, 2.3 and 2 times, and by CPUs per GPU."""
    for mechanism in PAIR:
        for ordering in ("las", "srtf"):
            yield cell(scale, ordering, mechanism, 5.5, seed, multi_gpu=True, keep=True)
        orders = (False,) if scale == "quick" else (False, True)
        for released in orders if seed in SEEDS[scale] or scale == "paper" else ():
            yield cell(scale, "ftf", mechanism, 9, seed, settled=True, released=released)
            yield cell(scale, "ftf", mechanism, 5.5, seed, multi_gpu=True, released=released)


def _single(scale: Scale, seed: int) -> Iterator[Task]:
    """Jobs of one GPU: Figure 13."""
    for ordering in ("drf", "tetris"):
        for split in (W1, W2) if seed in FEW_SEEDS[scale] or scale == "paper" else (W2,):
            for mechanism in ("static", "tune"):
                yield cell(scale, ordering, mechanism, 9, seed, split, settled=True)


def _multi(scale: Scale, seed: int) -> Iterator[Task]:
    """Jobs of up to 16 GPUs: Figures 1, 7 and 8."""
    for ordering in ("las", "srtf"):
        for load in LOADS[ordering][scale] if seed in FEW_SEEDS[scale] else (MULTI_CLAIMED,):
            for mechanism in PAIR:
                # Jobs are kept where distributions of them are drawn.
                keep = load in (4, 5.5)
                yield cell(scale, ordering, mechanism, load, seed, multi_gpu=True, keep=keep)
        if scale == "paper":
            yield cell(scale, ordering, "opt", 5.5, seed, multi_gpu=True, keep=True)


def _timelines(scale: Scale) -> Iterator[Task]:
    """Use of the cluster over time: Figure 10."""
    for load in (3.0, 5.5):
        for mechanism in (*PAIR, "greedy"):
            made = cell(scale, "fifo", mechanism, load, 1, W2, multi_gpu=True)
            labels = {k: v for k, v in made.columns().items() if k != "study"}
            yield Task(f"{HERE}:run_timeline", made.config, labels, made.cost_s, SOURCES)


def _philly(scale: Scale, seed: int) -> Iterator[Task]:
    for ordering in ("srtf", "las", "fifo"):
        for mechanism in PAIR:
            yield _task(
                "run_philly",
                {
                    "ordering": ordering,
                    "mechanism": mechanism,
                    "jobs": list(PHILLY_LENGTH[scale]),
                    "nodes": PHILLY_NODES[scale],
                    "seed": seed,
                },
                cost_s=1.3,
            )


def _others(scale: Scale) -> Iterator[Task]:
    for trace, ordering in (("static", "fifo"), ("dynamic", "srtf")):
        for mechanism in (*PAIR, "opt", "tune-by-gpus"):
            for released in (False, True):
                if released and mechanism == "tune-by-gpus":
                    continue
                yield _task(
                    "run_deployment",
                    {
                        "trace": trace,
                        "ordering": ordering,
                        "mechanism": mechanism,
                        "released": released,
                    },
                )
    for nodes in (4, 8, 16) if scale == "quick" else (4, 8, 16, 32, 64):
        for multi_gpu in (False, True):
            yield _task("run_round_times", {"nodes": nodes, "multi_gpu": multi_gpu, "seed": 1})
    yield Task(
        "experiments.papers.synergy.profiles:run_profiling", {"seed": 1}, labels={"seed": 1},
        cost_s=4, sources=SOURCES,
    )  # fmt: skip


def cell(
    scale: Scale,
    ordering: str,
    mechanism: str,
    load: float,
    seed: int,
    split: tuple[int, ...] = W1,
    *,
    multi_gpu: bool = False,
    ratio: int = 3,
    released: bool = False,
    keep: bool = False,
    settled: bool = False,
) -> Task:
    """One policy on one derived trace, where the tails of the JCT or released rules are asked for."""
    length = SETTLED if settled or load != 9 else LENGTH
    config = {
        "ordering": ordering,
        "mechanism": mechanism,
        "load": float(load),
        "seed": seed,
        "split": "-".join(map(str, split)),
        "multi_gpu": multi_gpu,
        "ratio": ratio,
        "released": released,
        "jobs": list(length[scale]),
        "nodes": NODES[scale],
        "keep": keep,
    }
    made = _task("run_cell", config, cost_s=5 if mechanism == "opt" else 1)
    return replace(made, labels={"study": "derived", **made.columns()})


def _task(function: str, config: dict[str, Any], cost_s: float = 1.0) -> Task:
    labels = {k: v for k, v in config.items() if not isinstance(v, list) and k != "keep"}
    return Task(f"{HERE}:{function}", config, labels=labels, cost_s=cost_s, sources=SOURCES)


# -- task functions --------------------------------------------------------------------------


def run_cell(config: dict[str, Any]) -> Outcome:
    """JCT in the window, and on request each job's."""
    workload, _, result = _derived(config, record=False)
    tables = {"jobs": _jobs_table(workload, result, 0, len(workload))} if config["keep"] else {}
    return Outcome(_scalars(workload, result, *config["jobs"][1:]), tables)


def run_timeline(config: dict[str, Any]) -> Outcome:
    """Use of the cluster over time (table ``timeline``)."""
    workload, servers, result = _derived(config, record=True)
    return Outcome({}, {"timeline": _timeline(workload, servers, result)})


def _derived(config: dict[str, Any], *, record: bool) -> tuple[Workload, Cluster, Result]:
    from simulator.statistics import Streams
    from simulator.workloads.synergy import cluster, derived_trace

    servers = cluster(config["nodes"], config["ratio"])
    trace = derived_trace(
        config["jobs"][0],
        Streams(config["seed"]),
        split=[int(x) for x in config["split"].split("-")],
        jobs_per_hour=config["load"] * config["nodes"] / 16,
        multi_gpu=config["multi_gpu"],
    )
    workload, result = _simulate(trace, servers, config, record)
    return workload, servers, result


def run_deployment(config: dict[str, Any]) -> Outcome:
    """One of the two traces of Table 5 on four servers."""
    from simulator.workloads.synergy import cluster, deployment_trace

    workload, result = _simulate(deployment_trace(config["trace"]), cluster(4), config, False)
    return Outcome(_scalars(workload, result, 0, len(workload)))


def run_philly(config: dict[str, Any]) -> Outcome:
    """A trace like Philly's."""
    from simulator.statistics import Streams
    from simulator.workloads.synergy import cluster, philly_like_trace

    count, begin, end = config["jobs"]
    nodes = config["nodes"]
    trace = philly_like_trace(count, Streams(config["seed"]), PHILLY_LOAD * nodes / 64)
    workload, result = _simulate(trace, cluster(nodes), config, False)
    return Outcome(
        _scalars(workload, result, begin, end),
        {"jobs": _jobs_table(workload, result, begin, end)},
    )


def run_round_times(config: dict[str, Any]) -> Outcome:
    """CPU seconds of one full round from scratch, and the throughput of each mechanism.

    Mean over twenty queues in random order, and the 95 % interval of its part of opt's throughput.
    """
    import time

    import numpy as np

    from policies.synergy.demand import Capacity, Kinds
    from policies.synergy.mechanisms import Tune
    from policies.synergy.opt import Opt
    from policies.synergy.servers import Group, Mechanism, Servers
    from simulator.statistics import Streams, student
    from simulator.workloads.synergy import cluster, derived_trace, with_sensitivity

    servers = cluster(config["nodes"])
    capacity = Capacity.of(servers.node_types[0])
    mechanisms: dict[str, Mechanism] = {
        "opt": Opt("highs"),
        "tune": Tune(),
        "tune_by_gpus": Tune(sort_by_gpus=True, regrant=True),
        "tune_released": Tune(released=True),
    }
    repeats = 20
    cpu_s = dict.fromkeys(mechanisms, 0.0)
    most_cut = 0.0
    throughput: dict[str, list[float]] = {name: [] for name in mechanisms}
    for i in range(repeats):
        streams = Streams(config["seed"]).replication(i)
        trace = derived_trace(24 * config["nodes"], streams, multi_gpu=config["multi_gpu"])
        queue = streams.generator("queue").permutation(len(trace))
        kinds = Kinds.of(with_sensitivity(trace, servers), capacity)
        for name, mechanism in mechanisms.items():
            held = Servers([Group(capacity, 0, config["nodes"], kinds.kinds)], kinds)
            begin = time.process_time()
            _, packed = mechanism.run(queue, held)
            cpu_s[name] += (time.process_time() - begin) / repeats
            most_cut = max(most_cut, float(packed.info.get("fragmented_jobs", 0)))
            throughput[name].append(
                sum(_rate(kinds.kinds[slot.kind], slot.share) for slot in packed.slots)
            )
    scalars: dict[str, Any] = {"opt_most_cut": most_cut}
    for name in mechanisms:
        part = student(np.array(throughput[name]) / np.array(throughput["opt"]))
        scalars[f"{name}_round_cpu_s"] = cpu_s[name]
        scalars[f"{name}_of_opt"] = float(part.mean)
        scalars[f"{name}_of_opt_low"] = float(part.lower)
        scalars[f"{name}_of_opt_high"] = float(part.upper)
    return Outcome(scalars)


# -- what they share -------------------------------------------------------------------------


def _simulate(
    trace: Workload, servers: Cluster, config: dict[str, Any], record: bool
) -> tuple[Workload, Result]:
    from policies.synergy import synergy
    from simulator import DecisionPoints, simulate
    from simulator.workloads.synergy import with_sensitivity

    released = config.get("released", False)
    mechanism = config["mechanism"]
    options: dict[str, Any] = {}
    if mechanism == "tune-by-gpus":
        mechanism, options = "tune", {"sort": "gpus", "regrant": True}
    if mechanism == "opt":
        options = {"solver": "highs"}
    workload = with_sensitivity(
        trace,
        servers,
        released=released and mechanism != "opt",
        round_s=ROUND_S if released else None,
    )
    result = simulate(
        workload,
        servers,
        synergy(config["ordering"], mechanism, released=released, **options),
        decision_points=DecisionPoints.rounds(ROUND_S, finish_at_tick=released),
        record_schedule=record,
    )
    return workload, result


def _scalars(workload: Workload, result: Result, begin: int, end: int) -> dict[str, Any]:
    """Hours in the window; short and long by duration at the proportional share."""
    import numpy as np

    hours = result.jct_s[begin:end] / 3600
    duration_h = np.array(workload.performance.duration_s)[begin:end] / 3600  # type: ignore[attr-defined]
    short = duration_h < SHORT_H

    def of(values: Any, q: float | None = None) -> float | None:
        if not len(values):
            return None
        return float(values.mean() if q is None else np.quantile(values, q))

    return {
        "mean_jct_h": of(hours),
        "p95_jct_h": of(hours, 0.95),
        "p99_jct_h": of(hours, 0.99),
        "short_mean_h": of(hours[short]),
        "short_p99_h": of(hours[short], 0.99),
        "long_mean_h": of(hours[~short]),
        "long_p95_h": of(hours[~short], 0.95),
        "long_p99_h": of(hours[~short], 0.99),
        "makespan_h": result.makespan_s / 3600,
        "rounds": len(result.decisions),
    }


def _jobs_table(workload: Workload, result: Result, begin: int, end: int) -> Any:
    import numpy as np
    import pandas as pd

    return pd.DataFrame(
        {
            "job": np.arange(begin, end),
            "gpus": workload.num_gpus[begin:end],
            "duration_h": np.array(workload.performance.duration_s)[begin:end] / 3600,  # type: ignore[attr-defined]
            "jct_h": result.jct_s[begin:end] / 3600,
        }
    )


def _timeline(workload: Workload, servers: Cluster, result: Result, step_h: float = 2.0) -> Any:
    """Parts of the GPUs and CPUs in use over time; CPUs beyond what a job can use are not in use."""
    import numpy as np
    import pandas as pd

    from policies.synergy.demand import Capacity, Kinds

    kinds = Kinds.of(workload, Capacity.of(servers.node_types[0]))
    useful = np.array([k.best.cpus for k in kinds.kinds])[kinds.kind_of]
    edges = np.arange(0, result.workload.submit_s[-1] / 3600, step_h)
    gpus, given, used = (np.zeros(len(edges)) for _ in range(3))
    for s in result.schedule or ():
        first = int(np.searchsorted(edges, s.start_s / 3600))
        last = int(np.searchsorted(edges, s.end_s / 3600))
        gpus[first:last] += s.gpus
        given[first:last] += s.cpus
        used[first:last] += min(s.cpus, s.gpus * useful[s.job])
    cpus = servers.num_nodes * servers.node_types[0].cpus
    return pd.DataFrame(
        {
            "hour": edges,
            "gpus": gpus / servers.total_gpus,
            "cpus_given": given / cpus,
            "cpus_used": used / cpus,
        }
    )


def _rate(kind: Any, share: Any) -> float:
    return next((float(o.rate) for o in kind.all_options if o.share == share), 1.0)
