"""`schedlab compare`: policies on the same random numbers, replicated until the intervals are narrow.

Replication i of every policy has seed + i, so all of them meet the same jobs; differences are
taken pair by pair, which takes most of the noise away.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.analysis.comparison import Comparison, tabulate
from experiments.config import KeyedError, of_file
from simulator.errors import InputError
from simulator.statistics import (
    Estimate,
    bootstrap_interval,
    mean_of_skewed,
    replications_needed,
)

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario

FIRST = 10
"""Replications before the width of the intervals is looked at."""

MOST = 1000
"""Where a comparison stops, precise or not, unless given."""

MOST_EVER = 10_000
"""So many runs of a policy can be asked for."""

FEWEST_TRACES = 39
"""With fewer there is no percentile of 2.5 %."""

Runs = dict[str, list[dict[str, float]]]
"""The metrics of each replication, by policy."""

Measure = Callable[[str, int], dict[str, float]]
"""The metrics of one policy, as it was named, under one seed."""


def compare(
    path: str | Path,
    policies: Sequence[str] = (),
    metrics: Sequence[str] = ("mean_jct_s",),
    *,
    precision: float | None = None,
    replications: int | None = None,
    seed: int | None = None,
    bootstrap: int | None = None,
    block_jobs: int | None = None,
) -> Comparison:
    """A scenario under several policies: a table of estimates, and notes.

    Parameters
    ----------
    path : scenario file; its own policy and seed are replaced.
    policies : ``NAME`` or ``NAME:OPTION=VALUE,OPTION=VALUE``; the first is what the others are
        compared with. The scenario's own options hold for its own policy where none are given.
        The scenario's own policy alone where there are none.
    metrics : scalars of ``summary.json``.
    precision : replicate until every policy's interval of the first metric has at most this
        relative half width; None: ``replications`` alone decide.
    replications : exactly so many, or with ``precision`` at most; 10, or with ``precision`` 1000,
        where None.
    bootstrap : of jobs from a file: intervals from so many traces drawn from it in blocks.
    block_jobs : jobs of a block; `simulator.workloads.bootstrap.block_length` where None.

    Raises
    ------
    InputError
        The scenario or an argument is wrong; one line. Arguments are named as options of the command.
    """
    from experiments.scenario.schema import read_scenario

    scenario = read_scenario(Path(path))
    if isinstance(policies, str) or isinstance(metrics, str):
        key = "policy" if isinstance(policies, str) else "metric"
        raise InputError(f"--{key}: got a text, expected a list of texts")
    names = list(policies) or [scenario.policy]
    _check(names, metrics, precision, replications, bootstrap, block_jobs)
    start = scenario.seed if seed is None else seed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scenarios = {name: _under(scenario, name) for name in names}
        if bootstrap is not None:
            table = _bootstrapped(scenarios, metrics, str(path), start, bootstrap, block_jobs)
        else:
            table = _replicated(scenarios, metrics, str(path), start, precision, replications)
    notes = dict.fromkeys(str(warning.message) for warning in caught)
    return Comparison(str(path), tuple(names), tuple(metrics), table, tuple(notes))


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
    scenarios: dict[str, Scenario],
    metrics: Sequence[str],
    source: str,
    start: int,
    precision: float | None,
    replications: int | None,
) -> pd.DataFrame:
    """The policies under seed after seed; one run each where the seed changes nothing."""
    names = list(scenarios)
    if getattr(scenarios[names[0]].workload, "block_bootstrap", None) is not None:
        # A mean over drawn traces: its interval would narrow for ever, the set of data stays one.
        raise InputError(
            f"{source}: workload.block_bootstrap: given without --bootstrap, which gives the interval "
            "of a trace; expected both or neither"
        )

    def measure(policy: str, replication: int) -> dict[str, float]:
        with of_file(source):
            return _metrics(scenarios[policy], start + replication, metrics)

    runs = _replicate(measure, names, {name: [] for name in names}, 2)
    if not (_seed_matters(runs) or _draws_jobs(scenarios[names[0]], start, source)):
        warnings.warn(
            "the seed changes nothing here: another one gave the same numbers, because the jobs come "
            "from a file and nothing else is random. So one run of each policy is reported, without "
            "an interval: the same run ten times is not ten replications. --bootstrap 40 gives "
            "intervals from 40 traces drawn from this one in blocks",
            stacklevel=2,
        )
        runs = {name: made[:1] for name, made in runs.items()}
    elif precision is None:
        runs = _replicate(measure, names, runs, replications or FIRST)
    else:
        runs = _until_precise(measure, names, runs, metrics[0], precision, replications or MOST)
    if all(len(made) > 1 for made in runs.values()) and not _seed_matters(runs):
        warnings.warn(
            f"all {len(runs[names[0]])} seeds gave the same numbers, although each draws jobs anew (for "
            "example their due dates): what was drawn changed nothing here",
            stacklevel=2,
        )
    return tabulate(names, metrics, _of_runs(runs))


def _bootstrapped(
    scenarios: dict[str, Scenario],
    metrics: Sequence[str],
    source: str,
    start: int,
    count: int,
    block_jobs: int | None,
) -> pd.DataFrame:
    """The trace itself under each policy, with intervals from traces that are drawn from it."""
    if count < FEWEST_TRACES:
        raise InputError(
            f"--bootstrap: got {count}, expected at least {FEWEST_TRACES} for a 95 % interval"
        )
    first = next(iter(scenarios.values()))
    if "block_bootstrap" not in type(first.workload).model_fields:
        raise InputError(
            f"--bootstrap: workload {first.workload.kind!r} is drawn anew by each seed, expected jobs "
            "from a file (csv, instance, or a trace); --replications makes runs of other seeds"
        )
    with of_file(source):
        block = block_jobs or getattr(first.workload, "block_bootstrap", None) or _block_of(first)
        drawn = {name: _drawing(scenario, block) for name, scenario in scenarios.items()}
        itself = {
            name: _metrics(_drawing(scenario, None), start, metrics)
            for name, scenario in scenarios.items()
        }
        again: Runs = {name: [] for name in scenarios}
        for replication in range(count):
            for name, scenario in drawn.items():
                again[name].append(_metrics(scenario, start + replication, metrics))

    def estimate(metric: str, name: str, minus: str) -> Estimate:
        values = [run[metric] for run in again[name]]
        value = itself[name][metric]
        if minus:
            values = [v - run[metric] for v, run in zip(values, again[minus], strict=True)]
            value -= itself[minus][metric]
        found = bootstrap_interval(value, values)
        if not (minus or found.lower <= value <= found.upper):
            warnings.warn(
                f"{metric} of {name} on the trace itself lies outside the interval of the traces drawn "
                f"from it: something lasts longer than a block of {block} jobs, try a larger --block-jobs",
                stacklevel=4,
            )
        return found

    return tabulate(list(scenarios), metrics, estimate)


def _block_of(scenario: Scenario) -> int:
    from experiments.scenario.jobs import read_jobs
    from simulator.workloads.bootstrap import block_length

    return block_length(len(read_jobs(scenario)[0]))


def _drawing(scenario: Scenario, block: int | None) -> Scenario:
    """The scenario in which each seed draws another trace; None: the trace itself."""
    jobs = scenario.workload.model_copy(update={"block_bootstrap": block})
    return scenario.model_copy(update={"workload": jobs})


def _seed_matters(runs: Runs) -> bool:
    """Whether replications differ in anything but how long they took to compute."""

    def results(run: dict[str, float]) -> dict[str, float]:
        return {name: v for name, v in run.items() if not name.endswith(("cpu_s", "wall_s"))}

    return any(results(made[0]) != results(run) for made in runs.values() for run in made[1:])


def _draws_jobs(scenario: Scenario, seed: int, source: str) -> bool:
    """Whether another seed gives other jobs, even where two runs of them gave the same numbers.

    For example `[adapt]` draws due dates, and all of the first two draws were met.
    """
    from experiments.scenario.jobs import read_jobs
    from experiments.scenario.machines import fitted

    def columns(own: int) -> list[bytes]:
        with of_file(source):
            seeded = scenario.model_copy(update={"seed": own})
            jobs, _ = fitted(*read_jobs(seeded), seeded)
        drawn = (jobs.submit_s, jobs.due_s, jobs.weight_per_s, jobs.num_gpus)
        return [*(column.tobytes() for column in drawn), "\n".join(jobs.model).encode()]

    return columns(seed) != columns(seed + 1)


def _under(scenario: Scenario, policy: str) -> Scenario:
    """The scenario under a policy as the command line names it, which has to be there."""
    from experiments.scenario.build import make_policy
    from experiments.scenario.options import parse_options

    name, colon, said = policy.partition(":")
    options: dict[str, Any] = scenario.policy_options if name == scenario.policy else {}
    if colon:
        options = dict(parse_options(said.split(","), f"--policy {policy}:"))
    changed = scenario.model_copy(update={"policy": name, "policy_options": options})
    try:
        make_policy(changed)
    except KeyedError as error:
        raise InputError(f"--policy {policy}: {error.text}") from None
    return changed


def _metrics(scenario: Scenario, seed: int, metrics: Sequence[str]) -> dict[str, float]:
    from experiments.scenario.run import run, summarise

    summary = summarise(run(scenario.model_copy(update={"seed": seed})), scenario.window)
    numbers = {
        k: float(v)
        for k, v in summary.items()
        if isinstance(v, int | float) and k not in ("seed", "mean_decision_cpu_s")
    }
    for metric in metrics:
        if metric not in numbers:
            known = ", ".join(numbers)
            raise InputError(f"--metric: got {metric!r}, expected one of {known}")
    return numbers


def _replicate(measure: Measure, names: Sequence[str], runs: Runs, wanted: int) -> Runs:
    """Add replications, the same seeds for all policies."""
    for replication in range(len(runs[names[0]]), wanted):
        for name in names:
            runs[name].append(measure(name, replication))
    return runs


def _until_precise(
    measure: Measure,
    names: Sequence[str],
    runs: Runs,
    metric: str,
    precision: float,
    most: int,
) -> Runs:
    runs = _replicate(measure, names, runs, min(FIRST, most))
    while True:
        done = len(runs[names[0]])
        wanted = max(
            replications_needed([run[metric] for run in runs[name]], precision) for name in names
        )
        if wanted <= done:
            return runs
        if done >= most:
            warnings.warn(
                f"stopped at {done} replications before {metric} was known to {precision:.2%}",
                stacklevel=3,
            )
            return runs
        _replicate(measure, names, runs, min(wanted, most))


def _of_runs(runs: Runs) -> Callable[[str, str, str], Estimate]:
    """Means over the seeds, and means of the differences seed by seed."""

    def estimate(metric: str, name: str, minus: str) -> Estimate:
        values = [run[metric] for run in runs[name]]
        if minus:
            others = [run[metric] for run in runs[minus]]
            values = [value - other for value, other in zip(values, others, strict=True)]
        return mean_of_skewed(values)

    return estimate
