"""Plan of a comparison: the settings, each with its scenario and policies, and how many runs are made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.comparison.entrants import ALL, Field, field_of, name_of
from experiments.comparison.estimating import FEWEST_DRAWS
from experiments.config import of_file
from experiments.scenario.options import format_of, parse_policy, parse_value, scenario_of
from experiments.sweep.task import Scalar, canonical_json, is_scalar
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario
    from simulator.model.contract import PolicyLike

TRACES = 40
"""Traces that are drawn from a file of jobs by default."""
SEEDS = 10
"""Runs of a random scenario by default, and before the width of the intervals is looked at."""
MOST = 1000
"""Runs of a policy at most, precise or not, where no number is given."""
MOST_EVER = 10_000
FEW_JOBS = 10
"""With fewer jobs beyond it, a quantile of a run is hardly known."""


@dataclass(frozen=True)
class Plan:
    """Policies, metrics and numbers of runs of a comparison.

    Attributes
    ----------
    draws : of jobs from a file, traces drawn from it in blocks, or 1 for the file alone; of others, seeds.
        None: `TRACES` or `SEEDS`.
    precision : more seeds until every interval of the first metric has at most this relative half width.
    block_jobs : jobs of a block; None: `simulator.workloads.bootstrap.block_length`.
    option : with which the metrics are given, for messages.
    columns : metrics of tables to read, in their order; empty: the metrics, and the CPU time of decisions.
    seeds : of a random scenario, one a run; empty: one after the other from the scenario's own.
    """

    def seed_of(self, first: int, number: int) -> int:
        """The seed of a run of a random scenario, counted from 0."""
        return self.seeds[number] if self.seeds else first + number

    policies: Sequence[str | PolicyLike] = ()
    metrics: Sequence[str] = ()
    draws: int | None = None
    precision: float | None = None
    block_jobs: int | None = None
    seed: int | None = None
    option: str = "--metric"
    seeds: Sequence[int] = ()
    columns: Sequence[str] = ()

    @property
    def named(self) -> dict[str, Sequence[str]]:
        """Names of numbers by the option with which they are given."""
        return {self.option: self.metrics, "--columns": self.columns}

    def check(self) -> None:
        """Refuse what does not go together, or would give no table."""
        given: dict[str, Sequence[str | PolicyLike]] = {"--policy": self.policies, **self.named}
        for option, values in given.items():
            if isinstance(values, str):
                raise InputError(f"{option}: got a text, expected a list of texts")
            names = [name_of(one) for one in values]
            if len(set(names)) < len(names):
                raise InputError(f"{option}: got {', '.join(names)}, expected different ones")
        for option, named in self.named.items():
            if "" in named:
                raise InputError(f"{option}: got an empty name, expected names of summary.json")
        if self.precision is not None and not 1e-6 <= self.precision < 1:
            raise InputError(f"--precision: got {self.precision}, expected 1e-06 to below 1")
        if self.draws is not None and not 1 <= self.draws <= MOST_EVER:
            raise InputError(f"--draws: got {self.draws}, expected 1 to {MOST_EVER:,}")
        if self.block_jobs is not None and self.block_jobs < 1:
            raise InputError(f"--block-jobs: got {self.block_jobs}, expected a number >= 1")


@dataclass(frozen=True)
class Cell:
    """One setting: its labels, the policies, and whether its jobs come from a file."""

    labels: dict[str, Scalar]
    scenario: Scenario
    field: Field
    of_file: bool
    block: int


def sources_of(source: Any) -> list[Any]:
    """Files that are compared; a scenario that is none is named so."""
    if isinstance(source, str | Path):
        return [source]
    return [*source] if isinstance(source, list | tuple) else ["scenario"]


def cells_of(
    source: Any, plan: Plan, over: Sequence[str], settings: Sequence[str], kind: str | None
) -> Iterator[Cell]:
    """Every setting: each file, at each combination of the swept keys."""
    from experiments.scenario.schema import Scenario

    names = _names(sources_of(source))
    axes = [_axis(text) for text in over]
    for one in [source] if isinstance(source, Scenario) else sources_of(source):
        for combination in itertools.product(*axes):
            labels: dict[str, Scalar] = {"file": names[str(one)]} if len(names) > 1 else {}
            values = [f"{key}={text}" for key, text, _ in combination]
            labels |= {key: value for key, _, value in combination}
            if isinstance(one, Scenario):
                if values or settings:
                    raise InputError("compare: --over and --set need a file, got a Scenario")
                scenario = one
            else:
                scenario = _read(Path(one), kind, [*settings, *values])
                _check_options([*settings, *values], scenario.policy, plan)
            if plan.seed is not None:
                scenario = scenario.model_copy(update={"seed": plan.seed})
            with of_file(str(one) if not isinstance(one, Scenario) else "scenario"):
                yield cell_of(labels, scenario, plan)


def _check_options(settings: Sequence[str], own: str, plan: Plan) -> None:
    """Raise InputError where options are set of a policy that is not compared."""
    given = [
        text for text in settings if text.partition("=")[0].strip().startswith("policy_options")
    ]
    named = [parse_policy(one)[0] for one in plan.policies if isinstance(one, str)]
    if given and plan.policies and not {own, ALL} & {*named}:
        told = f"is of {own}, which is not compared, expected --policy NAME:OPTION=VALUE"
        raise InputError(f"compare: {given[0]} {told}")


def _names(sources: Sequence[Any]) -> dict[str, str]:
    """Files and how they are called: without folder and ending, as long as this tells them apart.

    Raises InputError where one stands twice.
    """
    paths = [str(one) for one in sources]
    if len(set(paths)) < len(paths):
        raise InputError(f"compare: got {', '.join(paths)}, expected different files")
    stems = [Path(path).stem for path in paths]
    return dict(zip(paths, stems if len(set(stems)) == len(stems) else paths, strict=True))


def without_policies(over: Sequence[str]) -> tuple[list[str], list[str]]:
    """Swept keys but for ``policy``, and the policies that are its values."""
    rest = [text for text in over if text.partition("=")[0].strip() != "policy"]
    named = [part for text in over if text not in rest for _, part, _ in _axis(text)]
    return rest, named


def _axis(text: str) -> list[tuple[str, str, Scalar]]:
    """``KEY=a,b,c`` as (key, value as it was written, value)."""
    key, equals, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not equals or not key.strip() or "" in parts:
        raise InputError(f"--over {text!r}: expected KEY=a,b,c, such as cluster.num_nodes=4,8,16")
    if key.strip() == "seed":  # a column of each run
        raise InputError(
            f"--over {text!r}: each run has a seed of its own, expected --seed or --draws"
        )
    found = [(key.strip(), part, _label(parse_value(part))) for part in parts]
    if len({value for _, _, value in found}) < len(found):
        raise InputError(f"--over {text!r}: a value is given twice, expected different ones")
    return found


def _label(value: Any) -> Scalar:
    return value if is_scalar(value) else canonical_json(value)


def _read(path: Path, kind: str | None, settings: Sequence[str]) -> Scenario:
    """The scenario of a file, or of a file of jobs, which has no policy yet."""
    return scenario_of(path, format_of(path, kind), settings=settings)[0]


def cell_of(
    labels: dict[str, Scalar], scenario: Scenario, plan: Plan, field: Field | None = None
) -> Cell:
    """A setting; its policies are those of the plan where no field is given."""
    from experiments.scenario.steps import read
    from simulator.workloads.bootstrap import block_length

    of_file = "block_bootstrap" in type(scenario.workload).model_fields
    block = 0
    if of_file:
        drawn: int | None = getattr(scenario.workload, "block_bootstrap", None)
        block = plan.block_jobs or drawn or block_length(len(read(scenario).workload))
        scenario = drawing(scenario, None)
        if plan.precision is not None:
            # A mean over drawn traces: its interval would narrow for ever, the set of data stays one.
            raise InputError("--precision: the jobs come from a file; expected --draws alone")
        if plan.draws is not None and 1 < plan.draws < FEWEST_DRAWS:
            expected = f"1, or at least {FEWEST_DRAWS} for a 95 % interval"
            raise InputError(f"--draws: got {plan.draws}, expected {expected}")
    elif plan.block_jobs is not None:
        raise InputError(
            f"--block-jobs: workload {scenario.workload.kind!r} is drawn anew by each seed, expected jobs from a file"
        )
    return Cell(labels, scenario, field or field_of(scenario, plan.policies), of_file, block)


def drawing(scenario: Scenario, block: int | None) -> Scenario:
    """The scenario on another trace for each seed; None: on the trace itself."""
    jobs = scenario.workload.model_copy(update={"block_bootstrap": block})
    return scenario.model_copy(update={"workload": jobs})
