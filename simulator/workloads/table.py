"""A kind of workload as a table of a scenario file: its keys, and the jobs that are made of them.

    class Alike(WorkloadTable):
        "Jobs of one GPU and one duration, one after the other."

        kind: Literal["alike"] = "alike"
        num_jobs: int = 10
        '''number of jobs'''

        def make(self, setting):
            ...

`simulator.workloads.registry` lists the kinds that there are; packages add theirs by an entry point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from simulator.arguments import MOST_JOBS
from simulator.files.keys import Config, NonNegative, PositiveInt, at_key
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.bootstrap import resampled
from simulator.workloads.machines import Machines

JobCount = Annotated[int, Field(ge=1, le=MOST_JOBS)]
Split = Annotated[list[NonNegative], Field(min_length=3, max_length=3)]

AskedPlaces = Literal["as-asked", "any"]

Made = Workload | tuple[Workload, Cluster]
"""The jobs, or the jobs and the machines that they bring."""


@dataclass(frozen=True)
class Setting:
    """The scenario that a workload belongs to.

    Attributes
    ----------
    seed : of its random streams.
    machines : the table [cluster]; None: the scenario has none.
    """

    seed: int = 0
    machines: Machines | None = None

    @property
    def streams(self) -> Streams:
        """The random streams."""
        return Streams(self.seed)


class WorkloadTable(Config):
    """Keys of a kind of workload; the first line of the docstring says in documents what the jobs are.

    Attributes
    ----------
    kind : its name in scenario files.
    file_keys : keys that name input files, beside ``path``.
    of_machines : whether the jobs depend on the table [cluster].
    """

    kind: str
    file_keys: ClassVar[tuple[str, ...]] = ()
    of_machines: ClassVar[bool] = False

    def model_post_init(self, _: Any) -> None:
        """The kind is always written out."""
        self.model_fields_set.add("kind")

    def make(self, setting: Setting) -> Made:
        """The jobs; machines with them, where the workload brings some.

        Raises InputError: something is wrong with a file, or keys do not fit together.
        """
        raise NotImplementedError

    def check(self, setting: Setting) -> None:
        """Raise `InputError` for keys that do not fit, without drawing the jobs."""

    @property
    def is_fixed(self) -> bool:
        """Whether the jobs come from a file as they are, so that the seed may change nothing."""
        return False

    @property
    def num_drawn(self) -> int | None:
        """Number of jobs that are drawn; None: that of a file."""
        return getattr(self, "num_jobs", None)

    def with_few_jobs(self) -> Self:
        """So few jobs that drawing them costs nothing, but as demanding ones; a file's jobs are all there."""
        return self


class Redrawn(WorkloadTable):
    """Jobs of a file, as they are or drawn again."""

    block_bootstrap: PositiveInt | None = Field(default=None, examples=[100])
    """number of consecutive jobs in a block; each seed draws the jobs again in such blocks"""

    @property
    def is_fixed(self) -> bool:
        """Unless the jobs are drawn again."""
        return self.block_bootstrap is None

    def redrawn(self, jobs: Workload, setting: Setting) -> Workload:
        """The jobs, drawn again where that is asked for."""
        if self.block_bootstrap is None:
            return jobs
        with at_key("workload.block_bootstrap"):
            return resampled(jobs, self.block_bootstrap, setting.streams.generator("bootstrap"))


class Modelled(WorkloadTable):
    """Jobs that may have a model, whose speed depends on CPUs and memory (Synergy)."""

    speeds: Literal["paper", "released"] = "paper"
    """speeds of jobs with a model: published matrices, or the two speeds of Synergy's released simulator"""
    whole_iterations: bool | None = None
    """whether only whole iterations of a round count; left out: with released speeds in rounds"""
