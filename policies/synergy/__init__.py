"""Synergy: an ordering (who goes first) times a mechanism (who gets which CPUs and memory).

    synergy("srtf", "tune")
    make_policy("srtf+tune", placement="consolidated")

Mohan, Phanishayee, Kulkarni and Chidambaram, "Synergy: Resource Sensitive DNN Scheduling in
Multi-Tenant Clusters".

Options
-------
placement : "packed" splits a job over servers before it gives up its demand; "consolidated" never splits a
    job that one server has the GPUs for; "spread" puts each GPU where most are free.
starvation_s : jobs that have not run for so long go first; infinite: never.
released : decisions as in the released simulator, where that leaves the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import cast

from policies.registry.making import make_policy
from policies.registry.registration import register
from policies.synergy.mechanisms import PLACEMENT, Greedy, PlacementRule, Proportional, Tune
from policies.synergy.orderings import ORDERINGS, RELEASED
from policies.synergy.policy import Synergy
from policies.synergy.servers import Mechanism
from policies.synergy.static import Static
from simulator import InputError
from simulator.errors import meant

MECHANISMS = ("proportional", "greedy", "tune", "opt", "static")
PLACEMENTS = ("packed", "consolidated", "spread")

__all__ = ["MECHANISMS", "ORDERINGS", "PLACEMENTS", "Synergy", "synergy"]


def synergy(ordering: str, mechanism: str, **options: float | int | str | bool) -> Synergy:
    """The policy of an ordering and a mechanism, by name; options as of the functions below.

    Parameters
    ----------
    ordering : one of `ORDERINGS`.
    mechanism : one of `MECHANISMS`.
    options : ``placement`` of jobs of several GPUs (`policies.synergy.mechanisms.Tune`); ``starvation_s``, jobs
        that have not run for so long go first (infinite: never); ``released``, as in the released simulator,
        where that leaves the paper; and those of the mechanism.

    Raises InputError: an unknown name; one line with the known ones.
    """
    return cast(Synergy, make_policy(f"{ordering}+{mechanism}", **options))


_REQUIRES = ("servers", "fixed-demand", "one-kind")


@register(
    "+proportional", requires=_REQUIRES, first=ORDERINGS, paper="Mohan et al. (Synergy), OSDI 2022"
)
def proportional(
    ordering: str,
    placement: str = PLACEMENT,
    starvation_s: float = math.inf,
    released: bool = False,
) -> Synergy:
    """Synergy: any ordering, CPUs and memory in proportion to the GPUs."""
    rule = _placement(placement)
    return _composed(ordering, Proportional(rule, released), starvation_s, released)


@register(
    "+greedy",
    requires=(*_REQUIRES, "sensitivity"),
    first=ORDERINGS,
    paper="Mohan et al. (Synergy), OSDI 2022",
)
def greedy(
    ordering: str,
    placement: str = PLACEMENT,
    starvation_s: float = math.inf,
    released: bool = False,
) -> Synergy:
    """Synergy: any ordering, whole demands by first fit, jobs that do not fit are passed over."""
    runnable_only = released and ordering == "las"
    made = Greedy(_placement(placement), released, runnable_only=runnable_only)
    return _composed(ordering, made, starvation_s, released)


@register(
    "+tune",
    requires=(*_REQUIRES, "sensitivity"),
    first=ORDERINGS,
    paper="Mohan et al. (Synergy), OSDI 2022",
)
def tune(
    ordering: str,
    placement: str = PLACEMENT,
    starvation_s: float = math.inf,
    released: bool = False,
    sort: str = "demand",
    regrant: bool = False,
) -> Synergy:
    """Synergy: any ordering, demands tuned down to the proportional share where they do not fit.

    Parameters
    ----------
    sort : jobs by ``"demand"`` (the paper), or by ``"gpus"`` alone and then priority.
    regrant : jobs at their proportional share get their demand at the end, where it still fits. Not the paper's.
    """
    by_gpus = _known("sort", sort, ("demand", "gpus")) == "gpus"
    by_gpus = by_gpus or (released and ordering == "las")
    made = Tune(_placement(placement), released, by_gpus, regrant)
    return _composed(ordering, made, starvation_s, released)


@register(
    "+opt",
    requires=(*_REQUIRES, "sensitivity"),
    first=ORDERINGS,
    paper="Mohan et al. (Synergy), OSDI 2022",
)
def opt(
    ordering: str,
    solver: str = "auto",
    whole_gpus: bool = False,
    starvation_s: float = math.inf,
    released: bool = False,
) -> Synergy:
    """Synergy: any ordering, the bound on throughput by ILP and LP.

    Parameters
    ----------
    solver : "auto" (Gurobi with a full licence, else HiGHS), "highs", "gurobi".
    whole_gpus : shares of the linear program are rounded to whole GPUs; else a bound, which no cluster can carry out.
    """
    from policies.synergy.opt import Opt  # a solver takes a while to load

    return _composed(ordering, Opt(solver, whole_gpus), starvation_s, released)


@register(
    "+static",
    requires=(*_REQUIRES, "one-type", "sensitivity"),
    first=ORDERINGS,
    paper="Mohan et al. (Synergy), OSDI 2022",
)
def static(
    ordering: str,
    starvation_s: float = math.inf,
    released: bool = False,
) -> Synergy:
    """Synergy: any ordering, whole demands, held from start to end, as big-data schedulers do."""
    return _composed(ordering, Static(align=ordering == "tetris"), starvation_s, released)


def _composed(ordering: str, mechanism: Mechanism, starvation_s: float, released: bool) -> Synergy:
    orderings = RELEASED if released else ORDERINGS
    order = orderings[_known("ordering", ordering, orderings)]
    full_speed = released and not isinstance(mechanism, Proportional)
    return Synergy(order, mechanism, starvation_s, ranks_at_full_speed=full_speed)


def _placement(name: str) -> PlacementRule:
    return cast(PlacementRule, _known("placement", name, PLACEMENTS))


def _known(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name in known:
        return name
    raise InputError(f"unknown {what} {name!r}; {meant(name, known)}")
