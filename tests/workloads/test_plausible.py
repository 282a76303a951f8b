"""What a log says that is not plausible: one note a kind, with a count and the first row; values by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import Workload
from simulator.workloads.recorded import recorded
from simulator.workloads.registry import read_jobs, table_for
from simulator.workloads.slurm import SlurmJobs
from simulator.workloads.slurm_text import gpu_type_of, gpu_types_in, gpus_of
from simulator.workloads.table import Setting
from tests.errors import input_error

FACTS = Path(os.environ.get("SCHEDLAB_FACTS") or "/nonexistent")


def read(folder: Path, text: str, kind: str | None = None, **keys: Any) -> Workload:
    path = folder / "jobs.log"
    path.write_text(text)
    made = type(table_for(path, kind))(path=str(path), **keys).make(Setting())
    assert isinstance(made, Workload)
    return made


def notes(jobs: Workload) -> list[str]:
    return [note.partition(": ")[2] for note in jobs.notes]


def durations(jobs: Workload) -> list[float]:
    found = jobs.performance.fixed_s
    assert found is not None
    return found.tolist()


HEAD = "job_id,submit_time,start_time,end_time,num_gpus\n"


# -- starts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "first", "end"),
    [
        ("1610000000", "0", "1610000500"),
        ("2021-01-07 06:13:20", "1970-01-01 00:00:00", "2021-01-07 06:21:40"),
    ],
    ids=["seconds", "dates"],
)
def test_a_start_of_zero_is_none(tmp_path, unit, first, end):
    """The job was cancelled while it waited; read as a run, it would last for 51 years."""
    jobs = read(tmp_path, f"{HEAD}a,{unit},{unit},{end},2\nb,{unit},{first},{end},2\n")
    assert jobs.job_id == ("a",)
    assert durations(jobs) == [500]
    assert notes(jobs) == ["1 jobs never started, their start is 0, left out (the first in line 3)"]


def test_a_log_that_counts_from_its_first_job_may_start_at_zero(tmp_path):
    jobs = read(tmp_path, HEAD + "a,0,0,60,2\nb,0,60,120,2\n")
    assert durations(jobs) == [60, 60]
    assert recorded(jobs).wait_s.tolist() == [0, 60]
    assert not jobs.notes


def test_a_start_before_the_submission_tells_no_wait(tmp_path):
    jobs = read(tmp_path, HEAD + "a,100,90,160,2\nb,100,100,160,2\nc,100,50,160,2\n")
    assert durations(jobs) == [70, 60, 110]
    np.testing.assert_equal(recorded(jobs).wait_s, [np.nan, 0, np.nan])
    assert notes(jobs) == [
        "2 jobs start before their submission, so their waits are unknown (the first in line 2)"
    ]


def test_a_job_of_years_is_told(tmp_path):
    jobs = read(tmp_path, HEAD + f"a,0,0,60,2\nb,0,5,{366 * 86_400},2\n")
    assert notes(jobs) == ["1 jobs run for more than a year (the first in line 3)"]


# -- limits and durations --------------------------------------------------------------------

LIMITS = "job_id,submit_time_s,duration_s,num_gpus,{}\n"


@pytest.mark.parametrize(
    ("title", "rows", "requested_s", "told"),
    [
        # seconds would end all three, minutes none
        ("time_limit", "3600,120 3500,60 1800,1440", [7200, 3600, 86_400],
         "3 jobs run for longer than time_limit in seconds, which is read as minutes (the first in line 2)"),
        # the title names its unit
        ("time_limit_s", "3600,120 3500,60 1800,1440", [120, 60, 1440],
         "3 of 3 jobs with a limit run for longer than it: one of the two columns may be in another unit (the first in line 2)"),
        ("time_limit_min", "3600,120 3500,60 1800,1440", [7200, 3600, 86_400], None),
        # half of them run to their limit, and a little longer
        ("time_limit", "60,100 161,100 162,100 99,100", [100] * 4, None),
        # neither seconds nor minutes
        ("time_limit", "36000,2 36000,3 7200,4", [2, 3, 4],
         "3 of 3 jobs with a limit run for longer than it: one of the two columns may be in another unit (the first in line 2)"),
        # too few rows to tell
        ("time_limit", "3600,120 3500,60", [120, 60],
         "2 of 2 jobs with a limit run for longer than it: one of the two columns may be in another unit (the first in line 2)"),
    ],
)  # fmt: skip
def test_limits_that_most_jobs_exceed(tmp_path, title, rows, requested_s, told):
    lines = [
        f"{k},0,{row.split(',')[0]},1,{row.split(',')[1]}" for k, row in enumerate(rows.split())
    ]
    jobs = read(tmp_path, LIMITS.format(title) + "\n".join(lines) + "\n")
    assert jobs.requested_s.tolist() == requested_s
    assert notes(jobs) == ([told] if told else [])


SACCT = "JobID|Submit|Start|End|{}State|AllocTRES|Partition\n"


@pytest.mark.parametrize(("title", "elapsed"), [("Elapsed", "01:00:00"), ("ElapsedRaw", "3600")])
def test_a_suspended_job_runs_for_its_elapsed_time(tmp_path, title, elapsed):
    """It stood still for three of four hours."""
    jobs = read(
        tmp_path,
        SACCT.format(f"{title}|")
        + f"1|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T12:00:00|{elapsed}|COMPLETED|gres/gpu=4|p\n"
        + f"2|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T09:00:00|{elapsed}|COMPLETED|gres/gpu=4|p\n",
    )
    assert durations(jobs) == [3600, 3600]
    assert recorded(jobs).end_s.tolist() == [4 * 3600, 3600]
    assert notes(jobs) == [
        "1 jobs whose duration is not End - Start (suspended, or clocks were set); the duration counts (the first in line 2)"
    ]


def test_a_suspended_job_without_an_elapsed_time(tmp_path):
    """Of four hours it stood still for three; the second for none, the third for longer than it ran, which is a mistake."""
    begin = "2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T12:00:00"
    rows = "".join(
        f"{k}|{begin}|{still}|COMPLETED|gres/gpu=4|p\n"
        for k, still in enumerate(("03:00:00", "00:00:00", "05:00:00"))
    )
    jobs = read(tmp_path, SACCT.format("Suspended|") + rows)
    assert durations(jobs) == [3600, 4 * 3600, 4 * 3600]
    assert recorded(jobs).end_s.tolist() == [4 * 3600] * 3
    assert len(notes(jobs)) == 1


SUSPENDED = (
    ('"elapsed": 3600, "suspended": 10800', 3600),
    ('"elapsed": {"set": true, "infinite": false, "number": 3600}, "suspended": {"set": true, "infinite": false, "number": 10800}', 3600),
    ('"suspended": 10800', 3600),
    ('"elapsed": {"set": false, "infinite": false, "number": 0}, "suspended": 10800', 3600),
    ('"suspended": 0', 14400),
    ('"elapsed": 3600', 3600),
    ('"elapsed": 14400, "suspended": 0', 14400),
)  # fmt: skip


@pytest.mark.parametrize(("times", "seconds"), SUSPENDED)
def test_json_tells_elapsed_and_suspended_times_as_text_does(tmp_path, times, seconds):
    job = """{"job_id": 1, "state": {"current": ["COMPLETED"]}, "partition": "p", "time": {"submission": 1772359200,
      "start": 1772359200, "end": 1772373600, TIMES},
      "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 4}]}}"""
    jobs = read(tmp_path, f'{{"jobs": [{job.replace("TIMES", times)}]}}')
    assert durations(jobs) == [seconds]
    assert recorded(jobs).end_s.tolist() == [4 * 3600]
    assert len(jobs.notes) == (seconds < 14400)


# -- rows of one job -------------------------------------------------------------------------


def test_a_row_that_stands_there_twice_is_one_job(tmp_path):
    """Exports by month overlap; a job that ran again has another start."""
    jobs = read(
        tmp_path,
        HEAD + "a,0,0,60,8\nb,10,60,90,8\na,0,0,60,8\nb,10,60,90,8\na,0,100,130,8\n",
    )
    assert jobs.job_id == ("a", "a.again1", "b")
    assert durations(jobs) == [60, 30, 30]
    assert notes(jobs)[0] == (
        "2 jobs stand there twice with the same row, left out (the first in line 4)"
    )


def test_of_snapshots_of_a_job_the_one_with_the_last_end_counts(tmp_path):
    jobs = read(tmp_path, HEAD + "a,0,5,35,8\na,0,5,65,8\na,0,5,50,8\na,0,5,,8\n")
    assert jobs.job_id == ("a",)
    assert durations(jobs) == [60]
    assert notes(jobs) == [
        "3 jobs stand there again with a later end, left out (the first in line 2)"
    ]


def test_equal_rows_without_a_name_are_jobs_of_their_own(tmp_path):
    assert len(read(tmp_path, "submit,duration,gpus\n0,60,1\n0,60,1\n")) == 2


# -- slices and parts of jobs ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "gpus", "kind"),
    [
        ("cpu=8,gres/gpu:a100_1g.5gb=1,gres/gpu=1", 1 / 7, "a100"),
        ("cpu=8,gres/gpu:a100_1g.5gb=7,gres/gpu=7", 1, "a100"),
        ("gres/gpu:a100_3g.20gb=2", 6 / 7, "a100"),
        ("gres/gpu:1g.10gb=1", 1 / 7, ""),
        ("gres/gpu:nvidia_a30_2g.12gb=1", 1 / 2, "nvidia_a30"),
        ("gres/gpu:a100_1g.5gb=1,gres/gpu:a100=2,gres/gpu=3", 2 + 1 / 7, "a100"),
        # what has no type beside the slices is whole
        ("gres/gpu:a100_1g.5gb=1,gres/gpu=3", 2 + 1 / 7, "a100"),
        ("gres/gpu:a100=4,gres/gpu=4", 4, "a100"),
        ("gres/gpu=4", 4, ""),
        ("cpu=4", 0, ""),
    ],
)
def test_slices_are_their_part_of_a_gpu(text, gpus, kind):
    assert gpus_of(text) == pytest.approx(gpus)
    assert gpu_type_of(text) == kind
    assert gpu_types_in(text).split("|")[0] == kind


def test_slices_and_parts_of_heterogeneous_jobs_are_told(tmp_path):
    run = "2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T09:00:00|COMPLETED"
    jobs = read(
        tmp_path,
        SACCT.format("")
        + f"5+0|{run}|gres/gpu:a100_1g.5gb=1,gres/gpu=1|p\n5+1|{run}|gres/gpu=1|p\n6|{run}|gres/gpu=2|p\n",
    )
    assert recorded(jobs).num_gpus.tolist() == pytest.approx([1 / 7, 1, 2])
    assert notes(jobs)[:2] == [
        "2 rows are parts of heterogeneous jobs, read as jobs of their own (the first in line 2)",
        "1 jobs hold slices of GPUs (MIG), which count as their part of a GPU (the first in line 2)",
    ]


# -- units and clocks ----------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "per"), [("us", 10**6), ("ns", 10**9), ("ms", 1000), ("s", 1)])
@pytest.mark.parametrize("titles", ["submit_time_{0},duration_{0}", "Queued ({0}),Took_{0}"])
def test_units_of_small_times(tmp_path, unit, per, titles):
    """Found by the names, or named by hand, the title's last word is the unit."""
    submit, duration = titles.format(unit).split(",")
    path = tmp_path / "jobs.csv"
    path.write_text(
        f"job_id,{submit},{duration},gpus\na,0,{3600 * per},1\nb,{per},{7200 * per},1\n"
    )
    columns = {"submit_time_s": submit, "duration_s": duration}
    jobs = type(table_for(path, "csv"))(path=str(path), columns=columns).make(Setting())
    assert jobs.submit_s.tolist() == pytest.approx([0, 1])
    assert durations(jobs) == pytest.approx([3600, 7200])


def test_sacct_with_seconds_since_1970(tmp_path):
    jobs = read(
        tmp_path,
        "JobID|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocTRES|Partition\n"
        "1|1672531200|1672531260|1672534860|3600|120|COMPLETED|cpu=8,gres/gpu=2|p\n"
        "2|1672531300|1672534860|1672538460|3600|UNLIMITED|COMPLETED|cpu=8,gres/gpu=4|p\n"
        "3|1672531300|0|1672538460|0|90|CANCELLED|cpu=8,gres/gpu=4|p\n",
    )
    assert durations(jobs) == [3600, 3600]
    np.testing.assert_equal(jobs.requested_s, [7200, np.nan])
    assert recorded(jobs).origin_s == 1672531200
    assert recorded(jobs).wait_s.tolist() == [60, 3560]
    assert notes(jobs) == ["1 jobs never started, left out (the first in line 4)"]


def test_cpus_of_sacct_are_no_gpus(tmp_path):
    run = "2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T09:00:00|COMPLETED"
    jobs = read(
        tmp_path,
        "JobID|Submit|Start|End|State|AllocCPUS|AllocTRES|Partition\n"
        f"1|{run}|16|gres/gpu=2|p\n2|{run}|16|cpu=4,gres/gpu=2|p\n",
    )
    assert jobs.num_gpus.tolist() == [2, 2]
    assert jobs.num_cpus.tolist() == [16, 4]
    assert not jobs.notes


def test_a_csv_of_starts_and_ends_is_no_output_of_sacct(tmp_path):
    jobs = read(tmp_path, "job_id,submit,start,end,gpus\na,100,105,160,2\n")
    assert durations(jobs) == [55]


# -- SWF -----------------------------------------------------------------------------------------

LINE = "{} {} 5 60 4 -1 -1 4 60 -1 1 7 1 -1 {} {} -1 -1"


@pytest.mark.parametrize(
    ("header", "submit_s", "origin_s", "offset_h"),
    [
        ("; UnixStartTime: 1767225600\n; TimeZoneString: Europe/Berlin\n", 40, 1767225640, 1),
        ("; UnixStartTime: 1782864000\n; TimeZoneString: Europe/Berlin\n", 40, 1782864040, 2),
        ("; UnixStartTime: 1767225600\n; TimeZoneString: nowhere\n", 40, 1767225640, 0),
        ("; TimeZoneString: Europe/Berlin\n", 40, np.nan, 0),
        ("", 40, np.nan, 0),
        ("; UnixStartTime: 0\n", 40, np.nan, 0),
        ("; UnixStartTime: 1" + 5000 * "9" + "\n", 40, np.nan, 0),
        ("; UnixStartTime: 1357000000\n", 9e11, np.nan, 0),
        ("; UnixStartTime: -1\n", 40, np.nan, 0),
        ("; UnixStartTime: 1357000000\n", 1357028567, 1357028567, 0),
        ("", 1357028567, 1357028567, 0),
    ],
)
def test_dates_of_swf_are_those_of_its_header(tmp_path, header, submit_s, origin_s, offset_h):
    """Filters take UTC, the record what clocks of the site showed: in July two hours more."""
    text = header + LINE.format(1, submit_s, 2, -1) + "\n"
    record = recorded(read(tmp_path, text))
    np.testing.assert_equal(record.origin_s, origin_s + 3600 * offset_h)
    assert record.wait_s.tolist() == [5]
    if origin_s == 1767225640:
        assert len(read(tmp_path, text, **{"from": "2026-01-01 00:00:40"})) == 1
        with input_error(
            "no job is submitted then, expected some of the time from 2026-01-01 00:00:40"
        ):
            read(tmp_path, text, **{"from": "2026-01-01 00:00:41"})


@pytest.mark.parametrize(
    ("queues", "more", "keys", "vc"),
    [
        (("2 1", "3 1"), "", {}, ("2", "3")),
        (("-1 1", "-1 2"), "", {}, ("1", "2")),
        (("2 1", "3 2"), "", {"vc_from": "partition"}, ("1", "2")),
        (("-1 -1", "-1 -1"), " {{1,2}} q_{} 1:ppn=1", {}, ("q_1", "q_2")),
        (("2 1", "3 1"), " {{1,2}} 99{}", {}, ("2", "3")),
        (("2 1", "3 1"), " a b_{} c d e", {}, ("b_1", "b_2")),
    ],
)
def test_queues_and_partitions_of_swf(tmp_path, queues, more, keys, vc):
    """Field 20 names the queue where it is no number; fields behind the 21st are not read."""
    lines = [LINE.format(k, 10 * k, *q.split()) + more.format(k) for k, q in enumerate(queues, 1)]
    assert read(tmp_path, "\n".join(lines) + "\n", **keys).vc == vc


def test_lines_of_swf_may_have_more_fields_than_others(tmp_path):
    rows = [LINE.format(1, 0, 2, 1), LINE.format(2, 5, 3, 1) + " x q_1"]
    assert len(read(tmp_path, "\n".join(rows) + "\n")) == 2


# -- the collected cases ---------------------------------------------------------------------------

CASES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "33": ({}, {"gpus": [2], "duration_s": [3600]}),
    "34": ({}, {"job_id": ("1", "3"), "makespan_s": 7300}),
    "35": ({"columns": {"num_gpus": "num_gpus_alloc"}}, {"requested_s": [7200, 3600, 86_400]}),
    "36": ({}, {"duration_s": [3600, 7200]}),
    "37": ({}, {"gpus": [2], "duration_s": [3600]}),
    "38": ({}, {"gpus": [1, 32], "duration_s": [3600, 3600]}),
    "40": ({}, {"gpus": [8, 8], "duration_s": [8 * 3600, 3600]}),
    "41": ({}, {"held": [1 / 7, 1 / 7, 1]}),
    "42": (
        {"columns": {"submit_time_s": "submit_time_us", "duration_s": "duration_us"}},
        {"duration_s": [3600, 7200]},
    ),
    "43": ({}, {"duration_s": [3600, 3600, 1800], "requested_s": [7200, 7200, np.nan]}),
    "44": ({}, {"job_id": ("1", "4"), "origin_s": 1767225600 + 3600}),
}  # fmt: skip


@pytest.mark.skipif(not FACTS.is_dir(), reason="SCHEDLAB_FACTS names no folder of collected cases")
@pytest.mark.parametrize("case", CASES)
def test_a_case_gives_what_it_should(case):
    keys, expected = CASES[case]
    path = next((FACTS / "cases" / case).iterdir())
    jobs = type(table_for(path))(path=str(path), **keys).make(Setting())
    found = {
        "gpus": jobs.num_gpus,
        "duration_s": jobs.performance.fixed_s,
        "requested_s": jobs.requested_s,
        "job_id": jobs.job_id,
        "held": jobs.record and jobs.record.num_gpus,
        "makespan_s": jobs.record and jobs.record.end_s.max() - jobs.submit_s[0],
        "origin_s": jobs.record and jobs.record.origin_s,
    }
    for name, value in expected.items():
        if isinstance(value, tuple):
            assert found[name] == value
        else:
            np.testing.assert_allclose(found[name], value)


@pytest.mark.skipif(not FACTS.is_dir(), reason="SCHEDLAB_FACTS names no folder of collected cases")
def test_the_job_of_case_39_still_runs():
    with input_error("1 jobs still run, left out"):
        read_jobs(next((FACTS / "cases" / "39").iterdir()))


LOGS = {
    "kth_sp2": (28_481, 4.27, 5.0, 23.6, 0.39),
    "metacentrum_2013": (17_898, 14.2, 6.2, 63.9, 0.48),
}
"""Jobs, mean wait in h, median in min, 95 % in h, share of at most a minute."""


@pytest.mark.long
@pytest.mark.skipif(not FACTS.is_dir(), reason="SCHEDLAB_FACTS names no folder of collected logs")
@pytest.mark.parametrize("log", LOGS)
def test_recorded_waits_of_a_log(log):
    wait_s = recorded(read_jobs(FACTS / "logs" / f"{log}.swf.gz")).wait_s
    count, mean_h, median_min, high_h, share = LOGS[log]
    assert len(wait_s) == count
    assert wait_s.mean() / 3600 == pytest.approx(mean_h, rel=0.005)
    assert np.median(wait_s) / 60 == pytest.approx(median_min, rel=0.01)
    assert np.quantile(wait_s, 0.95) / 3600 == pytest.approx(high_h, rel=0.005)
    assert (wait_s <= 60).mean() == pytest.approx(share, abs=0.005)


def test_running_jobs_that_are_kept_have_no_elapsed_time(tmp_path):
    jobs = read(
        tmp_path,
        SACCT.format("ElapsedRaw|")
        + "1|2026-01-05T08:00:00|2026-01-05T08:00:00|Unknown|60|RUNNING|gres/gpu=4|p\n"
        + "2|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T09:00:00|3600|COMPLETED|gres/gpu=4|p\n",
        running="until-now",
    )
    assert durations(jobs) == [3600, 3600]
    assert isinstance(jobs, Workload)
    assert SlurmJobs.duration_counts
