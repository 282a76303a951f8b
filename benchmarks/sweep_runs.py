"""The runs of `bench_sweep`, in a module of their own so that workers import nothing else."""

from __future__ import annotations

import time
from typing import Any

from experiments.sweep.task import Outcome


def nothing(config: dict[str, Any]) -> Outcome:
    """A run that costs nothing."""
    return Outcome({"seed": config["seed"], "mean_wait_s": config["seed"] / 7})


def table(config: dict[str, Any]) -> Outcome:
    """A run that costs little and leaves a table of 100 jobs."""
    import numpy as np
    import pandas as pd

    jobs = np.arange(100)
    return Outcome(
        {"seed": config["seed"]},
        {"jobs": pd.DataFrame({"job": jobs, "arrival_s": jobs * 1.5, "wait_s": jobs / 3})},
    )


def busy(config: dict[str, Any]) -> Outcome:
    """A run of `cpu_s` CPU seconds."""
    end = time.process_time() + config["cpu_s"]
    while time.process_time() < end:
        pass
    return Outcome({"seed": config["seed"]})
