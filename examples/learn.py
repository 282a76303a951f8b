"""Learn to order a queue: the cross-entropy method over the weights of a linear score.

    python examples/learn.py

needs nothing but schedlab. Each generation draws weights, keeps the best fifth by the mean completion
time on a few seeds, and narrows down. What it finds is a policy by its name:

    schedlab run examples/learn.toml --policy linear-score --set policy_options.weights=..
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from experiments.scenario.build import build
from experiments.scenario.schema import read_scenario
from policies import make_policy
from policies.wrappers.learned import FEATURES, LinearScore
from simulator import simulate


def mean_jct_s(policy: object, seeds: range, path: Path) -> float:
    """Mean completion time over the jobs of several seeds."""
    scenario = read_scenario(path)
    times = []
    for seed in seeds:
        jobs, cluster = build(scenario.model_copy(update={"seed": seed}))
        times.append(simulate(jobs, cluster, policy, record_schedule=False).jct_s.mean())
    return float(np.mean(times))


def learn(path: Path, generations: int = 8, size: int = 20, seed: int = 0) -> tuple[float, ...]:
    """Weights that do well on the seeds 1 to 3."""
    rng = np.random.default_rng(seed)
    middle, spread = np.zeros(len(FEATURES)), np.ones(len(FEATURES))
    for generation in range(generations):
        drawn = middle + spread * rng.standard_normal((size, len(FEATURES)))
        cost = [mean_jct_s(LinearScore(tuple(w)), range(1, 4), path) for w in drawn]
        best = drawn[np.argsort(cost)[: size // 5]]
        middle, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        print(f"generation {generation + 1}: best mean completion time {min(cost) / 3600:.3f} h")
    return tuple(float(w) for w in middle)


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("learn.toml")
    found = learn(file)
    unseen = range(101, 111)
    for name, policy in (
        ("fifo-backfill", make_policy("fifo-backfill")),
        ("learned", LinearScore(found)),
    ):
        print(
            f"{name}: {mean_jct_s(policy, unseen, file) / 3600:.3f} h on ten seeds not seen before"
        )
    print("-o weights=" + ",".join(f"{w:.3f}" for w in found))
