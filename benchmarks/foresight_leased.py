"""foresight on leased servers, over the best of six rivals, on jobs that the comparison does not have.

python -m benchmarks.foresight_leased OUT.csv

Workloads, machines and policies are those of ``schedlab reproduce cross`` at quick scale and load 0.8; the
seeds are others. docs/foresight.md has the geometric means of ``foresight`` over the least of the others in a row.
"""

from __future__ import annotations

import sys

import pandas as pd

from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from experiments.studies.cross.comparison import METHODS, WORKLOADS, scenario_of

SEEDS = range(5101, 5107)
POLICIES = (
    "EDF, a job a node",
    "greedy",
    "randomised greedy",
    "local search",
    "path relinking",
    "MILP, central",
    "foresight",
)


def main() -> None:
    """Write a row an instance: the total cost of each policy."""
    rows = []
    for workload in WORKLOADS:
        print(workload, file=sys.stderr)
        for seed in SEEDS:
            row: dict[str, object] = {"workload": workload, "seed": seed}
            for method in METHODS:
                raw = scenario_of(workload, method, 0.8, "quick")
                if method.label in POLICIES and raw is not None:
                    scenario = Scenario.model_validate({**raw, "seed": seed, "tables": []})
                    row[method.label] = run(scenario, record_schedule=False).total_cost
            rows.append(row)
    pd.DataFrame(rows).dropna().to_csv(sys.argv[1], index=False, float_format="%.9g")


if __name__ == "__main__":
    main()
