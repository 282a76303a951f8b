"""One job's story."""

import json

import numpy as np
import pytest

from experiments.analysis.explain import explain
from experiments.replay import Recording, events_of, replay_folders
from experiments.scenario.output import write_result
from policies import make_policy
from policies.packing import FreeCapacity
from simulator import (
    Cluster,
    Decision,
    FixedDuration,
    InputError,
    NodeType,
    Placement,
    Workload,
    simulate,
)
from simulator.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic


def test_a_job_that_is_passed_over(tmp_path):
    """Two GPUs: a holds one for 100 s; b wants two and waits; c, which came later, is started."""
    gpus = np.array([1, 2, 1])
    jobs = Workload(["a", "b", "c"], [0.0, 1.0, 2.0], FixedDuration([100.0, 50.0, 60.0], gpus),
                    num_gpus=gpus)  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 1)
    write_result(simulate(jobs, cluster, make_policy("fifo-backfill")), tmp_path)
    assert explain(tmp_path, "b") == [
        "1 s: submitted.",
        "1 s: waits 99 s; 1 job starts meanwhile, of which 1 came later: c.",
        "100 s: starts on 2 GPUs of node 0, for 50 s.",
        "150 s: ends, 149 s after its submission.",
        "Alone it would have taken 50 s: it was slowed down 2.98 times.",
    ]
    assert not any("noted" in line for line in explain(tmp_path, "b"))
    with pytest.raises(InputError, match="no job 'z', expected one such as 'a'"):
        explain(tmp_path, "z")
    with pytest.raises(InputError, match="no such file"):
        explain(tmp_path / "nowhere", "a")


def test_failures_are_part_of_the_story(tmp_path):
    """One job of 100 s on two GPUs; its node fails after 60 s, and is back at once."""
    jobs = Workload(["a"], [0.0], FixedDuration([100.0], [2]), num_gpus=[2])
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 1)
    cause = Outages(Deterministic(60.0), Deterministic(10.0), [(0,)])
    failures = Failures([cause], Checkpoints(50.0))
    write_result(simulate(jobs, cluster, make_policy("fifo-backfill"), failures=failures), tmp_path)
    assert explain(tmp_path, "a") == [
        "0 s: submitted.",
        "0 s: starts on 2 GPUs of node 0, for 60 s.",
        "60 s: waits 10 s; 0 jobs start meanwhile.",
        "70 s: starts on 2 GPUs of node 0, for 50 s.",
        "120 s: ends, 120 s after its submission.",
        "A failure of its node, or of its own, stopped it once; 0.01 GPU-hours of its work were lost.",
        "Alone it would have taken 100 s: it was slowed down 1.2 times.",
    ]


def test_what_the_policy_noted_is_part_of_the_story(tmp_path):
    """Of the job's own controller: two of them, each notes its number and how many jobs wait."""

    def noting(view):
        capacity = FreeCapacity(view)
        placements = [p for job in view.waiting for p in capacity.take(job)]
        facts = {"who": f"controller {view.controller}", "queue": float(len(view.waiting))}
        return Decision(placements, keep_running=True, info=facts)

    ones = np.ones(4, dtype=int)
    jobs = Workload(["a", "b", "c", "d"], [0.0, 0.0, 10.0, 20.0],
                    FixedDuration([100.0, 300.0, 50.0, 50.0], ones), num_gpus=ones)  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 2, num_controllers=2)
    result = simulate(jobs, cluster, noting)
    write_result(result, tmp_path)
    told = explain(tmp_path, "d")
    assert told[1] == "20 s: waits 280 s; 1 job starts meanwhile."
    assert told[2] == "  The decision (20 s, 2 jobs there) noted: who controller 1, queue 1."
    assert told[4] == "  The decision (300 s, 1 job there) noted: who controller 1, queue 1."
    events = events_of([Recording.of(result)])
    assert events["runs"][0]["noted"]["who"].count("controller 1") == 3
    assert len(events["runs"][0]["noted"]["queue"]) == len(events["runs"][0]["decisions"])
    from_folder = player_events(tmp_path)
    assert from_folder["runs"][0]["noted"] == events["runs"][0]["noted"]


def test_a_controller_that_never_decided_counts(tmp_path):
    """Three controllers, of which the third has no job."""

    def noting(view):
        node = int(view.nodes[-1])
        return Decision(
            [Placement(job, node, 1) for job in view.waiting],
            keep_running=True,
            info={"node": float(node)},
        )

    ones = np.ones(2, dtype=int)
    jobs = Workload(["a", "b"], [0.0, 1.0], FixedDuration([10.0, 10.0], ones), num_gpus=ones)
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 6, num_controllers=3)
    result = simulate(jobs, cluster, noting)
    write_result(result, tmp_path)
    assert json.loads((tmp_path / "machines.json").read_text())["num_controllers"] == 3
    # Two controllers decided, so the decisions alone would say that node 4 is the first one's: 4 % 2 = 0.
    assert explain(tmp_path, "b")[1:3] == [
        "1 s: starts on 1 GPU of node 4, for 10 s.",
        "  The decision (1 s, 1 job there) noted: node 4.",
    ]
    (tmp_path / "machines.json").write_text("[]")
    with pytest.raises(InputError, match=r"machines\.json: cannot be read"):
        explain(tmp_path, "b")


def player_events(folder):
    page = replay_folders([folder], folder / "replay.html").read_text("utf-8")
    return json.loads(page.split('id="replay-data">')[1].split("</script>")[0])
