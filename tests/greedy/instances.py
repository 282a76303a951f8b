"""Random instances for the tests of the greedy family."""

import numpy as np

from policies.greedy.problem import Jobs, NodeChoices, TimeProfile, machines_of, profile_of
from simulator.model.cluster import Cluster, NodeType

CATALOG = (
    NodeType("a1", "A", 1, 1.0),
    NodeType("a2", "A", 2, 2.0),
    NodeType("a4", "A", 4, 4.0),
    NodeType("b2", "B", 2, 0.3),
    NodeType("b3", "B", 3, 0.4),
    NodeType("c1", "C", 1, 3.0),
)
POWERED = (
    NodeType("v2", "V", 2, power_w=(100.0, 500.0, 700.0)),
    NodeType("t1", "T", 1, power_w=(80.0, 300.0)),
    NodeType("v4", "V", 4, power_w=(100.0, 400.0, 700.0, 900.0, 1000.0)),
)


def vms(num_nodes: int) -> Cluster:
    return Cluster.of_vms(CATALOG, num_nodes)


def servers(num_nodes: int, seed: int) -> Cluster:
    of = np.random.default_rng(seed).integers(0, len(POWERED), num_nodes)
    return Cluster(POWERED, num_nodes, tuple(of.tolist()), energy_price_per_kwh=0.2, pue=1.3)


def times_of(cluster: Cluster, num_jobs: int, rng: np.random.Generator) -> np.ndarray:
    """Times that are the same on all sizes of a GPU type, mostly; not monotone; some infinite."""
    types = cluster.node_types
    names = sorted({t.gpu_type for t in types})
    width = cluster.max_gpus_per_node + 1
    by_gpu = rng.uniform(10, 100, (num_jobs, len(names), width))
    by_gpu /= np.arange(width).clip(1) ** rng.uniform(0.2, 1.0, (num_jobs, 1, 1))
    by_gpu[rng.random(by_gpu.shape) < 0.1] = np.inf
    times = np.full((num_jobs, len(types), width), np.inf)
    for v, t in enumerate(types):
        g = int(t.gpus)
        times[:, v, 1 : g + 1] = by_gpu[:, names.index(t.gpu_type), 1 : g + 1]
    odd = rng.random(times.shape) < 0.05
    times[odd] *= 1.5
    return times


def random_instance(
    seed: int, most_jobs: int = 14, most_nodes: int = 5
) -> tuple[Jobs, TimeProfile, NodeChoices]:
    """VMs or servers, loose to overdue; sometimes no slack, no weight, equal jobs, one job."""
    rng = np.random.default_rng(seed)
    n, nodes = int(rng.integers(1, most_jobs + 1)), int(rng.integers(1, most_nodes + 1))
    cluster = servers(nodes, seed) if seed % 2 else vms(nodes)
    times = times_of(cluster, n + 2, rng)
    if seed % 7 == 0:
        times[:] = times[0]
    cost_of = ("share", "share", "size", "node")[seed // 2 % 4]
    machines, price = machines_of(cluster, range(nodes), cost_of, times)
    listed = times * rng.uniform(0.5, 1.0, times.shape) if seed % 11 == 3 else None
    profile = profile_of(times, machines, price, listed)
    index = rng.permutation(n + 2)[:n]
    remaining = rng.uniform(0.1, 1.0, n)
    fastest = np.where(np.isfinite(profile.fastest_s), profile.fastest_s, 1.0)[index] * remaining
    due = rng.uniform(-30, 150, n)
    if seed % 5 == 0:
        due = fastest
    elif seed % 5 == 1:
        due = -rng.uniform(0, 50, n)
    elif seed % 5 == 2:
        due[rng.random(n) < 0.5] = np.inf
    weight = rng.uniform(0.001, 0.02, n)
    weight[rng.random(n) < 0.1] = 0.0
    return Jobs(index.astype(np.int64), remaining, due, weight), profile, machines


def random_settings(seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed + 10**6)
    return {
        "objective": rng.choice(["paper", "paper", "first-finish", "own-finish", "ratio"]).item(),
        "swap": rng.choice(["inverse-weight", "released", "none"]).item(),
        "pick": rng.choice(["inverse", "uniform"]).item(),
        "node_pick": rng.choice(["inverse", "uniform"]).item(),
        "candidate_share": float(rng.choice([0.05, 0.3, 1.0])),
        "node_share": float(rng.choice([0.2, 0.6, 1.0])),
        "horizon_s": float(rng.choice([0.0, 20.0])),
        "mu": float(rng.choice([0.0, 0.001])),
        **{
            name: bool(rng.random() < p)
            for name, p in [
                ("first_fit", 0.2),
                ("suboptimal_first_fit", 0.3),
                ("fall_back", 0.7),
                ("weigh_late", 0.2),
            ]
        },
        "shrink": (True, True, False, "released")[rng.integers(4)],
        "expand": (True, True, False, "released")[rng.integers(4)],
        "suboptimal": bool(rng.random() < 0.8),
    }
