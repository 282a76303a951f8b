"""The clairvoyant schedule: whole, as cheap as it says, between the bounds and the policies."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments.analysis.bounds import alone, shared
from experiments.analysis.clairvoyant import _Problem, _search, clairvoyant, cost_of
from experiments.analysis.insertion import cost_of_rows
from experiments.analysis.lagrangian import lagrangian
from experiments.commands.compare import bound
from policies import make_policy
from simulator import Cluster, simulate
from tests.analysis.test_bounds import one_type
from tests.analysis.test_lower_bound import SCENARIO
from tests.core.two_types import CATALOG, jobs

POWERED = (
    replace(CATALOG[0], price_per_hour=0.0, power_w=(20.0, 400.0)),
    replace(CATALOG[1], price_per_hour=0.0, power_w=(50.0, 500.0, 800.0, 1000.0)),
)
CLUSTERS = {
    "VMs": Cluster.of_vms(CATALOG, 2),
    "fixed nodes that draw power": Cluster(POWERED, 3, (0, 1, 1), energy_price_per_kwh=1.0),
}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_lies_between_the_bounds_and_foresight(cluster, seed):
    workload = jobs(seed, 10, 20.0, gap_s=300.0)
    plan = clairvoyant(workload, cluster, 150)
    online = simulate(workload, cluster, make_policy("foresight"), seed=1).total_cost
    assert plan.begun_at == pytest.approx(online)  # the checker's accounts are the simulator's
    assert plan.cost == cost_of(plan.stretches, workload, cluster) < plan.begun_at
    most = plan.cost * (1 + 1e-6)
    assert float(alone(workload, cluster).sum()) <= most
    assert shared(workload, cluster, 20) <= most
    assert lagrangian(workload, cluster, 15, 40) <= most


def test_the_search_counts_as_the_checker_does():
    """The compiled accounts, which decide what is kept, against those of the independent checker."""
    workload = jobs(7, 14, 50.0, gap_s=100.0)
    for cluster in CLUSTERS.values():
        problem = _Problem.of(workload, cluster)
        first = clairvoyant(workload, cluster, 1, policy="greedy").stretches
        found = _search(problem, first, 80, np.random.default_rng(2))
        weight, due = workload.weight_per_s, np.minimum(workload.due_s, 1e12)
        machines = problem.fixed, problem.price, problem.idle_per_s
        counted = [cost_of_rows(rows, weight, due, *machines) for rows in (first, found)]
        checked = [cost_of(rows, workload, cluster) for rows in (first, found)]
        assert counted[1] < counted[0]
        before_the_first = problem.idle_per_s * float(workload.submit_s[0])
        assert np.array(counted) - before_the_first == pytest.approx(checked)


def test_it_improves_on_a_poor_start_and_is_the_same_every_time():
    workload, cluster = jobs(5, 12, 20.0, gap_s=300.0), CLUSTERS["VMs"]
    plans = [clairvoyant(workload, cluster, 150, policy="edf", seed=3) for _ in range(2)]
    assert plans[0].cost < 0.8 * plans[0].begun_at
    assert plans[0].stretches.tobytes() == plans[1].stretches.tobytes()


def test_jobs_that_must_queue_cost_what_the_formula_has():
    """Six jobs of 10 s on one node, due at 10 s, 1 a second: 0 + 10 + .. + 50 late, 60 of lease."""
    workload, cluster = one_type([[np.inf, 10.0]] * 6, [10.0] * 6, [1.0] * 6)
    assert clairvoyant(workload, cluster, 30).cost == pytest.approx(210.0)


def test_it_knows_the_job_to_come():
    """A long job and, 1 s later, an urgent one on the only node: it waits, where no one else can.

    With preemption at no cost the order alone matters: 5 s + 10 s of lease, nobody late.
    """
    times = [[np.inf, 10.0], [np.inf, 5.0]]
    jobs_and_node = one_type(times, [16.0, 6.0], [1.0, 100.0], [0.0, 1.0])
    assert clairvoyant(*jobs_and_node, 50).cost == pytest.approx(15.0)


def test_just_in_time_is_a_mixture():
    """10 s on one GPU for 5, 6 s on two for 6; due after 8 s half of the work is done on each."""
    workload, cluster = one_type([[10.0, 6.0]] * 2, [8.0] * 2, [10.0] * 2)
    # Together on one node of two GPUs 10 s, both 2 s late; one after the other 6 s and 6 s. In a
    # node of their own each: 2 x 6. The search may mix, and may not do worse than any of these.
    assert clairvoyant(workload, cluster, 60).cost <= 12.0 + 10.0 * 4.0 + 1e-9
    single, _ = one_type([[10.0, 6.0]], [8.0], [10.0])
    # Alone on a node that is paid whole, the faster way is the cheaper one.
    assert clairvoyant(single, cluster, 20).cost == pytest.approx(6.0)


ROWS = [[0, 0, 0, 1, 0.0, 10.0], [1, 0, 0, 1, 0.0, 10.0]]
"""Two jobs of one GPU, on one node for 10 s."""


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 0, 0, 1, 0.0, 9.0], ROWS[1]], "of its work done"),
        ([[0, 0, 0, 2, 0.0, 10.0], ROWS[1]], "of its work done"),
        ([[0, 0, 0, 1, -1.0, 10.0], ROWS[1]], "of its work done"),
        ([*ROWS, [2, 0, 0, 1, 0.0, 10.0]], "3 GPUs in use"),
        ([ROWS[0], [1, 0, 0, 1, 0.0, 5.0], [1, 1, 0, 1, 2.0, 7.0]], "twice at a time"),
    ],
)  # fmt: skip
def test_the_checker_refuses_what_is_no_schedule(rows, message):
    count = 1 + int(max(row[0] for row in rows))
    workload, cluster = one_type([[10.0, 6.0]] * count, [20.0] * count, [1.0] * count, nodes=2)
    with pytest.raises(ValueError, match=message):
        cost_of(np.array(rows, dtype=float), workload, cluster)


def test_the_checker_counts_the_lease_and_refuses_early_starts():
    workload, cluster = one_type([[10.0, 6.0]] * 2, [20.0] * 2, [1.0] * 2, nodes=2)
    assert cost_of(np.array(ROWS, dtype=float), workload, cluster) == pytest.approx(10.0)
    late = replace(workload, submit_s=np.array([0.0, 5.0]))
    with pytest.raises(ValueError, match="before its submission"):
        cost_of(np.array(ROWS, dtype=float), late, cluster)


def test_the_command_prints_the_bracket(tmp_path, capsys):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    bound(path, None, 20, 40)
    answer = json.loads(capsys.readouterr().out)
    found = answer["clairvoyant"]
    assert answer["best"] <= found["value"] * (1 + 1e-6) <= found["foresight"] * (1 + 2e-6)
    assert found["part_below"] + found["part_above"] == pytest.approx(1.0)
    assert found["steps"] == 40
