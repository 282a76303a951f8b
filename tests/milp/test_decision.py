"""One decision: the greedy answer where time runs out, the record, and wrong input."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from experiments.commands.theory_commands.decision import _finite
from policies.milp import (
    DecisionInput,
    SolverOptions,
    check_assignments,
    cost,
    decide,
    solve_instance,
)
from policies.milp.formulations import FORMULATIONS
from policies.solving import decision as module
from policies.solving import highs, tree
from policies.solving.greedy_start import greedy_start
from simulator.errors import InputError
from tests.solving.brute_force import least_cost
from tests.solving.instances import like_the_paper, tiny

NO_TIME = SolverOptions(time_limit_s=0.0)


@pytest.mark.parametrize("fixed", [False, True], ids=["any-type", "fixed-nodes"])
def test_the_greedy_start_is_feasible_and_near(fixed):
    ratio = []
    for seed in range(100):
        x = tiny(seed, fixed=fixed)
        answer = greedy_start(x)
        check_assignments(x, answer)
        best, value = least_cost(x), cost(x, answer)
        used = len({a.node for a in answer})
        if used == x.nodes_in_use:
            assert value >= best - 1e-9 * max(1.0, abs(best))
            ratio.append(value / best if best else 1.0)
        else:
            assert fixed  # a job took the only node that another one could run on
    assert np.median(ratio) < 1.05


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_without_time_the_greedy_answer_serves(formulation):
    x = like_the_paper(2, 3, 12)
    answer = decide(x, formulation, "highs", NO_TIME)
    check_assignments(x, answer.assignments)
    assert answer.status in ("no_solution", "feasible")
    assert answer.fallback == "greedy"
    assert list(answer.assignments) == greedy_start(x)
    assert math.isfinite(answer.objective)
    assert answer.gap > 0


@pytest.mark.parametrize("status", ["no_solution", "infeasible", "error"])
def test_a_solver_that_fails_does_not_end_the_simulation(monkeypatch, status):
    solved = module.solve

    def fails(*args, **kwargs):
        found = solved(*args, **kwargs)
        nothing = {"x": None, "objective": math.nan, "bound": -math.inf, "gap": math.inf}
        return replace(found, status=status, **nothing)

    monkeypatch.setattr(module, "solve", fails)
    answer = decide(like_the_paper(2, 3, 12), solver="highs")
    assert (answer.status, answer.fallback) == (status, "greedy")
    assert len({a.node for a in answer.assignments}) == 3


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_start_does_not_change_the_optimum(formulation):
    for seed in range(6):
        x = tiny(seed, fixed=seed % 2 == 0)
        plain = decide(x, formulation, "highs")
        begun = decide(x, formulation, "highs", start=True)
        assert begun.objective == pytest.approx(plain.objective, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    "formulation", [name for name in FORMULATIONS if not name.endswith("literal")]
)
def test_a_start_does_not_change_the_decision_of_a_tight_model(formulation):
    """Among equal optima, too: half of the jobs are alike, so there are many."""
    for seed in range(8):
        x = like_the_paper(seed, 4, 12)
        alike = np.arange(12) // 2 * 2
        x = replace(
            x, times_s=x.times_s[alike], due_s=x.due_s[alike], weight_per_s=x.weight_per_s[alike]
        )
        plain, begun = (decide(x, formulation, "highs", start=start) for start in (False, True))
        assert begun.assignments == plain.assignments
        assert begun.nodes == plain.nodes  # and it takes no linear program more


def test_the_start_of_the_pattern_form_is_a_solution_of_it(monkeypatch):
    """The first linear program of the search is the start, and it is whole."""
    monkeypatch.setattr(tree, "MAX_NODES", 1)
    for seed in range(6):
        x = like_the_paper(seed, 4, 20, monotone=False)
        form = FORMULATIONS["patterns"](x)
        start, options = form.encode(greedy_start(x)), SolverOptions()
        first = tree.search(highs._lp(form.model, options), form.model, options, start)
        assert (first.nodes, first.status) == (1, None)
        assignments = form.decode(first.x)
        check_assignments(x, assignments)
        assert decide(x, solver="highs").objective <= cost(x, assignments)


def test_solve_instance_can_be_written_as_json():
    x = like_the_paper(6, 5, 20)
    names, types = [f"job-{j}" for j in range(20)], [f"type-{v}" for v in range(9)]
    facts = solve_instance(x, solver="highs", job_ids=names, node_types=types)
    again = json.loads(json.dumps(facts))
    assert again["status"] == "optimal"
    assert again["objective"] == pytest.approx(decide(x, solver="highs").objective)
    assert 0 <= again["gap"] <= 1e-6
    assert again["bound"] <= again["objective"]
    wanted = {"objective", "bound", "gap", "status", "columns", "rows", "nonzeros", "build_cpu_s"}
    assert wanted | {"solve_cpu_s", "solver", "placements", "fallback", "nodes"} <= set(again)
    assert len({p["node"] for p in again["placements"]}) == 5
    for place in again["placements"]:
        assert set(place) == {"job_id", "node", "vm_type", "gpus"}
        assert place["job_id"] in names
        assert place["vm_type"] in types


def test_solve_instance_without_a_bound():
    facts = solve_instance(like_the_paper(6, 2, 6), "literal", "highs", NO_TIME)
    assert json.loads(json.dumps(facts))["gap"] is None or facts["gap"] > 0
    assert facts["fallback"] == "greedy"


def small(**changes):
    values = {"times_s": np.array([[[0.0, 100.0, 60.0]]]), "due_s": [10.0], "weight_per_s": [0.1],
              "price_per_hour": [1.0], "gpus": [2], "num_nodes": 1}  # fmt: skip
    return DecisionInput(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times_s": np.array([[[0.0, -1.0, 60.0]]])}, "job 0: times_s is -1.0, expected seconds"),
        ({"times_s": np.array([[[0.0, math.nan, 1.0]]])}, "job 0: times_s is nan"),
        ({"times_s": np.array([100.0])}, "times_s has 1 axes"),
        ({"due_s": [math.nan]}, "job 0: due_s is nan"),
        ({"due_s": [1.0, 2.0]}, r"due_s has shape \(2,\), expected \(1,\)"),
        ({"weight_per_s": [math.inf]}, "job 0: weight_per_s is inf"),
        ({"weight_per_s": [-0.1]}, "job 0: weight_per_s is -0.1"),
        ({"price_per_hour": [math.nan]}, "price_per_hour holds a value that is not a number"),
        ({"price_per_hour": [1.0, 2.0]}, "price_per_hour has shape"),
        ({"gpus": [3]}, r"gpus is \[3\], expected 1 numbers from 1 to 2"),
        ({"num_nodes": 0}, "num_nodes is 0, expected a whole number >= 1"),
        ({"nodes_of_type": [2]}, r"nodes_of_type is \[2\], expected 1 numbers"),
        ({"rho": -1.0}, "rho is -1.0"),
        ({"mu": math.inf}, "mu is inf"),
        ({"horizon_s": math.nan}, "horizon_s is nan"),
    ],
)
def test_wrong_input(changes, message):
    with pytest.raises(InputError, match=message):
        small(**changes)


def test_unknown_formulation():
    with pytest.raises(InputError, match="unknown formulation 'P3', expected one of patterns"):
        decide(small(), "P3")


def test_input_arrays_are_not_changed():
    times = np.array([[[5.0, 100.0, 60.0]]])
    decide(small(times_s=times))
    assert times.tolist() == [[[5.0, 100.0, 60.0]]]


def test_a_solution_without_a_bound_is_still_json():
    answer = {"bound": float("-inf"), "gap": 0.5, "plan": [{"x": float("nan")}, (1, "a")]}
    assert _finite(answer) == {"bound": None, "gap": 0.5, "plan": [{"x": None}, [1, "a"]]}
