"""Schedules of a scheduler that has no line of schedlab pass the check of every task at size s."""

import math

import numpy as np
import pandas as pd
import pytest

from experiments.bench import task
from experiments.bench.check import check_schedule, rules_of
from experiments.scenario.build import build
from tests.bench.copies import COPIES, copy_of_task
from tests.bench.plain_scheduler import first_come, in_rounds, with_failures

TASKS = sorted(task.tasks())


def on_grid(step_s):
    return lambda time_s: math.ceil(time_s / step_s - 1e-9) * step_s


def of_fixed_demand(jobs, nodes, lasts_s, *, earliest_s=lambda time_s: time_s, each=(0.0, 0.0)):
    """Whole GPUs, with so many CPUs and GB for each."""
    rows = [
        (name, submit_s, gpus, 1.0, gpus * each[0], gpus * each[1])
        for name, submit_s, gpus in zip(
            jobs.job_id, jobs.submit_s.tolist(), jobs.num_gpus.tolist(), strict=True
        )
    ]
    have = [(int(t.gpus), t.cpus, t.memory_gb) for t in nodes.type_of]
    return first_come(rows, have, lasts_s, earliest_s)


def gangs(jobs, nodes):
    return of_fixed_demand(jobs, nodes, lambda job, node: jobs.performance.duration_s[job])


def by_type(jobs, nodes):
    times_s = jobs.performance.times_s
    return of_fixed_demand(jobs, nodes, lambda job, node: times_s[job, nodes.node_type_of[node]])


def on_multiples(jobs, nodes):
    """In proportion to its GPUs a job has 3 CPUs and 62.5 GB for each, and takes its duration."""
    each = (3.0, 62.5)
    return of_fixed_demand(
        jobs, nodes, lambda job, node: jobs.performance.duration_s[job], earliest_s=on_grid(300), each=each
    )  # fmt: skip


def with_last_finisher(jobs, nodes):
    """How far a job comes in a round is what the jobs say; who runs is decided here."""
    progress = jobs.performance.progress()

    def work(running, round_s):
        runs = {job: (0, on) for job, on in running.items()}
        found = progress.round(runs, round_s, lambda job: 1.0, {})
        return {job: (each.seconds, each.left) for job, each in found.items()}

    rows = list(zip(jobs.job_id, jobs.submit_s.tolist(), jobs.num_gpus.tolist(), strict=True))
    return in_rounds(rows, nodes.num_nodes, 120, work)


def parts(jobs, nodes):
    part = jobs.performance.part
    rows = [
        (name, submit_s, gpus, part[job], jobs.num_cpus[job], jobs.memory_gb[job])
        for job, (name, submit_s, gpus) in enumerate(
            zip(jobs.job_id, jobs.submit_s.tolist(), jobs.num_gpus.tolist(), strict=True)
        )
    ]
    have = [(int(t.gpus), t.cpus, t.memory_gb) for t in nodes.type_of]
    return first_come(rows, have, lambda job, node: jobs.performance.duration_s[job], one_node=True)


def with_outages(jobs, nodes):
    scenario = task.scenario_of_task("llm-v1", "s")
    down = rules_of(scenario, jobs, nodes).outages(1e8)
    rows = list(zip(jobs.job_id, jobs.submit_s.tolist(), jobs.performance.duration_s.tolist(),
                    jobs.num_gpus.tolist(), strict=True))  # fmt: skip
    return with_failures(rows, nodes.num_nodes, 8, down.tolist(), (60, 300, 300, 1800, 30))


def one_vm_each(jobs, nodes):
    """Each job alone on the type and the GPUs that cost least."""
    times_s = jobs.performance.table_s(np.arange(len(jobs)), nodes)
    price = np.array([t.price_per_hour for t in nodes.node_types])[:, None]
    best = [np.unravel_index((t * price).argmin(), t.shape) for t in times_s]
    rows = first_come(
        [(name, s, 1, 1.0, 0.0, 0.0) for name, s in zip(jobs.job_id, jobs.submit_s, strict=True)],
        [(1, 0.0, 0.0)] * nodes.num_nodes,
        lambda job, node: times_s[job][best[job]],
    )
    return [
        row | {"node_type": nodes.node_types[v].name, "gpus": g}
        for row, (v, g) in zip(rows, best, strict=True)
    ]


def whole_seconds(jobs, nodes):
    """Each job on the fewest GPUs that it has a speed for."""
    times_s = jobs.performance.table_s(np.arange(len(jobs)), nodes)[:, 0]
    fewest = np.isfinite(times_s).argmax(axis=1)
    rows = [
        (name, submit_s, gpus, 1.0, 0.0, 0.0)
        for name, submit_s, gpus in zip(jobs.job_id, jobs.submit_s, fewest.tolist(), strict=True)
    ]
    return first_come(
        rows, [(128, 0.0, 0.0)], lambda job, node: math.ceil(times_s[job, fewest[job]]), on_grid(240)
    )  # fmt: skip


def of_goodput(jobs, nodes):
    """As many GPUs as the users ask for, for as long as on one node; a start takes 30 s."""
    times_s = jobs.performance.table_s(np.arange(len(jobs)), nodes).min(axis=(1, 2))
    return of_fixed_demand(jobs, nodes, lambda job, node: 30 + times_s[job], earliest_s=on_grid(60))


HONEST = {
    "cost-v1": one_vm_each, "elasticflow-v1": whole_seconds, "fractions-v1": parts, "gavel-v1": by_type,
    "hpc-v1": gangs, "llm-v1": with_outages, "mixed-v1": of_goodput, "philly-v1": gangs, "pollux-v1": of_goodput,
    "shockwave-v1": with_last_finisher, "synergy-v1": on_multiples,
}  # fmt: skip


def test_there_is_one_for_each_task():
    assert {*HONEST} == {*TASKS}


@pytest.mark.parametrize("name", TASKS)
def test_an_independent_schedule_passes(name):
    scenario = task.scenario_of_task(name, "s", copy_of_task(name) if name in COPIES else None)
    jobs, nodes = build(scenario)
    rows = pd.DataFrame(HONEST[name](jobs, nodes))
    found = check_schedule(rows, jobs, nodes, rules_of(scenario, jobs, nodes))
    assert [str(fault) for fault in found.faults] == []
    assert found.metrics["jobs"] == len(jobs)
    assert found.metrics.keys() >= {*task.task_of(name).rank}
