"""No policy reads jobs that have not been submitted: other jobs to come, the same decisions until then."""

from dataclasses import replace

import numpy as np
import pytest

from policies import composed_names, make_policy, policy_names
from policies.registry import requirements_of
from simulator import Cluster, NodeType, TimeTable, Workload
from simulator.model.fractional import SharedDuration
from simulator.workloads.reshaping import time_shared
from tests.core.jobs import fixed, nodes, run


def is_planner(name: str) -> bool:
    """Whether the jobs of a policy are elastic, on nodes."""
    fixed = {"fixed-demand", "stated-demand", "time-shared", "list-or-node", "arrivals"}
    return not fixed & set(requirements_of(name))


FIRST, COUNT = 12, 20
"""Jobs that are the same in both workloads, and all of them."""
SYNERGY = ("srtf+tune", "las+greedy", "ftf+proportional", "drf+tune")
WRAPPED = (
    "edf@self-timed", "greedy@self-timed", "sjf@hysteresis", "greedy@hysteresis", "sjf@decision-trace"
)  # fmt: skip
assert set(SYNERGY) <= set(composed_names())
SHARES = (
    "gandiva-fair", "max-min-fairness", "min-makespan", "min-cost", "allox", "shockwave",
    "max-throughput", "finish-time-fairness", "hierarchical-fairness",
)  # fmt: skip
NAMES = [*policy_names(), *SYNERGY, *WRAPPED]
NAMES.remove("milp-literal")  # milp with another program on the same instance: takes a minute
KNOWS_RATES = [name for name in NAMES if "arrivals" in requirements_of(name)]
"""Policies of the rental model are given the rate of arrivals, by definition: that of the whole list."""
ON_BOTH = ("fifo", "edf", "weight-priority", "edf@self-timed")
"""They order jobs of fixed demand, and place elastic ones."""
CASES = [
    pytest.param(name, False) for name in NAMES if name not in KNOWS_RATES and not is_planner(name)
]
CASES += [pytest.param(name, True) for name in NAMES if name in ON_BOTH or is_planner(name)]
OPTIONS = {
    "randomised-greedy": {"iterations": 10},
    "local-search": {"iterations": 10},
    "path-relinking": {"iterations": 10},
    **{name: {"round_s": 30.0, "reset_s": 0.0} for name in SHARES},
    "linear-score": {"weights": "0.5,-1,-2,0.3,0.7,5,0"},
}


def columns_of(rng: np.random.Generator, mean_s: float, count: int) -> dict[str, np.ndarray]:
    """Columns of jobs."""
    return {
        "duration_s": rng.uniform(0.2, 2.0, count) * mean_s,
        "gpus": rng.choice([1, 1, 1, 2, 4], count),
        "gap_s": rng.exponential(30.0, count),
        "slack": rng.uniform(0.5, 5.0, count),
        "weight_per_s": rng.uniform(0.001, 0.01, count),
        "vc": rng.choice(["a", "b", "c"], count),
        "part": rng.choice([0.25, 0.5, 1.0], count),
        "times": rng.uniform(0.2, 1.1, (count, 2, 3)),
    }


def workloads(name: str, elastic: bool) -> list[Workload]:
    """Two, whose first jobs are the same. The later ones of the second are far longer, heavier, and late."""
    rng = np.random.default_rng(7)
    first, later = columns_of(rng, 200.0, FIRST), columns_of(rng, 200.0, COUNT - FIRST)
    other = columns_of(np.random.default_rng(8), 9000.0, COUNT - FIRST)
    other["weight_per_s"] *= 1e4
    other["slack"] *= 0.01
    other["gap_s"][0] += 5e4
    made = []
    for rest in (later, other):
        columns = {key: np.concatenate([first[key], rest[key]]) for key in first}
        made.append(workload(name, elastic, columns))
    return made


SAME_TYPE = {"one-type", "types-known"}
"""Requirements of policies that want nodes of one type here, since the jobs have no tables by type."""


def workload(name: str, elastic: bool, c: dict[str, np.ndarray]) -> Workload:
    """Of the kind that a policy takes."""
    needs, gpus = requirements_of(name), c["gpus"]
    submit_s = np.cumsum(c["gap_s"])
    due_s, names = submit_s + c["slack"] * c["duration_s"], c["vc"].tolist()
    columns = {"due_s": due_s, "weight_per_s": c["weight_per_s"], "vc": names, "model": names}
    jobs = fixed(submit_s, c["duration_s"], gpus, **columns)
    if elastic:
        times = np.full((COUNT, 2, 3), np.inf)
        times[:, :, 1:] = c["duration_s"][:, None, None] * c["times"][:, :, 1:]
        if SAME_TYPE & set(needs):
            times = times[:, 1:]
        return replace(jobs, performance=TimeTable(times))
    if "time-shared" in needs:
        return time_shared(jobs)
    if name in ("shared", "complementary", "slices"):
        part = np.where(gpus == 1, c["part"], 1.0)
        return replace(jobs, performance=SharedDuration(c["duration_s"], gpus, part=part))
    return jobs


def until_then(name: str, elastic: bool, jobs: Workload, until_s: float) -> str:
    """Decisions of a policy before an instant with all that they record, and all that ran until then."""
    types, needs = [NodeType("v", "A", 2, 0.5), NodeType("w", "B", 2, 1.2)], requirements_of(name)
    if not elastic:
        cluster = nodes(4, 2, price_per_hour=2.0, cpus=12, memory_gb=200)
    elif SAME_TYPE & set(needs):
        cluster = Cluster.of_nodes(types[1], 2)
    else:
        cluster = Cluster(types, 2, (0, 1)) if "servers" in needs else Cluster.of_vms(types, 2)
    policy = make_policy(name, **OPTIONS.get(name, {}))
    result = run(jobs, cluster, policy, seed=1, round_s=60.0 if "+" in name else None)
    asked = result.decisions_table()
    asked = asked[asked["time_s"] < until_s].dropna(axis=1, how="all").convert_dtypes()
    ran = result.schedule_table()
    ran = ran[ran["start_s"] < until_s].assign(end_s=ran["end_s"].clip(upper=until_s))
    assert len(asked) >= 5
    assert len(ran) >= 5
    return str(asked.to_csv() + ran.sort_values(["start_s", "node", "job_id"]).to_csv(index=False))


@pytest.mark.parametrize(("name", "elastic"), CASES)
def test_jobs_to_come_change_nothing_before_they_come(name, elastic):
    ours, other = workloads(name, elastic)
    until_s = float(ours.submit_s[FIRST])
    assert other.submit_s[FIRST] > until_s
    seen = [until_then(name, elastic, jobs, until_s) for jobs in (ours, other)]
    assert seen[0] == seen[1]


def test_those_left_out_are_of_the_rental_model():
    assert KNOWS_RATES
    assert all(name.startswith("rental-") for name in KNOWS_RATES)
