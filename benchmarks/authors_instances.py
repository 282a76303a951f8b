"""Costs of the hierarchical paper's methods on its authors' own instances.

python -m benchmarks.authors_instances FOLDER OUT.csv [NODES ..]

FOLDER has one folder an instance, as ``from_loading_data`` of the repository elenacirillo/Neighbourhood (commit a870521):
``1-N-J-45000-100-SEED``, or N-SEED. J = 10 N + 1 jobs come with gaps of 45,000 s / N, nearly constant; due dates lie within
U[min, 2 max]. Instances without times are passed over, and so are rows that cannot be read (one list of jobs is there
twice) and runs that OUT.csv has already. Of several times of one configuration the shortest counts. Weights are those of the files, U[0.003, 0.015] $/s, and the same numbers mapped
to the range that the paper prints, U[0.36, 1.08] $/h.
The page of the paper reads the file from its package: ``authors_instances.csv``.
"""

from __future__ import annotations

import csv
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from policies.registry.making import make_policy
from simulator import DecisionPoints, Workload, simulate
from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.workloads.authors import read_instance

RULES = ("fifo", "edf", "ps")
NODES_PER_CONTROLLER = 5
METHODS: dict[str, tuple[str, dict[str, Any], float | None]] = {
    **{rule: (rule, {}, None) for rule in RULES},
    **{f"{rule}-fastest": (rule, {"configuration": "fastest"}, None) for rule in RULES},
    "hierarchical": ("milp", {}, 3600.0),
    "central-2019": ("milp-centralised-2019", {}, 3600.0),
}
"""Policy, options and period of decisions."""
CENTRAL_UP_TO = 40
"""Nodes at which the paper's central model ends."""
WEIGHTS = ("released", "printed")
RELEASED_PER_S, PRINTED_PER_H = (0.003, 0.015), (0.36, 1.08)
FIELDS = (
    "num_nodes",
    "seed",
    "jobs",
    "weights",
    "method",
    "total_cost",
    "leasing_cost",
    "late_jobs",
)


def with_weights(workload: Workload, weights: str) -> Workload:
    """The jobs with the weights of the file, or with these mapped to the range that the paper prints."""
    if weights == "released":
        return workload
    (low, high), (least, most) = RELEASED_PER_S, PRINTED_PER_H
    place = (workload.weight_per_s - low) / (high - low)
    return replace(workload, weight_per_s=(least + place * (most - least)) / SECONDS_PER_HOUR)


def instances(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Nodes, seed and folder of each instance that has times, the small ones first."""
    found = []
    for path in folder.iterdir():
        named = re.fullmatch(r"(?:1-)?(\d+)-(?:\d+-45000-100-)?(\d+)", path.name)
        if named and any(path.glob("SelectJobs_times*.csv")):
            found.append((int(named[1]), int(named[2]), path))
    yield from sorted(found)


def run(path: Path, weights: str, method: str) -> dict[str, Any]:
    """The costs of one method on one instance."""
    policy, options, period_s = METHODS[method]
    read = read_instance(path, duplicates="shortest", skip=True)
    workload, nodes = with_weights(read.workload, weights), read.cluster.num_nodes
    controllers = nodes // NODES_PER_CONTROLLER if method == "hierarchical" else 1
    cluster = replace(read.cluster, num_controllers=controllers)
    result = simulate(
        workload, cluster, make_policy(policy, **options), seed=1, record_schedule=False,
        decision_points=DecisionPoints(period_s=period_s),
    )  # fmt: skip
    return {
        "jobs": len(workload),
        "total_cost": f"{result.total_cost:.9g}",
        "leasing_cost": f"{result.meters.leasing_cost:.9g}",
        "late_jobs": int((result.tardiness_s > 0).sum()),
    }


def main() -> None:
    """Run what is missing, append a row for each."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    wanted = {int(n) for n in sys.argv[3:]}
    done = set()
    if out.exists():
        with out.open(newline="", encoding="utf-8") as lines:
            done = {
                tuple(row[f] for f in FIELDS[:2] + FIELDS[3:5]) for row in csv.DictReader(lines)
            }
    else:
        out.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    for num_nodes, seed, path in instances(folder):
        for weights in WEIGHTS:
            for method in METHODS:
                key = (str(num_nodes), str(seed), weights, method)
                central = method.startswith("central") and num_nodes > CENTRAL_UP_TO
                if key in done or central or (wanted and num_nodes not in wanted):
                    continue
                begin = time.process_time()
                row = dict(zip(("num_nodes", "seed", "weights", "method"), key, strict=True))
                row |= run(path, weights, method)
                with out.open("a", newline="", encoding="utf-8") as lines:
                    csv.DictWriter(lines, FIELDS).writerow(row)
                print(*row.values(), f"{time.process_time() - begin:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
