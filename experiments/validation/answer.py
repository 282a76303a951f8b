"""Answer of a validation in words: how far the simulation is from the record, and what it may be used for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.analysis.spans import span
from experiments.text import percent
from simulator.metrics.waits import Waits
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S

if TYPE_CHECKING:
    from experiments.validation.agreement import Agreement
    from experiments.validation.calibrating import HeldOut, Tried
    from experiments.validation.rules import Rule
    from simulator.statistics import Estimate

FEWEST_JOBS = 1000
"""With fewer jobs, one busy week decides what the means are."""

FEWEST_WAITING = 0.05
"""Where a smaller part of the jobs waits for over a minute, the waits say nothing of the rules of the cluster."""

NEAR = 1.25
"""Means that are at most this factor apart are told as near; a number of nodes is recommended up to here."""

FEW_REASONS = 0.8
"""Where a larger part of all waiting passed while there was room, no number of nodes explains the waits."""


@dataclass(frozen=True)
class Verdict:
    """The answer.

    Attributes
    ----------
    kind : "none" (nothing can be said), "recommended" (answers hold, within `factor`) or "refused".
    words : whole sentences.
    settings : ``KEY=VALUE`` each: today's machine; empty where none is recommended, or the documented one is right.
    factor : simulated waits are known to within this factor; infinite: not known.
    """

    kind: str
    words: str
    settings: tuple[str, ...] = ()
    factor: float = math.inf


def verdict(found: Agreement, held: HeldOut | None) -> Verdict:
    """The conclusion; from the jobs that were held out, where a machine was fitted, never from the fit.

    Parameters
    ----------
    held : None where no number of nodes was fitted.
    """
    if missing := no_verdict(found.recorded):
        return Verdict("none", f"No verdict: {missing}.")
    ratio = found.ratio.mean
    said = distance(ratio)
    if is_not_capacity(found) and (held is None or not held.rules):
        part = percent(found.recorded_room)
        return Verdict(
            "refused",
            f"{said} Capacity is not what limits: {part} of the recorded waiting passed while enough GPUs were free, so "
            "more nodes would not shorten these waits. Compare policies by their differences only.",
            factor=factor_of(found.ratio),
        )
    differences = "" if is_near(ratio) else " Compare policies by their differences only."
    if held is None:
        if is_near(ratio):
            return Verdict("recommended", f"{said}{_who(found)}", factor=factor_of(found.ratio))
        return Verdict("refused", f"{said}{differences} No size is recommended.", factor=factor_of(found.ratio))  # fmt: skip
    if math.isnan(held.ratio.mean):
        none = "No job of the second half waited"
        if math.isnan(held.recorded_s):
            none = "No start of the second half is recorded"
        return Verdict(
            "refused",
            f"{said}{differences} {none}, so nothing that was fitted on the first half can be judged, "
            "and no size is recommended.",
        )
    if not is_near(held.ratio.mean):
        return Verdict(
            "refused",
            f"{said}{differences} The simulation that was fitted on the first half ({_count(held.nodes)}{_rules(held)}) has "
            f"{_times(held.ratio.mean)} times the recorded mean wait on the second: {_what(held)} not explain the waits, and "
            "no size is recommended.",
            factor=factor_of(held.ratio),
        )
    if not held.settings:
        today = "The documented size is today's size."
    elif held.rules:
        today = (
            "Rules of the site explain the waits; for `size` and `whatif`, calibrated.toml has them"
            + (f" and {_count(held.nodes)}" if held.nodes != held.of else "")
            + " as today's cluster."
        )
    else:
        settings = " ".join(f"--set {setting}" for setting in held.settings)
        today = f"For `size` and `whatif`: {settings} as today's size."
    who = "" if held.rules else _who(found)
    return Verdict(
        "recommended", f"{said}{who}{differences} {today}", held.settings, factor_of(held.ratio)
    )


def _rules(held: HeldOut) -> str:
    count = len(held.rules)
    return f", {count} rule{'' if count == 1 else 's'}" if count else ""


def _what(held: HeldOut) -> str:
    return "they do" if held.rules else "the number of nodes does"


def is_not_capacity(found: Agreement) -> bool:
    """Whether waits do not agree, and passed with so much room that no number of nodes brings them."""
    return found.recorded_room > FEW_REASONS and not is_near(found.ratio.mean)


def no_verdict(recorded: Waits) -> str:
    """The reason why a log allows none; empty where it allows one."""
    if recorded.count < FEWEST_JOBS:
        return f"{recorded.count:,} jobs have a recorded wait, expected at least {FEWEST_JOBS:,}"
    if recorded.at_once > 1 - FEWEST_WAITING:
        part = f"{100 * (1 - recorded.at_once):.2g} %"
        return f"hardly any job waited ({part} of them for over a minute)"
    return ""


def distance(ratio: float) -> str:
    """A ratio of simulated to recorded mean waits as a sentence."""
    if is_near(ratio):
        return f"The mean wait agrees: it is {ratio:.2f} of the recorded one."
    if ratio < 1:
        return f"Waits are too short by {_of_whole(1 - ratio)}."
    return f"Waits are too long: {_times(ratio)} times the recorded ones."


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def _of_whole(part: float) -> str:
    return "half" if 0.44 <= part <= 0.56 else percent(part)


def _who(found: Agreement) -> str:
    """A sentence on whether the same jobs wait, which the mean does not say."""
    if math.isnan(found.waits) or found.waits >= 0.5:
        return ""
    return f" Which jobs wait does not agree (rank correlation {found.waits:.2f}): take answers on means alone."


def factor_of(ratio: Estimate) -> float:
    """The factor within which waits are known: of the ratio and the ends of its interval, that farthest from 1.

    Infinite where an end is 0 or not known.
    """
    ends = (ratio.mean, ratio.lower, ratio.upper)
    return max(max(x, 1 / x) for x in ends) if all(0 < x < math.inf for x in ends) else math.inf


def is_near(ratio: float) -> bool:
    """Whether a ratio of means is near enough for a recommendation; NaN is not."""
    return 1 / NEAR <= ratio <= NEAR


def _count(nodes: int) -> str:
    return f"{nodes:,} node{'' if nodes == 1 else 's'}"


# -- lines ---------------------------------------------------------------------------------


def lines(policy: str, found: Agreement) -> list[str]:
    """The facts of one policy, below each other; those of the record are `record_lines`."""
    ends = ""
    if math.isfinite(found.ratio.lower) and math.isfinite(found.ratio.upper):
        ends = f" ({found.ratio.lower:.2f} to {found.ratio.upper:.2f})"
    told = [f"simulated    {policy}: {_summary(found.simulated)}"]
    if not math.isnan(found.ratio.mean):
        told.append(
            f"agreement    {found.ratio.mean:.2f} of the recorded mean{ends}; rank correlation of waits "
            f"{_known(found.waits)}; correlation of the hourly queue {_known(found.queue)}, of use {_known(found.use)}"
        )
    return told


def record_lines(found: Agreement, policy: str) -> list[str]:
    """The facts of the record; ``policy`` is the one that was simulated."""
    one = found.recorded
    told = [
        f"recorded     {one.count:,} waits: {_summary(one)}, {percent(one.at_once)} at most a minute"
    ]
    if not math.isnan(found.recorded_room):
        other = "" if math.isnan(found.simulated_room) else f" ({policy}: {percent(found.simulated_room)})"  # fmt: skip
        told.append(
            f"not capacity {percent(found.recorded_room)} of the waiting passed while the GPUs that the job needed "
            f"were free{other}"
        )
    return told


def rule_lines(
    suggested: Sequence[Rule], tried: Sequence[Tried], skipped: Sequence[tuple[Rule, str]] = ()
) -> list[str]:
    """Rules that the record suggests, and with ``--calibrate`` how each did on the first half, or why it was not tried."""
    if not (tried or skipped):
        return [f"rule         {rule.words}; --calibrate tries it" for rule in suggested]
    return [
        f"rule         {each.rule.words}: on the first half "
        f"{each.before.ratio.mean:.2f} of the recorded mean becomes {each.after.ratio.mean:.2f}, rank correlation "
        f"{_known(each.before.waits)} becomes {_known(each.after.waits)}; {'kept' if each.kept else 'not kept'}"
        for each in tried
    ] + [f"rule         {rule.words}; not tried: {why}" for rule, why in skipped]


def held_line(held: HeldOut) -> str:
    """The fitted number of nodes and how it did."""
    waits = f"{time_of(held.simulated_s)} on the second (recorded {time_of(held.recorded_s)})"
    if math.isnan(held.recorded_s):
        waits = "no start of the second is recorded"
    return f"held out     with {held.nodes:,} of {held.of:,} nodes{_rules(held)}, fitted on the first half: {waits}"


def _summary(waits: Waits) -> str:
    told = zip(("mean", "median", "p95"), waits[1:4], strict=True)
    return ", ".join(f"{name} {time_of(value)}" for name, value in told)


def _known(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def time_of(seconds: float) -> str:
    """A span in words; in hours from an hour and a half on, as two waits side by side are read."""
    return f"{seconds / HOUR_S:.3g} h" if 1.5 * HOUR_S <= seconds < 48 * HOUR_S else span(seconds)
