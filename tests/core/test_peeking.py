"""Policies and dispatchers that try to read jobs that have not been submitted: an error, nothing, or a mark."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import (
    FIXED,
    NO_CHANGE,
    Cluster,
    Decision,
    InfeasibleDecision,
    NodeType,
    Placement,
    Result,
    SpeedupCurve,
    Workload,
)
from simulator.features.colocation import Colocation, colocation_of
from simulator.features.network import network_of
from simulator.features.tenants import tenants_of
from simulator.model.performance import DurationByType, Performance
from simulator.model.speedup import Power
from simulator.workloads.reshaping import time_shared
from tests.command import refused
from tests.core.jobs import elastic, fixed, nodes, run, sharing
from tests.errors import input_error

SUBMIT_S = [0.0, 10.0, 10.0, 20.0]
COLUMNS: dict[str, Any] = {
    "user": ["ann", "bob", "ann", "cy"],
    "model": ["x", "y", "x", "y"],
    "qos": ["high", "low", "low", "high"],
    "gpu_types": ["GPU"] * 4,
    "requested_s": [1e3] * 4,
    "due_s": [1e4] * 4,
    "patience_s": [1e4] * 4,
    "after": [(), (), (), ()],
}


def trace() -> Workload:
    """Four jobs; at 0 s the first comes, at 10 s two, at 20 s the last."""
    return sharing(SUBMIT_S, [100.0, 200.0, 300.0, 400.0], 0.5, **COLUMNS)


def looking(jobs: Workload, look: Any, cluster: Cluster | None = None) -> tuple[Result, list[Any]]:
    """A run, and what a policy found that looked at each decision; it starts what waits on node 0."""
    found = []

    def curious(view: Any) -> Decision:
        found.append(look(view))
        starts = [
            Placement(j, 0, 0.5 if hasattr(view, "colocation") else 1, FIXED) for j in view.waiting
        ]
        named = {j: (j,) for j in view.waiting} if hasattr(view, "colocation") else None
        return Decision(starts, keep_running=True, gpus_of=named) if starts else NO_CHANGE

    machines = cluster or nodes(4, 2)
    shared = cluster is None and isinstance(jobs.performance, type(trace().performance))
    beside = [colocation_of(jobs, gpu_memory_gb=80.0)] if shared else []
    result = run(jobs, machines, curious, tenants_of(jobs, "user"), network_of(jobs, 2), *beside)
    return result, found


LOOKS = {
    "array": lambda view, job: view.workload.submit_s[job],
    "item": lambda view, job: view.workload.due_s.item(job),
    "two rows": lambda view, job: view.workload.num_gpus[[0, job]],
    "list of GPUs": lambda view, job: view.workload.num_gpus_list[job],
    "name": lambda view, job: view.workload.job_id[job],
    "user": lambda view, job: view.workload.user[job],
    "patience": lambda view, job: view.workload.patience_s[job],
    "dependencies": lambda view, job: view.workload.after[job],
    "some rows": lambda view, job: view.workload.rows(np.array([job])),
    "duration": lambda view, job: view.workload.performance.duration_s[job],
    "fixed duration": lambda view, job: view.workload.performance.fixed_s.item(job),
    "part": lambda view, job: view.workload.performance.part[job],
    "time": lambda view, job: view.workload.performance.time_s(job, 0, 1, 0, 0),
    "table": lambda view, job: view.workload.performance.table_s(np.array([job]), view.cluster),
    "work": lambda view, job: view.workload.performance.work_gpu_s(view.cluster)[job],
    "model of a job": lambda view, job: view.workload.performance.take(np.array([job])),
    "time on shares": lambda view, job: view.time_s_of(job, [Placement(job, 0, 1)]),
    "can run": lambda view, job: view.can_run(job, [Placement(job, 0, 1)]),
    "tenant": lambda view, job: view.tenants.of[job],
    "network": lambda view, job: view.network.same_rack[job],
    "factor": lambda view, job: view.network.factor(job, [0, 1]),
    "memory": lambda view, job: view.colocation.spec.memory_gb[job],
    "state": lambda view, job: view.states.remaining[job],
    "states": lambda view, job: np.frombuffer(view.states.gpus)[job],
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_later_job_is_an_error_that_names_the_policy(look):
    """At 10 s, three jobs have come; the fourth has not."""
    message = r"^policy curious at {} s: .*\(test_peeking.py:\d+\): .* submitted, number {}$"
    with pytest.raises(InfeasibleDecision, match=message.format(0, 0)) as told:
        looking(trace(), lambda view: LOOKS[look](view, 1))
    assert "\n" not in str(told.value)
    with pytest.raises(InfeasibleDecision, match=message.format(10, 2)):
        looking(trace(), lambda view: LOOKS[look](view, 3 if view.now_s else 0))
    result, found = looking(trace(), lambda view: LOOKS[look](view, 0))
    assert not result.informed
    assert len(found) > 3


SIZES = {
    "jobs": lambda view: len(view.workload),
    "names": lambda view: len(view.workload.job_id),
    "slice": lambda view: len(view.workload.submit_s[0:]),
    "loop": lambda view: sum(1 for _ in view.workload.model),
    "counted": lambda view: (
        len(np.bincount(view.workload.submit_s.astype(int)).nonzero()[0]) + (view.now_s >= 10)
    ),
    "head": lambda view: len(view.workload.head(99)),
    "copy": lambda view: len(replace(view.workload, due_s=view.workload.due_s + 1)),
    "times": lambda view: len(view.workload.performance),
    "works": lambda view: len(view.workload.performance.work_gpu_s(view.cluster)),
    "mean": lambda view: {100: 1, 200: 3, 250: 4}[
        round(view.workload.performance.duration_s.mean())
    ],
    "longest": lambda view: view.workload.performance.duration_s.max() / 100,
    "tenants": lambda view: len(view.tenants.of),
    "racks": lambda view: len(view.network.across_racks),
    "memory": lambda view: len(view.colocation.spec.memory_gb),
    "states": lambda view: len(view.states.remaining),
}


@pytest.mark.parametrize("size", SIZES)
def test_lengths_and_means_are_those_of_the_jobs_so_far(size):
    _, found = looking(trace(), SIZES[size])
    assert list(dict.fromkeys(found)) == [1, 3, 4]


def test_what_has_come_stays_readable():
    """A list that a policy keeps grows, an array stays as it was."""
    kept: list[Any] = []

    def keep(view: Any) -> Any:
        kept.append((view.workload.job_id, view.workload.submit_s))
        return view.workload.performance.duration_s.tolist()

    _, found = looking(trace(), keep)
    assert found[0] == [100]
    assert found[-1] == [100, 200, 300, 400]
    assert kept[0][0] == ["j0", "j1", "j2", "j3"]
    assert kept[0][1].tolist() == [0]
    assert not kept[0][1].flags.writeable


class Own(Performance):
    """A performance model of one's own, whose arrays nobody knows."""

    def __init__(self) -> None:
        self.seconds = [10.0, 20.0, 30.0, 40.0]

    def __len__(self) -> int:
        return 4

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        return self.seconds[job] / gpus if gpus else np.inf


MODELS = {
    "own": (lambda: Own(), None),
    "elastic": (lambda: elastic([[[np.inf, 9.0, 9.0, 9.0, 9.0]]] * 4).performance, None),
    "by type": (
        lambda: DurationByType(np.ones(4), np.ones(4, int), times_s=np.full((4, 1), 9.0)),
        None,
    ),
    "time-shared": (lambda: time_shared(fixed(SUBMIT_S, [9.0] * 4)).performance, None),
    "curves": (
        lambda: SpeedupCurve(np.full(4, 9.0), np.zeros(4, int), [Power(0.5)]),
        Cluster.of_nodes(NodeType("n", "GPU", 4), 2),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_performance_model_tells_times_of_later_jobs(name):
    made, cluster = MODELS[name]
    jobs = Workload(["a", "b", "c", "d"], SUBMIT_S, made(), user=list("abab"))
    cluster = cluster or nodes(4, 2)
    assert looking(jobs, lambda view: view.times_s.shape[0], cluster)[1][0] == 1
    works = looking(
        jobs, lambda view: len(view.workload.performance.work_gpu_s(view.cluster)), cluster
    )
    assert works[1][0] == 1
    for look in (
        lambda view: view.workload.performance.time_s(1, 0, 1, 0, 0),
        lambda view: view.workload.performance.table_s(np.array([0, 1]), view.cluster),
    ):
        with pytest.raises(InfeasibleDecision, match="policy curious at 0 s: index 1 is out"):
            looking(jobs, look, cluster)


DOORS = {
    "all_jobs": lambda view: view.all_jobs.submit_s[-1],
    "rows": lambda view: view.rows.submit_s[-1],
    "rows_of": lambda view: view.rows_of(view.tenants).of[-1],
}


@pytest.mark.parametrize("door", DOORS)
def test_who_asks_for_all_jobs_is_informed(door):
    """A door opens to all, and marks the run. `rows` marks none of this project's policies."""
    result, found = looking(trace(), DOORS[door])
    assert set(found) == {2 if door == "rows_of" else 20}
    assert result.informed
    assert result.summary()["informed"]
    plain = run(trace(), nodes(4, 2), "complementary")
    assert not plain.informed
    assert "informed" not in plain.summary()


def test_an_error_of_ones_own_is_another_one():
    """An index that is wrong in a list of the policy's own names the line; one in an array of its own goes on as it is."""
    with pytest.raises(InfeasibleDecision, match=r"list index out of range \(test_peeking.py:"):
        looking(trace(), lambda view: [][0])
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        looking(trace(), lambda view: np.zeros(5)[7])


RULES = {
    "shown": lambda controllers, job: controllers[0].simulation.shown.submit_s[job],
    "workload": lambda controllers, job: controllers[0].workload.submit_s[job],
    "the engine's": lambda controllers, job: controllers[0].simulation.workload.submit_s[job],
    "states": lambda controllers, job: controllers[0].simulation.jobs.remaining[job],
}


@pytest.mark.parametrize("look", RULES)
def test_dispatchers_see_the_jobs_so_far(look):
    def sent(ahead: int) -> Result:
        def rule(controllers: Any, rng: object) -> Any:
            def dispatch(job: int) -> Any:
                RULES[look](controllers, job + ahead)
                return controllers[job % 2]

            return dispatch

        return run(fixed(SUBMIT_S, [9] * 4), nodes(1, 2, 2), dispatcher=rule)

    assert not sent(0).informed
    with input_error("dispatcher: at 0 s: ", "(test_peeking.py:", "submitted, number 0"):
        sent(1)


def test_dispatchers_that_know_the_law_are_informed():
    jobs = fixed(SUBMIT_S, [9] * 4)
    assert run(jobs, nodes(1, 2, 2), dispatcher="size-interval").informed
    assert not run(jobs, nodes(1, 2, 2), dispatcher="least-work-left").informed

    def rule(controllers: Any, rng: object) -> Any:
        assert len(controllers[0].simulation.rows) == 4
        return lambda job: controllers[0]

    assert run(jobs, nodes(1, 2, 2), dispatcher=rule).informed


def test_the_command_tells_it_in_one_line(tmp_path):
    (tmp_path / "peek.py").write_text(
        "from schedlab import serve\n\ndef peek(view):\n"
        "    longest = view.workload.performance.duration_s[len(view.workload)]\n"
        "    return serve(view, view.waiting)\n"
    )
    told = refused(
        "run", "examples/mmc.toml", "--policy", f"{tmp_path / 'peek.py'}:peek", "--allow-code"
    )
    assert "peek.py:4)" in told
    assert "a policy sees the jobs up to the last one that was submitted" in told


def test_a_feature_is_seen_as_it_is():
    """What policies see of jobs on one GPU follows the engine, and so do its methods."""
    spec: list[Colocation] = []
    result, found = looking(
        trace(), lambda view: (spec.append(view.colocation.spec), len(view.colocation.slices_of))[1]
    )
    assert result.workload.num_gpus.tolist() == [1] * 4
    assert set(found) == {0}
    assert spec[0] is spec[-1]
    assert spec[0].speed(0, [1]) == 1.0
