"""Large jobs on servers that fail: closed forms, and identities that hold for every draw."""

import math
from pathlib import Path

import numpy as np
import pytest

from experiments.scenario.output import write_result
from experiments.scenario.run import run as run_scenario
from experiments.scenario.schema import read_scenario
from policies import policy_names
from simulator.errors import InputError
from simulator.features.failures import Checkpoints, Failures, Outages, Reliability
from simulator.features.failures.servers import ServerStates
from simulator.laws import Deterministic, Exponential
from simulator.statistics import student
from simulator.theory.reliability import completion_s
from tests.core.jobs import fixed, nodes, run
from tests.core.written import Folder

DAY_S, MEAN_S, RESTART_S = 86_400.0, 32.9 * 60, 20.0 * 60
SIZE = 64


def one_job(spec, count, size=SIZE, work_s=DAY_S, checkpoints=None, seed=0, **options):
    failures = Failures(reliability=spec, checkpoints=checkpoints or Checkpoints(interval_s=0.0))
    return run(
        fixed([0], [work_s], [size]), nodes(1, count), "fifo-strict", failures, seed=seed, **options
    )


def servers(mean_s=SIZE * MEAN_S, repair=None, **keys):
    return Reliability(time_to_failure_s=mean_s, auto_repair=repair or Deterministic(60.0), **keys)


@pytest.mark.parametrize(
    ("fails_in_restart", "exact_s"),
    [
        (False, DAY_S * (1 + RESTART_S / MEAN_S)),  # 38.6 h
        (True, DAY_S * math.exp(RESTART_S / MEAN_S)),  # 44.1 h
    ],
)
def test_time_of_a_job_whose_servers_fail_while_it_restarts_or_not(fails_in_restart, exact_s):
    """24 h of work, 32.9 min between failures of its 64 servers, 20 min of restart."""
    spec = servers(fails_in_restart=fails_in_restart, standbys=4)
    checkpoints = Checkpoints(interval_s=0.0, restart_s=RESTART_S)
    times = [
        one_job(spec, SIZE + 6, checkpoints=checkpoints, seed=s).completion_s[0] for s in range(20)
    ]
    found = student(np.array(times), 0.999)
    assert found.contains(exact_s)
    assert found.half_width < 0.1 * exact_s


def test_work_since_the_last_checkpoint_is_lost():
    work_s, interval_s, cost_s = 6 * 3600.0, 1000.0, 60.0
    checkpoints = Checkpoints(interval_s=interval_s, cost_s=cost_s, restart_s=120.0)
    times = []
    for seed in range(20):
        result = one_job(
            servers(fails_in_restart=True),
            SIZE + 6,
            work_s=work_s,
            checkpoints=checkpoints,
            seed=seed,
        )
        times.append(result.completion_s[0])
        damage = result.parts["failures"]
        lost_gpu_s = damage.lost_gpu_s[0] + damage.overhead_gpu_s[0]
        assert result.gpu_seconds[0] == pytest.approx(SIZE * work_s + lost_gpu_s)
        assert damage.lost_gpu_s[0] > 0
    exact_s = completion_s(work_s, interval_s, cost_s, 120.0, MEAN_S)
    assert student(np.array(times), 0.999).contains(exact_s)


def test_each_failure_costs_what_its_servers_take():
    """Nothing is free and no repair ends, so that every failure takes a spare node."""
    spec = servers(
        repair=Deterministic(1e9), spare_nodes=200, host_selection_s=3.0, preemption_s=20.0
    )
    result = one_job(spec, SIZE + 200, checkpoints=Checkpoints(interval_s=0.0, restart_s=7.0))
    summary = result.summary()
    failures = summary["server_failures"]
    assert failures > 20
    assert summary["preempted_spares"] == failures == summary["job_failures"]
    assert summary["host_selections"] == failures + 1
    assert result.completion_s[0] == pytest.approx(DAY_S + 3 * (failures + 1) + 27 * failures)
    assert summary["outages"] == failures


def test_servers_are_selected_when_no_standby_is_left():
    """Four standbys last for four failures; the fifth selects five servers."""
    result = one_job(servers(repair=Deterministic(1e9), standbys=4), SIZE + 200)
    summary = result.summary()
    assert summary["host_selections"] == 1 + summary["server_failures"] // 5
    assert summary["server_failures"] > 20


def test_servers_that_come_back_fill_the_standbys():
    """One server is away at a time, and returns before the next failure: nothing is selected anew."""
    result = one_job(servers(repair=Deterministic(1.0), standbys=1), SIZE + 1)
    assert result.summary()["server_failures"] > 20
    assert result.summary()["host_selections"] == 1
    assert result.completion_s[0] == pytest.approx(DAY_S)


def test_a_job_without_a_server_waits_for_the_repair():
    """Two servers, no other one: each failure stops the job until its server is repaired."""
    spec = servers(DAY_S, Deterministic(100.0))
    result = one_job(spec, 2, size=2)
    summary = result.summary()
    assert summary["job_failures"] == summary["server_failures"] > 0
    assert result.completion_s[0] == pytest.approx(DAY_S + 100 * summary["job_failures"])


def test_bad_servers_fail_more_until_a_repair_is_good():
    """All are bad, at four times the rate. Where every repair fails, three of four failures are by the further rate."""
    spec = servers(bad_fraction=1.0, bad_factor=3.0, auto_fails=1.0, standbys=4)
    found = [one_job(spec, SIZE + 6, seed=seed).summary() for seed in range(4)]
    failures = np.array([f["server_failures"] for f in found])
    assert student(failures, 0.999).contains(4 * DAY_S / MEAN_S)
    systematic = np.array([f["systematic_failures"] for f in found]).sum()
    assert systematic / failures.sum() == pytest.approx(0.75, abs=0.06)
    assert all(f["bad_repairs"] > 0 == f["good_repairs"] for f in found)
    good = one_job(servers(bad_fraction=1.0, bad_factor=1e3, standbys=4), SIZE + 6).summary()
    assert 0 < good["systematic_failures"] <= SIZE + 6  # once for each server


def test_two_stages_of_repair():
    """Of the repairs 0.8 go to the second stage and fail there by 0.2, the others by 0.4: 0.24 in all."""
    spec = Reliability(
        time_to_failure_s=SIZE * 100.0, auto_repair=Deterministic(1.0), manual_repair=Deterministic(5.0), standbys=9, to_manual=0.8, auto_fails=0.4,
        manual_fails=0.2,
    )  # fmt: skip
    result = one_job(spec, SIZE + 20)
    summary = result.summary()
    repairs = summary["good_repairs"] + summary["bad_repairs"]
    assert repairs > 700
    assert summary["manual_repairs"] / repairs == pytest.approx(0.8, abs=0.05)
    assert summary["bad_repairs"] / repairs == pytest.approx(0.24, abs=0.05)
    down_s = result.parts["failures"].down
    assert sorted(set(np.round(down_s[:-9, 2] - down_s[:-9, 1], 6))) == [1.0, 6.0]


def test_diagnosis():
    """Without one nothing is repaired. Where always another server is, a bad one fails again and again."""
    bad = {"bad_fraction": 0.5, "bad_factor": 1e3, "standbys": 2}
    summary = one_job(servers(diagnosed=0.0, standbys=2), SIZE + 2).summary()
    assert summary["server_failures"] > 20
    assert summary["good_repairs"] == summary["outages"] == 0
    right = one_job(servers(1e6, **bad), 8, size=2).summary()
    wrong = one_job(servers(1e6, **bad, misdiagnosed=1.0), 8, size=2).summary()
    assert right["systematic_failures"] <= 8 < wrong["systematic_failures"]


def test_retirement_by_count_and_by_score():
    """Two failures, or a score of 2 that does not fade; a score that fades at once is never reached."""
    keys = {"standbys": 4, "mean_s": SIZE * 300.0}
    count = one_job(servers(retire_after=2, **keys), 700).summary()
    score = one_job(servers(retire_score=2.0, **keys), 700).summary()
    assert count["retired_servers"] > 5
    assert {k: v for k, v in count.items() if "cpu" not in k} == {
        k: v for k, v in score.items() if "cpu" not in k
    }
    fades = servers(retire_score=2.0, score_half_life_s=1e-3, **keys)
    assert one_job(fades, 700).summary()["retired_servers"] == 0
    window = servers(retire_after=2, retire_window_s=1e-3, **keys)
    assert one_job(window, 700).summary()["retired_servers"] == 0
    first = one_job(servers(retire_after=1, **keys), 700).summary()
    assert 0 <= first["server_failures"] - first["retired_servers"] <= 2  # in repair at the end
    assert first["outages"] == first["server_failures"]


def test_a_failure_as_old_as_the_window_counts():
    """Failures at 0 and 5 s: the second repair is over at 10 s, or just after the window of 10 s."""
    for now_s, is_retired in ((10.0, True), (10.001, False)):
        spec = servers(retire_after=2, retire_window_s=10.0)
        found = ServerStates(spec, 1, np.random.default_rng(0))
        assert not found.retires(0, 0.0, 1.0)
        assert found.retires(0, 5.0, now_s) == is_retired


def test_an_optimal_interval_follows_the_mean_rate_of_servers():
    """A quarter of the servers fails five times as often: the mean rate is 2 / 1e6 s, Young's interval sqrt(2 x 4 s x 5e5 s)
    = 2000 s. A job of 5000 s, which nothing happens to, has two checkpoints."""
    spec = servers(1e6, bad_fraction=0.25, bad_factor=4.0)
    result = one_job(
        spec, 4, size=1, work_s=5000.0, checkpoints=Checkpoints(interval_s="young", cost_s=4.0)
    )
    assert result.summary()["server_failures"] == 0
    assert result.completion_s[0] == pytest.approx(5008.0)


def test_a_server_that_has_become_good_does_not_fail_as_a_bad_one():
    """Two jobs on two bad servers and no other one: each fails once by its further rate, and comes back good."""
    spec = servers(1e5, Deterministic(1.0), bad_fraction=1.0, bad_factor=1e3)
    jobs, cluster = fixed([0, 0], [1e4, 1e4]), nodes(1, 2)
    for seed in range(8):
        faults = Failures(reliability=spec, checkpoints=Checkpoints(interval_s=0.0))
        result = run(jobs, cluster, "fifo-strict", faults, seed=seed)
        assert result.summary()["systematic_failures"] == 2


def test_a_failure_while_servers_are_selected_does_not_end_the_selection():
    """Nothing is lost and restarts take no time: failures in the 20,000 s of the selection change nothing."""
    spec = servers(
        repair=Deterministic(1.0), standbys=4, host_selection_s=20_000.0, fails_in_restart=True
    )
    result = one_job(spec, SIZE + 4)
    assert result.summary()["server_failures"] > 10
    assert result.summary()["host_selections"] == 1
    assert result.completion_s[0] == pytest.approx(20_000.0 + DAY_S)


def test_standbys_are_kept_from_other_jobs_and_cost():
    """Of four nodes and a spare one, a job holds two and a standby for 10 s: another one of two waits."""
    failures = Failures(
        reliability=servers(1e12, standbys=1, spare_nodes=1),
        checkpoints=Checkpoints(interval_s=0.0),
    )
    machines = nodes(1, 5, price_per_hour=3600.0)
    result = run(fixed([0, 1], [10, 10], [2, 2]), machines, "fifo-strict", failures)
    assert result.completion_s.tolist() == [10.0, 20.0]
    assert result.summary()["leasing_cost"] == pytest.approx(4 * 20)
    assert result.table("timeline")["running"].tolist() == [1, 1, 1, 0]


def test_the_tables_of_a_run_whose_servers_were_exchanged():
    spec = servers(repair=Exponential(3600.0), standbys=2, spare_nodes=10)
    failures = Failures(reliability=spec, checkpoints=Checkpoints(interval_s=0.0, restart_s=60.0))
    machines = nodes(1, SIZE + 30, price_per_hour=3600.0)
    result = run(fixed([0, 10], [DAY_S, 100], [SIZE, 5]), machines, "fifo-strict", failures)
    shares, line = result.schedule_table(), result.table("timeline")
    held = shares[shares.job_id == "j0"]
    assert len(held) > SIZE + 20
    assert ((held.end_s - held.start_s) * held.gpus).sum() == pytest.approx(result.gpu_seconds[0])
    assert line["running"].max() == 2
    assert line["queue"].max() == 0
    cost = (line.cost_per_h[:-1] * np.diff(line.time_s)).sum() / 3600
    assert cost == pytest.approx(result.meters.leasing_cost)


def test_outages_and_servers_are_two_ways_to_say_it():
    with pytest.raises(InputError, match="reliability: given beside outages"):
        Failures(
            [Outages.of_each_node(1, Exponential(1.0), Exponential(1.0))], reliability=servers()
        )
    with pytest.raises(InputError, match="manual_repair: missing"):
        servers(to_manual=0.5)


EXAMPLE = Path(__file__).parents[2] / "examples" / "large_jobs.toml"


def test_the_example_and_its_tables(tmp_path):
    """Every key does something, and all tables agree with each other."""
    scenario = read_scenario(EXAMPLE)
    result = run_scenario(scenario)
    summary = result.summary()
    assert summary["retired_servers"] > 0 < summary["preempted_spares"]
    assert 0 < summary["effective_training_ratio"] < 1
    write_result(result, tmp_path)
    Folder(tmp_path).check()


LEFT_OUT = (
    "foresight", "local-search", "milp", "path-relinking", "randomised-greedy",  # slow
    "afs", "pollux", "sia",  # for jobs with tables of goodput
)  # fmt: skip


@pytest.mark.parametrize("policy", [n for n in policy_names() if not n.startswith(LEFT_OUT)])
def test_every_policy_goes_on_with_the_other_server(policy):
    """A policy that remembers where a job was would put it on a server that is down, which ends the run."""
    spec = servers(
        2000.0, Exponential(300.0), standbys=1, spare_nodes=1, misdiagnosed=0.3, diagnosed=0.8
    )
    failures = Failures(
        reliability=spec, checkpoints=Checkpoints(interval_s=50.0, cost_s=1.0, restart_s=5.0)
    )
    jobs = fixed(range(0, 320, 40), [400, 700, 300, 500] * 2, [1, 2, 1, 2, 2, 1, 1, 2])
    try:
        result = run(jobs, nodes(2, 6), policy, failures, seed=1)
    except InputError:
        return  # jobs of another kind
    assert result.summary()["server_failures"] > 0
    assert np.isfinite(result.completion_s).all()
