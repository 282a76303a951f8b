"""The plain CSV: what it gives, what it tolerates, and one clear line for everything else."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.workloads.plain_csv import CsvJobs
from simulator.workloads.registry import read_jobs
from tests.errors import input_error

HEADER = "job_id,submit_time_s,duration_s,num_gpus"
FULL = HEADER + ",num_cpus,memory_gb,model,due_s,tardiness_weight_per_h"


def write(folder: Path, text: str) -> Path:
    path = folder / "jobs.csv"
    path.write_bytes(text.encode())
    return path


def test_all_columns(tmp_path):
    path = write(tmp_path, FULL + "\na,0,100,2,6,32,resnet50,500,3.6\nb,10.5,200,1,,,,,\n")
    w = CsvJobs(path=path).read()
    assert w.job_id == ("a", "b")
    np.testing.assert_array_equal(w.submit_s, [0, 10.5])
    np.testing.assert_array_equal(w.performance.duration_s, [100, 200])
    np.testing.assert_array_equal(w.num_gpus, [2, 1])
    np.testing.assert_array_equal(w.num_cpus, [6, np.nan])
    np.testing.assert_array_equal(w.memory_gb, [32, np.nan])
    assert w.model == ("resnet50", "")
    np.testing.assert_array_equal(w.due_s, [500, np.inf])
    np.testing.assert_allclose(w.weight_per_s, [0.001, 0])
    assert w.notes == ()


def test_required_columns_alone_in_any_order(tmp_path):
    w = CsvJobs(path=write(tmp_path, "num_gpus,job_id,duration_s,submit_time_s\n4,x,60,5\n")).read()
    assert (w.job_id, w.num_gpus[0], w.submit_s[0]) == (("x",), 4, 5)
    assert np.isinf(w.due_s[0])


def test_windows_file_with_blanks(tmp_path):
    head = "\ufeff Job_ID , submit_time_s,Duration_s ,num_gpus\r\n"
    w = CsvJobs(path=write(tmp_path, head + "\r\n a , 0 , 60,1 \r\nb,1,60,1.0\r\n")).read()
    assert w.job_id == ("a", "b")
    assert w.num_gpus.tolist() == [1, 1]


def test_unsorted_rows_are_sorted_with_a_note(tmp_path):
    path = write(tmp_path, HEADER + "\nc,30,1,1\na,10,2,1\nb,10,3,2\n")
    w = CsvJobs(path=path).read()
    assert w.job_id == ("a", "b", "c")
    assert w.performance.duration_s.tolist() == [2, 3, 1]
    assert w.num_gpus.tolist() == [1, 2, 1]
    assert w.notes == (f"{path}: 1 rows before an earlier one, sorted by submit_time_s",)


def test_other_columns_are_named_in_a_note(tmp_path):
    w = CsvJobs(path=write(tmp_path, HEADER + ",queue\na,0,1,1,me\n")).read()
    assert len(w.notes) == 1
    assert w.notes[0].endswith("columns not used: queue")


def test_a_near_miss_of_an_optional_column_is_a_note(tmp_path):
    """The column may as well be another thing."""
    path = write(tmp_path, HEADER + ",tardiness_weight\na,0,1,1,2\n")
    work = CsvJobs(path=path).read()
    assert work.weight_per_s.tolist() == [0]
    assert work.notes == (
        f"{path}: columns not used: tardiness_weight",
        f"{path}: column 'tardiness_weight' is not known, and not read; if it is 'tardiness_weight_per_h', "
        "rename it, or for a trace --set workload.columns.tardiness_weight_per_h=tardiness_weight",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, expected a header line with submit_time_s, duration_s, num_gpus"),
        ("\n\n", "is empty, expected a header line"),
        (HEADER + "\n", "has no rows, expected at least one below the header"),
        ("job_id,submit_time_s,duration_s\na,0,1\n", "column 'num_gpus' is missing, found job_id"),
        (
            HEADER.replace("n_s", "ns_s") + "\na,0,1,1\n",
            "'durations_s' is not known, did you mean 'du",
        ),
        (HEADER + ",num_gpus\na,0,1,1,1\n", "column 'num_gpus' occurs twice"),
        *[
            (f"{HEADER}\na,0,{text},1\n", f"line 2: duration_s is '{text}', expected a number >= 0")
            for text in ("inf", "1 hour")
        ],
        *[
            (f"{HEADER}\na,0,1,{text}\n", f"num_gpus is '{text}', expected a number >= 0")
            for text in ("-1", "two")
        ],
        *[
            (
                f"{HEADER}\na,{row}\n",
                f"no job that ran on a GPU, expected one at least: 1 jobs {why}",
            )
            for row, why in (
                ("0,,1", "have no duration"),
                ("0,NaN,1", "have no duration"),
                (",5,1", "have no time"),
                ("0,0,1", "ended as they started"),
                ("0,5,0", "hold no GPU"),
                ("0,5", "hold no GPU"),
            )
        ],
        (HEADER + "\na,0,1,1\nb,5,-3,1\n", "line 3: duration_s is '-3', expected a number >= 0"),
        (HEADER + "\n\n\na,-1,1,1\n", "line 4: submit_time_s is '-1', expected a number >= 0"),
        (HEADER + "\n,0,1,1\n", "line 2: job_id is empty, expected a text"),
        (HEADER + "\na,0,1,1,9\n", "line 2: 5 fields, expected 4"),
        (FULL + "\na,100,1,1,,,,50,\n", "due_s is '50', expected a time not before submit_time_s"),
        (FULL + "\na,0,1,1,,,,,-1\n", "tardiness_weight_per_h is '-1', expected a number >= 0"),
        (FULL + "\na,0,1,1,-2,,,,\n", "line 2: num_cpus is '-2', expected a number >= 0"),
        (FULL + "\na,0,1,1,,much,,,\n", "line 2: memory_gb is 'much', expected a number >= 0"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = write(tmp_path, text)
    with input_error(path, message):
        CsvJobs(path=path).read()


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv: no such file, expected a header line"):
        CsvJobs(path=tmp_path / "nowhere.csv").read()
    with pytest.raises(InputError, match="cannot be read"):
        CsvJobs(path=tmp_path).read()
    picture = tmp_path / "picture.csv"
    picture.write_bytes(bytes(range(128, 256)) * 10)
    with pytest.raises(InputError, match="cannot be read"):
        CsvJobs(path=picture).read()


slacks = st.one_of(st.none(), st.floats(0, 1e6))
jobs = st.tuples(st.floats(0, 1e9), st.floats(1e-3, 1e8), st.integers(1, 512), slacks)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(jobs, min_size=1, max_size=20))
def test_what_is_written_is_read(tmp_path, rows):
    lines = [
        f"j{i},{submit!r},{duration!r},{gpus},{'' if slack is None else repr(submit + slack)}"
        for i, (submit, duration, gpus, slack) in enumerate(rows)
    ]
    w = CsvJobs(path=write(tmp_path, "\n".join([HEADER + ",due_s", *lines]))).read()
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    submit_s, duration_s, gpus, slack = zip(*(rows[i] for i in order), strict=True)
    assert w.job_id == tuple(f"j{i}" for i in order)
    np.testing.assert_allclose(w.submit_s, submit_s, rtol=1e-14)
    np.testing.assert_allclose(w.performance.duration_s, duration_s, rtol=1e-14)
    assert w.num_gpus.tolist() == list(gpus)
    assert np.isinf(w.due_s).tolist() == [s is None for s in slack]


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("|", ".")]
)
def test_the_header_shows_the_separator(tmp_path, separator, decimal):
    rows = (
        ("job_id", "submit_time_s", "duration_s", "num_gpus"),
        ("a", "0", f"2{decimal}5", "1"),
        ("b", "3", "40", "2"),
    )
    path = tmp_path / "jobs.txt"
    path.write_text("\n".join(map(separator.join, rows)))
    jobs = read_jobs(path)
    assert jobs.submit_s.tolist() == [0, 3]
    assert jobs.performance.duration_s.tolist() == [2.5, 40]
    assert jobs.num_gpus.tolist() == [1, 2]
