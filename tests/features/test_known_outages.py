"""Outages that a file lists: schedules by hand, dates, and mistakes in the file."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.features.failures import Checkpoints, Failures, ListedOutages
from simulator.features.known_outages import OutageKeys
from simulator.features.table import Scene
from simulator.model.recorded import Recorded
from simulator.statistics import Streams
from tests.core.jobs import fixed, nodes, run
from tests.errors import input_error


def listed(*outages, **more):
    groups, start_s, end_s = zip(*outages, strict=True)
    return Failures([ListedOutages(groups, start_s, end_s, **more)])


def test_nodes_are_down_from_when_until_when_it_is_listed():
    """Two nodes of one GPU. Node 0 is down from 10 to 30 s: j2 was before j0 in the queue and gets node 1 at 25 s."""
    jobs = fixed([0, 0, 5], [20, 25, 10])
    result = run(jobs, nodes(1, 2), "fifo-strict", listed(([0], 10, 30)))
    assert result.completion_s.tolist() == [50.0, 25.0, 35.0]
    assert result.summary()["outages"] == 1
    assert result.summary()["lost_gpu_h"] == pytest.approx(10 / 3600)


def test_all_nodes_at_once_and_overlapping_outages():
    """Down from 10 to 20 s and from 15 to 40 s is down once, from 10 to 40 s; with notice the work is kept."""
    jobs = fixed([0], [30])
    down = ([0], 10, 20), ([0], 15, 40)
    assert run(jobs, nodes(1), "fifo-strict", listed(*down)).completion_s[0] == 70
    warned = replace(listed(*down, notice_s=5.0), checkpoints=Checkpoints())
    result = run(jobs, nodes(1), "fifo-strict", warned)
    assert result.completion_s[0] == 60
    assert result.summary()["availability"] == pytest.approx(0.5)


def test_an_outage_that_is_over_before_the_first_job_is_none():
    jobs = fixed([100], [10])
    result = run(jobs, nodes(1), "fifo-strict", listed(([0], 10, 20), ([0], 50, 130)))
    assert result.first_start_s[0] == 130


def test_checkpoints_expect_none_of_them():
    """Checkpoints by Daly's rule follow failures that are expected; with a list alone there is no interval."""
    result = run(fixed([0], [100]), nodes(1), "fifo-strict", replace(listed(([0], 500, 600)), checkpoints=Checkpoints(interval_s="daly", cost_s=10)))  # fmt: skip
    assert result.completion_s[0] == 100


def scene(origin_s=np.nan):
    jobs = fixed([0], [10])
    nan = np.array([np.nan])
    record = Recorded(jobs.submit_s, nan, nan, np.ones(1), [""], [""], [""], origin_s)
    return Scene(replace(jobs, record=record), nodes(1, 4), Streams(1), {})


def made(tmp_path, text, origin_s=np.nan):
    (tmp_path / "o.csv").write_text(text)
    (found,) = OutageKeys(path=tmp_path / "o.csv").make(scene(origin_s)).outages
    return list(zip(map(list, found.groups), found.start_s, found.end_s, strict=True))


def test_nodes_and_times_of_a_file(tmp_path):
    text = "node,from,to\nall,0,5\n1-2,10,20.5\n3 0,7,8\n2,1,2\n"
    assert made(tmp_path, text) == [([0, 1, 2, 3], 0, 5), ([1, 2], 10, 20.5), ([0, 3], 7, 8), ([2], 1, 2)]  # fmt: skip


def test_dates_count_from_the_date_of_the_first_second(tmp_path):
    text = "node;start;end\n0;2024-01-01 01:00;2024-01-01 02:00:30\n"
    assert made(tmp_path, text, origin_s=1_704_067_200.0) == [([0], 3600, 7230)]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("4,0,1", "line 2: node is '4', expected nodes from 0 to 3"),
        ("2-1,0,1", "line 2: node is '2-1', expected nodes from 0 on"),
        ("n1,0,1", "line 2: node is 'n1', expected nodes from 0 on"),
        ("0,5,5", "line 2: to is '5', expected a time after that of the column from"),
        ("0,2024-01-01 00:00,2024-01-01 01:00", "expected seconds on the clock of the jobs, which have no dates"),
        ("0,x,1", "line 2: from is 'x', expected"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(tmp_path, row, told):
    with input_error(told):
        made(tmp_path, f"node,from,to\n{row}\n")


@pytest.mark.parametrize(("groups", "end_s"), [([[0]], [10.0]), ([[]], [20.0])])
def test_lists_that_are_none(groups, end_s):
    with input_error("outage 1: "):
        ListedOutages(groups, [10.0], end_s)
