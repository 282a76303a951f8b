"""Rounds a CPU second of the policies of shares, on a trace in Gavel's format.

    python -m benchmarks.bench_shares TRACE THROUGHPUTS [GPUS]

Prints the best of three runs of each policy, after one that warms up.
"""

import sys
import time

from policies import make_policy
from simulator import simulate
from simulator.features.rounds import Rounds
from simulator.workloads.gavel import training_workload

POLICIES = (
    "gandiva-fair",
    "max-min-fairness",
    "min-makespan",
    "max-throughput",
    "finish-time-fairness",
    "allox",
    "shockwave",
)
ROUND_S = 120.0


def rounds_a_cpu_s(policy: str, trace: str, throughputs: str, gpus: int) -> float:
    """Decisions of a run by its CPU seconds."""
    workload, cluster = training_workload(trace, {"v100": gpus}, throughputs)
    begin_s = time.process_time()
    result = simulate(workload, cluster, make_policy(policy), features=[Rounds(ROUND_S)])
    return len(result.decisions) / (time.process_time() - begin_s)


def main(trace: str, throughputs: str, gpus: str = "32") -> None:
    """Print a line a policy."""
    for policy in POLICIES:
        best = max([rounds_a_cpu_s(policy, trace, throughputs, int(gpus)) for _ in range(4)][1:])
        print(f"{policy:22} {best:8.0f} rounds a CPU second")


if __name__ == "__main__":
    main(*sys.argv[1:])
