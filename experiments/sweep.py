"""Sweeps: a TOML file -> many runs, in one folder that survives anything.

    policies = ["fifo", "edf", { name = "milp", options = { solver = "highs" } }]
    seeds = 10                            # 0..9, or a list; that of the scenario where left out

    [scenario]                            # or scenario = "file.toml"
    workload.kind = "hierarchical"

    [grid]                                # every combination
    workload.mean_gap_s = [30_000, 45_000]

    [[zip]]                               # lists that advance together
    workload.num_nodes = [5, 10]
    cluster.num_controllers = [1, 2]

    [[points]]                            # single settings, one after another
    decisions.period_s = 3600

Every policy meets every setting with the same seeds, and thus the same jobs. The four commands
below print what they do and return an exit code: 0, 1 where runs failed or the disk is full,
128 + signal where they were stopped.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError

from experiments.config import Config, checked, explained, read_toml
from experiments.task import Scalar, Task, canonical_json, flatten, is_scalar, resolve
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.runner import RunSummary
    from experiments.store import Store

RUN_SCENARIO = "experiments.scenario:run_scenario"
FAILURES_SHOWN = 5

Seed = Annotated[int, Field(ge=0)]


class PolicySpec(Config):
    """A policy with options, and the name that it has in the tables."""

    name: str
    options: dict[str, float | int | str | bool] = Field(default_factory=dict)
    label: str | None = None


class SweepFile(Config):
    """What a sweep's file may hold; see the module's text."""

    scenario: dict[str, Any] | str
    policies: list[str | PolicySpec] = Field(default_factory=list)
    seeds: Annotated[int, Field(ge=1)] | Annotated[list[Seed], Field(min_length=1)] | None = None
    grid: dict[str, Any] = Field(default_factory=dict)
    zip: list[dict[str, Any]] = Field(default_factory=list)
    points: list[dict[str, Any]] = Field(default_factory=list)
    time_limit_s: Annotated[float, Field(gt=0)] | None = None
    function: str = RUN_SCENARIO


Setting = dict[str, Any]
"""Values of some parameters, by dotted name."""


def read_sweep(file: Path) -> tuple[SweepFile, list[Task]]:
    """The sweep of a file, and its runs: settings x policies x seeds.

    Raises
    ------
    InputError
        "FILE: path.to.key: got X, expected Y".
    """
    spec = checked(SweepFile, read_toml(file), str(file))
    base, scenario_file = _base(spec, file)
    settings = list(_settings(spec, file))
    seeds = _seeds(spec, base)
    policies: list[str | PolicySpec | None] = [*spec.policies] or [None]
    tasks: list[Task] = []
    for setting, policy in itertools.product(settings, policies):
        config = _with(base, setting, policy, str(file))
        labels = {name: _label(value) for name, value in setting.items()}
        if policy is not None:
            labels["policy"] = _policy_label(policy)
        _resolve_paths(config, scenario_file.parent)
        config = _checked(config | {"seed": seeds[0]}, spec.function, file, setting)
        tasks += [_task(spec.function, config, labels, seed) for seed in seeds]
    return spec, tasks


def _seeds(spec: SweepFile, base: Mapping[str, Any]) -> list[int]:
    if spec.seeds is None:
        return [base.get("seed", 0)]
    return list(range(spec.seeds)) if isinstance(spec.seeds, int) else spec.seeds


def _task(function: str, config: dict[str, Any], labels: dict[str, Scalar], seed: int) -> Task:
    config = config | {"seed": seed}
    files = [v for k, v in flatten(config).items() if k.rpartition(".")[2] == "path"]
    return Task(function, config, labels | {"seed": seed}, files=tuple(files))


def _base(spec: SweepFile, file: Path) -> tuple[dict[str, Any], Path]:
    """The scenario that everything is a variation of, and the file that it stands in."""
    if isinstance(spec.scenario, dict):
        return spec.scenario, file
    path = file.parent / spec.scenario
    return read_toml(path), path


def _settings(spec: SweepFile, file: Path) -> Iterable[Setting]:
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
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InputError(f"{file}: zip[{index}]: {told}, expected lists of one length")
        axes.append(
            [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        )
    if spec.points:
        axes.append([flatten(point) for point in spec.points])
    names = [name for axis in axes for name in {n: None for setting in axis for n in setting}]
    _expect_apart(names + ["seed"] + ["policy"] * bool(spec.policies), file)
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
        config.pop("policy_options", None)
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


def _resolve_paths(config: dict[str, Any], folder: Path) -> None:
    """Make every key "path" absolute; it is relative to the file that it stands in."""
    for key, value in config.items():
        if isinstance(value, dict):
            _resolve_paths(value, folder)
        elif key == "path" and isinstance(value, str):
            config[key] = str((folder / value).absolute())


def _checked(config: dict[str, Any], function: str, file: Path, setting: Setting) -> dict[str, Any]:
    """The configuration as its model sees it, defaults filled in."""
    run = resolve(function)
    model, check = getattr(run, "config_model", None), getattr(run, "config_check", None)
    if model is None:
        return config
    try:
        full: dict[str, Any] = model.model_validate(config).model_dump(
            mode="json", exclude_none=True
        )
    except ValidationError as error:
        path, text = explained(error, model, config)
        swept = any(path == name or path.startswith(f"{name}.") for name in setting)
        where = _place(path, swept)
        raise InputError(f"{file}: {where}: {text}") from None
    if check is not None:
        try:
            check(full)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
    return full


def _place(path: str, swept: bool) -> str:
    if swept:
        return f"swept parameter {path}"
    return f"scenario.{path}" if path else "scenario"


def _label(value: Any) -> Scalar:
    return value if is_scalar(value) else canonical_json(value)


def _policy_label(policy: str | PolicySpec) -> str:
    if isinstance(policy, str):
        return policy
    options = ",".join(f"{name}={_label(value)}" for name, value in policy.options.items())
    return policy.label or (f"{policy.name}({options})" if options else policy.name)


# -- the commands ----------------------------------------------------------------------------------


def sweep(
    file: Path,
    out: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    progress: bool = True,
) -> int:
    """Run a sweep into the folder ``out``, or go on with it; returns the exit code.

    The same sweep in the same folder always goes on. Another one, or this one after the code has
    changed, is refused unless ``resume`` says that what still fits is to be kept.
    """
    from experiments.runner import exit_code
    from experiments.store import Store

    spec, tasks = read_sweep(file)

    def work() -> int:
        with Store(out, create=True) as store:
            return _run(
                tasks,
                store,
                workers=workers,
                dask=dask,
                resume=resume,
                progress=progress,
                time_limit_s=spec.time_limit_s,
                notes={"file": file.name, "time_limit_s": spec.time_limit_s},
            )

    return exit_code(work)


def retry(
    folder: Path,
    *,
    failed: bool = True,
    workers: int | None = None,
    dask: str | None = None,
    progress: bool = True,
) -> int:
    """Run again what failed in the folder, and what is left; returns the exit code.

    Raises
    ------
    InputError
        No sweep there, or the code has changed since: ``sweep --resume`` then.
    """
    from experiments.runner import exit_code
    from experiments.store import Store

    Store(folder).close()  # It has to be there already.

    def work() -> int:
        with Store(folder, create=True) as store:
            return _run(
                store.tasks(),
                store,
                workers=workers,
                dask=dask,
                resume=False,
                retry_failed=failed,
                progress=progress,
                time_limit_s=store.note("time_limit_s"),
            )

    return exit_code(work)


def _run(tasks: list[Task], store: Store, **options: Any) -> int:
    from experiments.runner import run_tasks

    summary = run_tasks(tasks, store, **options)
    print(told(summary, store))
    return 1 if summary.failed else 0


def told(summary: RunSummary, store: Store) -> str:
    """What a command says at its end."""
    lines = [
        f"{summary.done} of {summary.total} runs done, {summary.failed} failed; "
        f"{summary.computed} computed now in {summary.wall_s:.1f} s "
        f"({summary.cpu_s:.1f} s of CPU)"
    ]
    if summary.failed:
        lines += _failures(store, limit=FAILURES_SHOWN)
        lines.append(
            f"tracebacks: schedlab status {store.folder} --tracebacks; "
            f"again: schedlab retry {store.folder} --failed"
        )
    lines.append(f"one table of all: schedlab export {store.folder}")
    return "\n".join(lines)


def _failures(store: Store, *, limit: int | None = None, tracebacks: bool = False) -> list[str]:
    """The failed runs, those with the same error together."""
    by_error: dict[str, list[tuple[dict[str, Scalar], str]]] = {}
    for labels, error in store.failures():
        by_error.setdefault(last_line(error), []).append((labels, error))
    lines = []
    for error, runs in list(by_error.items())[:limit]:
        labels, trace = runs[0]
        named = ", ".join(f"{name}={value}" for name, value in labels.items())
        more = f" (and {len(runs) - 1} more)" if len(runs) > 1 else ""
        lines.append(f"  failed: {named}{more}: {error}")
        lines += [f"    {line}" for line in trace.splitlines()] if tracebacks else []
    if limit is not None and len(by_error) > limit:
        lines.append(f"  and {len(by_error) - limit} other errors")
    return lines


def last_line(error: str) -> str:
    """What went wrong, without the way there."""
    return error.rstrip().rpartition("\n")[2]


def status(folder: Path, *, tracebacks: bool = False) -> int:
    """Print how far the sweep in the folder is, and which runs failed; returns the exit code."""
    from experiments.store import Store

    with Store(folder) as store:
        counts = store.counts()
        running = "a sweep is running on it" if store.is_locked() else "no sweep is running"
        print(
            f"{folder}: {counts.total} runs, {counts.done} done, {counts.failed} failed, "
            f"{counts.left} left; {running}"
        )
        for line in _failures(store, tracebacks=tracebacks):
            print(line)
    return 0


def export(
    folder: Path,
    *,
    format: str = "csv",
    out: Path | None = None,
    table: str | None = None,
    timings: bool = False,
) -> int:
    """Write one tidy table of the sweep in the folder, one row a run; returns the exit code.

    Parameters
    ----------
    format : "csv" or "parquet".
    out : the file; ``folder``/runs.csv (or the table's name) where None.
    table : instead, all rows of this table of every run ("jobs").
    timings : with the scalars that measure this machine; without, the same bytes anywhere.
    """
    from experiments.export import write_export
    from experiments.store import Store

    with Store(folder) as store:
        path, rows = write_export(store, format=format, out=out, table=table, timings=timings)
    print(f"{path}: {rows} rows")
    return 0
