"""Tasks of the benchmark: frozen scenarios, policies and metrics, read from tasks/*.toml, and what they are made of.

A task never changes: a correction is a new task, ``-v2``. ``tasks.lock`` holds, for each size, the hashes of the jobs, the
machines and the rules, and for size s of one schedule that the engine made when the task was frozen.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from simulator.errors import InputError, meant
from simulator.files.inputs import read_input
from simulator.files.keys import Config

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario

HERE = Path(__file__).parent
LOCK = HERE / "tasks.lock"
VERSION = "bench-1.0"
KEY_HASH = "6d2f40dee54119eae8185d13479e1e3db21f0b6b0c706c95eefa9eb12ce44dd5"
"""SHA-256 of the key that draws the seeds of the official table; the key is published with the table."""
SEED_BITS = 31
FROZEN = ("job_id", "node", "node_type", "gpus", "start_s", "end_s")
"""Columns of a schedule that are frozen."""
NO_RULES = {"workload", "cluster", "policy", "policy_label", "seed"}
"""Keys of a scenario that are no rules of the task."""
LATER = ("outages", "calendar")
"""Tables that there were not yet when tasks were frozen: no rules of a task that has none of them."""
GOLDEN = "s"
"""Size of which a schedule is frozen, too."""


class TaskSize(Config):
    """Size of a task: small (s), medium (m) or large (l)."""

    set: list[str] = Field(description="``KEY=VALUE`` of the scenario")
    seeds: int = Field(ge=1, description="runs of each policy")


class BenchTask(Config):
    """Task of the benchmark, as its file gives it."""

    title: str
    licence: str = Field(description="of the jobs")
    source: str = Field(description="of the jobs")
    rank: list[str] = Field(description="metrics of summary.json; the first one orders the table")
    policies: list[str] = Field(description="baselines")
    exact: dict[str, str] = Field(
        default={}, description="baselines that equal published results job by job, and whose"
    )
    knows: dict[str, str] = Field(
        default={}, description="baselines that know more than the jobs so far, and what"
    )
    trace_sha256: str = Field(
        default="",
        description="of a file that is not shipped: --trace FILE; of its content where it is .gz",
    )
    trace_key: str = Field(
        default="workload.path", description="key of the scenario that names that file"
    )
    scenario: dict[str, Any] = Field(description="keys of a scenario, without policy")
    sizes: dict[str, TaskSize]


@cache
def tasks() -> Mapping[str, BenchTask]:
    """All tasks, by their id: the name of the file."""
    return {
        path.stem: BenchTask.model_validate(tomllib.loads(path.read_text("utf-8")))
        for path in sorted((HERE / "tasks").glob("*.toml"))
    }


def task_of(name: str) -> BenchTask:
    """A task by its id.

    Raises
    ------
    InputError
        There is none of this name.
    """
    found = tasks()
    if name not in found:
        raise InputError(f"task: got {name!r}, {meant(name, [*found])}")
    return found[name]


def scenario_of_task(name: str, size: str, trace: Path | None = None) -> Scenario:
    """The scenario of a task, with its first policy.

    Parameters
    ----------
    trace : own copy of a file of jobs that may not be shipped; its hash has to be that of the task.

    Raises
    ------
    InputError
        The task, the size or the file is not there, or the file is another one.
    """
    from experiments.config import validated
    from experiments.scenario.options import set_key
    from experiments.scenario.schema import Scenario

    task = task_of(name)
    if size not in task.sizes:
        raise InputError(f"--size: got {size!r}, expected one of {', '.join(task.sizes)}")
    config: dict[str, Any] = {**deepcopy(task.scenario), "policy": task.policies[0]}
    for setting in task.sizes[size].set:
        set_key(config, setting)
    if task.trace_sha256:
        if trace is None:
            raise InputError(
                f"{name}: its jobs are not shipped ({task.source}); --trace FILE names a copy"
            )
        content = read_input(trace)
        found = hashlib.sha256(content).hexdigest()
        if found != task.trace_sha256:
            expected = f"{task.trace_sha256[:12]}.. of the frozen one"
            raise InputError(f"--trace {trace}: SHA-256 {found[:12]}.., expected {expected}")
        set_key(config, f"{task.trace_key}={json.dumps(str(trace.absolute()))}")
    elif trace is not None:
        raise InputError(f"--trace {trace}: {name} brings its own jobs")
    return validated(Scenario, config, name)


def official_seeds(name: str, count: int, key: str) -> list[int]:
    """Seeds of the official table: HMAC-SHA256 of the key over task and number, 31 bits."""
    if hashlib.sha256(key.encode()).hexdigest() != KEY_HASH:
        raise InputError("--key: its SHA-256 is not that of the official key")
    digests = (
        hmac.new(key.encode(), f"{name} {number}".encode(), "sha256").digest()
        for number in range(count)
    )
    return [int.from_bytes(digest[:4], "big") >> (32 - SEED_BITS) for digest in digests]


def made_of(scenario: Scenario, schedule: bool) -> dict[str, str]:
    """Hashes of the jobs and machines of a scenario under seed 0, of its rules, and, if wanted, of the engine's schedule.

    Numbers count with nine digits, so that another machine's last bit is the same task.
    """
    from experiments.scenario.build import build
    from experiments.scenario.run import run

    first = scenario.model_copy(update={"seed": 0})
    workload, cluster = build(first)
    times = workload.performance.table_s(np.arange(min(len(workload), 1000)), cluster)
    jobs = [
        workload.job_id, workload.submit_s, workload.num_gpus, workload.due_s, workload.weight_per_s,
        workload.num_nodes, workload.vc, times,
    ]  # fmt: skip
    none = {name for name in LATER if getattr(first, name) is None}
    rules = first.model_dump(mode="json", exclude=NO_RULES | none)
    for table in rules.values():
        if isinstance(table, dict):
            table.pop("path", None)
    made = {
        "jobs": _hash(jobs),
        "machines": _hash(
            [[str(t) for t in cluster.type_of or cluster.node_types], cluster.num_nodes]
        ),
        "rules": _hash([json.dumps(rules, sort_keys=True, default=str)]),
    }
    if schedule:
        table = run(first).schedule_table()
        made["schedule"] = _hash([table[name].tolist() for name in FROZEN])
    return made


def _hash(columns: Any) -> str:
    found = hashlib.sha256()
    for column in columns:
        for value in np.asarray(column).ravel().tolist():
            text = f"{value:.9g}" if isinstance(value, float) else str(value)
            found.update(text.encode() + b"\n")
    return found.hexdigest()[:16]


def locked() -> dict[str, dict[str, str]]:
    """Hashes of ``tasks.lock`` by "TASK SIZE"."""
    found: dict[str, dict[str, str]] = json.loads(LOCK.read_text("utf-8"))
    return found


def changed(name: str, size: str, scenario: Scenario) -> Iterator[str]:
    """Parts that are not as they were when the task was frozen, a line each."""
    before, now = locked().get(f"{name} {size}", {}), made_of(scenario, size == GOLDEN)
    for part, value in before.items():
        if now[part] != value:
            yield f"{name} {size}: its {part} are not those that were frozen ({now[part]}, was {value})"


def main() -> None:
    """Freeze what is not frozen yet: python -m experiments.bench.task [TASK=FILE ..], its own copy for a task that needs one."""
    traces = dict(word.split("=", 1) for word in sys.argv[1:])
    before = locked() if LOCK.exists() else {}
    for name, task in tasks().items():
        trace = Path(traces[name]) if name in traces else None
        for size in task.sizes if trace or not task.trace_sha256 else ():
            if f"{name} {size}" not in before:
                scenario = scenario_of_task(name, size, trace)
                before[f"{name} {size}"] = made_of(scenario, size == GOLDEN)
    LOCK.write_text(json.dumps(before, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
