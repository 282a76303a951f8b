"""Writes accounting as `sacct -P` does: 5,000 made-up jobs with arrays, steps, jobs that never started, and unknown ends.

python examples/sacct_like.py sacct.txt
"""

import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

HEAD = "JobID|User|Partition|Submit|Start|End|State|Timelimit|AllocTRES"
BEGIN = datetime(2026, 3, 2)
SIZES = {1: 0.62, 2: 0.12, 4: 0.12, 8: 0.11, 16: 0.03}
LIMITS_H = (1, 4, 12, 24, 48)
PER_HOUR = 16.0


def rows(count: int, seed: int = 1) -> list[str]:
    """Rows of so many jobs, in order of submission; with steps there are more rows than jobs."""
    rng = np.random.default_rng(seed)
    made, number, task, at_s = [], 1000, 0, 0.0
    for _ in range(count):
        if task == 0:  # a new job, or the first task of an array of some
            number, at_s = number + 1, at_s + rng.exponential(3600 / PER_HOUR)
            task = int(rng.choice([0, 4, 8], p=[0.95, 0.03, 0.02]))
            gpus = int(rng.choice(list(SIZES), p=list(SIZES.values())))
            user = f"user{rng.zipf(1.6) % 20}"
        name = f"{number}_{task}" if task else str(number)
        task = max(0, task - 1)
        made += job(rng, name, user, gpus, at_s)
    return made


def job(rng: np.random.Generator, name: str, user: str, gpus: int, at_s: float) -> list[str]:
    """The row of a job, and that of its step where it ran."""
    run_s = float(rng.lognormal(7.5, 1.6))
    asked_h = next((h for h in LIMITS_H if h * 3600 > 1.2 * run_s), LIMITS_H[-1])
    run_s = min(run_s, 3600 * asked_h)
    submit = BEGIN + timedelta(seconds=round(at_s))
    start = submit + timedelta(seconds=round(rng.exponential(1200)))
    end = start + timedelta(seconds=round(run_s))
    state = rng.choice(
        ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1000"], p=[0.8, 0.1, 0.05, 0.05]
    )
    times, held = (
        f"{start.isoformat()}|{end.isoformat()}",
        f"cpu={8 * gpus},gres/gpu={gpus},mem={64 * gpus}G",
    )
    kind = rng.random()
    if kind < 0.03:  # never started
        times, state, held = f"None|{end.isoformat()}", "CANCELLED by 1000", ""
    elif kind < 0.04:  # still runs
        times, state = f"{start.isoformat()}|Unknown", "RUNNING"
    limit = f"{asked_h // 24}-{asked_h % 24:02}:00:00" if asked_h >= 24 else f"{asked_h:02}:00:00"
    row = f"{name}|{user}|gpu|{submit.isoformat()}|{times}|{state}|{limit}|{held}"
    step = f"{name}.batch|||{submit.isoformat()}|{times}|{state}||{held}"
    return [row, step] if held else [row]


def write(path: Path, count: int = 5000, seed: int = 1) -> None:
    """The file; the same count and seed give the same one."""
    path.write_text("\n".join([HEAD, *rows(count, seed)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
