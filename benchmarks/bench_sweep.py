"""Sweeps: what a run costs beside itself, what a second worker brings, a run database of 100,000.

python -m benchmarks.bench_sweep
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.sweep.codeversion import code_version
from experiments.sweep.runner import run_tasks
from experiments.sweep.store import Report, Store
from experiments.sweep.task import DEFAULT_SOURCES, Task
from experiments.sweep.worker import WorkerCall, execute

RUNS = "benchmarks.sweep_runs"


def tasks(name: str, count: int, **config: Any) -> list[Task]:
    return [
        Task(f"{RUNS}:{name}", {"seed": s, **config}, sources=("simulator.errors",))
        for s in range(count)
    ]


def sweep(todo: list[Task], workers: int) -> tuple[float, float, float]:
    """Seconds on the clock, CPU seconds of the coordinating process, share of busy workers.

    The share is the time that runs took over the time that workers had; unlike the first it does
    not depend on what else the machine does.
    """
    with tempfile.TemporaryDirectory() as folder, Store(folder, create=True) as store:
        wall, cpu = time.perf_counter(), time.process_time()
        summary = run_tasks(todo, store, workers=workers, progress=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert summary.done == len(todo)
        runs = [store.run(task.key) for task in todo]
        return wall, cpu, sum(run.wall_s for run in runs if run) / (workers * wall)


def overhead(count: int = 2000) -> None:
    for name in ("nothing", "table"):
        todo = tasks(name, count)
        sweep(todo[:10], 1)  # Starts the server that workers are forked from.
        wall_s, coordinator_s, _ = sweep(todo, 1)
        orders = [WorkerCall(task.key, task.function, task.config_json) for task in todo]
        cpu = time.process_time()
        reports = [execute([order])[0] for order in orders]
        worker_s = time.process_time() - cpu
        print(
            f"a run that does {name!r}: coordinator {coordinator_s / count * 1e3:.2f} ms CPU, "
            f"worker {worker_s / count * 1e3:.2f} ms CPU, {wall_s / count * 1e3:.2f} ms on the clock"
        )
        assert not any(report.error for report in reports)


def speedup(count: int = 200, cpu_s: float = 0.05) -> None:
    sweep(tasks("busy", 4, cpu_s=cpu_s), 2)
    (one, _, one_busy), (two, _, two_busy) = (
        sweep(tasks("busy", count, cpu_s=cpu_s), workers) for workers in (1, 2)
    )
    print(
        f"{count} runs of {cpu_s} CPU s: {one:.2f} s with one worker (busy {one_busy:.1%}), "
        f"{two:.2f} s with two (busy {two_busy:.1%}) = {one / two:.2f} times "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


def database(runs: int = 100_000) -> None:
    names = [f"scalar_{n}" for n in range(16)]
    todo = [
        Task(
            f"{RUNS}:nothing",
            {"seed": i // 4, "policy": "abcd"[i % 4], "workload": {"num_jobs": 1000}},
            {"policy": "abcd"[i % 4], "seed": i // 4, "load": 0.9},
            sources=("simulator.errors",),
        )
        for i in range(runs)
    ]
    with tempfile.TemporaryDirectory() as folder:
        with Store(folder, create=True) as store:
            cpu = time.process_time()
            store.plan(todo)
            print(f"{runs:,} runs planned in {time.process_time() - cpu:.1f} CPU s")
            store.record(
                Report(t.key, "done", {n: i / 7 + k for k, n in enumerate(names)})
                for i, t in enumerate(todo)
            )
        for command in ("status", "export"):
            code = f"from pathlib import Path; from experiments.sweep.sweep import {command} as command;"
            seconds = cpu_s_of(code + f"command(Path({folder!r}))")
            print(f"{command} of {runs:,} runs: {seconds:.2f} CPU s, Python's start included")
        print(f"runs.csv: {(Path(folder) / 'runs.csv').stat().st_size / 1e6:.0f} MB")


def cpu_s_of(code: str) -> float:
    """CPU seconds of a Python process of its own."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    overhead()
    speedup()
    speedup(100, 0.2)
    database()
    cpu = time.process_time()
    code_version("experiments.scenario.run:run_scenario", DEFAULT_SOURCES)
    print(f"code version: {time.process_time() - cpu:.2f} CPU s, once a process")
    print(f"start of the command: {cpu_s_of('import experiments.cli'):.2f} CPU s")


if __name__ == "__main__":
    main()
