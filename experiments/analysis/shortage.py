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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.scenario.reading import RunTables, expect_nodes, read_run_json, read_run_table
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.places import short_of, types_of
from simulator.model.tolerances import SUMS

RESOURCES = ("gpus", "cpus", "memory_gb")
BESIDE_GPUS = ("CPUs", "GB of memory")
NOTHING = "nothing"
MOST_NAMED = 5
"""So many jobs are named; the others are counted."""
MOST_LINES = 12
"""So many parts of a wait are told one by one; the others are summed."""
TOGETHER = "CPUs and memory on one node"

IsOwn = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""``(N,)`` whether each node is of the job's controller."""


@dataclass(frozen=True)
class Quota:
    """The limits of the job's tenant.

    Attributes
    ----------
    tenant, gpus : who, and how many GPUs its jobs may hold together.
    jobs : names of the tenant's jobs.
    at_once : how many of them may run at once.
    """

    tenant: str
    gpus: float
    jobs: frozenset[str]
    at_once: float = np.inf


@dataclass
class _Shortage:
    """A part of a wait in which one thing was short.

    Attributes
    ----------
    what : the resource, or the job that stood before this one.
    text : how it was at first.
    behind : GPUs that the job needs that stood before this one; None where a resource was short.
    of : these GPUs in words, see `Shortages.gpus_of`.
    free : the fewest and the most GPUs that were free.
    beyond_s : end of this job, had it started, where others passed the one before it; else NaN.
    """

    what: str
    since_s: float
    until_s: float
    text: str = ""
    behind: float | None = None
    free: tuple[float, float] = (0.0, 0.0)
    beyond_s: float = np.nan
    of: str = "GPUs"

    def joins(self, other: _Shortage) -> bool:
        """Take the next part where it says the same."""
        if (self.what, self.behind) != (other.what, other.behind):
            return False
        self.until_s = other.until_s
        self.free = min(self.free[0], other.free[0]), max(self.free[1], other.free[1])
        return True


class _Use:
    """Resources in use while changes are read in order.

    Attributes
    ----------
    amounts : ``(N, 3)`` GPUs, CPUs and GB in use of each node.
    hosted : ``(N,)`` shares on each node.
    down : nodes of the job's controller that are away; each of them is filled by a share of nobody.
    of_tenant, running : GPUs in use by some jobs, and how many of them run.
    """

    def __init__(self, shares: pd.DataFrame, nodes: IsOwn, jobs: frozenset[str]) -> None:
        self.amounts = np.zeros((len(nodes), len(RESOURCES)))
        self.hosted = np.zeros(len(nodes), dtype=np.int64)
        self.down, self.of_tenant, self.running = 0, 0.0, 0
        self._node = shares["node"].tolist()
        self._held = shares[list(RESOURCES)].to_numpy(dtype=float)
        self._is_away = (shares["is_away"].to_numpy() & nodes[self._node]).tolist()
        self._is_tenants = shares["job_id"].isin(jobs).tolist()
        self._is_first = (~shares.duplicated(["job_id", "start_s"])).tolist()

    def change(self, row: int, sign: int) -> None:
        """A share starts (1) or ends (-1)."""
        node, held = self._node[row], sign * self._held[row]
        self.amounts[node] += held
        self.hosted[node] += sign
        self.down += sign * self._is_away[row]
        if self._is_tenants[row]:
            self.of_tenant += float(held[0])
            self.running += sign * self._is_first[row]


@dataclass(frozen=True)
class Shortages:
    """One job, the nodes on which it may run, and what ran there.

    Attributes
    ----------
    shares : rows of schedule.csv and, with ``is_away``, those of outages.csv.
    capacity : ``(N, 3)`` GPUs, CPUs and GB of each node of the cluster; None where policies choose the types.
    nodes : ``(N,)`` whether the node is of the job's controller, and of what it asks for.
    demand : GPUs, CPUs and GB of the job; NaN where the tables do not say it.
    spreads : whether the job may lie on several nodes.
    quota : None where no quota is a limit, or whose jobs it is of is not known.
    can_be_held : whether limits of tenants held jobs, and the tables do not say whose jobs they are (accounts, QOS).
    can_fail : whether nodes could be down and the tables do not say when (older runs).
    in_parts : whether jobs hold parts of GPUs; then nothing is known of single GPUs.
    others : rows of jobs.csv, by submission, of the other jobs of fixed demand there; None where policies choose.
    length_s : how long the job was expected to run: what it asked for, else its time alone; NaN where unknown.
    gpus_of : the GPUs that it asks for, in words: "GPUs", "A100", "GPUs of partition long".
    may_hold : ``(N,)`` nodes of the controller, by the types of GPU or groups of nodes that jobs ask for.
    """

    shares: pd.DataFrame
    capacity: FloatArray | None
    nodes: IsOwn
    demand: tuple[float, float, float]
    spreads: bool
    quota: Quota | None
    can_fail: bool = False
    in_parts: bool = False
    others: pd.DataFrame | None = None
    length_s: float = np.nan
    gpus_of: str = "GPUs"
    may_hold: dict[str, IsOwn] = field(default_factory=dict)
    can_be_held: bool = False

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
            wanted = np.nan if in_parts else float(job.get("gpus", np.nan))
            gpus, *beside = wanted, np.nan, np.nan
        else:
            gpus, *beside = held.iloc[0].tolist()
        own_nodes = np.arange(count) % controllers == index
        may_hold = _may_hold(jobs, machines, own_nodes)
        asked = _asks(job.to_frame().T)[0]
        nodes = may_hold.get(asked, own_nodes)
        if not nodes.any():
            return None
        widest = np.inf if capacity is None else float(capacity[nodes, 0].max())
        outages = folder / "outages.csv"
        return cls(
            _with_outages(shares, outages, capacity, count),
            capacity,
            nodes,
            (gpus, float(beside[0]), float(beside[1])),
            gpus > widest or _spreads(shares, widest),
            _quota(folder, job, jobs),
            "failures" in jobs and not outages.exists(),
            in_parts,
            _others(job, run, controllers, index),
            _expected_s(job),
            short_of(asked, str(job.get("vc", ""))),
            may_hold,
            _has_held(folder) and tenant_column(folder, job) is None,
        )

    def lines(self, since_s: float, until_s: float) -> list[str]:
        """One line for each part of the wait: what was short, who held it, who stood before the job."""
        parts: list[_Shortage] = []
        for at_s, end_s, use in self._stretches(since_s, until_s):
            what, text = self._short(use)
            part = _Shortage(what, at_s, end_s)
            if what == NOTHING:
                part = self._behind(at_s, end_s, until_s, use)
            if parts and parts[-1].joins(part):
                continue
            if part.behind is None and what != NOTHING and len(parts) < MOST_LINES:
                part.text = "; ".join(
                    [f"at {at_s:,.0f} s: {text}", *self._holders(at_s, what), *_down(use)]
                )
            parts.append(part)
        told, rest = parts[:MOST_LINES], parts[MOST_LINES:]
        lines = [self._line(part) for part in told]
        if rest:
            sums: dict[str, float] = {}
            for part in rest:
                sums[part.what] = sums.get(part.what, 0.0) + part.until_s - part.since_s
            longest = sorted(sums.items(), key=lambda each: -each[1])[:MOST_NAMED]
            listed = ", ".join(f"{what} {span_text(s)}" for what, s in longest)
            lines.append(f"  After {rest[0].since_s:,.0f} s, in {len(rest)} more parts: {listed}.")
        return lines

    def _line(self, part: _Shortage) -> str:
        """A part of the wait in words."""
        span = span_text(part.until_s - part.since_s)
        if part.what == NOTHING:
            why = "no decision started it (rounds, the optimization server, or the policy)"
            if self.in_parts:
                why = f"jobs hold parts of GPUs, and none may have had fitting, or {why}"
            if self.can_be_held:
                why = f"a limit of its tenant held it, or {why}"
            if self.can_fail:
                why = f"nodes were down, or {why}"
            return f"  For {span} the tables show no shortage: {why}."
        if part.behind is None:
            return f"  Short for {span}: {part.what} ({part.text})."
        least, most = part.free
        free = f"{most:g}" if least == most else f"{least:g} to {most:g}"
        why = f"{part.what}, which needs {part.behind:g} {part.of}; {free} free until {part.until_s:,.0f} s"
        if not np.isnan(part.beyond_s):
            why += f"; this job would have held GPUs until {part.beyond_s:,.0f} s"
        return f"  For {span} it would have fitted, but {why}."

    def _behind(self, at_s: float, end_s: float, until_s: float, use: _Use) -> _Shortage:
        """The job before this one that was short of GPUs: the next to start, or one that this job would have delayed.

        It waits, and starts no later than this job. In a strict order, no job that waits starts before it. Where
        jobs pass it, as in backfilling, this job would have held GPUs beyond its start.
        """
        nothing = _Shortage(NOTHING, at_s, end_s)
        if self.others is None or self.capacity is None or self.in_parts:
            return nothing
        arrival_s, start_s = self.others["arrival_s"], self.others["first_start_s"]
        waits = self.others[(arrival_s <= at_s) & (start_s > at_s) & (start_s <= until_s)]
        left = (self.capacity - use.amounts)[:, 0]
        free_of = {text: float(left[nodes].sum()) for text, nodes in self.may_hold.items()}
        # A job that may use none of these nodes does not stand before this one.
        near = {text: bool((nodes & self.nodes).any()) for text, nodes in self.may_hold.items()}
        asks = _asks(waits)
        lacks = waits["gpus"].to_numpy() > np.array([free_of[text] for text in asks]) + SUMS
        short = waits[lacks & np.array([near[text] for text in asks], dtype=np.bool_)]
        if short.empty:
            return nothing
        next_s = start_s[(start_s > at_s) & (start_s < until_s)].min()  # NaN: none
        strict = short[short["first_start_s"] <= (until_s if np.isnan(next_s) else next_s)]
        beyond_s = np.nan
        if strict.empty:
            beyond_s = at_s + self.length_s
        first = (short if strict.empty else strict).iloc[0]
        name, gpus, begins_s = first[["job_id", "gpus", "first_start_s"]]
        asked = _asks(first.to_frame().T)[0]
        free, of = free_of[asked], short_of(asked, str(first.get("vc", "")))
        if strict.empty and not beyond_s > begins_s:
            return nothing
        return _Shortage(
            f"the head of the queue is {name}", at_s, end_s, "", gpus, (free, free), beyond_s, of
        )

    def _holders(self, at_s: float, what: str) -> list[str]:
        """Holders of GPUs of the job's nodes at a time, those with most first."""
        held = self.shares[(self.shares["start_s"] <= at_s) & (self.shares["end_s"] > at_s)]
        held = held[~held["is_away"] & self.nodes[held["node"].to_numpy()]]
        if self.quota is not None and what.startswith(("the quota", "the number")):
            held = held[held["job_id"].isin(self.quota.jobs)]
        by_job = held.groupby("job_id", sort=False).agg({"gpus": "sum", "end_s": "max"})
        by_job = by_job.sort_values("gpus", ascending=False, kind="stable")
        if by_job.empty:
            return []
        named = [
            f"{name} holds {row.gpus:g} until {row.end_s:,.0f} s"
            for name, row in by_job.head(MOST_NAMED).iterrows()
        ]
        more = by_job["gpus"].iloc[MOST_NAMED:]
        rest = [f"{len(more)} more hold {more.sum():g}"] if len(more) else []
        return [", ".join(named + rest)]

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
        if quota is not None and use.running >= quota.at_once:
            return (
                f"the number of jobs of its tenant {quota.tenant}",
                f"{use.running} of {quota.at_once:g} run already",
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
            return self.gpus_of, f"{free:g} free, {needs}"
        if not self.spreads and most < gpus - SUMS:
            return (
                f"{self.gpus_of} on one node",
                f"{free:g} free, at most {most:g} on one node, {needs}",
            )
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


def _asks(jobs: pd.DataFrame) -> list[str]:
    """Types of GPU, or groups of nodes, that jobs ask for; "" for any.

    In CSV files, `experiments.text.cell` writes a quote before "@".
    """
    if "gpu_types" not in jobs:
        return [""] * len(jobs)
    return [text.removeprefix("'") for text in jobs["gpu_types"].fillna("").astype(str)]


def _may_hold(jobs: pd.DataFrame, machines: dict[str, Any], own: IsOwn) -> dict[str, IsOwn]:
    """Nodes of a controller by what jobs ask for."""
    types = machines["type_of"]
    if "gpu_types" not in jobs or types is None:
        return {"": own}
    kinds = [
        (kind.get("gpu_type", "").lower(), f"@{kind['name'].lower()}")
        for kind in machines["node_types"]
    ]
    found = {}
    for text in dict.fromkeys(["", *_asks(jobs)]):
        wanted = types_of(text)
        fits = np.array([not wanted or not wanted.isdisjoint(kind) for kind in kinds])
        found[text] = own & fits[np.array(types, dtype=np.int64)]
    return found


def _spreads(shares: pd.DataFrame, widest: float) -> bool:
    """Whether jobs lie on several nodes, also where one would hold them: so the policy of the run places them."""
    pieces = shares[shares.duplicated(["job_id", "start_s"], keep=False)]
    return bool((pieces.groupby(["job_id", "start_s"])["gpus"].sum() <= widest).any())


def span_text(seconds: float) -> str:
    """A time in h or s."""
    return f"{seconds / 3600:.2f} h" if seconds >= 3600 else f"{seconds:.0f} s"


def _down(use: _Use) -> list[str]:
    return [f"{use.down} node{'s were' if use.down > 1 else ' was'} down"] if use.down else []


def _others(
    job: pd.Series[Any], run: RunTables, controllers: int, index: int
) -> pd.DataFrame | None:
    """Other jobs of the same controller; None where the tables do not say what they need."""
    jobs, shares = run.jobs, run.schedule
    if not {"first_start_s", "gpus"} <= {*jobs} or (run.machines or {}).get("elastic", True):
        return None
    there = set(shares["job_id"][shares["node"] % controllers == index])
    return jobs[(jobs.index != job.name) & jobs["job_id"].isin(there)]


def _expected_s(job: pd.Series[Any]) -> float:
    """Duration of a job as a policy with reservations expects it, s."""
    known = [job.get(name, np.nan) for name in ("requested_s", "ideal_s")]
    return next((float(value) for value in known if pd.notna(value)), np.nan)


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
    """That of the job's tenant, where limits have kept jobs from the queue."""
    path = folder / "tenants.csv"
    if not (_has_held(folder) and path.exists()):
        return None
    tenants = read_run_table(path, ("tenant",), ())
    by = tenant_column(folder, job)
    if by is None or "quota" not in tenants:
        return None
    name = str(job[by])
    row = tenants[tenants["tenant"] == name].iloc[0]
    gpus, at_once = (_number(row.get(key, np.nan), path, key) for key in ("quota", "max_jobs"))
    theirs = jobs.loc[jobs[by].astype(str) == name, "job_id"].astype(str)
    return None if gpus == at_once == np.inf else Quota(name, gpus, frozenset(theirs), at_once)


def _has_held(folder: Path) -> bool:
    """Whether limits of tenants held jobs."""
    summary = folder / "summary.json"
    return summary.exists() and bool(read_run_json(summary).get("held_jobs"))


def tenant_column(folder: Path, job: pd.Series[Any]) -> str | None:
    """Column of jobs.csv that names the tenants; None: the run has none."""
    path = folder / "tenants.csv"
    if not path.exists():
        return None
    names = set(read_run_table(path, ("tenant",), ())["tenant"])
    return next((by for by in ("vc", "user") if by in job and str(job[by]) in names), None)


def _number(value: Any, path: Path, key: str) -> float:
    """A limit; infinite where there is none."""
    try:
        return np.inf if np.isnan(float(value)) else float(value)
    except ValueError:
        raise InputError(f"{path}: {key} is {value!r}, expected a number or nothing") from None
