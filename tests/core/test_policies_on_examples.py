"""Every policy on every example that it fits, at one to eight nodes, with and without failures and checkpoints.

A policy chooses only what the performance model has a time for, whatever is free.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from experiments.config import KeyedError
from experiments.scenario.build import build
from experiments.scenario.options import scenario_of
from experiments.scenario.run import run
from policies import policy_names

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(
    path.stem
    for path in EXAMPLES.glob("*.toml")
    if "\n[workload]" in path.read_text("utf-8") and path.stem != "large_jobs"
)
"""Of jobs that fit on one to eight nodes; tests/features/test_large_jobs.py has the other one."""
SIZE = {
    "shared": "workload.num_nodes",
    "shared_parts": "workload.num_nodes",
    "shares": "workload.gpus.v100",
}
FAILURES = (
    'failures.time_to_failure="exponential:500000"',
    'failures.repair="deterministic:600"',
    'failures.job_time_to_failure="exponential:1000000"',
)
CHECKPOINTS = ("checkpoints.interval_s=300", "checkpoints.cost_s=20", "checkpoints.restart_s=30")
TROUBLES = {"none": (), "failures": FAILURES, "checkpoints": (*FAILURES, *CHECKPOINTS)}
OWN = {
    "hierarchical": ("cluster.num_controllers=1",),
    "optimization_server": ("cluster.num_controllers=1",),
}
CASES = list(itertools.product(NAMES, range(1, 9), TROUBLES))
NUM_JOBS = 8
SLOW = (
    "local-search",
    "milp",
    "milp-centralised-2019",
    "milp-literal",
    "path-relinking",
    "foresight",
    "randomised-greedy",
)
"""Policies that take seconds for a few jobs."""


def fit(
    example: str, nodes: int, trouble: str, policies: Sequence[str], jobs: int = NUM_JOBS
) -> Iterator[str]:
    """The policies that fit an example of few jobs on so many nodes; each has run all of them."""
    settings = [f"{SIZE.get(example, 'cluster.num_nodes')}={nodes}", *OWN.get(example, ())]
    for policy in policies:
        own = (*settings, *TROUBLES[trouble])
        scenario, _ = scenario_of(EXAMPLES / f"{example}.toml", policy=policy, settings=own)
        try:
            workload, cluster = build(scenario)
        except KeyedError as error:
            if error.key != "policy":
                raise
            continue
        workload = workload.head(jobs)
        scenario = scenario.model_copy(update={"window": None})
        result = run(scenario, record_schedule=False, built=(workload, cluster), measure=False)
        assert np.isfinite(result.completion_s).all()
        yield policy


FEW_JOBS = 5
GOODPUT = ("afs", "edf-elastic", "optimus", "pollux", "sia", "tiresias")


@pytest.mark.long
@pytest.mark.parametrize(
    ("nodes", "trouble"),
    [(3, "none"), (6, "failures"), (2, "checkpoints")],
)
def test_jobs_with_tables_of_goodput_run_on_what_there_is(nodes, trouble):
    assert {"optimus", "pollux", "tiresias"} <= set(
        fit("goodput", nodes, trouble, GOODPUT, FEW_JOBS)
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("example", "nodes", "trouble"), [CASES[k] for k in range(20, len(CASES), 193)]
)
def test_some_cases_under_policies_that_are_quick(example, nodes, trouble):
    quick = [name for name in policy_names() if name not in SLOW]
    assert list(fit(example, nodes, trouble, quick, FEW_JOBS))


@pytest.mark.slow
@pytest.mark.parametrize(("example", "nodes", "trouble"), CASES)
def test_every_policy_on_every_example(example, nodes, trouble):
    assert list(fit(example, nodes, trouble, policy_names()))
