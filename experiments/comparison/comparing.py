"""Comparisons of policies: which runs, how many of them, and what comes out.

Run i of every policy has the same jobs and random numbers; differences are taken run by run, which takes most of
the noise away.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.columns import expect_known
from experiments.comparison.answer import Comparison
from experiments.comparison.entrants import ALL, GIVEN, Entrant, Excluded, Field, name_of, wants_all
from experiments.comparison.estimating import OF_A_RUN, estimates, ranks, runs_table
from experiments.comparison.metrics import CPU, DEFAULTS, METRICS, OTHERS, may_have
from experiments.comparison.plan import (
    FEW_JOBS,
    MOST,
    SEEDS,
    TRACES,
    Cell,
    Plan,
    cell_of,
    cells_of,
    drawing,
    sources_of,
    without_policies,
)
from experiments.comparison.premises import premises
from experiments.comparison.recorded import said_of_record
from experiments.comparison.runs import ComparedRuns, PlannedRun, Ran
from experiments.sweep.task import Scalar, canonical_json
from simulator.errors import InputError
from simulator.statistics import replications_needed

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenario.schema import Scenario
    from experiments.sweep.store import Store
    from simulator import Workload
    from simulator.model.contract import PolicyLike

LIMIT_S = 60.0
"""Seconds for a run where all policies are compared: some are made for a few jobs."""


def compare(
    source: str | Path | Scenario | Sequence[str | Path],
    policies: Sequence[str | PolicyLike] = (),
    metrics: Sequence[str] = (),
    *,
    over: Sequence[str] = (),
    settings: Sequence[str] = (),
    draws: int | None = None,
    precision: float | None = None,
    block_jobs: int | None = None,
    seed: int | None = None,
    store: Store | None = None,
    progress: bool = False,
    kind: str | None = None,
    columns: Sequence[str] = (),
    **options: Any,
) -> Comparison:
    """Policies on the same jobs: estimates with intervals, paired differences, ranks, an answer in words.

    Parameters
    ----------
    source : scenarios or files of jobs, or a `Scenario`; its own policy and seed are replaced.
    policies : ``NAME`` or ``NAME:OPTION=VALUE,OPTION=VALUE``, with ``LABEL=`` before it or not, or objects with
        ``decide(view)``, or such functions; the first is what the others are compared with. None: all that can run, as ``all`` beside others.
    metrics : scalars of ``summary.json``; the first one ranks. None: the columns, or `DEFAULTS`.
    over : ``KEY=a,b,c`` each: the comparison at each value of a key of the scenario, all combinations;
        ``policy=a,b`` names policies.
    settings : ``KEY=VALUE`` each, of any key of the scenario.
    draws, precision, block_jobs : see `Plan`.
    store : run database, whose finished runs are not made again; None: all runs are made in this process.
    kind : format of files of jobs; None: the one that is recognised.
    columns : scalars that tables show, in this order. None: the metrics and the CPU time of decisions.
    options : of `experiments.sweep.runner.run_tasks`: workers, time_limit_s (of all policies `LIMIT_S` by default,
        where there is a store), dask.

    Raises
    ------
    InputError
        A scenario or an argument is wrong; one line. Arguments are named as options of the command.
    """
    over, named = without_policies(over)
    asked = [*policies, *named] if named else policies
    option = "--metric" if metrics else "--columns"
    plan = Plan(asked, metrics or columns, draws, precision, block_jobs, seed, option, (), columns)
    plan.check()
    cells = list(cells_of(source, plan, over, settings, kind))
    name = ", ".join(dict.fromkeys(str(one) for one in sources_of(source)))
    if wants_all(plan.policies) and store is not None and options.get("time_limit_s") is None:
        options["time_limit_s"] = LIMIT_S
    return _compared(name, cells, plan, ComparedRuns(name, store, progress, **options))


def compare_scenario(
    name: str, scenario: Scenario, plan: Plan, *, store: Store | None = None, progress: bool = False, **options: Any
) -> Comparison:  # fmt: skip
    """Policies on one scenario, by a plan; see `compare`.

    Parameters
    ----------
    name : of the scenario, for messages and titles.
    """
    plan.check()
    cells = [cell_of({}, scenario, plan)]
    return _compared(name, cells, plan, ComparedRuns(name, store, progress, **options))


def _compared(name: str, cells: Sequence[Cell], plan: Plan, runs: ComparedRuns) -> Comparison:
    own = next((name_of(one) for one in plan.policies if one != ALL), "")
    with closing(runs):
        made, excluded = _made(cells, plan, runs)
    if not made:
        raise InputError(
            f"{name}: no policy can run: {excluded[0][1].policy}: {excluded[0][1].reason}"
        )
    found = _said(name, cells, made, plan, own)
    told = [*said_of_jobs(cell.field.entrants[0].scenario for cell in cells if cell.field.entrants)]
    if len(cells) == 1:  # of one log on one cluster
        entrants = {entrant.policy: entrant for entrant in cells[0].field.entrants}
        first = entrants.get(own) or next(iter(entrants.values()))
        told += said_of_record(first.scenario, found.runs, first.policy)
        told += premises((entrant.scenario for entrant in entrants.values()), found.runs)
    return replace(
        found, notes=(*found.notes, *told), bounds=_bounds(cells, made, found.metrics), excluded=_excluded(excluded, found.settings)
    )  # fmt: skip


def said_of_jobs(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """Notes on the jobs of scenarios, each once: what was left out, and keys without effect."""
    from experiments.scenario.build import build

    notes = (note for scenario in scenarios for note in build(scenario)[0].notes)
    return tuple(dict.fromkeys(notes))


def on_same_draws(
    scenarios: Mapping[str, Scenario], plan: Plan, runs: ComparedRuns, base: str
) -> Comparison:
    """Scenarios on the same jobs and random numbers, each with its own policy, under their names.

    Parameters
    ----------
    base : the name of the one that the others are compared with.

    Raises
    ------
    InputError
        A scenario cannot run.
    """
    plan.check()
    first = next(iter(scenarios.values()))
    entrants = tuple(Entrant(name, GIVEN, scenario) for name, scenario in scenarios.items())
    cell = cell_of({}, first, plan, Field(entrants, (), ()))
    made, excluded = _made([cell], plan, runs)
    if excluded:
        raise InputError(excluded[0][1].reason)
    return _said(runs.source, [cell], made, plan, base)


def _said(
    source: str, cells: Sequence[Cell], made: Made, plan: Plan, base: str
) -> Comparison:  # fmt: skip
    """Comparison made from the runs of all settings, without bounds and without what cannot run."""
    table = runs_table(made)
    labels = [*cells[0].labels]
    wanted, columns = _metrics(plan, table, labels), tuple(plan.columns)
    notes = [note for cell in cells for note in cell.field.notes]
    return replace(
        of_runs(source, table, labels, wanted, base, columns),
        notes=tuple(
            dict.fromkeys(
                [*notes, *_notes(cells, made, [*dict.fromkeys([*wanted, *columns])], plan)]
            )
        ),
        currency=_currency(cells[0]),
    )


def of_runs(
    source: str, runs: pd.DataFrame, settings: Sequence[str], metrics: Sequence[str], base: str,
    columns: tuple[str, ...] = (),
) -> Comparison:  # fmt: skip
    """The comparison of finished runs, one a row; arguments as the attributes of `Comparison`."""
    import pandas as pd

    estimated = dict.fromkeys([*columns, *metrics, *([CPU] if CPU in runs else [])])
    return Comparison(
        source, tuple(metrics), tuple(settings), base, runs,
        estimates(runs, settings, [*estimated], base), ranks(runs, settings, metrics),
        bounds=pd.DataFrame(columns=[*settings, *OF_A_BOUND]), excluded=_excluded([], settings),
        columns=columns,
    )  # fmt: skip


OF_A_BOUND = ("view", "metric", "bound")
Made = list[tuple[PlannedRun, Ran]]


def _made(
    cells: Sequence[Cell], plan: Plan, runs: ComparedRuns
) -> tuple[Made, list[tuple[dict[str, Scalar], Excluded]]]:
    """All runs: first one of each policy; those that fail are left out, the others go on."""
    _expect_possible(plan, cells)
    excluded = [(cell.labels, out) for cell in cells for out in cell.field.excluded]
    first = [
        PlannedRun(entrant, plan.seed_of(cell.scenario.seed, 0), cell.labels)
        for cell in cells
        for entrant in cell.field.entrants
    ]
    # A metric that no list names may be a mistake: one run a setting tells it before the others are made.
    doubted = any(name not in METRICS for names in plan.named.values() for name in names)
    tried = [*{id(order.setting): order for order in first}.values()] if doubted else []
    made = [*zip(tried, runs.all_of(tried), strict=True)]
    _check_metrics(plan, cells, made)
    rest = [order for order in first if not any(order is one for one in tried)]
    made += zip(rest, runs.all_of(rest), strict=True)
    _check_metrics(plan, cells, made)
    excluded += [
        (dict(order.setting), Excluded(order.entrant.policy, ran.error))
        for order, ran in made if ran.error
    ]  # fmt: skip
    alive = [(order, ran) for order, ran in made if not ran.error]
    orders = list(_more(cells, alive, plan))
    made += zip(orders, runs.all_of(orders), strict=True)
    if plan.precision is not None:
        _until_precise(cells, alive, plan, runs, made)
    again = [(order, ran) for order, ran in made[len(first) :] if ran.error]
    for order, ran in again:
        out = Excluded(order.entrant.policy, f"seed {order.seed}: {ran.error}")
        if (dict(order.setting), out) not in excluded:
            excluded.append((dict(order.setting), out))
    failed = {(canonical_json(order.setting), order.entrant.policy) for order, _ in again}
    return [
        (order, ran)
        for order, ran in made
        if not ran.error
        and (canonical_json(order.setting), order.entrant.policy) not in failed
    ], excluded  # fmt: skip


def _more(cells: Sequence[Cell], alive: Made, plan: Plan) -> Iterator[PlannedRun]:
    """The other runs of the policies whose first one is finished: drawn traces, or seeds."""
    for cell in cells:
        own = [(order, ran) for order, ran in alive if order.setting is cell.labels]
        if not cell.of_file and not any(ran.is_random for _, ran in own):
            continue
        count = plan.draws or (TRACES if cell.of_file else SEEDS)
        if cell.of_file and count > 1:
            drawn = [
                replace(order.entrant, scenario=drawing(order.entrant.scenario, cell.block))
                for order, _ in own
            ]
            for draw in range(1, count + 1):
                for entrant in drawn:
                    yield PlannedRun(entrant, cell.scenario.seed + draw - 1, cell.labels, draw)
        elif not cell.of_file:
            if plan.precision is not None:
                count = min(SEEDS, plan.draws or MOST)
            entrants = [order.entrant for order, _ in own]
            yield from _seeds(cell, entrants, range(1, count), plan)


def _seeds(
    cell: Cell, entrants: Sequence[Entrant], numbers: range, plan: Plan
) -> Iterator[PlannedRun]:
    for number in numbers:
        for entrant in entrants:
            yield PlannedRun(entrant, plan.seed_of(cell.scenario.seed, number), cell.labels)


def _until_precise(
    cells: Sequence[Cell], alive: Made, plan: Plan, runs: ComparedRuns, made: Made
) -> None:
    """More seeds of each setting until its intervals are narrow, all settings together."""
    assert plan.precision is not None
    most = plan.draws or MOST
    while True:
        orders: list[PlannedRun] = []
        for cell in cells:
            entrants = [order.entrant for order, _ in alive if order.setting is cell.labels]
            of_each = [
                [ran.numbers for order, ran in made
                 if order.setting is cell.labels and order.entrant is entrant and ran.numbers]
                for entrant in entrants
            ]  # fmt: skip
            metric = plan.metrics[0] if plan.metrics else DEFAULTS[0]
            values = [[run[metric] for run in of if metric in run] for of in of_each]
            done = max((len(of) for of in values), default=0)
            if done < 2:
                continue
            wanted = max(replications_needed(of, plan.precision) for of in values if len(of) > 1)
            orders += _seeds(cell, entrants, range(done, min(wanted, most)), plan)
        if not orders:
            return
        made += zip(orders, runs.all_of(orders), strict=True)


def _needed(made: Made, metric: str, precision: float) -> int:
    """Runs of each policy in each setting after which the intervals of a metric should be narrow enough."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for order, ran in made:
        if metric in ran.numbers:
            key = (order.entrant.policy, *order.setting.values())
            values.setdefault(key, []).append(ran.numbers[metric])
    enough = [replications_needed(of, precision) for of in values.values() if len(of) > 1]
    return max(enough, default=0)


def _expect_possible(plan: Plan, cells: Sequence[Cell]) -> None:
    """Raise InputError where a metric that was asked for is none that a run can have, before there are runs."""
    known = [*METRICS, *sorted(OTHERS)]
    for cell in cells:
        for option, names in plan.named.items():
            odd = [name for name in names if not may_have(cell.scenario, name)]
            expect_known(odd, known, option, "that summary.json can have")


def _check_metrics(plan: Plan, cells: Sequence[Cell], made: Made) -> None:
    """Raise InputError where a metric that was asked for is in none of the finished runs of a setting."""
    for cell in cells:
        runs = [ran.numbers for order, ran in made if order.setting is cell.labels and ran.numbers]
        known = list(dict.fromkeys(name for numbers in runs for name in numbers))
        where = f" of {', '.join(map(str, cell.labels.values()))}" if len(cells) > 1 else ""
        for option, names in plan.named.items():
            expect_known(names if known else (), known, option, f"in summary.json{where}")


def _metrics(plan: Plan, table: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    """The metrics that were asked for, or the usual ones that are not 0, or 1, in all runs."""
    apart = {*OF_A_RUN, *labels}
    numbers = [name for name in map(str, table.select_dtypes("number")) if name not in apart]
    usual = [name for name in DEFAULTS if name in numbers and not table[name].isin([0, 1]).all()]
    return [*plan.metrics] or usual or [DEFAULTS[0]]


def _excluded(
    found: Sequence[tuple[Mapping[str, Scalar], Excluded]], labels: Sequence[str]
) -> pd.DataFrame:
    import pandas as pd

    rows = [{**at, "policy": out.policy, "reason": out.reason} for at, out in found]
    return pd.DataFrame(rows, columns=[*labels, "policy", "reason"])


def _bounds(cells: Sequence[Cell], made: Made, metrics: Sequence[str]) -> pd.DataFrame:
    """Lower bounds of the jobs of each view, where there are some."""
    import pandas as pd

    from experiments.analysis.pooled import pooled_bounds
    from experiments.scenario.build import build

    rows = []
    for cell in cells:
        own = [
            o for o, _ in made if o.setting is cell.labels and o.draw == 0 and not o.entrant.agent
        ]
        for view in dict.fromkeys(order.entrant.view for order in own):
            of_seeds = {o.seed: o.entrant.scenario for o in own if o.entrant.view == view}
            drawn = [s.model_copy(update={"seed": seed}) for seed, s in of_seeds.items()]
            built = [(scenario, *build(scenario)) for scenario in drawn]
            if not all(_counts_all(scenario, jobs) for scenario, jobs, _ in built):
                continue
            found = [pooled_bounds(jobs, cluster) for _, jobs, cluster in built]
            for metric in metrics:
                of_runs = [bound[metric] for bound in found if metric in bound]
                if of_runs:
                    mean = sum(of_runs) / len(of_runs)
                    rows.append({**cell.labels, "view": view, "metric": metric, "bound": mean})
    return pd.DataFrame(rows, columns=[*cells[0].labels, *OF_A_BOUND])


def _counts_all(scenario: Scenario, jobs: Workload) -> bool:
    """Whether metrics are of all the jobs, and all of them are served: a bound holds for no other."""
    leave = jobs.patience_s is not None and bool((jobs.patience_s < math.inf).any())
    failures = scenario.features.get("failures")
    gives_up = leave or getattr(failures, "max_attempts", None) is not None
    return scenario.window is None and not gives_up and "admission" not in scenario.features


def _notes(cells: Sequence[Cell], made: Made, metrics: Sequence[str], plan: Plan) -> list[str]:
    """Lines about what a reader would not expect."""
    notes = []
    alone = [
        cell for cell in cells
        if not cell.of_file and not any(r.is_random for o, r in made if o.setting is cell.labels)
    ]  # fmt: skip
    if alone:
        notes.append(
            "the seed has no effect here, because nothing is random: one run of each policy, without an interval"
        )
    if any(cell.of_file for cell in cells) and plan.draws == 1:
        notes.append("one run of each policy on the file alone, without an interval")
    if plan.precision is not None:
        most = max(Counter((o.entrant.policy, *o.setting.values()) for o, _ in made).values())
        if most >= (plan.draws or MOST) and _needed(made, metrics[0], plan.precision) > most:
            known = f"{metrics[0]} was known to {plan.precision:.2%}"
            notes.append(f"stopped at {most} runs before {known}")
    if any(ran.numbers.get("informed") for _, ran in made):
        notes.append(
            "[informed]: the policy asked for jobs that had not been submitted yet (view.all_jobs)"
        )
    for metric in metrics:
        beyond = f"jobs_beyond_{metric.partition('_')[0]}"
        fewest = min((ran.numbers.get(beyond, math.inf) for _, ran in made), default=math.inf)
        if fewest < FEW_JOBS:
            jobs = made[0][1].numbers["jobs"]
            notes.append(
                f"{metric} of one run rests on {fewest:.0f} of its {jobs:.0f} jobs, those beyond it"
            )
    return notes


def _currency(cell: Cell) -> str:
    from experiments.scenario.build import build

    if not cell.field.entrants:
        return ""
    return build(cell.field.entrants[0].scenario)[1].currency
