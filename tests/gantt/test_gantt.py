"""The Gantt chart: bars where the schedule says, and readable at 1,000 jobs."""

import numpy as np
import pandas as pd
import pytest

from experiments import gantt as g
from experiments.output import write_result
from policies.registry import make_policy
from simulator import Cluster, InputError, SpeedupCurve, Workload, simulate
from simulator.workloads.andreas import AndreasScenario, generate


def shares(*rows):
    return pd.DataFrame(rows, columns=["job_id", "node", "node_type", "gpus", "start_s", "end_s"])


def test_gpus_of_a_node_are_never_drawn_over_each_other():
    workload, cluster = generate(AndreasScenario(4, 2, "high", seed=1))
    schedule = simulate(workload, cluster, make_policy("greedy")).schedule_table()
    merged = g._merged(schedule)
    bars = g._bars_by_node(merged)
    area = sum(b.height * (b.end_s - b.start_s) for b in bars)
    assert area == pytest.approx(
        (schedule["gpus"] * (schedule["end_s"] - schedule["start_s"])).sum()
    )
    for a in bars:
        for b in bars:
            apart = a.end_s <= b.start_s + 1e-6 or b.end_s <= a.start_s + 1e-6
            aside = a.row + a.height <= b.row or b.row + b.height <= a.row
            assert a is b or apart or aside
    lines = {row for b in bars for row in np.arange(b.row, b.row + b.height)}
    assert len(lines) <= cluster.total_gpus


def test_stretches_that_change_nothing_are_one_bar():
    table = shares(
        ("a", 0, "t", 1, 0.0, 1.0), ("a", 0, "t", 1, 1.0, 3.0), ("a", 0, "t", 2, 3.0, 4.0)
    )
    assert g._merged(table)["end_s"].tolist() == [3.0, 4.0]


def test_a_run_folder_with_a_thousand_jobs(tmp_path):
    workload, cluster = generate(AndreasScenario(100, 1, "high", seed=1))
    result = simulate(workload, cluster, make_policy("edf-shared"))
    write_result(result, tmp_path)
    path = g.gantt(tmp_path)
    assert path == tmp_path / "gantt.png"
    assert path.stat().st_size > 50_000
    assert path.read_bytes() == g.gantt(tmp_path, tmp_path / "again.png").read_bytes()


def test_a_rental_pool_has_one_row_a_job():
    workload = Workload(
        ["a", "b"], [0.0, 1.0], SpeedupCurve(np.array([5.0, 5.0]), np.array([0, 0]), [lambda k: k])
    )
    table = shares(("a", 0, "pool", 0.5, 0.0, 10.0), ("b", 0, "pool", 2.5, 1.0, 3.0))
    bars = g._bars_by_job(g._merged(table))
    assert [bar.row for bar in bars] == [0.0, 1.0]
    assert g.draw(table, None, "pool").axes[0].get_ylabel() == "job"
    assert len(workload) == 2
    assert Cluster.rental_pool().total_gpus == np.inf


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        g.gantt(tmp_path)
    (tmp_path / "schedule.csv").write_text("job_id,node\na,1\n")
    with pytest.raises(InputError, match="no column 'node_type'"):
        g.gantt(tmp_path)
