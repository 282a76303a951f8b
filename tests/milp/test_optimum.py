"""Every formulation against every decision there is, on tiny instances."""

from typing import Any

import numpy as np
import pytest

from policies.milp import DecisionInput, SolverOptions, check_assignments, decide
from policies.milp.formulations import FORMULATIONS
from tests.solving.brute_force import ALL, FIRST, SECOND, THIRD, decisions, least_cost
from tests.solving.instances import tiny

LEASE = {"patterns": FIRST, "literal": FIRST, "centralised-2019": ALL}
LEASE |= {"centralised-2019-literal": ALL, "second-model": SECOND, "third-model": THIRD}


def check(instance: DecisionInput, formulation: str, solver: str) -> None:
    answer = decide(instance, formulation, solver)
    best = least_cost(instance, LEASE[formulation])
    scale = max(1.0, abs(best))
    solved_by = solver if np.isfinite(instance.times_s).any() else "none"
    assert (answer.solver, answer.status, answer.fallback) == (solved_by, "optimal", "")
    check_assignments(instance, answer.assignments)
    assert answer.objective == pytest.approx(best, rel=1e-7, abs=1e-7 * scale)
    assert answer.bound <= answer.objective
    assert answer.bound == pytest.approx(best, rel=1e-5, abs=1e-5 * scale)
    used = len({a.node for a in answer.assignments})
    assert used == decisions(instance)[0][0]


SEEDS = {"patterns": (30, 200), "centralised-2019": (30, 200), "second-model": (12, 50)}
SEEDS |= {"third-model": (12, 50), "literal": (12, 75), "centralised-2019-literal": (12, 25)}
"""Instances by formulation, in the fast suite and in all."""


def seeds_of(name: str, few: int, many: int) -> list[Any]:
    rest = pytest.param(name, range(few, many), marks=pytest.mark.slow, id=f"{name}-rest")
    return [pytest.param(name, range(few), id=name), rest]


any_nodes = pytest.mark.parametrize("fixed", [False, True], ids=["any-type", "fixed-nodes"])


@pytest.mark.long
@any_nodes
@pytest.mark.parametrize(
    ("formulation", "seeds"), [p for name, few in SEEDS.items() for p in seeds_of(name, *few)]
)
def test_every_formulation_is_optimal(formulation, seeds, fixed):
    for seed in seeds:
        check(tiny(seed, fixed=fixed), formulation, "highs")


@any_nodes
@pytest.mark.parametrize(
    ("formulation", "seeds"), [p for name in FORMULATIONS for p in seeds_of(name, 8, 60)]
)
def test_gurobi_agrees(formulation, seeds, fixed, gurobi_licence):
    for seed in seeds:
        check(tiny(seed, fixed=fixed), formulation, "gurobi")


def test_the_instances_hold_what_they_should():
    """Overdue and free jobs, times that rise with g, fewer jobs than nodes: all of them occur."""
    seen = np.zeros(6)
    for x in (tiny(seed) for seed in range(30)):
        valid = x.times_s[:, :, 1:]
        with np.errstate(invalid="ignore"):
            rises = (np.diff(valid, axis=2) > 0) & np.isfinite(valid[:, :, 1:])
        gaps = any(np.isinf(valid[:, v, :g]).any() for v, g in enumerate(x.gpus))
        jobs = (x.due_s < 0).any(), np.isinf(x.due_s).any(), (x.weight_per_s == 0).any()
        seen += [*jobs, rises.any(), x.num_jobs < x.num_nodes, gaps]
    assert min(seen) >= 3


def two_jobs(**changes) -> DecisionInput:
    """One node; type 0 has one GPU at 3.6, type 1 two at 7.2 (0.001 and 0.002 a second)."""
    values = {
        "times_s": np.array([[[0, 100, 0], [0, 100, 60.0]], [[0, 200, 0], [0, 200, 120.0]]]),
        "due_s": np.array([150.0, -50.0]),
        "weight_per_s": np.array([0.01, 0.02]),
        "price_per_hour": np.array([3.6, 7.2]),
        "gpus": np.array([1, 2]),
        "num_nodes": 1,
        "rho": 2.0,
        "horizon_s": 40.0,
    } | changes
    return DecisionInput(**values)


def test_objective_by_hand():
    """Both on the two-GPU node, one GPU each: late by 100 - 60 and 200 + 50 s.

    The lease runs until job 0 ends. To let job 0 wait would cost 0.01 x 10 (40 + 100 - 60) = 8.
    """
    answer = decide(two_jobs(due_s=np.array([60.0, -50.0]), rho=10.0), solver="highs")
    assert answer.objective == pytest.approx(0.01 * 40 + 0.02 * 250 + 0.002 * 100)
    assert [a[1:] for a in answer.assignments] == [(0, 1, 1), (0, 1, 1)]


def test_a_waiting_job_by_hand():
    """One GPU. Job 1 runs (late by 250 s: 5, lease 0.2), job 0 waits for H and its slowest:

    0.01 x rho x (40 + 100 - 150)^+ = 0; the other way round job 1 waits for
    0.02 (50 + 2 (40 + 200 + 50)) = 12.6.
    """
    one = two_jobs(times_s=two_jobs().times_s[:, :1, :2], gpus=[1], price_per_hour=[3.6])
    answer = decide(one, solver="highs")
    assert answer.objective == pytest.approx(5 + 0.001 * 200)
    assert [a.job for a in answer.assignments] == [1]


def test_gap_leaves_out_the_constant_part():
    """The best case of each job (0 and 0.02 (120 + 50) = 3.4) is no matter of decision.

    Job 1 alone on both GPUs is best; what is left to decide is a lease of 0.002 x 120.
    """
    assert two_jobs().constant == pytest.approx(3.4)
    late = two_jobs(due_s=np.array([150.0, -1e9]))
    for formulation, solver in (("patterns", "highs"), ("literal", "highs")):
        answer = decide(late, formulation, solver, SolverOptions(mip_gap=1e-3))
        assert answer.objective == pytest.approx(0.02 * (1e9 + 120) + 0.24, abs=1e-6)
        assert answer.objective - late.constant == pytest.approx(0.24, abs=1e-6)


def test_fewer_jobs_than_nodes_each_get_a_node():
    x = two_jobs(num_nodes=5)
    answer = decide(x, solver="highs")
    assert len({a.node for a in answer.assignments}) == 2


def test_jobs_that_fit_nowhere_wait():
    times = two_jobs().times_s.copy()
    times[1] = np.inf
    x = two_jobs(times_s=times, num_nodes=3)
    for formulation in FORMULATIONS:
        answer = decide(x, formulation, "highs")
        assert [a.job for a in answer.assignments] == [0]
    times[0] = np.inf
    nobody = two_jobs(times_s=times)
    answer = decide(nobody, solver="highs")
    assert answer.assignments == ()
    assert answer.objective == pytest.approx(nobody.postponed_cost.sum())


def test_no_jobs():
    none = two_jobs(times_s=np.empty((0, 2, 3)), due_s=np.empty(0), weight_per_s=np.empty(0))
    assert decide(none).assignments == ()
    assert decide(none).objective == 0.0
