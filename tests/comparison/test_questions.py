"""Questions in one command: the smallest size for a target, and what another setting changes."""

import math

import pandas as pd
import pytest

from experiments.comparison.size import Target, _not_monotone
from experiments.sweep.executors import LocalPool
from tests.command import done, refused, schedlab
from tests.errors import input_error

THREE = "job_id,submit_time_s,duration_s,num_gpus\na,0,100,1\nb,0,100,1\nc,0,100,1\n"


@pytest.fixture
def three(tmp_path):
    """Three jobs at once, of one GPU and 100 s: on 1, 2, 3 nodes the waits are 0, 100, 200; 0, 0, 100; 0, 0, 0."""
    path = tmp_path / "three.csv"
    path.write_text(THREE)
    return path


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("mean_total_wait < 101s", "1 node meets"),
        ("mean_total_wait < 34 s", "2 nodes meet"),
        ("mean_total_wait_s<=33", "3 nodes meet"),
        ("mean_total_wait < 0 h", "3 nodes meet"),
        ("gpu_utilisation > 100 %", "1 node meets"),
        ("mean_jct < 1.5 min", "Nothing meets"),
    ],
)
def test_the_smallest_size_by_hand(three, target, answer):
    words = ("size", three, "--gpus", 1, "--target", target, "--draws", 1)
    told = done(*words, cwd=three.parent).stdout
    assert told.startswith(answer), told


def test_the_curve(three, tmp_path):
    told = done(
        "size", three, "--gpus", 1, "--target", "mean_total_wait < 34 s", "--draws", 1, "--out", tmp_path / "o",
    ).stdout  # fmt: skip
    assert "At 1 node it is 100 s." in told
    curve = pd.read_csv(tmp_path / "o" / "size.csv")
    assert curve["nodes"].tolist() == [1, 2, 3]
    assert curve["mean"].tolist() == pytest.approx([100, 100 / 3, 0])
    assert curve["meets"].tolist() == [False, True, True]
    assert (tmp_path / "o" / "size.png").read_bytes().startswith(b"\x89PNG")
    told = done(
        "size", three, "--nodes", 1, "--vary", "gpus", "--target", "mean_total_wait < 34 s", "--draws", 1,
        cwd=tmp_path,
    ).stdout  # fmt: skip
    assert told.startswith("2 GPUs a node meet")


def test_the_highest_price(three):
    """Two nodes for 200 s at 3.6 an hour cost 0.4; 3.61 cost more."""
    told = done(
        "size", three, "--nodes", 2, "--gpus", 1, "--vary", "price", "--target", "total_cost < 0.4", "--draws", 1,
        cwd=three.parent,
    ).stdout  # fmt: skip
    assert told.startswith("At most 3.6 USD an hour and node meets total_cost < 0.4 in one run: ")
    assert "At 3.61 USD an hour and node it is 0.4011 USD." in told


def test_which_policies_meet(tmp_path):
    """A long job before a short one on one GPU: in order the waits are 0 and 99 s, 49.5 s; the shorter first, 0 and 0.9."""
    path = tmp_path / "two.csv"
    path.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,100,1\nb,0,2,1\n")
    asked = (
        "size", path, "--nodes", 1, "--gpus", 1, "--vary", "policy", "--policy", "In order=fifo-strict",
        "--draws", 1, "--out", tmp_path / "o", "--policy",
    )  # fmt: skip
    for target, answer in (
        ("20 s", "These meet {} in one run: sjf (1 s). These do not: In order (50 s).\n"),
        ("60 s", "These meet {} in one run: sjf (1 s), In order (50 s).\n"),
        ("0.9 s", "No policy meets {} in one run: sjf (1 s), In order (50 s).\n"),
    ):
        bound = f"mean_total_wait < {target}"
        told = done(*asked, "sjf", "--target", bound).stdout
        assert told.startswith(answer.format(bound)), told
    assert (tmp_path / "o" / "size.png").exists()
    twice = refused(*asked, "In order=sjf", "--target", bound)
    assert "--policy: a name stands twice" in twice


def test_runs_that_are_kept_are_not_made_again(three, tmp_path, monkeypatch):
    """The second time no run is simulated, and the answer is the same; a target between needs further sizes only."""
    made = []
    own_submit = LocalPool.submit
    monkeypatch.setattr(
        LocalPool,
        "submit",
        lambda self, call, orders, *rest: (
            made.extend(orders) or own_submit(self, call, orders, *rest)
        ),
    )
    words = (
        "size",
        three,
        "--gpus",
        1,
        "--draws",
        39,
        "--workers",
        1,
        "--out",
        tmp_path / "o",
        "--target",
    )
    first = done(*words, "mean_total_wait < 34 s")
    count = len(made)
    assert count >= 2 * 39
    assert done(*words, "mean_total_wait < 34 s").stdout == first.stdout
    done(*words, "mean_total_wait < 35 s")
    assert len(made) == count


def erlang_wait_s(servers, load, service_s):
    """Mean wait of M/M/c, s."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last) * service_s / (servers - load)


def test_the_smallest_size_of_a_queue_is_erlangs(tmp_path):
    """M/M/c at 4 erlang: 1994 s on 5 servers, 513 s on 6. Each of six seeds of 800 jobs has to meet 1,100 s."""
    path = tmp_path / "mmc.toml"
    path.write_text(
        'policy = "fifo-strict"\nwindow = [100, 800]\n[workload]\nkind = "poisson"\nnum_jobs = 800\n'
        'arrival_rate_per_h = 4\nduration_s = "exponential:3600"\n[cluster]\nkind = "nodes"\nnum_nodes = 4\n'
        "gpus_per_node = 1\n"
    )
    expected = next(c for c in range(5, 20) if erlang_wait_s(c, 4, 3600) < 1100)
    told = done(
        "size", path, "--target", "mean_total_wait < 1100 s", "--draws", 6, cwd=tmp_path
    ).stdout
    assert expected == 6
    assert told.startswith(f"{expected} nodes meet"), told


def test_a_larger_size_may_be_worse(tmp_path):
    """Curves that go up and down, or that meet the target and then miss it."""
    frame = pd.DataFrame(
        {"nodes": [1, 2, 3], "mean": [5.0, 7.0, 1.0], "meets": [False, True, True]}
    )
    (note,) = _not_monotone(frame, "nodes")
    assert note.startswith("the curve is not monotone: from 1 to 2 nodes it goes from 5 to 7;")
    assert not _not_monotone(frame.assign(mean=[7.0, 5.0, 1.0]), "nodes")
    (note,) = _not_monotone(frame.assign(mean=[7.0, 5.0, 1.0], meets=[False, True, False]), "nodes")
    assert "misses the target" in note


@pytest.mark.parametrize("text", ["", "x", "p95 < 1 week", "a < b", "a = 1", "a < 1e", "a < 1..2"])
def test_targets_that_are_none(text):
    with input_error("--target: got", text, "expected METRIC < NUMBER"):
        Target.parse(text)


def test_targets():
    made = Target.parse("p95_total_wait <= 1.5h")
    assert (made.metric, made.is_upper, made.bound) == ("p95_total_wait_s", True, 5400)
    assert Target.parse("gpu_utilisation > 80%").bound == pytest.approx(0.8)
    assert made.share([5400, 5401, 0, 1]) == 0.75


def test_refusals_of_questions(three):
    size = ("size", three, "--gpus", 1, "--target")
    ran = schedlab(*size, "p95_wat < 1h", "--draws", 1, cwd=three.parent)
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].startswith(
        "schedlab: --target: got 'p95_wat_s', did you mean"
    )
    assert "--share" in refused(*size, "mean_jct < 1h", "--share", 2, cwd=three.parent)
    assert "--vary" in refused(*size, "mean_jct < 1h", "--vary", "racks", cwd=three.parent)
    assert "--vary policy" in refused(
        *size, "mean_jct < 1h", "--policy", "sjf", "--policy", "fifo", cwd=three.parent
    )
    assert "--draws: got 5" in refused(*size, "mean_jct < 1h", "--draws", 5, cwd=three.parent)


def test_what_a_node_more_changes(three, tmp_path):
    """At 36 an hour a node: 300 s of one, 200 s of two nodes: 3 and 4; the mean wait falls from 100 s to 33.3 s."""
    told = done(
        "whatif", three, "--nodes", 1, "--gpus", 1, "--base", "cluster.price_per_hour=36", "--set", "cluster.num_nodes=2",
        "--draws", 1, "--out", tmp_path / "w",
    ).stdout  # fmt: skip
    assert told.splitlines()[0] == "The mean total wait falls from 100 to 33.33 s, by 66.67 s."
    table = pd.read_csv(tmp_path / "w" / "whatif.csv").set_index("metric")
    assert table.loc["makespan_s", ["base", "whatif", "difference"]].tolist() == [300, 200, -100]
    assert table.loc["total_cost", "difference"] == pytest.approx(
        table.loc["total_cost", "whatif"] - table.loc["total_cost", "base"]
    )
    assert table.loc["total_cost", "base"] == pytest.approx(3.0)


def test_intervals_are_of_differences_pair_by_pair(three):
    """The same setting changes nothing in any drawn trace: the interval of the difference is 0 to 0."""
    told = done(
        "whatif", three, "--nodes", 1, "--gpus", 1, "--set", "cluster.num_nodes=1", "--draws", 39, "--workers", 1,
        cwd=three.parent,
    ).stdout  # fmt: skip
    assert told.splitlines()[0] == "The mean total wait stays 100 s."
    row = next(line for line in told.splitlines() if "mean completion time (min)" in line)
    assert row.split()[4:] == ["3.333", "3.333", "0", "0", "to", "0"]


@pytest.mark.parametrize(
    "words",
    [
        ("whatif", "--nodes", 2, "--set", "cluster.gpu_type=H100", "--draws", 1),
        ("size", "--set", "cluster.gpu_type=H100", "--target", "mean_total_wait < 1h", "--draws", 1),
        ("compare", "--nodes", 2, "--set", "cluster.gpu_type=H100", "--draws", 1, "--policy", "fifo"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_key_without_effect_is_told(three, words):
    """The file does not say on which GPUs its durations were taken."""
    told = done(words[0], three, "--gpus", 1, *words[1:], cwd=three.parent)
    assert "the jobs do not say on which GPUs" in told.stderr + told.stdout
