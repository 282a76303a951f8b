"""Cost of each optional part per job, over the same run without it; off, none of them is there at all.

python -m benchmarks.bench_parts
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench_engine import cpu_s, workload
from policies import make_policy
from simulator import Cluster, NodeType, Workload, simulate
from simulator.features.colocation import colocation_of
from simulator.features.failures import Checkpoints, Failures
from simulator.features.network import network_of
from simulator.features.tenants import tenants_of

JOBS, GPUS = 20_000, 128
REPETITIONS = 3


def parts() -> list[tuple[str, dict[str, Any]]]:
    """Name and arguments of a run with one part switched on."""
    return [
        ("failures, none of which comes", {"failures": Failures([], Checkpoints(interval_s=600.0, cost_s=10.0))}),
        ("tenants", {"tenants": tenants_of(jobs())}),
        ("tenants, quotas of half the GPUs each",
         {"tenants": tenants_of(jobs(), quota={"a": 64.0, "b": 64.0, "c": 64.0})}),
        ("racks", {"network": network_of(jobs(), GPUS // 4, 8, 1.2, 1.5)}),
        ("shared GPUs, whole ones", {"neighbours": colocation_of(jobs())}),
    ]  # fmt: skip


def jobs() -> Workload:
    """Jobs of three tenants."""
    made = workload(JOBS)
    names = np.random.default_rng(1).choice(["a", "b", "c"], JOBS).tolist()
    return Workload(made.job_id, made.submit_s, made.performance, vc=names)


def main() -> None:
    """Print CPU microseconds a job, and the ratio to the plain run."""
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), GPUS // 4)
    same, policy = jobs(), make_policy("fifo-strict")
    plain = cpu_s(partial(simulate, same, cluster, policy), REPETITIONS)
    print(f"nothing switched on: {1e6 * plain / JOBS:.1f} us a job")
    for name, arguments in parts():
        spent = cpu_s(partial(simulate, same, cluster, policy, **arguments), REPETITIONS)
        print(f"{name}: {1e6 * spent / JOBS:.1f} us a job, {spent / plain:.2f} times")


if __name__ == "__main__":
    main()
