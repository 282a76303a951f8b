"""Free capacity of nodes: where a job of fixed demand fits, and what it takes there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from policies.queues.free_gpus import FreeGpus, Nodes
from policies.queues.unread import Unread
from simulator import FIXED, Placement, View
from simulator.errors import InputError
from simulator.model.feasibility import fits
from simulator.model.places import Places
from simulator.model.tolerances import CAPACITY

_NEW = tuple.__new__
"""Makes a named tuple of all its fields in a fifth of the time that its own constructor takes."""


class FreeCapacity:
    """Free GPUs, CPUs and memory of a controller's nodes (of fixed types), while jobs are placed one by one.

    One that is kept from decision to decision (`refresh`) looks only at the nodes that changed
    (`View.node_changes`), so that a decision costs as much on 10,000 nodes as on ten.

    Parameters
    ----------
    empty : all of the nodes is free at first, whatever runs; False: what is free now.
    last_first : of equally empty nodes, a job over several nodes takes the last first; False: the first.

    Attributes
    ----------
    total_gpus : free GPUs of all nodes together.
    by_node : whether a job may not fit although they are enough.
    """

    def __init__(self, view: View, *, empty: bool = False, last_first: bool = False) -> None:
        cluster = view.cluster
        if cluster.node_type_of is None:
            raise InputError(
                "FreeCapacity: the nodes are VMs without a fixed type, expected nodes of fixed types "
                "(docs/extending.md has a policy for VMs)"
            )
        self._last_first = last_first
        self._largest = cluster.max_gpus_per_node
        self._beside = [_Resource(view, name) for name in cluster.limited_resources]
        self._places = Places(view.rows, cluster) if view.workload.has_places else None
        self.by_node = bool(self._beside) or self._places is not None
        self._type_of = cluster.node_type_of
        self._unread = Unread()
        self._taken: list[int] = []
        if empty:
            self._read_all(view, empty)
        else:
            self.refresh(view)

    def refresh(self, view: View) -> None:
        """Bring it up to what is free now."""
        changed = self._unread.of(view.node_changes)
        if changed is None:
            self._read_all(view, empty=False)
            return
        free_gpus, free, taken = view.free_gpus.data, self._free, self._taken
        if changed[: len(taken)] != taken:  # else they are among those that changed
            changed += taken
        now = free.now
        for node in changed:
            if now.get(node) != free_gpus[node]:
                free[node] = free_gpus[node]
            for resource in self._beside:
                resource.read(view, node)
        taken.clear()
        self.total_gpus = view.free_gpus_total

    def _read_all(self, view: View, empty: bool) -> None:
        self._demand = view.workload.num_gpus_list
        nodes, type_of = view.nodes.tolist(), view.cluster.type_of
        gpus = [type_of[n].gpus for n in nodes] if empty else view.free_gpus[view.nodes].tolist()
        self._free = FreeGpus(dict(zip(nodes, gpus, strict=True)), self._last_first)
        self.total_gpus = float(sum(gpus)) if empty else view.free_gpus_total
        for resource in self._beside:
            for node in nodes:
                resource.read(view, node, empty)
        self._taken.clear()

    def take(self, job: int, gpus: int | None = None) -> tuple[Placement, ...]:
        """Place a job as `place` does, and take what it gets."""
        shares = self.place(job, gpus)
        self.add(shares)
        return shares

    def place(
        self, job: int, gpus: int | None = None, nodes: Sequence[int] | None = None
    ) -> tuple[Placement, ...]:
        """Shares of a job on the fullest node that holds it whole, else on the emptiest nodes.

        A job that asks for a number of nodes lies on the fullest of as many, in equal parts. One that asks for one rack lies in
        the fullest that holds it. A job over several nodes has its CPUs and memory in proportion to its GPUs on each. Empty
        where the job does not fit. Nothing is taken.

        Parameters
        ----------
        nodes : only on these; None: on all.

        Raises InputError: the policy chooses the job's GPUs.
        """
        if gpus is None:
            gpus = self._demand[job]
        if gpus > self.total_gpus:
            return ()
        if gpus < 1:
            raise InputError("this policy needs jobs of fixed demand")
        places = self._places
        if not self._beside and nodes is None and places is None:
            found = self._free.place(gpus)
            return tuple([_NEW(Placement, (job, n, share, FIXED, 0.0, 0.0)) for n, share in found])
        if places is None or not places.one_rack[job]:
            return self._placed(job, gpus, nodes)
        racks = places.racks(self._free.now if nodes is None else nodes)
        in_rack = (self._placed(job, gpus, rack) for rack in sorted(racks, key=self.gpus_on))
        return next(filter(None, in_rack), ())

    def emptiest(self, gpus: int) -> Nodes:
        """So many GPUs on the emptiest nodes, whatever else a job asks for; empty where there are too few."""
        return self._free.emptiest(gpus)

    def _placed(self, job: int, gpus: int, nodes: Sequence[int] | None) -> tuple[Placement, ...]:
        """Shares of a job on these nodes, wherever its rack is."""
        places = self._places
        allowed = None if nodes is None else frozenset(nodes)

        def most(node: int) -> float:
            if allowed is not None and node not in allowed:
                return 0.0
            if places is not None and not places.allows(job, self._type_of[node]):
                return 0.0
            return min((r.room(job, gpus, node) for r in self._beside), default=math.inf)

        wanted = 0 if places is None else places.nodes[job]
        chosen = (
            self._free.several(gpus // wanted, wanted, most)
            if wanted
            else self._free.place(gpus, most)
        )
        shares = [Placement(job, n, share) for n, share in chosen]
        for r in self._beside:
            shares = [r.beside(p, gpus) for p in shares]
        return tuple(shares)

    def holds(self, shares: Iterable[Placement]) -> bool:
        """True where each of some shares, on nodes of their own, fits in what is free."""
        return all(
            fits(share.gpus, self._free[share.node], self._largest)
            and all(r.holds(share) for r in self._beside)
            for share in shares
        )

    def add(self, shares: Iterable[Placement], sign: int = 1) -> None:
        """Take shares from what is free; with the sign -1 give them back."""
        free, now = self._free, self._free.now
        for share in shares:
            _, node, gpus, _, _, _ = share
            free[node] = now.get(node, 0.0) - sign * gpus
            self.total_gpus -= sign * gpus
            self._taken.append(node)
            for resource in self._beside:
                resource.free[node] -= sign * getattr(share, resource.name)

    def gpus_on(self, nodes: Sequence[int]) -> float:
        """GPUs that are free on some nodes."""
        return math.fsum(self._free[n] for n in nodes)


def free_now(view: View, kept: FreeCapacity | None, *, last_first: bool = False) -> FreeCapacity:
    """The free capacity now: the kept one, brought up to it, or where there is none yet one that is to be kept."""
    if kept is None:
        return FreeCapacity(view, last_first=last_first)
    kept.refresh(view)
    return kept


class _Resource:
    """Free CPUs or memory of a controller's nodes.

    A job that states no demand takes them in proportion to its GPUs, on each node that of the
    node.
    """

    def __init__(self, view: View, name: str) -> None:
        self.name = name
        self._stated = view.rows.num_cpus if name == "cpus" else view.rows.memory_gb
        self.free: dict[int, float] = {}
        self._node: dict[int, tuple[float, float]] = {}
        """Capacity of each node, and its part a GPU; 0 where there is no limit."""

    def read(self, view: View, node: int, empty: bool = False) -> None:
        """Bring a node up to what is free now; ``empty``: to all that it has."""
        spec = view.cluster.type_of[node]
        capacity = float(getattr(spec, self.name))
        self._node[node] = capacity, capacity / spec.gpus if math.isfinite(capacity) else 0.0
        used = 0 if empty else sum(getattr(p, self.name) for p in view.shares[node].values())
        self.free[node] = capacity - used

    def room(self, job: int, gpus: int, node: int) -> float:
        """GPUs of the job that a node could hold, what it needs beside them considered."""
        stated = self._stated.item(job)
        capacity, per_gpu = self._node[node]
        if not math.isnan(stated):
            per_gpu = stated / gpus
        return (self.free[node] + CAPACITY * capacity) / per_gpu if per_gpu > 0 else math.inf

    def beside(self, share: Placement, gpus: int) -> Placement:
        """A share of a job of so many GPUs, with what goes with it."""
        stated: float = self._stated.item(share.job)
        own = self._node[share.node][1] * share.gpus
        amount = own if math.isnan(stated) else stated * share.gpus / gpus
        return (
            share._replace(cpus=amount) if self.name == "cpus" else share._replace(memory_gb=amount)
        )

    def holds(self, share: Placement) -> bool:
        """True where a share fits in what is free on its node."""
        return fits(getattr(share, self.name), self.free[share.node], self._node[share.node][0])
