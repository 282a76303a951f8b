"""Which runs a comparison makes, what it leaves out, and what it notes: with runs that are made by hand."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from experiments.analysis import pooled
from experiments.comparison import comparing
from experiments.comparison.comparing import (
    _bounds,
    _check_metrics,
    _compared,
    _counts_all,
    _currency,
    _excluded,
    _expect_possible,
    _made,
    _metrics,
    _needed,
    _notes,
    compare,
    compare_scenario,
    of_runs,
    on_same_draws,
    said_of_jobs,
)
from experiments.comparison.entrants import GIVEN, Entrant, Excluded, Field
from experiments.comparison.metrics import DEFAULTS, may_have
from experiments.comparison.plan import MOST, Cell, Plan
from experiments.comparison.runs import PlannedRun, Ran
from experiments.scenario import build as building
from simulator.features.admission.control import Admission
from tests.comparison.made import runs_of
from tests.errors import input_error

JCT = "mean_jct_s"


def scenario(seed: int = 3, **more) -> SimpleNamespace:
    """What a comparison looks at of a scenario; notes of its policies may be numbers of any name."""
    made = SimpleNamespace(seed=seed, window=None, features={}, **{"decision_facts": True, **more})
    made.model_copy = lambda update: scenario(**{**vars_of(made), **update})
    return made


def vars_of(made: SimpleNamespace) -> dict:
    return {k: v for k, v in vars(made).items() if k not in ("model_copy", "window", "features")}


def cell(
    *policies: str, of_file: bool = False, excluded=(), notes=(), seed: int = 3, **labels
) -> Cell:
    own = scenario(seed)
    entrants = tuple(Entrant(name, GIVEN, own) for name in policies)
    return Cell(labels, own, Field(entrants, tuple(excluded), tuple(notes)), of_file, 7)


class Made:
    """Runs whose numbers a function of policy and seed gives; a text is an error."""

    source = "jobs.csv"

    def __init__(self, found=lambda policy, seed: {JCT: float(seed)}, is_random: bool = True):
        self.found, self.is_random, self.asked, self.closed = found, is_random, [], 0

    def all_of(self, orders):
        self.asked.append([(o.entrant.policy, o.seed, o.draw) for o in orders])
        given = [(o, self.found(o.entrant.policy, o.seed)) for o in orders]
        return [Ran({}, g) if isinstance(g, str) else Ran(g, is_random=self.is_random) for _, g in given]  # fmt: skip

    def close(self):
        self.closed += 1

    @property
    def flat(self):
        return [one for asked in self.asked for one in asked]


def kept(made) -> list[tuple[str, int]]:
    return [(order.entrant.policy, order.seed) for order, _ in made]


# -- which runs ---------------------------------------------------------------------------------


def test_of_a_random_scenario_ten_seeds():
    """First one of each policy, then the others seed by seed, so that a stop leaves whole pairs."""
    runs = Made()
    made, excluded = _made([cell("a", "b")], Plan(), runs)
    assert runs.asked[0] == []
    assert runs.asked[1] == [("a", 3, 0), ("b", 3, 0)]
    assert runs.asked[2] == [(name, seed, 0) for seed in range(4, 13) for name in "ab"]
    assert kept(made) == [(name, seed) for seed in range(3, 13) for name in "ab"]
    assert excluded == []


@pytest.mark.parametrize(("draws", "seeds"), [(1, [3]), (2, [3, 4]), (12, list(range(3, 15)))])
def test_so_many_draws(draws, seeds):
    assert kept(_made([cell("a")], Plan(draws=draws), Made())[0]) == [("a", seed) for seed in seeds]


def test_seeds_that_a_plan_names():
    made, _ = _made([cell("a")], Plan(draws=3, seeds=(11, 5, 7)), Made())
    assert kept(made) == [("a", 11), ("a", 5), ("a", 7)]


def test_one_run_where_nothing_is_random():
    runs = Made(is_random=False)
    assert kept(_made([cell("a", "b")], Plan(), runs)[0]) == [("a", 3), ("b", 3)]
    # Of two policies one draws: all go on, so that differences are of the same runs.
    runs = Made()
    runs.all_of = lambda orders, own=runs.all_of: [
        Ran(ran.numbers, is_random=order.entrant.policy == "b")
        for order, ran in zip(orders, own(orders), strict=True)
    ]
    assert len(_made([cell("a", "b")], Plan(draws=4), runs)[0]) == 8


@pytest.mark.parametrize(("draws", "count"), [(None, 40), (39, 39), (50, 50), (1, 0)])
def test_of_a_file_itself_and_traces_drawn_from_it(monkeypatch, draws, count):
    """Each trace is the same for all policies; whether a run draws anything, or not."""
    drawn = []
    monkeypatch.setattr(comparing, "drawing", lambda own, block: drawn.append(block) or own)
    runs = Made(is_random=False)
    made, _ = _made([cell("a", "b", of_file=True, seed=5)], Plan(draws=draws), runs)
    assert runs.asked[1] == [("a", 5, 0), ("b", 5, 0)]
    assert runs.asked[2] == [(name, 5 + draw - 1, draw) for draw in range(1, count + 1) for name in "ab"]  # fmt: skip
    assert len(made) == 2 + 2 * count
    assert drawn == ([7, 7] if count else [])


def test_settings_stand_for_themselves():
    """One of a file, one of seeds of which nothing is random, one of random seeds."""
    cells = [cell("a", nodes=1), cell("a", nodes=2)]
    runs = Made()
    runs.all_of = lambda orders, own=runs.all_of: [
        Ran(ran.numbers, is_random=order.setting == {"nodes": 2})
        for order, ran in zip(orders, own(orders), strict=True)
    ]
    made, _ = _made(cells, Plan(draws=3), runs)
    assert [(dict(order.setting), order.seed) for order, _ in made] == [
        ({"nodes": 1}, 3), ({"nodes": 2}, 3), ({"nodes": 2}, 4), ({"nodes": 2}, 5),
    ]  # fmt: skip


def test_who_fails_at_once_makes_no_other_run():
    runs = Made(lambda policy, seed: "not today" if policy == "b" else {JCT: 1.0})
    made, excluded = _made([cell("a", "b", "c", nodes=4)], Plan(draws=3), runs)
    assert kept(made) == [(name, seed) for seed in (3, 4, 5) for name in "ac"]
    assert [one for one in runs.flat if one[0] == "b"] == [("b", 3, 0)]
    assert excluded == [({"nodes": 4}, Excluded("b", "not today"))]


def test_who_fails_later_is_left_out_of_its_setting_with_the_seed():
    cells = [cell("a", "b", nodes=4), cell("a", "b", nodes=8, seed=30)]
    runs = Made(
        lambda policy, seed: "no room" if (policy, seed) in (("b", 4), ("b", 5)) else {JCT: 1.0}
    )
    made, excluded = _made(cells, Plan(draws=3), runs)
    assert excluded == [
        ({"nodes": 4}, Excluded("b", "seed 4: no room")), ({"nodes": 4}, Excluded("b", "seed 5: no room")),
    ]  # fmt: skip
    assert kept(made) == [
        ("a", 3), ("a", 30), ("b", 30), ("a", 4), ("a", 5), ("a", 31), ("b", 31), ("a", 32), ("b", 32),
    ]  # fmt: skip


def test_the_same_failure_is_told_once():
    """Two traces of one seed, as a file's draws have them, would say the same twice."""
    runs = Made(lambda policy, seed: "no room" if seed == 4 else {JCT: 1.0})
    _, excluded = _made([cell("a")], Plan(draws=3, seeds=(3, 4, 4)), runs)
    assert excluded == [({}, Excluded("a", "seed 4: no room"))]


def test_who_cannot_run_stands_first():
    runs = Made(lambda policy, seed: "fails")
    own = cell("a", excluded=[Excluded("pool", "no pool")], nodes=4)
    made, excluded = _made([own], Plan(), runs)
    assert made == []
    assert excluded == [({"nodes": 4}, Excluded("pool", "no pool")), ({"nodes": 4}, Excluded("a", "fails"))]  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (Plan(metrics=["mean_jct"]), "--metric: got 'mean_jct', did you mean 'mean_jct_s'?"),
        (Plan(metrics=[JCT], columns=["jobs", "mean_columns"]), "--columns: got 'mean_columns', "),
        (Plan(metrics=["zzz"], option="--target"), "--target: got 'zzz', expected one of the "),
    ],
)
def test_a_name_that_no_run_can_have_costs_none(plan, line):
    own = scenario(decision_facts=False)
    runs = Made()
    one = Cell({}, own, Field((Entrant("a", GIVEN, own),), (), ()), False, 7)
    with input_error(line):
        _made([one], plan, runs)
    assert runs.asked == []
    possible = Plan(metrics=[JCT], columns=["jobs", "mean_total_wait_2_to_4_gpus_s"])
    _expect_possible(possible, [one])
    # A package's feature may add any number.
    foreign = scenario(decision_facts=False)
    foreign.features = {"mine": SimpleNamespace()}
    assert may_have(foreign, "mean_columns")
    foreign.features = {"failures": Admission.model_construct()}
    assert not may_have(foreign, "mean_columns")


def test_a_metric_that_no_list_names_costs_one_run_of_each_setting():
    runs = Made(lambda policy, seed: {JCT: 1.0, "own": 2.0})
    cells = [cell("a", "b", nodes=1), cell("a", "b", nodes=2)]
    made, _ = _made(cells, Plan(metrics=["own"], draws=1), runs)
    assert runs.asked == [[("b", 3, 0)] * 2, [("a", 3, 0)] * 2, []]
    assert len(made) == 4
    runs = Made()
    with input_error("--metric: got 'own', expected"):
        _made(cells, Plan(metrics=["own"]), runs)
    assert len(runs.flat) == 2
    runs = Made(lambda policy, seed: {"makespan_s": 1.0})
    with input_error(f"--metric: got {JCT!r}, did you mean"):
        _made(cells, Plan(metrics=[JCT]), runs)
    assert len(runs.flat) == 4


def test_a_metric_that_is_in_no_run():
    many = {f"x{k}": 0.0 for k in range(50)}
    one, two = cell("a", "b", nodes=1), cell("a", nodes=2)
    made = [
        (PlannedRun(one.field.entrants[0], 3, one.labels), Ran({JCT: 1.0, **many})),
        (PlannedRun(one.field.entrants[1], 3, one.labels), Ran({"rounds": 1.0})),
        (PlannedRun(two.field.entrants[0], 3, two.labels), Ran({JCT: 1.0, **many})),
    ]
    _check_metrics(Plan(metrics=[JCT, "rounds"]), [one], made)
    with input_error("--target: got 'mean_jct', did you mean 'mean_jct_s'"):
        _check_metrics(Plan(metrics=["mean_jct"], option="--target"), [one], made)
    with input_error("--metric: got 'rounds', expected one of the 51 in summary.json of 2"):
        _check_metrics(Plan(metrics=["rounds"]), [one, two], made)
    with input_error("--metric: got 'rounds'") as raised:
        _check_metrics(Plan(metrics=["rounds"]), [two], made)
    assert str(raised.value).rstrip().endswith("in summary.json")
    with input_error("--columns: got 'x99', did you mean"):
        _check_metrics(Plan(metrics=[JCT], columns=["x1", "x99"]), [one], made)
    # Of a setting whose runs all failed nothing is known.
    _check_metrics(Plan(metrics=["rounds"]), [one, cell("a", nodes=3)], made)


# -- precision ----------------------------------------------------------------------------------


def in_turn(low: float, high: float):
    return lambda policy, seed: {JCT: low if seed % 2 else high}


@pytest.mark.parametrize(
    ("plan", "count"),
    [
        # Ten numbers 9 and 11 in turn: 10 +- 0.754. 0.06 / 1.06 is 5.66 %,
        # and (7.54 / 5.66)^2 times 10 are 17.7; eighteen: 10 +- 0.512.
        (Plan(precision=0.2), 10),
        (Plan(precision=0.06), 18),
        (Plan(precision=0.06, draws=15), 15),
        (Plan(precision=0.06, draws=4), 4),
        (Plan(precision=0.06, metrics=["makespan_s"]), 10),
        (Plan(precision=0.06, metrics=[JCT, "makespan_s"]), 18),
    ],
)
def test_seeds_until_the_interval_is_narrow(plan, count):
    runs = Made(lambda policy, seed: {"makespan_s": 5.0, **in_turn(9, 11)(policy, seed)})
    made, _ = _made([cell("a")], plan, runs)
    assert kept(made) == [("a", seed) for seed in range(3, 3 + count)]


def test_the_widest_interval_of_a_setting_counts_for_all_its_policies():
    runs = Made(lambda policy, seed: in_turn(9, 11)(policy, seed) if policy == "b" else {JCT: 1.0})
    cells = [cell("a", "b", nodes=1), cell("a", nodes=2)]
    made, _ = _made(cells, Plan(precision=0.06), runs)
    count = {}
    for order, _ in made:
        key = order.entrant.policy, order.setting["nodes"]
        count[key] = count.get(key, 0) + 1
    assert count == {("a", 1): 18, ("b", 1): 18, ("a", 2): 10}


def test_precision_without_chance_is_one_run():
    assert len(_made([cell("a")], Plan(precision=0.01), Made(is_random=False))[0]) == 1


def test_at_most_a_thousand_runs():
    made, _ = _made([cell("a")], Plan(precision=1e-6), Made(in_turn(9, 11)))
    assert len(made) == MOST == 1000


def ran(policy: str, values, metric: str = JCT, **labels) -> list:
    return [(PlannedRun(Entrant(policy, GIVEN, None), k, labels), Ran({metric: v})) for k, v in enumerate(values)]  # fmt: skip


def test_runs_that_are_needed():
    """Of each policy in each setting; the most of all."""
    wide, narrow = [9.0, 11.0] * 5, [10.0] * 10
    assert _needed(ran("a", wide), JCT, 0.06) == 18
    assert _needed(ran("a", wide, nodes=1) + ran("a", narrow, nodes=2), JCT, 0.06) == 18
    assert _needed(ran("a", narrow) + ran("b", narrow), JCT, 0.06) == 10
    assert _needed(ran("a", [1.0]), JCT, 0.06) == 0
    assert _needed(ran("a", wide, "makespan_s"), JCT, 0.06) == 0


# -- metrics, notes, bounds ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "asked", "found"),
    [
        ({"makespan_s": 5.0, JCT: 3.0, "own": 7.0}, [], [JCT, "makespan_s"]),
        ({"makespan_s": 5.0, "own": 7.0}, ["own"], ["own"]),
        ({"makespan_s": 0.0, "gpu_utilisation": 1.0, "total_cost": 2.0}, [], ["total_cost"]),
        ({"makespan_s": 1.0, "gpu_utilisation": 1.0}, [], [JCT]),
        ({"makespan_s": "text", "total_cost": 2.0}, [], ["total_cost"]),
    ],
)
def test_metrics_of_a_comparison(columns, asked, found):
    """Those that were asked for; else the usual ones, in their order, that are not 0, or 1, in all runs."""
    assert _metrics(Plan(metrics=asked), pd.DataFrame([columns]), []) == found


def test_columns_that_are_no_metrics():
    table = pd.DataFrame({"total_cost": [2.0, 3.0], "makespan_s": [0.0, 5.0], "seed": [4, 5]})
    assert _metrics(Plan(), table, ["total_cost"]) == ["makespan_s"]
    assert DEFAULTS[0] == JCT


def noted(cells, made, metrics=("makespan_s",), **plan) -> list[str]:
    return _notes(cells, made, metrics, Plan(**plan))


def runs_in(own: Cell, numbers: dict, is_random: bool = True, count: int = 1) -> list:
    return [
        (PlannedRun(entrant, k, own.labels), Ran({"jobs": 100.0, **numbers}, is_random=is_random))
        for k in range(count)
        for entrant in own.field.entrants
    ]  # fmt: skip


ALONE = "the seed has no effect here, because nothing is random: one run of each policy, without an interval"
FILE = "one run of each policy on the file alone, without an interval"


def test_notes_of_one_run():
    fixed, random, file = cell("a"), cell("a"), cell("a", of_file=True)
    assert noted([fixed], runs_in(fixed, {}, False)) == [ALONE]
    assert noted([random], runs_in(random, {})) == []
    assert noted([random, fixed], runs_in(random, {}) + runs_in(fixed, {}, False)) == [ALONE]
    assert noted([file], runs_in(file, {}, False)) == []
    assert noted([file], runs_in(file, {}, False), draws=1) == [FILE]
    assert noted([file], runs_in(file, {}, False), draws=39) == []
    assert noted([random], runs_in(random, {}), draws=1) == []
    assert noted([random, file], runs_in(random, {}) + runs_in(file, {}), draws=1) == [FILE]


@pytest.mark.parametrize(("marks", "is_told"), [((None, 1.0), True), ((0.0, 0.0), False)])
def test_who_asked_for_jobs_to_come_is_told(marks, is_told):
    own = cell("a")
    made = [one for m in marks for one in runs_in(own, {} if m is None else {"informed": m})]
    told = "[informed]: the policy asked for jobs that had not been submitted yet (view.all_jobs)"
    assert noted([own], made) == ([told] if is_told else [])


def test_a_cap_is_told():
    own = cell("a")

    def runs(*values: float) -> list:
        return [
            (PlannedRun(own.field.entrants[0], k, own.labels), Ran({JCT: v, "jobs": 99.0})) for k, v in enumerate(values)
        ]  # fmt: skip

    wide = runs(*[9.0, 11.0] * 6)
    assert noted([own], wide, [JCT], precision=0.05, draws=12) == ["stopped at 12 runs before mean_jct_s was known to 5.00%"]  # fmt: skip
    assert noted([own], wide, [JCT], precision=0.5, draws=12) == []
    assert noted([own], wide, [JCT], precision=0.05, draws=13) == []
    assert noted([own], wide, [JCT], precision=0.05) == []
    assert noted([own], runs(*[9.0, 11.0] * 500), [JCT], precision=1e-6) == [
        "stopped at 1000 runs before mean_jct_s was known to 0.00%"
    ]


@pytest.mark.parametrize(
    ("metric", "beyond", "note"),
    [
        ("p95_jct_s", [9.0], "p95_jct_s of one run rests on 9 of its 100 jobs, those beyond it"),
        ("p95_jct_s", [12.0, 3.0], "p95_jct_s of one run rests on 3 of its 100 jobs, those beyond it"),
        ("p95_jct_s", [10.0], None),
        ("p99_jct_s", [1.0], None),
        ("makespan_s", [1.0], None),
    ],
)  # fmt: skip
def test_a_quantile_of_few_jobs_is_told(metric, beyond, note):
    own = cell("a")
    made = [one for k in beyond for one in runs_in(own, {"jobs_beyond_p95": k})]
    assert noted([own], made, [metric]) == ([] if note is None else [note])


def test_who_is_left_out_as_a_table():
    found = _excluded([({"nodes": 4}, Excluded("b", "why"))], ["nodes"])
    assert found.to_dict("records") == [{"nodes": 4, "policy": "b", "reason": "why"}]
    assert list(_excluded([], ["nodes"])) == ["nodes", "policy", "reason"]


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, True),
        ({"window": (0, 9)}, False),
        ({"features": {"failures": SimpleNamespace(max_attempts=None)}}, True),
        ({"features": {"failures": SimpleNamespace(max_attempts=3)}}, False),
        ({"features": {"failures": SimpleNamespace()}}, True),
        ({"features": {"admission": object()}}, False),
        ({"features": {"quotas": object()}}, True),
    ],
)
def test_bounds_are_of_all_jobs(more, counts):
    own = SimpleNamespace(**{"window": None, "features": {}, **more})
    assert _counts_all(own, SimpleNamespace(patience_s=None)) == counts
    stay = SimpleNamespace(patience_s=pd.Series([math.inf, math.inf]))
    assert _counts_all(own, stay) == counts
    assert not _counts_all(own, SimpleNamespace(patience_s=pd.Series([math.inf, 5.0])))


@pytest.fixture
def built(monkeypatch):
    """Jobs that are the seed, machines that are the scenario; their bound on completion times is ten seeds."""
    jobs = lambda own: SimpleNamespace(seed=own.seed, patience_s=None, notes=own.told)  # noqa: E731
    monkeypatch.setattr(
        building, "build", lambda own: (jobs(own), SimpleNamespace(currency=own.currency))
    )
    monkeypatch.setattr(
        pooled, "pooled_bounds", lambda jobs, cluster: {JCT: 10.0 * jobs.seed, "makespan_s": 7.0}
    )


def of_cell(own: Cell, *seeds: int, draw: int = 0) -> list:
    return [(PlannedRun(e, seed, own.labels, draw), Ran({JCT: 1.0})) for seed in seeds for e in own.field.entrants]  # fmt: skip


def worded(seed: int = 3, told=(), currency="USD", **more) -> SimpleNamespace:
    return scenario(seed, told=told, currency=currency, **more)


def test_bounds_of_each_view(built):
    """The mean over the seeds that ran, of metrics that have one; drawn traces and objects do not count."""
    own = worded()
    entrants = (Entrant("a", GIVEN, own), Entrant("b", "elastic", own), Entrant("c", GIVEN, own), Entrant("d", "pool", own, object()))  # fmt: skip
    given = Cell({"nodes": 4}, own, Field(entrants, (), ()), False, 0)
    made = of_cell(given, 3, 4, 8) + of_cell(given, 1000, draw=1)
    found = _bounds([given], made, [JCT, "total_cost"])
    assert found.to_dict("records") == [
        {"nodes": 4, "view": GIVEN, "metric": JCT, "bound": 50.0},
        {"nodes": 4, "view": "elastic", "metric": JCT, "bound": 50.0},
    ]
    assert list(_bounds([given], [], [JCT])) == ["nodes", "view", "metric", "bound"]
    both = _bounds([given], of_cell(given, 3), [JCT, "makespan_s"])
    assert both[both["view"] == GIVEN]["bound"].tolist() == [30.0, 7.0]


def test_no_bound_where_not_all_jobs_count(built, monkeypatch):
    own = worded()
    one = Cell({"nodes": 4}, own, Field((Entrant("a", GIVEN, own),), (), ()), False, 0)
    two = Cell({"nodes": 8}, own, Field((Entrant("a", GIVEN, own),), (), ()), False, 0)
    monkeypatch.setattr(comparing, "_counts_all", lambda own, jobs: jobs.seed != 4)
    found = _bounds([one, two], of_cell(one, 3, 4) + of_cell(two, 5), [JCT])
    assert found.to_dict("records") == [{"nodes": 8, "view": GIVEN, "metric": JCT, "bound": 50.0}]


def test_what_jobs_say_once(built):
    scenarios = [worded(told=("x", "y")), worded(told=("y", "z"))]
    assert said_of_jobs(scenarios) == ("x", "y", "z")


def test_the_currency_of_the_machines(built):
    own = worded(currency="EUR")
    assert _currency(Cell({}, own, Field((Entrant("a", GIVEN, own),), (), ()), False, 0)) == "EUR"
    assert _currency(Cell({}, own, Field((), (), ()), False, 0)) == ""


# -- the whole ----------------------------------------------------------------------------------


def test_a_comparison_of_runs(built):
    """Notes of the setting, of the runs and of the jobs; the first named policy is the base, and "all" is none."""
    own = worded(told=("of jobs",), currency="EUR")
    field = Field(
        tuple(Entrant(n, GIVEN, own) for n in "ab"), (Excluded("p", "no pool"),), ("added",)
    )
    cells = [Cell({"nodes": n}, own, field, False, 0) for n in (4, 8)]
    runs = Made(is_random=False)
    found = _compared("jobs.csv", cells, Plan(policies=["all", "b"]), runs)
    assert runs.closed == 1
    assert (found.source, found.metrics, found.settings, found.base) == ("jobs.csv", (JCT,), ("nodes",), "b")  # fmt: skip
    assert found.notes == ("added", ALONE, "of jobs")
    assert found.currency == "EUR"
    assert found.excluded["nodes"].tolist() == [4, 8]
    assert found.bounds["bound"].tolist() == [30.0, 30.0]
    assert found.policies == ("a", "b")
    assert found.table["minus"].tolist() == ["", "", "b"] * 2
    assert _compared("x", cells, Plan(), Made()).base == ""


@pytest.mark.parametrize(
    ("policies", "first"), [(("all", "b"), "b"), (("a", "b"), "a"), ((), "a"), (("gone", "b"), "a")]
)
def test_one_log_on_one_cluster_has_lines_of_its_record(built, monkeypatch, policies, first):
    """On its waits under the base, or the first policy that can run; and on premises of all scenarios, each once."""
    asked = []
    monkeypatch.setattr(
        comparing,
        "said_of_record",
        lambda own, runs, name: asked.append((own.seed, name)) or ["record"],
    )
    monkeypatch.setattr(
        comparing,
        "premises",
        lambda all_of, runs: asked.append([own.seed for own in all_of]) or ["premise"],
    )
    field = Field((Entrant("a", GIVEN, worded(5)), Entrant("b", GIVEN, worded(6))), (), ())
    one = [Cell({}, worded(), field, False, 0)]
    found = _compared("jobs.csv", one, Plan(policies=policies, draws=1), Made())
    assert asked == [({"a": 5, "b": 6}[first], first), [5, 6]]
    assert found.notes[-2:] == ("record", "premise")
    two = [Cell({"nodes": n}, worded(), field, False, 0) for n in (4, 8)]
    assert _compared("jobs.csv", two, Plan(draws=1), Made()).notes == ()


@pytest.mark.parametrize(
    ("given", "metrics", "option", "limit_s"),
    [
        ({"metrics": [JCT], "columns": ["makespan_s"]}, [JCT], "--metric", None),
        ({"columns": ["makespan_s"]}, ["makespan_s"], "--columns", None),
        ({}, (), "--columns", None),
        # All policies, with a database, have a limit of time each.
        ({"store": "kept"}, (), "--columns", 60.0),
        ({"store": "kept", "time_limit_s": 5.0}, (), "--columns", 5.0),
        ({"store": "kept", "policies": ["a"]}, (), "--columns", None),
        ({"store": "kept", "over": ["policy=p,q"]}, (), "--columns", None),
        ({"over": ["policy=p,q"], "policies": ["a"]}, (), "--columns", None),
        ({"store": "kept", "policies": ["a", "all"]}, (), "--columns", 60.0),
        ({"time_limit_s": 5.0}, (), "--columns", 5.0),
    ],
)  # fmt: skip
def test_what_is_asked_for_becomes_a_plan(monkeypatch, given, metrics, option, limit_s):
    seen = []
    monkeypatch.setattr(comparing, "ComparedRuns", lambda *parts, **more: (parts, more))
    monkeypatch.setattr(comparing, "_compared", lambda *parts: seen.append(parts) or "found")
    monkeypatch.setattr(
        comparing, "cells_of", lambda *parts: seen.append(parts) or iter(["cell 1", "cell 2"])
    )
    more = {
        "draws": 3,
        "precision": 0.1,
        "block_jobs": 9,
        "seed": 4,
        "settings": ["x=1"],
        "kind": "csv",
        "workers": 2,
    }
    named = given.get("over", [])
    given = given | {"over": ["cluster.num_nodes=4,8", *named]}
    source = ["a.csv", "b.csv"]
    assert compare(source, progress=True, **more, **given) == "found"
    (read, plan, swept, settings, kind), (name, cells, same, runs) = seen
    assert (read, swept, settings, kind) == (source, given["over"][:1], ["x=1"], "csv")
    assert (name, cells, same) == ("a.csv, b.csv", ["cell 1", "cell 2"], plan)
    assert runs[0] == ("a.csv, b.csv", given.get("store"), True)
    assert runs[1] == {"workers": 2, **({} if limit_s is None else {"time_limit_s": limit_s})}
    assert [*plan.policies] == [*given.get("policies", ()), *("pq" if named else ())]
    assert (plan.metrics, plan.option, plan.columns) == (metrics, option, given.get("columns", ()))
    assert (plan.draws, plan.precision, plan.block_jobs, plan.seed) == (3, 0.1, 9, 4)


def test_nobody_can_run(built):
    own = worded()
    field = Field((), (Excluded("p", "no pool"), Excluded("q", "no due dates")), ())
    with input_error("jobs.csv: no policy can run: p: no pool") as raised:
        _compared("jobs.csv", [Cell({}, own, field, False, 0)], Plan(), Made())
    assert str(raised.value) == "jobs.csv: no policy can run: p: no pool"


def test_scenarios_on_the_same_draws(built, monkeypatch):
    asked = []
    monkeypatch.setattr(
        comparing, "cell_of",
        lambda labels, first, plan, field=None: asked.append(first) or Cell(labels, first, field, False, 0),
    )  # fmt: skip
    scenarios = {"x": worded(5, told=("no",)), "y": worded(6)}
    runs = Made()
    found = on_same_draws(scenarios, Plan(draws=2), runs, "y")
    assert asked == [scenarios["x"]]
    assert [(e, s) for e, s, _ in runs.flat] == [("x", 5), ("y", 5), ("x", 6), ("y", 6)]
    assert (found.source, found.base, found.policies) == ("jobs.csv", "y", ("x", "y"))
    assert found.bounds.empty
    assert found.notes == ()
    with input_error("seed 6: broken"):
        on_same_draws(scenarios, Plan(draws=2), Made(lambda p, s: "broken" if s == 6 else {JCT: 1.0}), "y")  # fmt: skip
    with input_error("--draws: got 0"):
        on_same_draws(scenarios, Plan(draws=0), runs, "y")


def test_a_scenario_by_a_plan(built, monkeypatch):
    seen = []
    own = worded()
    monkeypatch.setattr(comparing, "premises", lambda scenarios, runs: [])  # these are no scenarios
    monkeypatch.setattr(
        comparing, "cell_of",
        lambda labels, first, plan: Cell(labels, first, Field((Entrant("a", GIVEN, first),), (), ()), False, 0),
    )  # fmt: skip
    monkeypatch.setattr(comparing, "ComparedRuns", lambda *given, **more: seen.append((given, more)) or Made())  # fmt: skip
    found = compare_scenario("name", own, Plan(draws=2), store="kept", progress=True, workers=3)
    assert (found.source, found.settings, len(found.runs)) == ("name", (), 2)
    assert seen == [(("name", "kept", True), {"workers": 3})]
    compare_scenario("name", own, Plan(draws=2))
    assert seen[1] == (("name", None, False), {})
    with input_error("--draws: got 0"):
        compare_scenario("name", own, Plan(draws=0))


def test_the_cpu_time_of_decisions_is_beside_the_metrics():
    runs = runs_of(
        {"a": [1.0], "b": [2.0]}, more={"mean_decision_cpu_s": {"a": [0.5], "b": [0.25]}}
    )
    found = of_runs("x", runs, [], [JCT], "a")
    assert found.table["metric"].tolist() == [JCT] * 3 + ["mean_decision_cpu_s"] * 3
    assert set(found.ranks["metric"]) == {JCT}
    both = of_runs("x", runs, [], [JCT, "mean_decision_cpu_s"], "a")
    assert both.table["metric"].tolist() == found.table["metric"].tolist()
    alone = of_runs("x", runs[[c for c in runs if "cpu" not in c]], [], [JCT], "a")
    assert alone.table["metric"].tolist() == [JCT] * 3
    assert list(alone.bounds) == ["view", "metric", "bound"]
    assert list(alone.excluded) == ["policy", "reason"]
    assert (alone.source, alone.metrics, alone.settings, alone.base) == ("x", (JCT,), (), "a")
    assert of_runs("x", runs, [], [JCT], "a", (JCT,)).columns == (JCT,)
