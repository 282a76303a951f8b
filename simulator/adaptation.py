"""What a workload lacks for a policy, added by a stated rule: jobs + machines + rules -> the same.

    rules = Rules(models=(20, 70, 10), speedup="calibrated", due="min-2max", weights="printed")
    workload, cluster = adapt(workload, cluster, rules, Streams(seed))

Pure: nothing given is changed. Random numbers come from streams of its own (``adapt-..``), so the
same seed adds the same to the same jobs, whatever the policy is. Each rule leaves a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from simulator.catalog import Cluster, FloatArray, NodeType
from simulator.datafiles import read_table
from simulator.errors import InputError
from simulator.performance import FixedDuration, Sensitivity, SpeedupCurve, TimeTable
from simulator.statistics import Streams
from simulator.workload import Workload
from simulator.workloads.andreas import ENERGY_EUR_PER_KWH, PUE
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.load import offered_load
from simulator.workloads.reshaping import (
    curves_of_table,
    elastic,
    of_demand,
    on_nodes,
    with_curves,
)
from simulator.workloads.synergy import models_of_split, network_name, networks, with_sensitivity
from simulator.workloads.weights import Weights, check_weights, in_words, weights_per_s

CALIBRATED = "calibrated"
DUE = ("min-2max", "min-3min", "min-max", "none")
DEMANDS = ("cheapest", "efficient", "law:philly", "law:gavel")


class RuleError(InputError):
    """Something is wrong with one rule; the message is "KEY: TEXT"."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key}: {text}")
        self.key = key
        self.text = text


class Adapted(NamedTuple):
    """The jobs, and the machines that they run on."""

    workload: Workload
    cluster: Cluster


@dataclass(frozen=True)
class Rules:
    """What is to be added; None: nothing.

    Attributes
    ----------
    models : a network for each job. Three shares of image, language and speech (the networks of a
        task take turns, as in Synergy); ``"uniform"``: drawn from all ten; names: drawn from
        these; ``"trace"``: the workload's own, which must be known.
    speedup : ``"calibrated"``: jobs of fixed demand become elastic.
    speedup_curve : ``"calibrated"``: jobs get s(k) for a rental pool.
    demand : elastic jobs get a fixed number of GPUs: ``"cheapest"``, ``"efficient"``,
        ``"law:philly"``, ``"law:gavel"``.
    sensitivity : ``"synergy"``: rates depend on CPUs and memory by the job's network; ``"none"``:
        they do not, whatever the networks are.
    gpu_type : the GPU type that the durations of jobs of fixed demand were taken on; the cluster's
        first where None.
    due : ``"min-2max"`` U[min, 2 max], ``"min-3min"`` U[min, 3 min], ``"min-max"`` U[min, max]
        after the submission, with the extremes of the job's times, after all other rules;
        ``"factor:A,B"``: U[A, B] times the duration that it came with (elastic: its least time),
        before all other rules; ``"none"``.
    weights : ``"printed"`` U[0.36, 1.08] an hour, ``"released"`` U[0.003, 0.015] a second,
        ``"none"``, a law of the cost of an hour of tardiness (``"exponential:0.7"``), or that cost
        for each virtual cluster by name.
    load : offered load (`simulator.workloads.load.OfferedLoad.packed`) that the gaps between
        submissions are stretched to.
    prices : of a GPU-hour, or the name of a catalogue whose GPU types give theirs.
    power : ``"andreas"``: power of a node by its GPUs in use, with the paper's energy price.
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
            ("power", ("andreas",)),
        ):
            value = getattr(self, key)
            if value is not None and value not in known:
                raise RuleError(key, f"got {value!r}, expected {_one_of(known)}")
        for one, other in (
            ("speedup", "demand"),
            ("speedup", "speedup_curve"),
            ("demand", "speedup_curve"),
            ("prices", "power"),
        ):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise RuleError(other, f"given together with {one}, expected one of them")
        if self.sensitivity == "synergy" and (self.speedup or self.speedup_curve):
            other = "speedup" if self.speedup else "speedup_curve"
            raise RuleError(
                "sensitivity",
                f"given together with {other}, expected one of them: sensitivity to CPUs and "
                "memory is known of fixed numbers of GPUs",
            )
        if self.gpu_type is not None and not (self.speedup or self.speedup_curve):
            raise RuleError("gpu_type", "given without speedup or speedup_curve, expected both")
        if self.load is not None and not 0 < self.load < np.inf:
            raise RuleError("load", f"got {self.load}, expected a number > 0")
        _check_due(self.due)
        try:
            check_weights(self.weights)
        except InputError as error:
            raise RuleError("weights", str(error)) from None
        if self.models is not None:
            _check_models(self.models)

    def __str__(self) -> str:
        """``key=value`` of each rule that is given, for records."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return "; ".join(f"{name}={in_words(value)}" for name, value in given if value is not None)


def adapt(
    workload: Workload,
    cluster: Cluster,
    rules: Rules,
    streams: Streams,
    own: Cluster | None = None,
) -> Adapted:
    """Apply the rules, in the order in which they build on each other.

    Machines get prices; jobs their networks, then their times, due dates, weights, and at last
    the load.

    Parameters
    ----------
    own : the machines that the workload's times are of, where they are not ``cluster``.

    Raises
    ------
    RuleError
        A rule that does not go with these jobs or machines; one line that names it.
    """
    cluster = _priced(cluster, rules)
    workload = _with_models(_with_own_rows(workload), rules, streams)
    if own is not None and own is not cluster and not cluster.is_pool:
        with _of("demand" if rules.demand else "speedup"):
            workload = on_nodes(workload, own, cluster)
    for key in _order(rules):
        step = _STEPS[key]
        if getattr(rules, key) is not None:
            with _of(key):
                workload, note = step(workload, cluster, rules, streams, own)
                workload = _noted(workload, note)
    return Adapted(workload, cluster)


def _with_own_rows(workload: Workload) -> Workload:
    """The first jobs of more (`Workload.head`), which have the times of all, with their own alone."""
    performance, count = workload.performance, len(workload)
    if not isinstance(performance, FixedDuration | TimeTable | SpeedupCurve | Sensitivity):
        return workload
    if len(performance) == count:
        return workload
    rows: dict[str, Any] = {
        field.name: getattr(performance, field.name)[:count]
        for field in fields(performance)
        if isinstance(getattr(performance, field.name), np.ndarray)
    }
    return replace(workload, performance=replace(performance, **rows))


# -- networks --------------------------------------------------------------------------------


def _check_models(models: tuple[float, ...] | tuple[str, ...] | str) -> None:
    if isinstance(models, str):
        if models not in ("uniform", "trace"):
            raise RuleError(
                "models",
                f"got {models!r}, expected three shares of image, language and speech, a list of "
                "names, 'uniform' or 'trace'",
            )
        return
    with _of("models"):
        if models and all(isinstance(m, str) for m in models):
            for name in models:
                network_name(str(name))
        else:
            models_of_split(0, [float(m) for m in models if not isinstance(m, str)])


def _with_models(workload: Workload, rules: Rules, streams: Streams) -> Workload:
    wanted = rules.models
    if wanted is None:
        return workload
    count, rng = len(workload), streams.generator("adapt-models")
    with _of("models"):
        if wanted == "trace":
            unknown = [j for j, name in enumerate(workload.model) if not name]
            if unknown:
                raise InputError(
                    f"job {workload.job_id[unknown[0]]!r} has no model, expected one for each job"
                )
            return workload
        if wanted == "uniform":
            wanted = tuple(networks())
        if isinstance(wanted[0], str):
            names = [network_name(str(name)) for name in wanted]
            model = [names[i] for i in rng.integers(len(names), size=count).tolist()]
            how = f"drawn from {', '.join(names)}"
        else:
            shares = [float(share) for share in wanted]
            model = models_of_split(count, shares)
            how = "in shares of image, language and speech " + ", ".join(f"{s:g}" for s in shares)
    return _noted(replace(workload, model=model), f"models are {how}")


# -- times -----------------------------------------------------------------------------------


def _speedup(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    if cluster.is_pool:
        raise InputError("the cluster is a rental pool, expected speedup_curve there")
    _need_models(workload)
    gpu_type = rules.gpu_type or cluster.node_types[0].gpu_type
    wide = int((workload.num_gpus > cluster.max_gpus_per_node).sum())
    made = elastic(workload, cluster, gpu_type)
    more = f"; {wide} of them ask for more GPUs than a node has" if wide else ""
    return made, (
        f"jobs are elastic by calibrated throughput; their own demand on {gpu_type} takes as long "
        f"as in the trace{more}"
    )


def _speedup_curve(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    if not cluster.is_pool:
        raise InputError("the cluster has nodes, expected a rental pool (or speedup instead)")
    if isinstance(workload.performance, TimeTable):
        if own is None:
            raise InputError("the jobs have times on nodes, expected the machines of these times")
        return curves_of_table(workload, own), "s(k) is the concave hull of each job's own times"
    if isinstance(workload.performance, SpeedupCurve):
        raise InputError("the jobs have curves already, expected jobs without")
    _need_models(workload)
    gpu_type = rules.gpu_type or cluster.node_types[0].gpu_type
    made = with_curves(workload, gpu_type)
    return made, f"s(k) is the concave hull of calibrated throughput on {gpu_type}"


def _demand(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    if cluster.is_pool:
        raise InputError("the cluster is a rental pool, expected nodes for fixed demands")
    assert rules.demand is not None
    return of_demand(workload, cluster, rules.demand, streams.generator("adapt-demand"))


def _sensitivity(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    performance = workload.performance
    if rules.sensitivity == "none":
        if isinstance(performance, Sensitivity):
            plain = FixedDuration(performance.duration_s, performance.num_gpus)
            workload = replace(workload, performance=plain)
        return workload, "rates do not depend on CPUs and memory"
    if not isinstance(performance, FixedDuration):
        raise InputError("the jobs are elastic, expected fixed demands (key demand)")
    _need_models(workload)
    return with_sensitivity(workload, cluster), "rates depend on CPUs and memory as in Synergy"


def _need_models(workload: Workload) -> None:
    if not all(workload.model):
        job = next(j for j, name in enumerate(workload.model) if not name)
        raise InputError(
            f"job {workload.job_id[job]!r} has no model, expected one for each job (key models)"
        )


# -- due dates and weights -------------------------------------------------------------------


def _check_due(due: str | None) -> None:
    if due is not None and due not in DUE:
        _factors(due)


def _factors(due: str) -> tuple[float, float]:
    """A and B of ``factor:A,B``."""
    name, _, rest = due.partition(":")
    try:
        low, high = (float(part) for part in rest.split(","))
    except ValueError:
        low, high = np.nan, np.nan
    if name != "factor" or not 1 <= low <= high < np.inf:
        known = ", ".join(DUE)
        raise RuleError("due", f"got {due!r}, expected {known} or 'factor:A,B' with 1 <= A <= B")
    return low, high


def _due(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    law = rules.due
    assert law is not None
    if law == "none":
        return replace(workload, due_s=np.full(len(workload), np.inf)), "no due dates"
    least, most = _extremes(workload, cluster)
    low, high = least, {"min-2max": 2 * most, "min-3min": 3 * least, "min-max": most}.get(law, most)
    if law not in DUE:
        a, b = _factors(law)
        low, high = a * least, b * least
    slack_s = streams.generator("adapt-due").uniform(low, high)
    return replace(workload, due_s=workload.submit_s + slack_s), f"due dates by the law {law!r}"


def _extremes(workload: Workload, cluster: Cluster) -> tuple[FloatArray, FloatArray]:
    """``(J,)`` least and longest time of each job over its configurations."""
    performance = workload.performance
    if isinstance(performance, FixedDuration | Sensitivity):
        return performance.duration_s, performance.duration_s
    jobs = np.arange(len(workload), dtype=np.int64)
    if isinstance(performance, SpeedupCurve):
        most = np.array([float(s(1e6)) for s in performance.curves])
        return performance.duration_s / most[performance.curve_of], performance.duration_s
    table = performance.table_s(jobs, cluster).reshape(len(workload), -1)
    return table.min(axis=1), np.where(np.isfinite(table), table, 0.0).max(axis=1)


def _weights(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    assert rules.weights is not None
    rng = streams.generator("adapt-weights")
    try:
        weight, note = weights_per_s(rules.weights, workload.vc, len(workload), rng)
    except InputError as error:
        raise RuleError("weights", str(error)) from None
    return replace(workload, weight_per_s=weight), note


# -- load, prices ----------------------------------------------------------------------------


def _load(
    workload: Workload, cluster: Cluster, rules: Rules, streams: Streams, own: Cluster | None
) -> tuple[Workload, str]:
    assert rules.load is not None
    before = offered_load(workload, cluster).packed
    stretch = before / rules.load
    first = workload.submit_s[0]
    submit_s = first + (workload.submit_s - first) * stretch
    due_s = submit_s + (workload.due_s - workload.submit_s)
    note = f"gaps between submissions times {stretch:.4g}: offered load {rules.load:g}"
    return replace(workload, submit_s=submit_s, due_s=due_s), f"{note} instead of {before:.4g}"


def _priced(cluster: Cluster, rules: Rules) -> Cluster:
    """The machines with prices or power."""
    if rules.prices is not None:
        with _of("prices"):
            types = tuple(_type_with_price(t, rules.prices) for t in cluster.node_types)
        return replace(cluster, node_types=types)
    if rules.power is not None:
        with _of("power"):
            types = tuple(_type_with_power(t) for t in cluster.node_types)
        return replace(
            cluster,
            node_types=types,
            currency="EUR",
            energy_price_per_kwh=ENERGY_EUR_PER_KWH,
            pue=PUE,
        )
    return cluster


def _type_with_price(node_type: NodeType, prices: float | str) -> NodeType:
    """Prices are by the GPU: those of a catalogue by its node type of as many GPUs, or nearest."""
    if isinstance(prices, str):
        same = [t for t in read_catalog(prices) if t.gpu_type == node_type.gpu_type]
        if not same:
            known = ", ".join(dict.fromkeys(t.gpu_type for t in read_catalog(prices)))
            raise InputError(
                f"catalogue {prices!r} has no GPU type {node_type.gpu_type!r}, expected one of "
                f"{known}, or a price of a GPU-hour"
            )
        nearest = min(same, key=lambda t: (abs(t.gpus - node_type.gpus), t.price_per_hour))
        by_gpu = nearest.price_per_hour / nearest.gpus
    else:
        by_gpu = float(prices)
        if not 0 <= by_gpu < np.inf:
            raise InputError(f"got {prices}, expected a number >= 0")
    if np.isinf(node_type.gpus):
        return replace(node_type, price_per_gpu_hour=by_gpu)
    return replace(node_type, price_per_hour=by_gpu * node_type.gpus)


def _type_with_power(node_type: NodeType) -> NodeType:
    """ANDREAS's straight line of power over GPUs in use; a node without a job draws nothing."""
    table = read_table("andreas_power.csv")
    own = table[table["gpu_type"] == node_type.gpu_type]
    if own.empty or np.isinf(node_type.gpus):
        known = ", ".join(dict.fromkeys(table["gpu_type"]))
        raise InputError(
            f"GPU type {node_type.gpu_type!r} has no power figures, expected nodes of {known}"
        )
    slope, base = np.polyfit(own["gpus_in_use"].to_numpy(float), own["watt"].to_numpy(float), 1)
    watt = [0.0, *(round(base + slope * g, 6) for g in range(1, int(node_type.gpus) + 1))]
    return replace(node_type, power_w=tuple(float(w) for w in watt))


# -- helpers ---------------------------------------------------------------------------------

_STEPS: dict[
    str,
    Callable[[Workload, Cluster, Rules, Streams, Cluster | None], tuple[Workload, str]],
] = {
    "speedup": _speedup,
    "speedup_curve": _speedup_curve,
    "demand": _demand,
    "sensitivity": _sensitivity,
    "due": _due,
    "weights": _weights,
    "load": _load,
}
"""Rules in the order in which they are applied, behind prices and models."""


def _order(rules: Rules) -> list[str]:
    """The rules in their order; a due date by a factor is of the duration that the jobs came with."""
    keys = list(_STEPS)
    if rules.due is not None and rules.due not in DUE:
        keys.remove("due")
        keys.insert(0, "due")
    return keys


class _of:
    """An `InputError` in the block is of this rule, unless it names one already."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and not isinstance(error, RuleError):
            raise RuleError(self._key, str(error)) from None


def _noted(workload: Workload, note: str) -> Workload:
    return replace(workload, notes=(*workload.notes, f"adapt: {note}"))


def _one_of(known: tuple[str, ...]) -> str:
    return " or ".join(repr(name) for name in known)
