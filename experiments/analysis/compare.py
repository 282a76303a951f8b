"""`schedlab compare`: policies on the same random numbers, replicated until the intervals are narrow.

Replication i of every policy has seed + i, so all of them meet the same jobs; differences are
taken pair by pair, which takes most of the noise away.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from experiments.analysis.comparison import Comparison, tabulate
from experiments.analysis.measuring import Entrant, Measuring
from experiments.config import KeyedError, of_file
from experiments.sweep.summary import estimate_of
from simulator.errors import InputError
from simulator.statistics import (
    Estimate,
    bootstrap_interval,
    differences,
    replications_needed,
)

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario
    from simulator import Policy
    from simulator.model.contract import PolicyLike

FIRST = 10
"""Replications before the width of the intervals is looked at."""

MOST = 1000
"""Default limit of a comparison, precise or not."""

MOST_EVER = 10_000
"""So many runs of a policy can be asked for."""

FEWEST_TRACES = 39
"""With fewer there is no percentile of 2.5 %."""

FEW_JOBS = 10
"""With fewer jobs beyond it, a quantile of a run is hardly known."""

Runs = dict[str, list[dict[str, float]]]
"""The metrics of each replication, by policy."""

Tables = tuple["pd.DataFrame", "pd.DataFrame"]
"""The estimates, and the numbers behind them."""


def compare(
    path: str | Path | Scenario,
    policies: Sequence[str | PolicyLike] = (),
    metrics: Sequence[str] = ("mean_jct_s",),
    *,
    precision: float | None = None,
    replications: int | None = None,
    seed: int | None = None,
    bootstrap: int | None = None,
    block_jobs: int | None = None,
    workers: int | None = 1,
    progress: bool = False,
) -> Comparison:
    """A scenario under several policies: a table of estimates, and notes.

    Parameters
    ----------
    path : scenario, or its file; its own policy and seed are replaced.
    policies : ``NAME`` or ``NAME:OPTION=VALUE,OPTION=VALUE``; the first is what the others are
        compared with. The scenario's own options hold for its own policy where none are given.
        The scenario's own policy alone where there are none. Also objects with ``decide(view)``, or
        such functions, under their ``name``, or that of the function or class.
    metrics : scalars of ``summary.json``.
    precision : replicate until every policy's interval of the first metric has at most this
        relative half width; None: ``replications`` alone decide.
    replications : exactly so many, or with ``precision`` at most; 10, or with ``precision`` 1000,
        where None.
    bootstrap : of jobs from a file: intervals from so many traces drawn from it in blocks.
    block_jobs : jobs of a block; `simulator.workloads.bootstrap.block_length` where None.
    workers : processes, for what takes longer than some seconds; None is one for each core. A script
        that asks for more than one needs ``if __name__ == "__main__":``. Objects run in this process.
    progress : show on stderr how far it is, after five seconds.

    Raises
    ------
    InputError
        The scenario or an argument is wrong; one line. Arguments are named as options of the command.
    """
    from experiments.scenario.schema import Scenario, read_scenario

    scenario = path if isinstance(path, Scenario) else read_scenario(Path(path))
    source = "scenario" if isinstance(path, Scenario) else str(path)
    if isinstance(policies, str) or isinstance(metrics, str):
        key = "policy" if isinstance(policies, str) else "metric"
        raise InputError(f"--{key}: got a text, expected a list of texts")
    named = {_name(policy): policy for policy in policies} or {scenario.policy: scenario.policy}
    names = [_name(policy) for policy in policies] or [scenario.policy]
    _check(names, metrics, precision, replications, bootstrap, block_jobs)
    if workers is not None and workers < 1:
        raise InputError(f"--workers: got {workers}, expected an integer >= 1")
    start = scenario.seed if seed is None else seed
    measuring = Measuring(source, metrics, workers, progress)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        entrants = {name: _under(scenario, policy) for name, policy in named.items()}
        if bootstrap is not None:
            table, values = _bootstrapped(entrants, measuring, start, bootstrap, block_jobs)
        else:
            table, values = _replicated(entrants, measuring, start, precision, replications)
    measuring.close()
    notes = dict.fromkeys(str(warning.message) for warning in caught)
    return Comparison(source, tuple(names), tuple(metrics), table, tuple(notes), values)


def on_same_draws(
    entrants: dict[str, Entrant], measuring: Measuring, seed: int, draws: int
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Scenarios on the same jobs and random numbers: estimates, the numbers behind them, and notes.

    Parameters
    ----------
    draws : of jobs from a file, so many traces drawn from it in blocks, 1 for the file alone; of others, seeds.
    """
    first = next(iter(entrants.values())).scenario
    from_file = "block_bootstrap" in type(first.workload).model_fields
    if from_file and 1 < draws < FEWEST_TRACES:
        raise InputError(
            f"--draws: got {draws}, expected 1, or at least {FEWEST_TRACES} for a 95 % interval"
        )
    if draws > MOST_EVER:
        raise InputError(f"--draws: got {draws}, expected at most {MOST_EVER:,}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if draws == 1:
            orders = [(entrant, seed) for entrant in entrants.values()]
            runs = {
                name: [run] for name, run in zip(entrants, measuring.all_of(orders), strict=True)
            }
            table, values = tabulate([*entrants], measuring.metrics, _of_runs(runs))
        elif from_file:
            table, values = _bootstrapped(entrants, measuring, seed, draws, None)
        else:
            table, values = _replicated(entrants, measuring, seed, None, draws)
    notes = dict.fromkeys(str(warning.message) for warning in caught)
    return table, values, list(notes)


def _name(policy: str | PolicyLike) -> str:
    """A policy in the table: as it was named, or the name of an object or a function."""
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__))


def _check(
    names: Sequence[str],
    metrics: Sequence[str],
    precision: float | None,
    replications: int | None,
    bootstrap: int | None,
    block_jobs: int | None,
) -> None:
    """Refuse arguments that do not go together, or that would give no table."""
    if len(set(names)) < len(names):
        raise InputError(f"--policy: got {', '.join(names)}, expected different ones")
    if not metrics:
        raise InputError("--metric: got none, expected at least one")
    if len(set(metrics)) < len(metrics):
        raise InputError(f"--metric: got {','.join(metrics)}, expected different ones")
    if precision is not None and not precision > 0:
        raise InputError(f"--precision: got {precision}, expected a number > 0")
    if replications is not None and not 2 <= replications <= MOST_EVER:
        raise InputError(f"--replications: got {replications}, expected 2 to {MOST_EVER:,}")
    if bootstrap is not None and bootstrap > MOST_EVER:
        raise InputError(f"--bootstrap: got {bootstrap}, expected at most {MOST_EVER:,} traces")
    if bootstrap is not None and (precision is not None or replications is not None):
        raise InputError("--bootstrap: given with --precision or --replications, expected one")
    if block_jobs is not None and bootstrap is None:
        raise InputError("--block-jobs: given without --bootstrap, expected both")


def _replicated(
    entrants: dict[str, Entrant],
    measuring: Measuring,
    start: int,
    precision: float | None,
    replications: int | None,
) -> Tables:
    """The policies under seed after seed; one run each where the seed changes nothing."""
    names, metrics, source = list(entrants), measuring.metrics, measuring.source
    if getattr(entrants[names[0]].scenario.workload, "block_bootstrap", None) is not None:
        # A mean over drawn traces: its interval would narrow for ever, the set of data stays one.
        raise InputError(
            f"{source}: workload.block_bootstrap: given without --bootstrap, which gives the interval "
            "of a trace; expected both or neither"
        )

    def replicate(wanted: int) -> None:
        """Add replications, the same seeds for all policies."""
        new = range(len(runs[names[0]]), wanted)
        orders = [(entrants[name], start + index) for index in new for name in names]
        for index, found in enumerate(measuring.all_of(orders)):
            runs[names[index % len(names)]].append(found)

    runs: Runs = {name: [] for name in names}
    random = False
    with of_file(source):
        for name, entrant in entrants.items():
            found, drawn = entrant.draws(start, metrics)
            runs[name].append(found)
            random |= drawn
    if not random:
        warnings.warn(
            "the seed changes nothing here, because the jobs come from a file and nothing else is "
            "random. So one run of each policy is reported, without an interval: the same run ten "
            "times is not ten replications. --bootstrap 40 gives intervals from 40 traces drawn from "
            "this one in blocks (in a sweep: workload.block_bootstrap)",
            stacklevel=2,
        )
    elif precision is None:
        replicate(replications or FIRST)
    else:
        _until_precise(replicate, runs, metrics[0], precision, replications or MOST)
    if all(len(made) > 1 for made in runs.values()) and not _seed_matters(runs):
        warnings.warn(
            f"all {len(runs[names[0]])} seeds gave the same numbers, although each draws jobs anew (for "
            "example their due dates): what was drawn changed nothing here",
            stacklevel=2,
        )
    _note_few_jobs(metrics, [run for made in runs.values() for run in made])
    return tabulate(names, metrics, _of_runs(runs))


def _note_few_jobs(metrics: Sequence[str], runs: Sequence[dict[str, float]]) -> None:
    """Warn of quantiles of a run that rest on few jobs."""
    for metric in metrics:
        beyond = f"jobs_beyond_{metric.partition('_')[0]}"
        fewest = min(run.get(beyond, math.inf) for run in runs)
        if fewest < FEW_JOBS:
            warnings.warn(
                f"{metric} of one run rests on {fewest:.0f} of its {runs[0]['jobs']:.0f} jobs, those beyond it",
                stacklevel=3,
            )


def _bootstrapped(
    entrants: dict[str, Entrant],
    measuring: Measuring,
    start: int,
    count: int,
    block_jobs: int | None,
) -> Tables:
    """The trace itself under each policy, with intervals from traces that are drawn from it."""
    if count < FEWEST_TRACES:
        raise InputError(
            f"--bootstrap: got {count}, expected at least {FEWEST_TRACES} for a 95 % interval"
        )
    names = list(entrants)
    first = entrants[names[0]].scenario
    if "block_bootstrap" not in type(first.workload).model_fields:
        raise InputError(
            f"--bootstrap: workload {first.workload.kind!r} is drawn anew by each seed, expected jobs "
            "from a file (csv, instance, or a trace); --replications makes runs of other seeds"
        )
    with of_file(measuring.source):
        block = block_jobs or getattr(first.workload, "block_bootstrap", None) or _block_of(first)
    trace = [(_drawing(entrant, None), start) for entrant in entrants.values()]
    itself = dict(zip(names, measuring.all_of(trace), strict=True))
    drawn = [_drawing(entrant, block) for entrant in entrants.values()]
    _note_few_jobs(measuring.metrics, list(itself.values()))
    made = measuring.all_of([(entrant, start + i) for i in range(count) for entrant in drawn])
    again: Runs = {name: made[index :: len(names)] for index, name in enumerate(names)}

    def estimate(metric: str, name: str, minus: str) -> tuple[Estimate, list[float]]:
        values = [run[metric] for run in again[name]]
        value = itself[name][metric]
        if minus:
            values = differences(values, [run[metric] for run in again[minus]]).tolist()
            value = float(differences(value, itself[minus][metric]))
        found = bootstrap_interval(value, values)
        if not found.lower <= value <= found.upper:
            of = f"{name} minus {minus}" if minus else name
            warnings.warn(
                f"{metric} of {of} on the trace itself lies outside the interval of the traces drawn "
                f"from it: something lasts longer than a block of {block} jobs, try a larger --block-jobs",
                stacklevel=4,
            )
        return found, values

    return tabulate(names, measuring.metrics, estimate)


def _block_of(scenario: Scenario) -> int:
    from experiments.scenario.jobs import jobs_and_machines
    from simulator.workloads.bootstrap import block_length

    return block_length(len(jobs_and_machines(scenario)[0]))


def _drawing(entrant: Entrant, block: int | None) -> Entrant:
    """The entrant on another trace for each seed; None: on the trace itself."""
    jobs = entrant.scenario.workload.model_copy(update={"block_bootstrap": block})
    return replace(entrant, scenario=entrant.scenario.model_copy(update={"workload": jobs}))


def _seed_matters(runs: Runs) -> bool:
    """True where replications differ in anything but how long they took to compute."""

    def results(run: dict[str, float]) -> dict[str, float]:
        return {name: v for name, v in run.items() if not name.endswith(("cpu_s", "wall_s"))}

    return any(results(made[0]) != results(run) for made in runs.values() for run in made[1:])


def _under(scenario: Scenario, policy: str | PolicyLike) -> Entrant:
    """The scenario under a policy as the command line names it, which has to be there, or an object."""
    from experiments.scenario.build import make_policy
    from experiments.scenario.options import parse_policy

    if not isinstance(policy, str):
        return Entrant(scenario, cast("Policy", policy))
    name, given = parse_policy(policy)
    own = scenario.policy_options if name == scenario.policy else {}
    options: dict[str, Any] = given or own
    changed = scenario.model_copy(update={"policy": name, "policy_options": options})
    try:
        make_policy(changed)
    except KeyedError as error:
        raise InputError(f"--policy {policy}: {error.text}") from None
    return Entrant(changed)


def _until_precise(
    replicate: Callable[[int], None], runs: Runs, metric: str, precision: float, most: int
) -> None:
    replicate(min(FIRST, most))
    while True:
        done = len(next(iter(runs.values())))
        wanted = max(
            replications_needed([run[metric] for run in made], precision) for made in runs.values()
        )
        if wanted <= done:
            return
        if done >= most:
            warnings.warn(
                f"stopped at {done} replications before {metric} was known to {precision:.2%}",
                stacklevel=3,
            )
            return
        replicate(min(wanted, most))


def _of_runs(runs: Runs) -> Callable[[str, str, str], tuple[Estimate, list[float]]]:
    """Means over the seeds, and means of the differences seed by seed."""

    def estimate(metric: str, name: str, minus: str) -> tuple[Estimate, list[float]]:
        values = [run[metric] for run in runs[name]]
        if minus:
            others = [run[metric] for run in runs[minus]]
            values = differences(values, others).tolist()
        return estimate_of(values, is_difference=bool(minus)), values

    return estimate
