"""The line on recorded waits that answers on a log carry."""

import numpy as np
import pytest

from experiments.comparison.recorded import beside_record
from simulator.model.recorded import Recorded
from tests.command import done

LOG = """job_id,submit_time_s,start_time_s,duration_s,num_gpus
a,0,0,100,1
b,0,200,100,1
c,10,420,100,1
"""
LINE = (
    "simulated waits of this log are {:.2f} times the recorded ones (schedlab validate says more)"
)


def record(*waits: float) -> Recorded:
    submit_s, start_s = np.zeros(len(waits)), np.array(waits)
    names = [""] * len(waits)
    return Recorded(submit_s, start_s, start_s + 1, np.ones(len(waits)), names, names, names)


@pytest.mark.parametrize(
    ("log", "mean_s", "told"),
    [
        (None, 10.0, []),
        (record(0, 0), 10.0, []),
        (record(10, 30), np.nan, []),
        (record(10, np.nan), 10.0, []),  # of half of the jobs only
        (record(10, 30), 10.0, [LINE.format(0.5)]),
        (record(10, 30), 0.0, [LINE.format(0)]),
    ],
)
def test_line(log, mean_s, told):
    assert beside_record(log, mean_s) == told


@pytest.mark.parametrize(
    ("words", "ratio"),
    [
        # One GPU: a from 0, b from 100, c from 200: waits 0, 100 and 190 s; the log has 0, 200 and 410 s.
        (("run", "--nodes", 1, "--gpus", 1), 290 / 610),
        (("compare", "--nodes", 1, "--gpus", 1, "--policy", "fifo-strict", "--draws", 1), 290 / 610),
        (("whatif", "--nodes", 1, "--gpus", 1, "--set", "cluster.num_nodes=2", "--draws", 1), 290 / 610),
        (("size", "--nodes", 1, "--gpus", 1, "--target", "mean_wait < 1h", "--draws", 1), 290 / 610),
    ],
)  # fmt: skip
def test_commands_say_it(words, ratio, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    command, *more = words
    ran = done(command, log, *more, "--out", tmp_path / "out")
    assert (ran.stdout + ran.stderr).count(LINE.format(ratio)) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("mean_wait < 1h", ", and the answer has fewer (1)"),
        ("mean_wait < 1s", ""),
    ],
)
def test_size_without_todays_nodes_takes_the_fewest_that_the_log_used(target, told, tmp_path):
    """The log's last two jobs overlap on two GPUs; simulated on one, jobs wait for less than an hour."""
    log = tmp_path / "log.csv"
    log.write_text(LOG + "d,420,420,300,1\n")
    ran = done("size", log, "--gpus", 1, "--target", target, "--draws", 1, "--out", tmp_path / "o")
    note = "jobs of this log held 2 GPUs at once, and each of them fitted, so its cluster has 2 nodes or more"
    after = ". --nodes says how many it has. With 2 nodes, simulated waits of this log are"
    assert f"{note}{told}{after}" in ran.stderr


@pytest.mark.long
def test_size_of_a_log_whose_job_needs_the_memory_of_several_nodes(tmp_path):
    """One job of 3 GPUs and 150 GB at a time: three nodes of 64 GB hold it, though one has its GPUs."""
    log = tmp_path / "log.csv"
    rows = "".join(f"{name},{at},{at},10,3,150\n" for name, at in (("a", 0), ("b", 20), ("c", 40)))
    log.write_text("job_id,submit_time_s,start_time_s,duration_s,num_gpus,memory_gb\n" + rows)
    words = (
        "size",
        log,
        "--gpus",
        3,
        "--draws",
        1,
        "--target",
        "mean_wait < 1h",
        "--set",
        "cluster.memory_gb_per_node=64",
    )
    ran = done(*words, "--out", tmp_path / "o")
    assert "3 nodes meet" in ran.stdout
    assert (
        "jobs of this log held 3 GPUs at once, and each of them fitted, so its cluster has 3 nodes or more"
        in ran.stderr
    )
    ran = done(*words, "--nodes", 1, "--out", tmp_path / "p")  # the job does not fit today's nodes
    assert "3 nodes meet" in ran.stdout
