"""Every policy with features switched on at random.

They are tenants, admission control, racks, failures and maintenance, shared GPUs, wrong predictions, patience, delays,
rates that change with progress, attempts that fail, optimization servers, and rounds that end with their last job. The
last two are refused together (tests/core/test_engine.py), and so are rounds that count whole steps with features that change rates
or with delays (tests/core/test_rounds.py, tests/shares/test_rounds.py), hence no such jobs here.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.scenario.output import write_result
from policies import make_policy, policy_names
from policies.registry.making import requirements_of
from simulator import Cluster, DecisionPoints, NodeType, Result, ServerSpec, Workload
from simulator.core.logs import ShareRecord
from simulator.features.admission import Admission
from simulator.features.colocation import Colocation, colocation_of, published_rates
from simulator.features.colocation.mig import PROFILES, mask_of
from simulator.features.failures import Checkpoints, Failures, Outages, racks_of
from simulator.features.network import network_of
from simulator.features.predictions import PredictedWorkload, Predictions, predicted
from simulator.features.reconfiguration import Delays
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic, Exponential
from simulator.model.contract import Decision, Placement, Policy, View
from simulator.model.fractional import SharedDuration
from simulator.model.performance import TimeTable
from simulator.statistics import Streams
from simulator.workloads.reshaping import time_shared
from tests.core.jobs import elastic, fixed, nodes, run
from tests.core.written import Folder
from tests.families import registered

common = settings(
    max_examples=2, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
more = settings(common, max_examples=20)
MODELS = published_rates()[0]
COMPOSED = registered(
    "srtf+tune", "las+greedy", "ftf+proportional", "drf+tune",
    "srtf+tune@fractional", "las+greedy@fractional", "greedy@fractional",
)  # fmt: skip
POLICIES = [
    name
    for name in (*policy_names(), *COMPOSED)
    if {"fixed-demand", "stated-demand", "time-shared", "list-or-node"} & set(requirements_of(name))
]


def jobs_of(rng: np.random.Generator, count: int, leaving: bool, failing: bool) -> Workload:
    gpus = rng.choice([1, 1, 1, 2, 4], count)
    duration_s = rng.uniform(20, 400, count)
    submit_s = np.cumsum(rng.exponential(20, count))
    late_s = submit_s + duration_s * rng.uniform(1, 5, count)
    return fixed(
        submit_s,
        duration_s,
        gpus,
        due_s=np.where(rng.random(count) < 0.5, late_s, np.inf),
        weight_per_s=rng.uniform(0.001, 0.01, count),
        model=rng.choice([*MODELS, "other"], count).tolist(),
        vc=rng.choice(["a", "b", "c"], count).tolist(),
        patience_s=rng.uniform(300, 3000, count) if leaving else None,
        fails_at=[np.sort(rng.uniform(0.05, 0.95, rng.integers(3))).tolist() for _ in range(count)]
        if failing
        else (),
    )


def with_random_parts(rng: np.random.Generator, jobs: Workload) -> Workload:
    """Jobs of one GPU hold a seventh, a quarter or a half of it."""
    gpus = jobs.num_gpus
    part = np.where(gpus == 1, rng.choice([1 / 7, 0.25, 0.5], len(jobs)), 1.0)
    return replace(jobs, performance=SharedDuration(jobs.performance.duration_s, gpus, part=part))


class Changing(SharedDuration):
    """Jobs whose first half takes one and a half times as long as their second."""

    def rate(
        self, job: int, shares: Sequence[Placement], configuration: object, left: float
    ) -> float:
        time_s = self.time_s(job, 0, sum(share.gpus for share in shares), 0, 0)
        return 1 / time_s / (1.2 if left > 0.5 else 0.8)

    def next_change(self, job: int, left: float) -> float:
        return 0.5 if left > 0.5 else 0.0


def work_of(jobs: Workload, cluster: Cluster) -> np.ndarray:
    """GPU time of each job's last attempt, alone on one node."""
    last = np.array(
        [1 - parts[-1] if parts else 1.0 for parts in jobs.fails_at or [()] * len(jobs)]
    )
    if isinstance(jobs.performance, Changing):
        last = np.where(last > 0.5, 0.4 + 1.2 * (last - 0.5), 0.8 * last)
    return jobs.performance.work_gpu_s(cluster) * last


def with_changing_rates(jobs: Workload) -> Workload:
    part = getattr(jobs.performance, "part", None)
    own = Changing(jobs.performance.duration_s, jobs.num_gpus, part=part)
    return replace(jobs, performance=own)


def trouble_of(rng: np.random.Generator, warns: bool) -> Failures:
    """Nodes fail, racks fail, a spot VM leaves with notice, nodes are maintained, and jobs fail by themselves."""
    causes = [
        Outages.of_each_node(4, Exponential(3000.0), Exponential(200.0)),
        Outages.of_racks(4, 2, Exponential(9000.0), Exponential(100.0)),
        Outages(Exponential(4000.0), Exponential(300.0), [(3,)], 60.0, name="spot", warns=warns),
        maintenance(4, 1000.0, 50.0, warns),
    ]
    some = [cause for cause in causes if rng.random() < 0.7] or causes[:1]
    return Failures(
        some, Checkpoints(interval_s=60.0, cost_s=2.0, restart_s=5.0), Exponential(4000.0), 5
    )


def maintenance(nodes: int, every_s: float, duration_s: float, warns: bool) -> Outages:
    """One node after the other, as `[maintenance]` makes it."""
    up, down = Deterministic(every_s - duration_s), Deterministic(duration_s)
    return Outages(up, down, racks_of(nodes, 1), 100.0, duration_s, "maintenance", warns)


Times = list[tuple[float, float]]


def away_times(failures: Failures, result: Result) -> list[Times]:
    """Times at which each node is down until the last completion, drawn anew from the laws and the seed, without the engine."""
    begin_s, end_s = float(result.workload.submit_s[0]), result.end_s
    found: list[Times] = [[] for _ in range(result.cluster.num_nodes)]
    for cause in failures.outages:
        for k, group in enumerate(cause.groups):
            rng = Streams(result.seed).generator(cause.name, k)
            up_s = begin_s + k * cause.stagger_s
            while (go_s := up_s + cause.time_to(rng)) < end_s:
                up_s = go_s + cause.duration(rng)
                for node in group:
                    found[node].append((go_s, min(up_s, end_s)))
    return [united(times) for times in found]


def united(times: Times) -> Times:
    """Stretches of time that overlap are one."""
    whole: Times = []
    for begin_s, end_s in sorted(times):
        if whole and begin_s <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end_s))
        else:
            whole.append((begin_s, end_s))
    return whole


def check_nobody_on_dead_nodes(result: Result, failures: Failures) -> None:
    """No share while its node is away, by times that are drawn anew."""
    away = away_times(failures, result)
    for share in result.schedule or ():
        for go_s, back_s in away[share.node]:
            assert share.end_s <= go_s + 1e-6 or share.start_s >= back_s - 1e-6
    seconds = [sum(back_s - go_s for go_s, back_s in times) for times in away]
    np.testing.assert_allclose(result.parts["failures"].down_s, seconds, rtol=1e-9, atol=1e-6)


class Recorded:
    """A policy that keeps which GPUs it gave to whom, and looks at the slices that are taken."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.fractional_gpus = bool(getattr(policy, "fractional_gpus", False))
        self.kept: dict[int, list[tuple[float, tuple[int, ...]]]] = defaultdict(list)

    def __deepcopy__(self, memo: object):
        return self

    def decide(self, view: View) -> Decision:
        check_slices(view)
        decision = self.policy.decide(view)
        for job, gpus in (decision.gpus_of or {}).items():
            self.kept[job].append((view.now_s, gpus))
        return decision

    def gpus(self, share: ShareRecord) -> tuple[int, ...]:
        """Those of the latest decision before the share; none: whole ones, which nobody names."""
        named = [gpus for t, gpus in self.kept[share.job] if t <= share.start_s]
        return named[-1] if named else ()


def check_slices(view: View) -> None:
    """Each job has its profile from a slice at which it may begin, and no slice is taken twice."""
    taken: dict[tuple[int, int], int] = defaultdict(int)
    if not hasattr(view, "colocation"):
        return
    for job, slices in view.colocation.slices_of.items():
        k = int(view.colocation.spec.profile[job])
        for gpu, mask in slices:
            assert mask in [mask_of(k, start) for start in PROFILES[k].starts]
            assert not taken[gpu] & mask
            taken[gpu] |= mask


def check_gpus(result: Result, recorded: Recorded, neighbours: Colocation | None) -> None:
    """On every single GPU that was named: parts, memory and slices within what it has."""
    changes: dict[tuple[str, int, int], Times] = defaultdict(list)
    limit = {"parts": 1.0, "memory": np.inf, "compute": 7.0, "slices": 8.0}
    if neighbours is not None:
        limit["memory"] = neighbours.gpu_memory_gb
    for share in result.schedule or ():
        gpus = recorded.gpus(share)
        takes = {"parts": share.gpus / max(1, len(gpus))}
        if neighbours is not None:
            takes["memory"] = float(neighbours.memory_gb[share.job])
            if neighbours.profile is not None:
                profile = PROFILES[neighbours.profile[share.job]]
                takes |= {"compute": profile.compute, "slices": profile.memory}
        for g in gpus:
            for what, amount in takes.items():
                key = (what, share.node, g)
                changes[key] += [(share.start_s, amount), (share.end_s, -amount)]
    for (what, _, _), some in changes.items():
        assert peak(some) <= limit[what] * (1 + 1e-6), what


def check(result: Result, failures: Failures, exact: bool = False) -> None:
    """Capacity, quotas, GPU time and money, from the written files; away times of nodes; the (least) work of a job."""
    tenants = result.parts["tenants"].tenants if "tenants" in result.parts else None
    assert np.isfinite(result.completion_s).all()
    with TemporaryDirectory() as path:
        write_result(result, Path(path))
        folder = Folder(Path(path), limited=tenants is not None and tenants.is_limited)
    folder.check()
    check_nobody_on_dead_nodes(result, failures)
    damage = result.parts["failures"]
    assert (damage.lost_gpu_s >= -1e-6).all()
    assert (damage.overhead_gpu_s >= -1e-6).all()
    spent = result.gpu_seconds - damage.lost_gpu_s - damage.overhead_gpu_s
    served = np.ones(len(spent), dtype=bool) if damage.abandoned is None else damage.abandoned == 0
    if result.left is not None:
        served &= ~result.left
    if not isinstance(result.workload.performance, TimeTable):
        work = work_of(result.workload, result.cluster)
        if exact:
            np.testing.assert_allclose(spent[served], work[served], rtol=1e-6, atol=1e-3)
        # Nobody is faster than alone on one node; networks and neighbours only cost time.
        assert (spent[served] >= work[served] * (1 - 1e-6) - 1e-3).all()


def peak(changes: list[tuple[float, float]]) -> float:
    total = most = 0.0
    for _, gpus in sorted(changes, key=lambda c: (c[0], c[1])):
        total += gpus
        most = max(most, total)
    return most


@pytest.mark.long
@pytest.mark.parametrize("name", POLICIES)
@common
@given(data=st.data())
def test_every_policy_with_all_parts_at_random(name, data):
    check_with_all_parts(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
@more
@given(data=st.data())
def test_every_policy_with_all_parts_more_often(name, data):
    check_with_all_parts(name, data)


def check_with_all_parts(name, data):
    def on() -> bool:
        return data.draw(st.booleans())

    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    jobs = jobs_of(rng, 15, on(), on())
    shares_gpus = on() and "time-shared" not in requirements_of(name)
    packs = name in ("shared", "complementary") or "@fractional" in name
    sliced = shares_gpus and not packs and on()
    if shares_gpus:
        jobs = with_random_parts(rng, jobs)
    elif "time-shared" in requirements_of(name):
        jobs = time_shared(jobs)
    if on() and "time-shared" not in requirements_of(name):
        jobs = with_changing_rates(jobs)
    cluster = nodes(4, 4, price_per_hour=2.0, cpus=12, memory_gb=200)
    tenants = admission = network = neighbours = shown = service = None
    if on():
        tenants = tenants_of(
            jobs, quota={"a": 4.0, "b": 4.0, "c": 5.0}, borrowing=on(), known=("a", "b", "c")
        )
    if on():
        admission = Admission(rule="reject" if on() else "downgrade")
    if on():
        network = network_of(jobs, 4, 2, 1.2, 1.5)
    if shares_gpus:
        kind = "none" if sliced else "published"
        neighbours = colocation_of(jobs, kind, gpu_memory_gb=16.0, slices=sliced)
    failures = trouble_of(rng, on())
    if on():
        shown = PredictedWorkload(
            predicted(jobs, Predictions(bias=0.1, noise=0.3), Streams(seed)), seed % 2 == 1
        )
    delays = Delays(first_s=5.0, resume_s=10.0, move_s=15.0, doubling_s=2.0) if on() else None
    round_s = 60.0 if "+" in name or on() else None
    ends = "last-finisher" if round_s is None and on() else "grid"
    points = DecisionPoints(round_s=60.0 if ends != "grid" else round_s, round_ends=ends)
    if points.round_s is None and on():
        service = ServerSpec(service=Exponential(10.0), servers=data.draw(st.integers(1, 3)))
    features = (tenants, admission, network, failures, neighbours, shown, delays)
    again = {"seed": seed, "server": service, "decision_points": points}
    recorded = Recorded(make_policy(name))
    result = run(jobs, cluster, recorded, *features, **again)
    check(result, failures, exact=network is None and not shares_gpus)
    check_gpus(result, recorded, neighbours)
    twice = run(jobs, cluster, name, *features, **again)
    assert twice.schedule_table().to_csv() == result.schedule_table().to_csv()


ELASTIC = (
    "fifo", "edf", "ps", "greedy", "randomised-greedy", "local-search", "path-relinking", "milp", "foresight",
    "milp-centralised-2019", "milp-literal",
)  # fmt: skip
ON_EQUAL_NODES = ("elasticflow", "edf-shared", "fifo-shared", "ps-shared", "rental-on-nodes")
FEW = {"iterations": 5}
OPTIONS = {"randomised-greedy": FEW, "local-search": FEW, "path-relinking": FEW}
SLOW = ("milp-centralised-2019", "milp-literal")


@pytest.mark.parametrize("name", [*ELASTIC, *ON_EQUAL_NODES])
@common
@given(data=st.data())
def test_elastic_jobs_with_parts_at_random(name, data):
    check_elastic_jobs(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ELASTIC, *ON_EQUAL_NODES])
@more
@given(data=st.data())
def test_elastic_jobs_with_parts_more_often(name, data):
    check_elastic_jobs(name, data)


def check_elastic_jobs(name, data):
    """Jobs that choose their GPUs, on VMs or equal nodes."""

    def on() -> bool:
        return data.draw(st.booleans())

    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    count = 3 if name in SLOW else 8
    types = [NodeType("v", "A", 1, 0.5), NodeType("w", "B", 2, 1.2)]
    if name in ON_EQUAL_NODES:
        types = types[1:]
    times = rng.uniform(100, 4000, (count, len(types), 3))
    submit_s = np.cumsum(rng.exponential(300, count))
    jobs = elastic(
        times,
        submit_s,
        due_s=submit_s + rng.uniform(0, 5000, count),
        weight_per_s=rng.uniform(0.001, 0.01, count),
        vc=rng.choice(["a", "b"], count).tolist(),
        patience_s=rng.uniform(1000, 9000, count) if on() else None,
    )
    cluster = Cluster.of_nodes(types[0], 2) if name in ON_EQUAL_NODES else Cluster.of_vms(types, 2)
    quota = {"a": 2.0, "b": 3.0}
    tenants = tenants_of(jobs, quota=quota, borrowing=True, known=("a", "b")) if on() else None
    admits = name in ON_EQUAL_NODES and on()
    cause = Outages.of_each_node(2, Exponential(5000.0), Exponential(300.0))
    causes = [cause, maintenance(2, 4000.0, 300.0, on())]
    failures = Failures(causes, Checkpoints(interval_s=300.0, cost_s=5.0, restart_s=10.0))
    learned = PredictedWorkload(
        predicted(jobs, Predictions(bias=0.1, noise=0.3), Streams(seed)), True
    )
    shown = learned if on() else None
    admission = Admission(rule="reject" if on() else "downgrade") if admits else None
    features = (tenants, failures, shown, admission, Delays.of(20.0 if on() else 0.0))
    again = {"seed": seed, "server": ServerSpec(service=Exponential(60.0)) if on() else None}
    one, twice = (
        run(jobs, cluster, make_policy(name, **OPTIONS.get(name, {})), *features, **again)
        for _ in range(2)
    )
    check(one, failures)
    assert twice.schedule_table().to_csv() == one.schedule_table().to_csv()
