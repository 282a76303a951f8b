"""First-principle rules with elastic jobs, by hand: which configuration a job gets."""

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, NodeType
from tests.core.jobs import elastic, run
from tests.errors import input_error

SLOW = NodeType("slow", "A", 1, price_per_hour=3600.0)
FAST = NodeType("fast", "B", 2, price_per_hour=36_000.0)
NEVER = np.inf
TIMES = [[[NEVER, 100.0, NEVER], [NEVER, 60.0, 40.0]], [[NEVER, 50.0, NEVER], [NEVER, 50.0, 30.0]]]
"""Of two jobs in s, by type of VM and GPUs: 1 $/s on a slow VM, 10 $/s on a fast one."""


@pytest.mark.parametrize(
    ("configuration", "ends", "leasing"),
    [
        # j0 takes 100 s on the slow VM: on time, and 100 $ for 400. j1, due at 120 s, has 20 s left at 100 s: the fastest.
        ("cheapest", [100.0, 130.0], 100.0 + 300.0),
        # Both take two GPUs of a fast VM.
        ("fastest", [40.0, 70.0], 400.0 + 300.0),
    ],
)
@pytest.mark.parametrize("rule", ["fifo", "edf", "weight-priority"])
def test_the_cheapest_on_time_or_the_fastest(rule, configuration, ends, leasing):
    jobs = elastic(TIMES, due_s=[110.0, 120.0], weight_per_s=[2.0, 1.0])
    policy = make_policy(rule, configuration=configuration)
    result = run(jobs, Cluster.of_vms((SLOW, FAST), 1), policy)
    assert result.completion_s.tolist() == ends
    assert result.meters.leasing_cost == pytest.approx(leasing)


def test_the_cheapest_is_the_default():
    jobs = elastic(TIMES, due_s=[110.0, 120.0], weight_per_s=[2.0, 1.0])
    assert run(jobs, Cluster.of_vms((SLOW, FAST), 1), "fifo").completion_s.tolist() == [
        100.0,
        130.0,
    ]


def test_of_equally_fast_configurations_the_cheaper_one():
    """It takes 40 s on either type, for 400 or 40 $."""
    times = [[[NEVER, 60.0, 40.0], [NEVER, 40.0, NEVER]]]
    jobs = elastic(times, due_s=[10.0], weight_per_s=[1.0])
    result = run(jobs, Cluster.of_vms((FAST, SLOW), 1), make_policy("edf", configuration="fastest"))
    assert result.meters.leasing_cost == pytest.approx(40.0)


def test_another_configuration_is_one_line():
    with input_error("weight-priority: configuration is 'largest', expected"):
        make_policy("weight-priority", configuration="largest")
