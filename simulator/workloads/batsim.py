"""Workloads of the simulator Batsim (Dutot et al., JSSPP 2016): JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from simulator.arguments import LATEST_S
from simulator.workloads.cells import as_text
from simulator.workloads.records import JsonTrace, at, each_at
from simulator.workloads.tables import InputColumn, Table


class BatsimJobs(JsonTrace):
    """Jobs of a Batsim workload, each as long as the delays of its profile, on as many GPUs as resources.

    Profiles whose time depends on the platform (``parallel``, ``smpi``, ..) have none here: their jobs are left
    out and counted. A delay beyond the walltime ends at it with ``kill_at_limit``.
    """

    kind: Literal["batsim"] = "batsim"

    reads = (
        InputColumn("id", "", "name of the job", "text", gives="job_id"),
        InputColumn("subtime", "s", "time of submission", "number", at_least=0, gives="submit_s"),
        InputColumn("res", "", "resources, read as GPUs", "integer", at_least=0, gives="num_gpus"),
        InputColumn("walltime", "s", "time asked for; -1: none", "number", required=False, empty=np.nan),
        InputColumn("delay", "s", "time of its profile; empty: it has none of its own", "number",
                    empty=np.nan, at_least=0, gives="duration_s"),
    )  # fmt: skip
    marks = ('"subtime"', '"profile"', '"res"')
    written = "a workload of Batsim in JSON"
    example = """\
{"nb_res": 8, "jobs": [{"id": "a", "subtime": 0, "walltime": 100, "res": 4, "profile": "d60"}],
 "profiles": {"d60": {"type": "delay", "delay": 60}}}
"""

    def rows(self, document: Any) -> list[dict[str, str]]:
        """The jobs, each with the time of its profile."""
        profiles = at(document, "profiles")
        profiles = profiles if isinstance(profiles, Mapping) else {}
        delays = {name: _delay(profile, profiles) for name, profile in profiles.items()}
        return [
            {name: as_text(at(job, name)) for name in ("id", "subtime", "res", "walltime")}
            | {"delay": delays.get(as_text(at(job, "profile")), "")}
            for job in each_at(document, "jobs")
        ]

    def parse(self, table: Table) -> dict[str, Any]:
        """A walltime that is not above 0 is none."""
        limits_s = table.numbers("walltime")
        return super().parse(table) | {"requested_s": np.where(limits_s > 0, limits_s, np.nan)}

    def left_out(self, table: Table) -> Mapping[str, Any]:
        """Jobs without a time."""
        return {"whose profile has no time of its own": np.isnan(table.numbers("delay"))}


def _delay(profile: Any, profiles: Mapping[str, Any]) -> str:
    """Time of a profile, of a sequence the sum; "" where it depends on the platform."""
    parts = each_at(profile, "seq")
    if not parts:
        return as_text(at(profile, "delay"))
    delays = [at(profiles.get(as_text(part)), "delay") for part in parts]
    repeat = at(profile, "repeat") or at(profile, "nb") or 1
    if not all(isinstance(n, int | float) and abs(n) < LATEST_S for n in (*delays, repeat)):
        return ""
    return as_text(repeat * sum(delays))
