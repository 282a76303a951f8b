"""Readers of public traces: Philly, Gavel, Alibaba."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.model.workload import Workload
from simulator.workloads.alibaba import AlibabaJobs
from simulator.workloads.philly import PhillyJobs
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.registry import formats, recognised
from tests.errors import input_error
from tests.families import module

gavel = module("simulator.workloads.gavel")


def durations(workload: Workload) -> list[float]:
    return workload.performance.duration_s.tolist()


def written(folder: Path, text: str) -> Path:
    path = folder / "jobs.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", formats().values())
def test_the_example_of_a_format_is_read(tmp_path, form):
    rates = {"v100": {"('LM (batch size 5)', 2)": {"null": 4.0}}}
    (tmp_path / "oracle_throughputs.json").write_text(json.dumps(rates))
    path = written(tmp_path, form.example)
    assert len(form(path=path).read()) == 1
    assert recognised(path) == form(path=path).kind
    assert all(column.meaning for column in form.reads)


@pytest.mark.parametrize("form", formats().values())
def test_a_missing_file_and_one_of_another_format(tmp_path, form):
    with input_error("no such file"):
        form(path=tmp_path / "nowhere").read()
    path = written(tmp_path, "time,machineId,gpu0_util\n2017-10-03,m29,60.8\n")
    with input_error("jobs.csv"):
        form(path=path).read()


# -- Philly ------------------------------------------------------------------------------------


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, Any]:
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{k}" for k in range(n)]} for i, n in enumerate(gpus)]
    return {"start_time": start, "end_time": end, "detail": detail}


def job(name: str, submitted: str, *attempts: Any) -> dict[str, Any]:
    return {
        "status": "Pass", "vc": "ee9e8c", "jobid": name, "attempts": list(attempts),
        "submitted_time": submitted, "user": "ce2f4c",
    }  # fmt: skip


DAY = "2017-10-07 "


def log(folder: Path, *jobs: Any) -> Path:
    path = folder / "cluster_job_log"
    path.write_text(json.dumps(list(jobs)))
    return path


def test_philly_log(tmp_path):
    at = DAY + "01:00:00"
    twice = (attempt(DAY + f"01:0{m}:{s}", DAY + f"01:0{n}:{e}", 8, 8)
             for m, s, n, e in ((0, 30, 1, 30), (2, "00", 2, 40)))  # fmt: skip
    path = log(
        tmp_path,
        job("late", DAY + "02:00:00", attempt(DAY + "02:00:10", DAY + "02:01:10", 1)),
        job("twice", at, *twice),
        job("never", at),
        job("running", at, attempt(DAY + "01:00:30", None, 1)),
        job(
            "again",
            at,
            attempt(DAY + "01:00:30", DAY + "01:01:00", 1),
            attempt(DAY + "01:01:00", None, 1),
        ),
        job("open", at, attempt(DAY + "01:00:30", "None", 1)),
        job("no gpu", DAY + "00:00:00", attempt(DAY + "01:00:30", DAY + "02:00:00")),
        job("no time", at, attempt(DAY + "01:00:30", DAY + "01:00:30", 1)),
    )
    w = PhillyJobs(path=path).read()
    assert w.job_id == ("twice", "late")
    assert w.submit_s.tolist() == [0, 3600]
    assert durations(w) == [100, 60]
    assert w.num_gpus.tolist() == [16, 1]
    assert [note.partition(": ")[2] for note in w.notes] == [
        "1 jobs never started, left out (the first in entry 3)",
        "3 jobs still run: their last attempt has no end, left out (the first in entry 4)",
        "1 jobs held no GPU, left out (the first in entry 7)",
        "1 jobs have no whole run, left out (the first in entry 8)",
    ]


def test_errors_of_the_philly_log_and_attempts_on_other_gpus(tmp_path):
    """Clocks that go back, a missing end before the last attempt, no machines, other numbers of GPUs."""
    at, last = DAY + "01:00:00", attempt(DAY + "01:02:00", DAY + "01:03:40", 4)
    path = log(
        tmp_path,
        job("back", at, attempt(DAY + "01:01:00", DAY + "01:00:30", 8), last),
        job("open", at, attempt(DAY + "01:00:30", None, 4), last),
        job("no machine", at, attempt(DAY + "01:00:00", DAY + "01:01:00"), last),
        job("shrank", at, attempt(DAY + "01:00:30", DAY + "01:01:00", 6, 4), last),
        job("wrong", at, attempt(DAY + "01:02:00", DAY + "01:01:00", 1)),
    )
    w = PhillyJobs(path=path, attempts=True).read()
    assert w.job_id == ("back", "open", "no machine", "shrank")
    assert w.num_gpus.tolist() == [4, 4, 4, 4]
    assert durations(w) == [100, 100, 100, 175]  # 10 GPUs for 30 s are 4 GPUs for 75 s
    assert w.fails_at == ((), (), (), pytest.approx((75 / 175,)))
    assert [note.partition(": ")[2] for note in w.notes] == [
        "1 jobs have no whole run, left out (the first in entry 5)",
        "3 attempts without a start, an end or GPUs, or that end before they start, do not count",
        "1 attempts ran on other GPUs than the longest of their job, their GPU-seconds count",
    ]


def test_philly_attempts(tmp_path):
    """A job that failed after 60 s and after 0 s, and ran for 40 s then; one that was killed."""
    first, second = DAY + "01:00:30", DAY + "01:02:00"
    twice = job("twice", DAY + "01:00:00", attempt(first, DAY + "01:01:30", 8),
                attempt(second, second, 8), attempt(second, DAY + "01:02:40", 8))  # fmt: skip
    once = job("once", DAY + "02:00:00", attempt(DAY + "02:00:10", DAY + "02:01:10", 1))
    path = log(tmp_path, {**once, "status": "Killed"}, {**twice, "status": "Failed"})
    jobs = PhillyJobs(path=path, attempts=True).read()
    assert jobs.job_id == ("twice", "once")
    assert jobs.fails_at == (pytest.approx((0.6,)), ())
    assert jobs.outcome == ("failed", "killed")
    assert jobs.head(1).outcome == ("failed",)
    assert durations(jobs) == [100, 60]
    plain = PhillyJobs(path=path).read()
    assert (plain.fails_at, plain.outcome) == ((), ())
    with pytest.raises(InputError, match="entry 1: status is 'Lost', expected one of Pass, Killed"):
        PhillyJobs(path=log(tmp_path, {**once, "status": "Lost"}), attempts=True).read()
    for wrong in (["Pass"], {"is": "Pass"}):
        with pytest.raises(InputError, match=r"entry 1: status is .*, expected a string"):
            PhillyJobs(path=log(tmp_path, {**once, "status": wrong}), attempts=True).read()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("text", "entry 2: job is 'text', expected a dictionary"),
        ({"jobid": "x"}, "entry 2: submitted_time is missing, expected it"),
        ({**job("x", DAY), "jobid": 3}, "entry 2: jobid is 3, expected a string"),
        (job("x", DAY + "1 o'clock"), "entry 2: submitted_time is"),
        (job("x", ""), "entry 2: submitted_time is empty, expected a date and time"),
        (job("x", DAY + "01:00:00", attempt("now", None, 1)), "entry 2: start_time is 'now'"),
        (
            job("x", DAY + "1:00:00", {"detail": [{}]}),
            "2: attempts.0.detail.0.gpus is missing, exp",
        ),
        (job("x", DAY + "1:00:00", 3), "entry 2: attempts.0 is 3, expected a dictionary"),
    ],
)
def test_bad_philly_logs(tmp_path, entry, message):
    good = job("good", DAY + "01:00:00", attempt(DAY + "01:00:00", DAY + "01:00:01", 1))
    with input_error(message):
        PhillyJobs(path=log(tmp_path, good, entry)).read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n{"jobid": "a",\n "vc" "b"}\n]', "jobs.csv, line 3: not JSON"),
        ("[]", "no list of jobs"),
        (json.dumps([job("never", DAY + "01:00:00")]), "no job that ran on a GPU"),
    ],
)
def test_philly_logs_without_jobs(tmp_path, text, message):
    with input_error(message):
        PhillyJobs(path=written(tmp_path, text)).read()


TABLE = """\
job_id,submit_time_s,duration_s,num_gpus,virtual_cluster
0,0,2240194,8,7f04ca
1,235696,3256045,1,6214e9
2,257229,2643038,1,6214e9
"""


def test_philly_table(tmp_path):
    path = tmp_path / "philly.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode()))
    w = CsvJobs(path=path).read()
    assert w.num_gpus.tolist() == [8, 1, 1]
    assert w.vc == ("7f04ca", "6214e9", "6214e9")
    assert w.notes == ()
    path.write_bytes(path.read_bytes()[:60])
    with input_error("cannot be read"):
        CsvJobs(path=path).read()


# -- Gavel -------------------------------------------------------------------------------------

RATES = {
    "v100": {
        "('LM (batch size 10)', 1)": {"null": 20.0, "('LM (batch size 10)', 1)": [9.0, 9.0]},
        "('LM (batch size 10)', 4)": {"null": 10.0},
        "A3C": {"null": 5.0},
        "('CycleGAN', 1)": {"null": 0.0},
    },
    "k80": {"('LM (batch size 10)', 1)": {"null": 2.0}},
}
LM, A3C = "LM (batch size 10)", "A3C"
LINES = {
    7: [
        (LM, "cd x && python main.py --batch_size 10", "--steps", 1, 1000, 0.0, 1),
        (A3C, "python3 main.py --workers 4", "--max-steps", 0, 50, "6.000000", 1),
        (LM, "cd x && python main.py", "--steps", 1, 1000, 5.0, 4),
    ],
    9: [
        (LM, "python main.py", "--steps", 1, 1000, 1, 1.0, -1.0, 0.0),
        (A3C, "python3 main.py", "--max-steps", 0, 50, 1, 1.0, 2.0, 6),
        (LM, 'python main.py "q', "--steps", 1, 1000, 4, 1.0, "1.2", 5.0),
    ],
    10: [
        (LM, "python main.py", "lm", "--steps", 1, 1000, 1, 1, "-1.000000", 0),
        (A3C, "python3 main.py", "rl", "--max-steps", 0, 50, 1, 1, 2.0, 6),
        (LM, "python main.py", "lm", "--steps", 1, 1000, 4, 1, 1.2, 5.0),
    ],
}


def trace(folder: Path, lines: list[tuple[Any, ...]], rates: Any = RATES) -> Path:
    nested = folder / "traces" / "generated"
    nested.mkdir(parents=True)
    (folder / "oracle_throughputs_v2.json").write_text(json.dumps(rates))
    path = nested / "jobs.trace"
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("fields", [7, 9, 10])
def test_gavel_generations(tmp_path, fields):
    w = gavel.GavelJobs(path=trace(tmp_path, LINES[fields])).read()
    assert w.job_id == ("0", "2", "1")
    assert w.submit_s.tolist() == [0, 5, 6]
    assert w.num_gpus.tolist() == [1, 4, 1]
    assert durations(w) == [50, 100, 10]
    due = [np.inf] * 3 if fields == 7 else [np.inf, 5 + 1.2 * 100, 6 + 2 * 10]
    np.testing.assert_allclose(w.due_s, due)
    assert w.notes[0].endswith("1 rows before an earlier one, sorted by arrival")


def test_gavel_other_gpu_and_file(tmp_path):
    path = trace(tmp_path, LINES[7][:1])
    assert durations(gavel.GavelJobs(path=path, gpu_type="k80").read()) == [500]
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"v100": {LM: {"null": 1.0}}}))
    assert durations(gavel.GavelJobs(path=path, throughputs=own).read()) == [1000]
    with pytest.raises(InputError, match="no rates of 'a100', found v100, k80"):
        gavel.GavelJobs(path=path, gpu_type="a100").read()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("CycleGAN", "c", "a", 1, 10, 0, 1), "line 1: type is 'CycleGAN', expected a type with"),
        ((LM, "c", "a", 1, 10, 0, 2), "expected a type with a rate on v100 for its number of GPUs"),
        ((LM, "c", "a", 1, 0, 0, 1), "line 1: steps is '0', expected a number > 0"),
        ((LM, "c", "a", 1, 10, 0, 1.5), "line 1: gpus is '1.5', expected a whole number >= 1"),
        ((LM, "c", "a", 1, 10, "x", 1), "line 1: arrival is 'x'"),
        ((LM, "c", "a"), "line 1: 3 fields, expected one of Gavel's traces"),
    ],
)
def test_bad_gavel_traces(tmp_path, line, message):
    with input_error(message):
        gavel.GavelJobs(path=trace(tmp_path, [line])).read()


def test_gavel_without_rates(tmp_path):
    path = trace(tmp_path, LINES[7])
    (tmp_path / "oracle_throughputs_v2.json").unlink()
    with pytest.raises(InputError, match="no rates beside it, expected Gavel's"):
        gavel.GavelJobs(path=path).read()
    with pytest.raises(InputError, match=r"own\.json: no such file"):
        gavel.GavelJobs(path=path, throughputs=tmp_path / "own.json").read()
    broken = tmp_path / "broken.json"
    broken.write_text('{"v100": {"(1": {"null": 1}}}')
    with pytest.raises(InputError, match="expected a type of job and a number of GPUs"):
        gavel.GavelJobs(path=path, throughputs=broken).read()


# -- Alibaba -----------------------------------------------------------------------------------

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0004,20000,65536,0,0,,LS,Running,50,900,60
openb-pod-0002,88000,327680,8,1000,,Burstable,Succeeded,300,800,310
openb-pod-0001,6000,12288,1,460,V100M16|V100M32,LS,Running,100,400,150
openb-pod-0003,11908,47104,1,1000,,BE,Pending,200,250,
"""


def test_alibaba(tmp_path):
    w = AlibabaJobs(path=written(tmp_path, PODS)).read()
    assert w.job_id == ("openb-pod-0001", "openb-pod-0002")
    assert w.submit_s.tolist() == [0, 200]
    assert durations(w) == [250, 490]
    assert w.num_gpus.tolist() == [1, 8]
    assert w.num_cpus.tolist() == [6, 88]
    np.testing.assert_allclose(w.memory_gb, [12.884901888, 343.59738368])
    assert [note.split(": ")[1] for note in w.notes] == [
        "1 pods hold no GPU, left out (the first in line 2)",
        "1 pods have no duration, left out (the first in line 5)",
        "1 pods with a part of a GPU, counted as a whole one",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("creation_time", "created", "column 'creation_time' is missing"),
        (",8,1000,", ",8.5,1000,", "line 3: num_gpu is '8.5', expected a whole number >= 0"),
        ("300,800,310", "x,800,310", "line 3: creation_time is 'x', expected a number >= 0"),
        (PODS[PODS.index("openb-pod-0002") :], "", "no pod that ran on a GPU"),
    ],
)
def test_bad_alibaba(tmp_path, old, new, message):
    with input_error(message):
        AlibabaJobs(path=written(tmp_path, PODS.replace(old, new))).read()


def shockwave_line(**changes: str) -> str:
    fields = {
        "type": "LM (batch size 5)", "command": "python3", "folder": "f", "arg": "--steps",
        "needs_data": "1", "steps": "600", "gpus": "1", "mode": "gns", "weight": "2.0",
        "slo": "-1.0", "duration": "60", "arrival": "30",
    }  # fmt: skip
    return "\t".join({**fields, **changes}.values()) + "\n"


def training(tmp_path: Path, line: str) -> Any:
    rates = {"v100": {"('LM (batch size 5)', 1)": {"null": 10.0}, "('A3C', 1)": {"null": 1.0}}}
    (tmp_path / "rates.json").write_text(json.dumps(rates))
    (tmp_path / "jobs.trace").write_text(line)
    return gavel.read_training(tmp_path / "jobs.trace", tmp_path / "rates.json")[0]


def test_training_jobs_of_a_trace(tmp_path):
    jobs = training(tmp_path, shockwave_line() + shockwave_line(arrival="10", mode="static"))
    assert jobs.submit_s.tolist() == [10, 30]
    assert jobs.mode == ["static", "gns"]
    assert (jobs.model[0], jobs.batch_size[0], jobs.steps.tolist()) == ("LM", 5, [600, 600])
    assert jobs.weight.tolist() == [2, 2]
    assert jobs.rates_by_type(["v100"]).tolist() == [[10.0], [10.0]]
    plain = gavel.GavelJobs(
        path=tmp_path / "jobs.trace", throughputs=tmp_path / "rates.json"
    ).read()
    assert durations(plain) == [60, 60]


def test_rates_of_pairs_on_one_gpu(tmp_path):
    one, other, large = "('LM (batch size 5)', 1)", "('A3C', 1)", "('A3C', 4)"
    rates = {one: {"null": 10.0, other: [6.0, 0.7]}, other: {"null": 1.0, one: [0.7, 6.0]}}
    path = tmp_path / "rates.json"
    path.write_text(json.dumps({"v100": {**rates, large: {"null": 4.0, large: [2.0, 2.0]}}}))
    found = gavel.read_pair_rates(path, ["v100"])["v100"]
    assert found == {("LM (batch size 5)", "A3C"): 6.0, ("A3C", "LM (batch size 5)"): 0.7}


@pytest.mark.parametrize("pair", [6.0, [6.0], [-1.0, 2.0], ["6", 2.0], None])
def test_bad_rates_of_a_pair(tmp_path, pair):
    path = tmp_path / "rates.json"
    path.write_text(json.dumps({"v100": {"('A3C', 1)": {"('A3C', 1)": pair}}}))
    with input_error(f"{path}: ('A3C', 1) ('A3C', 1): {pair!r}, expected two rates of at least 0"):
        gavel.read_pair_rates(path, ["v100"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "loud"}, "mode is 'loud', expected one of static, accordion, gns"),
        ({"type": "A3C"}, "type is 'A3C', expected a model whose epochs are known"),
        ({"gpus": "16"}, "expected a type with a rate on v100 for its number of GPUs"),
        ({"weight": "0"}, "weight is '0', expected a number > 0"),
        ({"steps": "2.5"}, "steps is '2.5', expected a whole number"),
    ],
)
def test_bad_training_jobs(tmp_path, changes, message):
    with input_error(message):
        training(tmp_path, shockwave_line(**changes))
