"""Formats of files of jobs, a class each."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from simulator.workloads.alibaba import AlibabaJobs
from simulator.workloads.alibaba_pai import PaiJobs, PaiTasks
from simulator.workloads.alibaba_services import DlrmInstances, SpotJobs
from simulator.workloads.batsim import BatsimJobs
from simulator.workloads.gavel import GavelJobs
from simulator.workloads.helios import HeliosJobs
from simulator.workloads.kubernetes import KubernetesJobs
from simulator.workloads.philly import PhillyJobs
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.slurm import SlurmJobs
from simulator.workloads.swf import SwfJobs
from simulator.workloads.trace import Trace

FORMATS: tuple[type[Trace], ...] = (
    CsvJobs, PhillyJobs, GavelJobs, AlibabaJobs, SwfJobs, HeliosJobs, SlurmJobs,
    BatsimJobs, KubernetesJobs, PaiTasks, PaiJobs, DlrmInstances, SpotJobs,
)  # fmt: skip
"""Of files that are as like one as another, the first."""

if TYPE_CHECKING:
    AnyTrace = Trace
else:
    AnyTrace = Annotated[reduce(or_, FORMATS), Field(discriminator="kind")]
