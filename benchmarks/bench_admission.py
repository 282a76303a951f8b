"""Cost of the test of admission control, with many promises at once.

python -m benchmarks.bench_admission
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

import simulator.features.admission.control as gate
from policies import make_policy
from simulator import Cluster, NodeType, Workload, simulate
from simulator.features.admission import Admission, Promise, all_on_time
from simulator.model.performance import FixedDuration

GPUS, LOAD, SLACK_S = 32, 1.2, 1e6


def workload(count: int) -> Workload:
    """Jobs of 1 to 4 GPUs at 120 % load, due so late that all are promised it, and hundreds wait."""
    rng = np.random.default_rng(1)
    gpus, duration_s = rng.choice([1, 1, 2, 4], count), rng.lognormal(7.5, 1.0, count)
    submit_s = np.cumsum(rng.exponential((gpus * duration_s).mean() / (GPUS * LOAD), count))
    due_s = submit_s + duration_s + rng.exponential(SLACK_S, count)
    return Workload(
        [f"j{k}" for k in range(count)],
        submit_s,
        FixedDuration(duration_s, gpus),
        due_s=due_s,
    )


def main() -> None:
    """Print CPU seconds of a run, of the tests in it, and the most promises at once."""
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), GPUS // 4)
    for count in (750, 1500, 3000):
        spent, most = [0.0], [0]

        def timed(
            promises: Sequence[Promise],
            total_gpus: float,
            spent: list[float] = spent,
            most: list[int] = most,
        ) -> bool:
            begin = time.process_time()
            answer = all_on_time(promises, total_gpus)
            spent[0] += time.process_time() - begin
            most[0] = max(most[0], len(promises))
            return answer

        gate.all_on_time = timed  # type: ignore[attr-defined]
        begin = time.process_time()
        simulate(
            workload(count),
            cluster,
            make_policy("deadline-first"),
            features=[Admission(rule="reject")],
        )
        total = time.process_time() - begin
        print(
            f"{count} jobs, up to {most[0]} promises: {total:.2f} CPU s, of which tests {spent[0]:.2f}"
        )


if __name__ == "__main__":
    main()
