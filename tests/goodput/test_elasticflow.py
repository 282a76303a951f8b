"""Figure 10 of ElasticFlow: starts and ends of all 100 jobs under EDF, as published.

Reads ``SCHEDLAB_FACTS/peers/elasticflow``. The program decides at arrivals and completions, but at least 240 s after its last
decision, and a job ends at a whole second.
"""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from policies.goodput.edf import widest_first

GPUS, GAP_S = 128, 240


@dataclass
class Job:
    """A job of the trace; ``speed`` in iterations a second by GPUs."""

    submit_s: int
    due_s: int
    left: float
    speed: dict[int, float]
    gpus: int = 0
    start_s: int | None = None
    end_s: int | None = None

    def ends_in_s(self) -> int:
        return max(1, math.ceil(self.left / self.speed[self.gpus] - 1e-9))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read(folder: Path) -> list[Job]:
    speeds: dict[tuple[str, str], dict[int, float]] = {}
    for path in (folder / "throughputs_A100").glob("*.csv"):
        for row in rows(path):
            rate = {int(k): float(v) for k, v in row.items() if k.isdigit() and v and float(v) > 0}
            speeds[path.stem, row["global_batch_size"]] = rate
    return [
        Job(int(r["submit_time"]), int(r["ddl"]), float(r["iteration"]), speeds[r["model_name"], r["batch_size"]])
        for r in rows(folder / "100jobs_1500lam.csv")
    ]  # fmt: skip


def run(jobs: list[Job]) -> None:
    now_s, last_s, asked = 0, -GAP_S, False
    while any(job.end_s is None for job in jobs):
        running = [job for job in jobs if job.gpus]
        times_s = [job.submit_s for job in jobs if job.submit_s > now_s or last_s < 0]
        times_s += [now_s + job.ends_in_s() for job in running]
        times_s += [max(now_s, last_s + GAP_S)] if asked else []
        then_s = min(times_s)
        for job in running:
            job.left -= (then_s - now_s) * job.speed[job.gpus]
            if job.left <= 1e-9:
                job.end_s, job.gpus, asked = then_s, 0, True
        now_s = then_s
        asked = asked or any(job.submit_s == now_s for job in jobs)
        if asked and now_s >= last_s + GAP_S:
            last_s, asked = now_s, False
            active = [job for job in jobs if job.submit_s <= now_s and job.end_s is None]
            active.sort(key=lambda job: job.due_s)
            for job, gpus in zip(
                active, widest_first([list(j.speed) for j in active], GPUS), strict=True
            ):
                job.gpus = gpus
                if gpus and job.start_s is None:
                    job.start_s = now_s


def test_edf_of_figure_10() -> None:
    folder = Path(os.environ.get("SCHEDLAB_FACTS", "")) / "peers" / "elasticflow"
    if "SCHEDLAB_FACTS" not in os.environ or not folder.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with peers/elasticflow")
    jobs = read(folder)
    run(jobs)
    published = sorted(rows(folder / "fig10" / "edf_job.csv"), key=lambda row: int(row["job_id"]))
    expected = [(int(row["start_time"]), int(row["end_time"])) for row in published]
    assert [(job.start_s, job.end_s) for job in jobs] == expected
    assert len(expected) == 100
