"""The rules by which jobs and machines get what they lack, checked for themselves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from simulator.arguments import checked, is_number, short
from simulator.files.keys import KeyedError, at_key
from simulator.model.cluster import Cluster
from simulator.statistics import Streams
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.synergy import dnn_model_name, models_of_split
from simulator.workloads.weights import Weights, check_weights, in_words

CALIBRATED = "calibrated"
ON_DEMAND = "on-demand"
"""Prices of ``data/gpu_types.csv``."""

ANDREAS, DATA_SHEET = "andreas", "data-sheet"
"""Power as ANDREAS measured it, or that of ``data/gpu_types.csv``."""

DUE = ("min-2max", "min-3min", "min-max", "none")
DEMANDS = ("stated", "cheapest", "efficient", "law:philly", "law:gavel")


@checked("rules")
@dataclass(frozen=True)
class Rules:
    """Rules of what is added; None: nothing.

    Attributes
    ----------
    models : a network for each job. Three shares of image, language and speech (the networks of a
        task take turns, as in Synergy); ``"uniform"``: drawn from all ten; names: drawn from
        these; ``"trace"``: the workload's own, which must be known.
    speedup : ``"calibrated"``: jobs of fixed demand become elastic; those with tables of goodput have
        times on one node by them, at their users' batch sizes.
    speedup_curve : ``"calibrated"``: jobs get s(k) for a rental pool.
    demand : elastic jobs get a fixed number of GPUs: ``"stated"`` (tables of goodput), ``"cheapest"``, ``"efficient"``,
        ``"law:philly"``, ``"law:gavel"``.
    sensitivity : ``"synergy"``: rates depend on CPUs and memory by the job's network, at each number
        of GPUs where jobs are elastic; ``"none"``: they do not, whatever the networks are.
    gpu_type : the GPU type that the durations of jobs of fixed demand were taken on; where None what the
        jobs say (`Workload.gpu_type`), else the cluster's first.
    due : ``"min-2max"`` U[min, 2 max], ``"min-3min"`` U[min, 3 min], ``"min-max"`` U[min, max]
        after the submission, with the extremes of the job's times, after all other rules;
        ``"factor:A,B"``: U[A, B] times the duration that it came with (elastic: its least time),
        before all other rules; ``"none"``.
    weights : ``"printed"`` U[0.36, 1.08] an hour, ``"released"`` U[0.003, 0.015] a second,
        ``"none"``, a law of the cost of an hour of tardiness (``"exponential:0.7"``), or that cost
        for each virtual cluster by name.
    load : offered load (`simulator.workloads.load.OfferedLoad.packed`) that the gaps between
        submissions are stretched to.
    prices : of a GPU-hour, or the name of a catalogue whose GPU types give theirs; ``"on-demand"``: those of
        ``data/gpu_types.csv``.
    power : ``"andreas"``: power of a node by its GPUs in use, with the paper's energy price; ``"data-sheet"``:
        that of the GPUs alone by ``data/gpu_types.csv``, with no price.
    """

    models: tuple[float, ...] | tuple[str, ...] | str | None = None
    speedup: str | None = None
    speedup_curve: str | None = None
    demand: str | None = None
    sensitivity: str | None = None
    gpu_type: str | None = None
    due: str | None = None
    weights: Weights | None = None
    load: float | None = None
    prices: float | str | None = None
    power: str | None = None

    def __post_init__(self) -> None:
        for key, known in (
            ("speedup", (CALIBRATED,)),
            ("speedup_curve", (CALIBRATED,)),
            ("demand", DEMANDS),
            ("sensitivity", ("synergy", "none")),
            ("power", (ANDREAS, DATA_SHEET)),
        ):
            value = getattr(self, key)
            if value is not None and value not in known:
                expected = " or ".join(map(repr, known))
                raise KeyedError(key, f"got {value!r}, expected {expected}")
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
        if self.load is not None and not 0 < self.load < np.inf:
            raise KeyedError("load", f"got {self.load}, expected a number > 0")
        if self.due is not None and self.due not in DUE:
            factors(self.due)
        with at_key("weights"):
            check_weights(self.weights)
        if self.models is not None:
            check_models(self.models)
        if self.prices is not None:
            check_prices(self.prices)

    def __str__(self) -> str:
        """``key=value`` of each rule that is given, for records."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return "; ".join(f"{name}={in_words(value)}" for name, value in given if value is not None)


def check_models(models: tuple[float, ...] | tuple[str, ...] | str) -> None:
    """``Rules.models`` names known networks, or three shares; else `KeyedError`."""
    if isinstance(models, str):
        if models not in ("uniform", "trace"):
            raise KeyedError(
                "models",
                f"got {models!r}, expected three shares of image, language and speech, a list of "
                "names, 'uniform' or 'trace'",
            )
        return
    with at_key("models"):
        if models and all(isinstance(m, str) for m in models):
            for name in models:
                dnn_model_name(str(name))
        else:
            models_of_split(0, [float(m) for m in models if not isinstance(m, str)])


def check_prices(prices: float | str) -> None:
    """``Rules.prices`` is a price of a GPU-hour, or a catalogue that can be read; else `KeyedError`."""
    if isinstance(prices, str):
        if prices != ON_DEMAND:
            with at_key("prices"):
                read_catalog(prices)
    elif not (is_number(prices) and 0 <= prices < np.inf):
        raise KeyedError("prices", f"got {short(prices)}, expected a number >= 0, or a catalogue")


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
