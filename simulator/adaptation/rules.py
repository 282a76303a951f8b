"""The rules by which jobs and machines get what they lack, checked for themselves."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from simulator.files.keys import Config, KeyedError, NonNegative, Positive, at_key
from simulator.model.cluster import Cluster
from simulator.statistics import Streams
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.gpu_types import GpuTypeName
from simulator.workloads.networks.named import dnn_model_name, models_of_split
from simulator.workloads.weights import check_weights, in_words

ON_DEMAND = "on-demand"
"""Prices of ``data/gpu_types.csv``."""

ANDREAS: Literal["andreas"] = "andreas"
DATA_SHEET: Literal["data-sheet"] = "data-sheet"
"""Power as ANDREAS measured it, or that of ``data/gpu_types.csv``."""

DUE = ("min-2max", "min-3min", "min-max", "none")


class Rules(Config):
    """Rules that add what a policy requires."""

    models: Annotated[
        Literal["uniform", "trace"] | list[str] | list[NonNegative] | None,
        BeforeValidator(lambda given: list(given) if isinstance(given, tuple) else given),
    ] = Field(default=None, examples=[[20, 70, 10]])
    """a network for each job: shares of image, language and speech networks; drawn from all ten of Synergy (uniform); drawn from a list of names; or the file's own column, checked (trace)"""
    speedup: Literal["calibrated"] | None = None
    """jobs of fixed demand become elastic: a time for each node type and number of GPUs"""
    speedup_curve: Literal["calibrated"] | None = None
    """a speed-up curve s(k) for a rental pool: the concave hull of the same throughput, or of an elastic job's own times"""
    demand: Literal["stated", "cheapest", "efficient", "law:philly", "law:gavel"] | None = None
    """elastic jobs get a fixed number of GPUs: that of the users of jobs with tables of goodput (stated); of the cheapest configuration on time; of the one with the fewest GPU-seconds (efficient); or drawn as a trace's jobs ask for them"""
    sensitivity: Literal["synergy", "none"] | None = None
    """speeds depend on CPUs and memory as Synergy measured it (synergy), or they do not (none)"""
    gpu_type: GpuTypeName | None = Field(default=None, examples=["K80"])
    """GPU type that the file's durations belong to; left out: what the file says, else that of the cluster"""
    due: str | None = Field(default=None, examples=["factor:1.5,4"])
    """due dates: min-2max, min-3min or min-max (uniform from the least time of the job to that end); factor:A,B (A to B times the duration that the job came with); none"""
    weights: str | dict[str, NonNegative] | None = Field(
        default=None, examples=[{"research": 2.0, "product": 0.5}]
    )
    """cost of tardiness: printed (U[0.36, 1.08] an hour), released (U[0.003, 0.015] a second), none, a law of the cost of an hour, or that cost for each virtual cluster"""
    load: Positive | None = Field(default=None, examples=[0.8])
    """offered load: all gaps between submissions are stretched by one factor"""
    prices: NonNegative | str | None = Field(default=None, examples=["hierarchical"])
    """price of a GPU-hour, the catalogue of VMs whose GPU types have the prices, or on-demand: that of data/gpu_types.csv"""
    power: Literal["andreas", "data-sheet"] | None = None
    """power of nodes by GPUs in use: of V100 and T4 nodes, with the energy price of ANDREAS; or of the GPUs alone by data/gpu_types.csv"""

    @model_validator(mode="after")
    def _together(self) -> Self:
        for one, other in (
            ("speedup", "demand"),
            ("speedup", "speedup_curve"),
            ("demand", "speedup_curve"),
            *([("prices", "power")] if self.power == ANDREAS else []),
        ):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise KeyedError(other, f"given together with {one}, expected one of them")
        if self.sensitivity == "synergy" and self.speedup_curve:
            raise KeyedError(
                "sensitivity",
                "given together with speedup_curve, expected one of them: a rental pool has no CPUs "
                "and memory to give out",
            )
        if self.due is not None and self.due not in DUE:
            factors(self.due)
        with at_key("weights"):
            check_weights(self.weights)
        with at_key("models"):
            self._check_models()
        if isinstance(self.prices, str) and self.prices != ON_DEMAND:
            with at_key("prices"):
                read_catalog(self.prices)
        return self

    def _check_models(self) -> None:
        models = self.models
        if models is None or isinstance(models, str):
            return
        if models and isinstance(models[0], str):
            for name in models:
                dnn_model_name(str(name))
        else:
            models_of_split(0, [float(share) for share in models])

    def __str__(self) -> str:
        """``key=value`` of each rule that is given, for records."""
        given = [(name, value) for name, value in self if value is not None]
        return "; ".join(f"{name}={in_words(value)}" for name, value in given)


LARGEST_FACTOR = 1e12
"""Of due dates: larger ones are beyond any clock, and overflow where they are drawn."""


def factors(due: str) -> tuple[float, float]:
    """A and B of ``factor:A,B``."""
    name, _, rest = due.partition(":")
    try:
        low, high = (float(part) for part in rest.split(","))
    except ValueError:
        low, high = np.nan, np.nan
    if name != "factor" or not 1 <= low <= high <= LARGEST_FACTOR:
        known = ", ".join(DUE)
        raise KeyedError(
            "due",
            f"got {due!r}, expected {known} or 'factor:A,B' with 1 <= A <= B <= {LARGEST_FACTOR:g}",
        )
    return low, high


class Context(NamedTuple):
    """Data that a rule is applied with.

    Attributes
    ----------
    cluster : the machines that the jobs are to run on.
    rules, streams : all rules, and the streams of random numbers.
    own : the machines that the workload's times are of, where they are not ``cluster``.
    """

    cluster: Cluster
    rules: Rules
    streams: Streams
    own: Cluster | None = None
