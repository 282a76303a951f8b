"""A checker of the folder of a run: it reads the written files alone, and works everything out anew."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NEVER_RAN = ("left", "rejected")
TEXTS = {"job_id": str, "node_type": str, "vc": str, "tenant": str}


class Folder:
    """The tables of a run; ``limited``: quotas are limits (without borrowing)."""

    def __init__(self, path: Path, *, limited: bool = False) -> None:
        self.limited = limited
        self.summary: dict[str, Any] = json.loads((path / "summary.json").read_text())
        self.machines: dict[str, Any] = json.loads((path / "machines.json").read_text())
        self.jobs = _table(path / "jobs.csv")
        self.shares = _table(path / "schedule.csv")
        self.decisions = _table(path / "decisions.csv")
        self.timeline = _table(path / "timeline.csv")
        self.tenants, self.over_time, self.outages = (
            _table(path / name) if (path / name).exists() else None
            for name in ("tenants.csv", "shares.csv", "outages.csv")
        )
        status = self.jobs.get("status", pd.Series("done", index=self.jobs.index))
        self.ran = ~status.isin(NEVER_RAN)
        self.done = status.isin(["done", "killed", "failed"])
        self.begin_s = float(self.jobs["arrival_s"].iloc[0])
        self.end_s = float(self.jobs["completion_s"][self.ran].max())
        self.away: dict[int, list[tuple[float, float]]] = defaultdict(list)
        if self.outages is not None:
            for row in self.outages.itertuples():
                self.away[row.node].append((row.start_s, row.end_s))

    def check(self) -> None:
        """All checks, one after the other."""
        self._capacity()
        self._nobody_on_a_node_that_is_down()
        self._quotas()
        self._times()
        self._fairness()
        self._counts()
        self._costs()
        self._damage()
        self._timeline()

    def _capacity(self) -> None:
        types = self.machines["node_types"]
        names = [entry["name"] for entry in types]
        gpus_of = dict(zip(names, (entry["gpus"] for entry in types), strict=True))
        limits = dict(zip(names, self.machines["limits"], strict=True))
        for (_, kind), own in self.shares.groupby(["node", "node_type"]):
            gpus = gpus_of[kind]
            if gpus is None:  # a rental pool
                continue
            assert _most(own, own["gpus"]) <= gpus * (1 + 1e-9)
            for column, limit in zip(("cpus", "memory_gb"), limits[kind], strict=True):
                assert not limit or _most(own, own[column]) <= limit * (1 + 1e-6), column
        fixed = self.machines["type_of"]
        if fixed is not None:
            assert list(self.shares["node_type"]) == [names[fixed[n]] for n in self.shares["node"]]
        demand = self.jobs.set_index("job_id")["gpus"]
        first_s = self.shares.groupby("job_id")["start_s"].min()
        arrival_s = self.jobs.set_index("job_id")["arrival_s"]
        assert (first_s >= arrival_s[first_s.index] - 1e-9).all()
        if self.machines["elastic"]:
            return
        for job, own in self.shares.groupby("job_id"):  # all GPUs at once, once at a time
            gpus = own["gpus"]
            whole = max(1.0, demand[job]) if gpus.max() >= 1 else gpus.max()
            assert _most(own, gpus) <= whole * (1 + 1e-9)

    def _nobody_on_a_node_that_is_down(self) -> None:
        for share in self.shares.itertuples():
            for away_s, back_s in self.away[share.node]:
                assert share.end_s <= away_s + 1e-6 or share.start_s >= back_s - 1e-6

    def _quotas(self) -> None:
        if self.tenants is None or not self.limited:
            return
        quota = self.tenants.set_index("tenant")["quota"]
        of = self.jobs.set_index("job_id")["vc"]
        for tenant, own in self.shares.groupby(self.shares["job_id"].map(of)):
            assert _most(own, own["gpus"]) <= quota[tenant] + 1e-6

    def _times(self) -> None:
        jobs, summary = self.jobs[self.ran], self.summary
        jct_s = jobs["completion_s"] - jobs["arrival_s"]
        wait_s = jobs["first_start_s"] - jobs["arrival_s"]
        _near(jobs["jct_s"], jct_s)
        _near(summary["mean_jct_s"], jct_s.mean())
        _near(summary["p99_jct_s"], np.quantile(jct_s, 0.99))
        _near(summary["mean_wait_s"], wait_s.mean())
        _near(summary["makespan_s"], self.end_s - self.begin_s)
        first = self.shares.groupby("job_id")["start_s"].min()
        ran = jobs[jobs["job_id"].isin(first.index)]
        _near(ran["first_start_s"], first[ran["job_id"]])
        assert len(ran) == len(jobs)
        last = self.shares.groupby("job_id")["end_s"].max()
        assert (last[jobs["job_id"]].to_numpy() <= jobs["completion_s"].to_numpy() + 1e-6).all()

    def _costs(self) -> None:
        summary, jobs = self.summary, self.jobs[self.ran]
        late_s = (jobs["completion_s"] - jobs["due_s"]).clip(lower=0).fillna(0.0)
        _near(summary["tardiness_cost"], (late_s * jobs["weight_per_s"]).sum())
        assert summary["late_jobs"] == (jobs["tardiness_s"] > 0).sum()
        types = self.machines["node_types"]
        fixed, factors = self.machines["type_of"], self.machines.get("price_factor")
        cost = 0.0
        if types[0]["gpus"] is None:
            cost = types[0]["per_gpu_hour"] * self._held_gpu_s().sum()
        elif fixed is not None:
            for node, kind in enumerate(fixed):
                up_s = self.end_s - self.begin_s - _length(self._clipped(node))
                cost += types[kind]["per_hour"] * up_s * (factors[node] if factors else 1.0)
        else:
            price = {entry["name"]: entry["per_hour"] for entry in types}
            for (node, kind), own in self.shares.groupby(["node", "node_type"]):
                open_s = _length(zip(own["start_s"], own["end_s"], strict=True))
                cost += price[kind] * open_s * (factors[node] if factors else 1.0)
        _near(summary["leasing_cost"], cost / 3600)
        parts = ("leasing_cost", "energy_cost", "tardiness_cost")
        _near(summary["total_cost"], sum(summary[part] for part in parts))

    def _clipped(self, node: int) -> list[tuple[float, float]]:
        """Times at which a node was down, from the first submission to the last completion."""
        clipped = [(max(a, self.begin_s), min(b, self.end_s)) for a, b in self.away[node]]
        return [(a, b) for a, b in clipped if a < b]

    def _held_gpu_s(self) -> pd.Series[float]:
        held = self.shares["gpus"] * (self.shares["end_s"] - self.shares["start_s"])
        return held.groupby(self.shares["job_id"]).sum()

    def _damage(self) -> None:
        summary, held = self.summary, self._held_gpu_s()
        own = self.jobs.set_index("job_id")["gpu_seconds"]
        _near(own[held.index], held)
        assert (own.drop(held.index) == 0).all()
        if self.outages is None:
            return
        away_s = sum(_length(self._clipped(n)) for n in range(self.machines["num_nodes"]))
        span_s = (self.end_s - self.begin_s) * self.machines["num_nodes"]
        _near(summary["availability"], 1 - away_s / span_s)
        lost_h, overhead_h = summary["lost_gpu_h"], summary["overhead_gpu_h"]
        _near(lost_h * 3600, self.jobs["lost_gpu_s"].sum())
        _near(summary["goodput"], 1 - (lost_h + overhead_h) * 3600 / held.sum())
        assert summary["job_failures"] == self.jobs["failures"].sum()

    def work_is_held_less_lost_and_overhead(self) -> None:
        """Work of jobs that nothing slows down: demand times the time alone."""
        assert self.outages is not None
        assert self.done.all()
        work_gpu_s = (self.jobs["gpus"] * self.jobs["ideal_s"]).sum()
        unused_h = self.summary["lost_gpu_h"] + self.summary["overhead_gpu_h"]
        _near(self._held_gpu_s().sum() - unused_h * 3600, work_gpu_s)

    def _timeline(self) -> None:
        line, jobs = self.timeline, self.jobs

        step_s = np.diff(line["time_s"])

        def area(column: pd.Series[float]) -> float:
            return float((column.to_numpy()[:-1] * step_s).sum())

        stay_s = jobs["completion_s"] - jobs["arrival_s"]  # Little's law
        _near(area(line["queue"] + line["running"]), stay_s.sum())
        _near(area(line["gpus"]), self._held_gpu_s().sum())
        spent = self.summary["leasing_cost"] + self.summary["energy_cost"]
        _near(area(line["cost_per_h"]) / 3600, spent)
        _near(area(line["power_kw"]) / 3600, self.summary["energy_kwh"])

    def _fairness(self) -> None:
        summary, jobs = self.summary, self.jobs[self.ran]
        slowdown = (jobs["completion_s"] - jobs["arrival_s"]) / jobs["ideal_s"]
        if summary["mean_slowdown"] is not None:
            _near(summary["mean_slowdown"], slowdown.mean())
            _near(summary["jain_slowdown"], _jain(1 / slowdown))
        if self.tenants is None or self.over_time is None:
            return
        names = list(self.tenants["tenant"])
        weight = self.tenants["weight"].to_numpy()
        types, fixed = self.machines["node_types"], self.machines["type_of"]
        total = sum(types[v]["gpus"] for v in fixed) if fixed else np.inf
        hours = np.diff(self.over_time["time_s"]) / 3600
        held = self.over_time[names].to_numpy()[:-1]
        asked = self.over_time[[f"{name} asked" for name in names]].to_numpy()[:-1]
        _near(self.tenants["gpu_h"], hours @ held)
        if not np.isfinite(total):
            return
        fair = np.array([_filled(row, weight, total) for row in asked])
        fair_h = hours @ fair
        _near(self.tenants["fair_gpu_h"], fair_h, 1e-6)
        some = fair_h > 0
        _near(summary["jain_tenants"], _jain((hours @ held)[some] / fair_h[some]), 1e-6)
        use = np.minimum(held, asked)
        envy = np.zeros(use.shape)
        for t, w in enumerate(weight):
            for o, v in enumerate(weight):
                wanted = np.minimum(held[:, o] * w / v, asked[:, t])
                envy[:, t] = np.maximum(envy[:, t], wanted - use[:, t])
        _near(self.tenants["envy_gpu_h"], hours @ envy, 1e-6)

    def _counts(self) -> None:
        assert self.summary["decisions"] == len(self.decisions)
        assert self.summary["jobs"] == len(self.jobs)
        assert self.summary["preemptions"] == self.jobs["preemptions"].sum()


def _table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=TEXTS)


def _near(a: object, b: object, relative: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), relative, 1e-6)


def _most(shares: pd.DataFrame, amount: pd.Series[float]) -> float:
    """The most in use at once; what ends at an instant makes place for what starts then."""
    changes = [(t, a) for t, a in zip(shares["start_s"], amount, strict=True)]
    changes += [(t, -a) for t, a in zip(shares["end_s"], amount, strict=True)]
    return max(np.cumsum([by for _, by in sorted(changes)]))


def _length(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds that the union of some spans takes."""
    total, until = 0.0, -np.inf
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def _jain(values: Any) -> float:
    return float(np.sum(values) ** 2 / (len(values) * np.sum(np.square(values))))


def _filled(asked: np.ndarray, weight: np.ndarray, total: float) -> np.ndarray:
    """Weighted max-min fair shares, by halving the level."""
    if asked.sum() <= total:
        return asked
    low, high = 0.0, float(total / weight.min())
    for _ in range(200):
        level = (low + high) / 2
        is_less = np.minimum(asked, level * weight).sum() < total
        low, high = (level, high) if is_less else (low, level)
    return np.minimum(asked, low * weight)
