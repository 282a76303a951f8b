"""Jobs that leave: against Erlang B (tests/queueing has Erlang A), at simultaneous events, and in every table."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.bounds import alone
from experiments.analysis.explain import explain
from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.formulas import formula_line
from experiments.scenario.output import write_result
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator import InfeasibleDecision, InputError, Result
from simulator import theory as q
from simulator.statistics import student
from tests.core.jobs import fixed, nodes
from tests.core.jobs import run as simulated


def scenario(policy: str = "fifo", gpus: int = 1, seed: int = 0, **jobs: object) -> Scenario:
    workload = {"kind": "poisson", "num_jobs": 3000, "arrival_rate_per_h": 0.9 * gpus, **jobs}
    cluster = {"kind": "nodes", "num_nodes": 1, "gpus_per_node": gpus}
    keys = {"policy": policy, "seed": seed, "workload": workload, "cluster": cluster}
    return Scenario.model_validate(keys)


def made(submit_s, duration_s, patience_s, num_gpus=None):
    return fixed(submit_s, duration_s, num_gpus, patience_s=patience_s)


def on_gpus(workload, gpus=1, policy="fifo-strict", **options):
    return simulated(workload, nodes(gpus), policy, **options)


COUNT = 1200


@cache
def results(gpus: int, duration_s: str, patience: str | float) -> list[Result]:
    """Replications, of which the first 200 jobs warm up."""
    jobs = {"num_jobs": COUNT, "duration_s": duration_s, "patience": patience}
    return [run(scenario(gpus=gpus, seed=seed, **jobs), False) for seed in range(8)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("gpus", "duration_s", "patience", "expected"),
    [
        (1, "exponential:3600", 0, q.erlang_b(0.9, 1)),
        (4, "hyperexponential:3600,cv2=4", 0, q.erlang_b(3.6, 4)),
    ],
)
def test_the_share_of_jobs_that_leave(gpus, duration_s, patience, expected):
    runs = results(gpus, duration_s, patience)
    found = student([r.summary((200, COUNT))["lost_share"] for r in runs], 0.99)
    assert found.lower <= expected <= found.upper
    assert found.upper - found.lower < 0.4 * expected  # the test can tell


def test_more_load_than_servers_is_no_trouble_where_jobs_leave():
    crowded = scenario(gpus=2, arrival_rate_per_h=6.0, patience=0)
    line = formula_line(crowded, run(crowded))
    start = f"formula (M/M/2/2, Erlang B): share of jobs that leave {q.erlang_b(6.0, 2):.4g}; "
    assert line.startswith(f"{start}this run ")
    low, high = map(float, re.search(r"interval ([\d.]+) to ([\d.]+)$", line).groups())
    assert low < q.erlang_b(6.0, 2) < high
    waiting = scenario(gpus=2, patience="exponential:600", num_jobs=50)
    assert "(M/M/2+M, Erlang A)" in formula_line(waiting, run(waiting))
    for other in (scenario(patience=600, num_jobs=50), scenario("sjf", patience=0, num_jobs=50)):
        assert formula_line(other, run(other)) == ""


def test_a_departure_comes_after_the_decisions_of_its_instant():
    """The GPU is free again at 10 s: who may wait until then gets it, who may not has left."""
    on_time = on_gpus(made([0, 4, 10], [10, 5, 5], [0, 6, 0]))
    assert on_time.left.tolist() == [False, False, True]
    assert on_time.first_start_s[:2].tolist() == [0.0, 10.0]
    assert on_time.completion_s.tolist() == [10.0, 15.0, 10.0]
    early = on_gpus(made([0, 4, 10], [10, 5, 5], [0, 5.5, 0]))
    assert early.left.tolist() == [False, True, False]
    assert early.completion_s.tolist() == [10.0, 9.5, 15.0]
    together = on_gpus(made([0, 0], [10, 5], [0, 0]), gpus=2)
    assert not together.left.any()


def test_endless_patience_changes_nothing():
    submit_s, duration_s = np.arange(50.0), np.tile([3.0, 1.0, 2.5], 17)[:50]
    plain = on_gpus(made(submit_s, duration_s, None), gpus=2)
    patient = on_gpus(made(submit_s, duration_s, [np.inf] * 50), gpus=2)
    table = patient.jobs_table()
    assert set(table["status"]) == {"done"}
    pd.testing.assert_frame_equal(plain.jobs_table(), table.drop(columns="status"))
    pd.testing.assert_frame_equal(plain.decisions_table(), patient.decisions_table())
    assert plain.summary() | {"lost_jobs": 0, "lost_share": 0.0} == patient.summary()
    assert "lost_jobs" not in plain.summary()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_invariants(data):
    """A job that waits longer than it may leaves, at that instant and without GPUs; nobody else does."""
    count = data.draw(st.integers(1, 12))
    numbers = st.lists(st.integers(0, 20), min_size=count, max_size=count)
    submit_s = np.sort(np.array(data.draw(numbers), dtype=float))
    duration_s = np.array(data.draw(numbers), dtype=float) + 1
    patience_s = np.array(data.draw(numbers), dtype=float)
    demand = data.draw(st.lists(st.integers(1, 2), min_size=count, max_size=count))
    policy = data.draw(st.sampled_from(["fifo", "fifo-strict", "fifo-backfill", "sjf", "srpt"]))
    result = on_gpus(made(submit_s, duration_s, patience_s, demand), gpus=2, policy=policy)
    left, wait_s = result.left, result.first_start_s - submit_s
    assert (np.isnan(result.first_start_s) == left).all()
    assert (wait_s[~left] <= patience_s[~left]).all()
    assert (result.completion_s[left] == (submit_s + patience_s)[left]).all()
    assert (result.gpu_seconds[left] == 0).all()
    assert result.gpu_seconds[~left] == pytest.approx((duration_s * demand)[~left])
    summary = result.summary()
    assert summary["mean_jct_s"] == pytest.approx((result.completion_s - submit_s)[~left].mean())
    assert summary["makespan_s"] == result.completion_s[~left].max() - submit_s[0]
    assert summary["lost_jobs"] == left.sum()
    assert all(v == v for v in summary.values())
    timeline = result.table("timeline")
    assert (timeline["queue"] >= 0).all()
    assert timeline["queue"].iloc[-1] == timeline["running"].iloc[-1] == 0


def test_the_files_of_a_run(tmp_path):
    result = on_gpus(made([0, 4, 20], [10, 5, 5], [0, 5.5, 0]), stream_to=None)
    write_result(result, tmp_path)
    jobs = pd.read_csv(tmp_path / "jobs.csv")
    assert jobs["status"].tolist() == ["done", "left", "done"]
    for empty in ("first_start_s", "first_wait_s", "slowdown"):
        assert jobs[empty].isna().tolist() == [False, True, False]
    assert jobs["tardiness_s"].tolist() == [0, 0, 0]
    assert explain(tmp_path, "j1")[-1] == "10 s: leaves before it starts; its patience is over."
    streamed = on_gpus(made([0, 4, 20], [10, 5, 5], [0, 5.5, 0]), stream_to=tmp_path / "s")
    assert streamed.left.tolist() == [False, True, False]
    assert pd.read_parquet(tmp_path / "s" / "jobs.parquet")["status"].tolist() == [
        "done",
        "left",
        "done",
    ]


def test_mistakes_are_one_line():
    with pytest.raises(InputError, match=r"workload\.patience.*positive"):
        run(scenario(patience="exponential:-1"))
    with pytest.raises(InputError, match=r"workload\.patience.*expected deterministic"):
        ScenarioChecks()(scenario(patience="never"))
    with pytest.raises(InputError, match="patience_s is -1"):
        made([0.0], [1.0], [-1.0])
    with pytest.raises(InputError, match=r"patience_s has shape"):
        made([0.0], [1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="window 1:2: all its jobs left"):
        on_gpus(made([0, 1], [10, 1], [0, 0])).summary((1, 2))
    with pytest.raises(InputError, match="expected jobs that stay"):
        alone(made([0.0], [1.0], [1.0]), nodes())
    idle = {"decisions": {"round_s": 60.0}}  # decisions come later than the jobs leave
    with pytest.raises(InfeasibleDecision, match="all 20 jobs left"):
        run(Scenario.model_validate(scenario(patience=0, num_jobs=20).model_dump() | idle))


def test_head_keeps_the_patience():
    workload = made([0, 1, 2], [1, 1, 1], [3, 4, 5])
    assert workload.head(2).patience_s.tolist() == [3, 4]
    assert replace(workload, notes=("x",)).patience_s.tolist() == [3, 4, 5]


@pytest.mark.parametrize(("options", "start_s"), [({}, 30.0), ({"round_s": 100.0}, 100.0)])
def test_who_stood_behind_a_job_that_leaves_starts_at_the_next_decision(options, start_s):
    """The job of two GPUs leaves at 30 s."""
    jobs = made([0, 0, 0], [500, 10, 10], [np.inf, 30, np.inf], [1, 2, 1])
    assert on_gpus(jobs, gpus=2, **options).first_start_s[2] == start_s
