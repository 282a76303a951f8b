"""Random instances, tiny ones for brute force and large ones like the paper's."""

import numpy as np

from policies.solving.instance import DecisionInput

TABLE_II = [
    ("K80", 1, 0.56), ("K80", 2, 1.13), ("K80", 4, 2.25), ("M60", 1, 0.62), ("M60", 2, 1.24),
    ("M60", 4, 2.48), ("P600", 2, 0.11), ("1080Ti", 8, 1.13), ("P600", 8, 0.44),
]  # fmt: skip
"""GPU type, GPUs and price per hour of the hierarchical paper's catalogue."""


def tiny(seed: int, *, fixed: bool = False, max_jobs: int = 4) -> DecisionInput:
    """Overdue jobs, jobs without due date or weight, times that rise with g, few jobs, gaps."""
    r = np.random.default_rng([seed, int(fixed)])
    types = int(r.integers(1, 4))
    gpus = r.integers(1, 5, types)
    nodes = int(r.integers(1, 4)) if gpus.max() < 3 else int(r.integers(1, 3))
    jobs = int(r.integers(1, max_jobs + 1))
    times = r.uniform(1e3, 5e4, (jobs, types, int(gpus.max()) + 1))
    if r.random() < 0.5:  # times that fall with g, as the paper takes for granted
        times = -np.sort(-times, axis=2)
    times[r.random(times.shape) < r.choice([0.0, 0.2])] = np.inf
    due = r.uniform(-3e4, 8e4, jobs)
    due[r.random(jobs) < 0.15] = np.inf
    weight = r.uniform(1e-4, 3e-4, jobs) * r.choice([1.0, 1e-3, 10.0])
    weight[r.random(jobs) < 0.15] = 0.0
    price = r.uniform(0.1, 3.0, types) * gpus
    if fixed:
        price = np.cumsum(r.uniform(0.05, 0.5, (types, times.shape[2])), axis=1)
    return DecisionInput(
        times_s=times,
        due_s=due,
        weight_per_s=weight,
        price_per_hour=price,
        gpus=gpus,
        num_nodes=nodes,
        nodes_of_type=r.multinomial(nodes, np.ones(types) / types) if fixed else None,
        rho=float(r.choice([100.0, 1.0, 2.0])),
        mu=float(r.choice([1.0, 0.05, 0.0])),
        horizon_s=float(r.choice([3600.0, 0.0])),
    )


def like_the_paper(seed: int, nodes: int, jobs: int, *, monotone: bool = True) -> DecisionInput:
    """Table II, work over a decade, partly done jobs, due dates of the paper, some passed."""
    r = np.random.default_rng([seed, nodes, jobs])
    gpus = np.array([g for _, g, _ in TABLE_II])
    base = {"K80": 1.0, "M60": 0.9, "P600": 2.5, "1080Ti": 0.35}
    speed = {kind: scale * r.uniform(0.7, 1.4, jobs) for kind, scale in base.items()}
    low, high = (1.0, 1.0) if monotone else (0.8, 1.3)
    noise = {kind: r.uniform(low, high, (jobs, 9)) for kind in base}
    work, parallel = np.exp(r.uniform(np.log(5e4), np.log(6e5), jobs)), r.uniform(0.5, 0.95, jobs)
    times = np.full((jobs, len(gpus), 9), np.inf)
    for v, (kind, most, _) in enumerate(TABLE_II):
        for g in range(1, most + 1):
            times[:, v, g] = work * speed[kind] * (1 - parallel + parallel / g) * noise[kind][:, g]
    finite = np.where(np.isfinite(times), times, np.nan)
    due = r.uniform(np.nanmin(finite, axis=(1, 2)), 2 * np.nanmax(finite, axis=(1, 2)))
    elapsed = r.uniform(0, 45_000 * jobs / nodes, jobs)
    return DecisionInput(
        times_s=times * r.uniform(0.3, 1.0, jobs)[:, None, None],
        due_s=due - elapsed,
        weight_per_s=r.uniform(0.36, 1.08, jobs) / 3600,
        price_per_hour=np.array([price for *_, price in TABLE_II]),
        gpus=gpus,
        num_nodes=nodes,
    )
