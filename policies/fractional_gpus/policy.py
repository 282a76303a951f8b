"""Shared GPUs with arrivals and departures: first come first served; a rule chooses the GPU of each job."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from policies.fractional_gpus.gpus import runs_at
from policies.fractional_gpus.state import (
    FGD,
    RANDOM,
    RULES,
    STEPS,
    Known,
    Typical,
    classes_of,
    empty_state,
    nothing_known,
)
from policies.registry.registration import register
from simulator import FIXED, NO_CHANGE, Decision, InputError, Placement, View
from simulator.arguments import one_of
from simulator.features.colocation import Colocation
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.fractional import SharedDuration
from simulator.model.tolerances import UNITS
from simulator.model.workload import Workload
from simulator.workloads.pods import WHOLE_GPU, Demands, MachineTable

BYTES = 1e9
"""Bytes of a GB: memory is counted in them here."""

UNUSABLE = 10**15
"""Taken off the CPUs of a node that is down, or of another controller: nothing fits there."""


@register(
    "shared",
    requires=("servers", "fixed-demand", "one-node"),
    paper="Weng et al. (FGD), USENIX ATC 2023",
    places=True,
)
class SharedFirstCome:
    """Parts of GPUs, first come first served; ``rule`` says which GPU (fgd, best-fit, ..).

    Parameters
    ----------
    rule : where each job goes: random, dot-product, clustering, packing, best-fit, fgd. The last one is informed: it knows
        which demands are typical of all jobs.
    backfill : go on past a job that does not fit.
    """

    fractional_gpus = True

    def __init__(self, rule: str = "fgd", backfill: bool = True) -> None:
        one_of(RULES, "shared", rule=rule)
        self.name = f"shared-{rule}"
        self._rule = RULES[rule]
        self._backfill = backfill
        self._workload: Workload | None = None
        self._nodes: IntArray | None = None
        self._placed: dict[int, tuple[int, tuple[int, ...]]] = {}

    def decide(self, view: View) -> Decision:
        """Take off what has ended, start what fits."""
        if self._workload is not view.workload:
            self._begin(view)
        if self._nodes is not view.nodes:
            self._see_nodes(view)
        self._see_jobs(view)
        if not view.waiting:
            return NO_CHANGE
        placements: list[Placement] = []
        gpus_of: dict[int, tuple[int, ...]] = {}
        hopeless: set[int] = set()
        for job in view.waiting:
            job_class = int(self._class_of[job])
            if job_class in hopeless:
                continue
            found = self._place(view, job, job_class)
            if found is None:
                if not self._backfill:
                    break
                hopeless.add(job_class)
                continue
            placement, gpus_of[job] = found
            placements.append(placement)
        if not placements:
            return NO_CHANGE
        return Decision(placements, keep_running=True, gpus_of=gpus_of)

    def _begin(self, view: View) -> None:
        """Read the scenario."""
        from policies.fractional_gpus import kernels

        if view.cluster.node_type_of is None or view.cluster.is_pool:
            raise InputError("shared: expected nodes of fixed types")
        # What is typical is that of all jobs, as in the released simulator of FGD.
        knows = self._rule == FGD or _are_alike(_parts(view.rows))
        jobs = view.all_jobs if knows else view.rows
        demands, machines = _demands(jobs), _machines(view.cluster)
        self._part = _parts(jobs)
        if hasattr(view, "colocation"):
            demands = _with_memory(demands, view.rows_of(view.colocation.spec))
        self._has_cpus = "cpus" in view.cluster.limited_resources
        if not self._has_cpus:
            demands = replace(demands, cpu_milli=demands.cpu_milli * 0)
            machines = replace(machines, cpu_milli=machines.cpu_milli * 0)
        self._workload = view.workload
        wide = demands.num_gpus > machines.num_gpus.max()
        if wide.any():
            job = int(np.argmax(wide))
            raise InputError(
                f"shared: job {demands.name[job]!r} needs {demands.num_gpus[job]} GPUs, expected at "
                f"most the {machines.num_gpus.max()} of one node"
            )
        self._classes, self._class_of = classes_of(demands, machines)
        typical = Typical.of(demands, machines)
        self._typical = (*typical.classes, typical.share)
        self._state = empty_state(machines)
        self._known: Known = nothing_known(self._classes, self._state)
        self._room, self._picked = kernels.scratch(self._state.gpu.shape[1])
        self._off = np.zeros(view.cluster.num_nodes, dtype=bool)

    def _see_jobs(self, view: View) -> None:
        """Take off what has ended, or is elsewhere; with an optimization server, add what came late."""
        running, gpus_of, placed = view.running, view.gpus_of, self._placed
        for job in [j for j, at in placed.items() if not runs_at(view, j, *at)]:
            self._change(job, *placed.pop(job), -1)
        if len(placed) < len(running):
            for job, shares in running.items():
                if job not in placed:
                    placed[job] = shares[0].node, gpus_of[job]
                    self._change(job, *placed[job], 1)

    def _see_nodes(self, view: View) -> None:
        """Nodes that went down take nothing; those that were repaired do."""
        off = np.ones(view.cluster.num_nodes, dtype=bool)
        off[view.nodes] = False
        changed = off != self._off
        self._state.cpu[changed] += np.where(off[changed], -UNUSABLE, UNUSABLE)
        self._state.changed[changed] += 1
        self._off, self._nodes = off, view.nodes

    def _place(
        self, view: View, job: int, job_class: int
    ) -> tuple[Placement, tuple[int, ...]] | None:
        from policies.fractional_gpus import kernels

        demand, lots = self._classes.demand[job_class], (0.0, 0.0)
        if self._rule == RANDOM:
            lots = (float(view.rng.random()), float(view.rng.random()))
        node = kernels.best_node(
            self._rule, self._state, job_class, self._classes, self._known, self._typical,
            self._room, STEPS, lots[0],
        )  # fmt: skip
        if node < 0:
            return None
        count = kernels.pick_gpus(
            self._rule, self._state, node, demand, self._typical, self._room, lots[1],
            self._picked,
        )  # fmt: skip
        gpus = tuple(self._picked[:count].tolist())
        self._change(job, node, gpus, 1)
        self._placed[job] = (node, gpus)
        part = self._part.item(job)
        amount = count if part == 1 else part
        cpus = float(np.nan_to_num(view.workload.num_cpus[job])) if self._has_cpus else 0.0
        memory_gb = float(np.nan_to_num(view.workload.memory_gb[job]))
        return Placement(job, node, amount, FIXED, cpus, memory_gb), gpus

    def _change(self, job: int, node: int, gpus: tuple[int, ...], sign: int) -> None:
        from policies.fractional_gpus import kernels

        self._picked[: len(gpus)] = gpus
        demand = self._classes.demand[int(self._class_of[job])]
        kernels.change(self._state, node, demand, self._picked, sign)


def _parts(workload: Workload) -> FloatArray:
    """``(J,)`` of each GPU."""
    performance = workload.performance
    if isinstance(performance, SharedDuration):
        return performance.part
    return np.ones(len(workload))


def _as_many_as_it_holds(part: float) -> int:
    """Thousandths of a GPU that let as many jobs share it as it holds: three thirds."""
    return max(1, WHOLE_GPU // int(1 / part + 1e-9))


def _are_alike(part: FloatArray) -> bool:
    """Whether all jobs of parts have the same, one that is not in whole thousandths: no other one will come beside it."""
    least, parts = float(part.min()), part[part < 1]
    rounded = math.ceil(least * WHOLE_GPU - UNITS)
    return bool(len(parts) and (parts == least).all() and _as_many_as_it_holds(least) < rounded)


def _demands(workload: Workload) -> Demands:
    """Demands of the jobs, in whole thousandths and bytes, rounded up.

    A job that states no CPUs or memory needs none.
    """
    part = _parts(workload)
    milli = np.maximum(1, np.ceil(part * WHOLE_GPU - UNITS)).astype(np.int64)
    if _are_alike(part):
        milli[part < 1] = _as_many_as_it_holds(part.min())
    cpu = np.ceil(np.nan_to_num(workload.num_cpus) * 1000 - UNITS).astype(np.int64)
    memory = np.ceil(np.nan_to_num(workload.memory_gb) * BYTES - 1e-3).astype(np.int64)
    return Demands(workload.job_id, cpu, memory, workload.num_gpus, milli, workload.gpu_types)


def _with_memory(demands: Demands, neighbours: Colocation) -> Demands:
    """A job counts as the part of a GPU, or of its memory, that is the larger."""
    if neighbours.profile is not None:
        raise InputError("shared: the GPUs are sliced, expected the policy 'slices'")
    if math.isinf(neighbours.gpu_memory_gb):
        return demands
    part = np.ceil(neighbours.memory_gb / neighbours.gpu_memory_gb * WHOLE_GPU - UNITS)
    milli = np.maximum(demands.gpu_milli, part.astype(np.int64))
    return replace(demands, gpu_milli=milli)


def _machines(cluster: Cluster) -> MachineTable:
    """The nodes, in whole thousandths of CPUs and bytes; what is not modelled is plenty."""
    types = cluster.type_of

    def column(values: list[float], scale: float) -> IntArray:
        return np.array(
            [math.floor(v * scale + 1e-3) if math.isfinite(v) else 10**17 for v in values]
        )

    return MachineTable(
        column([t.cpus for t in types], 1000),
        column([t.memory_gb for t in types], BYTES),
        column([t.gpus for t in types], 1),
        [t.gpu_type for t in types],
    )
