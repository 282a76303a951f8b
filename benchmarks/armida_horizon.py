"""The replay on ARMIDA with H = 0 and with H = 300 s in the proxy, seed by seed.

python -m benchmarks.armida_horizon SEEDS OUT.csv

The page of ANDREAS reads the file from its package: ``horizon.csv``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.papers.andreas.runs import replay

METHODS = ("randomised-greedy", "randomised-h")


def main(seeds: int, out: Path) -> None:
    """Energy cost of both replays, and the stretches of their schedules that differ."""
    rows = []
    for seed in range(1, seeds + 1):
        results = [replay(method, seed) for method in METHODS]
        without, with_h = (_stretches(result.schedule_table()) for result in results)
        costs = [result.summary()["energy_cost"] for result in results]
        rows.append((seed, len(without), len(without ^ with_h), *costs))
        columns = ["seed", "stretches", "changed", "energy_cost", "energy_cost_h"]
        pd.DataFrame(rows, columns=columns).to_csv(out, index=False, float_format="%.9g")


def _stretches(schedule: Any) -> set[tuple[Any, ...]]:
    columns = schedule[["job_id", "node", "gpus", "start_s", "end_s"]]
    return set(columns.itertuples(index=False, name=None))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
