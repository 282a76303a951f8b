"""Rounds a CPU second of the policies of shares, on a trace in Gavel's format.

    python -m benchmarks.bench_shares [TRACE THROUGHPUTS GPUS]

Without a trace it takes the one of the examples, on 8 GPUs. Prints the best of three runs of each policy,
after one that warms up, and the bare SimPy loop. Wanted on Shockwave's 120 jobs and 32 GPUs: gandiva-fair 1,000
rounds a CPU second, the others 200.
"""

import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_engine import print_unit
from policies import make_policy
from simulator import DecisionPoints, simulate
from simulator.workloads.gavel import TrainingJobs
from simulator.workloads.table import Setting

EXAMPLES = Path(__file__).parents[1] / "examples"
SHOCKWAVE: dict[str, Any] = {
    "limit": 1.0,
    "relative": False,
    "contention": "mean",
    "times": "first",
    "order": "plan",
    "replan_rounds": 8,
    "gap": 1e-4,
}
"""Options of the released program, but for the gap: its own leaves too many plans (docs/schedulers.md)."""
POLICIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gandiva-fair", {}),
    ("max-min-fairness", {}),
    ("max-min-fairness", {"packing": True}),
    ("min-makespan", {}),
    ("max-throughput", {}),
    ("finish-time-fairness", {}),
    ("allox", {}),
    ("min-cost", {}),
    ("hierarchical-fairness", {}),
    ("shockwave", {}),
    ("shockwave", SHOCKWAVE),
)
ROUND_S = 120.0


def rounds_a_cpu_s(
    policy: str, options: dict[str, Any], trace: str, throughputs: str, gpus: int
) -> float:
    """Decisions of a run by its CPU seconds."""
    workload, cluster = TrainingJobs(path=trace, gpus={"v100": gpus}, throughputs=throughputs).make(
        Setting()
    )
    begin_s = time.process_time()
    rules = make_policy(policy, **options)
    result = simulate(
        workload,
        cluster,
        rules,
        decision_points=DecisionPoints(round_s=ROUND_S, round_ends="last-finisher"),
    )
    return len(result.decisions) / (time.process_time() - begin_s)


def main(
    trace: str = str(EXAMPLES / "training_trace.tsv"),
    throughputs: str = str(EXAMPLES / "training_throughputs.json"),
    gpus: str = "8",
) -> None:
    """Print a line a policy."""
    for policy, options in POLICIES:
        runs = [rounds_a_cpu_s(policy, options, trace, throughputs, int(gpus)) for _ in range(4)]
        rules = "released rules" if len(options) > 1 else "".join(options)
        name = f"{policy}, {rules}" if rules else policy
        print(f"{name:26} {max(runs[1:]):8.0f} rounds a CPU second", flush=True)
    print_unit()


if __name__ == "__main__":
    main(*sys.argv[1:])
