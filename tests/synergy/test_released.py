"""Agreement with the released simulator on its own traces."""

import csv
import os
from pathlib import Path

import pytest

from policies.synergy import synergy
from simulator.workloads.networks import cluster, with_sensitivity
from simulator.workloads.synergy import deployment_trace


@pytest.mark.long
def test_makespan_of_opt_is_that_of_a_tie(run):
    """The released simulator needs 127 rounds (10.58 h), ours 126: who gets what is a tie."""
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace("static"), servers, round_s=300)
    policy = synergy("fifo", "opt", released=True, solver="highs")
    result = run(workload, servers, policy, finish_at_round=True)
    assert result.makespan_s / 300 == pytest.approx(126)


FACTS = os.environ.get("SCHEDLAB_FACTS")


def facts(name):
    return list(csv.DictReader((Path(FACTS) / "synergy" / f"{name}.csv").open()))


@pytest.mark.skipif(not FACTS, reason="SCHEDLAB_FACTS names no folder of collected facts")
@pytest.mark.parametrize("name", ["trace_static_100", "trace_dynamic_srtf"])
def test_tables_agree_with_the_collected_facts(name):
    rows = facts(name)
    trace = deployment_trace("static" if "static" in name else "dynamic")
    assert len(rows) == len(trace)
    for job, row in enumerate(rows):
        duration_s = float(row["iterations"]) * float(row["iter_time_proportional_s"])
        assert trace.performance.duration_s[job] == pytest.approx(duration_s, abs=1e-2)
        assert trace.num_gpus[job] == int(row["gpus"])
