"""Kueue's settings: ClusterQueues of a YAML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from experiments.importing.imported import Imported, format_of
from simulator.errors import InputError
from simulator.files.inputs import MOST_CONFIG_BYTES, read_input

USED = {
    "cohort", "cohortName", "resourceGroups", "preemption.reclaimWithinCohort", "queueingStrategy",
}  # fmt: skip


def from_kueue(queues: Path, jobs: str, gpus_per_node: int) -> Imported:
    """A scenario with a tenant for each ClusterQueue, its nominal quota of GPUs, borrowing and reclaim.

    Raises InputError: no such file, no YAML, PyYAML is not there, or no ClusterQueue with a quota of GPUs.
    """
    made, quota = Imported(str(queues)), {}
    cohorts: dict[str, str] = {}
    reclaim, strict = set(), set()
    for document in _documents(queues):
        kind, spec = document.get("kind"), document.get("spec") or {}
        name = str((document.get("metadata") or {}).get("name"))
        if kind != "ClusterQueue" or not isinstance(spec, dict):
            made.unused.append(f"{kind} {name}")
            continue
        gpus = _quota(made, name, spec)
        if gpus < 1:
            made.unused.append(f"ClusterQueue {name} (no quota of a GPU)")
            continue
        quota[name] = gpus
        cohorts[name] = str(spec.get("cohortName") or spec.get("cohort") or "")
        preemption = spec.get("preemption") or {}
        reclaim.add(preemption.get("reclaimWithinCohort", "Never"))
        strict.add(spec.get("queueingStrategy", "BestEffortFIFO"))
        keys = {*(f"preemption.{key}" for key in preemption), *spec} - {"preemption"}
        made.unused += [f"ClusterQueue {name}: {key}" for key in sorted(keys - USED)]
    if not quota:
        raise InputError(f"{queues}: no ClusterQueue with a nominalQuota of GPUs, expected one")
    borrows = len(set(cohorts.values())) < len(cohorts) and any(cohorts.values())
    if len(set(cohorts.values())) > 1:
        made.unused.append("cohorts apart: all tenants of a scenario are one cohort")
    made.set("workload", "kind", format_of(jobs), "the format of your file of jobs")
    made.set("workload", "path", jobs, "your file of jobs, with the ClusterQueue in the column vc")
    total = sum(quota.values())
    made.set("cluster", "kind", "nodes", "equal servers")
    made.set("cluster", "num_nodes", -(-total // gpus_per_node), f"{total} GPUs of quotas in all")
    made.set("cluster", "gpus_per_node", gpus_per_node, "--gpus-per-node")
    made.set("tenants", "by", "vc", "ClusterQueue")
    made.set("tenants", "quota", quota, "nominalQuota")
    made.set(
        "tenants", "borrowing", borrows, "a cohort lends" if borrows else "no cohort of several"
    )
    if borrows:
        taken_back = reclaim != {"Never"}
        made.set("", "policy", "capacity", "borrowing in a cohort")
        words = ", ".join(sorted(map(str, reclaim)))
        made.set("policy_options", "reclaim", taken_back, f"reclaimWithinCohort: {words}")
        if "StrictFIFO" in strict:
            made.unused.append("queueingStrategy: StrictFIFO")
    else:
        policy = "fifo-strict" if strict == {"StrictFIFO"} else "fifo-backfill"
        made.set("", "policy", policy, f"queueingStrategy: {', '.join(sorted(map(str, strict)))}")
    return made


def _documents(path: Path) -> list[dict[str, Any]]:
    try:
        import yaml
    except ImportError:
        raise InputError("PyYAML is not there, expected pip install 'schedlab[kueue]'") from None
    text = read_input(path, "ClusterQueues in YAML", MOST_CONFIG_BYTES).decode("utf-8", "replace")
    try:
        found = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        raise InputError(f"{path}: no YAML: {' '.join(str(error).split())}") from None
    found = [
        item
        for each in found
        for item in (each.get("items", [each]) if isinstance(each, dict) else [each])
    ]
    if not all(isinstance(each, dict) for each in found):
        raise InputError(f"{path}: a document is no mapping, expected kind, metadata and spec")
    return found


def _quota(made: Imported, name: str, spec: dict[str, Any]) -> int:
    """GPUs of a ClusterQueue's flavors together."""
    gpus = 0
    for group in spec.get("resourceGroups") or []:
        for flavor in group.get("flavors") or []:
            for resource in flavor.get("resources") or []:
                what = f"{resource.get('name')} of flavor {flavor.get('name')}"
                amount = str(resource.get("nominalQuota", 0))
                if not str(resource.get("name")).endswith("/gpu"):
                    made.unused.append(f"ClusterQueue {name}: quota of {what}")
                    continue
                if not re.fullmatch(r"\d+", amount):
                    raise InputError(
                        f"ClusterQueue {name}: nominalQuota of {what} is {amount!r}, expected a whole number"
                    )
                gpus += int(amount)
                for limit in ("borrowingLimit", "lendingLimit"):
                    if limit in resource:
                        made.unused.append(f"ClusterQueue {name}: {limit} of {what}")
    return gpus
