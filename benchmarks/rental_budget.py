"""GPUs rented on average at b = 5, of heavy-tailed sizes in bursts, over 400 seeds that the page does not use.

    python -m benchmarks.rental_budget

The page's twenty seeds give an interval that may miss the budget of Lemma 2 by chance (docs/papers.md).
"""

from experiments.papers.rental.runs import JOBS, run_pool
from simulator.statistics import student

SEEDS = range(5001, 5401)

if __name__ == "__main__":
    setting = {
        "policy": "optimal",
        "budget_gpus": 5.0,
        "size": "bounded Pareto",
        "arrivals": "mmpp",
    }
    runs = [run_pool({**setting, "jobs": JOBS["paper"], "seed": seed}) for seed in SEEDS]
    print(student([float(str(run.scalars["paid_gpus"])) for run in runs]))
