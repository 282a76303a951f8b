"""foresight on the authors' public instances, over the best that their own programs reached there.

python -m benchmarks.foresight_released FACTS [INSTANCE ...]

FACTS is a folder with ``gpuaas/instances`` in the authors' formats and ``gpuaas/baseline.csv``, what
their programs gave on them. The best of a released method is the lowest mean over their seeds, of
any method and number of iterations; first-principle rules do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from benchmarks.released_methods import INSTANCES
from policies.registry.making import make_policy
from simulator import simulate
from simulator.workloads.authors import read_instance

RELEASED = ("Greedy", "RandomGreedy", "LocalSearch", "PathRelinking")


def best_released(facts: Path) -> pd.DataFrame:
    """Best method of each instance: ``method``, ``iterations``, ``total_cost``, by instance."""
    theirs = pd.read_csv(facts / "gpuaas" / "baseline.csv")
    theirs = theirs[(theirs["completed"] == 1) & theirs["method"].isin(RELEASED)]
    means = theirs.groupby(["instance", "method", "iterations"])["total_cost"].mean().reset_index()
    return means.loc[means.groupby("instance")["total_cost"].idxmin()].set_index("instance")


def main() -> None:
    """Print a row an instance."""
    facts, chosen = Path(sys.argv[1]), sys.argv[2:] or list(INSTANCES)
    best = best_released(facts)
    print("| public instance | best released | foresight | ratio |", "|---|---|---|---|", sep="\n")
    for name in chosen:
        read = read_instance(facts / "gpuaas" / "instances" / name)
        run = simulate(read.workload, read.cluster, make_policy("foresight"), record_schedule=False)
        row = best.loc[name]
        method = f"{row['method']}, {row['iterations']} iterations: {row['total_cost']:,.1f}"
        ratio = run.total_cost / row["total_cost"]
        print(f"| {name} | {method} | {run.total_cost:,.1f} | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    main()
