"""Results of runs of every kind, frozen in a file: shows that a change of the engine changes no result.

    python -m benchmarks.oracles freeze FILE            # on the commit before the change; from the project's folder
    python -m benchmarks.oracles compare FILE           # after it; exit code 1 if a result differs
    python -m benchmarks.oracles compare FILE drawn     # only the runs whose names contain "drawn"

Compared are the jobs, the decisions (when, by which controller, how many active jobs), the schedule, the outages
and the scalars of the summary: counts and texts exactly, other numbers to 1e-9 relative. CPU seconds differ from
run to run and are left out. The file holds the scenarios, too. Compare on one machine: solvers and compiled
kernels may round in another way on another.
"""

from __future__ import annotations

import gzip
import json
import math
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numba as numba  # before `compiling_s` is first called, which looks whether it is there
import numpy as np

from benchmarks.oracle_runs import CHANGES, PROGRAMS, Run, all_runs
from simulator import InfeasibleDecision, InputError, Result
from simulator.core.compiling import compiling_s

Columns = dict[str, list[Any]]
Frozen = dict[str, Any]

RELATIVE = 1e-9
TINY = 1e-9
"""Absolute: sums that come back to zero keep a rounding error."""
SHOWN = 5
"""Differences printed of a run."""
OF_JOBS = ("first_start_s", "completion_s", "gpu_seconds", "preemptions", "reconfigurations")
OF_DECISIONS = ("time_s", "controller", "active")
OF_SHARES = ("job_id", "start_s", "node", "end_s", "node_type", "gpus", "cpus", "memory_gb")
NOT_RESULTS = ("version", "format")
FREEZE_S, COMPARE_S = 6.0, 60.0
"""CPU seconds, without compilation, after which a run is left out of the file, and is told as a difference."""


class TooLong(Exception):
    """A run used more CPU time than it may."""


_allowed_s = 0.0
"""CPU seconds of compilation before this run, and those in it that its alarm has been put off for."""


def _stop(signum: int, frame: FrameType | None) -> None:
    """End the run, unless kernels are being compiled, or were: that time does not count.

    numba cannot be interrupted: a kernel of which the half was compiled fails from then on.
    """
    global _allowed_s
    more_s = compiling_s() - _allowed_s
    _allowed_s += more_s
    while frame is not None and not more_s:
        more_s = float(frame.f_globals["__name__"].startswith(("numba.", "llvmlite.")))
        frame = frame.f_back
    if not more_s:
        raise TooLong
    signal.setitimer(signal.ITIMER_VIRTUAL, more_s)


def result_of(run: Run, limit_s: float = COMPARE_S) -> Frozen:
    """Outcome of a run; the kind of error and its message where it is refused."""
    global _allowed_s
    _allowed_s = compiling_s()
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        return _checked(run)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _checked(run: Run) -> Frozen:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _tables(_simulated(run, Path(folder) if run.get("stream") else None))
        except (InputError, InfeasibleDecision) as error:
            return {"error": type(error).__name__, "message": str(error)}


def _simulated(run: Run, folder: Path | None) -> Result:
    if "program" in run:
        return PROGRAMS[run["program"]]()
    from experiments.scenario.build import build
    from experiments.scenario.run import run as simulated
    from experiments.scenario.schema import Scenario

    scenario = Scenario.model_validate(run["scenario"])
    built = None
    if "change" in run:
        workload, cluster = build(scenario)
        built = (CHANGES[run["change"]](workload), cluster)
    return simulated(scenario, stream_to=folder, built=built)


def _tables(result: Result) -> Frozen:
    jobs = {name: getattr(result, name).tolist() for name in OF_JOBS}
    if result.left is not None:
        jobs["left"] = result.left.tolist()
    jobs["job_id"] = list(result.workload.job_id)
    decisions = result.decisions_table()
    order = np.lexsort([decisions[name] for name in reversed(OF_DECISIONS)])
    shares = result.schedule_table()
    number = {job: k for k, job in enumerate(result.workload.job_id)}
    # By job and by start, which come before the columns that rounding may change.
    keys = [shares["end_s"], shares["node"], shares["start_s"], shares["job_id"].map(number)]
    by_job = np.lexsort([np.asarray(key) for key in keys])
    away = result.table("outages").sort_values(["node", "start_s"])
    return {
        "summary": {k: v for k, v in result.summary().items() if _is_result(k)},
        "jobs": jobs,
        "decisions": {c: decisions[c].to_numpy()[order].tolist() for c in OF_DECISIONS},
        "schedule": {c: shares[c].to_numpy()[by_job].tolist() for c in OF_SHARES},
        "outages": {str(c): away[c].tolist() for c in away},
        "server": {
            "wait_s": result.server_wait_s.tolist(),
            "response_s": result.server_response_s.tolist(),
        },
    }


def _is_result(name: str) -> bool:
    return "cpu_s" not in name and name not in NOT_RESULTS


def same(a: Any, b: Any) -> bool:
    """True where two values count as equal."""
    if isinstance(a, float) and isinstance(b, int | float) and not isinstance(b, bool):
        if math.isnan(a) or math.isinf(a):
            return str(a) == str(float(b))
        return abs(a - b) <= max(RELATIVE * max(abs(a), abs(b)), TINY)
    return bool(a == b)


def differences(old: Frozen, new: Frozen) -> Iterator[str]:
    """One line a difference, the jobs first."""
    if "error" in old or "error" in new:
        if old.get("error") != new.get("error"):
            yield f"was {old.get('message', 'a result')}, is {new.get('message', 'a result')}"
        return
    for table in ("jobs", "summary", "decisions", "schedule", "outages", "server"):
        before, after = old[table], new[table]
        for name in before.keys() & after.keys():
            if table == "summary":
                if not same(before[name], after[name]):
                    yield f"summary, {name}: was {before[name]}, is {after[name]}"
                continue
            yield from _column_differences(table, name, old, new)


def _column_differences(table: str, name: str, old: Frozen, new: Frozen) -> Iterator[str]:
    before, after = old[table][name], new[table][name]
    if len(before) != len(after):
        if name in ("time_s", "start_s", "wait_s"):
            yield f"{table}: {len(before)} rows before, {len(after)} now"
        return
    jobs = old[table].get("job_id", [])
    for row, (a, b) in enumerate(zip(before, after, strict=True)):
        if not same(a, b):
            job = f" job {jobs[row]}" if jobs else ""
            yield f"{table}, row {row}{job}: {name} was {a!r}, is {b!r}"


def freeze(path: Path) -> int:
    """Run everything and write what came out."""
    kept: list[dict[str, Any]] = []
    begin_s = time.process_time()
    for run in all_runs():
        before_s = time.process_time()
        try:
            kept.append({"run": run, "result": result_of(run, FREEZE_S)})
        except TooLong:
            print(f"takes over {FREEZE_S:g} CPU s, left out: {run['name']}", flush=True)
            continue
        used_s = time.process_time() - before_s
        note = kept[-1]["result"].get("message", "")
        print(f"{used_s:6.2f} s  {run['name']}  {note[:150]}", flush=True)
    path.write_bytes(gzip.compress(json.dumps(kept).encode()))
    print(f"{len(kept)} runs, {time.process_time() - begin_s:.0f} CPU s -> {path}")
    return 0


def compare(path: Path, wanted: str) -> int:
    """Run everything in the file again and print what differs."""
    begin_s = time.process_time()
    kept = json.loads(gzip.decompress(path.read_bytes()))
    kept = [each for each in kept if wanted in each["run"]["name"]]
    wrong, gone = 0, Counter[str]()
    for each in kept:
        run, old = each["run"], each["result"]
        try:
            # Through JSON, so that the two have values of the same types.
            new = json.loads(json.dumps(result_of(run)))
        except Exception as error:  # a mistake of the program, to be told for each run
            new = {"error": type(error).__name__, "message": f"{type(error).__name__}: {error}"}
        found = list(differences(old, new))
        if "summary" in old and "summary" in new:
            for table in old.keys() & new.keys():
                gone.update(f"{table}.{name}" for name in old[table].keys() - new[table].keys())
        if found:
            wrong += 1
            print(f"{run['name']}: {len(found)} differences", flush=True)
            for line in found[:SHOWN]:
                print(f"    {line}")
    for name, count in gone.items():
        print(f"no longer there in {count} runs: {name}")
    print(f"{wrong} of {len(kept)} runs differ, {time.process_time() - begin_s:.0f} CPU s")
    return int(wrong > 0)


def main(arguments: list[str]) -> int:
    """Exit code 0 where nothing differs, 1 where something does, 2 for other arguments."""
    if len(arguments) == 2 and arguments[0] == "freeze":
        return freeze(Path(arguments[1]))
    if len(arguments) in (2, 3) and arguments[0] == "compare":
        return compare(Path(arguments[1]), "".join(arguments[2:]))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
