"""The page on goodput: its committed tables, and a run."""

from experiments.studies.goodput import PAGE
from experiments.studies.goodput.measured import measured
from experiments.studies.goodput.runs import RULES, run_goodput, tasks


def test_tiresias_optimus_and_edf_have_the_published_times():
    table = measured().query("policy in ('tiresias', 'optimus') and source == 'pollux'")
    assert table.groupby("policy").size().to_dict() == {"optimus": 1280, "tiresias": 1280}
    edf = measured().query("policy == 'edf-elastic'")
    assert len(edf) == 100
    for rows in (table, edf):
        assert (rows["ours_s"] - rows["published_s"]).abs().max() < 2e-3


def test_a_run_gives_what_the_figures_draw():
    found = run_goodput({"policy": "optimus", "options": {}, "seed": 0}).scalars
    assert found["longest_s"] > found["mean_jct_s"] > 0
    assert found["moves"] > 0


def test_every_rule_of_sia_is_run():
    assert set(RULES) | {"sia"} <= {task.labels["rule"] for task in tasks("quick")}


def test_at_most_eight_figures():
    assert len(PAGE.registered) <= 8
