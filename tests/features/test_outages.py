"""Nodes that go away: what every policy has to live with, and what the record says."""

import numpy as np
import pytest

from experiments.config import of_file
from experiments.scenario.build import build
from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.run import run as run_of
from experiments.scenario.schema import read_scenario
from simulator import (
    Cluster,
    Decision,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    TimeTable,
    Workload,
)
from simulator.features.failures import Checkpoints, Failures, Outages, guard
from simulator.features.failures.outages import failure_rates
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from tests.core.jobs import fixed, nodes, run


def random_jobs(rng, count, **columns):
    gpus, submit_s = rng.integers(1, 4, count), np.cumsum(rng.exponential(300, count))
    columns |= {"num_cpus": gpus * 3.0, "memory_gb": gpus * 62.5}
    return fixed(submit_s, rng.uniform(100, 4000, count), gpus, **columns)


def test_nothing_that_goes_wrong_leaves_every_byte_as_it_was():
    jobs = random_jobs(np.random.default_rng(2), 40)
    cluster, delays = nodes(4, 2, price_per_hour=1.0, cpus=12, memory_gb=250), Delays.of(30.0)
    for name in ("fifo-backfill", "srtf+tune"):
        plain, empty = (
            run(jobs, cluster, name, delays),
            run(jobs, cluster, name, Failures(), delays),
        )
        assert plain.completion_s.tobytes() == empty.completion_s.tobytes()
        assert list(plain.schedule) == list(empty.schedule)
        assert "failures" not in plain.parts
        assert "goodput" not in plain.summary()
        assert empty.parts["failures"].lost_gpu_s.sum() == 0


ONE = nodes(price_per_hour=1.0)


def run_one(failures, cluster=ONE, duration_s=1000.0, model=""):
    return run(fixed([0], [duration_s], model=[model]), cluster, "fifo-strict", failures)


def cause(time_to, duration, groups=((0,),), *notice_s, **options):
    return Outages(
        Deterministic(time_to), Deterministic(duration), list(groups), *notice_s, **options
    )


@pytest.fixture
def soon_hopeless(monkeypatch):
    """A run without progress ends after fewer outages."""
    monkeypatch.setattr(guard, "HOPELESS", 500)


@pytest.mark.usefixtures("soon_hopeless")
def test_by_hand_without_and_with_checkpoints():
    """A failure every 600 s of up time, repaired in 50 s; the job needs 1000 s."""
    saved = run_one(
        Failures([cause(600.0, 50.0)], Checkpoints(interval_s=200.0, cost_s=10.0, restart_s=5.0))
    )
    # At 600 s two cycles of 210 s are over: 400 s are saved, 180 s of work are lost.
    # From 650 s: restart 5 s, two cycles, 175 s that are lost at 1250 s. From 1300 s: 5 + 200 s.
    assert saved.completion_s[0] == pytest.approx(1505.0)
    assert saved.parts["failures"].lost_gpu_s[0] == pytest.approx(180 + 175)
    assert saved.parts["failures"].overhead_gpu_s[0] == pytest.approx(20 + 25 + 5)
    assert saved.parts["failures"].down_s[0] == pytest.approx(100.0)
    with pytest.raises(InfeasibleDecision, match=r"none of 1 jobs got on .* 500 outages"):
        run_one(Failures([cause(600.0, 50.0)]))


@pytest.mark.usefixtures("soon_hopeless")
def test_notice_saves_the_work_but_for_the_time_of_a_checkpoint():
    def end(notice_s):
        spot = cause(600.0, 50.0, [(0,)], notice_s, name="spot")
        return run_one(Failures([spot], Checkpoints(cost_s=10.0))).completion_s[0]

    assert end(30.0) == pytest.approx(650 + 410)  # 590 s were saved
    with pytest.raises(InfeasibleDecision):
        end(5.0)


def test_racks_go_together_and_maintenance_rolls():
    rack = Outages.of_racks(4, 2, Deterministic(100.0), Deterministic(10.0))
    assert [list(g) for g in rack.groups] == [[0, 1], [2, 3]]
    rolling = cause(400.0, 100.0, [(0,), (1,)], 1e6, stagger_s=100.0, name="maintenance")
    result = run_one(Failures([rolling]), nodes(1, 2))
    # Node 0 goes at 400, the job goes on at once on node 1, from there at 500 back to node 0,
    # at 900 to node 1, and ends in time: nothing is lost.
    assert [(s.node, s.start_s, s.end_s) for s in result.schedule] == [
        (0, 0.0, 400.0), (1, 400.0, 500.0), (0, 500.0, 900.0), (1, 900.0, 1000.0),
    ]  # fmt: skip


def test_a_job_that_fails_by_itself_is_given_up_after_its_attempts():
    failures = Failures(job_time_to_failure=Deterministic(300.0), max_attempts=3)
    result = run_one(failures)
    assert result.completion_s[0] == 900.0
    assert result.parts["failures"].abandoned.tolist() == [1]
    assert result.parts["failures"].lost_gpu_s[0] == pytest.approx(900.0)
    assert result.summary()["goodput"] == pytest.approx(0.0)
    saved = Failures(
        checkpoints=Checkpoints(interval_s=100.0), job_time_to_failure=Deterministic(300.0)
    )
    assert run_one(saved).completion_s[0] == pytest.approx(1000.0)


def attempts(policy="fifo-strict", failures=None):
    """One GPU. a works 100 s in attempts of 30, 20 and 50 s, b 50 s from 10 s on."""
    log = {"fails_at": [(0.3, 0.5), ()], "outcome": ["killed", "passed"]}
    return run(fixed([0, 10], [100, 50], **log), ONE, policy, failures)


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
    slow = attempts(
        failures=Failures(checkpoints=Checkpoints(interval_s=20.0, cost_s=1.0, restart_s=5.0))
    )
    ends = [s.end_s for s in slow.schedule if s.job == 0]
    assert ends == pytest.approx([31.0, 31 + 52 + 25, 31 + 52 + 25 + 57])
    given_up = attempts(failures=Failures(max_attempts=2))
    assert given_up.jobs_table()["status"].tolist() == ["abandoned", "done"]
    assert given_up.completion_s.tolist() == pytest.approx([100.0, 80.0])


def test_no_policy_sees_attempts_to_come():
    seen = []

    def curious(view):
        seen.append((view.workload.fails_at, view.workload.outcome))
        return Decision([])

    with pytest.raises(InfeasibleDecision):
        run(fixed([0], [10], fails_at=[(0.5,)], outcome=["failed"]), ONE, curious)
    assert set(seen) == {((), ())}
    with pytest.raises(InputError, match=r"fails_at is .*, expected ascending parts of its work"):
        fixed([0], [10], fails_at=[(0.5, 0.5)])
    with pytest.raises(InputError, match="job 'j0': outcome is 'Lost', expected one of"):
        fixed([0], [10], outcome=["Lost"])


def test_costs_of_a_checkpoint_by_model():
    failures = Failures(
        checkpoints=Checkpoints(interval_s=100.0, cost_s=1.0, cost_of_model={"vgg": 7.0})
    )
    assert run_one(failures).completion_s[0] == pytest.approx(1009.0)
    assert run_one(failures, model="vgg").completion_s[0] == pytest.approx(1063.0)


def test_a_node_that_is_down_costs_nothing_and_takes_no_decision():
    def stubborn(view):
        up = view.faults.is_up
        assert view.nodes.tolist() == np.flatnonzero(up).tolist()
        assert (view.free_gpus[~up] == 0).all()
        return Decision([Placement(job, 0, 1) for job in view.jobs.tolist()])

    with pytest.raises(InfeasibleDecision, match="at 300 s: uses node 0, which is down"):
        run(fixed([0], [1000]), nodes(1, 2), stubborn, Failures([cause(300.0, 100.0)]))
    saved = Failures([cause(100.0, 500.0)], Checkpoints(interval_s=0.0))
    result = run_one(saved, nodes(price_per_hour=3600.0), 250.0)
    assert result.completion_s[0] == pytest.approx(250 + 2 * 500)
    assert result.meters.leasing_cost == pytest.approx(250.0)
    each_node = Outages.of_each_node(2, Deterministic(300.0), Deterministic(100.0))
    assert failure_rates([each_node], 2) == [1 / 300, 1 / 300]


def test_mistakes_are_one_line():
    with pytest.raises(InputError, match="rental pool has no nodes that fail"):
        run_one(Failures(), Cluster.rental_pool())
    with pytest.raises(InputError, match="failure: node 5, expected 0 to 0"):
        run_one(Failures([cause(1.0, 1.0, [(5,)])]))
    with pytest.raises(InputError, match='interval_s: got "weekly"'):
        Checkpoints(interval_s="weekly")
    with pytest.raises(InputError, match="interval_s: got 0 at a cost"):
        Checkpoints(interval_s=0.0, cost_s=5.0)
    with pytest.raises(InputError, match="cost_s: got -1"):
        Checkpoints(interval_s=10.0, cost_s=-1.0)


GOOD = """policy = "fifo-backfill"
workload = { kind = "poisson", num_jobs = 20, arrival_rate_per_h = 20 }
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
        ("[checkpoints]\ninterval_s = 0\ncost_s = 3", "checkpoints.interval_s: got 0 at a cost"),
        ("[checkpoints]\ncost_s = -3", "checkpoints.cost_s: got -3"),
        ("[maintenance]\nevery_s = 10\nduration_s = 60", "maintenance.every_s: got 10"),
        ('[spot]\nnodes = 9\ntime_to_reclaim = "exponential:9"\ndown = "exponential:9"',
         "spot.nodes: got 9, expected at most 4"),
        ("[spot]\nnodes = 1", "spot.time_to_reclaim: missing"),
        ("[failure]\nrepair = 3", "failure"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_scenario_is_one_line(tmp_path, table, told):
    path = tmp_path / "s.toml"
    path.write_text(GOOD + table + "\n")
    with pytest.raises(InputError, match=told.replace("[", r"\[")):
        ScenarioChecks()(read_scenario(path))


def test_keys_without_effect_are_noted(tmp_path):
    """Each on one line: what follows no failure, what costs and never happens, models that nobody has."""
    tables = {
        '[checkpoints]\ninterval_s = "daly"\ncost_s = 9': ['checkpoints.interval_s: "daly" is computed'],
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
    path = tmp_path / "s.toml"
    path.write_text(GOOD + "[admission]\n")
    told = r"^s\.toml: admission: no job has a due date"
    with pytest.raises(InputError, match=told), of_file("s.toml"):
        run_of(read_scenario(path))


def test_foresight_waits_where_all_nodes_of_the_only_fitting_type_are_down():
    """The second job comes while the large node is away, and nothing runs on the small one."""
    small, large = NodeType("small", "GPU", 1, 1.0), NodeType("large", "GPU", 2, 2.0)
    cluster = Cluster((small, large), 2, node_type_of=(0, 1))
    table_s = [[np.inf] * 3, [np.inf, 80.0, 50.0]]  # by type and GPUs
    jobs = Workload(["a", "b"], np.array([0.0, 150.0]), TimeTable(np.array([table_s, table_s])))
    result = run(jobs, cluster, "foresight", Failures([cause(100.0, 400.0, [(1,)])]))
    assert result.parts["failures"].outages[1] >= 1
    assert all(share.node == 1 for share in result.schedule)
    assert result.first_start_s.tolist() == [0.0, 500.0]
