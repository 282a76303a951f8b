"""Time of a decision of the MILP, by the nodes of a controller and the load: CPU seconds.

python -m benchmarks.solver_times [NODES ...]

The ten values of a row are the means of the tenths of its decisions, shortest first. They are the table
experiments/studies/cross/solver_times.toml, which the question "how many controllers" takes as measured
times of decisions: a run that measured them itself would not be the same twice.
"""

from __future__ import annotations

import sys

import numpy as np

from experiments.scenario.run import run
from experiments.scenario.schema import Scenario

NODES = (1, 2, 4, 5, 8, 10, 20)
LOADS = (0.5, 2.0)
PARTS = 10


def times_s(nodes: int, load: float) -> list[float]:
    """Mean CPU seconds of each tenth of the decisions of one controller, shortest first."""
    scenario = {
        "workload": {
            "kind": "hierarchical", "num_nodes": nodes, "jobs_per_node": 10,
            "mean_gap_s": 45_000.0 * 0.5 / load, "weights": "released",
        },
        "cluster": {"kind": "vms"},
        "policy": "milp",
        "policy_options": {"solver": "highs"},
        "seed": 1,
        "tables": [],
    }  # fmt: skip
    result = run(Scenario.model_validate(scenario), record_schedule=False)
    spent = np.sort(np.asarray(result.decisions.cpu_s))
    return [float(f"{max(part.mean(), 1e-4):.2g}") for part in np.array_split(spent, PARTS)]


def main() -> None:
    """Print a table of TOML for each number of nodes, a row for each load."""
    for nodes in [int(n) for n in sys.argv[1:]] or NODES:
        print(f"[{nodes}]  # nodes", flush=True)
        for load in LOADS:
            values = ", ".join(f"{t:g}" for t in times_s(nodes, load))
            print(f'"{load:g}" = [{values}]', flush=True)


if __name__ == "__main__":
    main()
