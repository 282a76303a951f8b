"""Free capacity of nodes, or of VMs on demand: where a job of fixed demand fits, and what it takes there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from policies.queues.free_gpus import FreeGpus, Nodes
from policies.queues.unread import Unread
from simulator import FIXED, Placement, View
from simulator.errors import InputError
from simulator.model.feasibility import fits
from simulator.model.places import Places
from simulator.model.tolerances import CAPACITY, FRACTIONS

_NEW = tuple.__new__
"""Makes a named tuple of all its fields in a fifth of the time that its own constructor takes."""


class FreeCapacity:
    """Free GPUs, CPUs and memory of a controller's nodes, while jobs are placed one by one.

    The nodes have fixed types, or they are VMs: an empty VM gets the type of the first share that is added there.
    One that is kept from decision to decision (`refresh`) looks only at the nodes that changed
    (`View.node_changes`), so that a decision costs as much on 10,000 nodes as on ten.

    Parameters
    ----------
    empty : all of the nodes is free at first, whatever runs; False: what is free now.
    last_first : of equally empty nodes, a job over several nodes takes the last first; False: the first.

    Attributes
    ----------
    total_gpus : free GPUs of all nodes together; infinite where they are VMs.
    by_node : whether a job may not fit although they are enough.
    """

    def __init__(self, view: View, *, empty: bool = False, last_first: bool = False) -> None:
        cluster = view.cluster
        self._fixed, self._specs, self._last_first = (
            cluster.node_type_of,
            cluster.node_types,
            last_first,
        )
        self._largest = cluster.max_gpus_per_node
        self._beside = [_Resource(view, name) for name in cluster.limited_resources]
        self._places = Places(view.rows, cluster) if view.workload.has_places else None
        self.by_node = bool(self._beside) or self._places is not None
        self._vm_type: dict[int, int] = {}
        """Types of the VMs that are not empty."""
        self._unread = Unread()
        self._taken: list[int] = []
        if empty:
            self._read_all(view, empty)
        else:
            self.refresh(view)

    # -- what is free --------------------------------------------------------------------------------

    def refresh(self, view: View) -> None:
        """Bring it up to what is free now."""
        changed, taken = self._unread.of(view.node_changes), self._taken
        if changed is None:
            self._read_all(view, empty=False)
            return
        if changed[: len(taken)] != taken:  # else they are among those that changed
            changed += taken
        for node in changed:
            self._read(view, node)
        taken.clear()
        self.total_gpus = math.inf if self._fixed is None else view.free_gpus_total

    def _read_all(self, view: View, empty: bool) -> None:
        self._demand = view.workload.num_gpus_list
        nodes, type_of = view.nodes.tolist(), view.cluster.type_of
        gpus = view.free_gpus[view.nodes].tolist()
        if empty and type_of:
            gpus = [type_of[n].gpus for n in nodes]
        self._free = FreeGpus(dict(zip(nodes, gpus, strict=True)), self._last_first)
        total = float(sum(gpus)) if empty else view.free_gpus_total
        self.total_gpus = math.inf if self._fixed is None else total
        for node in nodes if self._beside or self._fixed is None else ():
            self._read(view, node, empty)
        self._taken.clear()

    def _read(self, view: View, node: int, empty: bool = False) -> None:
        shares = () if empty else view.shares[node].values()
        if self._fixed is None:
            self._configure(node, None)
            self.add(shares)
            if node in view.down:
                self._free[node] = 0.0
            return
        gpus = view.free_gpus.data[node]
        if not empty and self._free.now.get(node) != gpus:
            self._free[node] = gpus
        for r in self._beside:
            used = sum(getattr(share, r.name) for share in shares)
            r.free[node] = r.capacity[self._fixed[node]] - used

    def _configure(self, node: int, node_type: int | None) -> None:
        """Give an empty VM its type; None: it is empty again, and may get any."""
        self._vm_type.pop(node, None)
        if node_type is not None:
            self._vm_type[node] = node_type
        self._free[node] = math.inf if node_type is None else self._specs[node_type].gpus
        for r in self._beside:
            r.free[node] = math.inf if node_type is None else r.capacity[node_type]

    def add(self, shares: Iterable[Placement], sign: int = 1) -> None:
        """Take shares from what is free; with the sign -1 give them back."""
        free, now = self._free, self._free.now
        for share in shares:
            _, node, gpus, v, _, _ = share
            if self._fixed is None and node not in self._vm_type:
                self._configure(node, v)
            free[node] = now.get(node, 0.0) - sign * gpus
            self.total_gpus -= sign * gpus
            self._taken.append(node)
            for r in self._beside:
                r.free[node] -= sign * getattr(share, r.name)
            if self._fixed is None and free[node] >= self._specs[v].gpus - FRACTIONS:
                self._configure(node, None)

    def amounts(self, nodes: Iterable[int]) -> list[list[float]]:
        """Free GPUs of some nodes, and of each what is free of the limited resources beside them."""
        return [[self._free[n], *(r.free[n] for r in self._beside)] for n in nodes]

    def show(self, amounts: Iterable[tuple[int, Sequence[float]]], total_gpus: float) -> None:
        """Let so much be free on some nodes, as `amounts` has it, and so many GPUs in all."""
        for node, of_node in amounts:
            self._free[node] = of_node[0]
            for k, r in enumerate(self._beside, start=1):
                r.free[node] = of_node[k]
        self.total_gpus = total_gpus

    def gpus_on(self, nodes: Sequence[int]) -> float:
        """GPUs that are free on some nodes."""
        return math.fsum(self._free[n] for n in nodes)

    # -- where a job fits ----------------------------------------------------------------------------

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

        Raises InputError: the policy chooses the job's GPUs, or the types of the nodes.
        """
        if gpus is None:
            gpus = self._demand[job]
        if gpus > self.total_gpus:
            return ()
        if gpus < 1:
            raise InputError("this policy needs jobs of fixed demand")
        if self._fixed is None:
            raise InputError(
                "FreeCapacity.place: the nodes are VMs without a fixed type, expected nodes of fixed types "
                "(docs/extending.md has a policy for VMs)"
            )
        if not self.by_node and nodes is None:
            found = self._free.place(gpus)
            return tuple([_NEW(Placement, (job, n, share, FIXED, 0.0, 0.0)) for n, share in found])
        places = self._places
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
        places, type_of, beside = self._places, self._fixed or (), self._beside
        allowed = None if nodes is None else frozenset(nodes)
        types = range(len(self._specs))
        needs = [(r.free, r.slack, [r.of(job, gpus, 1, v) for v in types]) for r in beside]

        def most(node: int) -> float:
            v = type_of[node]
            if allowed is not None and node not in allowed:
                return 0.0
            if places is not None and not places.allows(job, v):
                return 0.0
            room = math.inf
            for free, slack, per_gpu in needs:
                if per_gpu[v] > 0:
                    room = min(room, (free[node] + slack[v]) / per_gpu[v])
            return room

        wanted = 0 if places is None else places.nodes[job]
        shares = []
        for node, part in self._free.place(gpus, most, wanted):
            amounts = {r.name: r.of(job, gpus, part, type_of[node]) for r in beside}
            cpus, memory_gb = amounts.get("cpus", 0.0), amounts.get("memory_gb", 0.0)
            shares.append(_NEW(Placement, (job, node, part, FIXED, cpus, memory_gb)))
        return tuple(shares)

    def holds(self, shares: Iterable[Placement]) -> bool:
        """True where each of some shares, on nodes of their own, fits in what is free."""
        return all(self._holds(share) for share in shares)

    def _holds(self, share: Placement) -> bool:
        node, fixed = share.node, self._fixed
        v = self._vm_type.get(node, share.node_type) if fixed is None else fixed[node]
        if fixed is None and v != share.node_type:
            return False
        free = min(self._free[node], self._specs[v].gpus)
        return fits(share.gpus, free, self._largest) and all(
            r.holds(share, v) for r in self._beside
        )

    def nearby(self, shares: tuple[Placement, ...], nodes: Sequence[int]) -> tuple[Placement, ...]:
        """Shares as they are, or a single one on the fullest of the nodes of its type; empty where they do not fit."""
        if self.holds(shares):
            return shares
        if len(shares) > 1:
            return ()
        (share,), fixed = shares, self._fixed
        alike = (n for n in nodes if fixed is None or fixed[n] == fixed[share.node])
        fitting = filter(self._holds, (share._replace(node=n) for n in alike))
        fullest = min(fitting, key=lambda s: (self._free[s.node], s.node), default=None)
        return () if fullest is None else (fullest,)


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
        self.free: dict[int, float] = {}
        self.capacity = [float(getattr(spec, name)) for spec in view.cluster.node_types]
        """Of each type of node."""
        self.slack = [CAPACITY * capacity for capacity in self.capacity]
        self._stated = view.rows.num_cpus if name == "cpus" else view.rows.memory_gb
        each = zip(self.capacity, view.cluster.node_types, strict=True)
        self._per_gpu = [c / spec.gpus if math.isfinite(c) else 0.0 for c, spec in each]

    def of(self, job: int, gpus: int, part: int, node_type: int) -> float:
        """Amount beside a part of the GPUs of a job, on a node of a type."""
        stated: float = self._stated.item(job)
        return self._per_gpu[node_type] * part if math.isnan(stated) else stated * part / gpus

    def holds(self, share: Placement, node_type: int) -> bool:
        """True where a share fits in what is free on its node."""
        capacity = self.capacity[node_type]
        return fits(getattr(share, self.name), min(self.free[share.node], capacity), capacity)
