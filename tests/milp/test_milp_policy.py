"""The MILP as a policy in simulations: the paper's, ANDREAS's, and what is recorded."""

import os
from pathlib import Path

import numpy as np
import pytest

from policies.milp import DecisionInput, JobOnNode, MilpCentralised2019, MilpPolicy, decide
from policies.milp.policy import instance_of
from policies.queues.selection import node_price_per_hour
from policies.registry.making import describe, make_policy
from policies.solving.instance import cost
from simulator import Cluster, DecisionPoints, InputError, NodeType, TimeTable, Workload, simulate
from simulator.workloads.authors import read_instance
from tests.solving.brute_force import least_cost
from tests.solving.instances import TABLE_II, like_the_paper

CATALOG = [
    NodeType(f"{kind}x{gpus}", kind, gpus, price_per_hour=price) for kind, gpus, price in TABLE_II
]
POWERED = [
    NodeType("V100x2", "V100", 2, power_w=(60.0, 260.0, 480.0)),
    NodeType("T4", "T4", 1, power_w=(40.0, 110.0)),
]


def workload(jobs: int, seed: int, nodes: int, times=None) -> Workload:
    x = like_the_paper(seed, nodes, jobs, monotone=False)
    r = np.random.default_rng(seed)
    times = x.times_s if times is None else times
    submit = np.cumsum(r.exponential(45_000 / nodes, jobs))
    fastest = times.min(axis=(1, 2))
    due = submit + r.uniform(1, 2, jobs) * fastest
    weight = r.uniform(1e-4, 3e-4, jobs)
    names = [f"j{i}" for i in range(jobs)]
    return Workload(names, submit, TimeTable(times), due_s=due, weight_per_s=weight)


@pytest.mark.parametrize("controllers", [1, 2])
@pytest.mark.parametrize("period_s", [None, 3600.0 * 4])
def test_a_cloud(controllers, period_s):
    cluster = Cluster.of_vms(CATALOG, 4, controllers)
    points = DecisionPoints(period_s=period_s)
    result = simulate(workload(24, 1, 4), cluster, MilpPolicy(), decision_points=points)
    assert np.isfinite(result.completion_s).all()
    facts = list(result.decisions.info.values())
    assert {f["status"] for f in facts} == {"optimal"}
    assert not any(f["fallback"] for f in facts)
    wanted = {"solver", "status", "objective", "bound", "gap", "columns", "rows", "nonzeros"}
    assert wanted | {"build_cpu_s", "solve_cpu_s", "fallback", "nodes"} == set(facts[0])
    assert max(f["gap"] for f in facts) <= 1e-6


def test_a_server_room():
    """ANDREAS: fixed nodes of two types, energy by the leader's GPUs, mu = 0."""
    r = np.random.default_rng(3)
    times = np.full((20, 2, 3), np.inf)
    times[:, 0, 1] = r.uniform(2e3, 2e4, 20)
    times[:, 0, 2] = times[:, 0, 1] * r.uniform(0.5, 0.9, 20)
    times[:, 1, 1] = times[:, 0, 1] * r.uniform(1.5, 3.0, 20)
    cluster = Cluster(POWERED, 4, (0, 1, 0, 1), energy_price_per_kwh=0.17, pue=1.33)
    result = simulate(workload(20, 3, 40, times), cluster, MilpPolicy(mu=0.0))
    assert np.isfinite(result.completion_s).all()
    assert {f["status"] for f in result.decisions.info.values()} == {"optimal"}


def test_nodes_of_other_controllers_are_left_alone():
    """Controllers of a server room own nodes of different types, and different many of each."""
    cluster = Cluster(POWERED, 6, (0, 1, 0, 0, 0, 1), 2, energy_price_per_kwh=0.2)
    times = np.full((16, 2, 3), np.inf)
    times[:, 0, 1:], times[:, 1, 1] = (1e4, 6e3), 2e4
    result = simulate(workload(16, 5, 20, times), cluster, MilpPolicy(mu=0.0))
    assert np.isfinite(result.completion_s).all()


def test_every_decision_of_a_run_is_the_best_there_is():
    policy, seen = MilpPolicy(), []

    def watched(view):
        decision = policy.decide(view)
        if view.num_active:
            x = instance_of(view, 100.0, 1.0, 3600.0)
            place = {int(job): i for i, job in enumerate(view.jobs)}
            done = [JobOnNode(place[p.job], p.node, p.node_type, int(p.gpus))
                    for p in decision.placements]  # fmt: skip
            seen.append((decision.info["objective"], cost(x, done), least_cost(x)))
        return decision

    catalog = [NodeType("a", "A", 1, price_per_hour=1.0), NodeType("b", "B", 2, price_per_hour=1.5)]
    times = np.full((9, 2, 3), np.inf)
    r = np.random.default_rng(8)
    times[:, 0, 1], times[:, 1, 1] = r.uniform(1e4, 5e4, 9), r.uniform(1e4, 5e4, 9)
    times[:, 1, 2] = times[:, 1, 1] * r.uniform(0.5, 1.2, 9)
    simulate(workload(9, 8, 2, times), Cluster.of_vms(catalog, 2), watched)
    assert len(seen) >= 12
    for reported, carried_out, best in seen:
        assert reported == pytest.approx(carried_out, rel=1e-12)
        assert carried_out == pytest.approx(best, rel=1e-7)


def test_a_hard_instance_does_not_end_a_simulation_and_the_rival_of_2019_runs():
    for policy, falls_back in (
        (MilpPolicy(formulation="literal", time_limit_s=1e-9), True),
        (MilpCentralised2019(), False),
    ):
        result = simulate(workload(12, 4, 3), Cluster.of_vms(CATALOG, 3), policy)
        assert np.isfinite(result.completion_s).all()
        assert any(f["fallback"] for f in result.decisions.info.values()) == falls_back


def test_a_rental_pool_is_refused():
    jobs = Workload(["a"], [0.0], TimeTable(np.ones((1, 1, 2))))
    with pytest.raises(InputError, match="'pool' has unlimited GPUs"):
        simulate(jobs, Cluster.rental_pool(), MilpPolicy())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "x"}, "unknown formulation 'x'"),
        ({"solver": "x"}, "unknown solver 'x'"),
        ({"mip_gap": -1.0}, "mip_gap is -1.0"),
        ({"time_limit_s": -2.0}, "time_limit_s is -2.0"),
        ({"rho": float("nan")}, "rho is nan"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        make_policy("milp", **options)


@pytest.mark.long
@pytest.mark.parametrize(
    "folder", ["v2020_1-5-50-45000-100-1000", "v2021_1-5-50-1000-exponential-30000"]
)
def test_the_authors_instances(folder, gurobi_licence):
    """Both solvers agree on decisions of the authors' public instances."""

    facts = os.environ.get("SCHEDLAB_FACTS")
    path = Path(facts or ".") / "gpuaas" / "instances" / folder
    if not facts or not path.is_dir():
        pytest.skip("SCHEDLAB_FACTS does not name a folder with the authors' instances")
    read = read_instance(path)
    for count in range(5, 41, 5):
        jobs = np.arange(count)
        now_s = float(read.workload.submit_s[count - 1])
        x = DecisionInput(
            read.workload.performance.table_s(jobs, read.cluster),
            read.workload.due_s[jobs] - now_s,
            read.workload.weight_per_s[jobs],
            node_price_per_hour(read.cluster),
            [int(t.gpus) for t in read.cluster.node_types],
            5,
        )
        answers = [decide(x, solver=solver) for solver in ("highs", "gurobi")]
        assert [a.status for a in answers] == ["optimal", "optimal"]
        assert answers[1].solver == ("gurobi" if answers[1].columns <= 2000 else "highs")
        first, second = (a.objective - x.constant for a in answers)
        assert first == pytest.approx(second, rel=2e-6)


@pytest.mark.parametrize("name", ["milp-literal", "milp-centralised-2019"])
def test_every_form_has_the_options_of_the_first(name):
    options = {**describe("milp").options, "start": name == "milp-literal"}
    del options["formulation"]
    assert options["mip_gap"] == 1e-6
    assert describe(name).options == options
    assert name.removeprefix("milp-") == make_policy(name, time_limit_s=3.0).formulation
