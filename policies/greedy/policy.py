"""The greedy family as policies: from a view to arrays, and from a solution to placements."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

import numpy as np

from policies.greedy.nodes_of_solution import Held, decision_of
from policies.greedy.problem import (
    OBJECTIVES,
    Jobs,
    NodeAssignment,
    NodeChoices,
    Settings,
    TimeProfile,
    code_of,
    has_same_types,
    machines_of,
    profile_of,
    same_families_until,
    settings_of,
)
from policies.queues.selection import CostOf, require_configurations
from policies.registry.registration import register
from simulator.arguments import whole
from simulator.errors import InputError
from simulator.model.cluster import Cluster, IntArray
from simulator.model.contract import Decision, View
from simulator.model.workload import Workload

if TYPE_CHECKING:
    from policies.greedy.queue import PressureQueue  # numba comes with it: not before a decision


class _Scenario(NamedTuple):
    """Data that the policy prepared for a scenario; ``until`` so many jobs have come."""

    workload: Workload
    cluster: Cluster
    nodes: IntArray
    machines: NodeChoices
    profile: TimeProfile
    until: int


@register("greedy", requires=("nodes", "one-node", "objective"), paper="thesis of L. M. Kiros")
@dataclass
class GreedyPolicy:
    """Greedy by pressure: cheapest configuration on time, else the fastest (thesis, 3.1.3).

    All nodes are planned anew at each decision; jobs that go on keep their node where the plan
    allows it, and are then not named in the decision.

    Parameters
    ----------
    objective : proxy that is reported: "paper", or as released "first-finish", "own-finish",
        "ratio".
    rho : factor on the worst-case tardiness of a postponed job.
    horizon_s : H, its wait until the next decision, s.
    mu : cost of an idle GPU on a node in use.
    cost_of : what a configuration costs when they are compared: the job's "share" of the node
        (thesis), the whole "node", or, as released, the whole "size" of a VM, each size being a
        configuration of its own.
    first_fit : first fit instead of best fit when a job joins an open node.
    suboptimal : a job whose own configuration fits nowhere takes another one; False: it waits.
    suboptimal_first_fit : first open node instead of best configuration when a job's own does not fit.
    fall_back : a job may run late when nothing on time fits; False: it waits (ANDREAS, step 2).
    shrink : post-processing: smaller equivalent VMs.
    expand : post-processing: idle GPUs to the job of highest speed-up.
    released : as the authors' program does it: on VMs each size at its own price, shrunk where a
        smaller one is cheaper, idle GPUs to one job of the whole system; on fixed nodes no
        post-processing, and the pressure of late jobs times their weight. It sets other options
        (`set_by_released`), which must then be left alone.
    released_version : of the authors' greedy on VMs, with released=true: 4, their last; 3 takes the first open node with
        room; 2 as 3, and no job gets idle GPUs; 1 as 2, and a node opens as the size that its first job chose, which
        other jobs have to choose to join it; 0 as 1, and a job whose configuration fits nowhere waits.
    """

    name: ClassVar[str] = "greedy"
    plans_anew: ClassVar[bool] = True
    has_versions: ClassVar[bool] = True
    set_by_released: ClassVar[dict[str, Any]] = {
        "objective": "first-finish",
        "horizon_s": 0.0,
        "cost_of": "size",
        "shrink": "released",
        "expand": "released",
    }

    objective: str = "paper"
    rho: float = 100.0
    horizon_s: float = 3600.0
    mu: float = 0.0
    cost_of: str = "share"
    first_fit: bool = False
    suboptimal: bool = True
    suboptimal_first_fit: bool = False
    fall_back: bool = True
    shrink: bool = True
    expand: bool = True
    released: bool = False
    released_version: int = 4
    _scenario: _Scenario | None = field(default=None, init=False, repr=False, compare=False)
    _held: Held = field(default_factory=Held, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.released_version not in range(5):
            raise InputError(
                f"{self.name}: released_version is {self.released_version}, expected 0 to 4"
            )
        if self.released_version < 4 and not (self.released and self.has_versions):
            raise InputError(
                f"{self.name}: released_version is {self.released_version}, expected 4: only greedy and "
                "randomised-greedy with released=true have the others"
            )
        chosen = self.chosen()
        if chosen["cost_of"] not in ("share", "node", "size"):
            raise InputError(
                f"greedy: cost_of is {self.cost_of!r}, expected 'share', 'node' or 'size'"
            )
        self.settings = settings_of(**{k: v for k, v in chosen.items() if k in Settings._fields})

    def chosen(self) -> dict[str, Any]:
        """All options, those that ``released`` sets included.

        Raises `InputError` where it would set one that was given otherwise.
        """
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        if not self.released:
            return options
        defaults = {f.name: f.default for f in fields(self)}
        of_version = {**self.set_by_released, **self._set_by_version()}
        for name, value in of_version.items():
            if options[name] not in (value, defaults[name]):
                raise InputError(
                    f"{self.name}: {name} is {options[name]!r}, expected it to be left out where "
                    f"released=true sets it ({value!r})"
                )
        return options | of_version

    def _set_by_version(self) -> dict[str, Any]:
        """Options that the earlier versions of the released program set besides."""
        found = {"first_fit": True} if self.released_version < 4 else {}
        if self.released_version < 3:
            found["expand"] = False
        if self.released_version < 1:
            found["suboptimal"] = False
        return found

    def settings_on(self, machines: NodeChoices) -> Settings:
        """The settings for these machines: the released program treats fixed nodes otherwise."""
        if self.released and not machines.configurable:
            return self.settings._replace(shrink=0, expand=0, weigh_late=1)
        return self.settings

    def decide(self, view: View) -> Decision:
        """Plan all nodes of this controller anew."""
        from policies.solving.compiling import first_call

        if view.num_active == 0:
            return Decision()
        jobs, profile, machines = self.arrays(view)
        seed = int(view.rng.integers(0, 2**63)) if self.is_random else 0
        with first_call(self.name):
            solution, info = self.solve(jobs, profile, machines, seed)
            decision = decision_of(solution, view, self._held)
        return replace(decision, info={"proxy": solution.objective, **info})

    is_random: ClassVar[bool] = False

    def solve(
        self, jobs: Jobs, profile: TimeProfile, machines: NodeChoices, seed: int
    ) -> tuple[NodeAssignment, dict[str, float | int]]:
        """One decision on arrays; the solution names jobs by their place in ``jobs``."""
        settings = self.settings_on(machines)
        return construct(jobs, profile, machines, settings, 1, 0), {"iterations": 0}

    def arrays(self, view: View) -> tuple[Jobs, TimeProfile, NodeChoices]:
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
            everyone = np.arange(len(view.rows), dtype=np.int64)
            times_s = view.rows.performance.table_s(everyone, view.cluster)
            require_configurations(self.name, times_s, view.rows, view.cluster)
            known = None
        elif known.nodes is view.nodes and len(view.workload) <= known.until:
            return known
        else:  # some went or came back, or a job came that needs a type of VM by itself
            times_s = known.profile.times_s
        cost_of = cast(CostOf | Literal["size"], self.chosen()["cost_of"])
        come = len(view.workload)
        own_size = self.released_version < 2
        machines, price = machines_of(view.cluster, view.nodes, cost_of, times_s[:come], own_size)
        if known is not None and has_same_types(machines, known.machines):
            profile = known.profile
        else:
            # Released: of several times of one configuration it chooses by the shortest.
            shortest_s = view.rows.performance.shortest_s if self.released else None
            profile = profile_of(times_s, machines, price, shortest_s, self.released)
        known = self._scenario = _Scenario(
            view.workload,
            view.cluster,
            view.nodes,
            machines,
            profile,
            same_families_until(view.cluster, times_s, come),
        )
        return known


@register("randomised-greedy", paper="thesis of L. M. Kiros; Filippini et al. (ANDREAS), 2021")
@dataclass
class RandomisedGreedyPolicy(GreedyPolicy):
    """Best of many randomised greedy constructions, the pure one first (thesis, 3.1.4; ANDREAS).

    Parameters
    ----------
    iterations : constructions, the pure greedy included.
    swap : neighbours in the queue change places with a chance "inverse-weight" (`swap_scale` at
        the lowest weight), as "released" (`swap_scale` + 0.05 where the first weighs more, - 0.05
        elsewhere), or "none".
    swap_scale : chance of a change of places.
    pick : a configuration is drawn with a chance "inverse" to its cost (papers), or "uniform" (released).
    candidate_share : part of the acceptable configurations that may be drawn, the best ones; 1.0: all.
    node_pick : an open node is drawn with a chance "inverse" to the GPUs that it is left with (thesis), or
        "uniform".
    node_share : part of the nodes that fit which may be drawn, the fullest ones.
    released : besides what it sets for the greedy: swap, pick and node_pick.
    """

    name: ClassVar[str] = "randomised-greedy"
    is_random: ClassVar[bool] = True
    set_by_released: ClassVar[dict[str, Any]] = {
        **GreedyPolicy.set_by_released,
        "swap": "released",
        "swap_scale": 0.5,
        "pick": "uniform",
        "candidate_share": 0.05,
        "node_pick": "uniform",
        "node_share": 0.2,
    }

    iterations: int = 1000
    swap: str = "inverse-weight"
    swap_scale: float = 0.5
    pick: str = "inverse"
    candidate_share: float = 0.05
    node_pick: str = "inverse"
    node_share: float = 0.2

    def __post_init__(self) -> None:
        whole(1, "greedy", iterations=self.iterations)
        super().__post_init__()

    def solve(
        self, jobs: Jobs, profile: TimeProfile, machines: NodeChoices, seed: int
    ) -> tuple[NodeAssignment, dict[str, float | int]]:
        """The best construction."""
        settings = self.settings_on(machines)
        solution = construct(jobs, profile, machines, settings, self.iterations, seed)
        return solution, {"iterations": self.iterations}


@register("local-search", paper="thesis of L. M. Kiros")
@dataclass
class LocalSearchPolicy(RandomisedGreedyPolicy):
    """Local search from the best randomised solutions, seven neighbourhoods (thesis, 3.1.5).

    Parameters
    ----------
    pool : how many of the best randomised solutions are improved.
    rounds : moves a solution at the most; each is the best of all neighbourhoods.
    neighbours : k, jobs from the head of the lists by tardiness and by cost.
    search_objective : what is improved: "paper", "first-finish", "own-finish" or, as released,
        "ratio"; "" means the objective.
    released : besides what it sets for the randomised greedy: objective, search_objective and
        neighbours. The authors' program also gives GPUs that a node does not have, which no
        feasible decision can: see docs/papers.md.
    """

    name: ClassVar[str] = "local-search"
    has_versions: ClassVar[bool] = False
    facts: ClassVar[tuple[str, str]] = ("start_rank", "moves")
    set_by_released: ClassVar[dict[str, Any]] = {
        **RandomisedGreedyPolicy.set_by_released,
        # The pool is chosen by what is improved, too.
        "objective": "ratio",
        "search_objective": "ratio",
        "neighbours": 10,
    }

    pool: int = 10
    rounds: int = 10
    neighbours: int = 3
    search_objective: str = ""

    def __post_init__(self) -> None:
        whole(1, "greedy", pool=self.pool, rounds=self.rounds, neighbours=self.neighbours)
        super().__post_init__()
        chosen = self.chosen()
        wanted = chosen["search_objective"] or chosen["objective"]
        self.improved = code_of("search_objective", wanted, OBJECTIVES)

    def solve(
        self, jobs: Jobs, profile: TimeProfile, machines: NodeChoices, seed: int
    ) -> tuple[NodeAssignment, dict[str, float | int]]:
        """The best solution that the best randomised ones lead to."""
        from policies.greedy.pool import by_place, randomised_greedy
        from policies.greedy.queue import pressure_order

        settings = self.settings_on(machines)
        order = pressure_order(jobs, profile, settings.weigh_late)
        queue, *pool, _, _ = randomised_greedy(
            order, jobs, profile, machines, settings, self.iterations, self.pool, np.uint64(seed)
        )
        *rows, value, rank, steps = self.improve(queue, pool, profile, machines)
        facts = dict(zip(self.facts, (rank, steps), strict=True))
        solution = NodeAssignment(*by_place(queue.place, *rows), value)
        return solution, {"iterations": self.iterations, **facts}

    def improve(
        self, queue: PressureQueue, pool: Any, profile: TimeProfile, machines: NodeChoices
    ) -> Any:
        """Improve each solution of the pool: rows, value, and two `facts` of the best."""
        from policies.greedy import neighbourhoods, search

        opens, nodes, hosted, gpus = pool
        promise = neighbourhoods.promises(queue, profile)
        by_promise = np.argsort(-promise, kind="stable")
        return search.local_search(
            queue, opens, nodes, hosted, gpus, by_promise, promise, profile, machines,
            self.improved, self.settings.mu, self.rounds, self.neighbours,
        )  # fmt: skip


@register("path-relinking", paper="Filippini et al., IEEE TSC 2023")
@dataclass
class PathRelinkingPolicy(LocalSearchPolicy):
    """Path relinking among the best randomised solutions (Filippini et al., IEEE TSC 2023).

    Options as of the local search; `rounds` and `neighbours` have no effect.
    """

    name: ClassVar[str] = "path-relinking"
    facts: ClassVar[tuple[str, str]] = ("guide_rank", "steps")

    def improve(
        self, queue: PressureQueue, pool: Any, profile: TimeProfile, machines: NodeChoices
    ) -> Any:
        """Walk from the best solution to the others."""
        from policies.greedy import relinking

        opens, nodes, hosted, gpus = pool
        return relinking.path_relinking(
            queue, opens, nodes, hosted, gpus, profile, machines, self.improved, self.settings.mu
        )


def construct(
    jobs: Jobs,
    profile: TimeProfile,
    machines: NodeChoices,
    settings: Settings,
    iterations: int,
    seed: int,
) -> NodeAssignment:
    """The best of some constructions, the pure greedy first, as a `NodeAssignment`."""
    from policies.greedy.pool import best_construction
    from policies.greedy.queue import pressure_order

    order = pressure_order(jobs, profile, settings.weigh_late)
    return NodeAssignment(
        *best_construction(order, jobs, profile, machines, settings, iterations, np.uint64(seed))
    )
