"""Earliest due date first, each job as wide as it goes (the EDF that ElasticFlow compares with, ASPLOS 2023).

Jobs in order of due dates; each takes the most GPUs that are free and that its performance model knows a time for, even
where fewer would be faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from policies.goodput.emptiest_nodes import capacities, divided
from policies.goodput.times import ELASTIC, whole_times_s
from policies.registry.registration import register
from simulator.model.contract import Decision, View
from simulator.model.ranks import ranks
from simulator.model.tolerances import INSTANT_S


@register("edf-elastic", requires=(*ELASTIC, "due"), paper="Gu et al. (ElasticFlow), ASPLOS 2023")
class EdfElastic:
    """Earliest due date first, each job on the most GPUs that are free (ElasticFlow's EDF)."""

    def decide(self, view: View) -> Decision:
        """Divide the GPUs anew; a job whose number of GPUs stays keeps its nodes."""
        capacity = capacities(view)
        if not capacity:  # all nodes are down
            return Decision()
        total = sum(capacity.values())
        known = np.isfinite(whole_times_s(view, total, max(capacity.values())))
        order = np.argsort(ranks(view.due_s, INSTANT_S), kind="stable").tolist()
        widths = widest_first([np.flatnonzero(known[k]).tolist() for k in order], total)
        gpus = {int(view.jobs[k]): width for k, width in zip(order, widths, strict=True)}
        return divided(view, gpus, capacity)


def widest_first(widths: Iterable[Sequence[int]], free: int) -> list[int]:
    """GPUs of each job, in the given order: the largest of its widths that is free; 0: none."""
    gpus = []
    for mine in widths:
        gpus.append(max((width for width in mine if width <= free), default=0))
        free -= gpus[-1]
    return gpus
