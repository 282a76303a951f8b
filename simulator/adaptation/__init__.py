"""Adaptation of a workload to a policy by stated rules: jobs + machines + rules -> the same.

    rules = Rules(models=(20, 70, 10), speedup="calibrated", due="min-2max", weights="printed")
    workload, cluster = adapt(workload, cluster, rules, Streams(seed))

Pure: nothing given is changed. Random numbers come from streams of its own (``adapt-..``), so the
same seed adds the same to the same jobs, whatever the policy is. Each rule leaves a note.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simulator.adaptation.due_dates import due, load, weights
from simulator.adaptation.prices import priced
from simulator.adaptation.rules import (
    DUE,
    Context,
    Rules,
)
from simulator.adaptation.times import demand, sensitivity, speedup, speedup_curve, with_models
from simulator.files.keys import at_key
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.reshaping import on_nodes

__all__ = ["DUE", "Adapted", "Rules", "adapt"]


class Adapted(NamedTuple):
    """The jobs, and the machines that they run on."""

    workload: Workload
    cluster: Cluster


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

    Raises KeyedError: a rule that does not go with these jobs or machines; one line that names it.
    """
    cluster = priced(cluster, rules)
    workload = with_models(workload, rules, streams)
    if own is not None and own is not cluster and not cluster.is_pool:
        with at_key("demand" if rules.demand else "speedup"):
            workload = on_nodes(workload, own, cluster)
    given = Context(cluster, rules, streams, own)
    for key in _order(rules):
        if getattr(rules, key) is not None:
            with at_key(key):
                workload, note = _STEPS[key](workload, given)
                workload = workload.noted(f"adapt: {note}")
    return Adapted(workload, cluster)


_STEPS: dict[str, Callable[[Workload, Context], tuple[Workload, str]]] = {
    "speedup": speedup,
    "speedup_curve": speedup_curve,
    "demand": demand,
    "sensitivity": sensitivity,
    "due": due,
    "weights": weights,
    "load": load,
}
"""Rules in the order in which they are applied, behind prices and models."""


def _order(rules: Rules) -> list[str]:
    """The rules in their order; a due date by a factor is of the duration that the jobs came with."""
    keys = list(_STEPS)
    if rules.due is not None and rules.due not in DUE:
        keys.remove("due")
        keys.insert(0, "due")
    return keys
