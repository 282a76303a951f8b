"""Limits with one line: nothing hangs, nothing fills the memory, nothing is read wrongly."""

import gzip
import json
import os
import re
from functools import partial

import pandas as pd
import pytest

from experiments import cli
from experiments.analysis import sizing
from experiments.config import read_toml
from experiments.pictures import gantt
from experiments.scenario.schema import read_scenario
from simulator.errors import InputError
from simulator.files.inputs import MOST_BYTES, read_input, read_json
from simulator.laws import Exponential, parse_law
from simulator.statistics import Estimate
from simulator.theory import size_servers
from simulator.workloads.philly import PhillyJobs
from simulator.workloads.plain_csv import CsvJobs

HEAD = "job_id,submit_time_s,duration_s,num_gpus\n"
POISSON = '[workload]\nkind = "poisson"\narrival_rate_per_h = 1\n'
NODES = '[cluster]\nkind = "nodes"\nnum_nodes = 4\n'


def test_a_named_pipe_does_not_wait_for_ever(tmp_path):
    os.mkfifo(tmp_path / "jobs.csv")
    path = tmp_path / "jobs.csv"
    for read in (CsvJobs(path=path).read, partial(read_toml, path), PhillyJobs(path=path).read):
        with pytest.raises(InputError, match="is no regular file"):
            read()
    with pytest.raises(InputError, match="is no regular file"):
        CsvJobs(path="/dev/zero").read()
    with pytest.raises(InputError, match="is a folder"):
        CsvJobs(path=tmp_path).read()


def test_a_few_kilobytes_that_hold_gigabytes_are_refused(tmp_path):
    path = tmp_path / "jobs.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(50):
            file.write(bytes(2**20))
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="has more than 1,000,000 bytes"):
        read_input(path, most=1_000_000)


def test_a_file_larger_than_the_limit_is_not_even_opened(tmp_path):
    with (tmp_path / "sparse.csv").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    told = "has 2,147,483,649 bytes, expected at most 2,147,483,648"
    with pytest.raises(InputError, match=told):
        CsvJobs(path=tmp_path / "sparse.csv").read()


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("content", [b"no such format", b"\x1f\x8b\x08\x00", b""])
def test_corrupt_compressed_files_are_one_line(tmp_path, suffix, content):
    path = tmp_path / f"jobs.csv{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read|is empty"):
        CsvJobs(path=path).read()


def test_compressed_jobs_are_the_same_jobs(tmp_path):
    rows = (HEAD + "a,0,10,1\nb,1,20,2\n").encode()
    (tmp_path / "jobs.csv").write_bytes(rows)
    (tmp_path / "jobs.csv.gz").write_bytes(gzip.compress(rows))
    plain, packed = (CsvJobs(path=tmp_path / n).read() for n in ("jobs.csv", "jobs.csv.gz"))
    assert plain.job_id == packed.job_id
    assert plain.submit_s.tolist() == packed.submit_s.tolist()


def test_too_many_columns(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"c{i}" for i in range(200_000)) + "\n1\n")
    with pytest.raises(InputError, match="has 200,000 columns, expected at most 10,000"):
        CsvJobs(path=tmp_path / "wide.csv").read()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (POISSON + NODES.replace("4", "10_000_000"), "num_nodes: got 10000000, expected an integer"),
        (POISSON + "num_jobs = 100_000_000\n", "num_jobs: got 100000000, expected an integer"),
        (POISSON + NODES + "gpus_per_node = 1_000_000\n", "gpus_per_node: got 1000000, expected"),
        (
            '[workload]\nkind = "hierarchical"\nnum_nodes = 1_000_000\njobs_per_node = 100_000\n',
            "100,000,000,000 jobs in all, expected at most 10,000,000",
        ),
        ("seed = 1" + "0" * 5000, "not valid TOML"),
        ("seed = 1" + "0" * 400, "seed: got a number of 401 digits, expected at most 18"),
        ("a = " + "[" * 5000, "not valid TOML"),
        ("a = " + "[" * 100 + "]" * 100, "a: nested too deeply"),
        ('[workload]\nkind = "csv"\npath = "a\\u0000b"\n', "workload.path: got a text with a NUL"),
        ("a" * 11_000_000, "has 11,000,014 bytes, expected at most 10,485,760"),
    ],
)  # fmt: skip
def test_sizes_in_a_scenario(tmp_path, text, told):
    path = tmp_path / "scenario.toml"
    path.write_text(('policy = "fifo' if text.startswith("aa") else 'policy = "fifo"\n') + text)
    with pytest.raises(InputError) as error:
        read_scenario(path)
    assert told in str(error.value)
    assert len(str(error.value)) < 2000


@pytest.mark.parametrize(
    "words",
    [
        "run JOBS --policy fifo --set cluster.num_nodes=10000000",
        "run JOBS --policy fifo --set cluster.num_nodes=1 --set cluster.gpus_per_node=1000000000",
        "run JOBS --policy fifo --set cluster.num_nodes=1 --set cluster.num_controllers=1000000000",
        "show trace JOBS --nodes 1000000000",
        "show trace JOBS --nodes 1 --gpus 1000000000",
        "theory packing --seeds 1000000000",
        "bound examples/hierarchical.toml --clairvoyant 1000000000",
        "theory size-server --controllers 1000000000 --arrival-rate 1 --service exponential:40 --target-delay 60",
    ],
)
def test_sizes_on_the_command_line(tmp_path, capsys, words):
    (tmp_path / "jobs.csv").write_text(HEAD + "a,0,10,1\nb,1,20,2\n")
    given = [str(tmp_path / "jobs.csv") if word == "JOBS" else word for word in words.split()]
    assert cli._run(given, debug=False) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert re.search(r"less than or equal to|expected an integer .*<=|need more than", told)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, "[1,", "\ud800"])
def test_json_that_is_none(tmp_path, text):
    (tmp_path / "some.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError):
        read_json(tmp_path / "some.json", "a list")


@pytest.mark.parametrize(
    ("gpus", "good"),
    [(["gpu0", "gpu1"], True), ("gpu0", False), ({"gpu0": 1}, False), (4, False), (None, False)],
)
def test_philly_s_gpus_are_a_list(tmp_path, gpus, good):
    """A text is a sequence, too: "gpu0" counted as four GPUs."""
    times = {"start_time": "2017-10-01 10:00:00", "end_time": "2017-10-01 10:10:00"}
    attempts = [times | {"detail": [{"ip": "m", "gpus": gpus}]}]
    entry = {"jobid": "a", "submitted_time": "2017-10-01 09:00:00", "attempts": attempts}
    (tmp_path / "log.json").write_text(json.dumps([entry]))
    if good:
        assert PhillyJobs(path=tmp_path / "log.json").read().num_gpus.tolist() == [2]
    else:
        with pytest.raises(InputError, match=r"gpus is .*, expected a list"):
            PhillyJobs(path=tmp_path / "log.json").read()


@pytest.mark.parametrize(
    "text", ["exponential:1,mean=2", "exponential:mean=1,mean=2", "lognormal:40,cv=2,cv=3"]
)
def test_a_law_with_a_value_given_twice_is_refused(text):
    with pytest.raises(InputError, match="given twice, expected once"):
        parse_law(text)


def test_a_target_hard_by_the_service_time_ends(monkeypatch):
    """More servers do not help if noise keeps every simulated mean above the target."""
    looked_at: list[int] = []

    def noisy(servers: int, *_: object) -> Estimate:
        looked_at.append(servers)
        assert len(looked_at) < 50
        return Estimate(40.02, 39.7, 40.3, 10)

    monkeypatch.setattr(sizing, "simulated_response_s", noisy)
    answer = sizing.size_server(20, 1 / 4500, "exponential:40", 40.01, 0)
    least = size_servers(20, 1 / 4500, Exponential(40.0), 40.01).servers
    assert looked_at == list(range(least, least + sizing.BEYOND + 1))
    assert "cannot tell, the target is too close to the mean service time of 40 s" in answer


def test_odd_names_of_jobs_are_drawn_as_they_are(tmp_path):
    """ "NA" is no missing value, and "$x$" no formula."""
    names = ["NA", "$\\frac{$", "null", "$x_1$"]
    jobs = {"job_id": names, "arrival_s": 0.0, "completion_s": 10.0, "tardiness_s": 1.0}
    where = {"job_id": names, "node": range(4), "node_type": "t", "gpus": 1}
    for name, table in (("jobs", jobs), ("schedule", where | {"start_s": 0.0, "end_s": 10.0})):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    path = gantt.gantt(tmp_path, tmp_path / "chart.svg")
    assert path.stat().st_size > 5_000
