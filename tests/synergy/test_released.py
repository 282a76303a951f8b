"""Agreement with the released simulator on its own traces."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from policies.synergy import synergy
from simulator.workloads.synergy import cluster, deployment_trace, with_sensitivity


@pytest.mark.parametrize(("mechanism", "hours"), [("proportional", 15.25), ("tune", 11.00)])
def test_makespan_of_the_static_trace(run, mechanism, hours):
    """The released simulator replays this trace in 183 and 132 rounds."""
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace("static"), servers, released=True, round_s=300)
    policy = synergy("fifo", mechanism, released=True)
    result = run(workload, servers, policy, finish_at_tick=True)
    assert result.makespan_s / 3600 == pytest.approx(hours)


def test_makespan_of_opt_within_a_round(run):
    """10.58 h there; among equally good allocations of a round ours takes others."""
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace("static"), servers, round_s=300)
    result = run(workload, servers, synergy("fifo", "opt", released=True), finish_at_tick=True)
    assert abs(result.makespan_s / 3600 - 10.58) <= 300 / 3600 + 0.005


def test_jobs_end_at_the_end_of_a_round(run):
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace("static"), servers, released=True)
    released = run(
        workload, servers, synergy("fifo", "proportional", released=True), finish_at_tick=True
    )
    exact = run(workload, servers, synergy("fifo", "proportional"))
    assert (released.completion_s % 300 == 0).all()
    assert (released.completion_s % 1 == 0).all()
    assert released.completion_s.mean() > exact.completion_s.mean()


@pytest.mark.parametrize("name", ["trace_static_100", "trace_dynamic_srtf"])
def test_tables_agree_with_the_collected_facts(name):
    folder = os.environ.get("SCHEDLAB_FACTS")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder of collected facts")
    with (Path(folder) / "synergy" / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    trace = deployment_trace("static" if "static" in name else "dynamic")
    assert len(rows) == len(trace)
    for job, row in enumerate(rows):
        duration_s = float(row["iterations"]) * float(row["iter_time_proportional_s"])
        assert trace.performance.duration_s[job] == pytest.approx(duration_s, abs=1e-2)
        assert trace.num_gpus[job] == int(row["gpus"])
