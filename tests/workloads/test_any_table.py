"""Tables of any program: containers, names, units, dates, durations, parts of GPUs, rows that cannot be read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from simulator.errors import InputError
from simulator.model.fractional import SharedDuration
from simulator.model.workload import Workload
from simulator.workloads.helios import HeliosJobs
from simulator.workloads.philly import PhillyJobs
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.registry import read_jobs, recognised
from simulator.workloads.swf import SwfJobs
from simulator.workloads.table import Setting
from simulator.workloads.trace import Trace, told_apart
from tests.command import done, schedlab
from tests.errors import input_error

HEADER = "job_id,submit_time_s,duration_s,num_gpus"


def written(folder: Path, *lines: str, name: str = "jobs.txt") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def seconds(jobs: Workload) -> list[float]:
    assert jobs.performance.fixed_s is not None
    return [float(value) for value in jobs.performance.fixed_s]


def notes(jobs: Workload) -> list[str]:
    return [note.partition(": ")[2] for note in jobs.notes]


# -- containers --------------------------------------------------------------------------------

ROWS: list[dict[str, Any]] = [
    {"Job ID": "a", "Submitted": "2026-03-02 10:00:00", "Runtime (min)": 1.5, "GPUs": 2},
    {"Job ID": "b", "Submitted": "2026-03-02 10:00:40", "Runtime (min)": 0.5, "GPUs": 1},
]


def of_parquet() -> bytes:
    frame = pd.DataFrame(ROWS)
    frame["Submitted"] = pd.to_datetime(frame["Submitted"])
    frame["Runtime"] = pd.to_timedelta(frame.pop("Runtime (min)"), unit="min")
    frame["where"] = [["n1", "n2"], ["n1"]]
    into = io.BytesIO()
    frame.to_parquet(into)
    return into.getvalue()


CONTAINERS = {
    **{
        f"between {separator!r}": "\n".join(
            separator.join(map(str, row)) for row in ([*ROWS[0]], *(r.values() for r in ROWS))
        ).encode()
        for separator in (",", ";", "\t", "|")
    },
    "lines": "\n".join(map(json.dumps, ROWS)).encode(),
    "a list": json.dumps(ROWS, indent=1).encode(),
    "Parquet": of_parquet(),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_content_shows_the_container(tmp_path: Path, container: str) -> None:
    path = tmp_path / "jobs.txt"
    path.write_bytes(CONTAINERS[container])
    assert recognised(path) == "csv"
    jobs = read_jobs(path)
    assert jobs.job_id == ("a", "b")
    assert jobs.submit_s.tolist() == [0, 40]
    assert seconds(jobs) == [90, 30]
    assert jobs.num_gpus.tolist() == [2, 1]


def test_a_log_may_be_parquet_as_well(tmp_path: Path) -> None:
    at = pd.to_datetime(["2020-04-01 00:00:10", "2020-04-01 00:00:00"])
    pd.DataFrame(
        {"job_id": [1, 2], "user": ["u", None], "vc": "v", "gpu_num": [4, 8], "submit_time": at,
         "duration": [7.0, np.nan], "start_time": at, "end_time": at + pd.Timedelta("9s")}
    ).to_parquet(tmp_path / "log")  # fmt: skip
    assert recognised(tmp_path / "log") == "helios"
    jobs = read_jobs(tmp_path / "log")
    assert (jobs.job_id, seconds(jobs), jobs.user) == (("2", "1"), [9, 9], ("", "u"))


# -- names, units and times --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "row", "expected_s"),
    [
        ("id,arrival,run time,gpu count", "a,5,60,2", 60),
        ("name;Submit Time;Duration (h);n_gpus", "a;5;0,5;2", 1800),
        ("Job ID\tcreated_at\tElapsed\tGPUs", "a\t5\t1-00:00:01\t2", 86_401),
        ("submit_s,duration_ms,gpus", "5,2500,2", 2.5),
        ("job,submitted,started,finished,gpus", "a,5,7,17.5,2", 10.5),
        ("job,submitted,started,finished,duration_s,gpus", "a,5,7,17,10.4,2", 10.4),
        ("job,submitted,started,finished,duration_s,gpus", "a,5,7,17,12,2", 10),
        ("job,submitted,started,finished,duration_s,gpus", "a,5,None,17,12,2", 12),
    ],
)
def test_names_as_many_use_them(tmp_path: Path, header: str, row: str, expected_s: float) -> None:
    path = written(tmp_path, header, row)
    assert recognised(path) == "csv"
    jobs = read_jobs(path)
    assert (jobs.submit_s[0], seconds(jobs), jobs.num_gpus[0]) == (5, [expected_s], 2)
    assert jobs.job_id[0] in ("a", "1")


def test_names_of_a_user(tmp_path: Path) -> None:
    path = written(tmp_path, "when,Submit Time,len,cards,user", "5,9,60,2,ann")
    names = {"submit": "when", "duration": "len", "num_gpus": "cards", "user": ""}
    jobs = CsvJobs(path=path, columns=names).read()
    assert (jobs.submit_s[0], seconds(jobs), jobs.user) == (5, [60], ("",))
    assert notes(jobs) == ["columns not used: Submit Time, user"]
    for wrong, message in (
        ({"submitted_at": "wen"}, "workload.columns.submitted_at: got 'wen', did you mean 'when'?"),
        (
            {"subnit_time": "when"},
            "workload.columns.subnit_time: unknown column, did you mean 'sub",
        ),
    ):
        with input_error(message):
            CsvJobs(path=path, columns=wrong).read()
    with input_error("workload.columns.run: got 'x', expected none: the columns of 'swf'"):
        SwfJobs(path=written(tmp_path, SwfJobs.example), columns={"run": "x"}).read()


def test_the_tables_of_a_scenario_name_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "Who,Start Date,Secs,GPU", "ann,2026-03-02,60,1")
    words = ("--policy", "fifo", "--set", "cluster.num_nodes=1", "--out", tmp_path / "out")
    given = (f"{key}={value}" for key, value in (
        ("workload.columns.submit", "Start Date"), ("workload.columns.duration", "Secs"),
        ("workload.columns.user", "Who"),
    ))  # fmt: skip
    done("run", path, *words, *(word for each in given for word in ("--set", each)))
    jobs = pd.read_csv(tmp_path / "out" / "jobs.csv")
    assert jobs["completion_s"].tolist() == [60]


def test_times_are_all_dates_or_none_is(tmp_path: Path) -> None:
    dates = written(
        tmp_path,
        "job,submit,due,run,gpus",
        "a,2026/03/02 10:00,2026-03-02T12:00:00+02:00,1,1",
        "b,2026-03-02 09:59:50,,1,1",
    )
    jobs = read_jobs(dates)
    assert (jobs.job_id, jobs.submit_s.tolist()) == (("b", "a"), [0, 10])
    assert jobs.due_s.tolist() == [np.inf, 10]
    mixed = written(tmp_path, "job,submit,due,run,gpus", "a,5,2026-03-02,1,1")
    with input_error("submit seconds, due dates, expected the same of all times"):
        read_jobs(mixed)
    with input_error("line 3: submit is '7', expected a number", "or a date and time"):
        read_jobs(written(tmp_path, "job,submit,run,gpus", "a,2026-03-02,1,1", "b,7,1,1"))


def test_an_end_before_the_start_needs_a_duration(tmp_path: Path) -> None:
    head = "job,submitted,started,finished,duration,gpus"
    jobs = read_jobs(written(tmp_path, head, "a,0,50,40,10,1"))
    assert seconds(jobs) == [10]
    with input_error("line 2: finished is '40', expected a time not before the start"):
        read_jobs(written(tmp_path, head, "a,0,50,40,,1"))


def test_parts_of_gpus(tmp_path: Path) -> None:
    jobs = read_jobs(written(tmp_path, HEADER, "a,0,9,0.25", "b,1,9,2.5", "c,2,9,4"))
    assert isinstance(jobs.performance, SharedDuration)
    assert jobs.performance.part.tolist() == [0.25, 1, 1]
    assert jobs.num_gpus.tolist() == [1, 3, 4]
    assert notes(jobs) == [
        "1 jobs ask for a part of a GPU; policies that do not share GPUs give them a whole one",
        "1 jobs ask for whole GPUs and a part of one; the part counts as a whole GPU",
    ]


def test_four_quarters_share_one_gpu(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, *(f"{name},0,10,0.25" for name in "abcde"))
    machines = ("--set", "cluster.num_nodes=1", "--set", "cluster.gpus_per_node=1")
    done("run", path, "--policy", "shared", *machines, "--out", tmp_path / "out")
    jobs = pd.read_csv(tmp_path / "out" / "jobs.csv")
    assert jobs["completion_s"].tolist() == [10, 10, 10, 10, 20]


# -- one rule for one class of row -------------------------------------------------------------


def swf(job: int, submit: float, run: float, gpus: int) -> str:
    return f"{job} {submit} 0 {run} {gpus} -1 -1 {gpus} -1 -1 1 1 1 1 1 1 -1 -1"


def helios(job: str, submit: str, run: str, gpus: str) -> str:
    return f"{job},u,v,{gpus},1,C,{submit},,,{run},0"


HELIOS = "job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue"
DAY = "2020-04-01 00:00:0"
CLASSES = {
    "csv": (CsvJobs, [HEADER, "1,0,9,1", "1,1,8,1", "2,1,0,1", "3,1,,1", "4,,9,1", "5,2,9,0"]),
    "helios": (
        HeliosJobs,
        [HELIOS, helios("1", DAY + "0", "9", "1"), helios("1", DAY + "1", "8", "1"),
         helios("2", DAY + "1", "0", "1"), helios("3", DAY + "1", "", "1"),
         helios("4", "", "9", "1"), helios("5", DAY + "2", "9", "0")],
    ),
    "swf": (
        SwfJobs,
        ["; a comment", swf(1, 0, 9, 1), swf(1, 1, 8, 1), swf(2, 1, 0, 1), swf(3, 1, -1, 1),
         swf(4, -1, 9, 1), swf(5, 2, 9, 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES)
def test_rows_without_a_run_and_rows_of_one_job(tmp_path: Path, kind: str) -> None:
    form, lines = CLASSES[kind]
    jobs = form(path=written(tmp_path, *lines)).read()
    assert (jobs.job_id, seconds(jobs)) == (("1", "1.again1"), [9, 8])
    assert notes(jobs)[:5] == [
        "1 jobs have no time of submission, left out (the first in line 6)",
        "1 jobs hold no GPU, left out (the first in line 7)",
        "1 jobs have no duration, left out (the first in line 5)",
        "1 jobs ended as they started, left out (the first in line 4)",
        "1 rows repeat the name of a job; they become separate jobs, NAME.again1, ..",
    ]


def test_new_names_are_not_those_of_others() -> None:
    kept = np.array([True, True, True, False, True])
    names, again = told_apart(["a", "a", "a.again1", "b", "b"], kept)
    assert (names, again) == (["a", "a.again2", "a.again1", "b", "b"], 1)


# -- rows that cannot be read ------------------------------------------------------------------


def test_the_first_ten_bad_rows_are_told(tmp_path: Path) -> None:
    bad = [f"j{k},{'x' if k % 2 else 1},{'y' if k % 3 == 0 else 1},1" for k in range(17)]
    path = written(tmp_path, HEADER, *bad, "c,0,1,1,7")
    ran = schedlab("run", path, "--policy", "fifo", "--set", "cluster.num_nodes=1")
    assert ran.returncode == 2
    lines = ran.stderr.splitlines()
    # Even multiples of 3 have a bad duration, odd numbers a bad time of submission, the last row a field too many.
    rows = [k + 2 for k in range(17) if k % 2 or k % 3 == 0]
    assert [int(line.partition("line ")[2].partition(":")[0]) for line in lines[:-1]] == rows[:10]
    assert "line 2: duration_s is 'y', expected" in lines[0]
    assert "line 3: submit_time_s is 'x', expected" in lines[1]
    assert f"{len(rows) + 1} rows cannot be read; workload.skip = true leaves them out" in lines[-1]


def test_skipped_rows_are_counted_by_reason(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, "a,x,1,1", "b,0,1,1", "c,0,y,1", "d,z,1,1", "e,0,1,1,7")
    jobs = CsvJobs(path=path, skip=True).read()
    assert jobs.job_id == ("b",)
    told = "left out, {}: expected a number >= 0 and below 1e+12, or {} (the first is line {})"
    assert notes(jobs) == [
        "1 rows left out, expected 4 fields (the first is line 6)",
        "2 rows " + told.format("submit_time_s", "a date and time", 2),
        "1 rows " + told.format("duration_s", "H:MM:SS", 4),
    ]


@pytest.mark.parametrize(
    ("form", "lines", "bad", "left"),
    [
        (SwfJobs, [swf(1, 0, 9, 1), "1 2 3", swf(2, 1, 9, 1).replace("9", "x")], [2, 3], ("1",)),
        (CsvJobs, ['{"id": "a", "submit": 0, "run": 5, "gpus": 1}', "[", '{"id": 1'], [2, 3], ("a",)),
        (HeliosJobs, [HELIOS, helios("a", DAY + "0", "9", "1"), helios("b", "x", "9", "1")], [3], ("a",)),
    ],
)  # fmt: skip
def test_each_format_skips(
    tmp_path: Path, form: type[Trace], lines: list[str], bad: list[int], left: tuple[str, ...]
) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(InputError) as error:
        form(path=path).read()
    told = [str(error.value), *getattr(error.value, "__notes__", [])]
    assert [f"line {line}: " in text for line, text in zip(bad, told, strict=False)] == [
        True
    ] * len(bad)
    assert form(path=path, skip=True).make(Setting()).job_id == left


def test_philly_skips_entries(tmp_path: Path) -> None:
    log = json.loads(PhillyJobs.example)
    path = written(tmp_path, json.dumps([{"jobid": 5}, *log, {**log[0], "submitted_time": "x"}]))
    with input_error("entry 1: jobid is 5, expected a string"):
        PhillyJobs(path=path).read()
    jobs = PhillyJobs(path=path, skip=True).read()
    assert jobs.job_id == ("application_1",)
    assert notes(jobs) == [
        "1 rows left out, expected Philly's job log (the first is entry 1)",
        "1 rows left out, submitted_time: expected a date and time (the first is entry 3)",
    ]


def test_nothing_is_left_to_skip_to(tmp_path: Path) -> None:
    with input_error("line 2: submit_time_s is 'x'"):
        CsvJobs(path=written(tmp_path, HEADER, "a,x,1,1"), skip=True).read()


# -- filters -----------------------------------------------------------------------------------

FILTERED = (
    "id,submit,run,gpus,user,partition",
    *(f"j{k},{at},60,1,{user},{vc}" for k, (at, user, vc) in enumerate(
        (("2026-03-01", "ann", "gpu"), ("2026-03-02", "bob", "gpu"), ("2026-03-02 12:00", "ann", "debug"),
         ("2026-03-03", "cy", "cpu")))),
)  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ({"from": "2026-03-02"}, "123"),
        ({"from": "2026-03-02T14:00:00+02:00"}, "23"),
        ({"until": "2026-03-02 12:00"}, "01"),
        ({"from": 86_400, "until": 2 * 86_400}, "12"),
        ({"user": "ann"}, "02"),
        ({"vc": ["gpu", "cpu"]}, "013"),
        ({"partition": "debug"}, "2"),
        ({"max_jobs": 2, "user": ["bob", "cy"], "from": 0}, "13"),
        ({"max_jobs": 1, "vc": "gpu", "from": 3600}, "1"),
    ],
)
def test_filters(tmp_path: Path, keys: dict[str, Any], left: str) -> None:
    jobs = CsvJobs(path=written(tmp_path, *FILTERED), **keys).make(Setting())
    assert jobs.job_id == tuple(f"j{k}" for k in left)
    days = {"0": 0.0, "1": 1.0, "2": 1.5, "3": 2.0}
    assert (jobs.submit_s / 86_400).tolist() == [days[k] for k in left]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"user": "anne"}, "workload.user: got 'anne', did you mean 'ann'?"),
        ({"vc": "x", "partition": "gpu"}, "workload.partition: given with vc"),
        ({"from": "2027-01-01"}, "workload.from: no job is submitted then, expected some of the time from 2026-03-01"),
        ({"until": "soon"}, "workload.until: got 'soon', expected a date and time"),
        ({"user": "bob", "vc": "cpu"}, "workload: no job is left"),
    ],
)  # fmt: skip
def test_filters_that_leave_nothing(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with input_error(message):
        CsvJobs(path=written(tmp_path, *FILTERED), **keys).make(Setting())


def test_dates_of_a_file_without_any(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, "a,5,1,1", "b,65,1,1")
    assert CsvJobs(path=path, **{"from": 60}).make(Setting()).job_id == ("b",)
    with input_error("workload.from: got '2026-01-01', expected a number of seconds"):
        CsvJobs(path=path, **{"from": "2026-01-01"}).make(Setting())


@pytest.mark.parametrize("rule", ["leave-out", "clip"])
def test_oversized_jobs_of_a_scenario(tmp_path: Path, rule: str) -> None:
    path = written(tmp_path, HEADER, "a,0,100,1", "b,1,10,64", "c,2,10,2")
    words = (
        "run",
        path,
        "--policy",
        "fifo",
        "--set",
        "cluster.num_nodes=1",
        "--out",
        tmp_path / "out",
    )
    ran = schedlab(*words)
    assert ran.returncode == 2
    assert "job 'b': num_gpus is 64, expected at most 8" in ran.stderr
    assert 'workload.oversized = "leave-out" or "clip"' in ran.stderr
    ran = done(*words, "--set", f"workload.oversized={rule}", "--set", "workload.from=0")
    assert "1 jobs do not fit on the machines" in ran.stderr
    jobs = pd.read_csv(tmp_path / "out" / "jobs.csv")
    assert jobs["gpus"].tolist() == ([1, 2] if rule == "leave-out" else [1, 8, 2])


# -- formats that are not recognised ------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            ("JobID|Submit|Start|AllocTRES", "1|a|b|c"),
            ("column 'End' is missing, found JobID, Submit, Start, AllocTRES (the separator is |): is this the "
             "output of sacct -P? Wanted also: End", "formats: alibaba, "),
        ),
        (
            ("job_id\tuser\tgpu_num\tsubmit_time\tx", "1\ta\tb\tc\td"),
            ("(the separator is a tab): is this ", "? Wanted also: duration"),
        ),
        (
            ('{"a": 1, "submit": 2}',),
            ("found a, submit (JSON): is this a table of jobs? Wanted also: duration_s, num_gpus",),
        ),
        (("time;machine", "1;2"), ("no format of jobs is recognised. Wanted also: submit_time_s, duration_s",)),
        (
            ('{"foo": [{"bar": 1}],', '"baz": {}}'),
            ("JSON with the keys foo, bar, baz: no format of jobs is recognised; formats: alibaba, ",),
        ),
    ],
)  # fmt: skip
def test_what_a_file_looks_like(
    tmp_path: Path, lines: tuple[str, ...], told: tuple[str, ...]
) -> None:
    with input_error(*told):
        read_jobs(written(tmp_path, *lines))
