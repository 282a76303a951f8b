"""No policy reads jobs that have not been submitted: other jobs to come, the same decisions until then.

The jobs after 20, 50 and 80 % of all are put in another order, and are drawn anew from other laws.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from experiments.bench.future import RecordedPolicy, depends_on
from experiments.scenario.options import parse_policy
from policies import make_policy, policy_names
from policies.registry.making import requirements_of
from simulator import Cluster, NodeType, Result, SpeedupCurve, TimeTable, Workload
from simulator.model.fractional import SharedDuration
from simulator.model.speedup import Amdahl, Power, WholeGpus
from simulator.workloads.reshaping import time_shared
from tests.core.jobs import fixed, nodes, run
from tests.families import registered


def is_planner(name: str) -> bool:
    """Whether the jobs of a policy are elastic, on nodes."""
    fixed = {"fixed-demand", "stated-demand", "time-shared", "list-or-node", "pool"}
    return not fixed & set(requirements_of(name))


COUNT = 16
CUTS = (3, 8, 13)
"""How many jobs are the same."""
SYNERGY = registered(
    "srtf+tune", "las+greedy", "ftf+proportional", "drf+tune", "tetris+opt", "history+proportional", "gittins+tune",
)  # fmt: skip
WRAPPED = registered(
    "edf@self-timed", "greedy@self-timed", "sjf@hysteresis", "greedy@hysteresis", "sjf@decision-trace",
    "greedy@fractional", "srtf+tune@fractional", "capacity@qos-preemption",
)  # fmt: skip
SHARES = registered(
    "gandiva-fair", "max-min-fairness", "min-makespan", "min-cost", "allox", "shockwave",
    "max-throughput", "finish-time-fairness", "hierarchical-fairness",
)  # fmt: skip
VARIANTS = registered("shared:rule=best-fit", "shared:rule=random", "shockwave:limit=1.1")
BACKFILLING = (
    "easy-backfill:order=multifactor,weight_fairshare=2000.0,weight_size=300.0",
    "conservative-backfill:order=multifactor,weight_fairshare=2000.0,fair_tree=true",
)
LONG = ("milp-literal",)
"""milp with another program on the same instance: takes a minute."""
NAMES = [*policy_names(), *SYNERGY, *WRAPPED, *VARIANTS, *BACKFILLING]
NAMES = [name for name in NAMES if name not in LONG]
INFORMED = {"shared", "gittins+tune", "rental-on-nodes", "shockwave:limit=1.1"}
"""Policies that ask for all jobs, since their published algorithms know the law of what comes."""
ON_BOTH = ("fifo", "edf", "weight-priority", "edf@self-timed")
"""They order jobs of fixed demand, and place elastic ones."""


def key_of(name: str) -> str:
    """The name of a policy without its options."""
    return name.partition(":")[0]


CASES = [pytest.param(name, False) for name in NAMES if not is_planner(key_of(name))]
CASES += [pytest.param(name, True) for name in NAMES if name in ON_BOTH or is_planner(key_of(name))]
OPTIONS = {
    "randomised-greedy": {"iterations": 10},
    "local-search": {"iterations": 10},
    "path-relinking": {"iterations": 10},
    **{name: {"round_s": 30.0, "reset_s": 0.0} for name in SHARES},
    "linear-score": {"weights": "0.5,-1,-2,0.3,0.7,5,0"},
    "capacity@qos-preemption": {"qos-preemption.over": "a=b,c b=c"},
}
Columns = dict[str, np.ndarray]


def columns_of(rng: np.random.Generator, mean_s: float, parts: list[float], count: int) -> Columns:
    """Columns of jobs."""
    return {
        "duration_s": rng.uniform(0.2, 2.0, count) * mean_s,
        "gpus": rng.choice([1, 1, 1, 2, 4], count),
        "gap_s": rng.exponential(30.0, count),
        "slack": rng.uniform(0.5, 5.0, count),
        "weight_per_s": rng.uniform(0.001, 0.01, count),
        "vc": rng.choice(["a", "b", "c"], count),
        "part": rng.choice(parts, count),
        "times": rng.uniform(0.2, 1.1, (count, 3, 3)),
        "on_largest": np.ones(count, dtype=bool),
        "curve_of": rng.integers(0, 2, count),
    }


def futures(ours: Columns) -> Iterator[tuple[int, Columns]]:
    """Behind each cut other jobs: the same in another order; far longer, heavier, late, of other parts, on other types.

    Behind the last cut one job fewer comes.
    """
    rng = np.random.default_rng(8)
    other = columns_of(rng, 9000.0, [0.35, 0.15], COUNT)
    other["weight_per_s"] *= 1e4
    other["slack"] *= 0.01
    other["on_largest"] = rng.random(COUNT) < 0.5
    for cut in CUTS:
        order = np.concatenate([np.arange(cut), rng.permutation(np.arange(cut, COUNT))])
        moved = {key: column[order] for key, column in ours.items()}
        yield cut, moved | {"gap_s": ours["gap_s"]}
        drawn = {key: np.concatenate([ours[key][:cut], other[key][cut:]]) for key in ours}
        drawn["gap_s"][cut] = ours["gap_s"][cut]
        drawn["vc"] = moved["vc"]  # who there is, is known beforehand
        yield cut, drawn if cut < CUTS[-1] else {key: column[:-1] for key, column in drawn.items()}


SAME_TYPE = {"one-type", "types-known"}
"""Requirements of policies that want nodes of one type here, since the jobs have no tables by type."""


def workload(name: str, elastic: bool, c: Columns) -> Workload:
    """Of the kind that a policy takes."""
    needs, gpus = requirements_of(name), c["gpus"]
    submit_s = np.cumsum(c["gap_s"])
    due_s, names = submit_s + c["slack"] * c["duration_s"], c["vc"].tolist()
    columns = {"due_s": due_s, "weight_per_s": c["weight_per_s"], "vc": names, "model": names}
    jobs = fixed(submit_s, c["duration_s"], gpus, **columns, qos=names)
    if "pool" in needs:
        curves = [WholeGpus(Power(0.5)), WholeGpus(Amdahl(0.8))]
        known = ((60.0, 0.05), (60.0, 0.05))
        return replace(
            jobs, performance=SpeedupCurve(c["duration_s"], c["curve_of"], curves, known)
        )
    if elastic:
        times = np.full((len(gpus), 3, 3), np.inf)
        times[:, :, 1:] = c["duration_s"][:, None, None] * c["times"][:, :, 1:]
        times[:, 0, 2] = np.inf
        times[~c["on_largest"], 1] = np.inf
        if SAME_TYPE & set(needs):
            times = times[:, 2:]
        return replace(jobs, performance=TimeTable(times))
    if "time-shared" in needs:
        return time_shared(jobs)
    if name in ("shared", "complementary", "slices") or "@fractional" in name:
        part = np.where(gpus == 1, c["part"], 1.0)
        return replace(jobs, performance=SharedDuration(c["duration_s"], gpus, part=part))
    return jobs


def cluster_of(name: str, elastic: bool) -> Cluster:
    """Machines of the kind that a policy takes."""
    types = [NodeType("u", "A", 1, 0.3), NodeType("v", "A", 2, 0.5), NodeType("w", "B", 2, 1.2)]
    needs = requirements_of(name)
    if "pool" in needs:
        return Cluster.rental_pool(3.0)
    if not elastic:
        return nodes(4, 2, price_per_hour=2.0, cpus=12, memory_gb=200)
    if SAME_TYPE & set(needs):
        return Cluster.of_nodes(types[2], 2)
    return Cluster(types, 2, (1, 2)) if "servers" in needs else Cluster.of_vms(types, 2)


def difference(name: str, elastic: bool) -> str:
    """How jobs to come change what a policy decides before, in words."""
    key, options = parse_policy(name)
    cluster = cluster_of(key, elastic)
    parts = [1 / 3, 1.0] if "@fractional" in name else [0.5, 0.25, 1.0]
    own = columns_of(np.random.default_rng(7), 200.0, parts, COUNT)
    policy = make_policy(key, **OPTIONS.get(name, {}), **options)

    def simulated(jobs: Workload, recorded: RecordedPolicy) -> Result:
        found = run(jobs, cluster, recorded, seed=1, round_s=60.0 if "+" in name else None)
        assert len(recorded.decisions) >= COUNT / 2
        return found

    others = ((cut, workload(key, elastic, columns)) for cut, columns in futures(own))
    return depends_on(policy, simulated, workload(key, elastic, own), others)


@pytest.mark.long
@pytest.mark.parametrize(("name", "elastic"), CASES)
def test_jobs_to_come_change_nothing_before_they_come(name, elastic):
    asks = "the policy asks for jobs that have not been submitted yet (view.all_jobs)"
    assert difference(name, elastic) == (asks if name in INFORMED else "")


@pytest.mark.parametrize(
    ("known", "gpus", "informed"), [(True, 0, False), (False, 5, False), (False, 0, True)]
)
def test_a_rental_policy_asks_for_all_jobs_where_nothing_else_says_their_load(
    known, gpus, informed
):
    """The load times 1.5 is the budget, unless it is stated; equal parts of it need no rate of each curve."""
    performance = SpeedupCurve(
        np.array([60.0, 90.0]), np.zeros(2, int), [Power(0.5)], ((60.0, 0.02),) if known else None
    )
    jobs = Workload(["a", "b"], [0.0, 60.0], performance)
    found = run(jobs, Cluster.rental_pool(3.0), make_policy("rental-equi", gpus=float(gpus)))
    assert found.informed == informed
    assert found.summary().get("informed", False) == informed
