"""Growth of the time of a decision with the jobs that wait, policy by policy.

As many jobs wait from the start as is said. Then jobs come and end, about as many of one as of the other.

python -m benchmarks.bench_waiting [policy ..]
"""

from __future__ import annotations

import math
import sys
import time
from contextlib import suppress

import numpy as np

from policies import make_policy
from simulator import Cluster, Decision, FixedDuration, NodeType, View, Workload, simulate

NODES, GPUS = 16, 4
FEW, MANY = 300, 3_000
EVENTS, GAP_S = 200, 50.0
POLICIES = (
    "fifo-backfill", "edf-backfill", "srpt", "capacity", "fair-share", "drf", "fifo-with-notice", "linear-score",
    "random-order", "consolidating", "tiresias", "max-min-fairness",
)  # fmt: skip


class Enough(Exception):
    """The run has lasted long enough."""


def jobs_waiting(count: int) -> Workload:
    """So many jobs at 0 s, then one every `GAP_S`, as jobs end; of 1, 2 or 4 GPUs and three tenants."""
    rng = np.random.default_rng(1)
    num = count + EVENTS
    gpus = rng.choice([1, 1, 2, 4], num)
    submit_s = np.concatenate([np.zeros(count), GAP_S * np.arange(1, EVENTS + 1)])
    duration_s = rng.exponential(GAP_S * NODES * GPUS / 2.0, num)
    return Workload(
        [f"j{i}" for i in range(num)],
        submit_s,
        FixedDuration(duration_s, gpus),
        due_s=submit_s + rng.uniform(1, 20, num) * duration_s,
        vc=rng.choice(["a", "b", "c"], num).tolist(),
    )


def decision_us(name: str, waiting: int) -> float:
    """Mean CPU time of a decision, microseconds; the first, which sees all jobs for the first time, is left out."""
    policy = make_policy(name)
    spent_s: list[float] = []

    def decide(view: View) -> Decision:
        if view.now_s > EVENTS * GAP_S:
            raise Enough
        begin_s = time.process_time()
        decision = policy.decide(view)
        spent_s.append(time.process_time() - begin_s)
        return decision

    with suppress(Enough):
        simulate(jobs_waiting(waiting), Cluster.of_nodes(NodeType("n", "GPU", GPUS), NODES), decide)
    return 1e6 * float(np.mean(spent_s[1:]))


def main() -> None:
    """Print microseconds a decision and the exponent of their growth."""
    for name in sys.argv[1:] or POLICIES:
        few, many = (min(decision_us(name, count) for _ in range(3)) for count in (FEW, MANY))
        exponent = math.log(many / few) / math.log(MANY / FEW)
        print(
            f"{name:18} {FEW:,} waiting: {few:7.0f} us, {MANY:,}: {many:7.0f} us, exponent {exponent:5.2f}"
        )


if __name__ == "__main__":
    main()
