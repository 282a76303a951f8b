"""Data of the methods of the greedy family: plain arrays, prepared once a scenario.

Everything that does not change between decisions (which configurations exist, how each job
orders them by cost and by time) is sorted once; a decision then costs what it places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from policies.queues.selection import CostOf, node_price_per_hour, selection_price_per_hour
from simulator.arguments import one_of
from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray

PAPER = 0
"""Objective (1) of ANDREAS and of the thesis: see `reference.objective`."""
FIRST_FINISH = 1
"""Released: costs and tardiness up to the first finish in the whole system."""
OWN_FINISH = 2
"""Released variant: every running job's cost and tardiness at its own finish."""
RATIO = 3
"""Released local search: maximise the sum of slowest time / cost over the running jobs."""

OBJECTIVES = {
    "paper": PAPER,
    "first-finish": FIRST_FINISH,
    "own-finish": OWN_FINISH,
    "ratio": RATIO,
}
RELEASED = 2
"""Options of the authors' program, where the papers do otherwise (`PER_NODE`) or not at all."""
PER_NODE = 1
SWAPS = {"none": 0, "inverse-weight": 1, "released": RELEASED}
PICKS = {"inverse": 0, "uniform": 1}

NEVER = 1 << 30
"""More GPUs than any node has."""
OPENS_AS, SIZE, LIMIT = 0, 1, 2
"""Columns of `Machines.families`."""
FAMILY, GPUS, TYPE_OF = 0, 1, 2
"""Columns of `Machines.configs`."""

NOWHERE = -1
"""Node of a job that does not run."""


class NodeChoices(NamedTuple):
    """Node types and configurations.

    A *family* is what a configuration names and a node opens as: the node types of one GPU type
    where decisions configure the nodes (sizes of one VM, the largest opens), each node type by
    itself where nodes are fixed, or where a smaller size is all that some job can run on. A
    configuration is a family, a number of GPUs, and the type whose price and time count when
    configurations are compared: the one that opens; as released, any size. The node opens as the
    largest all the same, and the objective counts that.

    Attributes
    ----------
    price_per_s : ``(V, G + 1)`` of an open node with 0, 1, .. GPUs in use.
    gpus, family_of : ``(V,)`` GPUs of a node; its family.
    families : ``(F, 3)`` type that opens (`OPENS_AS`, the one with the most GPUs), its GPUs
        (`SIZE`), how many nodes may open (`LIMIT`).
    sizes : ``(F, S)`` types of the family, as which its nodes may close, from few GPUs to many, -1 behind the last.
    configs : ``(C, 3)`` family (`FAMILY`), GPUs (`GPUS`), type (`TYPE_OF`).
    num_nodes : ``N``.
    configurable : whether decisions choose the nodes' types.
    """

    price_per_s: FloatArray
    gpus: IntArray
    family_of: IntArray
    families: IntArray
    sizes: IntArray
    configs: IntArray
    num_nodes: int
    configurable: bool


class TimeProfile(NamedTuple):
    """Execution times of all jobs, and each job's configurations in order.

    Attributes
    ----------
    times_s : ``(J, V, G + 1)`` of the whole job, infinite where it cannot run. The other times here
        are those by which configurations are chosen; they differ where the source of the times
        lists several for one configuration (`simulator.workloads.authors.ListedTimes`).
    by_cost, by_time : ``(J, C)`` configurations that the job can run on, cheapest first and
        fastest first; `num_configs` of them are meaningful.
    cost, cost_time_s : ``(J, C)`` cost and time of the whole job, in the order of `by_cost`.
    num_configs : ``(J,)``.
    fastest_s, slowest_s : ``(J,)`` over all node types that there are, M_j the slowest.
    lead_s : ``(J,)`` `fastest_s`; minus infinity for a job with no configuration, whose pressure
        is the lowest.
    fewest : ``(J, F)`` the fewest GPUs of each family on which the job can run, else `NEVER`.
    """

    times_s: FloatArray
    by_cost: npt.NDArray[np.int16]
    by_time: npt.NDArray[np.int16]
    cost: FloatArray
    cost_time_s: FloatArray
    num_configs: IntArray
    fastest_s: FloatArray
    slowest_s: FloatArray
    lead_s: FloatArray
    fewest: IntArray


class Jobs(NamedTuple):
    """The jobs of one decision, in order of arrival.

    Attributes
    ----------
    row : ``(n,)`` row in the profile.
    remaining : ``(n,)`` fraction of the work left.
    due_in_s : ``(n,)`` time until the due date, negative when overdue.
    weight_per_s : ``(n,)`` cost of a second of tardiness.
    """

    row: IntArray
    remaining: FloatArray
    due_in_s: FloatArray
    weight_per_s: FloatArray


class Settings(NamedTuple):
    """Every choice that the papers or the released program leave, as numbers for the kernels.

    Attributes
    ----------
    objective : `PAPER`, `FIRST_FINISH`, `OWN_FINISH` or `RATIO`.
    rho : factor on the worst-case tardiness of postponed jobs.
    horizon_s : H, time until the next decision at the latest; 0 where decisions follow events.
    mu : mu, cost of a GPU that stays idle on an open node.
    first_fit : 0 best fit, 1 first fit, in the assignment to an open node.
    suboptimal : whether a job may take another configuration when its own fits nowhere; 0: it waits.
    suboptimal_first_fit : 0: the best configuration that fits some node; 1: the first node that
        has room, in its best configuration.
    fall_back : whether a job may take a configuration that misses its due date when no other
        fits; 0: it waits.
    shrink : 0 none, `PER_NODE`: the smallest equivalent VM, `RELEASED`: the size with the GPUs in
        use, or one more, if it is cheaper.
    expand : 0 none, `PER_NODE`: a node's idle GPUs to its job of highest speed-up, `RELEASED`: to
        one job of the whole system, the one that gains the most seconds.
    weigh_late : 1: a pressure above zero counts times the job's weight (released, ANDREAS).
    swap : 0 none, 1 with probability inverse to the weight, 2 as released.
    swap_scale : probability for the lowest weight (1), or at equal weights (2).
    pick, candidate_share : from the best share of configurations; 0 inverse to cost, 1 uniform.
    node_pick, node_share : from the fullest share of nodes; 0 inverse to idle GPUs, 1 uniform.
    """

    objective: int = PAPER
    rho: float = 100.0
    horizon_s: float = 0.0
    mu: float = 0.0
    first_fit: int = 0
    suboptimal: int = 1
    suboptimal_first_fit: int = 0
    fall_back: int = 1
    shrink: int = 1
    expand: int = 1
    weigh_late: int = 0
    swap: int = 1
    swap_scale: float = 0.5
    pick: int = 0
    candidate_share: float = 1.0
    node_pick: int = 0
    node_share: float = 0.2


class NodeAssignment(NamedTuple):
    """Assignment of jobs to nodes. Nodes are interchangeable within a type; `policy` gives them identities.

    Attributes
    ----------
    node_type : ``(open nodes,)``.
    num_jobs : ``(open nodes,)`` jobs on each.
    jobs, gpus : ``(open nodes, G)`` the job (its place in `Jobs`) and its GPUs, -1 and 0 behind
        the last.
    objective : value of the proxy.
    """

    node_type: IntArray
    num_jobs: IntArray
    jobs: IntArray
    gpus: IntArray
    objective: float


def machines_of(
    cluster: Cluster,
    nodes: Sequence[int] | IntArray,
    cost_of: CostOf | Literal["size"] = "share",
    times_s: FloatArray | None = None,
    own_size: bool = False,
) -> tuple[NodeChoices, FloatArray]:
    """The machines of some nodes of a cluster, and ``(C,)`` selection price per second.

    Parameters
    ----------
    cost_of : "share" or "node", see `policies.queues.selection`; "size": as released, a configuration of
        each size of a VM, at the price of that whole size.
    times_s : ``(n, V, G + 1)`` of the jobs that have come, by which types are kept apart that are
        all that some job can run on.
    own_size : a VM opens as the size that its first job chose, and jobs of other sizes do not join it, as in the
        first versions of the released program.

    Raises `InputError` for a rental pool, which has no nodes to choose from.
    """
    types = cluster.node_types
    if any(not np.isfinite(t.gpus) for t in types):
        raise InputError(
            f"greedy: node type {types[0].name!r} has unlimited GPUs, expected nodes of whole GPUs"
        )
    gpus = np.array([int(t.gpus) for t in types], dtype=np.int64)
    price = node_price_per_hour(cluster) / SECONDS_PER_HOUR
    if cluster.node_type_of is None:
        family = _one_family_each(cluster) if own_size else _families_of_sizes(cluster, times_s)
        count = np.full(int(family.max()) + 1, len(nodes), dtype=np.int64)
    else:
        family = np.arange(len(types), dtype=np.int64)
        fixed = np.array([cluster.node_type_of[n] for n in nodes], dtype=np.int64)
        count = np.bincount(fixed, minlength=len(types)).astype(np.int64)
    members = [_by_size(np.flatnonzero(family == f), gpus, price) for f in range(len(count))]
    alike = members
    if own_size and cluster.node_type_of is None:  # it may still shrink
        kinds = np.array([t.gpu_type for t in types])
        alike = [_by_size(np.flatnonzero(kinds == kinds[v]), gpus, price) for (v,) in members]
    sizes = np.full((len(alike), max(map(len, alike))), -1, dtype=np.int64)
    for f, types_of_f in enumerate(alike):
        sizes[f, : len(types_of_f)] = types_of_f
    biggest = [_opens_as(types_of_f, gpus) for types_of_f in members]
    configs = [
        (f, g, v)
        for f in range(len(count))
        for v in (members[f] if cost_of == "size" else [biggest[f]])
        for g in range(1, int(gpus[v]) + 1)
        if count[f] > 0
    ]
    rule: CostOf = "node" if cost_of == "size" else cost_of
    selection = selection_price_per_hour(cluster, rule) / SECONDS_PER_HOUR
    machines = NodeChoices(
        price,
        gpus,
        family,
        np.stack([np.array(biggest), gpus[biggest], count], axis=1).astype(np.int64),
        sizes,
        np.array(configs, dtype=np.int64).reshape(-1, 3),
        len(nodes),
        cluster.is_configurable,
    )
    return machines, np.array([selection[v, g] for _, g, v in configs])


def has_same_types(one: NodeChoices, other: NodeChoices) -> bool:
    """Whether machines of one cluster have nodes of the same types, so that jobs have the same profile."""
    return bool(np.array_equal(one.families[:, LIMIT] > 0, other.families[:, LIMIT] > 0))


def _by_size(members: IntArray, gpus: IntArray, price: FloatArray) -> list[int]:
    """Types from few GPUs to many, of equally large ones the cheapest first."""
    return sorted(members.tolist(), key=lambda v: (gpus[v], price[v, gpus[v]]))


def _opens_as(by_size: list[int], gpus: IntArray) -> int:
    """The largest type; of equally large ones the cheapest."""
    return next(v for v in by_size if gpus[v] == gpus[by_size[-1]])


def _families_of_sizes(cluster: Cluster, times_s: FloatArray | None) -> IntArray:
    """``(V,)`` family of each VM type: its GPU type, or itself.

    A family opens as its largest type. A smaller one on which a job has a time that it has not
    on the largest would never open for that job, so it becomes a family of its own.
    """
    kinds = [(t.gpu_type, -1) for t in cluster.node_types]
    if times_s is not None:
        for v in np.flatnonzero(_needs_itself(cluster, times_s).any(axis=0)).tolist():
            kinds[v] = (kinds[v][0], v)
    order = list(dict.fromkeys(kinds))
    return np.array([order.index(kind) for kind in kinds], dtype=np.int64)


RELEASED_ORDER = (
    "Custom2", "Custom1", "Custom3", "NC24X", "NC24", "NC12", "NC6", "NV12", "NV24", "NV6", "NV24X",
)  # fmt: skip
"""VM types of 2020 in the order in which the released program meets them, that of a hash table. Its first versions choose by it
among sizes on which a job takes the same time."""


def _one_family_each(cluster: Cluster) -> IntArray:
    """``(V,)`` each VM type by itself, in `RELEASED_ORDER`; types of other names behind, in their own order."""
    names = [
        t.name.removeprefix("Standard_").replace("In-house server ", "Custom")
        for t in cluster.node_types
    ]
    rank = [RELEASED_ORDER.index(n) if n in RELEASED_ORDER else len(RELEASED_ORDER) for n in names]
    return np.argsort(np.argsort(rank, kind="stable"))


def _needs_itself(cluster: Cluster, times_s: FloatArray) -> npt.NDArray[np.bool_]:
    """``(n, V)`` whether a job has a time on a VM type, and none on the largest type of its GPU type."""
    names = [t.gpu_type for t in cluster.node_types]
    gpus = np.array([int(t.gpus) for t in cluster.node_types], dtype=np.int64)
    price = node_price_per_hour(cluster)
    runs = np.logical_or.reduce(np.isfinite(times_s), axis=2)
    largest = []
    for name in names:
        members = np.array([v for v, other in enumerate(names) if other == name])
        largest.append(_opens_as(_by_size(members, gpus, price), gpus))
    return np.asarray(runs & ~runs[:, largest])


def same_families_until(cluster: Cluster, times_s: FloatArray, count: int) -> int:
    """Number of jobs that have come when the machines of the first ``count`` jobs are no longer those of all that have come.

    Parameters
    ----------
    times_s : ``(J, V, G + 1)`` of all jobs.
    """
    if cluster.node_type_of is None:
        needs = _needs_itself(cluster, times_s)
        more = (needs[count:] & ~needs[:count].any(axis=0)).any(axis=1)
        if more.any():
            return count + int(more.argmax())
    return len(times_s)


def profile_of(
    times_s: FloatArray,
    machines: NodeChoices,
    price_per_s: FloatArray,
    chosen_by_s: FloatArray | None = None,
    released: bool = False,
) -> TimeProfile:
    """Order every job's configurations.

    Parameters
    ----------
    times_s : ``(J, V, G + 1)`` times of whole jobs.
    price_per_s : ``(C,)`` selection price of the configurations.
    chosen_by_s : the times by which configurations are compared, where they are others.
    released : equal costs or times go to more GPUs, the later row of the authors' files, and not
        to the shorter time or the lower cost.
    """
    known_s = times_s if chosen_by_s is None else chosen_by_s
    family, gpus, node_type = machines.configs.T
    opens_as = machines.families[family, OPENS_AS]
    runs = np.isfinite(known_s[:, node_type, gpus]) & np.isfinite(times_s[:, opens_as, gpus])
    times = np.where(runs, known_s[:, node_type, gpus], np.inf)
    cost = np.full_like(times, np.inf)
    np.multiply(times, price_per_s, out=cost, where=runs)
    fewer = np.broadcast_to(-gpus, times.shape)
    by_cost = np.lexsort((fewer if released else times, cost), axis=-1)
    by_time = np.lexsort((fewer if released else cost, times), axis=-1)
    exists = machines.families[machines.family_of, LIMIT] > 0
    here = known_s[:, exists].reshape(len(times_s), -1)
    real = times_s[:, exists].reshape(len(times_s), -1)
    fastest = here.min(axis=1)
    fewest = np.full((len(times), len(machines.families)), NEVER, dtype=np.int64)
    for c in range(len(machines.configs)):
        at = fewest[:, family[c]]
        at[runs[:, c]] = np.minimum(at, gpus[c])[runs[:, c]]
    return TimeProfile(
        np.ascontiguousarray(times_s, dtype=np.float64),
        by_cost.astype(np.int16),
        by_time.astype(np.int16),
        np.take_along_axis(cost, by_cost, axis=-1),
        np.take_along_axis(times, by_cost, axis=-1),
        runs.sum(axis=1).astype(np.int64),
        fastest,
        np.where(np.isfinite(real), real, 0.0).max(axis=1),
        np.where(runs.any(axis=1), fastest, -np.inf),
        fewest,
    )


def settings_of(**options: Any) -> Settings:
    """Settings from the names that users write.

    ``objective`` ("paper", "first-finish", "own-finish", "ratio"), ``swap`` ("inverse-weight",
    "released", "none"), ``pick`` and ``node_pick`` ("inverse", "uniform"); switches as booleans
    (``shrink`` and ``expand`` also "released"); the rest as numbers. `InputError` names an option
    that is wrong.
    """
    named = {"objective": OBJECTIVES, "swap": SWAPS, "pick": PICKS, "node_pick": PICKS}
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name in named:
            values[name] = code_of(name, value, named[name])
        elif isinstance(Settings._field_defaults[name], int):
            values[name] = RELEASED if value == "released" else int(bool(value))
        else:
            upper = 1.0 if name.endswith(("share", "scale")) else math.inf
            if not (math.isfinite(value) and 0 <= value <= upper):
                raise InputError(f"greedy: {name} is {value}, expected 0 to {upper:g}")
            values[name] = float(value)
    return Settings(**values)


def code_of(option: str, value: str, codes: dict[str, int]) -> int:
    """The number of a named choice; `InputError` where there is no such choice."""
    one_of(codes, "greedy", **{option: value})
    return codes[value]
