"""The summary of a sweep: means and paired differences by setting, as tables and as a picture."""

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments.pictures.estimates import draw_estimates, sweep_estimates
from experiments.sweep.store import Report, Store
from experiments.sweep.summary import Summary
from experiments.sweep.sweep import export
from experiments.sweep.task import Task
from simulator.errors import InputError
from simulator.statistics import mean_of_skewed

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
        "load", "policy", "minus", "metric", "mean", "lower", "upper", "replications",
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
        assert found == pytest.approx([estimate.mean, estimate.lower, estimate.upper, estimate.n])


def test_seeds_that_change_nothing_are_one_replication(tmp_path):
    folder = swept(tmp_path / "out", fixed=True)
    export(folder, summary=["cost"])
    table = pd.read_csv(folder / "summary.csv")
    assert table["replications"].tolist() == [1] * 6
    assert table["lower"].isna().all()
    assert table["mean"].tolist() == [1.0, 1.5, 0.5, 7.0, 7.0, 0.0]


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
    assert r"load & policy & minus & metric & mean & replications & 95 \% interval \\" in lines
    low, high = csv["lower"][0], csv["upper"][0]
    assert rf"1 & a &  & cost & 2.917 & 6 & {low:.4g} to {high:.4g} \\" in lines
    export(folder, format="json")
    assert len(json.loads((folder / "runs.json").read_text())) == 24


def test_an_unknown_metric_is_one_line(tmp_path):
    folder = swept(tmp_path / "out")
    with pytest.raises(InputError, match=r"--metric: got 'speed', expected one of cost$"):
        export(folder, summary=["speed"])


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
