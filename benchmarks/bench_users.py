"""Waiting times of users outside the engine: adapting a trace, and the steps of a learning agent.

python -m benchmarks.bench_users
"""

from __future__ import annotations

import time
from pathlib import Path

from simulator import Cluster, NodeType
from simulator.adaptation import Rules, adapt
from simulator.statistics import Streams
from simulator.workloads.philly_like import PhillyLikeJobs
from simulator.workloads.table import Setting

SCENARIO = Path(__file__).parent.parent / "examples" / "learn.toml"


def adapting(count: int) -> float:
    """CPU seconds until fixed demands are elastic, with due dates, weights and a load."""
    jobs = PhillyLikeJobs(num_jobs=count, jobs_per_hour=2).make(Setting(1))
    nodes = Cluster.of_nodes(NodeType("v100", "V100", 8), 16)
    rules = Rules(
        models=[20.0, 70.0, 10.0], speedup="calibrated", due="min-2max", weights="printed", load=0.7
    )
    begin_s = time.process_time()
    adapt(jobs, nodes, rules, Streams(1))
    return time.process_time() - begin_s


def steps_per_s(episodes: int) -> float:
    """Steps of the learning environment a CPU second, the first action that is allowed each time."""
    from experiments.learning.environment import SchedulingEnv

    env = SchedulingEnv(SCENARIO)
    begin_s, count = time.process_time(), 0
    for seed in range(episodes):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
            count += 1
    env.close()
    return count / (time.process_time() - begin_s)


def main() -> None:
    """Print both; the second needs the extra `rl`."""
    print(f"100,000 jobs adapted: {adapting(100_000):.2f} CPU s")
    try:
        print(f"learning environment: {steps_per_s(4):,.0f} steps a CPU s")
    except ImportError as error:
        print(f"learning environment: not installed ({error})")


if __name__ == "__main__":
    main()
