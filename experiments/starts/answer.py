"""When a job will start: the median, an interval with its measured coverage, and what holds the job."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from experiments.analysis.spans import span
from experiments.starts.forest import FIT_ON, QUANTILES, Forest, WaitModel
from experiments.starts.history import History, Request
from experiments.starts.measured import (
    BLOCK,
    CALIBRATED_ON,
    MEASURED_ON,
    NOMINAL,
    Measured,
    interval,
    measure,
)
from experiments.starts.plain import PlainRule
from experiments.starts.snapshot import INPUTS, snapshots, state_at
from experiments.text import percent
from simulator.errors import InputError
from simulator.metrics.waits import AT_ONCE_S
from simulator.model.cluster import FloatArray
from simulator.model.tolerances import SUMS

FEWEST = 1_000
"""Jobs whose start is known; of fewer nothing is promised."""
LEAST_COVERAGE = 0.85
LEAST_QUEUE = 0.01
"""Part of the jobs that wait; where fewer do, a log has no queue."""
OPTIONS = {"--time": "a time limit", "--user": "a user", "--partition": "a partition"}
"""What the jobs have where a request may have these options."""

Told = Callable[[int, int], None]


@dataclass(frozen=True)
class StartAnswer:
    """The start of a job that is submitted at a time.

    Attributes
    ----------
    request : what it asks for.
    median_s, low_s, high_s : s from then until its start: the median, and an interval of 90 %.
    state : `INPUTS` at that time.
    is_forest : whether the forest says it; else the plain rule.
    unsaid : options that are not given, by name, and whether the jobs of the log tell them.
    measured, other : that rule, and the other one, on the last jobs of the log.
    partitions : that the log names; of which the free GPUs are, it does not say.
    """

    request: Request
    median_s: float
    low_s: float
    high_s: float
    state: dict[str, float]
    is_forest: bool
    unsaid: dict[str, bool]
    measured: Measured
    other: Measured
    partitions: int = 1

    @property
    def reason(self) -> str:
        """The reason that holds the job when it is submitted, a clause."""
        free, gpus = self.state["free"], self.request.gpus
        waiting, before = int(self.state["waiting"]), _jobs(int(self.state["waiting"]))
        if free < gpus - SUMS:
            end_s = self.state["enough_free_after_s"]
            after = "" if end_s <= 0 else f"; the running jobs leave enough after {span(end_s)} at the latest, by the times that they asked for"  # fmt: skip
            return f"too few GPUs are free: {free:g} of the {gpus:g} that it needs{after}"
        if self.partitions > 1:
            return (
                f"{free:g} GPUs are free, in {self.partitions} partitions together: whether the job may use them, the log does "
                f"not say; {before if waiting else 'no job'} came before it"
            )
        if waiting:
            return f"{free:g} GPUs are free, so there is room; {before} came before it"
        return f"nothing: {free:g} GPUs are free and no job waits"


def answer(history: History, request: Request, at_s: float | None, told: Told) -> StartAnswer:
    """When a job would start.

    Parameters
    ----------
    at_s : when it is submitted, s on the clock of the log; None: just after the last job.
    told : called with parts of the work that are done, and all.

    Raises
    ------
    InputError
        Fewer than `FEWEST` jobs whose start was known then, a log without a queue, a time before or after it, or no
        rule whose intervals held.
    """
    last_s = float(history.submit_s[-1])
    when_s = last_s + 1.0 if at_s is None else at_s
    if not history.submit_s[0] <= when_s <= last_s + 1.0:
        raise InputError(
            f"--at: got {when_s:g} s, expected a time from the first job at {history.submit_s[0]:g} s to the last one at "
            f"{last_s:g} s: the queue is not known at another"
        )
    past = _until(history, when_s)
    known = past.known_at(when_s)
    if len(known) < FEWEST:
        raise InputError(
            f"schedlab when: {len(known)} jobs had started by then, expected at least {FEWEST:,}: of fewer no interval can be measured"
        )
    waits = float((past.wait_s[known] > AT_ONCE_S).mean())
    if waits < LEAST_QUEUE:
        raise InputError(
            f"schedlab when: {percent(waits, 1)} of the jobs waited for more than a minute, expected a log with a queue: a job starts at once"
        )
    if request.gpus > past.gpus[known].max():
        raise InputError(
            f"--gpus: got {request.gpus:g}, expected at most {past.gpus[known].max():g}, as the largest job of the log that had started"
        )
    seen = _seen(past, request, when_s)
    rows = 2 * FIT_ON + MEASURED_ON + CALIBRATED_ON
    inputs = snapshots(past, known.item(max(0, len(known) - rows)))
    rules: tuple[WaitModel, WaitModel] = Forest(past, inputs), PlainRule(past, inputs)
    forest, plain = (
        measure(past, inputs, rule, when_s, functools.partial(_told_of, told, k))
        for k, rule in enumerate(rules)
    )
    if len(plain.jobs) < BLOCK:
        raise InputError(
            f"schedlab when: intervals could be measured on {len(plain.jobs)} jobs, expected {BLOCK} at least: too few starts were "
            "known when the others came"
        )
    is_forest = forest.coverage >= LEAST_COVERAGE and forest.loss <= plain.loss
    measured, other = (forest, plain) if is_forest else (plain, forest)
    if not measured.coverage >= LEAST_COVERAGE:
        raise InputError(
            f"schedlab when: the 90 % intervals held for {percent(forest.coverage)} of the last jobs by the forest and for {percent(plain.coverage)} by the "
            f"plain rule, expected {percent(LEAST_COVERAGE)} at least: nothing is promised"
        )
    found = rules[0 if is_forest else 1].quantiles(known, seen[None, :])
    low_s, high_s = interval(found, measured.levels)
    state = dict(zip(INPUTS, seen.tolist(), strict=True))
    median_s = found[0, QUANTILES.index(0.5)]
    return StartAnswer(
        request, float(median_s), float(low_s[0]), float(high_s[0]), state, is_forest,
        {
            "--time": math.isnan(request.asked_s) and not np.isnan(past.asked_s).all(),
            "--user": not request.user and len(past.users) > 1,
            "--partition": not request.partition and len(past.partitions) > 1,
        },
        measured, other, len([name for name in past.partitions if name]),
    )  # fmt: skip


def _told_of(told: Told, rule: int, done: int, of_all: int) -> None:
    """Tell of the parts of both rules."""
    told(done + rule * of_all, 2 * of_all)


def _until(history: History, at_s: float) -> History:
    """The jobs that were submitted before a time, without what came after it."""
    count = int(np.searchsorted(history.submit_s, at_s))
    start_s, end_s = history.start_s[:count], history.end_s[:count]
    return replace(
        history,
        submit_s=history.submit_s[:count],
        start_s=np.where(start_s < at_s, start_s, np.nan),
        end_s=np.where(end_s < at_s, end_s, np.nan),
        **{
            name: getattr(history, name)[:count]
            for name in ("gpus", "asked_s", "partition", "user")
        },
    )


def _seen(history: History, request: Request, at_s: float) -> FloatArray:
    numbers = []
    for what, name, names in (
        ("--partition", request.partition, history.partitions),
        ("--user", request.user, history.users),
    ):
        if name and name not in names:
            raise InputError(
                f"{what}: got {name!r}, expected one of the log: {', '.join(filter(None, names[:8])) or 'it names none'}"
            )
        numbers.append(names.index(name) if name in names else -1)
    return np.array(state_at(history, at_s).seen(at_s, request, *numbers))


def lines(found: StartAnswer) -> list[str]:
    """The answer in words."""
    request, state = found.request, found.state
    asked = "" if math.isnan(request.asked_s) else f" for {span(request.asked_s)}"
    who = "".join(f", {word} {name}" for word, name in (("partition", request.partition), ("user", request.user)) if name)  # fmt: skip
    best, rest = found.measured, found.other
    names = ("the forest on the state of the queue", "the plain rule, past waits of such jobs")
    ours, theirs = names if found.is_forest else names[::-1]
    long = "" if math.isnan(best.coverage_of_long) else f", {percent(best.coverage_of_long)} of those that waited for more than an hour"  # fmt: skip
    worst = (
        "" if math.isnan(best.worst_day) else f"; on the worst day for {percent(best.worst_day)}"
    )
    return [
        f"asked      {_count(request.gpus)}{asked}{who}",
        f"then       {state['in_use']:g} of {state['in_use'] + state['free']:g} GPUs are in use; jobs that wait: {int(state['waiting'])}, for {_count(state['waiting_gpus'])}",
        f"start      median: {_after(found.median_s)}; with {percent(NOMINAL)} between {_after(found.low_s)} and {_after(found.high_s)}",
        f"reason     {found.reason}",
        f"measured   such intervals held for {percent(best.coverage)} of the last {len(best.jobs):,} jobs that had started{long}{worst}",
        f"rule       {ours}: loss {best.loss:.3f} (lower is better), mean width {span(best.width_s)}; {theirs}: held for {percent(rest.coverage)}, loss {rest.loss:.3f}, {span(rest.width_s)}",
        *_unsaid(found),
        "note       a change of the site's rules or machines is not foreseen",
    ]  # fmt: skip


def _unsaid(found: StartAnswer) -> list[str]:
    """A note on what the jobs have that the coverage was measured on, and the request does not say."""
    unsaid = [name for name, is_there in found.unsaid.items() if is_there]
    return (
        [
            f"note       not given: {' and '.join(unsaid)}; the coverage is that of jobs with "
            f"{' and '.join(OPTIONS[name] for name in unsaid)}"
        ]
        if unsaid
        else []
    )


def _after(seconds: float) -> str:
    return "at once" if seconds <= AT_ONCE_S else f"after {span(seconds)}"


def _count(gpus: float) -> str:
    return f"{gpus:g} GPU{'' if gpus == 1 else 's'}"


def _jobs(count: int) -> str:
    return "one job" if count == 1 else f"{count} jobs"
