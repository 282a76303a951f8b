"""Policies that plan all nodes anew, on parts of GPUs: ``srtf+tune@fractional``, ``greedy@fractional``.

Such a policy counts GPUs. Here it sees each GPU as so many equal units, and a job of half a GPU asks for
half of them. Its plan says which jobs are on which node. This module then gives each job a GPU of that
node: running jobs keep theirs, others go to the fullest GPU that has room. Where they do not fit so,
the node is packed anew, largest first, and jobs move. A job that fits in no way goes to another node with room, or
waits: what is left of several GPUs may be enough in units, and of no use to a job that needs a whole one.
The units are those of the jobs so far; when one comes whose part is no whole number of them, they become smaller, and the
policy begins anew.
Elastic jobs choose no parts: their time on a part depends on jobs that come later, which no table of times says.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policies.registry.registration import Wrapper, register
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray, NodeType
from simulator.model.contract import FIXED, NO_CHANGE, Decision, Placement, Policy, View
from simulator.model.feasibility import fits
from simulator.model.fractional import SharedDuration
from simulator.model.performance import FixedDuration
from simulator.model.tolerances import UNITS
from simulator.model.workload import Workload

MOST_UNITS = 20
"""Units of a GPU; parts that are no whole number of them are rounded up."""


class _StatesInUnits:
    """The states of jobs; the service that a job has had is counted in units, too.

    Parameters
    ----------
    units_per_gpu : by job: units that it is shown to hold, over the GPUs that it holds.
    """

    def __init__(self, jobs: Any, units_per_gpu: Sequence[float]) -> None:
        self._jobs, self._units_per_gpu = jobs, units_per_gpu

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)

    def attained_at(self, job: int, now_s: float) -> float:
        """Unit-seconds that one job has held until now."""
        held: float = self._jobs.attained_at(job, now_s)
        return held * self._units_per_gpu[job]


@register("@fractional", requires=("servers", "fixed-demand", "one-node"))
class FractionalGpus(Wrapper):
    """A policy that sees units of GPUs, and whose plans are carried out on single GPUs.

    Raises InputError: a policy that does not plan all nodes anew, or that gives one job's GPUs in
    fractions.
    """

    def __init__(self, policy: Policy, inner_name: str) -> None:
        super().__init__(policy, inner_name)
        self.fractional_gpus = True
        if not self.plans_anew:
            raise InputError(
                f"policy {self.name!r}: {inner_name} does not plan all nodes anew, expected a policy of the greedy "
                "family, milp, or ORDERING+proportional, +greedy, +tune; for a queue on parts take 'shared' or "
                "'complementary'"
            )
        self._fresh = policy
        self._workload: Workload | None = None
        self._until = 0
        self._rows: Workload
        self._in_units: Workload

    def decide(self, view: View) -> Decision:
        """The policy's own plan, with a GPU for each job."""
        if self._workload is not view.workload or len(view.workload) > self._until:
            self._begin(view)
        if (
            self._in_units.due_s[view.jobs] != view.due_s
        ).any():  # admission control took some away
            for name in ("due_s", "weight_per_s"):
                column = getattr(self._rows, name)
                column.flags.writeable = True
                column[:] = getattr(view.rows, name)
        decision = self.policy.decide(self._seen(view))
        if decision is NO_CHANGE:
            return NO_CHANGE
        shares: dict[int, list[Placement]] = {}
        for placement in decision.shares():
            shares.setdefault(placement.job, []).append(placement)
        if decision.keep_running:
            going_on = {j: own for j, own in view.running.items() if j not in decision.stopped}
            for job, own in going_on.items():
                shares.setdefault(job, [p._replace(gpus=self._units[job]) for p in own])
        placements, gpus_of = self._on_gpus(view, shares)
        return replace(decision, placements=placements, keep_running=False, gpus_of=gpus_of)

    def _begin(self, view: View) -> None:
        """Read the scenario: how many units, and what each job asks for."""
        cluster, workload = view.cluster, view.rows
        if hasattr(view, "colocation") and view.colocation.spec.profile is not None:
            raise InputError(f"{self.name}: the GPUs are sliced, expected the policy 'slices'")
        performance = workload.performance
        if cluster.node_type_of is None or not isinstance(performance, FixedDuration):
            raise InputError(
                f"{self.name}: expected nodes of fixed types, and jobs of one duration"
            )
        part = np.ones(len(workload))
        if isinstance(performance, SharedDuration):
            part = performance.part
        self._part = part.tolist()
        held = part * workload.num_gpus  # GPUs of each job while it runs
        if hasattr(view, "colocation") and np.isfinite(view.colocation.spec.gpu_memory_gb):
            spec = view.rows_of(view.colocation.spec)
            part = np.maximum(part, spec.memory_gb / spec.gpu_memory_gb)
        come = len(view.workload)
        self._each = _units_of_a_gpu(part[:come])
        others = np.flatnonzero(~_are_whole(part[come:], self._each))
        last = len(others) and self._each < MOST_UNITS
        self._until = come + int(others[0]) if last else len(part)
        own = np.ceil(part * self._each - UNITS).astype(np.int64) * workload.num_gpus
        self._units: list[int] = np.maximum(own, 1).tolist()
        self._units_per_gpu: list[float] = (np.maximum(own, 1) / held).tolist()
        self._rows = _in_units(workload, np.array(self._units))
        self._in_units = view.so_far(self._rows)
        types = tuple(_divided(t, self._each) for t in cluster.node_types)
        self._cluster = replace(cluster, node_types=types)
        self._gpus = [int(cluster.node_types[v].gpus) for v in cluster.node_type_of]
        self._workload = view.workload
        self.policy = copy.deepcopy(self._fresh)

    def _seen(self, view: View) -> View:
        """The view of the policy, counted in units."""
        units = self._units
        shares: list[Mapping[int, Placement]] = [
            {job: p._replace(gpus=units[job]) for job, p in own.items()} if own else own
            for own in view.shares
        ]
        used = [sum(p.gpus for p in own.values()) for own in shares]
        free = np.array(self._gpus, dtype=np.float64) * self._each - np.array(used)
        free.flags.writeable = False
        return view.showing(
            workload=self._in_units,
            rows=self._rows,
            cluster=self._cluster,
            jobs=_StatesInUnits(view.states, self._units_per_gpu),
            running={
                job: tuple(p._replace(gpus=units[job]) for p in own)
                for job, own in view.running.items()
            },
            shares=shares,
            free_gpus=free,
            free_gpus_total=float(free[view.nodes].sum()),
            in_full=True,
        )

    def _on_gpus(
        self, view: View, shares: Mapping[int, Sequence[Placement]]
    ) -> tuple[list[Placement], dict[int, tuple[int, ...]]]:
        """A GPU for each job of the plan, or several; those that fit in no way are left out."""
        of_node: dict[int, dict[int, Placement]] = {}
        for job, own in shares.items():
            if len(own) == 1:  # parts, and GPUs by number, are of one node
                of_node.setdefault(own[0].node, {})[job] = own[0]
        placements: list[Placement] = []
        gpus_of: dict[int, tuple[int, ...]] = {}
        for node, planned in of_node.items():
            kept = {
                job: view.gpus_of[job]
                for job in planned
                if job in view.running and view.running[job][0].node == node and job in view.gpus_of
            }
            found = self._pack(node, planned, kept)
            if len(found) < len(planned):
                anew = self._pack(node, planned, {})
                found = anew if len(anew) == len(planned) else found
            gpus_of |= found
            placements += [self._placed(planned[job], len(found[job])) for job in found]
        if len(gpus_of) < len(shares):
            self._elsewhere(view, shares, placements, gpus_of)
        return placements, gpus_of

    def _elsewhere(
        self,
        view: View,
        shares: Mapping[int, Sequence[Placement]],
        placements: list[Placement],
        gpus_of: dict[int, tuple[int, ...]],
    ) -> None:
        """Place what the plan's own nodes have no GPU for; a running job stays where it is, if it can."""
        type_of = view.cluster.type_of
        free = {n: [self._each] * self._gpus[n] for n in view.nodes.tolist()}
        beside = {n: [type_of[n].cpus, type_of[n].memory_gb] for n in free}

        def take(placement: Placement, gpus: tuple[int, ...]) -> None:
            for g in gpus:
                free[placement.node][g] -= self._units[placement.job] // len(gpus)
            beside[placement.node][0] -= placement.cpus
            beside[placement.node][1] -= placement.memory_gb

        for placement in placements:
            take(placement, gpus_of[placement.job])
        for job, own in shares.items():
            if job in gpus_of:
                continue
            cpus, memory_gb = sum(p.cpus for p in own), sum(p.memory_gb for p in own)
            now = view.running[job][0].node if job in view.running else -1
            for node in sorted(free, key=lambda n: (n != now, n)):
                room, spec = beside[node], type_of[node]
                if not (
                    fits(cpus, room[0], spec.cpus) and fits(memory_gb, room[1], spec.memory_gb)
                ):
                    continue
                gpus = self._fullest(
                    job, free[node], view.gpus_of.get(job) if node == now else None
                )
                if gpus is not None:
                    placement = Placement(job, node, 1, FIXED, cpus, memory_gb)
                    placements.append(self._placed(placement, len(gpus)))
                    gpus_of[job] = gpus
                    take(placement, gpus)
                    break

    def _fullest(
        self, job: int, free: Sequence[int], held: tuple[int, ...] | None = None
    ) -> tuple[int, ...] | None:
        """The GPUs that a job holds, or the fullest with room for it; None: there are none."""
        units = self._units[job]
        count = max(1, units // self._each)
        able = [g for g, left in enumerate(free) if left >= units // count]
        if held is not None and len(held) == count and set(held) <= set(able):
            return held
        if len(able) < count:
            return None
        return tuple(sorted(sorted(able, key=lambda g: (free[g], g))[:count]))

    def _placed(self, placement: Placement, count: int) -> Placement:
        part = self._part[placement.job]
        return placement._replace(gpus=count if part == 1 else part)

    def _pack(
        self, node: int, jobs: Mapping[int, Placement], kept: Mapping[int, tuple[int, ...]]
    ) -> dict[int, tuple[int, ...]]:
        """GPUs of each job: those that are kept, then the largest first to the fullest with room."""
        each, found = self._each, dict(kept)
        free = [each] * self._gpus[node]
        for job, gpus in kept.items():
            for g in gpus:
                free[g] -= self._units[job] // len(gpus)
        for job in sorted((j for j in jobs if j not in kept), key=lambda j: -self._units[j]):
            chosen = self._fullest(job, free)
            if chosen is None:
                continue
            for g in chosen:
                free[g] -= self._units[job] // len(chosen)
            found[job] = chosen
        return found


def _units_of_a_gpu(part: FloatArray) -> int:
    """The fewest units of which each part is a whole number; `MOST_UNITS` where there are none."""
    each = (units for units in range(1, MOST_UNITS + 1) if _are_whole(part, units).all())
    return next(each, MOST_UNITS)


def _are_whole(part: FloatArray, units: int) -> npt.NDArray[np.bool_]:
    """Whether each part is a whole number of units."""
    return np.asarray(np.abs(part * units - np.round(part * units)) < UNITS)


def _in_units(workload: Workload, units: IntArray) -> Workload:
    performance: Any = workload.performance
    own = FixedDuration(performance.duration_s, units)
    return replace(workload.with_own("due_s", "weight_per_s"), performance=own)


def _divided(spec: NodeType, units: int) -> NodeType:
    """A node type whose GPUs are counted in units."""
    power_w = spec.power_w
    if power_w:
        power_w = tuple(power_w[-(-u // units)] for u in range(int(spec.gpus) * units + 1))
    return replace(
        spec,
        gpus=spec.gpus * units,
        price_per_gpu_hour=spec.price_per_gpu_hour / units,
        power_w=power_w,
    )
