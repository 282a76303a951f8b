"""The derived trace of the Synergy paper as a kind of workload: from the seed, or as the released simulator draws it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from simulator.files.keys import KeyedError, Positive
from simulator.model.workload import Workload
from simulator.workloads.machines import Nodes
from simulator.workloads.networks.named import SERVER, server
from simulator.workloads.networks.sensitivity import with_durations_of
from simulator.workloads.synergy.draw import released_draw
from simulator.workloads.synergy.traces import derived_trace
from simulator.workloads.table import JobCount, Modelled, Setting, Split


class SynergyJobs(Modelled):
    """The derived trace of the Synergy paper, Section 5.1."""

    kind: Literal["synergy"] = "synergy"
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_hour: Positive | None = Field(default=None, examples=[9])
    """rate of the Poisson arrivals; left out: all jobs at time 0"""
    split: Split = Field(default=[20.0, 70.0, 10.0])
    """shares of image, language and speech models"""
    multi_gpu: bool = False
    """whether jobs ask for several GPUs, too"""
    gpu_law: Literal["philly", "gavel"] = "philly"
    """law of the GPUs, with multi_gpu and draw = "seeded": of the Philly log, or of Gavel's extract of it"""
    draw: Literal["seeded", "released", "released-first"] = "seeded"
    """jobs from the seed; the very jobs of the released simulator; or those of its first run, whose gaps are drawn after the durations"""
    draw_seed: Annotated[int, Field(ge=0)] = 42
    """seed of the released simulator"""
    durations_at_cpus_per_gpu: Positive | None = Field(default=None, examples=[3])
    """CPUs per GPU of the servers at whose proportional share durations are drawn; left out: those of the cluster"""

    of_machines = True

    def make(self, setting: Setting) -> Workload:
        """The jobs, with durations at their proportional share of the cluster's servers."""
        nodes, ratio, spec = setting.machines, self.durations_at_cpus_per_gpu, SERVER
        if isinstance(nodes, Nodes) and nodes.cpus_per_node is not None:
            spec = server(nodes.cpus_per_node / nodes.gpus_per_node)
        base = spec if ratio is None else server(ratio)
        if self.draw != "seeded":
            workload = released_draw(
                self.num_jobs,
                self._released_rate(),
                split=self.split,
                seed=self.draw_seed,
                spec=base,
                multi_gpu=self.multi_gpu,
                first_run=self.draw == "released-first",
            )
        else:
            workload = derived_trace(
                self.num_jobs,
                setting.streams,
                split=self.split,
                jobs_per_hour=self.jobs_per_hour,
                multi_gpu=self.multi_gpu,
                gpu_law=self.gpu_law,
            )
        if ratio is None:
            return workload
        return with_durations_of(workload, base, spec, self.speeds == "released")

    def _released_rate(self) -> float:
        if self.jobs_per_hour is None:
            raise KeyedError(
                "workload.jobs_per_hour", f"missing, expected it with draw = {self.draw!r}"
            )
        return self.jobs_per_hour

    def with_few_jobs(self) -> Self:
        """Of jobs on several GPUs so many that the largest demands are among them."""
        count = min(self.num_jobs, 500) if self.multi_gpu else 1
        rate = None if self.draw == "seeded" else self.jobs_per_hour
        return self.model_copy(update={"num_jobs": count, "jobs_per_hour": rate})
