"""`schedlab whatif` in words, from numbers made by hand."""

import math

import pandas as pd
import pytest

from experiments.comparison import whatif
from experiments.comparison.whatif import WhatIf, what_if
from experiments.scenario.options import format_of, scenario_of
from tests.comparison.made import compared, runs_of

WAIT, P95, BUSY, COST = "mean_total_wait_s", "p95_total_wait_s", "gpu_utilisation", "total_cost"
NONE = math.nan


def answer(*rows: tuple) -> WhatIf:
    """Rows of metric, base, whatif, lower, upper; the difference is that of the two, or the last."""
    table = [
        {
            "metric": metric, "base": base, "whatif": other, "difference": more[0] if more else other - base,
            "lower": lower, "upper": upper, "replications": 1 if math.isnan(lower) else 40,
        }
        for metric, base, other, lower, upper, *more in rows
    ]  # fmt: skip
    return WhatIf(pd.DataFrame(table), "EUR", ())


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        # one run
        ((WAIT, 100.0, 40.0, NONE, NONE), "The mean total wait falls from 100 to 40 s, by 60 s."),
        ((WAIT, 40.0, 100.0, NONE, NONE), "The mean total wait rises from 40 to 100 s, by 60 s."),
        ((WAIT, 100.0, 100.0, NONE, NONE), "The mean total wait stays 100 s."),
        # the interval has no 0 in it
        ((WAIT, 100.0, 40.0, -70.0, -50.0), "The mean total wait falls from 100 to 40 s, by 60 s (95 % interval 50 to 70 s)."),
        ((WAIT, 40.0, 100.0, 50.0, 70.0), "The mean total wait rises from 40 to 100 s, by 60 s (95 % interval 50 to 70 s)."),
        ((WAIT, 100.0, 99.0, -1.5, -0.5), "The mean total wait falls from 100 to 99 s, by 1 s (95 % interval 0.5 to 1.5 s)."),
        # it has, and the difference itself says little
        ((WAIT, 100.0, 40.0, -70.0, 10.0),
         "The mean total wait: cannot tell; 100 s becomes 40 s, difference -60 s (95 % interval -70 to 10 s)."),
        ((WAIT, 40.0, 100.0, -10.0, 70.0),
         "The mean total wait: cannot tell; 40 s becomes 100 s, difference 60 s (95 % interval -10 to 70 s)."),
        ((WAIT, 100.0, 40.0, -70.0, 0.0),
         "The mean total wait: cannot tell; 100 s becomes 40 s, difference -60 s (95 % interval -70 to 0 s)."),
        ((WAIT, 40.0, 100.0, 0.0, 70.0),
         "The mean total wait: cannot tell; 40 s becomes 100 s, difference 60 s (95 % interval 0 to 70 s)."),
        ((WAIT, 100.0, 100.0, -5.0, 5.0),
         "The mean total wait: cannot tell; 100 s becomes 100 s, difference 0 s (95 % interval -5 to 5 s)."),
        # the file says one thing, and all traces that are drawn from it the other
        ((WAIT, 100.0, 40.0, 10.0, 20.0),
         "The mean total wait: cannot tell; 100 s becomes 40 s, difference -60 s (95 % interval 10 to 20 s)."),
        ((WAIT, 100.0, 100.0, 10.0, 20.0),
         "The mean total wait: cannot tell; 100 s becomes 100 s, difference 0 s (95 % interval 10 to 20 s)."),
        ((WAIT, 100.0, 100.0, 10.0, 10.0),
         "The mean total wait: cannot tell; 100 s becomes 100 s, difference 0 s (95 % interval 10 to 10 s)."),
        # no draw changes anything
        ((WAIT, 100.0, 100.0, 0.0, 0.0), "The mean total wait stays 100 s."),
        # units: of the larger one; a difference of means is not that of the table where a draw failed
        ((P95, 3600.0, 9000.0, NONE, NONE), "The p95 total wait rises from 1 to 2.5 h, by 1.5 h."),
        ((P95, 9000.0, 3600.0, -7200.0, -3600.0),
         "The p95 total wait falls from 2.5 to 1 h, by 1.5 h (95 % interval 1 to 2 h)."),
        ((BUSY, 0.8, 0.5, NONE, NONE), "The GPU time in use falls from 80 to 50 %, by 30 %."),
        ((COST, 3.0, 4.0, 0.5, 1.5), "The total cost rises from 3 to 4 EUR, by 1 EUR (95 % interval 0.5 to 1.5 EUR)."),
        ((COST, 3.0, 4.0, 0.5, 1.5, 1.25), "The total cost rises from 3 to 4 EUR, by 1.25 EUR (95 % interval 0.5 to 1.5 EUR)."),
    ],
)  # fmt: skip
def test_the_sentence(row, sentence):
    assert answer(row).words() == [sentence]


def test_money_without_a_currency_has_no_unit():
    made = answer((COST, 3.0, 4.0, NONE, NONE))
    assert WhatIf(made.table, "", ()).words() == ["The total cost rises from 3 to 4, by 1."]


def test_a_sentence_for_four_metrics_in_this_order():
    rows = [(name, 2.0, 3.0, NONE, NONE) for name in ("makespan_s", COST, BUSY, P95, WAIT)]
    starts = [line.split(" rises")[0] for line in answer(*rows).words()]
    assert starts == [
        "The mean total wait", "The p95 total wait", "The GPU time in use", "The total cost",
    ]  # fmt: skip
    assert answer(("makespan_s", 2.0, 3.0, NONE, NONE)).words() == []


def test_the_table_to_read():
    made = answer(
        (WAIT, 3600.0, 9000.0, 1800.0, 7200.0),
        (WAIT, -9000.0, 1.0, NONE, NONE),
        (COST, 3.0, 4.0, NONE, NONE),
    )
    assert made.sheet().to_dict("records") == [
        {"": "mean total wait (h)", "base": "1", "whatif": "2.5", "difference": "1.5", "95 % interval": "0.5 to 2"},
        {"": "mean total wait (h)", "base": "-2.5", "whatif": "0.0002778", "difference": "2.5", "95 % interval": ""},
        {"": "total cost (EUR)", "base": "3", "whatif": "4", "difference": "1", "95 % interval": ""},
    ]  # fmt: skip


# -- with runs ----------------------------------------------------------------------------------


@pytest.fixture
def asked(tmp_path):
    """Two jobs at once, of one GPU and 100 s, on one node of one GPU; with other keys."""
    path = tmp_path / "two.csv"
    path.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,100,1\nb,0,100,1\n")

    def make(*settings: str):
        return scenario_of(path, format_of(path, None), settings=settings, nodes=1, gpus=1)[0]

    return make


def test_the_second_less_the_first(asked):
    """Waits 0 and 100 s become 0 and 0; 200 s of one node at 36 an hour cost 2, 100 s of two nodes as well."""
    price = "cluster.price_per_hour=36"
    found = what_if(asked(price), asked(price, "cluster.num_nodes=2"), "two.csv", draws=1)
    table = found.table.set_index("metric")
    assert list(table) == ["base", "whatif", "difference", "lower", "upper", "replications"]
    assert table.loc[WAIT, ["base", "whatif", "difference", "replications"]].tolist() == [
        50,
        0,
        -50,
        1,
    ]
    assert table.loc["makespan_s", ["base", "whatif", "difference"]].tolist() == [200, 100, -100]
    assert table[["lower", "upper"]].isna().all(axis=None)
    assert table.loc[COST, ["base", "whatif", "difference"]].tolist() == pytest.approx([2, 2, 0])
    assert found.words()[0] == "The mean total wait falls from 50 to 0 s, by 50 s."
    assert found.currency == "USD"
    assert found.notes[0] == "one run of each policy on the file alone, without an interval"
    assert not any("total_cost: 0" in note for note in found.notes)


def test_that_nothing_has_a_price_is_told(asked):
    found = what_if(asked(), asked("cluster.gpu_type=H100"), "two.csv", draws=1)
    assert "the jobs do not say on which GPUs" in found.notes[-2]
    assert found.notes[-1] == (
        "total_cost: 0, because nothing has a price; --base cluster.price_per_hour=20 sets one"
    )


def test_what_is_asked_of_the_runs(asked, monkeypatch):
    """Scenarios by name, the first is the base; 40 draws; the store and the options go to the runs."""
    seen = []

    def ask(scenarios, plan, runs, base):
        seen.append((list(scenarios), plan.draws, plan.metrics, base, vars(runs)))
        values = {WAIT: {"base": [3.0], "whatif": [2.0]}, BUSY: {"base": [0.5]}}
        return compared(
            runs_of({"base": [5.0], "whatif": [4.0]}, COST, values), [COST, WAIT, BUSY], base=base
        )

    monkeypatch.setattr(whatif, "on_same_draws", ask)
    found = what_if(asked(), asked(), "two.csv", store="kept", progress=True, workers=3)
    assert found.table["metric"].tolist() == [COST, WAIT]  # what both have
    assert found.table["difference"].tolist() == [-1.0, -1.0]
    assert found.notes == ()
    ((names, draws, metrics, base, runs),) = seen
    assert (names, draws, metrics, base) == (["base", "whatif"], 40, (), "base")
    assert (runs["source"], runs["_store"], runs["_progress"]) == ("two.csv", "kept", True)
    assert runs["_options"] == {"workers": 3}
    what_if(asked(), asked(), "two.csv", draws=7)
    assert seen[1][1] == 7
    assert (seen[1][4]["_store"], seen[1][4]["_progress"]) == (None, False)
