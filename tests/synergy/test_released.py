"""Agreement with the released simulator on its own traces."""

import csv
import heapq
import math
import os
from pathlib import Path

import pytest

from policies.synergy import synergy
from simulator.workloads.synergy import cluster, deployment_trace, dnn_models, with_sensitivity


def test_makespan_of_opt_is_that_of_a_tie(run):
    """The released simulator needs 127 rounds (10.58 h), ours 126: who gets what is a tie."""
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace("static"), servers, round_s=300)
    policy = synergy("fifo", "opt", released=True, solver="highs")
    result = run(workload, servers, policy, finish_at_tick=True)
    assert result.makespan_s / 300 == pytest.approx(126)


FACTS = os.environ.get("SCHEDLAB_FACTS")


def facts(name):
    return list(csv.DictReader((Path(FACTS) / "synergy" / f"{name}.csv").open()))


def ends_by_hand(iterations, iteration_s):
    """FIFO, 32 GPUs, jobs of one GPU: whole iterations a round, the next free GPU to the next job."""
    free_from = [0] * 32
    ends = []
    for count, seconds in zip(iterations, iteration_s, strict=True):
        start = heapq.heappop(free_from)
        end = start + math.ceil(count / math.floor(300 / seconds + 1e-9))
        heapq.heappush(free_from, end)
        ends.append(300 * end)
    return ends


def static_jobs():
    """Whole iterations of the static trace's jobs, and seconds of one; also as collected."""
    trace = deployment_trace("static")
    seconds = [dnn_models()[model].iteration_time_s for model in trace.model]
    iterations = [round(d / s) for d, s in zip(trace.performance.duration_s, seconds, strict=True)]
    yield pytest.param(iterations, seconds, id="trace")
    if FACTS:
        rows = facts("trace_static_100")
        seconds = [float(row["iter_time_proportional_s"]) for row in rows]
        yield pytest.param([int(row["iterations"]) for row in rows], seconds, id="facts")


@pytest.mark.parametrize(("iterations", "seconds"), list(static_jobs()))
def test_each_job_of_the_static_trace_ends_in_the_round_worked_out_by_hand(
    run, iterations, seconds
):
    servers = cluster(4)
    workload = with_sensitivity(deployment_trace("static"), servers, released=True, round_s=300)
    policy = synergy("fifo", "proportional", released=True)
    result = run(workload, servers, policy, finish_at_tick=True)
    by_hand = ends_by_hand(iterations, seconds)
    assert result.completion_s == pytest.approx(by_hand)
    assert max(by_hand) / 3600 == pytest.approx(15.25)


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
