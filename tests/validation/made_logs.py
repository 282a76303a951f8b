"""Logs that the simulator makes itself, by rules that are known: what it then says of them can be checked."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.scenario.options import format_of, scenario_of
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario

NODES, GPUS = 6, 4
MONDAY = np.datetime64("2024-01-01T00:00:00")
DATES = ("submit_time_s", "start_time_s")


def made_log(
    path: Path,
    count: int = 1200,
    settings: Sequence[str] = (),
    load: float = 0.8,
    seed: int = 5,
    failed: str = "",
) -> Path:
    """A CSV file of jobs whose recorded starts are those of a simulation with these settings.

    Parameters
    ----------
    failed : state of the jobs that failed there at least once; the log tells no states without it.
    """
    columns = jobs(count, load, seed)
    write(path, columns)
    result = run(scenario(path, settings), record_schedule=False, measure=False)
    table = result.jobs_table()
    columns["start_time_s"] = table["first_start_s"].to_numpy()
    if failed:
        columns["state"] = [failed if n else "COMPLETED" for n in table["failures"]]
    write(path, columns)
    return path


def jobs(count: int, load: float, seed: int) -> dict[str, Sequence]:
    """Jobs of several users on two partitions, over some weeks."""
    rng = np.random.default_rng(seed)
    run_s = np.ceil(rng.lognormal(8.0, 1.0, count))
    gpus = rng.choice([1, 2, 4, 8], count, p=[0.5, 0.2, 0.2, 0.1])
    gap_s = (run_s * gpus).mean() / (load * NODES * GPUS)
    submit_s = np.floor(np.cumsum(rng.exponential(gap_s, count)))
    submit_s -= submit_s[0]
    return {
        "job_id": [f"j{k}" for k in range(count)],
        "submit_time_s": submit_s,
        "duration_s": run_s,
        "requested_s": run_s * 2,
        "num_gpus": gpus,
        "user": [f"u{k}" for k in rng.choice(4, count, p=[0.5, 0.2, 0.2, 0.1])],
        "partition": [f"p{k}" for k in rng.integers(0, 2, count)],
    }


def write(path: Path, columns: Mapping[str, Sequence]) -> None:
    """The columns as CSV, times as dates."""
    columns = {
        name: [str(MONDAY + np.timedelta64(round(x), "s")) for x in values]
        if name in DATES
        else values
        for name, values in columns.items()
    }
    rows = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def scenario(path: Path, settings: Sequence[str] = ()) -> Scenario:
    """The log on its machine, under EASY backfilling where the settings do not say another policy."""
    return scenario_of(path, format_of(path), None, None, settings, NODES, GPUS)[0]
