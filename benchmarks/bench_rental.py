"""CPU seconds of the optimal widths, of the rental policies in the engine, and of the formulas."""

from __future__ import annotations

import time
from collections.abc import Callable

from experiments.papers.rental.runs import FIGURE_1, SIZES, figure_1_jobs, make_policy
from policies.rental import JobType, optimal_widths, whole_gpu_widths
from simulator import Cluster, DecisionPoints, simulate
from simulator.laws import LogNormal
from simulator.model.speedup import Amdahl, Power
from simulator.statistics import Streams, pooled_quantile, student
from simulator.theory import mg1_srpt_response_s, mg1_wait_quantile_s, size_servers

JOBS = 10_000


def measure(what: str, call: Callable[[], object], per: int = 1, unit: str = "call") -> None:
    call()
    begin, calls = time.process_time(), 0
    while time.process_time() - begin < 0.5:
        call()
        calls += 1
    cpu_s = (time.process_time() - begin) / calls
    print(f"{what:<56} {1e6 * cpu_s / per:12.1f} us a {unit}")


def main() -> None:
    rng = Streams(1).generator("types")
    many = tuple(
        JobType(str(i), float(rate), 1.0, Amdahl(float(x)) if i % 2 else Power(float(x)))
        for i, (rate, x) in enumerate(rng.uniform(0.1, 0.9, (1000, 2)))
    )
    load = sum(t.load for t in many)
    measure("optimal widths, 2 types", lambda: optimal_widths(FIGURE_1, 5.0))
    measure("optimal widths, 1000 types", lambda: optimal_widths(many, 5 * load))
    measure("whole GPUs, 2 types", lambda: whole_gpu_widths(FIGURE_1, 5.0))
    for name in ("optimal", "equi", "srpt", "hesrpt", "autoscaler"):
        measure(f"engine, {name}, b = 5", lambda name=name: run(name), JOBS, "job")  # type: ignore[misc]
    law = LogNormal(40.0, 2.0)
    measure("M/G/1 wait, 0.99-quantile, lognormal", lambda: mg1_wait_quantile_s(0.02, law, 0.99))
    measure("M/G/1 SRPT, mean response, lognormal", lambda: mg1_srpt_response_s(0.02, law))
    measure("servers for 2000 controllers", lambda: size_servers(2000, 1 / 4500, law, 50.0))
    values = rng.exponential(size=1000)
    runs = list(values.reshape(20, 50))
    measure("Student interval of 1000", lambda: student(values))
    measure("pooled quantile of 20 runs of 50", lambda: pooled_quantile(runs, 0.99))


def run(name: str) -> None:
    workload = figure_1_jobs(JOBS, Streams(1), SIZES["exponential"], "poisson")
    period_s = 60.0 if name == "autoscaler" else None
    simulate(
        workload,
        Cluster.rental_pool(),
        make_policy(name, 5.0, SIZES["exponential"]),
        decision_points=DecisionPoints(period_s=period_s),
        record_schedule=False,
    )


if __name__ == "__main__":
    main()
