"""Nodes that go away: what every policy has to live with, and what the record says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import make_policy, policy_names
from policies.registry import requirements_of
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    ServerSpec,
    TimeTable,
    Workload,
    simulate,
)
from simulator.features.failures import Checkpoints, Failures, Outages, guard
from simulator.features.failures.outages import failure_rates
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic, Exponential

OPTIONS = {
    name: {"iterations": 5} for name in ("randomised-greedy", "local-search", "path-relinking")
}
SYNERGY = [f"{o}+{m}" for o in ("fifo", "srtf", "las") for m in ("proportional", "greedy", "tune")]
ELSEWHERE = {"pool", "time-shared", "elastic", "speeds"}
"""Needs of policies for other clusters, or for jobs that share GPUs in time."""
POLICIES = [
    n for n in policy_names() if not ELSEWHERE & set(requirements_of(n)) and n != "milp-literal"
] + SYNERGY


few = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def fixed_jobs(rng, count, width=3):
    gpus = rng.integers(1, width + 1, count)
    submit_s = np.cumsum(rng.exponential(300, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        FixedDuration(rng.uniform(100, 4000, count), gpus),
        num_gpus=gpus,
        num_cpus=gpus * 3.0,
        memory_gb=gpus * 62.5,
        due_s=submit_s + 5000,
        weight_per_s=np.full(count, 0.01),
    )


def elastic_jobs(rng, count, width=2):
    times = rng.uniform(100, 4000, (count, 1, width + 1))
    submit_s = np.cumsum(rng.exponential(300, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        TimeTable(times),
        due_s=submit_s + 5000,
        weight_per_s=np.full(count, 0.01),
    )


STAGGER_S = 170.0
"""The first outage of node ``n`` comes so many times ``n`` later."""


def windows(node, time_to, duration, begin_s, end_s):
    """Times at which a node of deterministic outages is down, between two instants."""
    t = begin_s + node * STAGGER_S
    while (t := t + time_to) < end_s:
        yield t, t + duration
        t += duration


def each_node(count, time_to, duration):
    groups = [(n,) for n in range(count)]
    laws = Deterministic(time_to), Deterministic(duration)
    return Outages(*laws, groups, stagger_s=STAGGER_S)


def check(result, outages, begin_s):
    """No job on a dead node, no node over its GPUs, all work accounted for."""
    end_s = float(result.completion_s.max())
    for share in result.schedule:
        for low, high in windows(share.node, *outages, begin_s, end_s):
            assert share.end_s <= low + 1e-6 or share.start_s >= high - 1e-6
    held = np.zeros(len(result.workload))
    for share in result.schedule:
        held[share.job] += share.gpus * (share.end_s - share.start_s)
    np.testing.assert_allclose(held, result.gpu_seconds, rtol=1e-9, atol=1e-6)
    assert result.meters.gpu_seconds == pytest.approx(held.sum())
    damage = result.parts["failures"]
    useful = result.gpu_seconds - damage.lost_gpu_s - damage.overhead_gpu_s
    assert (useful >= -1e-6).all()
    demand = result.workload.num_gpus
    if demand.all() and isinstance(result.workload.performance, FixedDuration):
        work = result.workload.performance.duration_s * demand
        np.testing.assert_allclose(useful, work, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("name", POLICIES)
@given(
    seed=st.integers(0, 1000),
    time_to=st.sampled_from([900.0, 5000.0]),
    duration=st.sampled_from([50.0, 2500.0]),
    interval=st.sampled_from([0.0, 400.0, "daly"]),
    rounds=st.booleans(),
    latency=st.booleans(),
)
@few
def test_every_policy_lives_with_outages(name, seed, time_to, duration, interval, rounds, latency):
    rng = np.random.default_rng(seed)
    needs = requirements_of(name)
    stated = bool({"fixed-demand", "stated-demand"} & set(needs))
    fixed = stated or ("list-or-node" in needs and bool(seed % 2))  # else elastic
    workload = fixed_jobs(rng, 8) if fixed else elastic_jobs(rng, 6)
    node = NodeType("node", "GPU", 4 if fixed else 2, 1.0, cpus=12, memory_gb=250)
    cluster = Cluster.of_nodes(node, 3) if fixed else Cluster.of_nodes(node, 2)
    failures = Failures(
        [each_node(cluster.num_nodes, time_to, duration)],
        Checkpoints(interval, 0.0 if interval == 0 else 20.0, 30.0),
    )
    points = DecisionPoints.rounds(300.0) if rounds else DecisionPoints()
    server = ServerSpec(Exponential(60.0)) if latency and not rounds else None

    def once():
        policy = make_policy(name, **OPTIONS.get(name, {}))
        return simulate(
            workload, cluster, policy, seed=seed, features=[failures], decision_points=points,
            server=server,
        )  # fmt: skip

    result = once()
    check(result, (time_to, duration), float(workload.submit_s[0]))
    again = once()
    assert result.completion_s.tobytes() == again.completion_s.tobytes()
    assert list(result.schedule) == list(again.schedule)


@pytest.mark.parametrize("name", ["greedy", "milp", "fifo", "edf"])
def test_vms_fail_too(name):
    rng = np.random.default_rng(4)
    cluster = Cluster.of_vms([NodeType("small", "GPU", 2, 1.0)], 3)
    cause = each_node(3, 1500.0, 700.0)
    failures = Failures([cause], Checkpoints(200.0))
    workload = elastic_jobs(rng, 8)
    result = simulate(workload, cluster, make_policy(name), features=[failures])
    check(result, (1500.0, 700.0), float(workload.submit_s[0]))
    assert result.parts["failures"].failures.sum() > 0


def test_nothing_that_goes_wrong_leaves_every_byte_as_it_was():
    rng = np.random.default_rng(2)
    workload = fixed_jobs(rng, 40)
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 4, 1.0, cpus=12, memory_gb=250), 2)
    for name in ("fifo-backfill", "srtf+tune"):
        plain = simulate(workload, cluster, make_policy(name), features=[Delays.of(30.0)])
        empty = simulate(
            workload, cluster, make_policy(name), features=[Failures(), Delays.of(30.0)]
        )
        assert plain.completion_s.tobytes() == empty.completion_s.tobytes()
        assert list(plain.schedule) == list(empty.schedule)
        assert "failures" not in plain.parts
        assert "goodput" not in plain.summary()
        assert empty.parts["failures"].lost_gpu_s.sum() == 0


def one_job(duration_s=1000.0, model=""):
    one = np.ones(1, dtype=np.int64)
    return Workload(["a"], [0.0], FixedDuration([duration_s], one), num_gpus=one, model=[model])


def run_one(failures, cluster=None, duration_s=1000.0, model=""):
    cluster = cluster or Cluster.of_nodes(NodeType("n", "GPU", 1, 1.0), 1)
    return simulate(
        one_job(duration_s, model), cluster, make_policy("fifo-strict"), features=[failures]
    )


@pytest.fixture
def soon_hopeless(monkeypatch):
    """A run without progress ends after fewer outages."""
    monkeypatch.setattr(guard, "HOPELESS", 500)


@pytest.mark.usefixtures("soon_hopeless")
def test_by_hand_without_and_with_checkpoints():
    """A failure every 600 s of up time, repaired in 50 s; the job needs 1000 s."""
    cause = Outages.of_each_node(1, Deterministic(600.0), Deterministic(50.0))
    saved = run_one(Failures([cause], Checkpoints(200.0, 10.0, 5.0)))
    # At 600 s two cycles of 210 s are over: 400 s are saved, 180 s of work are lost.
    # From 650 s: restart 5 s, two cycles, 175 s that are lost at 1250 s. From 1300 s: 5 + 200 s.
    assert saved.completion_s[0] == pytest.approx(1505.0)
    assert saved.parts["failures"].lost_gpu_s[0] == pytest.approx(180 + 175)
    assert saved.parts["failures"].overhead_gpu_s[0] == pytest.approx(20 + 25 + 5)
    assert saved.parts["failures"].down_s[0] == pytest.approx(100.0)
    with pytest.raises(InfeasibleDecision, match=r"none of 1 jobs got on .* 500 outages"):
        run_one(Failures([cause]))


@pytest.mark.usefixtures("soon_hopeless")
def test_notice_saves_the_work_but_for_the_time_of_a_checkpoint():
    def end(notice_s):
        cause = Outages(
            Deterministic(600.0), Deterministic(50.0), [(0,)], notice_s=notice_s, name="spot"
        )
        return run_one(Failures([cause], Checkpoints(math.inf, 10.0))).completion_s[0]

    assert end(30.0) == pytest.approx(650 + 410)  # 590 s were saved
    with pytest.raises(InfeasibleDecision):
        end(5.0)


def test_racks_go_together_and_maintenance_rolls():
    rack = Outages.of_racks(4, 2, Deterministic(100.0), Deterministic(10.0))
    assert [list(g) for g in rack.groups] == [[0, 1], [2, 3]]
    rolling = Outages(
        Deterministic(400.0), Deterministic(100.0), [(0,), (1,)], notice_s=1e6, stagger_s=100.0,
        name="maintenance",
    )  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1, 1.0), 2)
    result = run_one(Failures([rolling]), cluster)
    # Node 0 goes at 400, the job goes on at once on node 1, from there at 500 back to node 0,
    # at 900 to node 1, and ends in time: nothing is lost.
    assert [(s.node, s.start_s, s.end_s) for s in result.schedule] == [
        (0, 0.0, 400.0), (1, 400.0, 500.0), (0, 500.0, 900.0), (1, 900.0, 1000.0),
    ]  # fmt: skip


def test_a_job_that_fails_by_itself_is_given_up_after_its_attempts():
    failures = Failures(job_time_to_failure=Deterministic(300.0), max_attempts=3)
    result = run_one(failures)
    assert result.completion_s[0] == 900.0
    assert result.parts["failures"].killed.tolist() == [1]
    assert result.parts["failures"].lost_gpu_s[0] == pytest.approx(900.0)
    assert result.summary()["goodput"] == pytest.approx(0.0)
    saved = Failures(checkpoints=Checkpoints(100.0), job_time_to_failure=Deterministic(300.0))
    assert run_one(saved).completion_s[0] == pytest.approx(1000.0)


def attempts(policy="fifo-strict", failures=None, **parts):
    """One GPU. a works 100 s in attempts of 30, 20 and 50 s, b 50 s from 10 s on."""
    ones = np.ones(2, dtype=int)
    jobs = Workload(
        ["a", "b"], [0.0, 10.0], FixedDuration([100.0, 50.0], ones), num_gpus=ones,
        fails_at=[(0.3, 0.5), ()], outcome=["killed", "passed"],
    )  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1, 1.0), 1)
    return simulate(jobs, cluster, make_policy(policy), features=[failures], **parts)


def test_attempts_of_a_log():
    """a fails at 30 s and queues behind b, runs 20 s from 80 s on, and 50 s from 100 s on."""
    result = attempts()
    assert [s.job for s in result.schedule] == [0, 1, 0, 0]
    assert [s.start_s for s in result.schedule] == pytest.approx([0.0, 30.0, 80.0, 100.0])
    assert [s.end_s for s in result.schedule] == pytest.approx([30.0, 80.0, 100.0, 150.0])
    assert result.parts["failures"].failures.tolist() == [2, 0]
    assert result.parts["failures"].lost_gpu_s.tolist() == pytest.approx([50.0, 0.0])
    assert result.summary()["goodput"] == pytest.approx(100 / 150)
    assert result.jobs_table()["status"].tolist() == ["killed", "done"]


def test_attempts_with_preemption_checkpoints_and_a_limit():
    """Under SRPT b interrupts a's first attempt at 10 s. The attempt goes on at 60 s, and fails at 80 s."""
    result = attempts("srpt")
    ends = [s.end_s for s in result.schedule if s.job == 0]
    assert ends == pytest.approx([10.0, 80.0, 100.0, 150.0])
    assert result.parts["failures"].lost_gpu_s[0] == pytest.approx(50.0)
    # A checkpoint of 1 s after each 20 s of work, and 5 s to restart: 31 s, then 5 + 20, then 5 + 52.
    slow = attempts(failures=Failures(checkpoints=Checkpoints(20.0, 1.0, 5.0)))
    ends = [s.end_s for s in slow.schedule if s.job == 0]
    assert ends == pytest.approx([31.0, 31 + 52 + 25, 31 + 52 + 25 + 57])
    given_up = attempts(failures=Failures(max_attempts=2))
    assert given_up.jobs_table()["status"].tolist() == ["abandoned", "done"]
    assert given_up.completion_s.tolist() == pytest.approx([100.0, 80.0])


@pytest.mark.parametrize(
    "policy",
    ["fifo-strict", "srpt", "las+proportional", "capacity", "fifo-backfill@decision-trace"],
)
@pytest.mark.parametrize("servers", [0, 2])
def test_attempts_beside_all_else_that_goes_wrong(policy, servers):
    """GPU-hours held are the work of the last attempts, the lost work and the overhead."""
    rng = np.random.default_rng(4)
    plain = fixed_jobs(rng, 24)
    parts = [
        tuple(np.sort(rng.uniform(0.05, 0.95, rng.integers(0, 4))).tolist()) for _ in range(24)
    ]
    jobs = replace(plain, fails_at=parts, patience_s=np.full(24, 40_000.0))
    cluster = Cluster.of_nodes(
        NodeType("n", "GPU", 4, cpus=12, memory_gb=250), 4, num_controllers=2
    )
    failures = Failures(
        [Outages.of_each_node(4, Exponential(6000.0), Exponential(300.0))],
        Checkpoints(300.0, cost_s=10.0, restart_s=20.0),
        job_time_to_failure=Exponential(9000.0),
    )
    result = simulate(
        jobs, cluster, make_policy(policy), features=[failures, Delays.of(15.0)], seed=2,
        decision_points=DecisionPoints.rounds(200.0) if "+" in policy else None,
        server=ServerSpec(Exponential(20.0), servers) if servers else None,
    )  # fmt: skip
    stayed = ~result.left
    last = np.array([1 - each[-1] if each else 1.0 for each in parts])
    work_gpu_s = jobs.num_gpus * jobs.performance.duration_s * last
    damage = result.parts["failures"]
    held = work_gpu_s + damage.lost_gpu_s + damage.overhead_gpu_s
    np.testing.assert_allclose(result.gpu_seconds[stayed], held[stayed], rtol=1e-6)
    assert (
        damage.failures[stayed] >= [len(p) for p, s in zip(parts, stayed, strict=True) if s]
    ).all()


def test_no_policy_sees_attempts_to_come():
    seen = []

    class Curious:
        def decide(self, view):
            seen.append((view.workload.fails_at, view.workload.outcome))
            return Decision([])

    ones = np.ones(1, dtype=int)
    jobs = Workload(["a"], [0.0], FixedDuration([10.0], ones), num_gpus=ones, fails_at=[(0.5,)],
                    outcome=["failed"])  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 1)
    with pytest.raises(InfeasibleDecision):
        simulate(jobs, cluster, Curious())
    assert set(seen) == {((), ())}
    with pytest.raises(InputError, match=r"fails_at is .*, expected ascending parts of its work"):
        Workload(["a"], [0.0], FixedDuration([10.0], ones), num_gpus=ones, fails_at=[(0.5, 0.5)])
    with pytest.raises(InputError, match="job 'a': outcome is 'Lost', expected one of"):
        Workload(["a"], [0.0], FixedDuration([10.0], ones), num_gpus=ones, outcome=["Lost"])


def test_costs_of_a_checkpoint_by_model():
    failures = Failures(checkpoints=Checkpoints(100.0, 1.0, cost_of_model={"vgg": 7.0}))
    assert run_one(failures).completion_s[0] == pytest.approx(1009.0)
    assert run_one(failures, model="vgg").completion_s[0] == pytest.approx(1063.0)


def test_a_node_that_is_down_costs_nothing_and_takes_no_decision():
    failures = Failures([Outages.of_each_node(2, Deterministic(300.0), Deterministic(100.0))])

    class Stubborn:
        def decide(self, view):
            up = view.faults.is_up
            assert view.nodes.tolist() == np.flatnonzero(up).tolist()
            assert (view.free_gpus[~up] == 0).all()
            return Decision([Placement(job, 0, 1) for job in view.jobs.tolist()])

    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1, 1.0), 2)
    cause = Outages(Deterministic(300.0), Deterministic(100.0), [(0,)])
    with pytest.raises(InfeasibleDecision, match="at 300 s: uses node 0, which is down"):
        simulate(one_job(), cluster, Stubborn(), features=[Failures([cause])])
    one = Cluster.of_nodes(NodeType("n", "GPU", 1, 3600.0), 1)
    result = simulate(
        one_job(250.0), one, make_policy("fifo-strict"),
        features=[Failures([Outages(Deterministic(100.0), Deterministic(500.0), [(0,)])],
                          Checkpoints(0.0))],
    )  # fmt: skip
    assert result.completion_s[0] == pytest.approx(250 + 2 * 500)
    assert result.meters.leasing_cost == pytest.approx(250.0)
    assert failure_rates(failures.outages, 2) == [1 / 300, 1 / 300]


def test_mistakes_are_one_line():
    with pytest.raises(InputError, match="rental pool has no nodes that fail"):
        simulate(one_job(), Cluster.rental_pool(), make_policy("fifo"), features=[Failures()])
    with pytest.raises(InputError, match="failure: node 5, expected 0 to 0"):
        run_one(Failures([Outages(Deterministic(1.0), Deterministic(1.0), [(5,)])]))
    with pytest.raises(InputError, match="interval_s is 'weekly'"):
        Checkpoints("weekly")
    with pytest.raises(InputError, match="interval_s is 0 at a cost"):
        Checkpoints(0.0, 5.0)
    with pytest.raises(InputError, match="cost_s is -1"):
        Checkpoints(10.0, -1.0)


GOOD = """policy = "fifo-backfill"
[workload]
kind = "poisson"
num_jobs = 20
arrival_rate_per_h = 20
[cluster]
kind = "nodes"
num_nodes = 4
"""


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('[failures]\ntime_to_failure = "often:3"', "failures.time_to_failure: law 'often:3'"),
        ('[failures]\ntime_to_failure = "exponential:3"', "failures.repair: missing"),
        ('[failures]\nrepair = "exponential:3"', "failures.time_to_failure: missing"),
        ("[failures]\nmax_attempts = 3", "failures.max_attempts: given without"),
        ("[failures]\nmax_attempts = 0", "failures.max_attempts: got 0, expected"),
        ('[failures]\nrack_time_to_failure = "exponential:9"\nrack_repair = "exponential:9"',
         "cluster.nodes_per_rack: missing"),
        ('[checkpoints]\ninterval_s = "weekly"', 'checkpoints.interval_s: got "weekly"'),
        ("[checkpoints]\ninterval_s = 0\ncost_s = 3", "checkpoints: "),
        ("[checkpoints]\ncost_s = -3", "checkpoints.cost_s: got -3"),
        ("[maintenance]\nevery_s = 10\nduration_s = 60", "maintenance.every_s: got 10"),
        ('[spot]\nnodes = 9\ntime_to_reclaim = "exponential:9"\naway = "exponential:9"',
         "spot.nodes: got 9, expected at most 4"),
        ("[spot]\nnodes = 1", "spot.time_to_reclaim: missing"),
        ("[failure]\nrepair = 3", "failure"),
        ("[failures]\nnodes_per_rack = 2", "failures.nodes_per_rack: given without rack_time"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_scenario_is_one_line(tmp_path, table, told):
    from experiments.scenario.checks import ScenarioChecks
    from experiments.scenario.schema import read_scenario

    path = tmp_path / "s.toml"
    path.write_text(GOOD + table + "\n")
    with pytest.raises(InputError, match=told.replace("[", r"\[")) as caught:
        ScenarioChecks()(read_scenario(path))
    assert "\n" not in str(caught.value)


def test_keys_without_effect_are_noted(tmp_path):
    """Each on one line: what follows no failure, what costs and never happens, models that nobody has."""
    from experiments.scenario.build import build
    from experiments.scenario.schema import read_scenario

    tables = {
        '[checkpoints]\ninterval_s = "daly"\ncost_s = 9': ['checkpoints.interval_s: "daly" follows'],
        "[checkpoints]\ncost_s = 9": ["checkpoints.interval_s: not given, so no checkpoint is made"],
        "[failures]": ["failures: no time_to_failure is given, so nothing fails"],
        "[checkpoints]\ninterval_s = 60\n[checkpoints.cost_of_model]\nvgg61 = 9":
            ["checkpoints.cost_of_model.vgg61: no job is of this model; no job has a model"],
        "[network]\nof_model = { vgg61 = 1.5 }": ["network.of_model.vgg61: no job is of this model"],
        '[failures]\njob_time_to_failure = "exponential:900"\n[checkpoints]\ninterval_s = "daly"': [],
        "[checkpoints]\ninterval_s = 60\ncost_s = 9": [],
    }  # fmt: skip
    path = tmp_path / "s.toml"
    for table, wanted in tables.items():
        path.write_text(GOOD + table + "\n")
        jobs, _ = build(read_scenario(path))
        notes = [n for n in jobs.notes if n.startswith(("checkpoints", "failures", "network"))]
        assert [n[: len(w)] for n, w in zip(notes, wanted, strict=True)] == wanted


def test_a_mistake_that_shows_while_it_runs_names_its_table(tmp_path):
    """Admission control needs due dates: the file and the key stand before what is wrong."""
    from experiments.config import of_file
    from experiments.scenario.run import run
    from experiments.scenario.schema import read_scenario

    path = tmp_path / "s.toml"
    path.write_text(GOOD + "[admission]\n")
    with (
        pytest.raises(InputError, match=r"^s\.toml: admission: no job has a due date"),
        of_file("s.toml"),
    ):
        run(read_scenario(path))


def test_a_scenario_with_everything_on(tmp_path):
    from experiments.scenario.run import run
    from experiments.scenario.schema import read_scenario

    path = tmp_path / "s.toml"
    path.write_text(
        GOOD
        + """price_per_hour = 10
[failures]
time_to_failure = "weibull:9000,shape=0.8"
repair = "deterministic:600"
rack_time_to_failure = "exponential:40000"
rack_repair = "exponential:900"
nodes_per_rack = 2
job_time_to_failure = "exponential:20000"
max_attempts = 3
[checkpoints]
interval_s = "daly"
cost_s = 20
[maintenance]
every_s = 9000
duration_s = 300
[spot]
nodes = 2
time_to_reclaim = "exponential:7200"
down = "exponential:1800"
price = 0.5
"""
    )
    result = run(read_scenario(path))
    assert [t.price_per_hour for t in result.cluster.node_types] == [10.0, 5.0]
    assert result.cluster.node_type_of == (0, 0, 1, 1)
    assert result.parts["failures"].outages.sum() > 5
    kept = (
        result.gpu_seconds
        - result.parts["failures"].lost_gpu_s
        - result.parts["failures"].overhead_gpu_s
    )
    whole = result.parts["failures"].killed == 0
    duration_s = result.workload.performance.duration_s
    np.testing.assert_allclose(kept[whole], duration_s[whole], rtol=1e-6)
    assert (kept[~whole] <= duration_s[~whole]).all()


def test_foresight_waits_where_all_nodes_of_the_only_fitting_type_are_down():
    """The second job comes while the large node is away, and nothing runs on the small one."""
    small, large = NodeType("small", "GPU", 1, 1.0), NodeType("large", "GPU", 2, 2.0)
    cluster = Cluster((small, large), 2, node_type_of=(0, 1))
    never = np.inf
    table_s = [[never, never, never], [never, 80.0, 50.0]]  # by type and GPUs
    jobs = Workload(["a", "b"], np.array([0.0, 150.0]), TimeTable(np.array([table_s, table_s])))
    failures = Failures([Outages(Deterministic(100.0), Deterministic(400.0), [(1,)])])
    result = simulate(jobs, cluster, make_policy("foresight"), features=[failures])
    assert result.parts["failures"].outages[1] >= 1
    assert all(share.node == 1 for share in result.schedule)
    assert result.first_start_s.tolist() == [0.0, 500.0]
