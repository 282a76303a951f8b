"""One hash of all tables for runs of every kind: shows that a change of the engine changes no result.

    python -m benchmarks.same_bytes > before.txt     # on the commit before the change
    python -m benchmarks.same_bytes | diff before.txt -
    python -m benchmarks.same_bytes list_scheduling rental     # some groups of runs only

CPU seconds, which differ from run to run, are left out. Compare on one machine: solvers and
compiled kernels may round in another way on another.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from policies import make_policy
from policies.rental import optimal_widths
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    NodeType,
    Placement,
    Result,
    ServerSpec,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.laws import Exponential

ROUNDS = DecisionPoints.rounds(300.0)
VMS = [
    NodeType("small", "A", 1, 0.5), NodeType("wide", "A", 4, 1.8), NodeType("other", "B", 2, 0.7)
]  # fmt: skip
MIXED = (
    NodeType("v100", "V100", 4, power_w=(0.0, 500.0, 700.0, 850.0, 1000.0)),
    NodeType("t4", "T4", 2, power_w=(0.0, 400.0, 470.0)),
)
PLAIN = NodeType("server", "GPU", 4)
FULL = NodeType("server", "GPU", 4, cpus=12, memory_gb=200)

Run = Callable[[], Result]


def fixed(count: int, seed: int, gap_s: float, demands: bool = False) -> Workload:
    """Jobs of 1 to 8 GPUs, some at the same instant, with due dates and weights."""
    rng = np.random.default_rng(seed)
    gpus = 2 ** rng.integers(0, 4, count)
    submit_s = np.floor(np.cumsum(rng.exponential(gap_s, count)) / 10) * 10
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        FixedDuration(rng.uniform(50, 3000, count), gpus),
        num_gpus=gpus,
        num_cpus=np.where(rng.random(count) < 0.7, gpus * rng.integers(1, 4, count), np.nan)
        if demands
        else None,
        memory_gb=gpus * rng.uniform(1, 50, count) if demands else None,
        due_s=submit_s + rng.uniform(0, 9000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


def elastic(count: int, seed: int, types: int = 3, gap_s: float = 300.0) -> Workload:
    """Jobs with random times, some configurations impossible."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(100, 4000, (count, types, 5))
    times[:, :, 1:][rng.random((count, types, 4)) < 0.2] = math.inf
    times[:, :, 1] = rng.uniform(100, 4000, (count, types))
    submit_s = np.cumsum(rng.exponential(gap_s, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        TimeTable(times),
        due_s=submit_s + rng.uniform(0, 5000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


def last_come_first(view: View) -> Decision:
    """A full decision with preemption, in NumPy's numbers: the newest jobs, one GPU a job."""
    chosen = view.jobs[::-1][: 2 * len(view.nodes)]
    order = view.rng.permutation(len(chosen)) // 2
    return Decision(
        [Placement(j, n, 1.0) for j, n in zip(chosen, view.nodes[order], strict=True)],
        info={"newest": int(chosen[0])},
    )


def one_gpu(count: int) -> Workload:
    rng = np.random.default_rng(5)
    gpus = np.ones(count, dtype=int)
    submit_s = np.cumsum(rng.exponential(200, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        FixedDuration(rng.uniform(50, 3000, count), gpus),
        num_gpus=gpus,
    )


def list_scheduling() -> Iterator[tuple[str, Run]]:
    nodes = Cluster.of_nodes(PLAIN, 12)
    jobs = fixed(600, 1, 140.0)
    for name in ("fifo-strict", "fifo-backfill", "edf", "edf-backfill", "ps"):
        yield name, partial(simulate, jobs, nodes, make_policy(name))
    full = Cluster.of_nodes(FULL, 12, 2)
    stated = fixed(400, 2, 250.0, demands=True)
    for dispatcher in (
        "round-robin", "join-shortest-queue", "least-work-left", "power-of-two", "random"
    ):  # fmt: skip
        policy = make_policy("edf-backfill")
        yield (
            f"two controllers, CPUs, {dispatcher}",
            partial(simulate, stated, full, policy, dispatcher=dispatcher, seed=3),
        )
    mixed = Cluster((PLAIN, NodeType("big", "GPU", 8, price_per_hour=2.0)), 6, (0, 1, 0, 0, 1, 0))
    for name in ("fifo-strict", "fifo-backfill"):
        yield f"mixed nodes, {name}", partial(simulate, jobs, mixed, make_policy(name))
        points = DecisionPoints(on_arrival=False, period_s=500.0)
        yield (
            f"periods, {name}",
            partial(simulate, jobs, nodes, make_policy(name), decision_points=points),
        )
        rounds = DecisionPoints.rounds(300.0, finish_at_tick=True)
        yield (
            f"rounds, {name}",
            partial(simulate, jobs, nodes, make_policy(name), decision_points=rounds),
        )
    for servers, coalesce in ((1, False), (2, True), (3, False)):
        server = ServerSpec(Exponential(90.0), servers, coalesce)
        yield (
            f"server {servers}",
            partial(
                simulate, jobs, nodes, make_policy("fifo-backfill"), server=server, seed=servers
            ),
        )


def chosen_gpus() -> Iterator[tuple[str, Run]]:
    jobs, vms = elastic(60, 4), Cluster.of_vms(VMS, 4, 2)
    few = {"iterations": 10}
    for name, options in (
        ("fifo", {}), ("edf", {}), ("ps", {}), ("greedy", {}), ("randomised-greedy", few),
        ("local-search", few), ("path-relinking", few), ("milp", {"solver": "highs"}),
    ):  # fmt: skip
        policy = make_policy(name, **options)
        yield (
            f"VMs, {name}",
            partial(
                simulate,
                jobs,
                vms,
                policy,
                seed=1,
                decision_points=DecisionPoints(period_s=700.0),
                reconfiguration_s=20.0,
            ),
        )
        server = ServerSpec(Exponential(90.0), 2)
        yield (
            f"VMs, server, {name}",
            partial(simulate, elastic(30, 5), vms, policy, seed=2, server=server),
        )
    fixed_nodes = Cluster(MIXED, 4, (0, 1, 1, 0), energy_price_per_kwh=0.2, pue=1.3)
    two = elastic(60, 6, 2)
    for name in ("fifo", "fifo-shared", "edf-shared", "ps-shared", "greedy", "local-search"):
        policy = make_policy(name, **(few if name == "local-search" else {}))
        yield f"nodes, {name}", partial(simulate, two, fixed_nodes, policy)


def preemption() -> Iterator[tuple[str, Run]]:
    servers = Cluster.of_nodes(FULL, 8)
    jobs = fixed(250, 7, 250.0)
    for name in ("fifo+proportional", "srtf+tune", "las+greedy", "ftf+tune", "drf+proportional"):
        yield name, partial(simulate, jobs, servers, make_policy(name), decision_points=ROUNDS)
    narrow = Cluster.of_nodes(PLAIN, 6, 3)
    yield (
        "last come first",
        partial(simulate, one_gpu(300), narrow, last_come_first, reconfiguration_s=15.0, seed=4),
    )
    yield (
        "last come first, three servers",
        partial(
            simulate, one_gpu(200), narrow, last_come_first, seed=4, dispatcher="power-of-two",
            server=ServerSpec(Exponential(40.0), 3),
        ),
    )  # fmt: skip


def synergy() -> Iterator[tuple[str, Run]]:
    from simulator.statistics import Streams
    from simulator.workloads.synergy import cluster, derived_trace, with_sensitivity

    servers = cluster(2)
    trace = derived_trace(120, Streams(1), jobs_per_hour=3)
    jobs = with_sensitivity(trace, servers, network_penalty=1.3)
    for name in ("fifo+tune", "srtf+tune", "las+greedy", "tetris+tune"):
        yield (
            f"sensitive, {name}",
            partial(simulate, jobs, servers, make_policy(name), decision_points=ROUNDS),
        )


def rental() -> Iterator[tuple[str, Run]]:
    from policies.rental import JobType
    from policies.rental.online import Equi, HeSrpt, Srpt, fixed_width
    from simulator import SpeedupCurve
    from simulator.model.speedup import Amdahl, Power

    rng = np.random.default_rng(8)
    types = (JobType("a", 1.0, 0.5, Amdahl(0.7)), JobType("b", 0.5, 1.0, Power(0.5)))
    count = 400
    kind = rng.integers(0, 2, count)
    submit_s = np.cumsum(rng.exponential(2000.0, count))
    curves = (Amdahl(0.7), Power(0.5))
    jobs = Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        SpeedupCurve(rng.exponential(2000.0, count), kind, curves),
    )
    widths = optimal_widths(types, 3.0).widths_gpus
    pool = Cluster.rental_pool(1.5)
    for name, policy in (
        ("widths", fixed_width(widths[kind])), ("equi", Equi(3.0)), ("srpt", Srpt(3)),
        ("hesrpt", HeSrpt(3.0, 0.5)),
    ):  # fmt: skip
        yield f"pool, {name}", partial(simulate, jobs, pool, policy)


def digest(run: Run) -> str:
    """Hash of all that a run leaves, CPU seconds apart; the message, where it ends in an error."""
    try:
        result = run()
    except InfeasibleDecision as error:
        return f"error: {error}"
    decisions = result.decisions_table()
    decisions = decisions[[c for c in decisions if "cpu_s" not in str(c)]]
    sums = {k: v for k, v in result.summary().items() if "cpu_s" not in k}
    texts = (
        result.jobs_table().to_csv(),
        decisions.to_csv(),
        result.schedule_table().to_csv(),
        repr(sums),
        repr(result.meters),
        result.reconfigurations.tobytes().hex(),
        result.server_response_s.tobytes().hex(),
        result.server_wait_s.tobytes().hex(),
    )
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:24]


def main() -> None:
    """Print one line a run."""
    groups = (list_scheduling, chosen_gpus, preemption, synergy, rental)
    for group in (g for g in groups if g.__name__ in sys.argv[1:] or not sys.argv[1:]):
        for name, run in group():
            print(f"{group.__name__:16} {name:42} {digest(run)}", flush=True)


if __name__ == "__main__":
    main()
