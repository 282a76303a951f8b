"""Resources that were short while a job waited, as far as the tables of a run show it.

    short = Shortages.of(folder, job, own, run)      # rows of the job, tables of the run
    short.lines(since_s, until_s)

At every instant of the wait the free GPUs, CPUs and memory of the job's nodes are compared with what
it asks for. A node that is away counts as full. Of shared GPUs only the sum of a node is known.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.scenario.reading import RunTables, expect_nodes, read_run_json, read_run_table
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.tolerances import SUMS

RESOURCES = ("gpus", "cpus", "memory_gb")
BESIDE_GPUS = ("CPUs", "GB of memory")
NOTHING = "nothing"
BEHIND = "the head of the queue"
TOGETHER = "CPUs and memory on one node"

IsOwn = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""``(N,)`` whether each node is of the job's controller."""


@dataclass(frozen=True)
class Quota:
    """The limit of the job's tenant.

    Attributes
    ----------
    tenant, gpus : who, and how many GPUs its jobs may hold together.
    jobs : names of the tenant's jobs.
    """

    tenant: str
    gpus: float
    jobs: frozenset[str]


class _Use:
    """Resources in use while changes are read in order.

    Attributes
    ----------
    amounts : ``(N, 3)`` GPUs, CPUs and GB in use of each node.
    hosted : ``(N,)`` shares on each node.
    down : nodes of the job's controller that are away; each of them is filled by a share of nobody.
    of_tenant : GPUs in use by some jobs.
    """

    def __init__(self, shares: pd.DataFrame, nodes: IsOwn, jobs: frozenset[str]) -> None:
        self.amounts = np.zeros((len(nodes), len(RESOURCES)))
        self.hosted = np.zeros(len(nodes), dtype=np.int64)
        self.down, self.of_tenant = 0, 0.0
        self._node = shares["node"].tolist()
        self._held = shares[list(RESOURCES)].to_numpy(dtype=float)
        self._is_away = (shares["is_away"].to_numpy() & nodes[self._node]).tolist()
        self._is_tenants = shares["job_id"].isin(jobs).tolist()

    def change(self, row: int, sign: int) -> None:
        """A share starts (1) or ends (-1)."""
        node, held = self._node[row], sign * self._held[row]
        self.amounts[node] += held
        self.hosted[node] += sign
        self.down += sign * self._is_away[row]
        if self._is_tenants[row]:
            self.of_tenant += float(held[0])


@dataclass(frozen=True)
class Shortages:
    """One job, the nodes on which it may run, and what ran there.

    Attributes
    ----------
    shares : rows of schedule.csv and, with ``is_away``, those of outages.csv.
    capacity : ``(N, 3)`` GPUs, CPUs and GB of each node of the cluster; None where policies choose the types.
    nodes : ``(N,)`` whether the node is of the job's controller.
    demand : GPUs, CPUs and GB of the job; NaN where the tables do not say it.
    spreads : whether the job may lie on several nodes.
    quota : None where no quota is a limit.
    can_fail : whether nodes could be down and the tables do not say when (older runs).
    in_parts : whether jobs hold parts of GPUs; then nothing is known of single GPUs.
    earlier : rows of jobs.csv, by submission, of the jobs there that came before this one.
    """

    shares: pd.DataFrame
    capacity: FloatArray | None
    nodes: IsOwn
    demand: tuple[float, float, float]
    spreads: bool
    quota: Quota | None
    can_fail: bool = False
    in_parts: bool = False
    earlier: pd.DataFrame | None = None

    @classmethod
    def of(
        cls, folder: Path, job: pd.Series[Any], own: pd.DataFrame, run: RunTables
    ) -> Shortages | None:
        """From the folder of a run; None where it does not say enough of the machines (older runs).

        Parameters
        ----------
        job : its row of jobs.csv.
        own : its rows of schedule.csv.
        """
        _, jobs, shares, machines = run
        if machines is None or not {"limits", "num_controllers", "elastic"} <= {*machines}:
            return None
        if not {*RESOURCES} <= {*shares}:
            return None
        count, controllers = int(machines["num_nodes"]), int(machines["num_controllers"])
        if own.empty and controllers > 1:
            return None  # which controller it belonged to is not known
        index = 0 if own.empty else int(own["node"].iloc[0]) % controllers
        types = machines["type_of"]
        capacity = None
        if types is not None:
            kinds = zip(machines["node_types"], machines["limits"], strict=True)
            of_type = np.array([[kind["gpus"] or np.inf, *limits] for kind, limits in kinds])
            capacity = of_type[np.array(types, dtype=np.int64)]
        in_parts = bool((shares["gpus"] % 1 != 0).any())
        held = own.groupby("start_s")[list(RESOURCES)].sum()
        if machines["elastic"]:
            gpus, *beside = 1.0, np.nan, np.nan
        elif held.empty:
            asked = np.nan if in_parts else float(job.get("gpus", np.nan))
            gpus, *beside = asked, np.nan, np.nan
        else:
            gpus, *beside = held.iloc[0].tolist()
        widest = np.inf if capacity is None else float(capacity[:, 0].max())
        over_nodes = bool(own.duplicated("start_s").any())
        outages = folder / "outages.csv"
        return cls(
            _with_outages(shares, outages, capacity, count),
            capacity,
            np.arange(count) % controllers == index,
            (gpus, float(beside[0]), float(beside[1])),
            over_nodes or gpus > widest,
            _quota(folder, job, jobs),
            "failures" in jobs and not outages.exists(),
            in_parts,
            _earlier(job, run, controllers, index),
        )

    def lines(self, since_s: float, until_s: float) -> list[str]:
        """One line for each thing that was short: for how long, and how it was at first."""
        total: dict[str, float] = {}
        first: dict[str, str] = {}
        for at_s, end_s, use in self._stretches(since_s, until_s):
            what, text = self._short(use)
            if what == NOTHING:
                what, text = self._behind(at_s, use)
            total[what] = total.get(what, 0.0) + end_s - at_s
            if what not in first:
                down = (
                    f"; {use.down} node{'s were' if use.down > 1 else ' was'} down"
                    if use.down
                    else ""
                )
                first[what] = f"at {at_s:,.0f} s: {text}{down}" if text else ""
        lines = []
        for what, seconds in total.items():
            span = f"{seconds / 3600:.2f} h" if seconds >= 3600 else f"{seconds:.0f} s"
            if what == NOTHING:
                why = "no decision started it (rounds, the optimization server, or the policy)"
                if self.in_parts:
                    why = f"jobs hold parts of GPUs, and none may have had fitting, or {why}"
                if self.can_fail:
                    why = f"nodes were down, or {why}"
                lines.append(f"  For {span} nothing was short that the tables show: {why}.")
            elif what == BEHIND:
                lines.append(
                    f"  For {span} it would have fitted, but stood behind {what} ({first[what]})."
                )
            else:
                lines.append(f"  Short for {span}: {what} ({first[what]}).")
        return lines

    def _behind(self, at_s: float, use: _Use) -> tuple[str, str]:
        """The head of the queue, where it came before this job, was short of GPUs, and no job started before it."""
        if self.earlier is None or self.capacity is None or self.in_parts:
            return NOTHING, ""
        waits = self.earlier[~(self.earlier["first_start_s"] <= at_s)]
        if waits.empty:
            return NOTHING, ""
        name, gpus, start_s = waits.iloc[0][["job_id", "gpus", "first_start_s"]].tolist()
        free = float((self.capacity - use.amounts)[self.nodes, 0].sum())
        starts_s = self.shares["start_s"][~self.shares["is_away"]]
        if free >= gpus - SUMS or ((starts_s > at_s) & (starts_s < start_s)).any():
            return NOTHING, ""
        return (
            BEHIND,
            f"{name}, which needs {gpus:g} GPUs, {free:g} free, and starts at {start_s:,.0f} s",
        )

    def _stretches(self, since_s: float, until_s: float) -> Iterator[tuple[float, float, _Use]]:
        """From change to change: begin, end, and what is in use, which the next step changes."""
        near = self.shares[(self.shares["end_s"] > since_s) & (self.shares["start_s"] < until_s)]
        start, end = near["start_s"].to_numpy(dtype=float), near["end_s"].to_numpy(dtype=float)
        changes = np.unique(np.concatenate([start, end]))
        inside = changes[(changes > since_s) & (changes < until_s)]
        times = [since_s, *inside.tolist(), until_s]
        use = _Use(near, self.nodes, self.quota.jobs if self.quota else frozenset())
        begins, ends = deque(np.argsort(start).tolist()), deque(np.argsort(end).tolist())
        for at_s, next_s in itertools.pairwise(times):
            while begins and start[begins[0]] <= at_s:
                use.change(begins.popleft(), 1)
            while ends and end[ends[0]] <= at_s:
                use.change(ends.popleft(), -1)
            yield at_s, next_s, use

    def _short(self, use: _Use) -> tuple[str, str]:
        """The shortage beside what is in use, and its amounts."""
        gpus, quota = self.demand[0], self.quota
        if quota is not None and use.of_tenant + gpus > quota.gpus + SUMS:
            return (
                f"the quota of its tenant {quota.tenant}",
                f"{use.of_tenant:g} of {quota.gpus:g} GPUs in use, it needs {gpus:g}",
            )
        if self.capacity is None:
            has_empty = (use.hosted[self.nodes] == 0).any()
            none = "none is empty" if use.down else "each of them runs something"
            return (NOTHING, "") if has_empty else ("nodes", none)
        return self._lacking((self.capacity - use.amounts)[self.nodes])

    def _lacking(self, left: FloatArray) -> tuple[str, str]:
        """The first of GPUs, GPUs on one node, CPUs and memory that does not suffice."""
        gpus, *others = self.demand
        free, most = float(left[:, 0].sum()), float(left[:, 0].max())
        needs = f"it needs {gpus:g}"
        if free < gpus - SUMS:
            return "GPUs", f"{free:g} free, {needs}"
        if not self.spreads and most < gpus - SUMS:
            return "GPUs on one node", f"{free:g} free, at most {most:g} on one node, {needs}"
        has_gpus = np.ones(len(left), dtype=np.bool_) if self.spreads else left[:, 0] >= gpus - SUMS
        fits = has_gpus | np.isnan(gpus)
        for k, (name, wanted) in enumerate(zip(BESIDE_GPUS, others, strict=True), 1):
            if not wanted > 0:  # NaN: not known
                continue
            there, least = left[has_gpus, k], wanted - SUMS * max(1.0, wanted)
            enough = float(there.sum() if self.spreads else there.max())
            if enough < least:
                where = "on all nodes" if self.spreads else "at most where the GPUs suffice"
                return name, f"{enough:g} free {where}, it got {wanted:g} later"
            fits &= left[:, k] >= least
        if not (self.spreads or fits.any()):
            cpus, memory_gb = others
            return TOGETHER, f"it got {cpus:g} CPUs and {memory_gb:g} GB later"
        return NOTHING, ""


def _earlier(
    job: pd.Series[Any], run: RunTables, controllers: int, index: int
) -> pd.DataFrame | None:
    """Jobs of the same controller that were submitted before this one; None where the tables do not say it."""
    jobs, shares = run.jobs, run.schedule
    if not {"first_start_s", "gpus"} <= {*jobs} or (run.machines or {}).get("elastic", True):
        return None
    there = set(shares["job_id"][shares["node"] % controllers == index])
    return jobs[(jobs.index < job.name) & jobs["job_id"].isin(there)]


def _with_outages(
    shares: pd.DataFrame, path: Path, capacity: FloatArray | None, count: int
) -> pd.DataFrame:
    """The shares, and one of nobody for each time that a node was away: it takes all that the node has."""
    shares = shares.assign(is_away=False)
    spans = ("node", "start_s", "end_s")
    if not path.exists():
        return shares
    away = read_run_table(path, spans, spans, may_be_empty=True)
    if away.empty:
        return shares
    expect_nodes(away, count, path)
    nodes = away["node"]
    whole = np.zeros((len(away), len(RESOURCES)))
    if capacity is not None:
        whole = np.where(np.isinf(capacity), 0.0, capacity)[nodes.to_numpy()]
    filled = pd.DataFrame(whole, columns=list(RESOURCES))
    filled = filled.assign(job_id="", node=nodes, start_s=away["start_s"], end_s=away["end_s"])
    return pd.concat([shares, filled.assign(is_away=True)], ignore_index=True)


def _quota(folder: Path, job: pd.Series[Any], jobs: pd.DataFrame) -> Quota | None:
    """That of the job's tenant, where quotas have kept jobs from the queue."""
    path, summary = folder / "tenants.csv", folder / "summary.json"
    if not (summary.exists() and read_run_json(summary).get("held_jobs") and path.exists()):
        return None
    tenants = read_run_table(path, ("tenant",), ())
    for by in ("vc", "user"):
        if by in job and str(job[by]) in set(tenants["tenant"]) and "quota" in tenants:
            name = str(job[by])
            limit = _number(tenants.loc[tenants["tenant"] == name, "quota"].iloc[0], path)
            theirs = jobs.loc[jobs[by].astype(str) == name, "job_id"].astype(str)
            return Quota(name, limit, frozenset(theirs)) if np.isfinite(limit) else None
    return None


def _number(value: Any, path: Path) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{path}: quota is {value!r}, expected a number or nothing") from None
