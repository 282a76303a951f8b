"""CPU time of the whole command `schedlab run` for one more job, beside a bare SimPy loop on the same jobs.

python -m benchmarks.bench_command

The command runs with many and with few jobs; the difference leaves out its start. All tables are written. Strict FIFO,
jobs of one GPU, 128 GPUs.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.bare_loops import simpy_resource
from benchmarks.bench_engine import cpu_s
from simulator.model.cluster import FloatArray

FEW, MANY, GPUS, LOAD = 8_000, 40_000, 128, 0.9
REPETITIONS = 5


def jobs(count: int) -> tuple[FloatArray, FloatArray]:
    """Submissions and durations, s."""
    rng = np.random.default_rng(1)
    gaps_s, duration_s = rng.exponential((3600 / (LOAD * GPUS), 3600.0), (count, 2)).T
    return np.cumsum(gaps_s), duration_s


def command_cpu_s(count: int, folder: Path) -> float:
    """CPU seconds of one run of the command."""
    path = folder / f"jobs_{count}.csv"
    submit_s, duration_s = (column.tolist() for column in jobs(count))
    rows = [f"job-{j},{submit_s[j]!r},{duration_s[j]!r},1" for j in range(count)]
    path.write_text("\n".join(["job_id,submit_time_s,duration_s,num_gpus", *rows]) + "\n")
    words = ["run", path, "--set", f"cluster.num_nodes={GPUS // 8}"]
    words += ["--policy", "fifo-strict", "--out", folder / f"out_{count}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "experiments.cli", *map(str, words)], check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def command_to_simpy() -> tuple[float, float, float]:
    """CPU seconds of a further job in the command, of a job in the bare loop, and their ratio."""
    least = {FEW: np.inf, MANY: np.inf}
    bare, columns = np.inf, jobs(FEW)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPETITIONS):  # in turn, so that other work on the machine meets all of them
            for count in least:
                least[count] = min(least[count], command_cpu_s(count, Path(folder)))
            bare = min(bare, cpu_s(lambda: simpy_resource(*columns, GPUS), 1))
    job_s = (least[MANY] - least[FEW]) / (MANY - FEW)
    return job_s, bare / FEW, job_s / (bare / FEW)


def main() -> None:
    """Print the ratio."""
    job_s, bare_s, ratio = command_to_simpy()
    print(
        f"the command: {1e6 * job_s:.1f} us a job; a bare SimPy loop with a Resource: "
        f"{1e6 * bare_s:.1f} us; ratio {ratio:.2f}"
    )


if __name__ == "__main__":
    main()
