"""The runs behind the figures: sweep files, and what only Python can measure.

The paper has 16 servers and averages over jobs 4000 to 4999, 444 h into the trace at 9 jobs/h. The quick
scale has 4 servers at a quarter of the arrivals, so that jobs 450 to 799 come at 200 to 356 h, when
a queue has built up; where none builds up, shorter traces do (`LENGTHS`). It has mostly one seed, and fewer loads.
Loads are always those of 16 servers. Every figure prints its windows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pages import Experiment, Labels, Outcome, Scalar, Scale, Task, study
from policies.registry.naming import PolicyName

if TYPE_CHECKING:
    from policies.synergy.demand import Kind, Share

FOLDER = Path(__file__).parent
HERE = "experiments.papers.synergy.runs"
SOURCES = ("simulator", "policies.synergy", "policies.solving", "experiments.scenario")
ROUND_S = 300.0
W1, W2 = "20-70-10", "50-0-50"
PAIR = ("proportional", "tune")

LONG = (6500, 4000, 5000)
"""Jobs of a trace, first job of the window, one after its last: the paper's."""
LENGTHS: dict[str, tuple[int, int, int]] = {
    "overload": (800, 450, 800), "settled": (320, 120, 280), "philly": (400, 150, 350),
}  # fmt: skip
"""The same at the quick scale: at 9 jobs/h, elsewhere on derived traces, and on the first jobs of Figure 6."""
OVERLOAD = 9.0
"""Jobs an hour of one GPU that ask for 118 % of the GPUs."""
SERVERS: dict[Scale, int] = {"quick": 4, "paper": 16}
STARTS: dict[Scale, dict[str, tuple[float, ...]]] = {
    "quick": {"srtf": (28.0, 56.0), "las": (56.0,), "fifo": (56.0,)},
    "paper": {
        "srtf": (28.0, 55.5, 56.0, 57.0, 59.0),
        "las": (55.5, 56.0, 57.0),
        "fifo": (55.5, 56.0, 57.0),
    },
}
"""Days by which the log of Figure 6 began before the public table, see `PhillyWindowJobs`, by ordering."""

SEEDS: dict[str, dict[Scale, int]] = {
    "printed": {"quick": 3, "paper": 20},
    "draws": {"quick": 3, "paper": 20},
    "pairs": {"quick": 1, "paper": 10},
    "few": {"quick": 1, "paper": 5},
    "shown": {"quick": 1, "paper": 5},
    "above all GPUs": {"quick": 1, "paper": 3},
    "ten": {"quick": 1, "paper": 10},
    "curve": {"quick": 1, "paper": 3},
    "few printed": {"quick": 1, "paper": 3},
    "few here": {"quick": 1, "paper": 5},
    "one": {"quick": 1, "paper": 1},
    "later": {"quick": 0, "paper": 5},
    "none": {"quick": 0, "paper": 0},
}
"""Number of seeds of a group of runs: more where printed numbers rest on them."""
QUICK_LOADS = {
    "single_gpu": (5, 7, 9), "single_gpu_mechanisms": (9,), "orderings": (3, 4, 5.5), "overload": (4.75, 5.8, 6.85),
}  # fmt: skip
"""Jobs an hour at the quick scale, of the other studies as at the paper's: enough for the shape of a curve."""
PAPER_DRAW = 42
"""The seed of the released simulator, of which the paper's 3.4 times is one run."""
ROUND_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (4, 8, 16), "paper": (4, 8, 16, 32, 64)}
"""Servers in `run_round_times`."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper."""
    found = [*_others(scale), *_draws(scale)]
    for name in (
        "single_gpu", "single_gpu_mechanisms", "cpu_ratios", "orderings", "fairness", "big_data",
        "splits", "timelines", "overload",
    ):  # fmt: skip
        found += _study(scale, name)
    return [*found, *_philly(scale)]


def _study(scale: Scale, name: str) -> list[Task]:
    """The runs of a sweep file that a scale asks for."""

    def keep(columns: Labels) -> bool:
        if scale == "quick" and columns["load"] not in QUICK_LOADS.get(name, (columns["load"],)):
            return False
        return int(columns["seed"] or 0) <= SEEDS[_group(name, columns)][scale]

    def smaller(config: dict[str, Any]) -> None:
        if scale == "quick":
            overload = config["workload"]["jobs_per_hour"] == OVERLOAD
            length = LENGTHS["overload" if overload and name in IN_OVERLOAD else "settled"]
            _shorten(config, length, SERVERS[scale])

    return _runs(name, scale, keep, smaller)


IN_OVERLOAD = ("single_gpu", "single_gpu_mechanisms", "cpu_ratios")
"""Studies whose hours at 9 jobs/h the paper prints: there the queue builds up at the quick scale, too."""


def _group(name: str, columns: Labels) -> str:
    """The group of `SEEDS` of a run."""
    mechanism, load = columns["mechanism"], columns["load"]
    if name == "single_gpu":
        return {9.0: "printed", 8.0: "pairs"}.get(float(load or 0), "shown")
    if name == "single_gpu_mechanisms":
        if load in (8, 9):
            return "pairs" if load == 9 else "none" if mechanism == "greedy" else "ten"
        return "later" if mechanism == "opt" else "none"
    if name == "cpu_ratios":
        if columns["fixed"]:
            return "few here" if load == 9 else "none"
        return {9.0: "few", 8.0: "none", 6.0: "none"}.get(float(load or 0), "curve")
    if name == "orderings":
        if mechanism == "opt":
            return "later"
        return "few" if load == 5.5 else "curve"
    if name == "splits":
        printed = load == 5.5 or (load == 3 and columns["split"] == W2)
        return "few printed" if printed else "none" if load in (4, 5) else "one"
    if name == "timelines":
        return "one"
    if name == "overload":
        return "above all GPUs"
    if name == "big_data":
        return "curve" if columns["split"] == W1 else "few printed"
    return "later" if columns["released"] else "few"


def _draws(scale: Scale) -> list[Task]:
    """The authors' draw beside others; at paper scale theirs at each ratio of CPUs, and under other policies."""

    def own(columns: Labels) -> bool:
        return columns["seed"] == PAPER_DRAW

    def other(columns: Labels) -> bool:
        small = scale == "quick" and columns["seed"] == PAPER_DRAW
        few = int(columns["seed"] or 0) <= SEEDS["draws"][scale]
        return columns["ratio"] == 3 and (small or few)

    def smaller(config: dict[str, Any]) -> None:
        _shorten_draw(config, LONG if scale == "paper" else LENGTHS["overload"], SERVERS[scale])

    def known(columns: Labels) -> bool:
        several = SEVERAL.get(str(columns["ordering"]), ())
        return (
            columns["study"] != "draws_several"
            or (columns["load"], columns["first_run"]) in several
        )

    others = _runs("draws", scale, other, smaller)
    if scale == "quick":
        return others
    theirs = [task for name in THEIRS for task in _runs(name, scale, known)]
    return [*_runs("draws", scale, own, smaller), *others, *theirs]


SEVERAL = {
    "las": ((4, False), (5.5, False), (5.5, True), (7, False)),
    "srtf": ((5.5, False), (7, False)),
    "ftf": ((5.5, False),),
}
"""Loads of `draws_several` by ordering, and whether the gaps are those of the first run."""
THEIRS = ("released", "released_opt", "draws_several", "draws_fairness", "draws_splits")
"""Studies of the authors' own draw at its own size, at paper scale alone."""


def _philly(scale: Scale) -> list[Task]:
    """The window of the Philly log; at the quick scale its first jobs."""

    def chosen(columns: Labels) -> bool:
        return columns["start"] in STARTS[scale][str(columns["ordering"])]

    def smaller(config: dict[str, Any]) -> None:
        if scale == "quick":
            config["workload"]["num_jobs"], *config["window"] = LENGTHS["philly"]

    return _runs("philly_window", scale, chosen, smaller)


def _shorten_draw(config: dict[str, Any], length: tuple[int, int, int], servers: int) -> None:
    """Under FIFO with proportional shares who comes after the window changes nothing in it."""
    count, *window = length
    alone = config["policy"] == "fifo+proportional"
    _shorten(config, (window[1] if alone else count, window[0], window[1]), servers)


def _shorten(config: dict[str, Any], length: tuple[int, int, int], servers: int) -> None:
    """A scenario at the size of a scale: fewer servers, as many arrivals for each."""
    jobs, machines = config["workload"], config["cluster"]
    jobs["num_jobs"], *window = length
    config["window"] = window
    jobs["jobs_per_hour"] *= servers / machines["num_nodes"]
    machines["num_nodes"] = servers


def _runs(
    name: str,
    scale: Scale,
    keep: Callable[[Labels], bool] = lambda _: True,
    smaller: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[Task]:
    """Runs of a sweep file; labels are the columns by which figures and claims find them."""

    def labels(swept: Labels) -> dict[str, Scalar]:
        policy = PolicyName.parse(str(swept["policy"]))
        split = json.loads(str(swept.get("workload.split", "[20, 70, 10]")))
        return {
            "study": name,
            "ordering": policy.ordering,
            "mechanism": policy.mechanism,
            "load": float(swept.get("workload.jobs_per_hour") or 0),
            "seed": swept.get("workload.draw_seed", swept["seed"]),
            "split": "-".join(f"{part:g}" for part in split),
            "multi_gpu": bool(swept.get("workload.multi_gpu")),
            "gpu_law": swept.get("workload.gpu_law", "philly"),
            "ratio": int(float(swept.get("cluster.cpus_per_node", 24.0) or 0) / 8),
            "fixed": "workload.durations_at_cpus_per_gpu" in swept,
            "released": bool({"workload.draw", "policy_options.released"} & set(swept)),
            "first_run": swept.get("workload.draw") == "released-first",
            "start": float(swept.get("workload.began_days_earlier") or 0),
        }

    found = study(
        FOLDER / f"{name}.toml", labels, keep=keep, cost_s=partial(_cost_s, scale=scale), sources=SOURCES,
        smaller=smaller,
    )  # fmt: skip
    return [
        replace(task, labels={**task.columns(), "nodes": task.config["cluster"]["num_nodes"]})
        for task in found
    ]


COST_S: dict[Scale, dict[str, float]] = {
    "quick": {
        "overload": 1.4, "philly_window": 1.5, "big_data": 1.1, "fairness": 1.6, "cpu_ratios": 0.75, "draws": 1.1,
        "orderings": 0.9, "single_gpu": 0.6,
    },
    "paper": {
        "released": 57.0, "released_opt": 27.0, "overload": 59.0, "draws_several": 59.0, "draws_fairness": 61.0,
    },
}  # fmt: skip
"""CPU seconds of a run of a study, as they were measured."""
OTHER_COST_S: dict[Scale, tuple[float, float]] = {"quick": (4.4, 0.45), "paper": (45.0, 10.0)}
"""Of the other studies, those of opt and of the other mechanisms."""


def _cost_s(columns: Labels, scale: Scale) -> float:
    opt_s, other_s = OTHER_COST_S[scale]
    default_s = opt_s if columns["mechanism"] == "opt" else other_s
    return COST_S[scale].get(str(columns["study"]), default_s)


def _others(scale: Scale) -> Iterator[Task]:
    """Runs that no file describes: the traces of Table 5 come with the project, rounds are timed."""
    for trace, ordering in (("static", "fifo"), ("dynamic", "srtf")):
        for mechanism in (*PAIR, "opt", "tune-by-gpus"):
            for released in (False, True)[: 1 if mechanism == "tune-by-gpus" else 2]:
                config = {
                    "trace": trace,
                    "ordering": ordering,
                    "mechanism": mechanism,
                    "released": released,
                }
                cost_s = 1.0 if mechanism == "opt" else 0.1
                yield Task(f"{HERE}:run_deployment", config, cost_s=cost_s, sources=SOURCES)
    for nodes in ROUND_SIZES[scale]:
        for multi_gpu in (False, True):
            config = {"nodes": nodes, "multi_gpu": multi_gpu, "seed": 1}
            yield Task(
                f"{HERE}:run_round_times", config, cost_s=0.2 + 0.02 * nodes, sources=SOURCES
            )
    function = "experiments.papers.synergy.profiles:run_profiling"
    yield Task(function, {"seed": 1}, cost_s=3.5, sources=SOURCES)


# -- task functions --------------------------------------------------------------------------


def run_deployment(config: dict[str, Any]) -> Outcome:
    """One of the two traces of Table 5 on four servers: hours, and each job's (table ``jobs``)."""
    import numpy as np
    import pandas as pd

    from policies.synergy import synergy
    from simulator import DecisionPoints, simulate
    from simulator.workloads.networks import cluster, with_sensitivity
    from simulator.workloads.synergy import deployment_trace

    mechanism, released = config["mechanism"], config["released"]
    options: dict[str, Any] = {"solver": "highs"} if mechanism == "opt" else {}
    if mechanism == "tune-by-gpus":
        mechanism, options = "tune", {"sort": "gpus", "regrant": True}
    servers = cluster(4)
    # The released opt reads the matrices, not the two speeds.
    workload = with_sensitivity(
        deployment_trace(config["trace"]),
        servers,
        released=released and mechanism != "opt",
        round_s=ROUND_S if released else None,
    )
    result = simulate(
        workload,
        servers,
        synergy(config["ordering"], mechanism, released=released, **options),
        decision_points=DecisionPoints(round_s=ROUND_S, finish_at_round=released),
        record_schedule=False,
    )
    hours = result.jct_s / 3600
    scalars: dict[str, Scalar] = {
        "makespan": result.makespan_s / 3600,
        "mean": float(hours.mean()),
        "p99": float(np.quantile(hours, 0.99)),
    }
    jobs = pd.DataFrame({"job": np.arange(len(hours)), "jct_h": hours})
    return Outcome(scalars, {"jobs": jobs})


def run_round_times(config: dict[str, Any]) -> Outcome:
    """CPU seconds of one full round from scratch, and the throughput of each mechanism.

    Mean over twenty queues in random order, and the 95 % interval of its part of opt's throughput;
    ``least_rate`` is the least of all jobs under tune over its rate at the proportional share.
    """
    import time

    from policies.synergy.demand import Kinds, ServerSize
    from policies.synergy.mechanisms import Tune
    from policies.synergy.opt import Opt
    from policies.synergy.servers import Group, Mechanism, Servers
    from simulator.statistics import Streams, student
    from simulator.workloads.networks import cluster, with_sensitivity
    from simulator.workloads.synergy import derived_trace

    servers = cluster(config["nodes"])
    capacity = ServerSize.of(servers.node_types[0])
    mechanisms: dict[str, Mechanism] = {
        "opt": Opt("highs"),
        "tune": Tune(),
        "tune_by_gpus": Tune(sort_by_gpus=True, regrant=True),
        "tune_released": Tune(released=True),
    }
    repeats = 20
    cpu_s = dict.fromkeys(mechanisms, 0.0)
    most_cut, least = 0.0, math.inf
    rates: dict[str, list[list[float]]] = {name: [] for name in mechanisms}
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
            of_slots = [(kinds.kinds[slot.kind], slot.share) for slot in packed.slots]
            rates[name].append([_rate(kind, share) for kind, share in of_slots])
            if name == "tune":
                least = min(least, *(_rate(k, share) / k.fair_rate for k, share in of_slots))
    scalars: dict[str, Any] = {"opt_most_cut": most_cut, "least_rate": least}
    for name in mechanisms:
        of_opt = [sum(r) / sum(o) for r, o in zip(rates[name], rates["opt"], strict=True)]
        part = student(of_opt)
        scalars[f"{name}_round_cpu_s"] = cpu_s[name]
        scalars[f"{name}_of_opt"] = float(part.mean)
        scalars[f"{name}_of_opt_low"] = float(part.lower)
        scalars[f"{name}_of_opt_high"] = float(part.upper)
    return Outcome(scalars)


def _rate(kind: Kind, share: Share) -> float:
    """Rate of a job with a share; 1, that of the proportional share, with one that has no point."""
    return next((float(o.rate) for o in kind.all_options if o.share == share), 1.0)


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
