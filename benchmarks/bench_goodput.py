"""CPU seconds and decisions a CPU second of the policies of goodput, on a workload in Pollux's format.

    python -m benchmarks.bench_goodput [WORKLOAD TABLES NODES]

Without a workload it takes the one of the examples, on two nodes. Wanted on 160 jobs and 16 nodes of
4 GPUs: Tiresias 1 CPU s, Optimus 5 CPU s, Sia 50 decisions a CPU s.
"""

import sys
import time
from pathlib import Path

from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, simulate
from simulator.features.reconfiguration import Delays
from simulator.workloads.pollux import read_pollux

EXAMPLE = Path(__file__).parents[1] / "examples" / "goodput"
POLICIES = ("tiresias", "optimus", "afs", "sia", "pollux")


def main(
    workload: str = str(EXAMPLE / "workload.csv"), tables: str = str(EXAMPLE), nodes: str = "2"
) -> None:
    """Print a line a policy; tables of step times are read, and interpolated, before the clock starts."""
    cluster = Cluster.of_nodes(NodeType("server", "T4", 4), int(nodes))
    jobs = read_pollux(workload, tables)
    for policy in ("tiresias", *POLICIES):  # the first one warms up
        begin_s = time.process_time()
        result = simulate(
            jobs,
            cluster,
            make_policy(policy),
            decision_points=DecisionPoints.rounds(60.0),
            features=[Delays(30.0, 30.0, 30.0)],
        )
        cpu_s, count = time.process_time() - begin_s, len(result.decisions)
        print(
            f"{policy:10} {cpu_s:8.2f} CPU s, {count / cpu_s:8.0f} decisions a CPU second",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
