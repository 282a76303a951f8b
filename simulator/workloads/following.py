"""Jobs that follow others, as files say it: "afterok:20:21", names of jobs, think times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from simulator.model.workload import Dependency

CARRIED_OUT = {"afterok": True, "aftercorr": True, "afterany": False}
"""Slurm's kinds of dependency, and whether they need success; `aftercorr` counts for all tasks of an array."""
NOT_CARRIED_OUT = (
    "jobs have dependencies of a kind that is not supported (after, afternotok, singleton)"
)
_PART = re.compile(r"\s*(?:(after\w*|singleton)(?::|$))?([^,;?\s]*)[,;?\s]*")

After = Sequence[Dependency]


def following(text: str, think_s: float = 0.0) -> tuple[list[Dependency], int]:
    """The jobs of a text, and the number of parts that are not carried out ("singleton", "after:20").

    Jobs without a kind may end as they like. What stands in brackets (Slurm: "(unfulfilled)") does not count.
    """
    found, others = [], 0
    for kind, names in _PART.findall(re.sub(r"\([^)]*\)", "", text)):
        if kind and kind not in CARRIED_OUT:
            others += 1
        else:
            listed = names.split(":") if kind else [names]
            found += [Dependency(n, think_s, CARRIED_OUT.get(kind, False)) for n in listed if n]
    return found, others


def resolved(
    after: Sequence[After], names: Sequence[str], jobs: Sequence[str]
) -> tuple[list[list[Dependency]], int]:
    """The same with names of jobs of the workload, and the number of those that are not there.

    A name stands for all runs of a job, and that of an array ("7") for all its tasks ("7_1", "7_2").

    Parameters
    ----------
    names, jobs : the name of each job in the file, and in the workload.
    """
    known: dict[str, list[str]] = defaultdict(list)
    for name, job in zip(names, jobs, strict=True):
        known[name].append(job)
        array, line, _ = name.partition("_")
        if line:
            known[array].append(job)
    found, missing = [], 0
    for before in after:
        listed = [d._replace(job_id=job) for d in before for job in known.get(d.job_id, ())]
        missing += sum(d.job_id not in known for d in before)
        found.append(listed)
    return found, missing
