"""`schedlab size` and `whatif`: what the commands print, keep and refuse."""

import math

import pandas as pd
import pytest

from experiments.comparison.size import Target, best_size
from experiments.scenario.options import scenario_of
from experiments.sweep.executors import LocalPool
from tests.command import done, refused, schedlab

THREE = "job_id,submit_time_s,duration_s,num_gpus\na,0,100,1\nb,0,100,1\nc,0,100,1\n"


@pytest.fixture
def three(tmp_path):
    """Three jobs at once, of one GPU and 100 s: on 1, 2, 3 nodes the waits are 0, 100, 200; 0, 0, 100; 0, 0, 0."""
    path = tmp_path / "three.csv"
    path.write_text(THREE)
    return path


def test_the_curve(three, tmp_path):
    told = done(
        "size", three, "--nodes", 1, "--vary", "gpus", "--target", "mean_total_wait < 34 s", "--draws", 1, "--out",
        tmp_path / "o",
    ).stdout  # fmt: skip
    assert told.startswith(
        "2 GPUs a node meet mean_total_wait < 34 s in one run: the mean total wait is 33.33 s. At 1 GPU a node it is 100 s.\n"
    )
    curve = pd.read_csv(tmp_path / "o" / "size.csv")
    assert curve["gpus"].tolist() == [1, 2, 3]
    assert curve["mean"].tolist() == pytest.approx([100, 100 / 3, 0])
    assert curve["meets"].tolist() == [False, True, True]


@pytest.mark.long
def test_the_highest_price(three):
    """Two nodes for 200 s at 3.6 an hour cost 0.4; 3.61 cost more."""
    found = best_size(
        lambda price: scenario_of(three, "csv", settings=[f"cluster.price_per_hour={price}"], nodes=2, gpus=1)[0],
        Target.parse("total_cost < 0.4"), "three.csv", vary="price", draws=1,
    )  # fmt: skip
    assert found.words() == (
        "At most 3.6 USD an hour and node meets total_cost < 0.4 in one run: the total cost is 0.4 USD. "
        "At 3.61 USD an hour and node it is 0.4011 USD."
    )


@pytest.mark.long
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
    assert "--policy: a name is given twice" in twice


@pytest.mark.long
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
    words = ("size", three, "--gpus", 1, "--draws", 39, "--workers", 1, "--out", tmp_path / "o", "--target")  # fmt: skip
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


@pytest.mark.long
def test_the_smallest_size_of_a_queue_is_erlangs(tmp_path):
    """M/M/c at 4 erlang: 1994 s on 5 servers, 513 s on 6. Each of four seeds of 600 jobs has to meet 1,100 s."""
    path = tmp_path / "mmc.toml"
    path.write_text(
        'policy = "fifo-strict"\nwindow = [100, 600]\n[workload]\nkind = "poisson"\nnum_jobs = 600\n'
        'arrival_rate_per_h = 4\nduration_s = "exponential:3600"\n[cluster]\nkind = "nodes"\nnum_nodes = 4\n'
        "gpus_per_node = 1\n"
    )
    expected = next(c for c in range(5, 20) if erlang_wait_s(c, 4, 3600) < 1100)
    assert expected == 6
    found = best_size(
        lambda nodes: scenario_of(path, settings=[f"cluster.num_nodes={nodes}"])[0],
        Target.parse("mean_total_wait < 1100 s"), "mmc.toml", draws=4,
    )  # fmt: skip
    assert found.best == expected


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


def test_a_key_without_effect_is_told(three):
    told = done("compare", three, "--gpus", 1, "--nodes", 2, "--set", "cluster.gpu_type=H100", "--draws", 1,
                "--policy", "fifo", cwd=three.parent)  # fmt: skip
    assert "the jobs do not say on which GPUs" in told.stderr + told.stdout
