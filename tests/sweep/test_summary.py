"""The summary of a sweep: means and paired differences by setting, as tables and as a picture."""

import itertools
import json
import traceback
from pathlib import Path

import pandas as pd
import pytest

from experiments.columns import names_of
from experiments.estimates import estimate_of
from experiments.pictures.estimates import draw_estimates, sweep_estimates
from experiments.sweep.export import message_of
from experiments.sweep.store import Report, Store
from experiments.sweep.summary import Summary
from experiments.sweep.sweep import export
from experiments.sweep.task import Task
from simulator.errors import InputError
from simulator.statistics import mean_of_skewed
from tests.errors import input_error

COSTS = {("a", 1): [1.0, 2.0, 4.0, 3.0, 5.0, 2.5], ("b", 1): [1.5, 2.0, 5.0, 3.5, 5.0, 4.0],
         ("a", 2): [7.0, 8.0, 9.0, 6.0, 5.0, 9.5], ("b", 2): [7.0, 7.0, 8.0]}  # fmt: skip


def swept(folder: Path, *, fixed: bool = False) -> Path:
    """Two policies in two settings; of one of them half the seeds are not there yet."""
    tasks, reports = [], []
    for (policy, load), costs in COSTS.items():
        for seed in range(6):
            labels = {"load": load, "policy": policy, "seed": seed}
            task = Task("sweep_functions:draw", labels, labels, fixed_jobs=fixed)
            tasks.append(task)
            if seed < len(costs):
                scalars = {"cost": costs[0 if fixed else seed], "name": "x"}
                reports.append(Report(task.key, "done", scalars, seed_used=not fixed))
    with Store(folder, create=True) as store:
        store.plan(tasks)
        store.record(reports)
    return folder


def test_means_and_paired_differences_by_setting(tmp_path, capsys):
    folder = swept(tmp_path / "out")
    assert export(folder, summary=["cost"]) == 0
    assert capsys.readouterr().out == f"{folder / 'summary.csv'}: 6 rows from 21 finished runs\n"
    table = pd.read_csv(folder / "summary.csv", keep_default_na=False)
    assert list(table.columns) == [
        "load", "policy", "minus", "metric", "mean", "lower", "upper", "replications", "failed",
    ]  # fmt: skip
    wanted = {}
    for load in (1, 2):
        a, b = COSTS["a", load], COSTS["b", load]
        wanted |= {(load, "a", ""): a, (load, "b", ""): b}
        wanted[load, "b", "a"] = [y - x for x, y in zip(a, b, strict=False)]
    keys = list(zip(table["load"], table["policy"], table["minus"], strict=True))
    assert keys == list(wanted)
    for (_, row), values in zip(table.iterrows(), wanted.values(), strict=True):
        found, estimate = (
            row[["mean", "lower", "upper", "replications"]].tolist(),
            mean_of_skewed(values),
        )
        low = estimate.lower if row["minus"] else max(0.0, estimate.lower)
        assert found == pytest.approx([estimate.mean, low, estimate.upper, estimate.n])


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.1, 0.2, 9.0], [-1.0, 1.0]])
def test_what_is_never_negative_has_no_negative_end(values):
    """A mean of times; a difference may be negative, and so may what was negative in one run."""
    whole = mean_of_skewed(values)
    assert whole.lower < 0
    assert estimate_of(values, is_difference=True) == whole
    assert estimate_of(values, is_difference=False).lower == (whole.lower if min(values) < 0 else 0)


def test_settings_whose_runs_failed_are_marked(tmp_path):
    """Of the first policy no run is finished at load 2: it stays the one that the others are compared with."""
    tasks, reports = [], []
    for load, policy, seed in itertools.product((1, 2), ("a", "b"), (0, 1)):
        labels = {"load": load, "policy": policy, "seed": seed}
        tasks.append(Task("sweep_functions:draw", labels, labels))
        fails = policy == "a" and load + seed >= 2
        scalars, error = ({}, "ValueError: no") if fails else ({"cost": 4.0 + seed}, "")
        reports.append(Report(tasks[-1].key, "failed" if fails else "done", scalars, error=error))
    with Store(tmp_path / "out", create=True) as store:
        store.plan(tasks)
        store.record(reports)
        table = Summary.of(store, ["cost"]).table
    columns = ["load", "policy", "minus", "mean", "replications", "failed"]
    assert table[columns].astype(object).fillna("none").to_numpy().tolist() == [
        [1, "a", "", 4.0, 1, 1], [1, "b", "", 4.5, 2, 0], [1, "b", "a", 0.0, 1, 0],
        [2, "a", "", "none", 0, 2], [2, "b", "", 4.5, 2, 0],
    ]  # fmt: skip
    sweep_estimates(tmp_path / "out", ["cost"], tmp_path / "summary.png")


def test_an_error_in_one_line_has_type_message_and_notes():
    def error_of(function) -> str:
        try:
            function()
        except Exception as error:
            error.add_note("policy mine, at 3 s")
            return message_of("".join(traceback.format_exception(error)))
        raise AssertionError

    assert error_of(lambda: [][1]) == "IndexError: list index out of range; policy mine, at 3 s"
    assert error_of(lambda: compile("x = = 1", "f", "exec")) == (
        "SyntaxError: invalid syntax; policy mine, at 3 s"
    )
    assert message_of("over 3 s") == "over 3 s"


def test_seeds_that_change_nothing_are_one_replication(tmp_path):
    folder = swept(tmp_path / "out", fixed=True)
    export(folder, summary=["cost"])
    table = pd.read_csv(folder / "summary.csv")
    assert table["replications"].tolist() == [1] * 6
    assert table["lower"].isna().all()
    assert table["mean"].tolist() == [1.0, 1.5, 0.5, 7.0, 7.0, 0.0]


def test_a_difference_from_a_policy_without_chance_has_all_replications(tmp_path):
    """The first policy gives the same under all seeds, the second does not."""
    tasks, reports = [], []
    for seed, cost in enumerate([3.0, 5.0, 7.0]):
        for policy, value in (("a", 1.0), ("b", cost)):
            labels = {"policy": policy, "seed": seed}
            tasks.append(Task("sweep_functions:draw", labels, labels, fixed_jobs=True))
            is_random = policy == "b"
            reports.append(Report(tasks[-1].key, "done", {"cost": value}, seed_used=is_random))
    with Store(tmp_path / "out", create=True) as store:
        store.plan(tasks)
        store.record(reports)
        table = Summary.of(store, ["cost"]).table
    assert table["replications"].tolist() == [1, 3, 3]
    assert table["mean"].tolist() == [1.0, 5.0, 4.0]


def test_formats(tmp_path):
    folder = swept(tmp_path / "out")
    for format in ("csv", "parquet", "json", "latex"):
        export(folder, summary=["cost"], format=format)
    csv = pd.read_csv(folder / "summary.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "summary.parquet"), csv, check_dtype=False
    )
    rows = json.loads((folder / "summary.json").read_text())
    assert [row["mean"] for row in rows] == pytest.approx(csv["mean"].tolist())
    lines = (folder / "summary.tex").read_text().splitlines()
    assert (
        r"load & policy & minus & metric & mean & replications & failed & 95 \% interval \\"
        in lines
    )
    low, high = csv["lower"][0], csv["upper"][0]
    assert rf"1 & a &  & cost & 2.917 & 6 & 0 & {low:.4g} to {high:.4g} \\" in lines
    export(folder, format="json")
    assert len(json.loads((folder / "runs.json").read_text())) == 24


@pytest.mark.parametrize(
    ("columns", "head"),
    [
        (["cost", "measured_cpu_s"], "load,policy,seed,status,error,cost,measured_cpu_s"),
        (["x", "seed", "cost"], "load,policy,seed,status,error,x,cost"),
        ([], "load,policy,seed,status,error,cost,x"),
    ],
)
def test_columns_of_the_runs(tmp_path, columns, head):
    """Labels, status and error stand first; a measured number is there where it was named."""
    with Store(tmp_path / "out", create=True) as store:
        labels = {"load": 1, "policy": "a", "seed": 3}
        task = Task("sweep_functions:draw", labels, labels)
        store.plan([task])
        store.record([Report(task.key, "done", {"cost": 2.0, "x": 5, "measured_cpu_s": 0.5})])
    export(tmp_path / "out", columns=columns)
    first, row = (tmp_path / "out" / "runs.csv").read_text().splitlines()
    assert first == head
    values = {"cost": "2", "x": "5", "measured_cpu_s": "0.5"}
    assert row.replace("2.0", "2") == ",".join(
        ["1,a,3,done,", *(values[n] for n in head.split(",")[5:])]
    )


def test_a_column_that_no_run_has_is_one_line(tmp_path):
    folder = swept(tmp_path / "out")
    with input_error("--columns: got 'cots', did you mean 'cost'?"):
        export(folder, columns=["cost", "cots"])
    assert not (folder / "runs.csv").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,,b", "--columns: got an empty name in 'a,,b', expected names with commas between them"),
        ("", "--columns: got an empty name in ''"),
        ("a, b,a", "--columns: got 'a' twice, expected different names"),
    ],
)
def test_names_of_an_option(text, told):
    with input_error(told):
        names_of(text, "--columns")
    assert names_of(" b , a", "--columns") == ["b", "a"]
    assert names_of(None, "--columns") == []


@pytest.mark.parametrize("metric", ["speed", ""])
def test_an_unknown_metric_is_one_line(tmp_path, metric):
    folder = swept(tmp_path / "out")
    with pytest.raises(InputError, match=rf"--metric: got '{metric}', expected one of cost$"):
        export(folder, summary=[metric])


def test_a_figure(tmp_path):
    """Intervals from five runs on, fewer runs as they are; a panel of the differences beside."""
    folder = swept(tmp_path / "out")
    sweep_estimates(folder, ["cost"], tmp_path / "summary.pdf")
    assert (tmp_path / "summary.pdf").read_bytes().startswith(b"%PDF")
    with Store(folder) as store:
        found = Summary.of(store, ["cost"])
    means, differences = draw_estimates(found.table, found.values).axes
    settings = [f"load = {load}, {policy}" for load in (1, 2) for policy in "ab"]
    assert [t.get_text() for t in means.get_yticklabels()] == settings
    assert len(means.containers) == 3
    drawn = [list(line.get_xdata()) for line in means.lines if line.get_linestyle() == "None"]
    assert COSTS["b", 2] in drawn
    assert differences.get_xlabel() == "cost, minus a"
    assert len(differences.containers) == 1
