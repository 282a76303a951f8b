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

from policies.synergy.mechanisms import Greedy, Mechanism, PlacementRule, Proportional, Tune
from policies.synergy.orderings import ORDERINGS, RELEASED, Ordering
from policies.synergy.policy import Synergy
from simulator import InputError

MECHANISMS = ("proportional", "greedy", "tune")
PLACEMENTS = ("packed", "consolidated", "spread")

__all__ = ["MECHANISMS", "ORDERINGS", "PLACEMENTS", "Synergy", "factory", "names", "synergy"]


def synergy(
    ordering: str,
    mechanism: str,
    *,
    placement: str = "packed",
    starvation_s: float = math.inf,
    released: bool = False,
) -> Synergy:
    """The policy of an ordering and a mechanism, by name.

    Parameters
    ----------
    ordering : fifo, srtf, las, ftf, drf or tetris.
    mechanism : proportional, greedy or tune.
    placement : of jobs of several GPUs; see `policies.synergy.mechanisms.Tune`.
    starvation_s : jobs that have not run for so long go first; infinite: never.
    released : as in the released simulator, where that leaves the paper.

    Raises
    ------
    InputError
        An unknown name; one line with the known ones.
    """
    rule = cast(PlacementRule, _known("placement", placement, PLACEMENTS))
    orderings = RELEASED if released else ORDERINGS
    order = orderings[_known("ordering", ordering, orderings)]
    return Synergy(order, _mechanism(mechanism, order, rule, released), starvation_s)


def _mechanism(name: str, order: Ordering, rule: PlacementRule, released: bool) -> Mechanism:
    match _known("mechanism", name, MECHANISMS):
        case "proportional":
            return Proportional(rule, released)
        case "greedy":
            return Greedy(rule, released)
        case _:
            return Tune(rule, released, sort_by_gpus=order.name == "las")


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

    def make(
        placement: str = "packed", starvation_s: float = math.inf, released: bool = False
    ) -> Synergy:
        return synergy(
            ordering,
            mechanism,
            placement=placement,
            starvation_s=starvation_s,
            released=released,
        )

    make.__name__ = name
    make.__doc__ = f"Synergy: {ordering} ordering, {mechanism} mechanism."
    return make


def _known(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(known)}"
    raise InputError(f"unknown {what} {name!r}; {hint}")
