"""GPUs allocated over GPUs asked for, by rule: the table behind ``schedlab theory packing``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from policies.fractional_gpus.packing_experiment import pack
from policies.fractional_gpus.state import RULES
from simulator.errors import InputError
from simulator.workloads.pods import Demands, Machines


def packing_table(
    demands: Demands,
    machines: Machines,
    rules: str,
    seeds: Iterable[int],
    ratio: float = 1.3,
    memory: bool = False,
) -> pd.DataFrame:
    """One row a rule and whole percent of arrived load: mean and standard deviation over seeds.

    Raises
    ------
    InputError
        A rule that is not known, or machines without GPUs.
    """
    names = list(RULES) if rules == "all" else [name.strip() for name in rules.split(",")]
    for name in names:
        if name not in RULES:
            known = ", ".join(RULES)
            raise InputError(f"--rules: unknown rule {name!r}, expected all or of {known}")
    if not machines.num_gpus.any():
        raise InputError("no machine has a GPU, expected one at least")
    loads = np.arange(1, round(100 * ratio) + 1)
    used = list(seeds)
    rows = []
    for name in names:
        runs = [pack(demands, machines, name, seed=s, ratio=ratio, memory=memory) for s in used]
        for load in loads.tolist():
            values = np.array([run.allocated_at(load) for run in runs])
            deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            rows.append((name, load, float(values.mean()), deviation, len(values)))
    columns = ["rule", "arrived_gpu_percent", "allocated_gpu_percent", "sd", "seeds"]
    return pd.DataFrame(rows, columns=columns)
