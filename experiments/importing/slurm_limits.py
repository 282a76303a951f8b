"""Limits of Slurm's QOS and associations (`sacctmgr -P show qos`, `show assoc`), as tenants of a scenario.

A scenario has one kind of tenant: users, accounts or QOS. Limits of users come first; those of another kind are listed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.importing.imported import Imported
from experiments.text import counted
from simulator.errors import InputError
from simulator.files.inputs import MOST_CONFIG_BYTES, read_input
from simulator.model.workload import Workload
from simulator.workloads.slurm_text import gpus_of

Row = dict[str, str]
WHOLE = re.compile(r"[0-9]{1,9}")
GPUS = re.compile(r"(?:^|,)gres/gpu[:=]")
MOST_NAMED = 5
OWNERS = ("user", "account", "qos")
KEYS = {"quota": "GPUs", "max_jobs": "jobs"}

OF_QOS = {
    ("user", "max_jobs"): ("MaxJobsPU", "MaxJobsPerUser"),
    ("user", "quota"): ("MaxTRESPU", "MaxTRESPerUser"),
    ("account", "max_jobs"): ("MaxJobsPA", "MaxJobsPerAccount"),
    ("account", "quota"): ("MaxTRESPA", "MaxTRESPerAccount"),
    ("qos", "max_jobs"): ("GrpJobs",),
    ("qos", "quota"): ("GrpTRES",),
}
"""Columns of QOS by whom they limit, and in what."""


def piped(path: Path, what: str, *needs: str) -> list[Row]:
    """Rows of a table with ``|`` between its columns, whose titles become small letters.

    Raises InputError: another number of columns in a row, or without a column that is needed.
    """
    text = read_input(path, what, MOST_CONFIG_BYTES).decode("utf-8", "replace")
    lines = [line.split("|") for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path}: is empty, expected {' and '.join(needs)} between |")
    header = [name.strip().lower().replace(" ", "") for name in lines[0]]
    if not {need.lower() for need in needs} <= set(header):
        raise InputError(
            f"{path}: columns are {', '.join(header[:5])}, expected {' and '.join(needs)} between |"
        )
    for number, line in enumerate(lines[1:], start=1):
        if len(line) != len(header):
            raise InputError(
                f"{path}: row {number} has {len(line)} columns, expected {len(header)}"
            )
    return [dict(zip(header, line, strict=True)) for line in lines[1:]]


def of_cluster(
    made: Imported, path: Path, rows: Sequence[Row], cluster: str
) -> list[tuple[int, Row]]:
    """Rows of one cluster with their numbers, from 1; those of others are counted.

    Parameters
    ----------
    cluster : its name in slurm.conf; empty where that does not say it.

    Raises InputError: rows are of several, and which one is meant is not known.
    """
    named = {row.get("cluster", "").lower() for row in rows} - {""}
    if not cluster and len(named) > 1:
        raise InputError(
            f"{path}: has rows of the clusters {_some(sorted(named))}, expected one, or its ClusterName in slurm.conf"
        )
    own = [
        (number, row)
        for number, row in enumerate(rows, start=1)
        if not cluster or row.get("cluster", "").lower() in ("", cluster.lower())
    ]
    if len(own) < len(rows):
        made.unused.append(
            f"{counted(len(rows) - len(own), 'row')} of {path}, of other clusters than {cluster}"
        )
    return own


def list_unused(made: Imported, path: Path, rows: Sequence[Row], used: Collection[str]) -> None:
    """Columns that have a value and are not used."""
    for column in rows[0] if rows else ():
        if column not in used and any(row.get(column) for row in rows):
            made.unused.append(f"column {column} of {path}")


def owners_of(workload: Workload) -> dict[str, set[str]]:
    """Names that jobs have, by the kind of owner."""
    return {owner: set(getattr(workload, owner)) for owner in OWNERS}


@dataclass
class ImportedLimits:
    """Limits by whom they bind.

    Attributes
    ----------
    of_each : by owner ("user") and key ("max_jobs"), a number for each of them, and where it is from.
    by_name : the same by name.
    """

    of_each: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    by_name: dict[tuple[str, str], tuple[dict[str, float], str]] = field(default_factory=dict)

    def add_qos(self, made: Imported, path: Path, rows: Sequence[Row]) -> set[str]:
        """Limits of QOS; those of users and accounts only where there is one QOS. Returns the columns that are used."""
        used = set()
        for (owner, key), names in OF_QOS.items():
            column = next((name for name in names if rows and name.lower() in rows[0]), "")
            found = {
                row["name"]: _limit(path, key, column, row[column.lower()])
                for row in rows
                if column
            }
            because = f"{column} of {path}"
            found = _binding(made, because, found)
            if not found or (owner != "qos" and len(rows) > 1):
                continue
            used.add(column.lower())
            if owner == "qos":
                self.by_name[owner, key] = found, because
            else:
                self.of_each[owner, key] = next(iter(found.values())), because
        return used

    def add_associations(self, made: Imported, path: Path, cluster: str) -> None:
        """Limits of users and of accounts of a cluster; a user in several accounts has the sum of theirs."""
        table = piped(path, "sacctmgr -P show assoc", "Account", "User")
        rows = [row for _, row in of_cluster(made, path, table, cluster)]
        columns: dict[str, dict[str, tuple[str, ...]]] = {
            "user": {"max_jobs": ("MaxJobs", "GrpJobs"), "quota": ("GrpTRES",)},
            "account": {"max_jobs": ("GrpJobs",), "quota": ("GrpTRES",)},
        }
        for owner, keys in columns.items():
            own = [row for row in rows if bool(row["user"]) == (owner == "user")]
            for key, names in keys.items():
                found: dict[str, float] = {}
                for row in own:
                    limit = min(
                        _limit(path, key, name, row.get(name.lower(), "")) for name in names
                    )
                    found[row[owner]] = found.get(row[owner], 0.0) + limit
                given = [name for name in names if any(row.get(name.lower()) for row in own)]
                because = f"{' and '.join(given)} of {path}"
                found.pop("", None)
                if known := _binding(made, because, found):
                    self.by_name[owner, key] = known, because
        if any(row.get("maxjobs") for row in rows if not row["user"]):
            made.unused.append(f"MaxJobs of accounts of {path}, which each of their users has")
        list_unused(
            made, path, rows, {"cluster", "account", "user", "maxjobs", "grpjobs", "grptres"}
        )

    def write(self, made: Imported, owners: Mapping[str, set[str]] | None) -> None:
        """The limits of one kind of owner; the others are listed.

        Parameters
        ----------
        owners : names that the jobs have, by owner; None: not known. A limit of a name without a job is left out.
        """
        for (owner, key), (limits, because) in list(self.by_name.items()):
            if owners is not None:
                with_jobs = {name: n for name, n in limits.items() if name in owners[owner]}
                self.by_name[owner, key] = with_jobs, because
                if owner == "account" and (others := limits.keys() - with_jobs):
                    made.unused.append(
                        f"limits of {KEYS[key]} ({because}) of accounts that no job names, such as parents: "
                        f"{_some(sorted(others))}"
                    )
        given: dict[str, set[str]] = {}
        for owner, key in [
            *(k for k in self.of_each if owners is None or owners[k[0]] - {""}),
            *(k for k, (limits, _) in self.by_name.items() if limits),
        ]:
            given.setdefault(owner, set()).add(key)
        chosen = next((owner for owner in OWNERS if owner in given), None)
        has = made.keys.get("tenants", {}).get("by")
        if has is not None and has[0] != chosen:  # fair shares are of users, who come first
            chosen = None
        by = chosen if has is None else has[0]
        for owner, keys in given.items():
            for key in sorted(keys):
                value, because = self._limit_of(owner, key)
                if owner != chosen:
                    made.unused.append(
                        f"limits of {KEYS[key]} by {owner} ({because}): tenants are by {by}"
                    )
                    continue
                if has is None:
                    made.set("tenants", "by", owner, because)
                    has = made.keys["tenants"]["by"]
                made.set("tenants", key, value, because)

    def _limit_of(self, owner: str, key: str) -> tuple[object, str]:
        """Limits of each, by a QOS, which Slurm takes before those of associations; else by name."""
        if (owner, key) in self.of_each:
            number, because = self.of_each[owner, key]
            return _plain(number), because
        limits, because = self.by_name[owner, key]
        return {name: _plain(limit) for name, limit in limits.items()}, because


def _binding(made: Imported, because: str, limits: Mapping[str, float]) -> dict[str, float]:
    """Limits that a scenario can have; those that allow nothing are listed."""
    if none := sorted(name for name, limit in limits.items() if limit < 1):
        made.unused.append(f"limits of nothing at all ({because}): {_some(none)}")
    return {name: limit for name, limit in limits.items() if 1 <= limit < math.inf}


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f", {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) else number


def _limit(path: Path, key: str, column: str, text: str) -> float:
    """A limit of jobs, or of the GPUs in a list of resources; infinite where there is none."""
    if key == "quota":
        return gpus_of(text) if GPUS.search(text) else math.inf
    if not text or text == "-1":
        return math.inf
    if not WHOLE.fullmatch(text):
        raise InputError(f"{path}: {column} has {text!r}, expected a whole number below a billion")
    return float(text)
