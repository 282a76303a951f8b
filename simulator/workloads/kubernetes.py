"""Jobs of Kubernetes as ``kubectl get .. -A -o json`` writes them: batch jobs, Kueue's workloads, Volcano's jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from simulator.arguments import LATEST_S
from simulator.workloads.cells import as_text
from simulator.workloads.records import JsonTrace, at, each_at
from simulator.workloads.tables import InputColumn, Table

UNITS = {"m": 1e-3, "": 1.0, "k": 1e3, "Ki": 2.0**10} | {
    unit: value
    for power, prefix in enumerate("MGTPE", start=2)
    for unit, value in ((prefix, 1000.0**power), (f"{prefix}i", 1024.0**power))
}
"""Suffixes of quantities."""
_QUANTITY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([a-zA-Z]{0,2})", re.ASCII)
_ENDED = ("Completed", "Failed", "Terminated", "Aborted")


class KubernetesJobs(JsonTrace):
    """Jobs of ``kubectl get jobs -o json``, of Kueue's workloads or Volcano's jobs, with GPUs, that have ended.

    All pods that run at once are one job: from its start (that of its last admission) to its end. Containers
    ask for GPUs under any name that ends in ``/gpu``. Its queue, else its namespace, is the virtual cluster,
    its namespace the user. Those that never started, still run, or ask for no GPU are left out and counted.
    """

    kind: Literal["kubernetes"] = "kubernetes"

    reads = (
        InputColumn("kind", "", "Job or Workload", "text"),
        InputColumn("name", "", "namespace/name", "text", gives="job_id"),
        InputColumn("owner", "", "job that a Kueue workload is of", "text", empty=""),
        InputColumn("creationTimestamp", "", "time of submission", "date", gives="submit_s"),
        InputColumn("start", "", "begin of the run", "date", empty=np.nan, gives="start_s"),
        InputColumn("end", "", "end of the run", "date", empty=np.nan, gives="end_s"),
        InputColumn("gpus", "", "GPUs of all its pods", "integer", empty=0, at_least=0, gives="num_gpus"),
        InputColumn("cpus", "", "CPUs of all its pods", "number", empty=np.nan, at_least=0, gives="num_cpus"),
        InputColumn("memory", "bytes", "memory of all its pods", "number", empty=np.nan,
                    at_least=0, gives="memory_gb", per=1e9),
        InputColumn("limit", "s", "activeDeadlineSeconds", "number", empty=np.nan, more_than=0,
                    gives="requested_s"),
        InputColumn("priority", "", "priority of the workload", "number", empty=0.0, gives="priority"),
        InputColumn("priorityClassName", "", "class of priority", "text", empty="", gives="qos"),
        InputColumn("namespace", "", "owner", "text", empty="", gives="user"),
        InputColumn("queue", "", "virtual cluster", "text", empty="", gives="vc"),
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
        return [_row(item) for item in items if at(item, "kind") in ("Job", "Workload")]

    def table(self, raw: Table) -> Table:
        """The jobs; a Kueue workload of a job that is there is that job."""
        jobs = raw.frame["kind"] == "Job"
        twice = ~jobs & raw.frame["owner"].isin(raw.frame["name"][jobs])
        return raw.keep(
            ~twice.to_numpy(dtype=bool), "Kueue workloads beside the jobs that they are of"
        )

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Why a job has no run, the first reason that holds."""
        return {
            "never started": np.isnan(table.dates("start")),
            "still run": np.isnan(table.dates("end")),
        }


def _row(item: Any) -> dict[str, str]:
    meta, spec = at(item, "metadata"), at(item, "spec")
    pods = _pods(spec)
    start, end = _run(item)
    space, priority = as_text(at(meta, "namespace")), at(spec, "priorityClassName")
    owners = [o for o in each_at(meta, "ownerReferences") if at(o, "kind") == "Job"]
    owner = as_text(at(owners[0], "name")) if owners else ""
    labels = at(meta, "labels")
    queue = labels.get("kueue.x-k8s.io/queue-name") if isinstance(labels, Mapping) else None
    limit = at(spec, "activeDeadlineSeconds") or at(spec, "maximumExecutionTimeSeconds")
    return {
        "kind": as_text(at(item, "kind")), "name": f"{space}/{as_text(at(meta, 'name'))}",
        "owner": f"{space}/{owner}" if owner else "",
        "creationTimestamp": as_text(at(meta, "creationTimestamp")), "start": start, "end": end,
        "gpus": _total(pods, lambda name: name.endswith("/gpu")),
        "cpus": _total(pods, lambda name: name == "cpu"),
        "memory": _total(pods, lambda name: name == "memory"),
        "limit": as_text(limit), "priority": as_text(at(spec, "priority")),
        "priorityClassName": as_text(priority or at(spec, "template.spec.priorityClassName")),
        "namespace": space,
        "queue": as_text(at(spec, "queueName") or at(spec, "queue") or queue) or space,
    }  # fmt: skip


def _pods(spec: Any) -> list[tuple[Any, Any]]:
    """Pods that run at once: how many, and their specification."""
    groups = [(at(p, "count"), p) for p in each_at(spec, "podSets")]  # Kueue
    groups += [(at(t, "replicas"), t) for t in each_at(spec, "tasks")]  # Volcano
    if not groups:
        parallel, in_all = at(spec, "parallelism"), at(spec, "completions")
        counts = [n for n in (parallel, in_all) if isinstance(n, int)]
        groups = [(min(counts) if isinstance(parallel, int) else parallel, spec)]
    return [(1 if count is None else count, at(group, "template.spec")) for count, group in groups]


def _total(pods: list[tuple[Any, Any]], wanted: Callable[[str], bool]) -> str:
    """Sum of a resource over all containers; "" where none asks for it, the text where it is no quantity."""
    total, found = 0.0, False
    for count, pod in pods:
        for container in each_at(pod, "containers"):
            given: dict[str, Any] = {}
            for part in ("limits", "requests"):
                resources = at(container, f"resources.{part}")
                given |= resources if isinstance(resources, Mapping) else {}
            for name, quantity in given.items():
                if wanted(name):
                    read = _QUANTITY.fullmatch(as_text(quantity))
                    if (
                        not read
                        or read[2] not in UNITS
                        or not isinstance(count, int)
                        or not 0 <= count < LATEST_S
                    ):
                        return f"{as_text(count)} x {as_text(quantity)}"
                    total, found = total + count * float(read[1]) * UNITS[read[2]], True
    return f"{total!r}" if found else ""


def _run(item: Any) -> tuple[str, str]:
    """Begin and end: of the status, else the latest times of conditions."""
    status = at(item, "status")
    since = {
        as_text(at(c, "type") or at(c, "status")): as_text(at(c, "lastTransitionTime"))
        for c in each_at(status, "conditions")
        if at(c, "type") is None or at(c, "status") == "True"
    }
    start = as_text(at(status, "startTime")) or since.get("Admitted") or since.get("Running")
    end = as_text(at(status, "completionTime"))
    end = end or next(
        (since[name] for name in ("Finished", "Complete", *_ENDED) if name in since), ""
    )
    if not end and at(status, "state.phase") in _ENDED:
        end = as_text(at(status, "state.lastTransitionTime"))
    return start or "", end
