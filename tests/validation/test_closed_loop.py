"""Logs that the simulator made itself: with their rules the simulation agrees, without them it tells so."""

import csv
import json

import numpy as np
import pytest

from experiments.comparison.entrants import Entrant
from experiments.config import toml_value
from experiments.scenario.schema import read_scenario
from experiments.validation.agreement import agreement_of
from experiments.validation.simulating import Simulations
from experiments.validation.validating import validate
from experiments.validation.writing import write_validation
from tests.command import done, refused
from tests.validation.made_logs import GPUS, NODES, made_log, scenario


def held_against(path, settings=(), policies=()):
    return validate(scenario(path, settings), path.name, policies)


@pytest.mark.long
def test_a_log_of_the_simulator_agrees_with_it(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv"))
    agreement = found.agreements["easy-backfill"]
    assert agreement.ratio.mean == pytest.approx(1)
    assert agreement.waits == pytest.approx(1)
    assert agreement.queue == pytest.approx(1)
    assert agreement.use == pytest.approx(1)
    assert found.verdict.kind == "recommended"
    assert found.verdict.settings == ()
    assert found.held.nodes == NODES


@pytest.mark.long
def test_nodes_that_were_not_there_are_found(tmp_path):
    """A sixth of the nodes never worked: today's size is what is left, judged on jobs that the fit has not seen."""
    log = made_log(tmp_path / "log.csv", settings=["cluster.num_nodes=5"], load=0.7)
    found = held_against(log)
    assert found.agreements["easy-backfill"].ratio.mean < 0.6
    assert found.held.nodes == 5
    assert found.verdict.settings == ("cluster.num_nodes=5",)
    assert found.held.ratio.mean == pytest.approx(1, abs=0.02)


@pytest.mark.long
def test_the_policy_of_the_log_agrees_and_others_do_not(tmp_path):
    log = made_log(tmp_path / "log.csv", settings=["policy=sjf"])
    found = held_against(log, policies=["sjf", "fifo-strict"])
    assert found.policy == "sjf"
    assert found.agreements["sjf"].ratio.mean == pytest.approx(1)
    assert found.agreements["fifo-strict"].ratio.mean > 1.5


HOURS = "mon-fri 18:00-08:00, sat-sun"
GROUPS = ", ".join(
    f'{name}={{num_nodes={nodes}, gpus_per_node={GPUS}, partitions=["{name}"]}}'
    for name, nodes in (("p0", 2), ("p1", 4))
)
RULES = {
    "jobs of a user": (
        ["tenants.by=user", "tenants.max_jobs={u0=4}"], "never has more than this number of running jobs: u0 4",
    ),
    "GPUs of a user": (
        ["tenants.by=user", "tenants.quota={u0=8}"], "never has more than this number of GPUs: u0 8",
    ),
    "GPUs of a partition": (
        ["tenants.by=vc", "tenants.quota={p0=10}"], "never has more than this number of GPUs: p0 10",
    ),
    "partitions of nodes": (
        [f'cluster={{kind="mixed", groups={{{GROUPS}}}}}'], "never has more than this number of GPUs: p0 8",
    ),
    "hours": (
        ['calendar.begins="2024-01-01 00:00"', f'calendar.rules=[{{longer_than_s=7200, start="{HOURS}"}}]'],
        "jobs that ask for more than 2 h hardly start between 8:00 and 18:00 on weekdays",
    ),
    "maintenance": (
        ["maintenance.every_s=259200", "maintenance.duration_s=21600", "maintenance.nodes_at_a_time=6"],
        "times jobs waited and none started or ended",
    ),
}  # fmt: skip
FAILURES = {
    "failures of nodes": ("outages", "NODE_FAIL", "ended as NODE_FAIL"),
    "failures of jobs": ("failures", "FAILED", "ended as FAILED"),
}
"""The table of a scenario that has them, the state of a job that failed, and how they are told."""


def settings_of(rule, folder):
    """A rule as settings; the outages of nodes are a list of a file, as a site has them."""
    if rule in RULES:
        return RULES[rule][0]
    if rule == "failures of jobs":
        return ["failures.job_time_to_failure=exponential:60000"]
    rng = np.random.default_rng(3)
    rows = ["node,from,to"]
    for node in range(NODES):
        up_s = 0.0
        while up_s < 3e6:
            down_s = up_s + rng.exponential(100_000)
            up_s = down_s + 20_000
            rows.append(f"{node},{down_s:.0f},{up_s:.0f}")
    (folder / "events.csv").write_text("\n".join(rows) + "\n")
    return [f"outages.path={toml_value(str(folder / 'events.csv'))}"]


def agreement(path, settings):
    (sides,) = Simulations().of([Entrant("own", "", scenario(path, settings))], "")
    return agreement_of(sides.recorded, sides.simulated, sides.total_gpus)


@pytest.mark.long
@pytest.mark.parametrize("rule", [*RULES, *FAILURES])
def test_with_its_rule_a_log_agrees(rule, tmp_path):
    settings = settings_of(rule, tmp_path)
    log = made_log(tmp_path / "log.csv", settings=settings, load=0.6)
    with_rule = agreement(log, settings)
    # The times of the log are whole seconds.
    assert with_rule.ratio.mean == pytest.approx(1, abs=1e-4)
    assert with_rule.waits == pytest.approx(1, abs=1e-6)
    without = agreement(log, [])
    assert not 0.7 < without.ratio.mean < 1.4
    assert without.waits < 0.7


@pytest.mark.long
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_left_out_is_named(rule, tmp_path):
    settings, words = RULES[rule]
    log = made_log(tmp_path / "log.csv", settings=settings, load=0.6)
    found = validate(scenario(log), "log", calibrate=True, folder=tmp_path)
    (named,) = [each for each in found.tried if words in each.rule.words]
    assert named.kept
    if rule == "maintenance":  # those of the second half are not in the record of the first
        assert found.verdict.kind == "refused"
        return
    if (
        rule == "partitions of nodes"
    ):  # a quota stands in for the nodes, which the record does not name
        assert named.after.waits > named.before.waits + 0.2
        return
    assert named.after.waits > 0.9
    # Jobs of the second half overtake large ones of the first, which the fit does not see.
    if rule == "GPUs of a user":
        return
    assert found.held.nodes == NODES
    assert found.held.ratio.mean == pytest.approx(1, abs=0.1)
    assert found.verdict.kind == "recommended"
    assert "calibrated.toml" in found.verdict.words


@pytest.mark.long
@pytest.mark.parametrize("rule", FAILURES)
def test_failures_are_named_and_no_other_rule(rule, tmp_path):
    table, state, words = FAILURES[rule]
    settings = settings_of(rule, tmp_path)
    log = made_log(tmp_path / "log.csv", settings=settings, load=0.6, failed=state)
    found = validate(scenario(log), "log", calibrate=True, folder=tmp_path)
    (named,) = found.failures
    assert (named.table, named.states) == (table, (state,))
    with log.open() as file:
        rows = [row for row in csv.DictReader(file) if row["state"] == state]
    assert named.jobs == len(rows) > 20
    work_h = sum(float(row["duration_s"]) * int(row["num_gpus"]) for row in rows) / 3600
    assert named.gpu_h == pytest.approx(work_h)
    (line,) = [line for line in found.lines() if line.startswith("failures")]
    assert words in line
    assert (found.suggested, found.tried) == ((), ())
    assert found.verdict.kind == "refused"
    own = validate(scenario(log, settings), "log")
    assert own.failures == ()
    assert own.agreements["easy-backfill"].ratio.mean == pytest.approx(1, abs=1e-4)


@pytest.mark.long
def test_a_log_without_rules_suggests_none(tmp_path):
    found = validate(scenario(made_log(tmp_path / "log.csv")), "log", calibrate=True)
    assert (found.suggested, found.tried) == ((), ())


@pytest.mark.long
def test_the_calibrated_scenario_has_the_rules(tmp_path):
    settings = RULES["jobs of a user"][0]
    log = made_log(tmp_path / "log.csv", settings=settings, load=0.6)
    plain = validate(scenario(log), "log")
    assert [line for line in plain.lines() if line.endswith("u0 4; --calibrate tries it")]
    found = validate(scenario(log), "log", calibrate=True, folder=tmp_path)
    assert [line for line in found.lines() if line.endswith("becomes 1.00; kept")]
    assert tmp_path / "calibrated.toml" in [*write_validation(found, tmp_path)]
    (sides,) = Simulations().of([Entrant("", "", read_scenario(tmp_path / "calibrated.toml"))], "")
    again = agreement_of(sides.recorded, sides.simulated, sides.total_gpus)
    assert again.ratio.mean == pytest.approx(1, abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("own", "is_tried"),
    [
        (["tenants.by=user", "tenants.weight={u1=2}"], True),  # fair shares of the same users
        (["tenants.by=user", "tenants.max_jobs={u1=9}"], False),
        (["tenants.by=user", "tenants.quota={u1=9}"], False),
        (["tenants.by=vc"], False),
    ],
)
def test_limits_are_tried_where_the_scenario_has_none(own, is_tried, tmp_path):
    settings = RULES["jobs of a user"][0]
    log = made_log(tmp_path / "log.csv", settings=settings, load=0.6)
    found = validate(scenario(log, own), "log", calibrate=True, folder=tmp_path)
    line = next(line for line in found.lines() if "u0 4" in line)
    assert line.endswith("kept" if is_tried else "not tried: the scenario has its own [tenants]")
    if is_tried:
        assert found.held.settings == ("tenants.by=user", "tenants.max_jobs={ u0 = 4 }")
        assert found.held.ratio.mean == pytest.approx(1, abs=0.1)


@pytest.mark.long
def test_partitions_have_a_line_each(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv"))
    assert {*found.partitions} == {"p0", "p1"}
    assert sum(each.recorded.count for each in found.partitions.values()) == 1200
    assert sum(line.startswith("partition") for line in found.lines()) == 2


def test_few_jobs_have_no_verdict_and_no_fit(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv", count=999))
    assert found.held is None
    assert found.verdict.kind == "none"


@pytest.mark.long
def test_a_log_where_nobody_waits_has_no_verdict(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv", load=0.1))
    assert found.verdict.words.startswith("No verdict: hardly any job waited")


@pytest.mark.long
def test_command_and_its_files(tmp_path):
    log = made_log(tmp_path / "log.csv", count=1000)
    out = tmp_path / "out"
    ran = done("validate", log, "--nodes", NODES, "--gpus", GPUS, "--out", out, "--workers", 1)
    assert "agreement    1.00 of the recorded mean" in ran.stdout
    assert "answer       The mean wait agrees" in ran.stdout
    with (out / "validate.csv").open() as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 1000
    for row in rows:
        assert float(row["recorded_wait_s"]) == float(row["simulated_wait_s"])
        assert 0 <= float(row["had_room_s"]) <= float(row["recorded_wait_s"])
    told = json.loads((out / "validation.json").read_text())
    waits = [float(row["recorded_wait_s"]) for row in rows]
    mean_s = told["agreements"]["easy-backfill"]["recorded"]["mean_s"]
    assert mean_s == pytest.approx(sum(waits) / 1000)
    assert told["verdict"]["kind"] == "recommended"
    assert (out / "validate.png").stat().st_size > 10_000


@pytest.mark.long
def test_a_scenario_beside_the_log(tmp_path):
    log = made_log(tmp_path / "log.csv", count=50)
    cluster = tmp_path / "cluster.toml"
    cluster.write_text(
        f'policy = "easy-backfill"\n[workload]\nkind = "swf"\npath = "gone.swf"\n'
        f'[cluster]\nkind = "nodes"\nnum_nodes = {NODES}\ngpus_per_node = {GPUS}\n'
    )
    ran = done("validate", log, cluster, "--out", tmp_path / "out", "--workers", 1)
    assert "agreement    1.00 of the recorded mean" in ran.stdout
    assert "No verdict: 50 jobs" in ran.stdout


def test_a_log_without_recorded_starts_is_refused(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,10,1\nb,1,10,1\n")
    told = refused("validate", log, "--nodes", 1, "--out", tmp_path / "out")
    assert "no job has a recorded start" in told
