"""Growth of the time of a decision with the nodes and with the jobs that wait, for each policy of fixed demand.

All GPUs are in use, and so many jobs wait beside those that run. Then jobs come and end, about as many of one as of the other,
as often on many nodes as on few. The goal is an exponent of 0.3 at the most.

python -m benchmarks.bench_decisions [policy ..] [policy:option=value ..]
"""

from __future__ import annotations

import gc
import math
import sys
import time
from contextlib import suppress

import numpy as np

from policies import make_policy, policy_names, requirements_of
from simulator import Cluster, Decision, FixedDuration, NodeType, View, Workload, simulate
from simulator.features.tenants import tenants_of

GPUS = 4
NODES = (100, 1_000, 10_000, 100_000)
WAITING = (300, 10_000)
EVENTS, GAP_S = 200, 50.0
QUOTAS = {"a": 0.2, "b": 0.3, "c": 0.5}
"""Parts of all GPUs; the tenants submit alike, so some borrow and are asked to give back."""
FIRST = 20
"""So many decisions are not measured."""
MOST_S = 2.0
"""CPU time after which no more decisions are measured, s."""


def policies_of_fixed_demand() -> list[str]:
    """Policies that need jobs of fixed demand, or take them, and some with the options that matter here."""
    needs = {"fixed-demand", "list-or-node", "stated-demand"}
    names = [name for name in policy_names() if needs & {*requirements_of(name)}]
    orders = [f"easy-backfill:order={order}" for order in ("sjf", "priority", "multifactor")]
    return [*names, *orders, "conservative-backfill:order=multifactor", "sjf:preemptive=true"]


class Enough(Exception):
    """The run has lasted long enough."""


def jobs_waiting(nodes: int, waiting: int) -> Workload:
    """As many jobs at 0 s as run and wait, then one every `GAP_S`, as jobs end; of 1, 2 or 4 GPUs and three tenants."""
    rng = np.random.default_rng(1)
    first = nodes * GPUS // 2 + waiting
    num = first + EVENTS
    gpus = rng.choice([1, 1, 2, 4], num)
    submit_s = np.concatenate([np.zeros(first), GAP_S * np.arange(1, EVENTS + 1)])
    duration_s = rng.exponential(GAP_S * nodes * GPUS / 2.0, num)
    return Workload(
        [f"j{i}" for i in range(num)],
        submit_s,
        FixedDuration(duration_s, gpus),
        due_s=submit_s + rng.uniform(1, 20, num) * duration_s,
        weight_per_s=rng.uniform(1, 2, num),
        priority=rng.integers(0, 5, num).astype(float),
        vc=rng.choice(["a", "b", "c"], num).tolist(),
    )


def decision_us(policy: str, nodes: int, waiting: int) -> float:
    """Mean CPU time of a decision, microseconds; the first ones, which see all jobs for the first time, are left out."""
    name, *options = policy.split(":")
    given = dict(option.split("=") for option in options)
    decider = make_policy(
        name, **{k: v == "true" if v in ("true", "false") else v for k, v in given.items()}
    )
    spent_s: list[float] = []

    def decide(view: View) -> Decision:
        if view.now_s > EVENTS * GAP_S or sum(spent_s[FIRST:]) > MOST_S:
            raise Enough
        if len(spent_s) == FIRST:
            gc.collect()
            gc.freeze()  # else collections would look at all jobs and nodes now and then
        begin_s = time.process_time()
        decision = decider.decide(view)
        spent_s.append(time.process_time() - begin_s)
        return decision

    cluster = Cluster.of_nodes(NodeType("n", "GPU", GPUS), nodes)
    with suppress(Enough):
        jobs = jobs_waiting(nodes, waiting)
        quota = {name: part * nodes * GPUS for name, part in QUOTAS.items()}
        simulate(jobs, cluster, decide, features=[tenants_of(jobs, quota=quota, borrowing=True)])
    gc.unfreeze()
    return 1e6 * float(np.mean(spent_s[FIRST:]))


def main() -> None:
    """Print microseconds a decision and the exponents of their growth."""
    head = [f"{n:,} nodes" for n in NODES] + [f"{WAITING[1]:,} wait"]
    print(f"{'us a decision':40}" + "".join(f"{text:>15}" for text in head) + "  exponents")
    for name in sys.argv[1:] or policies_of_fixed_demand():
        cases = [(n, WAITING[0]) for n in NODES] + [(NODES[0], WAITING[1])]
        spent = [min(decision_us(name, *case) for _ in range(2)) for case in cases]
        exponents = (
            math.log(spent[len(NODES) - 1] / spent[0]) / math.log(NODES[-1] / NODES[0]),
            math.log(spent[-1] / spent[0]) / math.log(WAITING[1] / WAITING[0]),
        )
        figures = "".join(f"{us:15,.0f}" for us in spent)
        print(
            f"{name:40}{figures}  nodes {exponents[0]:5.2f}, queue {exponents[1]:5.2f}", flush=True
        )


if __name__ == "__main__":
    main()
