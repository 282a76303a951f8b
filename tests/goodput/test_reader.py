"""Pollux's format: what is read, and one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.model.goodput import Goodput
from simulator.workloads.pollux import PolluxJobs
from simulator.workloads.table import Setting
from tests.goodput.applications import FILES, WORKLOAD, toy, write


def test_jobs_come_in_order_of_submission(tmp_path: Path) -> None:
    workload = PolluxJobs(path=write(tmp_path)).make(Setting())
    assert list(workload.job_id) == ["b", "a"]
    assert workload.submit_s.tolist() == [5.0, 10.0]
    assert workload.num_gpus.tolist() == [1, 2]
    assert list(workload.model) == ["toy", "toy"]
    assert isinstance(workload.performance, Goodput)
    assert workload.performance.batch_size.tolist() == [10, 40]
    read, expected = workload.performance.applications[0], toy()
    assert read.borders.tolist() == expected.borders.tolist()
    assert read.gains(25) == expected.gains(25)
    assert read.step((2, 1), 12) == expected.step((2, 1), 12)
    assert read.step((1, 1, 1, 1), 12) == pytest.approx(expected.step((1, 1, 1, 1), 12))


@pytest.mark.parametrize("traces", ["beside", "in", "given"])
def test_tables_are_read_as_they_were_released(tmp_path: Path, traces: str) -> None:
    flat = write(tmp_path)
    jobs, folder = {
        "beside": (tmp_path / "r/workloads/workload-1.csv", tmp_path / "r/traces"),
        "in": (tmp_path / "r/workload-1.csv", tmp_path / "r/traces"),
        "given": (tmp_path / "r/workload-1.csv", tmp_path / "t"),
    }[traces]
    for file in (jobs, folder / "toy" / "x"):
        file.parent.mkdir(parents=True)
    jobs.write_text(WORKLOAD)
    for name, text in FILES.items():
        (folder / "toy" / name.removeprefix("toy_")).write_text(text)
    one = PolluxJobs(path=flat).make(Setting()).performance
    other = (
        PolluxJobs(path=jobs, tables=folder if traces == "given" else None)
        .make(Setting())
        .performance
    )
    for ring, local in (((1,), 10), ((2, 1), 12), ((1, 1, 1, 1), 12)):
        assert other.applications[0].step(ring, local) == one.applications[0].step(ring, local)
    assert other.applications[0].gains(40) == one.applications[0].gains(40)
    (folder / "toy/placements.csv").unlink()
    with pytest.raises(InputError, match="expected one with tables toy_placements"):
        PolluxJobs(path=jobs, tables=folder if traces == "given" else None).make(Setting())


PLACEMENTS, VALIDATION = FILES["toy_placements.csv"], FILES["toy_validation-40.csv"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"jobs__csv": WORKLOAD.replace("b,5,toy", "b,5,tox")}, "line 3: application is 'tox'"),
        ({"jobs__csv": WORKLOAD.replace("toy,1,10", "toy,1,9")}, "line 3: batch_size is '9', expected 10 to 40"),
        ({"jobs__csv": WORKLOAD.replace("toy,2,40", "toy,8,40")}, "line 2: num_replicas is '8', expected at most 4"),
        ({"jobs__csv": WORKLOAD.replace("b,5", "b,x")}, "line 3: time is 'x', expected a number >= 0"),
        ({"jobs__csv": WORKLOAD.replace("b,5", "a,5")}, "line 3: name is 'a', expected a name not used before"),
        ({"jobs__csv": "name,time\na,1\n"}, "column 'application' is missing"),
        ({"toy_placements__csv": PLACEMENTS.replace("12,20", "1x,20")}, "placement is '1x', expected one digit"),
        ({"toy_placements__csv": PLACEMENTS.replace("2.0,0.0", ",0.0")}, "step_time is empty, expected a number > 0"),
        ({"toy_validation__40__csv": VALIDATION + "300,9,1,1,1\n"}, "2 to 3 rows, expected the same number of epochs"),
        ({"toy_validation__40__csv": VALIDATION.replace("199,", "99,")}, "progress does not rise"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as error:
        PolluxJobs(path=write(tmp_path, **changed)).make(Setting())
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_limit_of_an_application_that_no_job_trains_is_said(tmp_path: Path) -> None:
    given = {"toy": 11, "nope": 8}
    workload = PolluxJobs(path=write(tmp_path), max_local=given).make(Setting())
    expected = "workload.max_local: no job trains 'nope'; the applications are toy"
    assert workload.notes[0] == expected
