"""Sweep files (TOML): what they may hold, and the runs that they stand for.

docs/sweeps.md explains the tables by an example. A sweep file is data: a function of one's own needs
``allow_code`` (see `experiments.sweep.trust`).
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from experiments.config import (
    Config,
    KeyedError,
    explained,
    path_keys,
    path_of,
    read_toml,
    validated,
)
from experiments.sweep.task import Scalar, Task, canonical_json, flatten, is_scalar, resolve
from experiments.sweep.trust import expect_trusted
from experiments.sweep.worker import MOST_LIMIT_S
from simulator.errors import InputError

RUN_SCENARIO = "experiments.scenario.run:run_scenario"
MOST_RUNS = 1_000_000
"""A sweep of more is a mistake: planning it alone takes minutes and gigabytes."""

Seed = Annotated[int, Field(ge=0)]


class PolicySpec(Config):
    """A policy with options, and the name that it has in the tables."""

    name: str = Field(examples=["randomised-greedy"])
    """name of the policy"""
    options: dict[str, float | int | str | bool] = Field(
        default_factory=dict, examples=[{"iterations": 20}]
    )
    """its options"""
    label: str | None = Field(default=None, examples=["RG"])
    """name in the tables; left out: the policy's"""


class SweepFile(Config):
    """Many runs of a scenario: settings times policies times seeds."""

    scenario: dict[str, Any] | str = Field(examples=["scenario.toml"])
    """a scenario as a table, or the name of its file, relative to this one"""
    policies: list[str | PolicySpec] = Field(default_factory=list, examples=[["fifo", "edf"]])
    """policies: names, or tables with name, options and label"""
    seeds: (
        Annotated[int, Field(ge=1, le=MOST_RUNS)]
        | Annotated[list[Seed], Field(min_length=1)]
        | None
    ) = Field(default=None, examples=[10])
    """number of seeds, from 0, or a list of them"""
    grid: dict[str, Any] = Field(default_factory=dict, examples=[{"workload.num_nodes": [5, 10]}])
    """lists of values by key; every combination is run"""
    zip: list[dict[str, Any]] = Field(
        default_factory=list,
        examples=[[{"workload.num_nodes": [20, 40], "cluster.num_controllers": [4, 8]}]],
    )
    """tables of lists that advance together; several tables are combined in every way"""
    points: list[dict[str, Any]] = Field(
        default_factory=list, examples=[[{"label": "hourly", "decisions.period_s": 3600}]]
    )
    """alternative settings; `label` names one in the tables"""
    time_limit_s: Annotated[float, Field(gt=0, le=MOST_LIMIT_S)] | None = Field(
        default=None, examples=[120]
    )
    """a run that takes longer is stopped and counted as failed"""
    function: str = RUN_SCENARIO
    """function `run(config) -> Outcome` to call in place of a scenario; needs --allow-code, or a package that registers it"""


Setting = dict[str, Any]
"""Values of some parameters, by dotted name."""

POINT = "label"
"""In a point of a scenario's sweep: its name in the tables, no parameter."""


def read_sweep(
    file: Path,
    *,
    allow_code: bool = False,
    changes: Mapping[str, Any] | None = None,
    policies: Sequence[PolicySpec] = (),
    keep: Callable[[Mapping[str, Scalar]], bool] = lambda _: True,
) -> tuple[SweepFile, list[Task]]:
    """The sweep of a file, and its runs: settings x policies x seeds.

    Parameters
    ----------
    allow_code : the file may name any function. It is imported and called: code of the file's
        author runs with the rights of the user.
    changes : parameters of the scenario, by dotted name, that take other values than the file's:
        the same study at another size. What the file sweeps, it sets itself.
    policies : in place of the file's; files of these are relative to the working directory.
    keep : of a run's labels: whether it is wanted; the others are not checked.

    Raises
    ------
    InputError
        "FILE: path.to.key: got X, expected Y", for whatever can be known without a run.
    """
    raw = read_toml(file)
    if not {"scenario", "function"} & set(raw) and {"workload", "cluster"} & set(raw):
        raise InputError(f"{file}: holds a scenario, expected a sweep; try: schedlab run {file}")
    spec = validated(SweepFile, raw, str(file))
    expect_trusted([spec.function], str(file), allow_code=allow_code)
    function = _Function(spec.function)
    base = _with(_base(spec, file, function), dict(changes or {}), None, str(file))
    seeds = _seeds(spec, base, file)
    if policies:
        spec = spec.model_copy(update={"policies": [*policies]})
    entrants: list[str | PolicySpec | None] = [*spec.policies] or [None]
    _expect_different(_policy_labels(spec), f"{file}: policies: label")
    tasks: list[Task] = []
    seen: dict[str, str] = {}
    for setting in _settings(spec, file, len(entrants) * len(seeds)):
        values = _resolved(setting, file.parent, function)
        for number, policy in enumerate(entrants):
            labels = {name: _label(value) for name, value in setting.items()}
            if policy is not None:
                labels["policy"] = _policy_label(policy)
            wanted = [seed for seed in seeds if keep(labels | {"seed": seed})]
            if not wanted:
                continue
            config = _with(base, values, policy, str(file)) | {"seed": seeds[0]}
            function.make_absolute(config, Path() if policies else file.parent)
            place = _Combination(file, setting, policy, number)
            config, fixed_jobs = function.validated(config, place)
            _expect_new(config, labels, seen, file)
            tasks += [function.task(config, labels, seed, fixed_jobs) for seed in wanted]
    return spec, tasks


def _seeds(spec: SweepFile, base: Mapping[str, Any], file: Path) -> list[int]:
    if spec.seeds is None:
        return [base.get("seed", 0)]
    if isinstance(spec.seeds, int):
        return list(range(spec.seeds))
    _expect_different(spec.seeds, f"{file}: seeds")
    return spec.seeds


def _policy_labels(spec: SweepFile) -> list[str]:
    return [_policy_label(policy) for policy in spec.policies]


def _expect_different(values: Sequence[Scalar], what: str) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise InputError(f"{what} {twice[0]!r} is given twice, expected different ones")


def _expect_new(
    config: dict[str, Any], labels: Mapping[str, Scalar], seen: dict[str, str], file: Path
) -> None:
    """The same run must not count twice in the table."""
    setting = ", ".join(f"{name}={value}" for name, value in labels.items()) or "the scenario"
    first = seen.setdefault(canonical_json(config, what=f"{file}: {setting}"), setting)
    if first is not setting:
        raise InputError(
            f"{file}: the same runs twice ({first}; {setting}), expected different settings"
        )


def _base(spec: SweepFile, file: Path, function: _Function) -> dict[str, Any]:
    """The scenario that everything is a variation of, its input files made absolute."""
    source = file if isinstance(spec.scenario, dict) else file.parent / spec.scenario
    base = spec.scenario if isinstance(spec.scenario, dict) else read_toml(source)
    function.make_absolute(base, source.parent)
    return base


def _resolved(setting: Setting, folder: Path, function: _Function) -> Setting:
    """The values with input files absolute, without the name of the point."""
    resolved: Setting = {}
    for name, value in setting.items():
        if name == POINT and function.is_scenario:
            continue
        *parents, last = name.split(".")
        table: dict[str, Any] = {last: copy.deepcopy(value)}
        whole = table
        for parent in reversed(parents):
            whole = {parent: whole}
        function.make_absolute(whole, folder)
        resolved[name] = table[last]
    return resolved


def _settings(spec: SweepFile, file: Path, runs_each: int) -> Iterable[Setting]:
    """Every setting; ``runs_each`` is how many runs each stands for."""
    axes: list[list[Setting]] = []
    for name, values in flatten(spec.grid).items():
        _expect_list(values, f"{file}: grid.{name}")
        axes.append([{name: value} for value in values])
    for index, table in enumerate(spec.zip):
        columns = flatten(table)
        for name, values in columns.items():
            _expect_list(values, f"{file}: zip[{index}].{name}")
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InputError(f"{file}: zip[{index}]: {found}, expected lists of one length")
        axes.append(
            [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        )
    if spec.points:
        axes.append([flatten(point) for point in spec.points])
    names = [name for axis in axes for name in {n: None for setting in axis for n in setting}]
    _expect_apart(names + ["seed"] + ["policy"] * bool(spec.policies), file)
    runs = math.prod(len(axis) for axis in axes) * runs_each
    if runs > MOST_RUNS:
        raise InputError(f"{file}: got {runs:,} runs, expected at most {MOST_RUNS:,} in a sweep")
    for combination in itertools.product(*axes):
        yield {name: value for setting in combination for name, value in setting.items()}


def _expect_apart(names: list[str], file: Path) -> None:
    """No parameter may be set twice, nor together with the table that holds it."""
    for first, second in itertools.permutations(names, 2):
        if first == second or first.startswith(f"{second}."):
            raise InputError(f"{file}: {first}: set in two places of the sweep, expected one")


def _expect_list(values: Any, where: str) -> None:
    if not isinstance(values, list) or not values:
        raise InputError(f"{where}: got {values!r}, expected a list of values")


def _with(
    base: Mapping[str, Any], setting: Setting, policy: str | PolicySpec | None, source: str
) -> dict[str, Any]:
    config = copy.deepcopy(dict(base))
    if policy is not None:
        options = policy.options if isinstance(policy, PolicySpec) else {}
        config["policy"] = policy.name if isinstance(policy, PolicySpec) else policy
        for key in ("policy_options", "policy_label"):
            config.pop(key, None)
        if options:
            config["policy_options"] = dict(options)
    for name, value in setting.items():
        *parents, last = name.split(".")
        table = config
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise InputError(f"{source}: {name}: {parent!r} is no table of the scenario")
        table[last] = copy.deepcopy(value)
    return config


class _Function:
    """The task function of a sweep, with the checks that it brings for its configuration."""

    def __init__(self, name: str) -> None:
        self._name = name
        run = resolve(name)
        self._model = getattr(run, "config_model", None)
        self._files = getattr(run, "config_files", path_keys)
        self._has_fixed_jobs = getattr(run, "config_fixed_jobs", lambda _: False)
        checks = getattr(run, "config_checks", None)
        self._check = checks() if checks is not None else None
        self.is_scenario = name == RUN_SCENARIO

    def make_absolute(self, config: dict[str, Any], folder: Path) -> None:
        """Input files are relative to the file that names them."""
        for table, key in self._files(config):
            table[key] = str((folder / table[key]).absolute())

    def validated(self, config: dict[str, Any], where: _Combination) -> tuple[dict[str, Any], bool]:
        """The configuration as its model sees it, defaults filled in; whether its jobs are fixed."""
        if self._model is None:
            return config, False
        try:
            instance = self._model.model_validate(config)
            if self._check is not None:
                self._check(instance)
        except ValidationError as error:
            raise where.error(*explained(error, self._model, config)) from None
        except KeyedError as error:
            raise where.error(error.key, error.text) from None
        except InputError as error:
            raise InputError(f"{where.file}: {error}") from None
        full: dict[str, Any] = instance.model_dump(mode="json", exclude_none=True)
        return full, self._has_fixed_jobs(instance)

    def task(
        self, config: dict[str, Any], labels: dict[str, Scalar], seed: int, fixed_jobs: bool
    ) -> Task:
        config = config | {"seed": seed}
        files = dict.fromkeys(str(path_of(table[key])) for table, key in self._files(config))
        labels = labels | {"seed": seed}
        return Task(self._name, config, labels, files=tuple(files), fixed_jobs=fixed_jobs)


@dataclass(frozen=True)
class _Combination:
    """Origin of a configuration, for messages about it."""

    file: Path
    setting: Setting
    policy: str | PolicySpec | None
    number: int

    def error(self, key: str, text: str) -> InputError:
        if self.policy is not None and key in ("policy", "policy_options"):
            return InputError(f"{self.file}: policies[{self.number}]: {text}")
        if any(key == name or key.startswith(f"{name}.") for name in self.setting):
            return InputError(f"{self.file}: swept parameter {key}: {text}")
        place = f"scenario.{key}" if key else "scenario"
        # What is wrong may lie in how a swept parameter goes with this one.
        at = ", ".join(f"{name} = {_label(value)}" for name, value in self.setting.items())
        return InputError(f"{self.file}: {place}: {text}{f' (at {at})' if at else ''}")


def _label(value: Any) -> Scalar:
    return value if is_scalar(value) else canonical_json(value)


def _policy_label(policy: str | PolicySpec) -> str:
    if isinstance(policy, str):
        return policy
    options = ",".join(f"{name}={_label(value)}" for name, value in policy.options.items())
    return policy.label or (f"{policy.name}({options})" if options else policy.name)
