"""Back ends: what they answer, who answers, and how gaps are quoted."""

import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from policies.solving import gurobi as backend
from policies.solving import highs
from policies.solving.model import Builder, Model, SolverOptions, relative_gap
from policies.solving.patterns import patterns
from policies.solving.solvers import solve
from simulator.errors import InputError
from tests.command import done, refused
from tests.solving.instances import like_the_paper


def knapsack(size: int, *, offset: float = 0.0, constant: float = 0.0, seed: int = 0) -> Model:
    """A multiple-choice of weights with a hard capacity: some branching is needed."""
    r = np.random.default_rng(seed)
    b = Builder()
    x = b.add_columns(size, cost=-r.uniform(10, 20, size), upper=1.0, integer=True)
    rows = b.add_rows(3, lower=-np.inf, upper=size / 4)
    b.add(rows[:, None], x, r.uniform(0.5, 1.5, (3, size)))
    return b.build(offset=offset, constant=constant)


def infeasible() -> Model:
    b = Builder()
    x = b.add_columns(2, upper=1.0, integer=True)
    b.add(b.add_rows(1, lower=3.0, upper=np.inf), x)
    return b.build(offset=0.0, constant=0.0)


@pytest.fixture(params=["highs", "gurobi"])
def solver(request):
    if request.param == "gurobi":
        request.getfixturevalue("gurobi_licence")
    return request.param


def test_objective_with_the_constant_and_gap_without(solver):
    plain = solve(knapsack(30), solver)
    moved = solve(knapsack(30, offset=1e9, constant=1e9 - 400), solver)
    assert moved.objective == pytest.approx(plain.objective + 1e9, rel=1e-12)
    loose = SolverOptions(mip_gap=0.02)
    for model in (knapsack(60), knapsack(60, offset=5e8, constant=5e8 - 1000)):
        answer = solve(model, solver, loose)
        variable = answer.objective - model.constant
        assert answer.status == "optimal"
        assert answer.gap == pytest.approx((answer.objective - answer.bound) / abs(variable))
        assert answer.gap <= 0.02


def test_a_large_offset_does_not_stop_the_search_early(solver):
    """At a gap of 1e-3 of 1e9 anything is optimal; of what can be decided, nothing else is."""
    model = knapsack(40, offset=1e9, constant=1e9 - 500, seed=3)
    best = solve(replace(model, offset=0.0, constant=0.0), solver).objective + 1e9
    options = SolverOptions(mip_gap=1e-3)
    assert solve(model, solver, options).objective <= best + 1e-3 * abs(best - model.constant)
    whole = solve(model, solver, replace(options, gap_of_total=True))
    assert whole.status == "optimal"
    gap = relative_gap(whole.objective, whole.bound, model.constant)
    assert whole.gap == pytest.approx(gap, rel=1e-9)


def test_an_early_stop_of_the_whole_objective_is_told_as_it_is(solver):
    gaps = []
    for seed in range(6):
        model = knapsack(40, offset=1e9, constant=1e9 - 500, seed=seed)
        answer = solve(model, solver, SolverOptions(mip_gap=0.05, gap_of_total=True))
        gaps.append(answer.gap)
    assert max(gaps) > 0.05


def test_an_infeasible_model(solver):
    for tight in (False, True):
        answer = solve(replace(infeasible(), tight=tight), solver)
        assert (answer.status, answer.x) == ("infeasible", None)
        assert math.isnan(answer.objective)
        assert math.isinf(answer.gap)


def test_a_linear_program_is_its_own_bound(solver):
    model = knapsack(10)
    answer = solve(replace(model, integer=np.zeros_like(model.integer)), solver)
    assert answer.status == "optimal"
    assert answer.bound == answer.objective
    assert answer.gap == 0.0


@pytest.mark.parametrize("tight", [False, True])
def test_no_time_at_all(tight, solver):
    model = replace(knapsack(400, seed=1), tight=tight)
    answer = solve(model, solver, SolverOptions(time_limit_s=0.0))
    assert answer.status in ("no_solution", "feasible")
    assert (answer.x is None) == (answer.status == "no_solution") == math.isinf(answer.gap)
    assert answer.gap > 0


def test_a_start_is_used_where_there_is_no_time():
    """The tree takes the start's integer columns as its first solution."""
    model = replace(knapsack(30), tight=True)
    best = solve(model, "highs")
    again = solve(model, "highs", start=np.rint(best.x))
    assert again.objective == pytest.approx(best.objective)
    assert again.nodes <= best.nodes + 1


def test_sizes_and_solver_are_recorded(solver):
    model = knapsack(30)
    answer = solve(model, solver)
    assert answer.solver == solver
    assert (answer.columns, answer.rows, answer.nonzeros) == (30, 3, 90)
    assert answer.solve_cpu_s > 0


def test_rows_between_two_bounds(solver):
    b = Builder()
    x = b.add_columns(2, cost=[1.0, -1.0], upper=10.0, integer=True)
    b.add(b.add_rows(1, lower=2.5, upper=4.5), x)
    answer = solve(b.build(offset=0.0, constant=0.0), solver)
    assert answer.x == pytest.approx([0.0, 4.0])


def test_too_large_for_the_small_licence_goes_to_highs(gurobi_licence):
    if backend.has_full_licence():
        pytest.skip("a full licence solves models of any size")
    model = patterns(like_the_paper(0, 20, 200)).model
    assert model.columns > backend.SIZE_LIMIT
    answer = solve(model, "gurobi")
    assert (answer.solver, answer.status) == ("highs", "optimal")


def test_auto_does_not_count_the_small_licence(gurobi_licence):
    expected = "gurobi" if backend.has_full_licence() else "highs"
    assert solve(knapsack(5), "auto").solver == expected
    assert backend.has_full_licence.cache_info().currsize == 1


@pytest.fixture
def forgotten():
    """No environment of Gurobi is kept, before and after."""
    backend._environment.cache_clear()
    backend.has_full_licence.cache_clear()
    yield
    backend._environment.cache_clear()
    backend.has_full_licence.cache_clear()


def test_gurobi_missing(monkeypatch, forgotten):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    with pytest.raises(InputError, match=r"^solver 'gurobi': gurobipy is not installed.*$"):
        solve(knapsack(5), "gurobi")
    assert solve(knapsack(5), "auto").solver == "highs"


@pytest.mark.long
def test_a_command_without_gurobi(monkeypatch, forgotten, tmp_path):
    """HiGHS solves what an example asks for; gurobi by name is refused."""
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    few = (
        "run",
        "examples/hierarchical.toml",
        "--set",
        "workload.num_nodes=4",
        "--set",
        "workload.jobs_per_node=2",
    )
    done(*few, "--out", tmp_path / "highs")
    assert set(pd.read_csv(tmp_path / "highs" / "decisions.csv")["solver"]) == {"highs"}
    told = refused(*few, "--set", "policy_options.solver=gurobi", "--out", tmp_path / "gurobi")
    assert "solver 'gurobi': gurobipy is not installed, expected it or solver 'highs'" in told
    assert not (tmp_path / "gurobi").exists()


def test_no_licence(monkeypatch, tmp_path, gurobi_licence, forgotten):
    licence = tmp_path / "gurobi.lic"
    licence.write_text("TYPE=NODE\nVERSION=13\nHOSTID=0\nKEY=00000000\n")
    monkeypatch.setenv("GRB_LICENSE_FILE", str(licence))
    with pytest.raises(InputError, match=r"^solver 'gurobi': "):
        solve(knapsack(5), "gurobi")
    assert solve(knapsack(5), "auto").solver == "highs"


def test_unknown_solver():
    with pytest.raises(InputError, match="unknown solver 'cplex', expected one of auto, highs"):
        solve(knapsack(5), "cplex")


@pytest.mark.parametrize(
    ("option", "value"), [("mip_gap", -1.0), ("mip_gap", math.nan), ("time_limit_s", -1.0), ("seed", -1)]
)  # fmt: skip
def test_options_out_of_range(option, value):
    with pytest.raises(InputError, match=f"milp: {option} is {value}"):
        SolverOptions(**{option: value})


def test_two_solves_of_one_process_are_the_same():
    model = patterns(like_the_paper(5, 5, 25, monotone=False)).model
    first, second = highs.solve(model, SolverOptions()), highs.solve(model, SolverOptions())
    assert np.array_equal(first.x, second.x)
    assert (first.nodes, first.bound) == (second.nodes, second.bound)


def test_relative_gap():
    assert relative_gap(110.0, 108.0, 100.0) == pytest.approx(0.2)
    assert relative_gap(110.0, 110.0 + 1e-9, 100.0) == 0.0
    assert relative_gap(100.0, -math.inf, 0.0) == math.inf
    assert relative_gap(math.inf, 0.0, 0.0) == math.inf
