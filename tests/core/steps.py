"""Training jobs counted in steps, of one network."""

import numpy as np

from simulator.workloads.training import Steps


def jobs_of(steps, gpus, rate=1.0, mode="static", model="LM", size=5, submit_s=None):
    """Jobs of so many steps on so many V100, with one rate at all numbers of GPUs."""
    n = len(steps)
    sizes = (5, 10, 20, 40, 80)
    table = {(f"LM (batch size {b})", g): rate for b in sizes for g in (1, 2, 4)}
    return Steps(
        [str(j) for j in range(n)],
        [model] * n,
        [size] * n,
        np.array(gpus),
        np.array(steps),
        [mode] * n,
        np.zeros(n) if submit_s is None else np.array(submit_s, dtype=float),
        np.ones(n),
        np.full(n, np.inf),
        {"v100": table},
    )
