"""The released randomised greedy and local search beside the authors' own runs, 30 seeds.

python -m benchmarks.released_methods FACTS OUT

FACTS is a folder with ``gpuaas/instances`` in the authors' formats and ``gpuaas/baseline.csv``, what
their program gave on them. Writes ``released_methods.csv`` and ``.png`` into OUT: the cost of each
of our seeds over theirs, and the 95 % interval of the mean ratio. The page of the thesis reads the table
from its package. Their program and ours draw other random numbers, so that only the distributions can agree. "rebuilt" is their local search with all
that it does, also what no cluster could do (`benchmarks.released_search`); it takes fewer seeds.

``released_versions.csv``: what the randomised greedy of version 1 of their program gains over the greedy of that version, %, the
mean of our seeds. Like it, both run a job on the shortest of several listed times.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from policies.registry.making import make_policy
from simulator import simulate
from simulator.statistics import student
from simulator.workloads.authors import read_instance

SEEDS = 30
INSTANCES = {
    "v2020_1-5-50-45000-100-1000": "2020, 5 nodes",
    "v2020_1-10-100-45000-100-1000": "2020, 10 nodes",
    "v2021_1-5-50-1000-exponential-30000": "2021, 5 nodes",
    "v2021_1-10-100-1000-exponential-30000": "2021, 10 nodes",
}
METHODS = {"RandomGreedy": "randomised-greedy", "LocalSearch": "local-search"}
ITERATIONS = (10, 100)
REBUILT = "local-search, rebuilt"
REBUILT_SEEDS = {"2020, 5 nodes": 6, "2021, 5 nodes": 10}
NAMES = (*METHODS.values(), REBUILT)
VERSION, VERSION_SEEDS = 1, 10
COLUMNS = ["instance", "method", "iterations", "seed", "ours", "theirs"]


def known_costs(facts: Path) -> dict[tuple[str, str, int], float]:
    """Results of the authors' program: mean cost by instance, its own name of the method, iterations."""
    table = pd.read_csv(facts / "gpuaas" / "baseline.csv")
    means = table.groupby(["instance", "method", "iterations"])["total_cost"].mean()
    keys = [(str(i), str(m), int(n)) for i, m, n in means.index]
    return dict(zip(keys, means.astype(float), strict=True))


def rebuilt(facts: Path) -> pd.DataFrame:
    """The same columns as `runs`, for the authors' local search rebuilt."""
    from benchmarks.released_search import play

    theirs, rows = known_costs(facts), []
    for instance, name in INSTANCES.items():
        for iterations in ITERATIONS:
            known = theirs[instance, "LocalSearch", iterations]
            for seed in range(1, REBUILT_SEEDS.get(name, 0) + 1):
                folder = facts / "gpuaas" / "instances" / instance
                cost = play(folder, "local-search", iterations, seed)[0]
                rows.append((instance, REBUILT, iterations, seed, cost, known))
    return pd.DataFrame(rows, columns=COLUMNS)


def runs(facts: Path) -> pd.DataFrame:
    """One row a seed: instance, method, iterations, our cost, the mean of theirs."""
    theirs, rows = known_costs(facts), []
    for instance in INSTANCES:
        read = read_instance(facts / "gpuaas" / "instances" / instance)
        for name, method in METHODS.items():
            for iterations in ITERATIONS:
                known = theirs.get((instance, name, iterations))
                if known is None:
                    continue
                for seed in range(1, SEEDS + 1):
                    policy = make_policy(method, released=True, iterations=iterations)
                    run = simulate(
                        read.workload, read.cluster, policy, seed=seed, record_schedule=False
                    )
                    rows.append((instance, method, iterations, seed, run.total_cost, known))
    return pd.DataFrame(rows, columns=COLUMNS)


def gains_of_version(facts: Path) -> pd.DataFrame:
    """The randomised greedy of `VERSION` over its greedy: one row an instance."""
    rows = []
    for instance in INSTANCES:
        read = read_instance(facts / "gpuaas" / "instances" / instance, duplicates="shortest")

        def cost(policy: str, seed: int, read: Any = read) -> float:
            of = make_policy(policy, released=True, released_version=VERSION)
            run = simulate(read.workload, read.cluster, of, seed=seed, record_schedule=False)
            return float(run.total_cost)

        greedy = cost("greedy", 1)
        each = [cost("randomised-greedy", seed) for seed in range(1, VERSION_SEEDS + 1)]
        e = student(100 * (1 - np.array(each) / greedy))
        rows.append((instance, VERSION, greedy, e.mean, e.lower, e.upper, VERSION_SEEDS))
    return pd.DataFrame(
        rows, columns=["instance", "version", "greedy", "mean", "low", "high", "seeds"]
    )


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """By instance as listed, method, iterations; with the ratio."""
    place = {name: k for k, name in enumerate((*INSTANCES, *NAMES))}
    table = table.assign(ratio=table["ours"] / table["theirs"])
    return table.sort_values(
        ["instance", "method", "iterations", "seed"], key=lambda c: c.map(place).fillna(c)
    )


def draw(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The ratio of each seed, and the interval of the mean; returns the intervals."""
    from experiments.pictures.plots import PALETTE, PAPER, canvas

    groups = list(table.groupby(["instance", "method", "iterations"], sort=False))
    figure, (ax,) = canvas(width=7.6, height=0.36 * len(groups) + 1.4)
    rows, labels = [], []
    for y, (key, part) in enumerate(groups):
        instance, method, iterations = cast(tuple[Any, ...], key)
        e = student(np.log(part["ratio"].to_numpy()))
        mean, low, high = np.exp([e.mean, e.lower, e.upper]).tolist()
        color = PALETTE[NAMES.index(method)]
        ax.plot(part["ratio"], np.full(len(part), y), "|", color=color, alpha=0.5, ms=9)
        ax.errorbar(mean, y, xerr=[[mean - low], [high - mean]], fmt="o", color=color, capsize=4)
        labels.append(f"{INSTANCES[instance]}, {method}, {iterations} iterations")
        rows.append((instance, method, iterations, mean, low, high, part["ratio"].std()))
    ax.axvline(1.0, color=PAPER, linestyle="--", label="the authors' program")
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set(xlabel="total cost over the authors'; dashes: seeds, dots: mean and 95 % interval")
    for name, color in zip(NAMES, PALETTE, strict=False):
        ax.plot([], [], "o", color=color, label=name)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False)
    figure.savefig(path, dpi=130, bbox_inches="tight", metadata={"Software": None})
    columns = ["instance", "method", "iterations", "mean", "low", "high", "sd"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    """Run, draw, write."""
    import matplotlib as mpl

    mpl.use("Agg")
    facts, out = Path(sys.argv[1]), Path(sys.argv[2])
    of_version = gains_of_version(facts)
    of_version.to_csv(out / "released_versions.csv", index=False, float_format="%.6g")
    table = in_order(pd.concat([runs(facts), rebuilt(facts)]))
    intervals = draw(table, out / "released_methods.png")
    intervals.to_csv(out / "released_methods.csv", index=False, float_format="%.6g")
    print(intervals.to_string())


if __name__ == "__main__":
    main()
