"""`gantt`, `replay` and `explain` on folders that somebody changed: one line each, from one reader."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.analysis.explain import explain
from experiments.pictures.gantt import gantt
from experiments.replay import replay_folders
from experiments.scenario.output import write_result
from simulator import InputError
from tests.core.jobs import fixed, nodes, run

COMMANDS = {
    "gantt": gantt,
    "replay": lambda folder: replay_folders([folder], folder / "replay.html"),
    "explain": lambda folder: explain(folder, "b"),
}
TYPE = {"name": "n", "gpus": 2, "per_hour": 1.0, "per_gpu_hour": 0.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Jobs a and b of 2 GPUs on a node of 2 GPUs, for 100 s each; a second node is idle."""
    columns = {"due_s": [500.0, 500.0], "weight_per_s": [1.0, 1.0]}
    jobs = replace(fixed([0, 1], [100, 100], [2, 2], **columns), job_id=["a", "b"])
    write_result(run(jobs, nodes(2, 2, price_per_hour=1.0)), tmp_path)
    return tmp_path


def change_first_row(path: Path, change: dict[str, object]) -> None:
    names, row, *rest = path.read_text().splitlines()
    changed = dict(zip(names.split(","), row.split(","), strict=True)) | change
    path.write_text("\n".join([names, ",".join(map(str, changed.values())), *rest]) + "\n")


def one_line(folder: Path, told: str) -> None:
    for name, command in COMMANDS.items():
        with pytest.raises(InputError) as error:
            command(folder)
        text = str(error.value)
        assert re.search(told, text), (name, text)
        assert "\n" not in text
        assert len(text) < 300 + len(str(folder))


def test_the_folder_itself_is_read(folder):
    for command in COMMANDS.values():
        command(folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"node": -5}, r"schedule.csv, line 2: node is -5, expected a whole number from 0 to 1"),
        ({"node": 1e9}, r"node is 1e\+09, expected a whole number from 0 to 1"),
        ({"node": "here"}, r"schedule.csv, line 2: node is here, expected a number"),
        ({"start_s": 300.0}, r"line 2: end_s is 100, expected a time after start_s"),
        ({"gpus": 1e9}, r"line 2: gpus is 1e\+09, expected as many as the node has"),
        ({"gpus": 0}, r"line 2: gpus is 0, expected as many as the node has"),
        ({"gpus": "two"}, r"line 2: gpus is two, expected a number"),
        ({"cpus": "two"}, r"line 2: cpus is two, expected a number"),
        ({"node_type": "m"}, r"line 2: node_type is m, expected a type of machines.json"),
        ({"cpus": -1}, r"line 2: cpus is -1, expected a number >= 0"),
        ({"start_s": -1}, r"line 2: start_s is -1, expected a time after the job's arrival_s"),
        ({"end_s": 101}, r"line 2: end_s is 101, expected a time before the job's completion_s"),
        ({"end_s": 1e308}, r"line 2: end_s is 1e\+308, expected a number up to 1e\+15 in size"),
        ({"job_id": "c"}, r"line 2: job_id is c, expected a job of jobs.csv"),
        ({"job_id": "c" * 10_000}, r"job_id is c{60}\.\., expected a job of jobs.csv"),
    ],
)
def test_schedule(folder, change, told):
    change_first_row(folder / "schedule.csv", change)
    one_line(folder, told)


def test_more_gpus_in_use_than_a_node_has(folder):
    path = folder / "schedule.csv"
    path.write_text(path.read_text() + "b,0,n,1,0.0,0.0,50.0,60.0\n")
    one_line(folder, r"line 4: gpus is 1, expected no more beside the other jobs than the node has")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"job_id": "b"}, r"jobs.csv, line 3: job_id is b, expected another name in each row"),
        ({"completion_s": "soon"}, r"jobs.csv, line 2: completion_s is soon, expected a number"),
        ({"completion_s": -1}, r"jobs.csv, line 2: completion_s is -1, expected a time after"),
        ({"first_start_s": -1}, r"jobs.csv, line 2: first_start_s is -1, expected a time after"),
        ({"arrival_s": -1e308}, r"line 2: arrival_s is -1e\+308, expected a number up to 1e\+15"),
    ],
)
def test_jobs(folder, change, told):
    change_first_row(folder / "jobs.csv", change)
    one_line(folder, told)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (None, r"machines.json: currency: missing, expected text"),
        ("[]", r"machines.json: cannot be read"),
        ("{" * 5000, r"machines.json, line 1: not JSON"),
        ({"node_types": []}, r"node_types: got \[\], expected"),
        ({"num_nodes": "many"}, r'num_nodes: got "many", expected an integer'),
        ({"num_nodes": 10**12}, r"num_nodes: got 1000000000000, expected"),
        ({"num_nodes": 3}, r"type_of has 2 values, expected 3"),
        ({"type_of": [0, 7]}, r"type_of has 7, expected numbers of node_types"),
        ({"due_s": [1.0]}, r"due_s has 1 values, expected 2"),
        ({"weight_per_s": ["heavy", 1.0]}, r'weight_per_s\[0\]: got "heavy", expected a'),
        ({"limits": [[1.0]]}, r"limits\[0\]: got \[1.0\], expected"),
        ({"due_s": None}, r"due_s without weight_per_s, or the other way, expected both"),
        ({"limits": None}, r"limits: got null, expected"),
        ({"node_types": [TYPE | {"per_hour": -1.0}]}, r"node_types\[0\].per_hour: got -1.0, expected a number >= 0"),
        ({"node_types": [TYPE | {"energy_per_hour": [1.0]}]}, r"energy_per_hour of n has 1 values, expected 3"),
        ({"num_controllers": 0}, r"num_controllers: got 0, expected an integer"),
    ],
)  # fmt: skip
def test_machines(folder, change, told):
    path = folder / "machines.json"
    if isinstance(change, dict):
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    else:
        path.write_text(change if isinstance(change, str) else "{}")
    one_line(folder, told)


def test_without_machines_limits_are_those_of_scenario_files(folder):
    """A folder of an earlier version: the chart would otherwise have a line for each of 1e9 GPUs."""
    (folder / "machines.json").unlink()
    path = folder / "schedule.csv"
    whole = path.read_text()
    path.write_text(whole.replace(",n,2,", ",n,1000000000,", 1))
    one_line(folder, r"line 2: gpus is 1e\+09, expected as many as the node has")
    path.write_text(whole.replace("a,0,", "a,1000000000,", 1))
    one_line(folder, r"line 2: node is 1e\+09, expected a whole number from 0 to 999999")


def test_what_the_player_alone_reads(folder):
    """The name of the policy, the times of decisions, and labels, which only runs of a sweep have."""
    path = folder / "summary.json"
    whole = path.read_text()
    path.write_text(json.dumps(json.loads(whole) | {"policy": [1]}))
    with pytest.raises(InputError, match=r"summary.json: policy is \[1\], expected a name"):
        COMMANDS["replay"](folder)
    path.write_text(whole)
    with pytest.raises(InputError, match=r"--where: given with single runs, expected a sweep"):
        replay_folders([folder], folder / "replay.html", {"seed": "1"})
    change_first_row(folder / "decisions.csv", {"time_s": "soon"})
    with pytest.raises(InputError, match=r"decisions.csv, line 2: time_s is soon, expected a"):
        COMMANDS["replay"](folder)
    assert not (folder / "replay.html").exists()
