"""The runs as tables: averages in hours, jobs of the window, gains, use of the cluster over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.estimates import geometric, paired
from experiments.pages import NoRuns, Results, kept
from experiments.papers.synergy.runs import OVERLOAD, PAIR, PAPER_DRAW, W1, W2
from simulator.statistics import RESAMPLES, Estimate, Streams, bootstrap_interval, mean_of_skewed

if TYPE_CHECKING:
    from experiments.pages import Scalar, Task

Table = Any
"""A pandas DataFrame; its stubs know too little of what a column holds to be of help here."""

SHORT_H = 4.0
"""Jobs with a JCT below this under tune are short (Section 5.3.1)."""
FEWEST_SEEDS = 5
"""With fewer, drawing seeds again says little of the error."""
FIFO_SINGLE = ("single_gpu", "single_gpu_mechanisms")


def cells(results: Results, studies: str | Iterable[str], **labels: Scalar) -> Table:
    """One row a run of some sweep files: labels, and the JCT of the window in hours."""
    names = (studies,) if isinstance(studies, str) else studies
    parts = [results.where("run_scenario", study=name, **labels).scalars() for name in names]
    table = pd.concat(parts)
    if table.empty:
        raise NoRuns(f"no finished run of {names} with {labels}")
    for name in ("mean", "p95", "p99"):
        table[f"{name}_jct_h"] = table[f"{name}_jct_s"] / 3600
    return table


def fifo(results: Results) -> Table:
    """Runs under FIFO with jobs of one GPU, of the mechanisms that ran at every load."""
    table = cells(results, FIFO_SINGLE)
    return table[table["mechanism"].isin([*PAIR, "opt"])]


def together(*tables: Table) -> Table:
    """Tables one below the other."""
    parts: list[pd.DataFrame] = list(tables)
    return pd.concat(parts)


def windows(results: Results, study: str, **labels: Scalar) -> str:
    """Jobs, GPUs and repetitions over which the runs of a sweep file average, in words."""
    tasks = results.where("run_scenario", study=study, **labels).tasks
    if not tasks:
        raise NoRuns(f"no finished run of {study}")
    at: dict[str, set[float]] = {}
    seeds: dict[tuple[Scalar, ...], int] = {}
    for task in tasks:
        first, last = task.config["window"]
        columns = task.columns()
        at.setdefault(f"jobs {first} to {last - 1}", set()).add(float(columns["load"] or 0))
        setting = tuple(value for name, value in columns.items() if name != "seed")
        seeds[setting] = seeds.get(setting, 0) + 1
    texts = [
        f"{jobs} at {', '.join(f'{x:g}' for x in sorted(loads))} jobs/h" if len(at) > 1 else jobs
        for jobs, loads in sorted(at.items())
    ]
    least, most = min(seeds.values()), max(seeds.values())
    counted = f"{least} to {most} seeds" if least < most else f"{most} seed{'s' * (most > 1)}"
    return f"{'; '.join(texts)}; {8 * tasks[0].config['cluster']['num_nodes']} GPUs; {counted}"


@kept
def profiles(results: Results, name: str) -> Table:
    """A table of the profiling: "fits" or "held_out"."""
    return results.where("run_profiling").table(name)


@kept
def jobs(results: Results, study: str, *, whole: bool = False, **labels: Scalar) -> Table:
    """The jobs in the window of each run, or ``whole`` traces: labels, ``job`` and ``jct_h``."""
    parts = []
    part = results.where("run_scenario", study=study, **labels)
    for task in part.tasks:
        table = part.outcome(task).tables["jobs"]
        jct_h = ((table["completion_s"] - table["arrival_s"]) / 3600).to_numpy()
        first, last = (0, len(jct_h)) if whole else task.config["window"]
        found = {"job": np.arange(first, last), "jct_h": jct_h[first:last]}
        parts.append(pd.DataFrame({**task.columns(), **found}))
    if not parts:
        raise NoRuns(f"no finished run of {study} with {labels}")
    return pd.concat(parts, ignore_index=True)


def with_length(table: Table, same: Sequence[str] = ("seed", "load", "job")) -> Table:
    """Jobs with ``length``: "short" where the JCT of the ``same`` job is below 4 h under tune."""
    same = list(same)
    tuned = table.loc[table["mechanism"] == "tune", [*same, "jct_h"]]
    joined = table.merge(tuned.rename(columns={"jct_h": "tuned_h"}), on=same)
    return joined.assign(length=np.where(joined.pop("tuned_h") < SHORT_H, "short", "long"))


def by_length(results: Results) -> Table:
    """Hours of short and long jobs of Philly under SRTF: one row a run and kind ("short-mean", "long-p99")."""
    same = ["start", "job"]
    table = with_length(jobs(results, "philly_window", ordering="srtf"), same=same)
    groups = table.groupby(["length", "mechanism", "start"])["jct_h"]
    values = pd.DataFrame({"mean": groups.mean(), "p99": groups.quantile(0.99)}).reset_index()
    long = values.melt(["length", "mechanism", "start"], var_name="value", value_name="hours")
    return long.assign(kind=long.pop("length") + "-" + long.pop("value"))


MEAN_HOURS = (0.8 * (10**3 - 10**1.5) / 1.5 + 0.2 * (10**4 - 10**3)) / math.log(10) / 60
"""Of a job with the law of Section 5.1, see `derived_trace`."""


@kept
def long_p95(results: Results, study: str, **labels: Any) -> Table:
    """95th percentile of the JCT of long jobs, h: one row a run."""
    of = ["load", "ordering", "seed", "first_run"]
    table = with_length(jobs(results, study, **labels), same=[*of, "job"])
    p95 = table[table["length"] == "long"].groupby([*of, "mechanism"])["jct_h"].quantile(0.95)
    return p95.rename("long_p95_h").reset_index()


def by_share(results: Results) -> Table:
    """Runs of jobs of several GPUs by ``share``, % of the GPUs that they ask for, with ``long_p95_h``."""
    from simulator.workloads.gpu_demand import gpu_demand_law

    found = cells(results, "overload").merge(long_p95(results, "overload"), how="left")
    gpus = {law: float(np.dot(*gpu_demand_law(law))) for law in ("philly", "gavel")}
    shares = found["load"] * found["gpu_law"].map(gpus) * MEAN_HOURS / 128
    return found.assign(share=(100 * shares).round())


def speedups(results: Results) -> Table:
    """Speed-up of each job of Philly under SRTF, proportional over tune: start, job, ratio."""
    table = jobs(results, "philly_window", ordering="srtf")
    return paired(table, "mechanism", *PAIR, "jct_h", by=["start", "job"])


TABLE_BEGINS = date(2017, 9, 4)
"""First submission of the public table, to about half a day: its last one is of 22 December, as the log's page says."""


def began(start: float) -> str:
    """The day of the log's first submission, so many days before the table's."""
    day = TABLE_BEGINS - timedelta(days=math.ceil(start))
    hour = round(24 * (math.ceil(start) - start))
    return f"{day.day} {day:%B}" + (f" {hour}:00" if hour else "")


def jobs_in_window(start: float) -> int:
    """Jobs of Figure 6 where the log begins so many days before the table."""
    from simulator.workloads.synergy import PhillyWindowJobs
    from simulator.workloads.table import Setting

    return len(PhillyWindowJobs(began_days_earlier=start).make(Setting()))


# -- gains -----------------------------------------------------------------------------------


def gain(
    table: Table, base: str = "proportional", over: str = "tune", value: str = "mean_jct_h"
) -> Estimate:
    """Ratio of a mechanism's JCT to another's, seed by seed on the same jobs."""
    ratios = paired(table, "mechanism", base, over, value)["ratio"]
    if ratios.empty:
        raise NoRuns(f"no run of {base} beside one of {over}")
    return geometric(ratios)


def gains(table: Table, by: Sequence[str], base: str = "proportional", over: str = "tune") -> Table:
    """The same run by run: columns ``by``, seed, ratio."""
    return paired(table, "mechanism", base, over, "mean_jct_h", by=[*by, "seed"])


def largest(table: Table, over: str = "tune", value: str = "mean_jct_h") -> tuple[float, Estimate]:
    """The load at which proportional shares are slowest relative to ``over``, and the ratio.

    Of the seeds that ran at every load. The interval is that of the largest over loads: seeds are
    drawn again, whole, and the load is chosen anew each time. Below `FEWEST_SEEDS` there is none.
    """
    logs = np.log(ratios_by_load(table, over, value).dropna())
    if logs.empty:
        raise NoRuns(f"no run of {over} at every load")
    by_load, count = logs.mean(), len(logs)
    load, most = float(by_load.idxmax()), math.exp(by_load.max())
    if count < FEWEST_SEEDS:
        return load, Estimate(most, -math.inf, math.inf, count)
    again = Streams(1).generator("bootstrap").integers(count, size=(RESAMPLES, count))
    resampled = np.exp(logs.to_numpy()[again].mean(axis=1).max(axis=1))
    return load, replace(bootstrap_interval(most, resampled), n=count)


def ratios_by_load(table: Table, over: str = "tune", value: str = "mean_jct_h") -> Table:
    """Ratios of proportional shares to ``over``: one row a seed, one column a load."""
    found = paired(table, "mechanism", "proportional", over, value, by=["load", "seed"])
    return found.pivot(index="seed", columns="load", values="ratio")


def hours(table: Table, mechanism: str, value: str = "mean_jct_h") -> Estimate:
    """Mean over seeds of one mechanism's hours."""
    found = table.loc[table["mechanism"] == mechanism, value].dropna().to_numpy()
    if not len(found):
        raise NoRuns(f"no run of {mechanism}")
    return mean_of_skewed(found)


def overload() -> tuple[float, float]:
    """Load of Figure 9's 9 jobs/h on 128 GPUs, %: at proportional shares, and where each has its whole demand."""
    return 100 * offered_load(9, 128, met=False), 100 * offered_load(9, 128)


def offered_load(jobs_per_hour: float, gpus: int, *, met: bool = True) -> float:
    """Part of the GPUs that single-GPU jobs of split 20-70-10 ask for.

    Parameters
    ----------
    met : each has its whole demand; False: its proportional share.
    """
    from simulator.workloads.networks import TASKS, dnn_models, sensitivity_matrices

    fastest = {n: float(m.relative.max()) for n, m in sensitivity_matrices().items()}
    gpu_hours = 0.0
    for task, share in zip(TASKS, (int(part) for part in W1.split("-")), strict=True):
        of_task = [
            1 / fastest[n.name] if met else 1.0 for n in dnn_models().values() if n.task == task
        ]
        gpu_hours += share / 100 * MEAN_HOURS * sum(of_task) / len(of_task)
    return jobs_per_hour * gpu_hours / gpus


# -- the draws of the released simulator -------------------------------------------------------


def draws(results: Results, nodes: int) -> Table:
    """One row a draw at 3 CPUs a GPU: seed, load_percent, the two averages in hours, ratio."""
    part = results.where("run_scenario", study="draws", ratio=3, nodes=nodes)
    table = cells(results, "draws", ratio=3, nodes=nodes)
    wide = table.pivot_table(index="seed", columns="mechanism", values="mean_jct_h").reset_index()
    end = part.tasks[0].config["window"][1]
    loads = [load_percent(int(seed), end, nodes) for seed in wide["seed"]]
    return wide.assign(load_percent=loads, ratio=wide["proportional"] / wide["tune"])


def their_servers(results: Results) -> int:
    """Servers on which the authors' draw ran under FIFO: theirs, or those of the quick scale."""
    tasks = results.where("run_scenario", study="draws", seed=PAPER_DRAW).tasks
    if not tasks:
        raise NoRuns("no run of the authors' draw")
    return max(int(task.config["cluster"]["num_nodes"]) for task in tasks)


def their_draw(results: Results, words: str = "authors' draw") -> str:
    """The authors' draw in words, with its GPUs where these are not theirs."""
    servers = their_servers(results)
    return words if servers == 16 else f"{words}, {8 * servers} GPUs"


def their_hours(results: Results) -> Table:
    """Hours of each mechanism on the authors' draw with their rules, as far as it ran."""
    nodes = their_servers(results)
    parts = [("draws", {"ratio": 3, "seed": PAPER_DRAW, "nodes": nodes}), ("released_opt", {})]
    tables = []
    for study, labels in parts:
        try:
            tables.append(cells(results, study, **labels))
        except NoRuns:
            continue
    return together(*tables).set_index("mechanism")["mean_jct_h"]


def their_distribution(results: Results) -> Table:
    """Jobs of the authors' draw at 9 jobs/h: proportional, tune, and opt where it ran."""
    table = jobs(results, "draws", seed=PAPER_DRAW, nodes=their_servers(results), ratio=3)
    try:
        opt = jobs(results, "released_opt").assign(seed=PAPER_DRAW)
    except NoRuns:
        return table
    return together(table, opt)


def their_jobs(results: Results, ordering: str, load: float) -> tuple[Table, str]:
    """Jobs of several GPUs in the window on the authors' draw, else on ours, and which in words."""
    try:
        found = jobs(results, "draws_several", ordering=ordering, load=load, first_run=False)
    except NoRuns:
        return jobs(results, "orderings", ordering=ordering, load=load), "our draws"
    return found, "the authors' draw"


def load_of_several(load: float, *, first_run: bool) -> float:
    """Share of the GPUs that the jobs up to the window's end ask for on the authors' draw with several GPUs, %."""
    from simulator.workloads.synergy import released_draw

    drawn: Any = released_draw(5000, load, multi_gpu=True, first_run=first_run)
    asked_s = float((drawn.performance.duration_s * drawn.num_gpus).sum())
    return 100 * asked_s / (float(drawn.submit_s[-1]) * 128)


def scale_of_draws(results: Results) -> tuple[int, int, int]:
    """First job of the window, one after the last, and servers of draws other than the paper's."""
    part = results.where("run_scenario", study="draws")
    for task in part.tasks:
        if task.columns()["seed"] != PAPER_DRAW:
            first, end = task.config["window"]
            return first, end, task.config["cluster"]["num_nodes"]
    raise NoRuns("no further draw")


@cache
def load_percent(seed: int, last: int, nodes: int) -> float:
    """Load of the jobs up to ``last`` that the released generator draws, % of the GPUs."""
    from simulator.workloads.synergy import released_draw

    drawn: Any = released_draw(last, OVERLOAD * nodes / 16, seed=seed)
    return float(100 * drawn.performance.duration_s.sum() / (drawn.submit_s[-1] * 8 * nodes))


# -- Table 5 ---------------------------------------------------------------------------


def deployment(results: Results) -> Table:
    """One row a number of Table 5: trace, mechanism, released, metric, hours."""
    table: Table = results.runs("run_deployment")
    metrics = {"static": ["makespan"], "dynamic": ["mean", "p99"]}
    kept = ["trace", "ordering", "mechanism", "released"]
    parts = [
        table[table["trace"] == trace].melt(kept, of_trace, "metric", "hours")
        for trace, of_trace in metrics.items()
    ]
    return pd.concat(parts, ignore_index=True)


# -- use of the cluster ------------------------------------------------------------------------


@kept
def timeline(results: Results, study: str) -> Table:
    """Use of GPUs and CPUs, %, over the hours in which jobs come, split 50-0-50; one row a run and hour."""
    part = results.where("run_scenario", study=study, split=W2)
    tables = [
        _use(task, part.outcome(task).tables["schedule"]).assign(**task.columns())
        for task in part.tasks
    ]
    if not tables:
        raise NoRuns(f"no finished run of {study}")
    return pd.concat(tables, ignore_index=True)


@kept
def least_rates(results: Results) -> Table:
    """Least rate of a job in a whole run of tune over that at its proportional share: one row a run."""
    part = results.where("run_scenario", study="timelines", mechanism="tune")
    found = [
        {**task.columns(), "least": _least_rate(task, part.outcome(task).tables["schedule"])}
        for task in part.tasks
    ]
    if not found:
        raise NoRuns("no finished run of timelines")
    return pd.DataFrame(found)


def _least_rate(task: Task, schedule: Table) -> float:
    """Of all parts of a schedule in which a job keeps what it has."""
    from experiments.scenario.build import build
    from experiments.scenario.schema import Scenario

    workload, _ = build(Scenario.model_validate(task.config))
    performance: Any = workload.performance
    parts = schedule.assign(job=schedule["job_id"].astype(int)).groupby(["job", "start_s"])
    held = parts[["gpus", "cpus", "memory_gb"]].sum().round(9).reset_index()
    kinds = held.assign(model=[workload.model[j] for j in held["job"]])
    each = kinds.drop_duplicates(["model", "gpus", "cpus", "memory_gb"])
    return float(
        min(
            performance.duration_s[row.job]
            / performance.time_s(row.job, 0, row.gpus, row.cpus, row.memory_gb)
            for row in each.itertuples()
        )
    )


def _use(task: Task, schedule: Table, step_h: float = 2.0) -> Table:
    """CPUs beyond what a job can use are not in use."""
    from experiments.scenario.build import build
    from experiments.scenario.schema import Scenario
    from policies.synergy.demand import Kinds, ServerSize

    workload, cluster = build(Scenario.model_validate(task.config))
    kinds = Kinds.of(workload, ServerSize.of(cluster.node_types[0]))
    useful = np.array([k.best.cpus for k in kinds.kinds])[kinds.kind_of]
    edges_h = np.arange(0, workload.submit_s[-1] / 3600, step_h)
    first, last = (
        np.searchsorted(edges_h, schedule[f"{end}_s"].to_numpy() / 3600) for end in ("start", "end")
    )
    gpus = schedule["gpus"].to_numpy()
    most = gpus * useful[schedule["job_id"].astype(int).to_numpy()]
    cpus = np.minimum(schedule["cpus"].to_numpy(), most)
    spec = cluster.node_types[0]
    found = {}
    for name, used, all_of in (("gpus", gpus, spec.gpus), ("cpus_used", cpus, spec.cpus)):
        change = np.zeros(len(edges_h) + 1)
        np.add.at(change, first, used)
        np.add.at(change, last, -used)
        found[name] = 100 * np.cumsum(change)[:-1] / (cluster.num_nodes * all_of)
    return pd.DataFrame({"hour": edges_h, **found})


def peaks(used: Table) -> Table:
    """Means of 12 hours."""
    return used.groupby(used.index // 12 * 12).mean()
