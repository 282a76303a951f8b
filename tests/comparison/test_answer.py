"""The answer in words, tables for people, LaTeX and pictures, from numbers made by hand."""

from pathlib import Path

import pandas as pd
import pytest

from experiments.comparison.answer import Comparison, latex_of, sheet_of, text_of, words_of
from experiments.comparison.estimating import best_of, estimates, ranks, values_of
from experiments.comparison.metrics import digits, metric_of
from experiments.comparison.pictures import key_words, pictures_of
from tests.command import done, refused


def made(values: dict[str, list[float]], metric="mean_jct_s", more=None, **columns) -> Comparison:
    """A comparison of policies with these numbers, a seed each."""
    rows = [
        {"policy": name, "view": "as given", "seed": k, "draw": 0, "random": True, metric: value}
        | {other: of[name][k] for other, of in (more or {}).items()}
        for name, numbers in values.items()
        for k, value in enumerate(numbers)
    ]
    runs, metrics = pd.DataFrame(rows), [metric, *(more or {})]
    bounds = pd.DataFrame([{"view": "as given", "metric": "mean_jct_s", "bound": 3600.0}])
    excluded = pd.DataFrame({"policy": ["pool"], "reason": ["it needs a pool"]})
    table, ranked = estimates(runs, [], metrics, ""), ranks(runs, [], metrics)
    return Comparison(
        "jobs.csv", tuple(metrics), (), "", runs, table, ranked, bounds, excluded, ("told",), "USD"
    )


def drawn(first: float, *others: float) -> pd.DataFrame:
    """Runs of a trace and of 40 traces drawn from it: b always takes 10, a as is said, the last of ``others`` to the end."""
    times = [first, *others, *[others[-1]] * (40 - len(others))]
    rows = [
        {"policy": name, "view": "as given", "seed": draw, "draw": draw, "random": True, "mean_jct_s": value}
        for draw, a in enumerate(times)
        for name, value in (("a", a), ("b", 10.0))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_interval_of_a_rank_is_of_ranks_that_there_were():
    """On one of 40 drawn traces a is first, on the others second: its rank is 2, from 1 to 2, nothing in between."""
    found = ranks(drawn(12.0, 8.0, 12.0), [], ["mean_jct_s"]).set_index("policy")
    assert found.loc["a", ["rank", "lower", "upper"]].tolist() == [2, 1, 2]
    assert found.loc["b", ["rank", "lower", "upper"]].tolist() == [1, 1, 1]


def test_the_best_on_a_trace_is_the_best_on_the_trace_itself():
    """Not on a trace that is drawn from it."""
    runs = drawn(9.0, 12.0)
    assert best_of(values_of(runs, "mean_jct_s"), "mean_jct_s") == "a"
    assert best_of(values_of(drawn(12.0, 9.0), "mean_jct_s"), "mean_jct_s") == "b"


HOURS = [3600.0 * hours for hours in (1.9, 2.0, 2.1, 1.95, 2.05)]


def test_the_best_by_how_much_and_what_it_costs_elsewhere():
    """Means 2 h and 2.2 h, difference 0.2 h in every run; energy 12 against 10."""
    found = made(
        {"b": [x + 720.0 for x in HOURS], "a": HOURS, "c": [x + 5 * s for x, s in zip(HOURS, (1, -1, 1, -1, 1), strict=True)]},
        more={"energy_kwh": {"a": [12.0] * 5, "b": [10.0, 10.1, 9.9, 10.0, 10.0], "c": [12.0] * 5}},
    )  # fmt: skip
    (line,) = words_of(found)
    assert line.startswith(
        "Best in mean completion time is a: 2.000 h (95 % interval 1.902 to 2.098)"
    )
    assert ", 2 times a bound that no schedule is below." in line
    assert "No difference from it is shown for c." in line
    assert "Next is b, 10" in line
    assert "The energy of a is 20" in line


def test_one_run_says_so():
    (line,) = words_of(made({"a": [7200.0], "b": [10800.0], "c": [7200.0]}))
    assert line == (
        "Best in mean completion time is a: 2 h, 2 times a bound that no schedule is below. Equal: c. "
        "Next is b, 50.0 % longer (one run, no interval)."
    )


def test_of_nothing_there_is_no_percentage():
    """No job of the best is late."""
    (line,) = words_of(made({"a": [0.0], "b": [2.0], "c": [3.0]}, "late_jobs"))
    assert line.endswith("Next is b, with 2 (one run, no interval).")


def test_more_is_better_where_it_is():
    (line,) = words_of(made({"a": [0.5], "b": [0.8]}, "gpu_utilisation"))
    assert (
        line == "Best in GPU time in use is b: 80 %. Next is a, 37.5 % less (one run, no interval)."
    )


def test_the_table_to_read():
    sheet = sheet_of(made({"b": [x + 720.0 for x in HOURS], "a": HOURS}), {})
    assert list(sheet.columns) == ["rank", "policy", "view", "mean completion time (h)"]
    assert sheet["policy"].tolist() == ["a", "b"]
    assert sheet["rank"].tolist() == ["1", "2"]
    assert sheet.iloc[1, 3].startswith("2.20")
    text = text_of(made({"a": HOURS}))
    assert "cannot run: pool: it needs a pool" in text
    assert text.endswith("note: told")


def test_policies_that_only_rounding_tells_apart_are_equal():
    """Of times of 10^9 s, a million times the last digit of a float: as they were named, of one rank, both in bold."""
    times = [1e9 * hours for hours in (1.9, 2.0, 2.1)]
    noisy = [time * (1 - 1e-15) for time in times]
    found = made({"c": [2 * time for time in times], "a": times, "b": noisy})
    assert sheet_of(found, {})["policy"].tolist() == ["a", "b", "c"]
    assert sheet_of(found, {})["rank"].tolist() == ["1.5", "1.5", "3"]
    assert words_of(found)[0].startswith("Best in mean completion time is a:")
    assert "No difference from it is shown for b." in words_of(found)[0]
    assert [line.count("textbf") for line in latex_of(found).splitlines()[4:7]] == [1, 1, 0]


def test_latex_has_the_best_in_bold():
    text = latex_of(made({"a_1": [7200.0], "b": [10800.0]}))
    assert r"\textbf{2}" in text
    assert r"a\_1" in text
    assert "3 " in text
    assert r"\textbf{3}" not in text
    assert text.count(r"\\") == 3


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [(3.14159, 0.2, "3.14"), (1234.5, 80.0, "1,234"), (0.5, 0.0, "0.5"), (float("nan"), 1.0, "-")],
)
def test_digits_of_a_number_are_those_that_its_interval_knows(value, half, text):
    assert digits(value, half) == text


def test_units():
    assert metric_of("p95_jct_s").title(100.0) == "p95 completion time (s)"
    assert metric_of("p95_jct_s").title(4000.0) == "p95 completion time (h)"
    assert metric_of("total_cost").title(5.0, "EUR") == "total cost (EUR)"
    assert metric_of("my_own_s").title(5.0) == "my own (s)"
    assert key_words("cluster.gpus_per_node") == "GPUs per node"
    assert key_words("decisions.round_s") == "round (s)"
    assert key_words("cluster.groups.new.num_nodes") == "number of nodes, new"


def test_the_command_on_a_file_of_jobs(tmp_path):
    """Words, table and files; the same command again makes no run; pictures have titles in words."""
    rows = "job_id,submit_time_s,duration_s,num_gpus\n" + "".join(
        f"j{k},{60 * k},{200 + 37 * (k % 7)},{1 + k % 2}\n" for k in range(30)
    )
    (tmp_path / "jobs.csv").write_text(rows)
    words = [
        "compare",
        "jobs.csv",
        "--nodes",
        "1",
        "--gpus",
        "4",
        "--draws",
        "39",
        "--out",
        "found",
    ]
    words += ["--policy", "fifo-strict", "--policy", "srpt", "--policy", "rental-equi"]
    first = done(*words, cwd=tmp_path)
    assert first.stdout.startswith("Best in mean completion time is ")
    assert "cannot run: rental-equi: " in first.stdout
    assert "78 of 78" in first.stderr or "80 of 80" in first.stderr
    names = {path.name for path in (tmp_path / "found").iterdir()}
    assert {
        "answer.txt",
        "comparison.csv",
        "comparison.parquet",
        "comparison.tex",
        "forest.svg",
    } <= names
    svg = (tmp_path / "found" / "forest.svg").read_text()
    assert "mean completion time (" in svg
    assert "rental-equi (cannot run)" in svg
    again = done(*words, cwd=tmp_path)
    assert again.stdout == first.stdout
    more = done(*words, "--over", "cluster.gpus_per_node=4,6", "--draws", "1", cwd=tmp_path)
    assert more.stdout.startswith("With cluster.gpus_per_node 4: ")
    assert "lines.svg" in more.stdout
    assert "GPUs per node" in (tmp_path / "found" / "lines.svg").read_text()
    assert "expected KEY=a,b,c" in refused(*words, "--over", "nodes", cwd=tmp_path)


def test_pictures_of_settings(tmp_path):
    """Two swept keys: a heat map for each policy."""
    cells = []
    for nodes in (2, 4):
        for gpus in (4, 8):
            part = made({"a": [10.0 * nodes, 12.0], "b": [gpus, 20.0]}).runs
            cells.append(part.assign(nodes=nodes, gpus=gpus))
    runs = pd.concat(cells, ignore_index=True)
    settings = ("nodes", "gpus")
    table = estimates(runs, settings, ["mean_jct_s"], "a")
    empty = pd.DataFrame(columns=["view", "metric", "bound", "policy", "reason", *settings])
    found = Comparison(
        "x.toml", ("mean_jct_s",), settings, "a", runs, table,
        ranks(runs, settings, ["mean_jct_s"]), empty, empty,
    )  # fmt: skip
    ((name, figure),) = pictures_of(found)
    assert name == "heat"
    assert [ax.get_title() for ax in figure.axes[:2]] == ["b", "a"]  # the best first
    figure.savefig(Path(tmp_path) / "heat.png")
