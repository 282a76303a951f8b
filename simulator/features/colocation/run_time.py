"""ColocatedJobs at run time: jobs on one GPU slow each other down, and share its memory and its slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from simulator.arguments import length
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.colocation.mig import PROFILES, best_start, mask_of
from simulator.features.colocation.spec import Colocation
from simulator.model.feasibility import fits

Gpu = tuple[int, int]
"""A node, and the number of a GPU on it."""

Slice = tuple[Gpu, int]
"""A GPU, and the slices of its memory that a job has, as bits."""


class ColocatedJobs(Feature):
    """Several jobs on one GPU.

    Attributes
    ----------
    spec : memory, slices and interference.
    slices_of : by running job: its slices, where GPUs are sliced.
    """

    name = "colocation"
    job_columns = ()

    def __init__(self, spec: Colocation) -> None:
        self.spec = spec
        self.slices_of: dict[int, tuple[Slice, ...]] = {}
        self._on_gpu: dict[Gpu, dict[int, Execution]] = {}

    def attach(self, simulation: Simulation) -> None:
        """Keep the simulation."""
        length("colocation", self.spec.memory_gb, len(simulation.workload), "jobs")
        if simulation.cluster.node_type_of is None or simulation.cluster.is_pool:
            raise InputError("colocation: expected nodes of fixed types")
        self._simulation = simulation

    def seen(self, controller: Controller) -> ColocatedJobs:
        """Memory, interference and slices."""
        return self

    # -- speed -----------------------------------------------------------------------------------

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """Note which GPUs and slices the job has."""
        cut = plan.notes.get(self.name, {})
        if execution.job in cut:
            self.slices_of[execution.job] = cut[execution.job]
        for gpu in _gpus(execution):
            self._on_gpu.setdefault(gpu, {})[execution.job] = execution

    def on_release(self, execution: Execution, cause: str) -> None:
        """The job has left its GPUs and slices."""
        self.slices_of.pop(execution.job, None)
        for gpu in _gpus(execution):
            self._on_gpu[gpu].pop(execution.job, None)

    def rate(self, execution: Execution) -> float:
        """A job is as fast as on the slowest of its GPUs."""
        speeds = [
            self.spec.speed(execution.job, [o for o in self._on_gpu[gpu] if o != execution.job])
            for gpu in _gpus(execution)
        ]
        return min(speeds, default=1.0)

    def affected(self, execution: Execution) -> Iterable[Execution]:
        """The other jobs on its GPUs."""
        found = {job: e for gpu in _gpus(execution) for job, e in self._on_gpu.get(gpu, {}).items()}
        return found.values()

    # -- memory and slices -----------------------------------------------------------------------

    def check(self, controller: Controller, plan: DecisionPlan) -> None:
        """No GPU holds jobs that need more memory than it has; each new job gets its slices."""
        if not plan.gpus_of:
            return
        stays = _staying(controller, plan)
        new = [job for job in plan.shares_of if job not in stays]
        if self._simulation.check:
            self._check_memory(controller, stays, new, plan)
        if self.spec.profile is not None:
            plan.notes = {**plan.notes, self.name: self._cut(stays, new, plan)}

    def _check_memory(
        self, controller: Controller, stays: Iterable[int], new: Iterable[int], plan: DecisionPlan
    ) -> None:
        most = self.spec.gpu_memory_gb
        used: dict[Gpu, float] = {}
        places = [(job, gpu) for job in stays for gpu in _gpus(controller.executions[job])]
        places += [(job, gpu) for job in new for gpu in _planned(job, plan)]
        for job, (node, g) in places:
            used[node, g] = used.get((node, g), 0.0) + float(self.spec.memory_gb[job])
            if not fits(used[node, g], most, most):
                raise self._simulation.infeasible(
                    f"node {node}: GPU {g}: {used[node, g]:g} GB of memory used of {most:g}"
                )

    def _cut(
        self, stays: Iterable[int], new: Iterable[int], plan: DecisionPlan
    ) -> dict[int, tuple[Slice, ...]]:
        """A slice for each new job, where its profile may begin; slices of running jobs do not move."""
        assert self.spec.profile is not None
        taken: dict[Gpu, int] = {}
        cut: dict[int, tuple[Slice, ...]] = {}
        for job in stays:
            held = self.slices_of.get(job, ())
            if job in plan.shares_of:
                cut[job] = held
            for gpu, mask in held:
                taken[gpu] = taken.get(gpu, 0) | mask
        for job in new:
            k = int(self.spec.profile[job])
            for gpu in _planned(job, plan):
                start = best_start(taken.get(gpu, 0), k)
                if start is None:
                    raise self._simulation.infeasible(
                        f"node {gpu[0]}: GPU {gpu[1]} has no room for a slice {PROFILES[k].name}"
                    )
                taken[gpu] = taken.get(gpu, 0) | mask_of(k, start)
                cut[job] = (*cut.get(job, ()), (gpu, mask_of(k, start)))
        return cut

    def has_room(self, controller: Controller, job: int, plan: DecisionPlan) -> bool:
        """Whether memory and slices of each GPU have room for the job beside what runs now."""
        cut: Mapping[int, tuple[Slice, ...]] = plan.notes.get(self.name, {})
        memory_gb, most = self.spec.memory_gb, self.spec.gpu_memory_gb
        for gpu in _planned(job, plan):
            others = [j for j in self._on_gpu.get(gpu, ()) if j != job]
            used = float(memory_gb[job]) + sum(float(memory_gb[j]) for j in others)
            if not fits(used, most, most):
                return False
            wanted = [mask for at, mask in cut.get(job, ()) if at == gpu]
            held = [mask for j in others for at, mask in self.slices_of.get(j, ()) if at == gpu]
            if any(a & b for a in wanted for b in held):
                return False
        return True


def _gpus(execution: Execution) -> Iterator[Gpu]:
    """The GPUs of a job; none where the decision did not name them."""
    return ((execution.shares[0].node, g) for g in execution.gpus_of)


def _planned(job: int, plan: DecisionPlan) -> Iterator[Gpu]:
    """The GPUs that a plan gives a job."""
    return ((plan.shares_of[job][0].node, g) for g in plan.gpus_of.get(job, ()))


def _staying(controller: Controller, plan: DecisionPlan) -> dict[int, None]:
    """Running jobs that neither stop nor move."""
    stays: dict[int, None] = {}
    for job, execution in controller.executions.items():
        own, shares = execution.gpus_of, plan.shares_of.get(job)
        same = shares == execution.shares and plan.gpus_of.get(job, own) == own
        if same or (plan.keep_running and shares is None and job not in plan.stopped):
            stays[job] = None
    return stays
