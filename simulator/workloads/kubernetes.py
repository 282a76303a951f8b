"""Jobs of Kubernetes as ``kubectl get .. -A -o json`` writes them: batch jobs, those of Kubeflow, Ray and others, Kueue's workloads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from simulator.arguments import LATEST_S
from simulator.model.places import BETWEEN
from simulator.workloads.cells import as_text
from simulator.workloads.records import JsonTrace, at, each_at
from simulator.workloads.slurm_text import part_of
from simulator.workloads.tables import InputColumn, Table

UNITS = {"m": 1e-3, "": 1.0, "k": 1e3, "Ki": 2.0**10} | {
    unit: value
    for power, prefix in enumerate("MGTPE", start=2)
    for unit, value in ((prefix, 1000.0**power), (f"{prefix}i", 1024.0**power))
}
"""Suffixes of quantities."""
_QUANTITY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([a-zA-Z]{0,2})", re.ASCII)
_ENDED = ("Completed", "Failed", "Terminated", "Aborted")
REPLICAS = ("pytorch", "tf", "mpi", "xgboost", "mx", "paddle", "jax")
"""Kubeflow's jobs: of a PyTorchJob, spec.pytorchReplicaSpecs."""
KINDS = (
    "Job", "Workload", "JobSet", "RayJob", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "MXJob", "PaddleJob", "JAXJob",
)  # fmt: skip
"""Kinds that are read."""


class KubernetesJobs(JsonTrace):
    """Jobs of ``kubectl get jobs -o json`` with GPUs, that have ended: batch jobs, PyTorchJobs and others of Kubeflow, RayJobs, JobSets, Volcano's jobs, Kueue's workloads.

    All pods that run at once are one job, as many as Kueue admitted: from its start (that of its last admission)
    to its end. Containers ask for GPUs under any name that ends in ``/gpu``, or for slices of them. Its queue,
    else its namespace, is the virtual cluster, its namespace the user. Those that never started, still run, or
    ask for no GPU are left out and counted, as are items of other kinds.
    """

    kind: Literal["kubernetes"] = "kubernetes"

    reads = (
        InputColumn("kind", "", "Job, Workload, PyTorchJob, ..", "text"),
        InputColumn("name", "", "namespace/name", "text", gives="job_id"),
        InputColumn("owner", "", "what it is a part of, or a Kueue workload is of: kind namespace/name", "text", empty=""),
        InputColumn("creationTimestamp", "", "time of submission", "date", gives="submit_s"),
        InputColumn("start", "", "begin of the run", "date", empty=np.nan, gives="start_s"),
        InputColumn("end", "", "end of the run", "date", empty=np.nan, gives="end_s"),
        InputColumn("gpus", "", "GPUs of all its pods", "number", empty=0, at_least=0, gives="num_gpus"),
        InputColumn("cpus", "", "CPUs of all its pods", "number", empty=np.nan, at_least=0, gives="num_cpus"),
        InputColumn("memory", "bytes", "memory of all its pods", "number", empty=np.nan,
                    at_least=0, gives="memory_gb", per=1e9),
        InputColumn("limit", "s", "activeDeadlineSeconds", "number", empty=np.nan, more_than=0,
                    gives="requested_s"),
        InputColumn("priority", "", "priority of the workload", "number", empty=0.0, gives="priority"),
        InputColumn("priorityClassName", "", "class of priority", "text", empty="", gives="qos"),
        InputColumn("namespace", "", "owner", "text", empty="", gives="user"),
        InputColumn("queue", "", "virtual cluster", "text", empty="", gives="vc"),
        InputColumn("flavors", "", "flavors of its GPUs, as groups of nodes: @NAME", "text", empty="", gives="gpu_types"),
    )  # fmt: skip
    marks = ('"apiVersion"', '"kind"', '"creationTimestamp"')
    written = "the output of kubectl get jobs -o json"
    example = """\
{"kind": "List", "items": [{"apiVersion": "batch/v1", "kind": "Job",
  "metadata": {"name": "a", "namespace": "team", "creationTimestamp": "2026-01-05T08:00:00Z"},
  "spec": {"parallelism": 2, "template": {"spec": {"containers": [
    {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "4"}, "requests": {"cpu": "8"}}}]}}},
  "status": {"startTime": "2026-01-05T08:05:00Z", "completionTime": "2026-01-05T09:05:00Z"}}]}
"""

    def rows(self, document: Any) -> list[dict[str, str]]:
        """The items of a list, or one job."""
        items = each_at(document, "items") or [document]
        kinds = [as_text(at(item, "kind")) for item in items]
        rows = [_row(item) for item, kind in zip(items, kinds, strict=True) if kind in KINDS]
        others = [{"kind": kind} for kind in kinds if kind not in KINDS]
        return [*rows, *others] if rows else []

    def table(self, raw: Table) -> Table:
        """The jobs; what is a part or the workload of one that is there, with its start, is that one."""
        kinds = raw.frame["kind"]
        others = ~kinds.isin(KINDS)
        told = ", ".join(
            f"{kind or 'none'} {n}" for kind, n in kinds[others].value_counts().items()
        )
        raw = raw.keep(~others.to_numpy(dtype=bool), f"items of kinds that are not read: {told}")
        frame = raw.frame
        started = (frame["kind"] + " " + frame["name"])[frame["start"] != ""]
        inside = frame["owner"].isin(started)
        return raw.keep(
            ~inside.to_numpy(dtype=bool),
            "Kueue workloads, or parts, of jobs that are in the file themselves",
        )

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Why a job has no run, the first reason that holds."""
        return {
            "never started": np.isnan(table.dates("start")),
            "still run": np.isnan(table.dates("end")),
        }


def _row(item: Any) -> dict[str, str]:
    meta, spec = at(item, "metadata"), at(item, "spec")
    pods = _pods(item)
    start, end = _run(item)
    space, priority = as_text(at(meta, "namespace")), at(spec, "priorityClassName")
    owners = [o for o in each_at(meta, "ownerReferences") if at(o, "kind") in KINDS]
    labels = at(meta, "labels")
    queue = labels.get("kueue.x-k8s.io/queue-name") if isinstance(labels, Mapping) else None
    limit = at(spec, "activeDeadlineSeconds") or at(spec, "maximumExecutionTimeSeconds")
    return {
        "kind": as_text(at(item, "kind")), "name": f"{space}/{as_text(at(meta, 'name'))}",
        "owner": f"{at(owners[0], 'kind')} {space}/{as_text(at(owners[0], 'name'))}" if owners else "",
        "creationTimestamp": as_text(at(meta, "creationTimestamp")), "start": start, "end": end,
        "gpus": _total(pods, _gpus),
        "cpus": _total(pods, lambda name: float(name == "cpu")),
        "memory": _total(pods, lambda name: float(name == "memory")),
        "limit": as_text(limit), "priority": as_text(at(spec, "priority")),
        "priorityClassName": as_text(priority or at(spec, "template.spec.priorityClassName")),
        "namespace": space, "flavors": _flavors(item),
        "queue": as_text(at(spec, "queueName") or at(spec, "queue") or queue) or space,
    }  # fmt: skip


def group_name(flavor: str) -> str:
    """The name of a group of nodes for a flavor of Kueue."""
    return re.sub(r"\W", "-", flavor, flags=re.ASCII).lower()


def _flavors(item: Any) -> str:
    """Flavors whose GPUs Kueue gave to a workload."""
    given = [at(each, "flavors") for each in each_at(item, "status.admission.podSetAssignments")]
    names = [
        group_name(as_text(flavor))
        for flavors in given
        if isinstance(flavors, Mapping)
        for resource, flavor in flavors.items()
        if _gpus(str(resource))
    ]
    return BETWEEN.join(f"@{name}" for name in dict.fromkeys(names))


def _pods(item: Any) -> list[tuple[Any, Any]]:
    """Pods that run at once: how many, and their specification."""
    spec = at(item, "spec")
    admitted = {
        as_text(at(each, "name")): at(each, "count")
        for each in each_at(item, "status.admission.podSetAssignments")
    }
    groups = [
        (at(p, "count") if (n := admitted.get(as_text(at(p, "name")))) is None else n, p)
        for p in each_at(spec, "podSets")
    ]  # Kueue
    groups += [(at(t, "replicas"), t) for t in each_at(spec, "tasks")]  # Volcano
    for name in REPLICAS:
        of_kind = at(spec, f"{name}ReplicaSpecs")
        groups += (
            [(at(r, "replicas"), r) for r in of_kind.values()]
            if isinstance(of_kind, Mapping)
            else []
        )
    ray = at(spec, "rayClusterSpec")
    groups += [(1, at(ray, "headGroupSpec"))] if ray is not None else []
    groups += [(at(g, "replicas"), g) for g in each_at(ray, "workerGroupSpecs")]
    for inner in each_at(spec, "replicatedJobs"):  # JobSet
        count, times = _at_once(at(inner, "template.spec")), at(inner, "replicas")
        times = 1 if times is None else times
        is_known = isinstance(count, int) and isinstance(times, int)
        groups.append((count * times if is_known else count, at(inner, "template.spec")))
    groups = groups or [(_at_once(spec), spec)]
    return [(1 if count is None else count, at(group, "template.spec")) for count, group in groups]


def _at_once(spec: Any) -> Any:
    """Pods of a batch job that run at once."""
    parallel, in_all = at(spec, "parallelism"), at(spec, "completions")
    counts = [n for n in (parallel, in_all) if isinstance(n, int)]
    return min(counts) if isinstance(parallel, int) else parallel


def _gpus(name: str) -> float:
    """GPUs of one unit of a resource: of a slice, its part."""
    if name.startswith("nvidia.com/mig-"):
        return part_of(name)
    return float(name.endswith("/gpu"))


class _NoQuantity(Exception):
    """A text that is no quantity, or a number of pods that is none."""


def _total(pods: list[tuple[Any, Any]], per: Callable[[str], float]) -> str:
    """Sum of a resource over all pods; "" where none asks for it, the text where it is no quantity.

    Parameters
    ----------
    per : by name, how much a unit of it counts.
    """
    total, found = 0.0, False
    for count, pod in pods:
        try:
            asked = _of_pod(pod, per)
        except _NoQuantity as error:
            return f"{as_text(count)} x {error}"
        if asked is None:
            continue
        if not isinstance(count, int) or not 0 <= count < LATEST_S:
            return f"{as_text(count)} x {asked:g}"
        total, found = total + count * asked, True
    return f"{total!r}" if found else ""


def _of_pod(pod: Any, per: Callable[[str], float]) -> float | None:
    """Resource of a pod by Kubernetes' rule: containers run together, those of its start one by one before them.

    One of the start that is restarted always (a sidecar) stays beside all later ones.
    """
    stays, most, found = 0.0, 0.0, False
    for container in each_at(pod, "initContainers"):
        asked = _of_container(container, per)
        found |= asked is not None
        most = max(most, stays + (asked or 0.0))
        if at(container, "restartPolicy") == "Always":
            stays += asked or 0.0
    each = [_of_container(container, per) for container in each_at(pod, "containers")]
    found |= any(asked is not None for asked in each)
    return max(most, stays + sum(asked or 0.0 for asked in each)) if found else None


def _of_container(container: Any, per: Callable[[str], float]) -> float | None:
    """The request of a container, else its limit; None where it names neither."""
    given: dict[str, Any] = {}
    for part in ("limits", "requests"):
        resources = at(container, f"resources.{part}")
        given |= resources if isinstance(resources, Mapping) else {}
    total, found = 0.0, False
    for name, quantity in given.items():
        if weight := per(name):
            read = _QUANTITY.fullmatch(as_text(quantity))
            if not read or read[2] not in UNITS:
                raise _NoQuantity(as_text(quantity))
            total, found = total + weight * float(read[1]) * UNITS[read[2]], True
    return total if found else None


def _run(item: Any) -> tuple[str, str]:
    """Begin and end: of the status, else the latest times of conditions.

    Volcano's conditions are a history: one tells an end where the job is in such a phase now.
    """
    status = at(item, "status")
    since = {
        as_text(at(c, "type") or at(c, "status")): as_text(at(c, "lastTransitionTime"))
        for c in each_at(status, "conditions")
        if at(c, "type") is None or at(c, "status") == "True"
    }
    start = as_text(at(status, "startTime")) or since.get("Admitted") or since.get("Running")
    end = as_text(at(status, "completionTime") or at(status, "endTime"))
    phase = at(status, "state.phase")
    if phase is not None and phase not in _ENDED:
        return start or "", ""
    end = end or next(
        (since[name] for name in ("Finished", "Complete", "Succeeded", *_ENDED) if name in since),
        "",
    )
    if not end and phase in _ENDED:
        end = as_text(at(status, "state.lastTransitionTime"))
    return start or "", end
