"""Synergy: an ordering (who goes first) times a mechanism (who gets which CPUs and memory).

    synergy("srtf", "tune")
    make_policy("srtf+tune", placement="consolidated")

Mohan, Phanishayee, Kulkarni and Chidambaram, "Synergy: Resource Sensitive DNN Scheduling in
Multi-Tenant Clusters".
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from typing import cast

from policies.synergy.mechanisms import Greedy, Proportional, Tune
from policies.synergy.orderings import ORDERINGS, RELEASED
from policies.synergy.placing import PLACEMENT, PlacementRule
from policies.synergy.policy import Synergy
from policies.synergy.room import Mechanism
from policies.synergy.static import Static
from simulator import InputError

MECHANISMS = ("proportional", "greedy", "tune", "opt", "static")
SUMMARIES = {
    "proportional": "CPUs and memory in proportion to the GPUs",
    "greedy": "whole demands by first fit, jobs that do not fit are passed over",
    "tune": "demands tuned down to the proportional share where they do not fit",
    "opt": "the bound on throughput by ILP and LP",
    "static": "whole demands, held from start to end, as big-data schedulers do",
}
"""What each mechanism does."""

PLACEMENTS = ("packed", "consolidated", "spread")

__all__ = ["MECHANISMS", "ORDERINGS", "PLACEMENTS", "Synergy", "factory", "names", "synergy"]


def synergy(
    ordering: str,
    mechanism: str,
    *,
    placement: str = PLACEMENT,
    starvation_s: float = math.inf,
    released: bool = False,
    sort: str = "demand",
    regrant: bool = False,
    solver: str = "auto",
    whole_gpus: bool = False,
) -> Synergy:
    """The policy of an ordering and a mechanism, by name.

    Parameters
    ----------
    ordering : fifo, srtf, las, ftf, drf or tetris.
    mechanism : proportional, greedy, tune, opt or static.
    placement : of jobs of several GPUs; see `policies.synergy.mechanisms.Tune`.
    starvation_s : jobs that have not run for so long go first; infinite: never.
    released : as in the released simulator, where that leaves the paper.
    sort : tune only: jobs by ``"demand"`` (the paper), or by ``"gpus"`` alone and then priority.
    regrant : tune only: see `policies.synergy.mechanisms.Tune`.
    solver, whole_gpus : opt only: see `policies.synergy.opt.Opt`.

    Raises
    ------
    InputError
        An unknown name; one line with the known ones.
    """
    rule = cast(PlacementRule, _known("placement", placement, PLACEMENTS))
    _known("mechanism", mechanism, MECHANISMS)
    by_gpus = _known("sort", sort, ("demand", "gpus")) == "gpus"
    orderings = RELEASED if released else ORDERINGS
    order = orderings[_known("ordering", ordering, orderings)]
    made: Mechanism
    if mechanism == "proportional":
        made = Proportional(rule, released)
    elif mechanism == "greedy":
        made = Greedy(rule, released, runnable_only=released and ordering == "las")
    elif mechanism == "tune":
        made = Tune(rule, released, by_gpus or (released and ordering == "las"), regrant)
    elif mechanism == "opt":
        made = _opt(solver, whole_gpus)
    else:
        made = Static(align=ordering == "tetris")
    return Synergy(
        order,
        made,
        starvation_s,
        ranks_at_full_speed=released and mechanism != "proportional",
    )


def _opt(solver: str, whole_gpus: bool) -> Mechanism:
    from policies.synergy.opt import Opt  # a solver takes a while to load

    return Opt(solver, whole_gpus)


def names() -> list[str]:
    """Every composition: ``"fifo+proportional"``, .."""
    return [f"{o}+{m}" for o in ORDERINGS for m in MECHANISMS]


def factory(name: str) -> Callable[..., Synergy]:
    """The factory of a composition such as ``"srtf+tune"``, for the registry.

    Raises
    ------
    InputError
        An unknown ordering or mechanism.
    """
    ordering, _, mechanism = name.partition("+")
    _known("ordering", ordering, ORDERINGS)
    _known("mechanism", mechanism, MECHANISMS)

    return _FACTORIES[mechanism](ordering, name)


def _plain(ordering: str, name: str) -> Callable[..., Synergy]:
    mechanism = name.partition("+")[2]

    def make(
        placement: str = PLACEMENT, starvation_s: float = math.inf, released: bool = False
    ) -> Synergy:
        return synergy(
            ordering,
            mechanism,
            placement=placement,
            starvation_s=starvation_s,
            released=released,
        )

    return _named(make, name)


def _tune(ordering: str, name: str) -> Callable[..., Synergy]:
    def make(
        placement: str = PLACEMENT,
        starvation_s: float = math.inf,
        released: bool = False,
        sort: str = "demand",
        regrant: bool = False,
    ) -> Synergy:
        return synergy(
            ordering,
            "tune",
            placement=placement,
            starvation_s=starvation_s,
            released=released,
            sort=sort,
            regrant=regrant,
        )

    return _named(make, name)


def _bound(ordering: str, name: str) -> Callable[..., Synergy]:
    def make(
        solver: str = "auto",
        whole_gpus: bool = False,
        starvation_s: float = math.inf,
        released: bool = False,
    ) -> Synergy:
        return synergy(
            ordering,
            "opt",
            solver=solver,
            whole_gpus=whole_gpus,
            starvation_s=starvation_s,
            released=released,
        )

    return _named(make, name)


_FACTORIES: dict[str, Callable[[str, str], Callable[..., Synergy]]] = {
    "proportional": _plain,
    "greedy": _plain,
    "static": _plain,
    "tune": _tune,
    "opt": _bound,
}


def _named(make: Callable[..., Synergy], name: str) -> Callable[..., Synergy]:
    ordering, _, mechanism = name.partition("+")
    make.__name__ = name
    make.__doc__ = f"Synergy: {ordering.upper()} ordering, {SUMMARIES[mechanism]}."
    return make


def _known(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(known)}"
    raise InputError(f"unknown {what} {name!r}; {hint}")
