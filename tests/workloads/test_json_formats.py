"""Formats in JSON: Batsim, Kubernetes. Numbers of jobs, GPUs and seconds by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.workloads.registry import read_jobs, recognised


def read(folder: Path, kind: str, document: Any) -> Workload:
    path = folder / "jobs.json"
    path.write_text(json.dumps(document, indent=1))
    assert recognised(path) == kind
    return read_jobs(path)


def seconds(jobs: Workload) -> list[float]:
    assert jobs.performance.fixed_s is not None
    return [float(value) for value in jobs.performance.fixed_s]


def told(jobs: Workload) -> list[str]:
    return [note.partition(": ")[2] for note in jobs.notes]


def test_batsim(tmp_path: Path) -> None:
    jobs = [
        {"id": "w0!a", "subtime": 7, "walltime": 90, "res": 3, "profile": "d"},
        {"id": 5, "subtime": 2.5, "walltime": -1, "res": 1, "profile": "twice"},
        {"id": 6, "subtime": 0, "res": 2, "profile": "flops"},
        {"id": 8, "subtime": 0, "res": 2, "profile": "unknown"},
    ]
    profiles = {
        "d": {"type": "delay", "delay": 40}, "e": {"type": "delay", "delay": 0.5},
        "twice": {"type": "composed", "repeat": 2, "seq": ["d", "e", "d"]},
        "flops": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    }  # fmt: skip
    made = read(tmp_path, "batsim", {"nb_res": 4, "jobs": jobs, "profiles": profiles})
    assert made.job_id == ("5", "w0!a")
    assert made.submit_s.tolist() == [0, 4.5]
    assert seconds(made) == [161, 40]
    assert made.num_gpus.tolist() == [1, 3]
    np.testing.assert_array_equal(made.requested_s, [np.nan, 90])
    assert told(made) == [
        "2 jobs whose profile has no time of its own, left out (the first in entry 3)"
    ]


def asking(gpus: Any, **more: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": gpus, "cpu": "500m"} if gpus else {"cpu": "500m"}
    side = {"name": "sidecar", "resources": {"requests": {"memory": "1Gi"}}}
    containers = [{"name": "c", "resources": {"limits": limits, "requests": more}}, side]
    return {"spec": {"containers": containers}}


def item(name: str, spec: Any, status: Any, **meta: Any) -> dict[str, Any]:
    when = {"creationTimestamp": "2026-03-08T09:55:00Z", "namespace": "team"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name} | when | meta,
            "spec": spec, "status": status}  # fmt: skip


def at(clock: str) -> str:
    return f"2026-03-08T{clock}Z"


def test_batch_jobs(tmp_path: Path) -> None:
    failed = [{"type": "Failed", "status": "True", "lastTransitionTime": at("10:31:00")}]
    items = [
        item("a", {"parallelism": 3, "completions": 2, "activeDeadlineSeconds": 900, "template": asking("4", memory="2Gi")},
             {"startTime": at("10:00:00"), "completionTime": at("10:10:00")},
             labels={"kueue.x-k8s.io/queue-name": "q"}),
        item("b", {"parallelism": 3, "completions": 9, "template": asking(2)},
             {"startTime": at("10:30:00"), "conditions": failed}, creationTimestamp=at("09:56:00")),
        item("cpu", {"template": asking(None)}, {"startTime": at("10:00:00"), "completionTime": at("10:01:00")}),
        item("pending", {"template": asking("1")}, {}),
        item("runs", {"template": asking("1")}, {"startTime": at("10:00:00"), "active": 1}),
        {"kind": "Pod", "metadata": {"name": "a-x"}},
    ]  # fmt: skip
    made = read(tmp_path, "kubernetes", {"apiVersion": "v1", "kind": "List", "items": items})
    assert made.job_id == ("team/a", "team/b")
    assert made.num_gpus.tolist() == [8, 6]
    assert seconds(made) == [600, 60]
    assert made.submit_s.tolist() == [0, 60]
    assert made.num_cpus.tolist() == [1, 1.5]
    np.testing.assert_allclose(made.memory_gb, [2 * 3 * 1.073741824, 3 * 1.073741824])
    np.testing.assert_array_equal(made.requested_s, [900, np.nan])
    assert (made.user, made.vc) == (("team", "team"), ("q", "team"))
    assert told(made) == [
        "1 items of kinds that are not read: Pod 1",
        "1 jobs never started, left out (the first in entry 4)",
        "1 jobs still run, left out (the first in entry 5)",
        "1 jobs hold no GPU, left out (the first in entry 3)",
    ]


def conditions(**since: str) -> dict[str, Any]:
    return {"conditions": [{"type": name, "status": "True", "lastTransitionTime": at(clock)}
                           for name, clock in since.items()]}  # fmt: skip


def test_workloads_of_kueue(tmp_path: Path) -> None:
    pod_sets = [{"name": "main", "count": 1, "template": asking("1")},
                {"name": "workers", "count": 4, "template": asking("2")}]  # fmt: skip
    spec = {"queueName": "q", "priority": 100, "priorityClassName": "high", "podSets": pod_sets}
    workload = item("w", spec, conditions(Admitted="10:00:00", Finished="10:02:00"))
    workload |= {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload"}
    evicted = item("v", spec, conditions(Evicted="10:00:00")) | {"kind": "Workload"}
    made = read(tmp_path, "kubernetes", {"kind": "List", "items": [workload, evicted]})
    assert (made.job_id, made.num_gpus.tolist(), seconds(made)) == (("team/w",), [9], [120])
    assert (made.priority.tolist(), made.qos, made.vc) == ([100], ("high",), ("q",))
    job = item("j", {"template": asking("1")},
               {"startTime": at("10:00:00"), "completionTime": at("10:00:07")})  # fmt: skip
    # One that is of a job of another kind, or of none in the file, is a job of its own.
    owned = {name: item(name, spec, conditions(Admitted="10:00:00", Finished="10:03:00")) | {"kind": "Workload"}
             for name in ("of-j", "of-ray")}  # fmt: skip
    owned["of-j"]["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j"}]
    owned["of-ray"]["metadata"]["ownerReferences"] = [{"kind": "RayJob", "name": "j"}]
    made = read(tmp_path, "kubernetes", {"kind": "List", "items": [workload, job, *owned.values()]})
    assert (made.job_id, seconds(made)) == (("team/w", "team/j", "team/of-ray"), [120, 7, 180])
    assert told(made) == ["1 Kueue workloads, or parts, of jobs that are in the file themselves"]


def test_jobs_of_volcano(tmp_path: Path) -> None:
    spec = {"queue": "research", "minAvailable": 3, "tasks": [
        {"name": "ps", "replicas": 1, "template": asking(None)},
        {"name": "worker", "replicas": 2, "template": asking("8")}]}  # fmt: skip
    status = {"state": {"phase": "Completed", "lastTransitionTime": at("11:00:00")}, "conditions": [
        {"status": "Pending", "lastTransitionTime": at("09:55:00")},
        {"status": "Running", "lastTransitionTime": at("10:00:00")}]}  # fmt: skip
    job = item("v", spec, status) | {"apiVersion": "batch.volcano.sh/v1alpha1"}
    made = read(tmp_path, "kubernetes", job)
    assert (made.num_gpus.tolist(), seconds(made), made.vc) == ([16], [3600], ("research",))


def times(start: str, end: str) -> dict[str, Any]:
    return {"startTime": at(start), "completionTime": at(end)}


KINDS = {
    "PyTorchJob": (
        {"pytorchReplicaSpecs": {"Master": {"template": asking("8")},
                                 "Worker": {"replicas": 3, "template": asking("8")}}},
        32,
    ),
    "MPIJob": (
        {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": asking(None)},
                             "Worker": {"replicas": 2, "template": asking("4")}}},
        8,
    ),
    "RayJob": (
        {"rayClusterSpec": {"headGroupSpec": {"template": asking("1")},
                            "workerGroupSpecs": [{"replicas": 2, "template": asking("2")}]}},
        5,
    ),
    "JobSet": (
        {"replicatedJobs": [
            {"replicas": 2, "template": {"spec": {"parallelism": 3, "template": asking("1")}}},
            {"template": {"spec": {"template": asking("2")}}}]},
        8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_jobs_of_other_kinds_have_the_gpus_of_their_pods(tmp_path: Path, kind: str) -> None:
    """Parts of one, and its workload in Kueue, are it; what is in no list of kinds is counted."""
    spec, gpus = KINDS[kind]
    owner = [{"kind": kind, "name": "big"}]
    end = "endTime" if kind == "RayJob" else "completionTime"
    ended = {"startTime": at("10:00:00"), end: at("11:00:00")}
    items = [
        item("big", spec, ended) | {"kind": kind},
        item(
            "part", {"template": asking("1")}, times("10:00:00", "11:00:00"), ownerReferences=owner
        ),
        {"kind": "Service", "metadata": {"name": "s"}},
        {"kind": "Service", "metadata": {"name": "t"}},
        {"kind": "Event", "metadata": {"name": "e"}},
    ]
    made = read(tmp_path, "kubernetes", {"kind": "List", "items": items})
    assert (made.job_id, made.num_gpus.tolist(), seconds(made)) == (("team/big",), [gpus], [3600])
    assert told(made) == [
        "3 items of kinds that are not read: Service 2, Event 1",
        "1 Kueue workloads, or parts, of jobs that are in the file themselves",
    ]


def test_parts_of_a_job_without_a_start_are_jobs(tmp_path: Path) -> None:
    """A JobSet tells no start; its jobs do."""
    spec, _ = KINDS["JobSet"]
    owner = [{"kind": "JobSet", "name": "set"}]
    items = [
        item("set", spec, conditions(Completed="11:00:00")) | {"kind": "JobSet"},
        item(
            "part", {"template": asking("1")}, times("10:00:00", "11:00:00"), ownerReferences=owner
        ),
    ]
    made = read(tmp_path, "kubernetes", {"kind": "List", "items": items})
    assert made.job_id == ("team/part",)


@pytest.mark.parametrize(
    ("admitted", "gpus"),
    [
        ([{"name": "main", "count": 2}], 4),
        ([{"name": "main"}], 8),
        ([{"name": "other", "count": 1}], 8),
        ([], 8),
    ],
)
def test_admitted_pods_count_not_those_asked_for(
    tmp_path: Path, admitted: list[Any], gpus: int
) -> None:
    spec = {"podSets": [{"name": "main", "count": 4, "minCount": 2, "template": asking("2")}]}
    status = conditions(Admitted="10:00:00", Finished="10:02:00")
    status["admission"] = {"podSetAssignments": admitted}
    made = read(tmp_path, "kubernetes", item("w", spec, status) | {"kind": "Workload"})
    assert made.num_gpus.tolist() == [gpus]


def test_flavors_of_admitted_gpus_are_groups_of_nodes(tmp_path: Path) -> None:
    spec = {"podSets": [{"name": "main", "count": 4, "template": asking("2")}]}
    status = conditions(Admitted="10:00:00", Finished="10:02:00")
    flavors = [
        {"nvidia.com/gpu": "Spot.A100", "cpu": "any"},
        {"nvidia.com/gpu": "a100"},
        {"cpu": "any"},
    ]
    status["admission"] = {
        "podSetAssignments": [{"name": f"p{k}", "flavors": each} for k, each in enumerate(flavors)]
    }
    made = read(tmp_path, "kubernetes", item("w", spec, status) | {"kind": "Workload"})
    assert made.gpu_types == ("@spot-a100|@a100",)


def history(*phases: tuple[str, str]) -> list[dict[str, str]]:
    return [{"status": name, "lastTransitionTime": at(clock)} for name, clock in phases]


@pytest.mark.parametrize(
    ("phase", "ended_s"),
    [("Running", None), ("Restarting", None), ("Aborted", 31 * 60), ("Completed", 65 * 60)],
)
def test_an_earlier_end_of_volcano_counts_only_in_a_phase_that_is_one(
    tmp_path: Path, phase: str, ended_s: float | None
) -> None:
    """The job was stopped at 10:31, and goes on; or it has ended."""
    changes = history(("Running", "10:00:00"), ("Aborted", "10:31:00"))
    last = {"phase": phase, "lastTransitionTime": at("11:05:00")}
    changes = changes if phase != "Completed" else changes[:1]
    spec = {"tasks": [{"replicas": 2, "template": asking("2")}]}
    runs = item("v", spec, {"state": last, "conditions": changes})
    other = item("j", {"template": asking("1")}, times("10:00:00", "10:00:07"))
    made = read(tmp_path, "kubernetes", {"kind": "List", "items": [runs, other]})
    assert seconds(made) == ([7] if ended_s is None else [ended_s, 7])


@pytest.mark.parametrize(
    ("before", "gpus"),
    [
        ([("4", None)], 4),  # more than the containers together
        ([("1", None)], 2),
        ([("1", "Always")], 3),  # stays beside them
        ([("1", "Always"), ("4", None)], 5),
        ([("4", None), ("1", "Always")], 4),
    ],
)
def test_containers_of_the_start_count_by_the_rule_of_kubernetes(
    tmp_path: Path, before: list[Any], gpus: int
) -> None:
    template = asking("2")
    template["spec"]["initContainers"] = [
        {"name": "i", "resources": {"limits": {"nvidia.com/gpu": n}}, "restartPolicy": policy}
        for n, policy in before
    ]
    made = read(
        tmp_path, "kubernetes", item("a", {"template": template}, times("10:00:00", "10:01:00"))
    )
    assert made.num_gpus.tolist() == [gpus]


def test_slices_of_kubernetes_are_their_part_of_a_gpu(tmp_path: Path) -> None:
    template = asking(None)
    template["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/mig-2g.10gb": "1"}
    made = read(
        tmp_path, "kubernetes", item("a", {"template": template}, times("10:00:00", "10:01:00"))
    )
    assert made.record is not None
    assert made.record.num_gpus.tolist() == pytest.approx([2 / 7])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('"4"', '"four"'), "entry 1: gpus is '1 x four', expected a number >= 0"),
        (("10:10:00", "09:10:00"), "entry 1: end is .*expected a time not before the start"),
        (('"Job"', '"Pod"'), "no list of jobs, expected the output of kubectl get jobs -o json"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    job = item("a", {"template": asking("4")},
               {"startTime": at("10:00:00"), "completionTime": at("10:10:00")})  # fmt: skip
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, "kubernetes", json.loads(json.dumps(job).replace(*change)))
