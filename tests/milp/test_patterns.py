"""The pattern form: exact in each of its steps, and as small as it is said to be."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from policies.milp import DecisionInput, check_assignments, cost, decide
from policies.milp.formulations import FORMULATIONS
from policies.solving import highs, tree
from policies.solving.model import Builder, SolverOptions
from policies.solving.patterns import patterns
from policies.solving.slots import partitions, pattern_table, with_disposal
from simulator.errors import InputError
from tests.solving.instances import TABLE_II, like_the_paper, tiny

FEW = SolverOptions()


def test_partitions():
    assert list(partitions(4)) == [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    assert [len(list(partitions(n))) for n in range(1, 9)] == [1, 2, 3, 5, 7, 11, 15, 22]


def test_patterns_of_table_two():
    """112 patterns with a leader in the paper's catalogue, 32 configurations."""
    table = pattern_table(tuple(g for _, g, _ in TABLE_II), with_leader=True)
    assert len(table.pattern_type) == 112
    assert table.leading == 32
    gpus = np.append(table.slot_gpus, 0)[table.pattern_slots].sum(axis=1)
    assert gpus.tolist() == [TABLE_II[v][1] for v in table.pattern_type]


def test_too_many_patterns_are_told():
    with pytest.raises(InputError, match="64 GPUs have more than"):
        pattern_table((64,), with_leader=True)


def test_disposal_leaves_gpus_idle_where_they_do_not_help():
    times = np.array([[[np.inf, 100.0, 130.0, 60.0, np.inf]]])
    cost_, used = with_disposal(times * 0.1, times, mu=1.0)
    assert cost_[0, 0, 1:].tolist() == pytest.approx([10.0, 11.0, 6.0, 7.0])
    assert used[0, 0, 1:].tolist() == [1, 1, 3, 3]


def all_patterns(x: DecisionInput) -> float:
    """Optimum of the form without its three steps: explicit idle GPUs, every pattern and slot."""
    b = Builder()
    lead, follow = x.tardiness_cost + x.lease_cost, x.tardiness_cost
    slots = {}
    for v, g in itertools.product(range(len(x.gpus)), range(1, x.times_s.shape[2])):
        for role, c in (("lead", lead), ("follow", follow)):
            slots[v, g, role] = b.add_rows(1, lower=0.0, upper=0.0)[0], c[:, v, g]
    jobs = b.add_rows(x.num_jobs, lower=-np.inf, upper=1.0)
    for row, c in slots.values():
        can = np.flatnonzero(np.isfinite(c))
        columns = b.add_columns(len(can), cost=(c - x.postponed_cost)[can], upper=1.0)
        b.add(jobs[can], columns)
        b.add(np.array(row), columns)
    nodes = b.add_rows(1, lower=x.nodes_in_use, upper=x.nodes_in_use)
    for v, total in enumerate(x.gpus.tolist()):
        for busy in range(1, total + 1):
            for parts in partitions(busy):
                for leader in set(parts):
                    rest = list(parts)
                    rest.remove(leader)
                    p = b.add_columns(1, cost=x.mu * (total - busy), integer=True)
                    b.add(nodes, p)
                    b.add(np.array(slots[v, leader, "lead"][0]), p, -1.0)
                    for g in set(rest):
                        b.add(np.array(slots[v, g, "follow"][0]), p, -float(rest.count(g)))
    model = b.build(offset=float(x.postponed_cost.sum()), constant=x.constant)
    return highs.solve(model, FEW).objective


@pytest.mark.parametrize("seed", range(6))
def test_free_disposal_pruning_and_merging_are_exact(seed):
    nodes, jobs = [(2, 9), (3, 8), (5, 12), (2, 14)][seed % 4]
    x = like_the_paper(seed, nodes, jobs, monotone=seed % 3 == 0)
    if seed % 2:
        x = replace(x, mu=0.01)
    answer = decide(x, solver="highs")
    check_assignments(x, answer.assignments)
    assert answer.objective - x.constant == pytest.approx(all_patterns(x) - x.constant, rel=2e-6)


def test_slots_that_cost_all_jobs_the_same_share_a_row():
    times = np.full((5, 2, 5), np.inf)
    times[:, :, 1:] = np.arange(1, 6)[:, None, None] * 1e4 / np.arange(1, 5)
    times[:, 0, 3:] = np.inf
    x = DecisionInput(times, np.full(5, 1e9), np.full(5, 1e-3), [0.1, 1.0], [2, 4], 2)
    form = patterns(x).decode.__self__
    rows = {(v, g): row for v, g, row in zip(
        form.table.slot_type[6:], form.table.slot_gpus[6:], form.row_of[6:], strict=True
    )}  # fmt: skip
    assert rows[0, 1] == rows[1, 1] >= 0
    assert decide(x).objective == pytest.approx(all_patterns(x))


def test_size_does_not_depend_on_the_nodes_and_fits_the_small_licence():
    small, large = like_the_paper(3, 5, 50), replace(like_the_paper(3, 5, 50), num_nodes=20)
    sizes = [(patterns(x).model.columns, patterns(x).model.rows) for x in (small, large)]
    assert sizes[0] == sizes[1]
    assert max(sizes[0]) <= 2000
    whole = 64 * 50 + 112
    assert sizes[0][0] < whole


@pytest.mark.parametrize("seed", range(6))
def test_tree_search_agrees_with_the_mip_solver(seed, monkeypatch):
    x = like_the_paper(seed, 5, [12, 20, 30][seed % 3], monotone=seed < 3)
    model = patterns(x).model
    ours = highs.solve(model, FEW)
    monkeypatch.setattr(tree, "MAX_NODES", 0)
    theirs = highs.solve(model, FEW)
    assert (ours.status, theirs.status) == ("optimal", "optimal")
    assert ours.objective - x.constant == pytest.approx(theirs.objective - x.constant, rel=2e-6)
    assert ours.bound <= ours.objective + 1e-9 * abs(ours.objective)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_mip_solver_goes_on_where_the_tree_grows_too_large(limit, monkeypatch):
    found = []
    for seed in range(8):
        model = patterns(like_the_paper(seed, 5, 20, monotone=False)).model
        whole = highs.solve(model, FEW)
        monkeypatch.setattr(tree, "MAX_NODES", limit)
        cut = highs.solve(model, FEW)
        monkeypatch.undo()
        assert cut.objective == pytest.approx(whole.objective, rel=1e-8)
        found.append(whole.nodes > limit)
    assert any(found)


@pytest.mark.long
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_model_costs_what_it_decodes_to(formulation):
    for seed in range(8):
        x = tiny(seed)
        form = FORMULATIONS[formulation](x)
        solution = highs.solve(form.model, FEW)
        assignments = form.decode(solution.x)
        check_assignments(x, assignments)
        assert form.evaluate(assignments) == pytest.approx(
            solution.objective, rel=1e-6, abs=1e-6 * max(1.0, abs(solution.objective))
        )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_encoding_is_the_way_back(formulation):
    """Columns that encode the optimum are feasible with the rest left free, at the optimum."""
    for seed in range(6):
        x = tiny(seed, fixed=seed % 3 == 0)
        form = FORMULATIONS[formulation](x)
        best = decide(x, formulation, "highs")
        start = form.encode(best.assignments)
        known = ~np.isnan(start)
        lower = np.where(known, start, form.model.lower)
        upper = np.where(known, start, form.model.upper)
        fixed = replace(form.model, lower=lower, upper=upper, tight=False)
        solution = highs.solve(fixed, FEW)
        assert solution.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-6)


def test_decoding_mends_a_solution_off_a_vertex():
    """Halves of two optimal assignments of equal cost are no assignment; their mean is solved."""
    times = np.full((4, 1, 3), np.inf)
    times[:, 0, 1], times[:, 0, 2] = 100.0, 60.0
    x = DecisionInput(times, np.full(4, -10.0), np.full(4, 0.01), [3.6], [2], 1)
    form = patterns(x)
    solution = highs.solve(form.model, FEW)
    decoder = form.decode.__self__
    mixed = solution.x.copy()
    columns = len(decoder.job)
    for row in np.unique(decoder.row):
        here = np.flatnonzero(decoder.row == row)
        mixed[here] = solution.x[here].sum() / len(here)
    assert not np.allclose(mixed[:columns], np.rint(mixed[:columns]))
    assignments = form.decode(mixed)
    check_assignments(x, assignments)
    assert cost(x, assignments) == pytest.approx(solution.objective)


@pytest.mark.parametrize("solver", ["highs", "gurobi"])
def test_costs_of_very_different_size(solver, request):
    """A job's postponement at 1e4 times all that is decided does not blur the decision."""
    if solver == "gurobi":
        request.getfixturevalue("gurobi_licence")
    for seed in range(4):
        x = like_the_paper(seed, 2, 10, monotone=False)
        times = x.times_s.copy()
        times[0] *= 1e4
        x = replace(x, times_s=times, due_s=np.append(-1e6, x.due_s[1:]))
        answer = decide(x, solver=solver)
        assert x.postponed_cost.max() > 1e4 * (answer.objective - x.constant)
        assert answer.objective - x.constant == pytest.approx(
            all_patterns(x) - x.constant, rel=1e-5
        )
        assert answer.gap < 1e-5
