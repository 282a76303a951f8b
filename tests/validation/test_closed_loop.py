"""Logs that the simulator made itself: with their rules the simulation agrees, without them it tells so."""

import csv
import json

import pytest

from experiments.validation.validating import validate
from tests.command import done, refused
from tests.validation.made_logs import GPUS, NODES, made_log, scenario


def held_against(path, settings=(), policies=()):
    return validate(scenario(path, settings), path.name, policies)


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


def test_nodes_that_were_not_there_are_found(tmp_path):
    """A sixth of the nodes never worked: today's size is what is left, judged on jobs that the fit has not seen."""
    log = made_log(tmp_path / "log.csv", settings=["cluster.num_nodes=5"], load=0.7)
    found = held_against(log)
    assert found.agreements["easy-backfill"].ratio.mean < 0.6
    assert found.held.nodes == 5
    assert found.verdict.settings == ("cluster.num_nodes=5",)
    assert found.held.ratio.mean == pytest.approx(1, abs=0.02)


def test_the_policy_of_the_log_agrees_and_others_do_not(tmp_path):
    log = made_log(tmp_path / "log.csv", settings=["policy=sjf"])
    found = held_against(log, policies=["sjf", "fifo-strict"])
    assert found.policy == "sjf"
    assert found.agreements["sjf"].ratio.mean == pytest.approx(1)
    assert found.agreements["fifo-strict"].ratio.mean > 1.5


def test_partitions_have_a_line_each(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv"))
    assert {*found.partitions} == {"p0", "p1"}
    assert sum(each.recorded.count for each in found.partitions.values()) == 1200
    assert sum(line.startswith("partition") for line in found.lines()) == 2


def test_few_jobs_have_no_verdict_and_no_fit(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv", count=999))
    assert found.held is None
    assert found.verdict.kind == "none"


def test_a_log_where_nobody_waits_has_no_verdict(tmp_path):
    found = held_against(made_log(tmp_path / "log.csv", load=0.1))
    assert found.verdict.words.startswith("No verdict: hardly any job waited")


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
