"""CPU seconds and decisions a CPU second of the policies of goodput, on a workload in Pollux's format.

    python -m benchmarks.bench_goodput [WORKLOAD TABLES NODES]

Without a workload it takes the one of the examples, on two nodes. Of Pollux's workloads it also runs Sia on
GPUs of three types. The bare SimPy loop comes last. Wanted on 160 jobs and 16 nodes of 4 GPUs: Tiresias
1 CPU s, Optimus 5 CPU s, Sia 50 decisions a CPU s.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import mixed_gpus as mixed
from benchmarks.bench_engine import print_unit
from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, Result, simulate
from simulator.features.reconfiguration import Delays
from simulator.workloads.pollux import PolluxJobs, on_servers, speeds
from simulator.workloads.table import Setting

EXAMPLE = Path(__file__).parents[1] / "examples" / "goodput"
POLICIES = ("tiresias", "optimus", "afs", "sia", "pollux")


def main(
    workload: str = str(EXAMPLE / "workload.csv"), tables: str = str(EXAMPLE), nodes: str = "2"
) -> None:
    """Print a line a policy; tables of step times are read, and interpolated, before the clock starts."""
    cluster = Cluster.of_nodes(NodeType("server", "T4", 4), int(nodes))
    jobs = PolluxJobs(path=workload, tables=tables).make(Setting())
    for policy in ("tiresias", *POLICIES):  # the first one warms up
        run = partial(
            simulate,
            jobs,
            cluster,
            make_policy(policy),
            decision_points=DecisionPoints(round_s=60.0),
            features=[Delays(first_s=30.0, resume_s=30.0, move_s=30.0)],
        )
        print_time(policy, run)
    if {*jobs.model} <= {*speeds()["A100"]}:
        several, typed = mixed.SERVERS.cluster(), on_servers(jobs, mixed.SERVERS)
        print_time("sia on three types", partial(mixed.run, typed, several, "sia", {}))
    print_unit()


def print_time(name: str, run: Callable[[], Result]) -> None:
    """Print CPU seconds of a run, and its decisions by them."""
    begin_s = time.process_time()
    count = len(run().decisions)
    cpu_s = time.process_time() - begin_s
    print(f"{name:26} {cpu_s:8.2f} CPU s, {count / cpu_s:8.0f} decisions a CPU second", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
