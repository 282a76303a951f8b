"""First come first served on single GPUs: jobs that share one, by complementary load or in slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from policies.registry.registration import register
from simulator.arguments import one_of, part
from simulator.errors import InputError
from simulator.features.colocation.mig import PROFILES, best_start, mask_of, profile_for
from simulator.model.contract import FIXED, NO_CHANGE, Decision, Placement, View
from simulator.model.feasibility import fits
from simulator.model.fractional import SharedDuration
from simulator.model.tolerances import EQUAL, PART_OF_A_GPU
from simulator.model.workload import Workload

SHARE = ("always", "when-full", "never")

Gpu = tuple[int, int]


def runs_at(view: View, job: int, node: int, gpus: tuple[int, ...]) -> bool:
    """True where a job runs on these GPUs; where several servers decide, an older plan may have won."""
    shares = view.running.get(job)
    return shares is not None and shares[0].node == node and view.gpus_of[job] == gpus


class OnGpus:
    """Keeps which jobs are on which GPU, and starts waiting jobs where `_gpu_for` says.

    A job that does not fit is passed over. Jobs of several GPUs, or of a whole one, get empty GPUs of
    the node with the fewest of them that suffice.
    """

    name = "on-gpus"
    fractional_gpus = True

    def __init__(self) -> None:
        self._workload: Workload | None = None
        self._places: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._on: dict[Gpu, list[int]] = {}

    def decide(self, view: View) -> Decision:
        """Take off what has ended, start what fits."""
        if self._workload is not view.workload:
            self._begin(view)
        self._see_jobs(view)
        if not view.waiting:
            return NO_CHANGE
        self._free = {n: self._spare(view, n) for n in view.nodes.tolist()}
        placements: list[Placement] = []
        gpus_of: dict[int, tuple[int, ...]] = {}
        for job in view.waiting:
            found = self._find(view, job)
            if found is not None:
                placements.append(self._take(view, job, *found))
                gpus_of[job] = found[1]
        if not placements:
            return NO_CHANGE
        return Decision(placements, keep_running=True, gpus_of=gpus_of)

    def _begin(self, view: View) -> None:
        if view.cluster.is_configurable or view.cluster.is_pool:
            raise InputError(f"{self.name}: expected nodes of fixed types")
        performance = view.rows.performance
        whole = np.ones(len(view.rows))
        self._part = performance.part if isinstance(performance, SharedDuration) else whole
        own = view.cluster.nodes_of(view.controller).tolist()
        self._gpus = {n: int(view.cluster.type_of[n].gpus) for n in own}
        self._on = {(n, g): [] for n, count in self._gpus.items() for g in range(count)}
        self._places = {}
        self._workload = view.workload

    def _see_jobs(self, view: View) -> None:
        """Take off what has ended, or is elsewhere; with an optimization server, add what came late."""
        running, gpus_of, places = view.running, view.gpus_of, self._places
        for job in [j for j in places if not self._is_there(view, j)]:
            self._leave(job)
        if len(places) < len(running):
            for job, shares in running.items():
                if job not in places:
                    self._join(view, job, shares[0].node, gpus_of[job])

    def _is_there(self, view: View, job: int) -> bool:
        """True where a job runs where this policy has it."""
        return runs_at(view, job, *self._places[job])

    def _join(self, view: View, job: int, node: int, gpus: tuple[int, ...]) -> None:
        self._places[job] = (node, gpus)
        for g in gpus:
            self._on[node, g].append(job)

    def _spare(self, view: View, node: int) -> list[float]:
        """CPUs and GB of memory that are free on a node."""
        spec, shares = view.cluster.type_of[node], view.shares[node].values()
        return [
            spec.cpus - sum(p.cpus for p in shares),
            spec.memory_gb - sum(p.memory_gb for p in shares),
        ]

    def _beside(self, view: View, job: int) -> tuple[float, float]:
        """CPUs and GB of memory that a job states; 0 where it states none."""
        cpus, memory_gb = float(view.workload.num_cpus[job]), float(view.workload.memory_gb[job])
        return (0.0 if math.isnan(cpus) else cpus, 0.0 if math.isnan(memory_gb) else memory_gb)

    def _has_room(self, view: View, job: int, node: int) -> bool:
        if node not in self._free:  # it is down
            return False
        spec, (cpus, memory_gb) = view.cluster.type_of[node], self._beside(view, job)
        free_cpus, free_gb = self._free[node]
        return fits(cpus, free_cpus, spec.cpus) and fits(memory_gb, free_gb, spec.memory_gb)

    def _find(self, view: View, job: int) -> tuple[int, tuple[int, ...]] | None:
        """Node and GPUs for a job; None where it does not fit now."""
        count = int(view.workload.num_gpus[job])
        if count == 1 and self._part[job] < 1:
            return self._gpu_for(view, job)
        return self._empty(view, job, count)

    def _empty(self, view: View, job: int, count: int) -> tuple[int, tuple[int, ...]] | None:
        """So many empty GPUs of one node, of the node with the fewest that suffice."""
        best: tuple[int, tuple[int, ...]] | None = None
        fewest = math.inf
        for node, gpus in self._gpus.items():
            free = [g for g in range(gpus) if not self._on[node, g]]
            if count <= len(free) < fewest and self._has_room(view, job, node):
                best, fewest = (node, tuple(free[:count])), len(free)
        return best

    def _gpu_for(self, view: View, job: int) -> tuple[int, tuple[int, ...]] | None:
        raise NotImplementedError

    def _take(self, view: View, job: int, node: int, gpus: tuple[int, ...]) -> Placement:
        OnGpus._join(self, view, job, node, gpus)
        cpus, memory_gb = self._beside(view, job)
        self._free[node][0] -= cpus
        self._free[node][1] -= memory_gb
        amount = float(self._part[job]) if len(gpus) == 1 else len(gpus)
        return Placement(job, node, amount, FIXED, cpus, memory_gb)

    def _leave(self, job: int) -> None:
        node, gpus = self._places.pop(job)
        for g in gpus:
            self._on[node, g].remove(job)


@register(
    "complementary",
    requires=("servers", "fixed-demand", "one-node"),
    paper="after Hu et al. (Lucid), ASPLOS 2023",
)
class Complementary(OnGpus):
    """Two jobs share a GPU if they hardly slow each other down (Lucid-like).

    Of the GPUs with one job, the one where both together are fastest; each must keep the speed
    ``least_speed``, and the GPU's memory must suffice. In the spirit of Lucid (Hu et al., ASPLOS 2023),
    which packs two jobs at most by scores of their load; here the speeds themselves are known.

    Parameters
    ----------
    share : "always" shares before it opens an empty GPU, "when-full" only where none is empty,
        "never" not at all.
    least_speed : of each of the two, alone: 1.
    """

    name = "complementary"

    def __init__(self, share: str = "when-full", least_speed: float = 0.5) -> None:
        super().__init__()
        one_of(SHARE, self.name, share=share)
        part(self.name, least_speed=least_speed)
        self._share, self._least = share, least_speed

    def _gpu_for(self, view: View, job: int) -> tuple[int, tuple[int, ...]] | None:
        if self._share == "always":
            return self._shared(view, job) or self._empty(view, job, 1)
        empty = self._empty(view, job, 1)
        return empty if empty is not None or self._share == "never" else self._shared(view, job)

    def _shared(self, view: View, job: int) -> tuple[int, tuple[int, ...]] | None:
        """The GPU of the best neighbour."""
        best, most = None, -math.inf
        for (node, g), jobs in self._on.items():
            if len(jobs) != 1:
                continue
            other = jobs[0]
            if self._part[other] + self._part[job] > 1 + PART_OF_A_GPU:
                continue
            together = self._together(view, job, other)
            if together > most and self._has_room(view, job, node):
                best, most = (node, (g,)), together
        return best

    def _together(self, view: View, job: int, other: int) -> float:
        """The sum of both speeds; minus infinity where they should not share."""
        if not hasattr(view, "colocation"):
            return 2.0
        neighbours = view.colocation.spec
        memory = neighbours.memory_gb
        if not fits(
            memory[job] + memory[other], neighbours.gpu_memory_gb, neighbours.gpu_memory_gb
        ):
            return -math.inf
        own, theirs = neighbours.speed(job, [other]), neighbours.speed(other, [job])
        return own + theirs if min(own, theirs) >= self._least - EQUAL else -math.inf


def _slices(view: View) -> Mapping[int, tuple[tuple[Gpu, int], ...]]:
    """The slices of running jobs, where the engine cuts them."""
    slices: Mapping[int, tuple[tuple[Gpu, int], ...]] = (
        view.colocation.slices_of if hasattr(view, "colocation") else {}
    )
    return slices


@register("slices", requires=("servers", "fixed-demand", "one-node"))
class Slices(OnGpus):
    """Each job gets a slice of a GPU (MIG profiles), first come first served."""

    name = "slices"

    def _begin(self, view: View) -> None:
        super()._begin(view)
        self._of_part = {p: profile_for(p) for p in set(self._part.tolist())}
        self._masks: dict[int, tuple[Gpu, int]] = {}

    def _profile(self, view: View, job: int) -> int:
        """Index of the job's profile: as the cluster has it, else by its part."""
        given = view.colocation.spec.profile if hasattr(view, "colocation") else None
        return self._of_part[float(self._part[job])] if given is None else int(given[job])

    def _leave(self, job: int) -> None:
        super()._leave(job)
        self._masks.pop(job, None)

    def _is_there(self, view: View, job: int) -> bool:
        held, own = _slices(view).get(job), self._masks.get(job)
        return super()._is_there(view, job) and (not held or own is None or held == (own,))

    def _join(self, view: View, job: int, node: int, gpus: tuple[int, ...]) -> None:
        super()._join(view, job, node, gpus)
        k = self._profile(view, job)
        if k == len(PROFILES) - 1:
            return
        place = node, gpus[0]
        held = [mask for at, mask in _slices(view).get(job, ()) if at == place]
        taken = self._taken().get(place, 0)
        start = best_start(taken, k)  # what an engine without slices cannot say
        own = mask_of(k, start) if start is not None else ~taken & 0xFF
        self._masks[job] = place, held[0] if held else own

    def _taken(self) -> Mapping[Gpu, int]:
        taken: dict[Gpu, int] = {}
        for place, mask in self._masks.values():
            taken[place] = taken.get(place, 0) | mask
        return taken

    def _gpu_for(self, view: View, job: int) -> tuple[int, tuple[int, ...]] | None:
        k = self._profile(view, job)
        if k == len(PROFILES) - 1:
            return self._empty(view, job, 1)
        taken = self._taken()
        best: Gpu | None = None
        fullest, at = -1, 0
        for place, jobs in self._on.items():
            if any(j not in self._masks for j in jobs) or not self._fits(view, job, place, jobs):
                continue
            mask = taken.get(place, 0)
            start = best_start(mask, k)
            if start is not None and mask.bit_count() > fullest:
                best, fullest, at = place, mask.bit_count(), start
        if best is None:
            return None
        self._masks[job] = (best, mask_of(k, at))
        return best[0], (best[1],)

    def _fits(self, view: View, job: int, place: Gpu, jobs: Sequence[int]) -> bool:
        """Memory of the GPU, CPUs and memory of the node; slices hold the parts."""
        if not self._has_room(view, job, place[0]):
            return False
        if not hasattr(view, "colocation"):
            return True
        memory = view.colocation.spec.memory_gb
        used = float(memory[job]) + sum(float(memory[j]) for j in jobs)
        capacity: float = view.colocation.spec.gpu_memory_gb
        return fits(used, capacity, capacity)
