"""Places that jobs ask for: a number of nodes, one rack, and types of GPU or groups of nodes that will do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from simulator.model.cluster import Cluster, NodeType
from simulator.model.placement import Placement
from simulator.model.tolerances import CAPACITY
from simulator.model.workload import Workload

BETWEEN = "|"
"""Between types of GPU that will do."""


def types_of(text: str) -> frozenset[str]:
    """The types of a text "A100|H100", in small letters."""
    return frozenset(filter(None, (name.strip().lower() for name in text.split(BETWEEN))))


def group_of(node_type: NodeType) -> str:
    """The text by which a job asks for the nodes of a type, in small letters: "@NAME"."""
    return f"@{node_type.name.lower()}"


def may_use(node_type: NodeType, wanted: frozenset[str]) -> bool:
    """Whether a job that asks for these types of GPU, or groups of nodes, may be on a node; one that asks for none may."""
    return not wanted or not wanted.isdisjoint((node_type.gpu_type.lower(), group_of(node_type)))


def short_of(text: str, vc: str) -> str:
    """The GPUs that a job asks for, in words: "GPUs", "A100 or H100", "GPUs of partition long".

    Parameters
    ----------
    vc : its partitions, which name the groups of nodes that it asks for.
    """
    names = [name.strip() for name in text.split(BETWEEN) if name.strip()]
    if not names:
        return "GPUs"
    groups = [name[1:] for name in names if name.startswith("@")]
    if not groups:
        return " or ".join(names)
    return f"GPUs of partition {vc}" if vc else f"GPUs of {' or '.join(groups)}"


def pools_of(workload: Workload, cluster: Cluster) -> tuple[npt.NDArray[np.int64], list[float]]:
    """``(J,)`` pool of each job, and the GPUs of each pool, where jobs ask for types or groups of nodes.

    Node types that one job may use are in one pool, so no job may use nodes of two. There is one pool where policies choose
    the types.
    """
    fixed = cluster.node_type_of
    if fixed is None or not any(workload.gpu_types):
        return np.zeros(len(workload), dtype=np.int64), [float(cluster.total_gpus)]
    kinds, pool = cluster.node_types, [*range(len(cluster.node_types))]
    of_text: dict[str, int] = {}
    for text in dict.fromkeys(workload.gpu_types):
        inside = [v for v, kind in enumerate(kinds) if may_use(kind, types_of(text))]
        joined = {pool[v] for v in inside}
        pool = [min(joined) if p in joined else p for p in pool]
        of_text[text] = inside[0] if inside else 0
    names = sorted({*pool})
    gpus = [sum(kinds[v].gpus for v in fixed if pool[v] == name) for name in names]
    place = {text: names.index(pool[v]) for text, v in of_text.items()}
    return np.array([place[text] for text in workload.gpu_types], dtype=np.int64), gpus


class Places:
    """Nodes, racks and types that the jobs of a workload ask for, on a cluster.

    Attributes
    ----------
    nodes : by job, the number of nodes that it lies on in equal parts; 0: any.
    one_rack : by job, whether its nodes lie in one rack.
    """

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        rows = {
            text: tuple(may_use(node_type, types_of(text)) for node_type in cluster.node_types)
            for text in {*workload.gpu_types}
        }
        self.nodes: list[int] = workload.num_nodes.tolist()
        self._allowed = [rows[text] for text in workload.gpu_types]
        self.one_rack: list[bool] = workload.one_rack.tolist()
        self._rack_of: list[int] = cluster.rack_of.tolist()

    def table(self) -> npt.NDArray[np.bool_]:
        """``(V, J)`` whether a job may be on a node type."""
        return np.array(self._allowed, dtype=np.bool_).T

    def allows(self, job: int, node_type: int) -> bool:
        """Whether a job may be on a node type."""
        return self._allowed[job][node_type]

    def racks(self, nodes: Iterable[int]) -> Collection[Sequence[int]]:
        """These nodes by rack."""
        of: dict[int, list[int]] = {}
        for node in nodes:
            of.setdefault(self._rack_of[node], []).append(node)
        return of.values()

    def wrong(self, job: int, shares: Iterable[Placement], cluster: Cluster) -> str:
        """The fault of a job's placements, in words; "" where they are as it asks."""
        fixed, shares = cluster.node_type_of, list(shares)
        for share in shares:
            v = share.node_type if fixed is None else fixed[share.node]
            if not self._allowed[job][v]:
                return f"on node {share.node} with {cluster.node_types[v].gpu_type}, of another type than it asks for"
        if self.one_rack[job] and len({self._rack_of[share.node] for share in shares}) > 1:
            return "in several racks, expected one"
        wanted = self.nodes[job]
        if wanted and (
            len(shares) != wanted
            or max(s.gpus for s in shares) > min(s.gpus for s in shares) * (1 + CAPACITY)
        ):
            return f"on {len(shares)} nodes, expected {wanted} with equally many GPUs"
        return ""
