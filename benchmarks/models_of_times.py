"""The hierarchical paper's and the thesis's numbers by model of job times, the authors' pool among them.

python -m benchmarks.models_of_times FACTS hierarchical|thesis OUT.csv

FACTS is a folder with ``gpuaas/gpuspb_pool_times_wide.csv``: times of the 176 jobs of the authors' public
pool (repository elenacirillo/Neighbourhood, 2020). Jobs are drawn from the pool itself, from the model
fitted to it, and from the model of published throughput; all else is that of the papers' pages.
The page of the paper reads the file from its package: ``models_of_times.csv``.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policies.registry.making import make_policy
from simulator import Cluster, DecisionPoints, Workload, simulate
from simulator.model.cluster import FloatArray
from simulator.statistics import Streams, student
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate, with_times

DUE = {
    "min-2max": "due dates U[min, 2 max]",
    "min-3min": "due dates U[min, 3 min]",
}
TIMES = {
    "authors' pool": "jobs of the authors' pool itself",
    "pool": "times as in the authors' pool",
    "throughput": "times from published throughput",
}
RULES = ("fifo", "edf", "ps")
SEEDS = range(1, 7)
TRACES = range(1, 7)
GAPS_S = (1000, 10_000, 20_000, 30_000, 40_000)
METHODS: dict[str, tuple[str, dict[str, Any], float | None]] = {
    **{rule: (rule, {}, None) for rule in RULES},
    "hierarchical": ("milp", {}, 3600.0),
    "central-2019": ("milp-centralised-2019", {}, 3600.0),
}
"""Of the hierarchical paper: policy, options and period of decisions."""


def from_pool(pool: pd.DataFrame, scenario: HierarchicalJobs) -> Workload:
    """Jobs of the pool itself, each as likely, for a scenario."""
    names = pool["Jobs"].unique()
    by_type = {
        gpu: part.set_index("Jobs").loc[names, [f"t_g{g}_s" for g in range(1, 9)]].to_numpy()
        for gpu, part in pool.groupby("GpuType")
    }
    streams, catalog = Streams(scenario.seed or 0), read_catalog("hierarchical")
    drawn = streams.generator("job-mix").integers(len(names), size=scenario.num_drawn)
    width = 1 + max(int(t.gpus) for t in catalog)
    times_s: FloatArray = np.full((len(drawn), len(catalog), width), np.inf)
    for v, node_type in enumerate(catalog):
        gpus = int(node_type.gpus)
        times_s[:, v, 1 : gpus + 1] = by_type[node_type.gpu_type][drawn, :gpus]
    return with_times(scenario, streams, times_s, names[drawn].tolist())


def jobs(pool: pd.DataFrame, times: str, **fields: Any) -> Workload:
    """The jobs of a scenario by a model of times."""
    if times == "authors' pool":
        return from_pool(pool, HierarchicalJobs(**fields))
    return generate(HierarchicalJobs(times=times, **fields))  # type: ignore[arg-type]


def hierarchical(pool: pd.DataFrame, times: str, due: str) -> pd.DataFrame:
    """One row a seed: the printed quantities with ten nodes."""
    catalog, rows = read_catalog("hierarchical"), []
    for seed in SEEDS:
        workload = jobs(pool, times, num_nodes=10, due=due, seed=seed)
        cost = {}
        for method, (policy, options, period_s) in METHODS.items():
            if method == "central-2019" and due != "min-2max":
                continue
            cluster = Cluster.of_vms(catalog, 10, 2 if method == "hierarchical" else 1)
            run = simulate(
                workload, cluster, make_policy(policy, **options), seed=seed, record_schedule=False,
                decision_points=DecisionPoints(period_s=period_s),
            )  # fmt: skip
            cost[method] = run.total_cost
        row = {f"saving.{rule}": 100 * (1 - cost["hierarchical"] / cost[rule]) for rule in RULES}
        if "central-2019" in cost:
            row["over-central"] = 100 * (cost["hierarchical"] / cost["central-2019"] - 1)
        rows.append(row)
    return pd.DataFrame(rows)


def thesis(pool: pd.DataFrame, times: str, due: str) -> pd.DataFrame:
    """One row a trace: the printed gains with ten nodes, means over the gaps; ``wide``: from 20,000 s on."""
    catalog, rows = read_catalog("thesis"), []
    cluster = Cluster.of_vms(catalog, 10)
    for trace, gap_s in itertools.product(TRACES, GAPS_S):
        workload = jobs(
            pool, times, num_nodes=10, mean_gap_s=gap_s, weights="released", due=due,
            catalog=catalog, seed=trace,
        )  # fmt: skip
        cost = {
            method: simulate(
                workload, cluster, make_policy(method), seed=1, record_schedule=False
            ).total_cost
            for method in ("edf", "greedy", "randomised-greedy")
        }
        rows.append(
            {
                "trace": trace,
                "gap_s": gap_s,
                "rg-over-edf": 100 * (1 - cost["randomised-greedy"] / cost["edf"]),
                "greedy-over-edf": 100 * (1 - cost["greedy"] / cost["edf"]),
                "rg-by-gap": 100 * (1 - cost["randomised-greedy"] / cost["greedy"]),
            }
        )
    table = pd.DataFrame(rows)
    wide = table[table["gap_s"] >= 20_000].groupby("trace").mean().drop(columns="gap_s")
    means = table.groupby("trace").mean().drop(columns="gap_s")
    return means.join(wide.add_suffix(".wide"))


def rows(paper: str, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's page: one a published number, law and model, with its interval."""
    found = []
    for (due, times), part in table.groupby(["due", "times"], sort=False):
        for quantity in part.columns.drop(["due", "times"]):
            values = part[quantity].dropna()
            if values.empty:
                continue
            e, beside = student(values.to_numpy()), table[table["due"] == due].groupby("times")
            means = beside[quantity].mean()
            said = ", ".join(f"{TIMES[str(t)]} {value:.1f} %" for t, value in means.items())
            moved = f"the model of times moves it by {means.max() - means.min():.1f} points: {said}"
            published, method, words = _named(paper, str(quantity))
            law = f"10 nodes, {words}{DUE[str(due)]}, {TIMES[str(times)]}"
            ends = (round(e.mean, 3), round(e.lower, 3), round(e.upper, 3), e.n)
            found += [(name, method, law, *ends, moved) for name in published]
    columns = ["published", "method", "law", "mean", "low", "high", "n", "why"]
    return pd.DataFrame(found, columns=columns)


def _named(paper: str, quantity: str) -> tuple[tuple[str, ...], str, str]:
    """The published numbers that a quantity is held against, its method, and words for the claim."""
    name, _, part = quantity.partition(".")
    if paper == "thesis":
        return (f"gain.{name}",), "", "gaps of 20,000 s / N and more, " if part else "all gaps, "
    if name == "saving":
        return ("saving-abstract", "saving-conclusions"), part.upper(), ""
    return (name,), "", ""


def main() -> None:
    """Run every model under both laws, write the rows."""
    facts, paper, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    pool = pd.read_csv(facts / "gpuaas" / "gpuspb_pool_times_wide.csv")
    found = {"hierarchical": hierarchical, "thesis": thesis}[paper]
    parts = [
        found(pool, times, due).assign(due=due, times=times)
        for due, times in itertools.product(DUE, TIMES)
    ]
    rows(paper, pd.concat(parts)).to_csv(out, index=False)


if __name__ == "__main__":
    main()
