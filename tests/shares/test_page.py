"""The page on shares of time: its committed table, and a run."""

from experiments.studies.shares import PAGE
from experiments.studies.shares.figures import pairs
from experiments.studies.shares.measured import OURS, measured
from experiments.studies.shares.notebooks import RUNS, notebooks
from experiments.studies.shares.runs import run_shares


def test_the_committed_table_has_all_jobs_of_all_policies():
    ours = measured().query("kind == 'ours'")
    assert ours.groupby("policy").size().to_dict() == dict.fromkeys(OURS, 120)
    both = pairs("gandiva_fair")
    assert (both["ours"] - both["simulation"]).abs().max() < 1e-5


def test_means_by_rate_are_near_those_of_the_notebooks():
    table = notebooks()
    assert list(table[["policy", "jobs_per_h"]].itertuples(index=False, name=None)) == RUNS
    assert (table["ours_h"] / table["published_h"] - 1).abs().max() < 0.05


def test_a_run_gives_what_the_figure_draws():
    found = run_shares({"policy": "gandiva-fair", "seed": 0}).scalars
    assert found["worst_slowdown"] >= 1
    assert found["makespan_s"] > found["mean_jct_s"]


def test_at_most_eight_figures():
    assert len(PAGE.registered) <= 8
