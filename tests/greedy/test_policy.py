"""The greedy family in the engine."""

from dataclasses import replace

import numpy as np
import pytest

from policies.greedy import GreedyPolicy, RandomisedGreedyPolicy
from policies.registry.making import make_policy
from simulator import Cluster, Decision, InputError, NodeType, TimeTable, View, Workload, simulate
from simulator.features.failures import Failures, Outages
from simulator.laws import Exponential
from tests.core.jobs import elastic, fixed
from tests.greedy.instances import CATALOG, POWERED, times_of

FAMILY = ["greedy", "randomised-greedy", "local-search", "path-relinking"]
FEW = {name: {"iterations": 20} for name in FAMILY[1:]}


def workload_on(cluster: Cluster, num_jobs: int, seed: int, load: float = 1.0) -> Workload:
    rng = np.random.default_rng(seed)
    times = times_of(cluster, num_jobs, rng)
    fastest = times.min(axis=(1, 2))
    times[~np.isfinite(fastest)] = times[np.isfinite(fastest)][0]
    fastest = times.min(axis=(1, 2))
    submit = np.cumsum(rng.exponential(40.0 / cluster.num_nodes / load, num_jobs))
    return elastic(
        times,
        submit,
        due_s=submit + fastest * rng.uniform(1, 3, num_jobs),
        weight_per_s=rng.uniform(0.001, 0.01, num_jobs),
    )


def powered(num_nodes: int, controllers: int = 1) -> Cluster:
    return Cluster(
        POWERED, num_nodes, tuple(n % 3 for n in range(num_nodes)), controllers,
        energy_price_per_kwh=0.2, pue=1.3,
    )  # fmt: skip


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("fixed", [False, True])
def test_all_jobs_finish_and_every_decision_is_feasible(name, fixed):
    """With three controllers; tests/core/test_invariants.py has one and two."""
    cluster = powered(6, 3) if fixed else Cluster.of_vms(CATALOG, 6, 3)
    workload = workload_on(cluster, 60, 3, load=2.0)
    if fixed:
        # Each controller has nodes of one type alone: all jobs must be able to run there.
        times = workload.performance.times_s.copy()
        for v, t in enumerate(cluster.node_types):
            times[:, v, 1 : int(t.gpus) + 1] = 50.0 / np.arange(1, int(t.gpus) + 1)
        workload = replace(workload, performance=TimeTable(times))
    result = simulate(workload, cluster, make_policy(name, **FEW.get(name, {})), seed=1)
    assert np.isfinite(result.completion_s).all()


def test_a_run_is_a_function_of_its_seed():
    cluster = Cluster.of_vms(CATALOG, 4)
    workload = workload_on(cluster, 40, 5, load=3.0)
    policy = RandomisedGreedyPolicy(iterations=30, candidate_share=1.0)
    runs = [simulate(workload, cluster, policy, seed=s).completion_s.tolist() for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_jobs_that_go_on_keep_their_node():
    cluster = Cluster.of_vms(CATALOG, 3)
    times = np.full((4, 6, 5), np.inf)
    times[:, 5, 1] = 100.0  # a node each
    workload = Workload(["a", "b", "c", "d"], [0.0, 1.0, 2.0, 3.0], TimeTable(times))
    result = simulate(workload, cluster, GreedyPolicy(), seed=0)
    assert result.reconfigurations.sum() == 0
    assert result.completion_s.tolist() == [100.0, 101.0, 102.0, 200.0]


def counting(named: list[int], in_full: bool = False):
    """A greedy that notes how many placements each decision names; ``in_full``: those of all that run."""
    policy = GreedyPolicy()

    def decide(view: View) -> Decision:
        decision = policy.decide(view.showing(in_full=True) if in_full else view)
        assert not (in_full and decision.keep_running)
        named.append(len(decision.placements))
        return decision

    return decide


@pytest.mark.long
@pytest.mark.parametrize(("load", "part"), [(0.5, 0.5), (4.0, 0.9)])
@pytest.mark.parametrize("fixed", [False, True])
def test_changes_alone_are_named_and_lead_to_the_same_schedule(fixed, load, part):
    """Nodes fail, jobs move; at the high load some are preempted, and such a decision names all."""
    cluster = powered(12) if fixed else Cluster.of_vms(CATALOG, 12)
    workload = workload_on(cluster, 150, 4, load)
    cause = Outages.of_each_node(12, Exponential(400.0), Exponential(60.0))
    runs, named = [], []
    for in_full in (False, True):
        count: list[int] = []
        features = [Failures([cause])]
        result = simulate(workload, cluster, counting(count, in_full), seed=1, features=features)
        runs.append(result.schedule_table())
        named.append(sum(count))
    assert runs[0].equals(runs[1])
    assert (runs[0].groupby("job_id").size() > 1).any()
    assert named[0] < part * named[1]


@pytest.mark.parametrize("num_nodes", [10, 100])
def test_a_decision_names_as_many_jobs_on_many_nodes_as_on_few(num_nodes):
    """Jobs of whole nodes, half of these busy: what runs stays, so a decision names the job that came."""
    times = np.full((400, 1, 5), np.inf)
    times[:, 0, 4] = 0.5 * num_nodes
    cluster = Cluster.of_nodes(NodeType("server", "A", 4, 1.0), num_nodes)
    named: list[int] = []
    result = simulate(elastic(times, np.arange(400.0)), cluster, counting(named))
    assert result.reconfigurations.sum() == 0
    assert (sum(named), max(named)) == (400, 1)


def test_options_that_are_wrong_say_so():
    for options, text in [
        ({"objective": "best"}, "objective is 'best'"),
        ({"rho": -1.0}, "rho is -1"),
        ({"cost_of": "gpu"}, "cost_of is 'gpu'"),
        ({"iterations": 0}, "iterations is 0"),
    ]:
        with pytest.raises(InputError, match=text):
            make_policy("randomised-greedy", **options)
    one = Workload(["a"], [0.0], TimeTable(np.ones((1, 1, 2))))
    with pytest.raises(InputError, match="unlimited GPUs"):
        simulate(one, Cluster.rental_pool(), GreedyPolicy())


@pytest.mark.parametrize("name", FAMILY)
def test_a_job_with_a_time_on_a_smaller_size_alone_runs_there(name):
    """The family of a GPU type opens as its largest VM, on which that job has no time."""
    cluster = Cluster.of_vms(CATALOG, 2)
    workload = workload_on(cluster, 8, 2)
    times = workload.performance.times_s.copy()
    times[3] = np.inf
    times[3, 1, 1:3] = 40.0, 30.0  # a2: two GPUs of A, whose largest VM is a4
    workload = replace(workload, performance=TimeTable(times))
    result = simulate(workload, cluster, make_policy(name, **FEW.get(name, {})), seed=1)
    assert np.isfinite(result.completion_s).all()
    schedule = result.schedule_table()
    where = schedule.loc[schedule["job_id"] == "j3", "node_type"]
    assert set(where) == {"a2"}


@pytest.mark.parametrize("name", [*FAMILY, "milp"])
def test_jobs_larger_than_a_node_are_refused_in_one_line(name):
    jobs = fixed([0, 1, 2, 3], [10] * 4, [1, 8, 2, 10])
    cluster = Cluster.of_nodes(NodeType("server", "V", 4, 1.0), 3)
    with pytest.raises(InputError, match=r"job 'j1' asks for 8 GPUs .* 2 of 4 jobs are so"):
        simulate(jobs, cluster, make_policy(name))
