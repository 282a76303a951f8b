"""The greedy family as policies: from a view to arrays, and from a solution to placements."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from policies.greedy.problem import (
    OBJECTIVES,
    Jobs,
    Machines,
    Profile,
    Settings,
    Solution,
    code_of,
    machines_of,
    profile_of,
    settings_of,
)
from policies.packing import beside
from policies.selection import CostOf
from simulator.catalog import Cluster
from simulator.contract import FIXED, Decision, Placement, View
from simulator.errors import InputError
from simulator.workload import Workload


class _Scenario(NamedTuple):
    """What the policy prepared for a scenario."""

    workload: Workload
    cluster: Cluster
    machines: Machines
    profile: Profile


@dataclass
class GreedyPolicy:
    """Greedy by pressure: cheapest configuration on time, else the fastest (thesis, 3.1.3).

    All nodes are planned anew at each decision; jobs that go on keep their node where the plan
    allows it.

    Parameters
    ----------
    objective : proxy that is reported: "paper", or as released "first-finish", "own-finish",
        "ratio".
    rho, horizon_s, mu : factor on the worst-case tardiness of a postponed job; H, its wait until
        the next decision; cost of an idle GPU on an open node.
    cost_of : what a configuration costs when they are compared: the job's "share" of the node
        (thesis) or the whole "node" (released).
    first_fit, suboptimal_first_fit : first fit instead of best fit when a job joins an open node;
        first open node instead of best configuration when its own does not fit.
    fall_back : a job may run late when nothing on time fits; False: it waits (ANDREAS, step 2).
    shrink, expand : post-processing: smaller equivalent VMs; idle GPUs to the highest speed-up.
    """

    name: ClassVar[str] = "greedy"

    objective: str = "paper"
    rho: float = 100.0
    horizon_s: float = 3600.0
    mu: float = 0.0
    cost_of: str = "share"
    first_fit: bool = False
    suboptimal_first_fit: bool = False
    fall_back: bool = True
    shrink: bool = True
    expand: bool = True
    _scenario: _Scenario | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.cost_of not in ("share", "node"):
            raise InputError(f"greedy: cost_of is {self.cost_of!r}, expected 'share' or 'node'")
        self.settings = self._settings()

    def _settings(self) -> Settings:
        options = {k: v for k, v in vars(self).items() if k in Settings._fields}
        return settings_of(**options)

    def decide(self, view: View) -> Decision:
        """Plan all nodes of this controller anew."""
        if view.num_active == 0:
            return Decision()
        jobs, profile, machines = self.arrays(view)
        seed = int(view.rng.integers(0, 2**63)) if self.is_random else 0
        with _compilation_announced():
            solution, info = self.solve(jobs, profile, machines, seed)
        placements = assign_nodes(solution, view)
        return Decision(placements, info={"proxy": solution.objective, **info})

    is_random: ClassVar[bool] = False

    def solve(
        self, jobs: Jobs, profile: Profile, machines: Machines, seed: int
    ) -> tuple[Solution, dict[str, float | int]]:
        """One decision on arrays; the solution names jobs by their place in ``jobs``."""
        return construct(jobs, profile, machines, self.settings, 1, 0), {"iterations": 0}

    def arrays(self, view: View) -> tuple[Jobs, Profile, Machines]:
        """A view as the arrays that `solve` takes."""
        scenario = self._prepare(view)
        jobs = Jobs(view.jobs, view.remaining, view.due_s - view.now_s, view.weight_per_s)
        return jobs, scenario.profile, scenario.machines

    def _prepare(self, view: View) -> _Scenario:
        """Machines and sorted configurations, once a scenario."""
        known = self._scenario
        if (
            known is None
            or known.workload is not view.workload
            or known.cluster is not view.cluster
        ):
            cost_of: CostOf = "share" if self.cost_of == "share" else "node"
            machines, price = machines_of(view.cluster, view.nodes, cost_of)
            everyone = np.arange(len(view.workload), dtype=np.int64)
            times_s = view.workload.performance.table_s(everyone, view.cluster)
            profile = profile_of(times_s, machines, price)
            known = self._scenario = _Scenario(view.workload, view.cluster, machines, profile)
        return known


@dataclass
class RandomisedGreedyPolicy(GreedyPolicy):
    """Best of many randomised greedy constructions, the pure one first (thesis, 3.1.4; ANDREAS).

    Parameters
    ----------
    iterations : constructions, the pure greedy included.
    swap : neighbours in the queue change places with a chance "inverse-weight" (`swap_scale` at
        the lowest weight), as "released" (`swap_scale` -+ 0.05, less where the first weighs
        more), or "none".
    pick, candidate_share : a configuration from the best share of the acceptable ones, with a
        chance "inverse" to its cost (papers) or "uniform" (released).
    node_pick, node_share : an open node from the fullest share of those that fit, with a chance
        "inverse" to the GPUs that it is left with (thesis) or "uniform".
    released : the released program's choices: swap, pick and objective "first-finish".
    """

    name: ClassVar[str] = "randomised-greedy"
    is_random: ClassVar[bool] = True

    iterations: int = 1000
    swap: str = "inverse-weight"
    swap_scale: float = 0.5
    pick: str = "inverse"
    candidate_share: float = 1.0
    node_pick: str = "inverse"
    node_share: float = 0.2
    released: bool = False

    def _settings(self) -> Settings:
        if self.iterations < 1:
            raise InputError(f"greedy: iterations is {self.iterations}, expected at least 1")
        if self.released:
            self.objective = "first-finish"
            self.swap, self.swap_scale, self.pick, self.node_pick = (
                "released",
                0.5,
                "uniform",
                "uniform",
            )
        return super()._settings()

    def solve(
        self, jobs: Jobs, profile: Profile, machines: Machines, seed: int
    ) -> tuple[Solution, dict[str, float | int]]:
        """The best construction."""
        solution = construct(jobs, profile, machines, self.settings, self.iterations, seed)
        return solution, {"iterations": self.iterations}


@dataclass
class LocalSearchPolicy(RandomisedGreedyPolicy):
    """Local search from the best randomised solutions, seven neighbourhoods (thesis, 3.1.5).

    Parameters
    ----------
    pool : how many of the best randomised solutions are improved.
    rounds : moves a solution at the most; each is the best of all neighbourhoods.
    neighbours : k, jobs from the head of the lists by tardiness and by cost.
    search_objective : what is improved: "paper", "first-finish", "own-finish" or, as released,
        "ratio"; "" means the objective, or "ratio" where ``released``.
    """

    name: ClassVar[str] = "local-search"

    pool: int = 10
    rounds: int = 10
    neighbours: int = 3
    search_objective: str = ""

    def _settings(self) -> Settings:
        for option in ("pool", "rounds", "neighbours"):
            if getattr(self, option) < 1:
                raise InputError(
                    f"greedy: {option} is {getattr(self, option)}, expected at least 1"
                )
        settings = super()._settings()
        wanted = self.search_objective or ("ratio" if self.released else self.objective)
        self.improved = code_of("search_objective", wanted, OBJECTIVES)
        return settings

    def solve(
        self, jobs: Jobs, profile: Profile, machines: Machines, seed: int
    ) -> tuple[Solution, dict[str, float | int]]:
        """The best of the improved solutions."""
        from policies.greedy import kernels, search

        pool = _pool(jobs, profile, machines, self.settings, self.iterations, self.pool, seed)
        queue, opens, nodes, hosted, gpus, _, _ = pool
        promise = search.promises(queue, profile)
        by_promise = np.argsort(-promise, kind="stable")
        found = search.local_search(
            queue, opens, nodes, hosted, gpus, by_promise, promise, profile, machines,
            self.improved, self.settings.mu, self.rounds, self.neighbours,
        )  # fmt: skip
        solution = Solution(*kernels.by_place(queue.place, *found[:3]), found[3])
        return solution, {
            "iterations": self.iterations,
            "start_rank": found[4],
            "moves": found[5],
        }


@dataclass
class PathRelinkingPolicy(LocalSearchPolicy):
    """Path relinking among the best randomised solutions (Filippini et al., IEEE TSC 2023).

    Options as of the local search; `rounds` and `neighbours` have no effect.
    """

    name: ClassVar[str] = "path-relinking"

    def solve(
        self, jobs: Jobs, profile: Profile, machines: Machines, seed: int
    ) -> tuple[Solution, dict[str, float | int]]:
        """The best solution on the paths from the best one to the others."""
        from policies.greedy import kernels, relinking

        pool = _pool(jobs, profile, machines, self.settings, self.iterations, self.pool, seed)
        queue, opens, nodes, hosted, gpus, _, _ = pool
        found = relinking.path_relinking(
            queue, opens, nodes, hosted, gpus, profile, machines, self.improved, self.settings.mu
        )
        solution = Solution(*kernels.by_place(queue.place, *found[:3]), found[3])
        return solution, {
            "iterations": self.iterations,
            "guide_rank": found[4],
            "steps": found[5],
        }


def _pool(
    jobs: Jobs, profile: Profile, machines: Machines, settings: Settings, iterations: int,
    pool_size: int, seed: int,
) -> Any:  # fmt: skip
    """What `kernels.randomised_greedy` returns."""
    from policies.greedy import kernels

    order = kernels.pressure_order(jobs, profile)
    return kernels.randomised_greedy(
        order, jobs, profile, machines, settings, iterations, pool_size, np.uint64(seed)
    )


def construct(
    jobs: Jobs, profile: Profile, machines: Machines, settings: Settings, iterations: int, seed: int
) -> Solution:
    """The best of some constructions, the pure greedy first, as a `Solution`."""
    from policies.greedy import kernels

    order = kernels.pressure_order(jobs, profile)
    return Solution(
        *kernels.best_construction(
            order, jobs, profile, machines, settings, iterations, np.uint64(seed)
        )
    )


def assign_nodes(solution: Solution, view: View) -> list[Placement]:
    """Give the nodes of a solution their identities.

    Nodes of one type are interchangeable in a solution. Each takes the node where most of its
    jobs' GPUs are now, the largest such claims first; the others take what is left, in order.
    """
    fixed = view.cluster.node_type_of
    names = view.jobs
    hosted = [
        [(int(names[j]), int(g)) for j, g in zip(jobs[:k], gpus[:k], strict=True)]
        for k, jobs, gpus in zip(
            solution.num_jobs.tolist(), solution.jobs, solution.gpus, strict=True
        )
    ]
    types = solution.node_type.tolist()
    claims: list[tuple[float, int, int]] = []
    for k, jobs in enumerate(hosted):
        kept: dict[int, float] = {}
        for job, _ in jobs:
            for placement in view.running.get(job, ()):
                if fixed is None or fixed[placement.node] == types[k]:
                    kept[placement.node] = kept.get(placement.node, 0.0) + placement.gpus
        claims.extend((-gpus, k, node) for node, gpus in kept.items())
    node_of: dict[int, int] = {}
    free = dict.fromkeys(view.nodes.tolist())
    for _, k, node in sorted(claims):
        if k not in node_of and node in free:
            node_of[k] = node
            del free[node]
    left: dict[int, list[int]] = {}
    for node in reversed(free):
        left.setdefault(FIXED if fixed is None else fixed[node], []).append(node)
    placements: list[Placement] = []
    for k, jobs in enumerate(hosted):
        kind = FIXED if fixed is None else types[k]
        node = node_of[k] if k in node_of else left[kind].pop()
        node_type = types[k] if fixed is None else FIXED
        spec = view.cluster.node_types[types[k]]
        placements.extend(Placement(job, node, g, node_type, *beside(spec, g)) for job, g in jobs)
    return placements


_compiled = False
PATIENCE_S = 1.0


@contextlib.contextmanager
def _compilation_announced() -> Iterator[None]:
    """Say on a terminal what the first call waits for, should it take longer than a second."""
    global _compiled
    if _compiled or not sys.stderr.isatty():
        yield
        _compiled = True
        return
    note = "compiling the greedy kernels, once after an installation (about a minute) .."
    timer = threading.Timer(PATIENCE_S, lambda: print(note, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _compiled = True
