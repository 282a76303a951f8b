"""The cross experiment: every pair is a valid scenario, ratios and ranks by hand, toy figures."""

import functools
import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.scenario.build import build
from experiments.scenario.schema import Scenario
from experiments.studies.cross import (
    PAGE,
    comparison,
    controllers,
    figures_of_studies,
    runs,
    studies,
)
from experiments.studies.cross.figures import COLUMNS
from experiments.studies.cross.ratios import in_words, mean_ranks, rank_intervals, to_the_best
from experiments.studies.cross.recommendations import _logs
from experiments.studies.cross.texts_of_studies import _with_k
from experiments.studies.same_jobs import differs, paired
from simulator.laws import parse_law
from simulator.statistics import Estimate
from simulator.workloads.load import offered_load


@functools.cache
def planned() -> list[studies.Run]:
    """All runs of the studies, read once."""
    return list(studies.runs_of_studies("quick"))


# -- scenarios -------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", comparison.WORKLOADS)
def test_every_pair_has_the_same_jobs_and_what_its_policy_needs(workload):
    """Building checks the needs of the policy; submissions, due dates and weights are shared."""
    first = None
    for method in comparison.METHODS:
        raw = comparison.scenario_of(workload, method, 0.8, "quick")
        if raw is None:
            assert workload in comparison.ANDREAS or method.one_gpu
            continue
        jobs, cluster = build(Scenario.model_validate({**raw, "seed": 3}))
        columns = (jobs.submit_s.tobytes(), jobs.due_s.tobytes(), jobs.weight_per_s.tobytes())
        first = first or columns
        assert columns == first, method.label
        if not cluster.is_pool and workload not in comparison.ANDREAS:
            assert cluster.total_gpus == 16


def test_the_first_page_says_how_many():
    said = f"{len(comparison.METHODS)} policies on eight workloads"
    assert len(comparison.WORKLOADS) == 8
    assert said in (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_loads_of_traces_are_what_they_are_called():
    for workload in comparison.TRACES:
        fifo = next(m for m in comparison.METHODS if m.policy == "fifo-strict")
        raw = comparison.scenario_of(workload, fifo, 0.8, "quick")
        assert raw is not None
        raw["workload"]["num_jobs"] = 4000
        jobs, cluster = build(Scenario.model_validate({**raw, "adapt": {"sensitivity": "none"}}))
        assert offered_load(jobs, cluster).packed == pytest.approx(0.8, rel=0.12)


def test_every_run_of_a_study_is_a_valid_scenario():
    for q in planned():
        Scenario.model_validate(q.scenario)
    names = {q.study for q in planned()}
    assert names == {
        "dispatching", "controllers", "predictions", "delays", "periods", "elasticity",
    }  # fmt: skip


def test_settings_of_controllers():
    """Never more servers than controllers; a measured time is one of the table's; 40 s grow with nodes."""
    found = list(controllers.settings("paper", 20, 0.5))
    for labels, count, server in found:
        wanted = labels["servers"]
        assert isinstance(wanted, int)
        assert (server is None) == (labels["solver"] == controllers.NO_TIME)
        assert server is None or server["servers"] == min(wanted, count)
    assert controllers.service(controllers.FORMULA, 10, 0.5) == "exponential:160"  # 40 (10 / 5)^2
    law = controllers.service(controllers.MEASURED, 5, 2.0)
    assert law is not None
    assert law.startswith("empirical:")
    for scale in ("quick", "paper"):
        for count in controllers.CONTROLLERS[scale]:
            for load in controllers.LOADS:
                law = controllers.service(controllers.MEASURED, studies.NODES[scale] // count, load)
                assert law is not None
                assert parse_law(law).moment(1) < 1


def test_scales_stay_within_their_budgets():
    """Two cores: 90 s at quick scale, an hour at paper scale, by measured CPU seconds."""
    quick, paper = (sum(t.cost_s for t in runs.tasks(scale)) for scale in ("quick", "paper"))
    assert quick < 2 * 90
    assert paper < 2 * 3600


# -- ratios ----------------------------------------------------------------------------------


def test_paired_ratio_by_hand():
    table = pd.DataFrame({"seed": [1, 2] * 2, "m": list("aabb"), "x": [2.0, 8.0, 1.0, 1.0]})
    ratio = paired(table, "x", {"m": "a"}, {"m": "b"})
    assert ratio.mean == pytest.approx(4.0)  # of 2 and 8
    assert ratio.lower < 4 < ratio.upper


def test_a_seed_counts_once_however_many_settings_it_has():
    table = pd.DataFrame(itertools.product((1, 4), (0.5, 2.0), "ab"), columns=["seed", "load", "m"])
    table["x"] = np.where(table["m"] == "a", table["seed"] * table["load"], 1.0)
    one = paired(table, "x", {"m": "a"}, {"m": "b"}, ("load", "seed"))
    assert one.n == 2
    assert one.mean == pytest.approx(2.0)  # of 1 and 4: the loads cancel


def test_ratios_in_words():
    assert in_words(Estimate(1.2233, 1.141, 1.304, 5)) == "1.22 (1.14 to 1.30)"
    assert in_words(Estimate(1.0, 0.9991, 1.001, 5)) == "1.000 (0.999 to 1.001)"
    assert in_words(Estimate(140.4, 6.31, 3118.0, 3)) == "140 (6.31 to 3,118)"
    alone = Estimate(1.5, 0.0, np.inf, 1)
    assert in_words(alone) == "1.5 (no interval)"
    assert not differs(alone)
    assert not differs(Estimate(1.2, 0.9, 1.6, 5))
    assert differs(Estimate(1.2, 1.1, 1.3, 5))


@functools.cache
def toy_cells() -> pd.DataFrame:
    """Costs that grow with a method's place in the list, noise by seed."""
    rng = np.random.default_rng(1)
    rows = []
    for workload in comparison.WORKLOADS:
        for seed in (1, 2, 3):
            for i, method in enumerate(comparison.METHODS):
                if workload in comparison.ANDREAS and method.view != "elastic":
                    continue
                cost = (10 + i) * float(rng.uniform(0.99, 1.01))
                rows.append(
                    {
                        "workload": workload, "load": 0.8, "seed": seed, "method": method.label,
                        "total_cost": cost, "mean_jct_s": 1e4 / cost,
                        **dict.fromkeys(COLUMNS, 1.0),
                        "mean_decision_cpu_s": 1e-3 * i,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def test_ratio_to_the_best_and_ranks_of_toy_cells():
    cells = toy_cells()
    first, second = (m.label for m in comparison.METHODS[:2])
    ratios = to_the_best(cells, "total_cost").set_index("method")["ratio"]
    assert (ratios[first] == 1).all()
    assert (ratios[second] > 1).all()
    table = rank_intervals(cells, "total_cost").set_index("method")
    assert (table.loc[first, ["low", "high"]] == 1).to_numpy().all()
    ranks, difference, p = mean_ranks(cells, "total_cost")
    assert ranks["method"].iloc[0] == first
    assert ranks["rank"].iloc[0] == 1
    assert difference > 1
    assert p < 1e-6


# -- figures and claims ----------------------------------------------------------------------


class Toy:
    """Results made up: every run of the studies, costs by chance."""

    scale, seeds = "quick", (1, 2, 3)

    def __init__(self, part: str = "", study: str = "") -> None:
        self._part, self._study = part, study

    def where(self, function: str, study: str = "") -> "Toy":
        return Toy(function, study)

    def runs(self, function: str, study: str = "") -> pd.DataFrame:
        return self.where(function, study).scalars()

    def noting(self) -> "Toy":
        return self

    seeds_read = seeds

    def once(self, name, make):
        return make(self)

    def scalars(self) -> pd.DataFrame:
        rng = np.random.default_rng(2)
        rows = pd.DataFrame([q.labels for q in planned() if q.study == self._study])
        drawn = rng.uniform([1, 1e4], [2, 2e4], (len(rows), 2))
        return rows.assign(total_cost=drawn[:, 0], mean_jct_s=drawn[:, 1], stuck=0)

    def table(self, name: str) -> pd.DataFrame:
        if self._part == "run_cell":
            return toy_cells().copy()
        rows = itertools.product((0.5, 1.0), (1, 2), studies.BOUNDED)
        return pd.DataFrame(rows, columns=["load", "seed", "method"]).assign(ratio=1.5)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return PAGE.figures(Toy(), tmp_path_factory.mktemp("cross"))


def test_all_figures_are_drawn_from_toy_results(drawn):
    assert len(drawn) == 11
    assert {f.name for f in drawn if f.png is None} == {"pareto", "ranks", "lower_bounds"}
    for figure in drawn:
        assert figure.png is None or figure.png.stat().st_size > 10_000
        assert len(pd.read_csv(figure.csv)) > 0
        assert figure.caption


def test_points_of_one_delay_stand_apart_from_those_of_the_next():
    class Moved(Toy):
        def where(self, function: str, study: str = "") -> "Moved":
            return self

        def scalars(self) -> pd.DataFrame:
            methods = (*studies.MOVED, *studies.MOVED_ELASTIC)
            rows = itertools.product(methods, studies.DELAYS_S["paper"], (1, 2))
            table = pd.DataFrame(rows, columns=["method", "delay_s", "seed"]).assign(stuck=0)
            return table.assign(mean_jct_s=1 + table["delay_s"], total_cost=1 + table["delay_s"])

    kept = [figures_of_studies.delays(Moved()).drawing]
    delays = len(studies.DELAYS_S["paper"]) - 1  # without one all are at 1, and nothing is drawn
    for ax in kept[0].axes:
        lines = [np.asarray(line.get_xdata()) for line in ax.lines]
        places = np.array([xs for xs in lines if len(xs) == delays])
        assert len(places) >= len(studies.MOVED_ELASTIC)
        assert (places.max(axis=0)[:-1] < places.min(axis=0)[1:]).all()


def test_every_study_has_a_claim():
    rows = PAGE.claims(Toy())
    places = {row.place for row in rows}
    assert places == {
        "comparison", "dispatching", "controllers", "predictions", "delays", "periods", "bounds",
        "elasticity",
    }  # fmt: skip
    assert all(np.isfinite(row.ours) for row in rows)


def test_the_findings_of_every_study_stand_below_its_figure(drawn):
    texts = PAGE.texts(Toy())
    assert [text.figure for text in texts[:2]] == ["", ""]
    below = {text.figure for text in texts[2:]}
    assert below == {
        "dispatching", "controllers", "predictions", "delays", "periods", "bounds", "elasticity",
    }  # fmt: skip
    assert below <= {figure.name for figure in drawn}
    assert all(text.lines for text in texts)


def test_runs_that_never_end_are_named(monkeypatch):
    """All runs of LAS with the longest delay, and one of SRTF's: no ratio shows them, so a line does."""
    plain = Toy.scalars

    def scalars(self):
        table = plain(self)
        if self._study == "delays":
            longest = table["delay_s"] == table["delay_s"].max()
            stuck = longest & (table["method"] == "LAS, rounds of 5 min")
            stuck |= longest & (table["method"] == "SRTF, rounds of 5 min") & (table["seed"] == 2)
            table.loc[stuck, "stuck"] = 1
            table.loc[stuck, ["mean_jct_s", "total_cost"]] = np.nan
        return table

    monkeypatch.setattr(Toy, "scalars", scalars)
    (text,) = (t for t in PAGE.texts(Toy()) if t.title.startswith("Who suffers from 30 min"))
    assert text.lines[-1] == (
        "Never ended, and in no ratio: 3 of 3 runs of LAS, rounds of 5 min; 1 of 3 runs of SRTF, rounds of 5 min."
    )
    assert not any("LAS, rounds of 5 min" in line for line in text.lines[:-1])


@pytest.mark.parametrize(
    ("costs", "said"),
    [((9.0, 9.5, 10.2), "), no difference is shown"), ((8.0, 8.1, 8.2), "s: K = 4, 0.81 (0.79 to 0.84)")],
)  # fmt: skip
def test_a_number_of_controllers_that_may_lead_by_chance(costs, said):
    """Beside K = 1 at a cost of 10: the mean of K = 4 is less, and only sometimes by more than chance."""
    rows = [
        {"solver": "s", "controllers": k, "seed": seed, "total_cost": cost}
        for k, of_k in ((1, (10.0, 10.0, 10.0)), (4, costs))
        for seed, cost in enumerate(of_k)
    ]
    assert _with_k(pd.DataFrame(rows), "solver", "s").endswith(said)


def test_a_method_that_has_not_run_everywhere_is_no_part_of_the_advice():
    """Its mean would be over the easier half: here it looks as good as "whole" and is not."""
    rows = [
        {"seed": seed, "method": method, "workload": "w", "load": load, "total_cost": cost}
        for seed in (1, 2)
        for method, load, cost in (
            ("whole", 0.5, 1.0), ("whole", 0.8, math.e), ("half", 0.5, 1.0), ("half", 0.8, math.nan),
        )
    ]  # fmt: skip
    logs = _logs(pd.DataFrame(rows), ["w"], "total_cost")
    assert list(logs.columns) == ["whole"]
    assert logs["whole"].tolist() == pytest.approx([0.5, 0.5])
    assert list(_logs(pd.DataFrame(rows[:3]), ["w"], "total_cost").columns) == ["whole"]


def test_recommendations_on_toy_cells():
    """Costs are 10, 11, .. in the order of the methods, completion times the other way round."""
    who, gain = PAGE.texts(Toy())[:2]
    by_workload = {line.partition(": ")[0]: line for line in who.lines}
    assert set(by_workload) == set(comparison.WORKLOADS)
    first = by_workload["hierarchical"]
    assert "Least total cost: “FIFO, a job a node”. Not shown to be worse: none (of 34" in first
    assert "Least mean completion time: “Shockwave”." in first
    assert "“FIFO, a job a node” takes 4.8" in first  # (10 + 39) / 10
    hierarchical, andreas, synergy, rental, fractions = gain.lines
    assert "their own “MILP, central” costs 1.3" in hierarchical  # (10 + 7) / (10 + 3)
    assert "times as much as “greedy”." in hierarchical
    assert "as “MILP, central”; there is nothing to gain. By mean" in andreas
    assert "their own “Tetris, tune” takes 0." in synergy
    assert "“rental widths on nodes” costs 1.4" in rental  # (10 + 9) / (10 + 3)
    assert "“Shockwave” takes 1.08" in fractions  # (10 + 43) / (10 + 39)
