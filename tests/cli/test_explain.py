"""History of a job."""

import json

import numpy as np
import pandas as pd
import pytest

from experiments.analysis.explain import explain
from experiments.analysis.shortage import Shortages
from experiments.replay import Recording, events_of, replay_folders
from experiments.scenario.output import write_result
from experiments.scenario.reading import read_run
from policies import make_policy
from policies.queues.free_capacity import FreeCapacity
from simulator import (
    FIXED,
    Cluster,
    Decision,
    FixedDuration,
    InputError,
    NodeType,
    Placement,
    TimeTable,
    Workload,
)
from simulator.features.admission import Admission
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic, Exponential
from simulator.model.fractional import SharedDuration
from simulator.workloads.partitions import in_partitions
from tests.core.jobs import nodes, run


def fixed(names, duration_s, gpus, submit_s=None, **columns):
    submit_s = submit_s or [float(k) for k in range(len(names))]
    gpus = np.array(gpus)
    return Workload(names, submit_s, FixedDuration(duration_s, gpus), **columns)


def story(folder, cluster, jobs, job, policy="fifo-backfill", *features):
    """The lines on one job under a policy."""
    folder.mkdir(exist_ok=True)
    write_result(run(jobs, cluster, policy, *features), folder)
    return explain(folder, job)


def test_a_job_that_is_passed_over(tmp_path):
    """Two GPUs: a holds one for 100 s; b wants two and waits; c, which came later, is started."""
    jobs = fixed(["a", "b", "c"], [100.0, 50.0, 60.0], [1, 2, 1])
    assert story(tmp_path, nodes(2), jobs, "b") == [
        "1 s: submitted.",
        "1 s: waits 99 s; 1 job starts meanwhile, of which 1 came later: c.",
        "  Short for 99 s: GPUs (at 1 s: 1 free, it needs 2; a holds 1 until 100 s).",
        "100 s: starts on 2 GPUs of node 0, for 50 s.",
        "150 s: ends, 149 s after its submission.",
        "Alone it would have taken 50 s: it was slowed down 2.98 times.",
    ]
    assert not any("noted" in line for line in explain(tmp_path, "b"))
    with pytest.raises(InputError, match="no job 'z', expected one such as 'a'"):
        explain(tmp_path, "z")
    with pytest.raises(InputError, match="no such file"):
        explain(tmp_path / "nowhere", "a")


def of_types(count=1):
    """Nodes of two A100, and as many of two V100."""
    kinds = (NodeType("a", "A100", 2), NodeType("v", "V100", 2))
    return Cluster(kinds, 2 * count, node_type_of=(0,) * count + (1,) * count)


def test_gpus_of_a_type(tmp_path):
    """The V100 are free all the time; b waits for the A100, which a holds."""
    jobs = fixed(
        ["a", "b", "c"], [100.0, 50.0, 60.0], [2, 1, 1], gpu_types=["A100", "A100", "V100"]
    )
    assert story(tmp_path, of_types(), jobs, "b")[:4] == [
        "1 s: submitted.",
        "1 s: waits 99 s; 1 job starts meanwhile, of which 1 came later: c.",
        "  Short for 99 s: A100 (at 1 s: 0 free, it needs 1; a holds 2 until 100 s).",
        "100 s: starts on 1 GPU of node 0, for 50 s.",
    ]


def test_gpus_of_a_partition(tmp_path):
    jobs = fixed(["a", "b"], [100.0, 50.0], [2, 1], vc=["long", "long"])
    jobs = in_partitions(jobs, of_types(), [frozenset({"long"}), frozenset({"short"})])
    lines = story(tmp_path, of_types(), jobs, "b")
    assert (
        "  Short for 99 s: GPUs of partition long (at 1 s: 0 free, it needs 1; a holds 2 until 100 s)."
        in lines
    )


def test_the_head_of_the_queue_by_what_it_asks_for(tmp_path):
    """b wants both A100 and waits for a; d, of an A100, stands behind b. e, of a V100, has none before it but f."""
    jobs = fixed(
        ["a", "b", "d"], [100.0, 50.0, 10.0], [1, 2, 1], gpu_types=["A100", "A100", "A100"]
    )
    lines = story(tmp_path, of_types(), jobs, "d", "fifo-strict")
    assert (
        "  For 98 s it would have fitted, but the head of the queue is b, which needs 2 A100; 1 free until 100 s."
        in lines
    )


def test_jobs_of_other_nodes_are_no_head_of_the_queue(tmp_path):
    """b waits for A100; in a strict order e waits behind it, though it may use V100 alone: the tables show no shortage."""
    jobs = fixed(
        ["a", "b", "e"], [100.0, 50.0, 10.0], [2, 1, 1], gpu_types=["A100", "A100", "V100"]
    )
    lines = story(tmp_path, of_types(), jobs, "e", in_order)
    assert (
        "  For 98 s the tables show no shortage: no decision started it (rounds, the optimization server, or the policy)."
        in lines
    )


def in_order(view):
    """Jobs in order, a job on the node of its type, none before an earlier one."""
    free, placed = view.free_gpus.copy(), []
    for job in view.waiting:
        node = 1 if view.workload.gpu_types[job] == "V100" else 0
        gpus = int(view.workload.num_gpus[job])
        if free[node] < gpus:
            break
        free[node] -= gpus
        placed.append(Placement(job, node, gpus, FIXED, 0.0, 0.0))
    return Decision(placed, keep_running=True)


def test_one_node_is_not_needed_where_other_jobs_lie_on_two(tmp_path):
    """Two nodes of four GPUs: s lies on both, so d, of two as well, waits for its turn and not for a node."""
    at_s = [0.0, 1.0, 2.0, 13.0, 14.0]
    jobs = fixed(["x", "y", "s", "h", "d"], [100.0, 99.0, 10.0, 9.0, 9.0], [3, 3, 2, 4, 2], at_s)
    assert story(tmp_path, nodes(4, 2), jobs, "d", "fifo-strict")[:4] == [
        "14 s: submitted.",
        "14 s: waits 86 s; 0 jobs start meanwhile; 1 job waited before it: h.",
        "  For 86 s it would have fitted, but the head of the queue is h, which needs 4 GPUs; 2 free until 100 s.",
        "100 s: starts on 2 GPUs of node 1, for 9 s.",
    ]


def test_names_are_names_and_damaged_tables_are_one_line(tmp_path):
    """A job called "NA" is no missing value."""
    jobs = fixed(["NA", "null", "007"], [100.0, 50.0, 60.0], [1, 2, 1], vc=["NA", "", "NA"])
    assert story(tmp_path, nodes(2), jobs, "null")[1].endswith("of which 1 came later: 007.")
    assert explain(tmp_path, "NA")[1] == "0 s: starts on 1 GPU of node 0, for 100 s."
    whole = (tmp_path / "jobs.csv").read_text()
    for damaged in ("", "\0", whole.replace("50", "fifty"), whole.replace("arrival_s", "arrived")):
        (tmp_path / "jobs.csv").write_text(damaged)
        with pytest.raises(InputError, match=r"jobs\.csv"):
            explain(tmp_path, "NA")


def test_failures_are_part_of_the_story(tmp_path):
    """One job of 100 s on two GPUs; its node fails after 60 s, and is back at once."""
    cause = Outages(Deterministic(60.0), Deterministic(10.0), [(0,)])
    failures = Failures([cause], Checkpoints(interval_s=50.0))
    jobs = fixed(["a"], [100.0], [2])
    assert story(tmp_path, nodes(2), jobs, "a", "fifo-backfill", failures) == [
        "0 s: submitted.",
        "0 s: starts on 2 GPUs of node 0, for 60 s.",
        "60 s: waits 10 s; 0 jobs start meanwhile.",
        "  Short for 10 s: GPUs (at 60 s: 0 free, it needs 2; 1 node was down).",
        "70 s: starts on 2 GPUs of node 0, for 50 s.",
        "120 s: ends, 120 s after its submission.",
        "A failure of its node, or of its own, stopped it once; 0.01 GPU-hours of its work were lost.",
        "Alone it would have taken 100 s: it was slowed down 1.2 times.",
    ]


def with_node_0_away_from_60_to_90_s():
    """Two nodes of two GPUs: a, of 100 s, is on node 1 since 60 s; b comes at 70 s."""
    jobs = fixed(["a", "b"], [100.0, 50.0], [2, 2], submit_s=[0.0, 70.0])
    cause = Outages(Deterministic(60.0), Deterministic(30.0), [(0,)])
    return run(jobs, nodes(2, 2), "fifo-strict", Failures([cause]))


def test_nodes_that_were_down_count_as_full(tmp_path):
    result = with_node_0_away_from_60_to_90_s()
    write_result(result, tmp_path)
    assert result.table("outages").to_numpy().tolist() == [[0, 60, 90], [0, 150, 160]]
    read = pd.read_csv(tmp_path / "outages.csv")
    pd.testing.assert_frame_equal(read, result.table("outages"), check_dtype=False)
    assert explain(tmp_path, "b")[2:4] == [
        "  Short for 20 s: GPUs (at 70 s: 0 free, it needs 2; a holds 2 until 160 s; 1 node was down).",
        "90 s: starts on 2 GPUs of node 0, for 50 s.",
    ]
    (tmp_path / "outages.csv").unlink()  # as runs of before left their folder
    assert "nodes were down, or no decision started it" in explain(tmp_path, "b")[2]


@pytest.mark.parametrize("name", ["outages.csv", "schedule.csv"])
@pytest.mark.parametrize("node", ["2", "-1", "0.5", "1e30"])
def test_a_node_that_the_run_does_not_have_is_one_line(tmp_path, name, node):
    """Two nodes; a table that somebody changed names another."""
    result = with_node_0_away_from_60_to_90_s()
    write_result(result, tmp_path)
    table = pd.read_csv(tmp_path / name, dtype=str)
    table.loc[table.index[-1], "node"] = node
    table.to_csv(tmp_path / name, index=False)
    with pytest.raises(InputError) as error:
        explain(tmp_path, "b")
    assert str(error.value).startswith(f"{tmp_path / name}, line ")
    assert f": node is {node[0]}" in str(error.value)
    assert str(error.value).endswith("expected a whole number from 0 to 1")


def test_what_the_policy_noted_is_part_of_the_story(tmp_path):
    """Of the job's own controller: two of them, each notes its number and how many jobs wait."""

    def noting(view):
        capacity = FreeCapacity(view)
        placements = [p for job in view.waiting for p in capacity.take(job)]
        facts = {"who": f"controller {view.controller}", "queue": float(len(view.waiting))}
        return Decision(placements, keep_running=True, info=facts)

    jobs = fixed([*"abcd"], [100.0, 300.0, 50.0, 50.0], [1] * 4, [0.0, 0.0, 10.0, 20.0])
    result = run(jobs, nodes(1, 2, 2), noting)
    write_result(result, tmp_path)
    told = explain(tmp_path, "d")
    assert told[1] == "20 s: waits 280 s; 1 job starts meanwhile; 1 job waited before it: c."
    assert told[3] == "  The decision (20 s, 2 jobs there) noted: who controller 1, queue 1."
    assert told[5] == "  The decision (300 s, 1 job there) noted: who controller 1, queue 1."
    events = events_of([Recording.of(result)])
    assert events["runs"][0]["noted"]["who"].count("controller 1") == 3
    assert len(events["runs"][0]["noted"]["queue"]) == len(events["runs"][0]["decisions"])
    from_folder = player_events(tmp_path)
    assert from_folder["runs"][0]["noted"] == events["runs"][0]["noted"]


def test_a_controller_that_never_decided_counts(tmp_path):
    """Three controllers, of which the third has no job."""

    def noting(view):
        node = int(view.nodes[-1])
        starts = [Placement(job, node, 1) for job in view.waiting]
        return Decision(starts, keep_running=True, info={"node": float(node)})

    jobs = fixed(["a", "b"], [10.0, 10.0], [1, 1])
    write_result(run(jobs, nodes(1, 6, 3), noting), tmp_path)
    assert json.loads((tmp_path / "machines.json").read_text())["num_controllers"] == 3
    # Two controllers decided, so the decisions alone would say that node 4 is the first one's: 4 % 2 = 0.
    assert explain(tmp_path, "b")[1:3] == [
        "1 s: starts on 1 GPU of node 4, for 10 s.",
        "  The decision (1 s, 1 job there) noted: node 4.",
    ]
    (tmp_path / "machines.json").write_text("[]")
    with pytest.raises(InputError, match=r"machines\.json: cannot be read"):
        explain(tmp_path, "b")


def on_one_node(view):
    """First come first served, each job on the first node that has room."""
    used, placements = {}, []
    for n in view.nodes.tolist():
        used[n] = np.sum([(p.gpus, p.cpus) for p in view.shares[n].values()] or [(0, 0)], axis=0)
    for job in view.waiting:
        gpus, cpus = float(view.workload.num_gpus[job]), float(view.workload.num_cpus[job])
        node = next((n for n, (g, c) in used.items() if g + gpus <= 4 and c + cpus <= 8), None)
        if node is not None:
            placements.append(Placement(job, node, gpus, cpus=cpus))
            used[node] = used[node] + (gpus, cpus)
    return Decision(placements, keep_running=True)


TWO = nodes(4, 2, cpus=8, memory_gb=80)


def test_what_was_short(tmp_path):
    """Two nodes of 4 GPUs and 8 CPUs; c needs 2 GPUs and 7 CPUs. At 2 s a and b leave a GPU on each node. d and e
    take these at 3 and 4 s. When b ends at 51 s, e still holds 2 CPUs beside 3 free GPUs. It ends at 100 s."""
    jobs = fixed(
        ["a", "b", "c", "d", "e"], [100.0, 50.0, 10.0, 200.0, 96.0], [3, 3, 2, 1, 1],
        num_cpus=[3.0, 3.0, 7.0, 5.0, 2.0],
    )  # fmt: skip
    assert story(tmp_path, TWO, jobs, "c", on_one_node)[1:6] == [
        "2 s: waits 98 s; 2 jobs start meanwhile, of which 2 came later: e, d.",
        "  Short for 1 s: GPUs on one node (at 2 s: 2 free, at most 1 on one node, it needs 2; b holds 3 until 51 s, "
        "a holds 3 until 100 s).",
        "  Short for 48 s: GPUs (at 3 s: 1 free, it needs 2; b holds 3 until 51 s, a holds 3 until 100 s, "
        "d holds 1 until 203 s).",
        "  Short for 49 s: CPUs (at 51 s: 6 free at most where the GPUs suffice, it got 7 later; "
        "a holds 3 until 100 s, e holds 1 until 100 s, d holds 1 until 203 s).",
        "100 s: starts on 2 GPUs of node 1, for 10 s.",
    ]


def test_an_hour_is_told_in_hours(tmp_path):
    """b comes at 1 s and waits for the only GPU until 3601 s, or 3600 s."""
    for ends_s, span in ((3601.0, "1.00 h"), (3600.0, "3599 s")):
        told = story(tmp_path, nodes(1), fixed(["a", "b"], [ends_s, 5.0], [1, 1]), "b")
        assert (
            told[2]
            == f"  Short for {span}: GPUs (at 1 s: 0 free, it needs 1; a holds 1 until {ends_s:,.0f} s)."
        )


def test_cpus_and_memory_on_one_node(tmp_path):
    """a leaves 7 CPUs and 20 GB on one node, b 2 CPUs and 70 GB on the other. c needs 4 CPUs and 40 GB. Each of
    them is free on a node, and not together, until b ends at 51 s."""
    columns = {"num_cpus": [1.0, 6.0, 4.0], "memory_gb": [60.0, 10.0, 40.0]}
    jobs = fixed(["a", "b", "c"], [100.0, 50.0, 10.0], [1, 1, 1], **columns)

    def a_node_each(view):
        """a and b on a node of their own, c after b."""
        begin = [job for job in view.waiting if job < 2 or 1 not in view.running]
        shares = [
            Placement(j, min(j, 1), 1, -1, jobs.num_cpus[j], jobs.memory_gb[j]) for j in begin
        ]
        return Decision(shares, keep_running=True)

    assert story(tmp_path, TWO, jobs, "c", a_node_each)[1:4] == [
        "2 s: waits 49 s; 0 jobs start meanwhile.",
        "  Short for 49 s: CPUs and memory on one node (at 2 s: it got 4 CPUs and 40 GB later; "
        "b holds 1 until 51 s, a holds 1 until 100 s).",
        "51 s: starts on 1 GPU of node 1, for 10 s.",
    ]


OF_X = fixed(["a", "b"], [100.0, 50.0], [2, 1], vc=["x", "x"])
QUOTA = tenants_of(OF_X, quota={"x": 2.0})


def test_a_quota_and_a_strict_order(tmp_path):
    """Eight GPUs, of which x may have 2. a holds them for 100 s, so b waits; y's c waits for nothing but for d."""
    told = story(tmp_path / "quota", nodes(8), OF_X, "b", "fifo-backfill", QUOTA)
    assert told[2] == (
        "  Short for 99 s: the quota of its tenant x (at 1 s: 2 of 2 GPUs in use, it needs 1; "
        "a holds 2 until 100 s)."
    )
    jobs = fixed(["a", "d", "c"], [100.0, 50.0, 50.0], [4, 8, 1])
    told = story(tmp_path / "strict", nodes(8), jobs, "c", "fifo-strict")
    assert told[2:4] == [
        "  For 98 s it would have fitted, but the head of the queue is d, which needs 8 GPUs; 4 free until 100 s.",
        "  Short for 50 s: GPUs (at 100 s: 0 free, it needs 1; d holds 8 until 150 s).",
    ]
    # Under backfilling c starts at once.
    told = story(tmp_path / "backfill", nodes(8), jobs, "c", "fifo-backfill")
    assert not any("head of the queue" in line for line in told)


@pytest.mark.parametrize("by", ["vc", "user", "account"])
def test_a_number_of_jobs(tmp_path, by):
    """Eight GPUs. Of x one job may run, so b waits for a; whose account it is the tables do not say."""
    jobs = fixed(["a", "b"], [100.0, 50.0], [2, 1], **{by: ["x", "x"]})
    told = story(
        tmp_path, nodes(8), jobs, "b", "fifo-backfill", tenants_of(jobs, by, max_jobs={"x": 1})
    )
    assert told[2] == (
        "  For 99 s the tables show no shortage: a limit of its tenant held it, or no decision started it (rounds, the "
        "optimization server, or the policy)."
        if by == "account"
        else "  Short for 99 s: the number of jobs of its tenant x (at 1 s: 1 of 1 run already; a holds 2 until 100 s)."
    )


def test_who_took_the_gpus_and_what_tenants_hold(tmp_path):
    """Four GPUs. The tenant x has all of them for 10 s; then y's c and d want two each, and b has to give way."""
    jobs = fixed(["a", "b", "c", "d"], [100.0, 90.0, 30.0, 30.0], [2, 2, 1, 1], [0, 0, 10, 10],
                 vc=["x", "x", "y", "y"])  # fmt: skip
    policy = make_policy("fair-share", preemptive=True)
    told = story(tmp_path / "run", nodes(4), jobs, "b", policy, tenants_of(jobs))
    assert told[1:5] == [
        "0 s: starts on 2 GPUs of node 0, for 10 s.",
        "10 s: stops; on its nodes 2 jobs start: c (1 GPU), d (1 GPU).",
        "10 s: waits 30 s; 2 jobs start meanwhile, of which 2 came later: c, d.",
        "  Its tenant x holds 2 GPUs then, y 2.",
    ]


@pytest.mark.parametrize("policy", ["easy-backfill", "conservative-backfill"])
def test_who_would_delay_a_reservation(tmp_path, policy):
    """Four GPUs: a holds 3 until 100 s, h needs all 4. b, of 200 s, would fit at 2 s and delay h; c, of 30 s, would not.
    b asks for 300 s: that counts, and not what it takes."""
    asked = [100.0, 50.0, 300.0, 30.0]
    jobs = fixed([*"ahbc"], [100.0, 50.0, 200.0, 30.0], [3, 4, 1, 1], requested_s=asked)
    assert story(tmp_path, nodes(4), jobs, "b", policy)[1:7] == [
        "2 s: waits 148 s; 2 jobs start meanwhile, of which 1 came later: c; 1 job waited before it: h.",
        "  For 1 s it would have fitted, but the head of the queue is h, which needs 4 GPUs; 1 free until 3 s; this job "
        "would have held GPUs until 302 s.",
        "  Short for 30 s: GPUs (at 3 s: 0 free, it needs 1; a holds 3 until 100 s, c holds 1 until 33 s).",
        "  For 67 s it would have fitted, but the head of the queue is h, which needs 4 GPUs; 1 free until 100 s.",
        "  Short for 50 s: GPUs (at 100 s: 0 free, it needs 1; h holds 4 until 150 s).",
        "150 s: starts on 1 GPU of node 0, for 200 s.",
    ]
    assert pd.read_csv(tmp_path / "jobs.csv")["requested_s"].tolist() == asked


def test_a_head_that_came_later(tmp_path):
    """Two GPUs, held until 20 s and 100 s. The shortest first, in strict order: h, of two GPUs, comes after b."""

    def shortest_first(view):
        capacity, placements = FreeCapacity(view), []
        for job in sorted(view.waiting, key=lambda j: view.workload.performance.duration_s[j]):
            found = capacity.take(job)
            if not found:
                break
            placements += found
        return Decision(placements, keep_running=True)

    times = [0.0, 0.0, 1.0, 2.0]
    jobs = fixed(["a", "aa", "b", "h"], [100.0, 20.0, 90.0, 50.0], [1, 1, 1, 2], times)
    assert story(tmp_path, nodes(2), jobs, "b", shortest_first)[2:5] == [
        "  Short for 19 s: GPUs (at 1 s: 0 free, it needs 1; aa holds 1 until 20 s, a holds 1 until 100 s).",
        "  For 80 s it would have fitted, but the head of the queue is h, which needs 2 GPUs; 1 free until 100 s.",
        "  Short for 50 s: GPUs (at 100 s: 0 free, it needs 1; h holds 2 until 150 s).",
    ]


def test_the_parts_of_a_long_wait_are_summed(tmp_path):
    """Four GPUs, of which a holds two until 1000 s; h needs all. Every 20 s a short job takes the others for 10 s."""
    short = [f"s{k}" for k in range(20)]
    jobs = fixed(
        ["a", "h", "b", *short], [1000.0, 50.0, 5000.0, *[10.0] * 20], [2, 4, 1, *[2] * 20],
        [0.0, 1.0, 2.0, *(20.0 * k + 20 for k in range(20))],
    )  # fmt: skip
    told = story(tmp_path, nodes(4), jobs, "b", "easy-backfill")
    assert len([line for line in told if line.startswith("  ")]) == 13
    assert told[14] == (
        "  After 130 s, in 30 more parts: the head of the queue is h 730 s, GPUs 190 s."
    )


def test_who_waits_for_a_round_stands_behind_nobody(tmp_path):
    """Nothing is short, for the head neither: the round at 60 s starts both."""
    jobs = fixed(["a", "b"], [10.0, 10.0], [1, 1], [1.0, 2.0])
    write_result(run(jobs, nodes(4), "fifo-strict", round_s=60.0), tmp_path)
    assert "the tables show no shortage" in explain(tmp_path, "b")[2]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text.replace(",2,0,", ",two,0,"), "quota is 'two', expected a number or nothing"),
        (lambda text: text.replace("tenant,", "who,"), "no column 'tenant', expected tenant"),
        (lambda text: text + '"', "cannot be read, expected a file that `schedlab run --out` wrote"),
    ],
)  # fmt: skip
def test_damaged_quotas_are_one_line(tmp_path, damage, complaint):
    story(tmp_path, nodes(8), OF_X, "b", "fifo-backfill", QUOTA)
    path = tmp_path / "tenants.csv"
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError) as error:
        explain(tmp_path, "b")
    assert str(error.value) == f"{path}: {complaint}"


@pytest.mark.parametrize(
    ("submit_s", "failures", "told"),
    [
        (
            1.0,
            None,
            "  Short for 59 s: nodes (at 1 s: each of them runs something; a holds 2 until 60 s).",
        ),
        (75.0, (70.0, 30.0), "  Short for 25 s: nodes (at 75 s: none is empty; 1 node was down)."),
    ],
    ids=["until no VM runs anything", "until the only VM, away from 70 to 100 s, is back"],
)
def test_elastic_jobs_wait_for_a_node(tmp_path, submit_s, failures, told):
    """One VM of two GPUs, one job a node; a node that is down runs nothing."""
    table_s = np.array([[[np.inf, 100.0, 60.0]]] * 2)
    jobs = Workload(["a", "b"], [0.0, submit_s], TimeTable(table_s))
    vms = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 1)
    causes = [Outages(*map(Deterministic, failures), [(0,)])] if failures else []
    assert story(tmp_path, vms, jobs, "b", "fifo", Failures(causes) if causes else None)[2] == told


def test_how_jobs_end(tmp_path):
    """Rejected, left, abandoned, failed for good: the story says which, and jobs.csv has a column of it."""
    one = nodes()
    due = fixed(["a", "b"], [100.0, 100.0], [1, 1], [0.0, 0.0], due_s=[100.0, 100.0])
    told = story(tmp_path / "r", one, due, "b", "deadline-first", Admission(rule="reject"))
    assert told == [
        "0 s: submitted.",
        "0 s: is rejected; admission control cannot promise its due date.",
    ]
    jobs = fixed(["a", "b"], [100.0, 100.0], [1, 1], patience_s=[np.inf, 20.0])
    assert story(tmp_path / "l", one, jobs, "b")[2:] == [
        "  Short for 20 s: GPUs (at 1 s: 0 free, it needs 1; a holds 1 until 100 s).",
        "21 s: leaves before it starts; its patience is over.",
    ]
    own = Failures(job_time_to_failure=Deterministic(30.0), max_attempts=2)
    told = story(tmp_path / "g", one, fixed(["a"], [100.0], [1]), "a", "fifo-backfill", own)
    assert told[3] == "60 s: is abandoned, since it failed too often, 60 s after its submission."
    log = {"fails_at": [(0.3,), ()], "outcome": ["failed", "passed"]}
    jobs = fixed(["a", "b"], [100.0, 10.0], [1, 1], **log)
    told = story(tmp_path / "f", one, jobs, "a")
    assert "110 s: fails for the last time, as the log says, 110 s after its submission." in told
    status = {d.name: pd.read_csv(d / "jobs.csv")["status"].tolist() for d in tmp_path.iterdir()}
    assert status == {
        "r": ["done", "rejected"], "l": ["done", "left"], "g": ["abandoned"], "f": ["failed", "done"],
    }  # fmt: skip


def player_events(folder):
    page = replay_folders([folder], folder / "replay.html").read_text("utf-8")
    return json.loads(page.split('id="replay-data">')[1].split("</script>")[0])


def on_two_nodes(view):
    """First come first served; jobs lie over several nodes where one has no room."""
    capacity = FreeCapacity(view)
    placements = [p for job in view.waiting for p in capacity.take(job)]
    return Decision(placements, keep_running=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "parts"),
    [
        ("fifo-backfill", {}),
        ("fifo-backfill", {"vc": True}),
        ("srpt", {}),
        ("shared", {"in_parts": True}),
        (on_one_node, {}),
        (on_two_nodes, {"most": 6}),
        ("edf", {"elastic": True}),
        ("fifo-backfill", {"fails": True}),
        ("edf", {"elastic": True, "fails": True}),
    ],
)
def test_what_is_short_at_every_change_of_every_wait(tmp_path, policy, parts):
    """Of quotas, outages, parts of GPUs and machines that policies choose."""
    rng = np.random.default_rng(5)
    count, most = 45, parts.get("most", 4)
    gpus, submit_s = rng.integers(1, most + 1, count), np.cumsum(rng.exponential(15, count))
    duration_s = rng.uniform(20, 400, count)
    times = FixedDuration(duration_s, gpus)
    columns = {"num_cpus": rng.choice([1.0, 2.0, 5.0, 7.0], count),
               "memory_gb": rng.choice([10.0, 40.0, 75.0], count)}  # fmt: skip
    if parts.get("in_parts"):
        part = np.where(gpus == 1, rng.choice([0.1, 0.3, 0.5], count), 1.0)
        times = SharedDuration(duration_s, gpus, part=part)
    cluster = nodes(4, 4, 2, cpus=8, memory_gb=80)
    if parts.get("elastic"):
        cluster = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 2)
        times = TimeTable(np.tile([np.inf, 100.0, 60.0], (count, 1, 1)))
        columns = {"due_s": submit_s + 500}
    columns["vc"] = rng.choice(["x", "y"], count).tolist()
    jobs = Workload([f"j{k}" for k in range(count)], submit_s, times, **columns)
    tenants = tenants_of(jobs, quota={"x": 5.0, "y": 6.0}) if parts.get("vc") else None
    cause = Outages.of_each_node(cluster.num_nodes, Exponential(900.0), Deterministic(200.0))
    failures = Failures([cause]) if parts.get("fails") else None
    write_result(run(jobs, cluster, policy, tenants, failures), tmp_path)
    found = set(what_is_short(tmp_path))
    assert found >= ({"nodes"} if parts.get("elastic") else {"GPUs", "CPUs"}), found


def what_is_short(folder):
    """Resources that were short at each change of each wait."""
    run = read_run(folder)
    for _, job in run.jobs.iterrows():
        own = run.schedule[run.schedule["job_id"] == job["job_id"]]
        own = own.sort_values(["start_s", "node"])
        short = Shortages.of(folder, job, own, run)
        since = job["arrival_s"]
        for begin, end in zip(own["start_s"], own["end_s"], strict=True):
            for _, _, use in short._stretches(since, begin) if begin > since else ():
                yield short._short(use)[0]
            since = end
