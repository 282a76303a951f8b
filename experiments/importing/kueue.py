"""Kueue's settings: ClusterQueues of a YAML file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.importing.imported import Imported, format_of
from simulator.errors import InputError
from simulator.files.inputs import MOST_CONFIG_BYTES, read_input
from simulator.workloads.gpu_types import known_gpu_type
from simulator.workloads.kubernetes import group_name

USED = {
    "cohort", "cohortName", "resourceGroups", "preemption.reclaimWithinCohort", "queueingStrategy",
}  # fmt: skip


MOST_VALUES, DEEPEST = 300_000, 50
"""Mappings, lists and texts of a file at most, those that an alias stands for counted each time; how deep they stand."""


def from_kueue(
    queues: Path, jobs: str, gpus_per_node: int, out: Path = Path("scenario.toml")
) -> Imported:
    """A scenario with a tenant for each ClusterQueue, its nominal quota of GPUs, borrowing and reclaim.

    Parameters
    ----------
    jobs : the file of jobs, as it is named from the folder of the scenario.
    out : the scenario.

    Raises InputError: no such file, no YAML, PyYAML is not there, a part is of another form than Kueue's, or no
    ClusterQueue with a quota of GPUs.
    """
    made = Imported(str(queues))
    quota: dict[str, int] = {}
    of_flavor: Counter[str] = Counter()
    cohorts: dict[str, str] = {}
    reclaim, strict = set(), set()
    for document in _documents(queues):
        kind, name = (
            document.get("kind"),
            _Part(document, str(queues)).inner("metadata").text("name"),
        )
        if kind != "ClusterQueue":
            made.unused.append(f"{kind} {name}")
            continue
        queue = _Part(document, f"{queues}: ClusterQueue {name}")
        if not name or name in quota:
            expected = "one of each name" if name else "metadata.name"
            raise InputError(
                f"{queue.where} is there {'twice' if name else 'without a name'}, expected {expected}"
            )
        spec = queue.inner("spec")
        by_flavor = _quota(made, name, spec)
        gpus = by_flavor.total()
        of_flavor += by_flavor
        if gpus < 1:
            made.unused.append(f"ClusterQueue {name} (no quota of a GPU)")
            continue
        quota[name] = gpus
        cohorts[name] = spec.text("cohortName") or spec.text("cohort")
        preemption = spec.inner("preemption")
        reclaim.add(preemption.text("reclaimWithinCohort") or "Never")
        strict.add(spec.text("queueingStrategy") or "BestEffortFIFO")
        keys = {*(f"preemption.{key}" for key in preemption.keys), *spec.keys} - {"preemption"}
        made.unused += [f"ClusterQueue {name}: {key}" for key in sorted(keys - USED)]
    if not quota:
        raise InputError(f"{queues}: no ClusterQueue with a nominalQuota of GPUs, expected one")
    of_each = Counter(filter(None, cohorts.values()))
    borrows = max(of_each.values(), default=0) > 1
    if borrows and len(set(cohorts.values())) > 1:
        made.unused.append("cohorts apart: all tenants of a scenario are one cohort")
    made.set("workload", "kind", format_of(out.parent / jobs), "the format of your file of jobs")
    made.set("workload", "path", jobs, "your file of jobs, with the ClusterQueue in the column vc")
    total = sum(quota.values())
    if len(of_flavor) > 1:
        made.set(
            "cluster", "kind", "mixed", f"{len(of_flavor)} flavors, {total} GPUs of quotas in all"
        )
        for flavor, gpus in of_flavor.items():
            _servers(made, f"cluster.groups.{flavor}", flavor, gpus, gpus_per_node)
    else:
        made.set("cluster", "kind", "nodes", "equal servers")
        _servers(made, "cluster", *of_flavor.popitem(), gpus_per_node)
    made.set("tenants", "by", "vc", "ClusterQueue")
    made.set("tenants", "quota", quota, "nominalQuota")
    made.set(
        "tenants", "borrowing", borrows, "a cohort lends" if borrows else "no cohort of several"
    )
    if borrows:
        taken_back = reclaim != {"Never"}
        made.set("", "policy", "capacity", "borrowing in a cohort")
        words = ", ".join(sorted(reclaim))
        made.set("policy_options", "reclaim", taken_back, f"reclaimWithinCohort: {words}")
        if "StrictFIFO" in strict:
            made.unused.append("queueingStrategy: StrictFIFO")
    else:
        policy = "fifo-strict" if strict == {"StrictFIFO"} else "fifo-backfill"
        made.set("", "policy", policy, f"queueingStrategy: {', '.join(sorted(strict))}")
    return made


def _servers(made: Imported, table: str, flavor: str, gpus: int, gpus_per_node: int) -> None:
    """Servers for the quotas of a flavor; jobs of a Workload ask for it by that name."""
    made.set(table, "num_nodes", -(-gpus // gpus_per_node), f"{gpus} GPUs of quotas in all")
    made.set(table, "gpus_per_node", gpus_per_node, "--gpus-per-node")
    if "groups" in table and (known := known_gpu_type(flavor)):
        made.set(table, "gpu_type", known, f"flavor {flavor}")


class _Part:
    """A mapping of the file, with its place for messages; what is not there is empty."""

    def __init__(self, found: object, where: str) -> None:
        if not isinstance(found, dict):
            raise InputError(f"{where} is {_shown(found)}, expected a mapping")
        self.where, self._found = where, found

    @property
    def keys(self) -> list[str]:
        return [*self._found]

    def _of(self, key: str, kind: type, expected: str) -> Any:
        found = self._found.get(key, "")
        if found in NOTHING:
            return kind()
        if not isinstance(found, kind):
            raise InputError(f"{self.where}: {key} is {_shown(found)}, expected {expected}")
        return found

    def inner(self, key: str) -> _Part:
        return _Part(self._of(key, dict, "a mapping"), f"{self.where}: {key}")

    def each(self, key: str) -> list[_Part]:
        return [
            _Part(one, f"{self.where}: an entry of {key}") for one in self._of(key, list, "a list")
        ]

    def text(self, key: str) -> str:
        return str(self._of(key, str, "a text"))


NOTHING = ("", "~", "null", "Null", "NULL")
"""Texts of YAML for no value."""


def _shown(found: object) -> str:
    return (
        repr(found[:60])
        if isinstance(found, str)
        else f"a {type(found).__name__.replace('dict', 'mapping')}"
    )


def _documents(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, those of a List one by one; every value in them is a text, a list or a mapping."""
    try:
        import yaml
    except ImportError:
        raise InputError("PyYAML is not there, expected pip install 'schedlab[kueue]'") from None
    text = read_input(path, "ClusterQueues in YAML", MOST_CONFIG_BYTES).decode("utf-8", "replace")
    try:
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        _expect_few(path, yaml.parse(text, loader))
        found = [each for each in yaml.load_all(text, loader) if each not in NOTHING]
    except yaml.YAMLError as error:
        raise InputError(f"{path}: no YAML: {' '.join(str(error).split())}") from None
    parts = [_Part(each, f"{path}: a document") for each in found]
    return [
        one._found
        for part in parts
        for one in (part.each("items") if "items" in part.keys else [part])
    ]


def _expect_few(path: Path, events: Iterable[Any]) -> None:
    """Refuse a file that stands for too much: an alias of aliases of aliases is a few bytes, and has no end.

    ``events`` : of YAML's parser, which builds nothing yet.
    """
    import yaml

    sizes: dict[str, int] = {}
    within: list[
        tuple[str | None, int]
    ] = []  # open mappings and lists: anchor, and the size before
    total = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            total += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            within.append((event.anchor, total))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = within.pop()
            if anchor:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
        if total > MOST_VALUES or len(within) > DEEPEST:
            limits = f"at most {MOST_VALUES:,} values, aliases counted each time, {DEEPEST} deep"
            raise InputError(f"{path}: holds too much, expected {limits}")


def _quota(made: Imported, name: str, spec: _Part) -> Counter[str]:
    """GPUs of a ClusterQueue by flavor."""
    gpus: Counter[str] = Counter()
    for group in spec.each("resourceGroups"):
        for flavor in group.each("flavors"):
            for resource in flavor.each("resources"):
                what = f"{resource.text('name')} of flavor {flavor.text('name')}"
                amount = resource.text("nominalQuota") or "0"
                if not resource.text("name").endswith("/gpu"):
                    made.unused.append(f"ClusterQueue {name}: quota of {what}")
                    continue
                if not re.fullmatch(r"[0-9]{1,9}", amount):
                    raise InputError(
                        f"{spec.where}: nominalQuota of {what} is {amount!r}, expected a whole number below a billion"
                    )
                gpus[group_name(flavor.text("name") or "gpu")] += int(amount)
                for limit in ("borrowingLimit", "lendingLimit"):
                    if limit in resource.keys:
                        made.unused.append(f"ClusterQueue {name}: {limit} of {what}")
    return gpus
