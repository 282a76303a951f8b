"""The answer in words, tables for people, LaTeX and HTML, from numbers made by hand.

Of three runs m - 1, m, m + 1 Student's interval is m +- 4.3027 / sqrt(3) = m +- 2.484.
"""

import numpy as np
import pandas as pd
import pytest

from experiments.comparison.answer import (
    ESCAPED,
    html_of,
    latex_of,
    left_out,
    order_of,
    sheet_of,
    text_of,
    words_of,
)
from experiments.comparison.comparing import of_runs
from experiments.comparison.metrics import CPU
from tests.comparison.made import compared, drawn, runs_of

JCT, BUSY, LATE, COST = "mean_jct_s", "gpu_utilisation", "late_jobs", "total_cost"
BOUND = {"view": "as given", "metric": JCT, "bound": 3600.0}
HOURS = [3600.0 * hours for hours in (1.9, 2.0, 2.1, 1.95, 2.05)]


def around(middle: float) -> list[float]:
    return [middle - 1, middle, middle + 1]


def told(values, metric=JCT, more=None, bounds=(), currency="USD", **columns) -> str:
    """The answer of one setting."""
    runs = runs_of(values, metric, more, **columns)
    (line,) = words_of(compared(runs, [metric, *(more or {})], bounds=bounds, currency=currency))
    return line


@pytest.mark.parametrize(
    ("values", "metric", "line"),
    [
        # one policy
        ({"a": [7200.0]}, JCT, "a: mean completion time 2 h."),
        ({"a": around(10.0)}, JCT, "a: mean completion time 10.0 s (95 % interval 7.5 to 12.5)."),
        ({"a": [10.0] * 3}, JCT, "a: mean completion time 10 s."),
        ({"a": [10.0, 10.0, 10.0 + 1e-9]}, JCT, "a: mean completion time 10 s."),
        ({"a": around(10.0)}, COST, "a: total cost 10.0 USD (95 % interval 7.5 to 12.5)."),
        ({"a": [3.0]}, LATE, "a: jobs that end late 3."),
        ({"a": [0.25]}, BUSY, "a: GPU time in use 25 %."),
        # one run of each
        ({"a": [7200.0], "b": [10800.0], "c": [7200.0]}, JCT,
         "Best in mean completion time is a: 2 h. Equal: c. Next is b, 50.0 % longer (one run, no interval)."),
        ({"b": [10800.0], "a": [7200.0], "d": [9000.0]}, JCT,
         "Best in mean completion time is a: 2 h. Next is d, 25.0 % longer (one run, no interval)."),
        ({"a": [7.0], "b": [7.0]}, JCT, "Best in mean completion time is a: 7 s. Equal: b."),
        ({"a": [4.0], "b": [5.0]}, COST, "Best in total cost is a: 4 USD. Next is b, 25.0 % more (one run, no interval)."),
        ({"a": [0.0], "b": [2.0], "c": [3.0]}, LATE,
         "Best in jobs that end late is a: 0. Next is b, with 2 (one run, no interval)."),
        ({"a": [0.0], "b": [2.0]}, COST, "Best in total cost is a: 0 USD. Next is b, with 2 USD (one run, no interval)."),
        ({"a": [1.0], "b": [13.0]}, COST,
         "Best in total cost is a: 1 USD. Next is b, 1,200 % more (one run, no interval)."),
        # more is better
        ({"a": [0.5], "b": [0.8]}, BUSY, "Best in GPU time in use is b: 80 %. Next is a, 37.5 % less (one run, no interval)."),
        ({"a": [0.2], "b": [0.8], "c": [0.6]}, BUSY,
         "Best in GPU time in use is b: 80 %. Next is c, 25.0 % less (one run, no interval)."),
        # numbers below 0: of -10 and -8 the second is a fifth more
        ({"a": [-10.0], "b": [-8.0]}, "own", "Best in own is a: -10. Next is b, 20.0 % more (one run, no interval)."),
        # several runs, equal differences in all
        ({"a": around(10.0), "b": around(12.0)}, JCT,
         "Best in mean completion time is a: 10.0 s (95 % interval 7.5 to 12.5). Next is b, 20.0 % longer."),
        ({"b": around(12.0), "a": around(10.0)}, COST,
         "Best in total cost is a: 10.0 USD (95 % interval 7.5 to 12.5). Next is b, 20.0 % more."),
        # differences 9, 10, 11: 10 +- 2.484
        ({"a": [10.0] * 3, "b": around(20.0)}, JCT,
         "Best in mean completion time is a: 10 s. Next is b, 100 % (75 to 125 %) longer."),
        ({"a": [0.0] * 3, "b": around(10.0)}, LATE,
         "Best in jobs that end late is a: 0. Next is b, with 10.0 (95 % interval 7.5 to 12.5)."),
        # differences 1, 2, 3: 2 +- 2.484 has 0 in it; 2, 3, 4: 3 +- 2.484 has not
        ({"a": [10.0] * 3, "b": around(12.0)}, JCT,
         "Best in mean completion time is a: 10 s. The runs show no difference from it for b."),
        ({"a": [10.0] * 3, "b": around(13.0), "c": around(12.0), "d": [10.0] * 3}, JCT,
         "Best in mean completion time is a: 10 s. The runs show no difference from it for c, d. "
         "Next is b, 30 % (5 to 55 %) longer."),
        ({"a": [1.0] * 3, "b": [0.4, 0.5, 0.6]}, BUSY,
         "Best in GPU time in use is a: 100 %. Next is b, 50 % (25 to 75 %) less."),
    ],
)  # fmt: skip
def test_the_answer(values, metric, line):
    assert told(values, metric) == line


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"a": [1.0]}, "a [informed]: mean completion time 1 s."),
        ({"a": [1.0], "b": [1.0], "c": [2.0]},
         "Best in mean completion time is a [informed]: 1 s. Equal: b. Next is c, 100 % longer (one run, no interval)."),
        ({"b": [1.0], "c": [1.0], "a": [1.0]}, "Best in mean completion time is b: 1 s. Equal: c, a [informed]."),
        ({"b": [1.0], "a": [2.0]},
         "Best in mean completion time is b: 1 s. Next is a [informed], 100 % longer (one run, no interval)."),
    ],
)  # fmt: skip
def test_who_asked_for_jobs_to_come_is_marked(values, line):
    runs = runs_of(values, JCT)
    runs["informed"] = [1.0 if name == "a" else np.nan for name in runs["policy"]]
    found = compared(runs, [JCT])
    assert words_of(found) == [line]
    assert [name for name in sheet_of(found, {})["policy"] if name.startswith("a")] == [
        "a [informed]"
    ]
    assert latex_of(found).count(r"\textbf") == sum(value == [1.0] for value in values.values())


@pytest.mark.parametrize(
    ("others", "listed"),
    [(1, "p1"), (2, "p1, p2"), (5, "p1, p2, p3, p4, p5"), (6, "p1, p2, p3, p4 and 2 others"), (9, "p1, p2, p3, p4 and 5 others")],
)  # fmt: skip
def test_of_many_equal_ones_four_are_named(others, listed):
    assert f"Equal: {listed}." in told({f"p{k}": [1.0] for k in range(others + 1)})


@pytest.mark.parametrize(
    ("bounds", "behind"),
    [
        ([BOUND], ", 2 times a bound that no schedule is below."),
        ([{**BOUND, "bound": 7000.0}], ", 1.029 times a bound that no schedule is below."),
        ([{**BOUND, "bound": 7200.0}], ", equal to a bound that no schedule is below."),
        ([{**BOUND, "bound": 7200.0 / 1.0004}], ", equal to a bound that no schedule is below."),
        ([{**BOUND, "bound": 7200.0 / 1.0006}], ", 1.001 times a bound that no schedule is below."),
        ([{**BOUND, "bound": 7200.0 * 1.1}], ", 0.9091 times a bound that no schedule is below."),
        ([{**BOUND, "bound": 0.0}], "."),
        ([{**BOUND, "view": "elastic"}, {**BOUND, "bound": 1800.0}], ", 4 times a bound that no schedule is below."),
        ([{**BOUND, "view": "elastic"}], "."),
        ([{**BOUND, "metric": "makespan_s"}], "."),
        ([], "."),
    ],
)  # fmt: skip
def test_the_distance_from_a_bound(bounds, behind):
    """That of the jobs as the best policy has them, for the metric that ranks."""
    line = told({"a": [7200.0], "b": [7200.0]}, bounds=bounds)
    assert line == f"Best in mean completion time is a: 2 h{behind} Equal: b."


@pytest.mark.parametrize(
    ("metric", "a", "b", "sentence"),
    [
        # The differences are 2 +- 0 of 10; 10 +- 2.484 of 10; -0.5 +- 0.25 of 1.
        ("energy_kwh", around(12.0), around(10.0), " The energy of a is 20.0 % more than that of b."),
        ("energy_kwh", around(10.0), around(12.0), ""),
        ("energy_kwh", around(20.0), [10.0] * 3, " The energy of a is 100 % (75 to 125 %) more than that of b."),
        ("makespan_s", around(20.0), [10.0] * 3, " The makespan of a is 100 % (75 to 125 %) longer than that of b."),
        ("preemptions", around(20.0), [10.0] * 3, " The preemptions of a are 100 % (75 to 125 %) more than those of b."),
        ("preemptions", around(20.0), [0.0] * 3, " The preemptions of a: 20.0 (95 % interval 17.5 to 22.5), b has none."),
        ("goodput", [0.4, 0.5, 0.6], [1.0] * 3,
         " The GPU time that is work and is not lost of a is 50 % (25 to 75 %) less than that of b."),
        ("allocation_ratio", [0.4, 0.5, 0.6], [1.0] * 3, " The GPUs that jobs hold of a are 50 % (25 to 75 %) less than those of b."),
        ("energy_kwh", around(12.0), [10.0] * 3, ""),  # 2 +- 2.484: not shown
        ("mean_decision_cpu_s", around(20.0), [10.0] * 3, ""),  # not judged
        ("energy_kwh", [12.0] * 3, None, ""),  # b has none of it
        ("energy_kwh", None, [12.0] * 3, ""),
    ],
)  # fmt: skip
def test_what_the_best_costs_elsewhere(metric, a, b, sentence):
    of = {name: values for name, values in {"a": a, "b": b}.items() if values}
    line = told({"a": around(10.0), "b": around(12.0)}, more={metric: of})
    best = "Best in mean completion time is a: 10.0 s (95 % interval 7.5 to 12.5)."
    assert line == f"{best} Next is b, 20.0 % longer.{sentence}"


def test_what_the_best_costs_in_at_most_four_metrics():
    worse = {"a": around(12.0), "b": around(10.0)}
    names = ["makespan_s", "total_cost", "energy_kwh", "carbon_kg", "envy_gpu_h"]
    line = told(
        {"a": around(10.0), "b": around(12.0)},
        more=dict.fromkeys(names, worse),
    )
    assert line.count("than that of b.") == 4
    assert "The carbon dioxide of a is" in line
    assert "envy" not in line


def test_each_metric_is_looked_at_for_itself():
    """One that is not judged, one that a lacks, one in which a is best too, one not shown: then one that costs."""
    line = told(
        {"a": around(10.0), "b": around(12.0)},
        more={
            "mean_decision_cpu_s": {"a": around(20.0), "b": around(10.0)},
            "carbon_kg": {"b": around(10.0)},
            "makespan_s": {"a": around(10.0), "b": around(12.0)},
            "late_jobs": {"a": around(12.0), "b": [10.0] * 3},
            "tardiness_cost": {"a": around(20.0), "b": [0.0] * 3},
            "energy_cost": {"a": around(12.0), "b": around(10.0)},
        },
        currency="EUR",
    )
    _, _, behind = line.partition("Next is b, 20.0 % longer. ")
    assert behind == (
        "The cost of tardiness of a: 20.0 EUR (95 % interval 17.5 to 22.5), b has none. "
        "The cost of energy of a is 20.0 % more than that of b."
    )


def test_differences_of_two_runs():
    """Of two runs 11 and 13 against 10 and 12, the difference is 1 in both."""
    line = told(
        {"a": [5.0, 6.0], "b": [7.0, 8.0]}, more={COST: {"a": [11.0, 13.0], "b": [10.0, 12.0]}}
    )
    assert line.endswith("The total cost of a is 9.09 % more than that of b.")


def test_one_run_says_nothing_of_other_metrics():
    line = told({"a": [10.0], "b": [20.0]}, more={"energy_kwh": {"a": [12.0], "b": [6.0]}})
    assert line.endswith("Next is b, 100 % longer (one run, no interval).")


def test_a_best_without_chance_beside_others_with_it():
    """Its own number is one run; that of b is three, and so the difference has an interval."""
    line = told({"a": [10.0] * 3, "b": around(20.0)}, random={"a": False, "b": True})
    assert line == "Best in mean completion time is a: 10 s. Next is b, 100 % (75 to 125 %) longer."


@pytest.mark.parametrize(
    ("b", "behind"),
    [
        ([12.0, 12.0], "Next is b, 20.0 % longer."),
        (
            [12.0, 10.0, 12.0],
            "The runs show no difference from it for b.",
        ),  # one of 39 traces shows none
        (
            [12.0, 9.0],
            "The runs show no difference from it for b.",
        ),  # on the file longer, on all drawn traces shorter
        ([10.0, 12.0], "The runs show no difference from it for b."),
    ],
)
def test_of_a_file_the_drawn_traces_tell(b, behind):
    (line,) = words_of(compared(drawn({"a": [10.0, 10.0], "b": b})))
    assert line == f"Best in mean completion time is a: 10 s. {behind}"


def test_an_answer_for_each_setting():
    parts = [
        runs_of({"a": [7200.0], "b": [2 * 7200.0 * nodes - 7200.0]}, nodes=nodes, gpus=gpus)
        for nodes, gpus in ((1, 8), (2, 4))
    ]
    bounds = [{"nodes": 2, "gpus": 4, **BOUND}]
    found = compared(pd.concat(parts), settings=["nodes", "gpus"], bounds=bounds)
    assert words_of(found) == [
        "With nodes 1, gpus 8: Best in mean completion time is a: 2 h. Equal: b.",
        "With nodes 2, gpus 4: Best in mean completion time is a: 2 h, 2 times a bound that no schedule is below. "
        "Next is b, 200 % longer (one run, no interval).",
    ]  # fmt: skip


def test_policies_that_only_rounding_tells_apart_are_equal():
    """Of times of 10^9 s, a million times the last digit of a float: as they were named, of one rank, both in bold."""
    times = [1e9 * hours for hours in (1.9, 2.0, 2.1)]
    noisy = [time * (1 - 1e-15) for time in times]
    found = compared(runs_of({"c": [2 * time for time in times], "a": times, "b": noisy}))
    assert sheet_of(found, {})["policy"].tolist() == ["a", "b", "c"]
    assert sheet_of(found, {})["rank"].tolist() == ["1.5", "1.5", "3"]
    assert words_of(found)[0].startswith("Best in mean completion time is a:")
    assert "The runs show no difference from it for b." in words_of(found)[0]
    assert [line.count("textbf") for line in latex_of(found).splitlines()[4:7]] == [1, 1, 0]


# -- tables -------------------------------------------------------------------------------------


def test_the_table_to_read():
    """Times in the unit of the largest; the CPU time behind; "-" where a policy has no such number."""
    runs = runs_of(
        {"b": around(9000.0), "a": [3600.0] * 3, "c": around(9000.0)},
        more={"preemptions": {"a": around(10.0), "b": [2.0] * 3}, "mean_decision_cpu_s": {"a": [0.002] * 3}},
        view={"a": "as given", "b": "elastic", "c": "elastic"},
    )  # fmt: skip
    found = compared(runs, ["mean_jct_s", "preemptions"])
    assert sheet_of(found, {}).to_dict("list") == {
        "rank": ["1", "2.5", "2.5"],
        "policy": ["a", "b", "c"],
        "view": ["as given", "elastic", "elastic"],
        "mean completion time (h)": ["1", "2.50000 (2.49931 to 2.50069)", "2.50000 (2.49931 to 2.50069)"],
        "preemptions": ["10.0 (7.5 to 12.5)", "2", "-"],
        "CPU time of a decision (ms)": ["2", "-", "-"],
    }  # fmt: skip
    assert list(sheet_of(found, {}, ["preemptions"])) == [
        "rank", "policy", "view", "preemptions", "CPU time of a decision (ms)",
    ]  # fmt: skip
    assert list(sheet_of(found, {}, [])) == list(sheet_of(found, {}))


def test_columns_that_were_asked_for():
    """In their order, in each table; what ranks need not be among them, nor the CPU time of a decision."""
    runs = runs_of(
        {"a": [1.0, 2.0], "b": [4.0, 6.0]},
        more={"preemptions": {"a": [3.0] * 2, "b": [1.0] * 2}, "jobs": {"a": [9.0] * 2, "b": [9.0] * 2}, CPU: {"a": [1.0] * 2}},
    )  # fmt: skip
    found = of_runs("x", runs, [], ["mean_jct_s"], "a", ("jobs", "preemptions"))
    assert sheet_of(found, {}).to_dict("list") == {
        "rank": ["1", "2"], "policy": ["a", "b"], "view": ["as given"] * 2, "jobs": ["9", "9"], "preemptions": ["3", "1"],
    }  # fmt: skip
    assert words_of(found)[0].startswith("Best in mean completion time is a")
    head, *rows = [line for line in latex_of(found).splitlines() if "&" in line]
    assert head == r"rank & policy & jobs & preemptions \\"
    assert rows == [r"1 & a & \textbf{9} & 3 \\", r"2 & b & \textbf{9} & \textbf{1} \\"]
    assert list(dict.fromkeys(found.shown["metric"])) == ["jobs", "preemptions"]
    assert {*found.table["metric"]} == {"jobs", "preemptions", "mean_jct_s", CPU}
    assert text_of(found, 1).count("preemptions") == 1  # also where only so many metrics are wanted
    assert of_runs("x", runs, [], ["jobs"], "a").shown["metric"].tolist()[-1] == CPU


def test_costs_have_the_currency_of_the_machines():
    found = compared(runs_of({"a": [4.0]}, COST), [COST], currency="EUR")
    assert list(sheet_of(found, {})) == ["rank", "policy", "view", "total cost (EUR)"]
    assert words_of(found) == ["a: total cost 4 EUR."]


@pytest.mark.parametrize(
    ("a", "ranks_of_a"),
    [
        ([12.0, 8.0, 12.0], "2 (1-2)"),  # on one of 39 drawn traces it is first, else second
        ([12.0, 12.0], "2"),
        ([12.0, 8.0], "2 (1-1)"),  # the file has it last, all traces first
        ([8.0, 8.0], "1"),
    ],
)
def test_a_rank_and_those_on_other_draws(a, ranks_of_a):
    sheet = sheet_of(compared(drawn({"a": a, "b": [10.0, 10.0]})), {})
    assert sheet.set_index("policy").loc["a", "rank"] == ranks_of_a


def test_what_is_not_judged_has_no_rank():
    """b failed in one run; the CPU time of a decision is neither good nor bad."""
    runs = runs_of({"a": [1.0, 2.0], "b": [3.0, np.nan]})
    assert sheet_of(compared(runs), {})["rank"].tolist() == ["1", "-"]
    runs = runs_of({"a": [1.0, 2.0]}, "mean_decision_cpu_s")
    assert (
        "-"
        in sheet_of(compared(runs, ["mean_jct_s", "mean_decision_cpu_s"][1:]), {})["rank"].tolist()
    )


def test_policies_in_the_order_of_their_means_over_settings():
    """a: 1 and 9, b: 4 and 4, c: 6 and 6."""
    parts = [
        runs_of({"a": [a], "c": [6.0], "b": [4.0]}, metric, nodes=nodes)
        for metric in (JCT,) for nodes, a in ((1, 1.0), (2, 9.0))
    ]  # fmt: skip
    found = compared(pd.concat(parts), settings=["nodes"])
    assert order_of(found, {}) == ["b", "a", "c"]
    assert order_of(found, {"nodes": 1}) == ["a", "b", "c"]
    assert order_of(found, {"nodes": 2}) == ["b", "c", "a"]
    even = compared(runs_of({"b": [4.0], "a": [4.0]}))  # equal ones as they were named
    assert order_of(even, {}) == ["b", "a"]
    busy = compared(runs_of({"a": [0.1], "b": [0.3], "c": [0.2]}, BUSY), [BUSY])
    assert order_of(busy, {}) == ["b", "c", "a"]


def two_settings(**more):
    """a takes 1 and 2 s on one and two nodes, b twice as long."""
    parts = [runs_of({"a": [x], "b": [2 * x]}, nodes=n, gpus=8) for n, x in ((1, 1.0), (2, 2.0))]
    return compared(pd.concat(parts), settings=["nodes", "gpus"], **more)


REASONS = [
    {"nodes": 1, "gpus": 8, "policy": "p", "reason": "no pool"},
    {"nodes": 2, "gpus": 8, "policy": "p", "reason": "no pool"},
    {"nodes": 1, "gpus": 8, "policy": "q", "reason": "no <due> dates"},
    {"nodes": 1, "gpus": 8, "policy": "r", "reason": "no pool"},
]


def test_the_whole_text():
    found = two_settings(excluded=REASONS, notes=["first", "a < b"])
    head = "rank policy     view mean completion time (s)"
    lines = [line.strip() for line in repr(found).splitlines()]
    assert lines == [
        "With nodes 1, gpus 8: Best in mean completion time is a: 1 s. Next is b, 100 % longer (one run, no interval).",
        "With nodes 2, gpus 8: Best in mean completion time is a: 2 s. Next is b, 100 % longer (one run, no interval).",
        "",
        "nodes = 1, gpus = 8", head, "1      a as given                        1",
        "2      b as given                        2", "",
        "nodes = 2, gpus = 8", head, "1      a as given                        2",
        "2      b as given                        4", "",
        "cannot run: p, r: no pool", "cannot run: q: no <due> dates", "note: first", "note: a < b",
    ]  # fmt: skip
    assert left_out(found) == lines[-4:-2]
    assert found.policies == ("a", "b")
    one = compared(runs_of({"a": [1.0]}, more={"makespan_s": {"a": [2.0]}}), [JCT, "makespan_s"])
    assert "makespan" not in text_of(one, 1)
    assert "makespan" in text_of(one)
    assert text_of(one).startswith("a: mean completion time 1 s.\n\nrank")


def test_a_notebook_shows_the_same():
    found = two_settings(excluded=REASONS, notes=["a < b"])
    tables = [
        sheet_of(found, {"nodes": n, "gpus": 8}).to_html(index=False, border=0) for n in (1, 2)
    ]
    assert found._repr_html_() == html_of(found) == (
        "<div>" + "".join(f"<p>{line}</p>" for line in words_of(found))
        + f"<p><b>nodes = 1, gpus = 8</b></p>{tables[0]}<p><b>nodes = 2, gpus = 8</b></p>{tables[1]}"
        + "<p>cannot run: p, r: no pool</p><p>cannot run: q: no &lt;due&gt; dates</p>"
        + "<p><b>Note.</b> a &lt; b</p></div>"
    )  # fmt: skip
    one = compared(runs_of({"<a>": [1.0]}))
    assert "<p>&lt;a&gt;: mean completion time 1 s.</p><p><b>jobs.csv</b></p>" in html_of(one)


def test_latex_has_the_best_in_bold():
    """Where more is better the largest; equal ones all; columns by their whole title."""
    runs = runs_of(
        {"a_1": [7200.0], "b": [10800.0], "c": [7200.0]},
        more={
            BUSY: {"a_1": [0.5], "b": [0.8], "c": [0.5]},
            "jobs_beyond_p95": {"a_1": [1.0], "b": [2.0], "c": [2.0]},
            "jobs": {"a_1": [9.0], "b": [9.0], "c": [8.0]},
            "mean_decision_cpu_s": {"a_1": [0.0], "b": [1.0], "c": [1.0]},
        },
    )  # fmt: skip
    found = compared(runs, [JCT, BUSY, "jobs_beyond_p95", "jobs", "mean_decision_cpu_s"])
    assert latex_of(found).splitlines() == [
        r"\begin{tabular}{lllllll}",
        r"\toprule",
        r"rank & policy & mean completion time (h) & GPU time in use (\%) & jobs beyond p95 & jobs & CPU time of a decision (s) \\",
        r"\midrule",
        r"1.5 & a\_1 & \textbf{2} & 50 & \textbf{1} & 9 & 0 \\",
        r"1.5 & c & \textbf{2} & 50 & 2 & \textbf{8} & 1 \\",
        r"3 & b & 3 & \textbf{80} & 2 & 9 & 1 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    views = compared(runs_of({"a": [1.0]}, view="elastic"))
    assert latex_of(views).splitlines()[0] == r"\begin{tabular}{llll}"
    assert r"1 & a & elastic & \textbf{1} \\" in latex_of(views)


def test_latex_of_settings():
    lines = latex_of(two_settings()).splitlines()
    assert [line for line in lines if line.startswith("%")] == [
        "% nodes = 1, gpus = 8",
        "% nodes = 2, gpus = 8",
    ]
    assert lines.count(r"\end{tabular}") == 2
    assert latex_of(two_settings()).split("\n\n")[1].startswith("% nodes = 2")
    assert [line for line in lines if "textbf" in line] == [
        r"1 & a & \textbf{1} \\", r"1 & a & \textbf{2} \\",
    ]  # fmt: skip


def test_latex_in_the_currency():
    assert r"\textbf{4}" in latex_of(compared(runs_of({"a": [4.0]}, COST), [COST], currency="EUR"))


@pytest.mark.parametrize(("letter", "text"), ESCAPED.items())
def test_latex_escapes(letter, text):
    assert f"1 & p{text}q & " in latex_of(compared(runs_of({f"p{letter}q": [1.0]})))


def test_jobs_of_a_file_have_a_range_on_redrawn_traces():
    """38 drawn traces of 12 s and one of 8 s: without the outermost, all are 12 s; the file itself gives 10 s."""
    found = compared(drawn({"a": [10.0, 8.0, 9.0, 12.0]}))
    assert words_of(found) == [
        "a: mean completion time 10.0 s (range on redrawn traces 8.0 to 12.0)."
    ]
    assert compared(runs_of({"a": around(10.0)})).ends == "95 % interval"
