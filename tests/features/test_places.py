"""Nodes and GPU types that jobs ask for: kept by every order that fills nodes, refused by the others before a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy, requirements_verdict
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate
from simulator.errors import InfeasibleDecision, InputError
from simulator.features.tenants.tenants import tenants_of
from simulator.model.contract import Decision, Placement, View
from simulator.model.places import pools_of, short_of
from simulator.workloads.fits import check_fits, sized, with_known_types
from simulator.workloads.registry import read_jobs
from simulator.workloads.slurm import SlurmJobs
from simulator.workloads.table import Setting
from tests.command import done, refused
from tests.core.jobs import fixed
from tests.errors import input_error

A, B = NodeType("a", "A100", 8, cpus=32), NodeType("b", "T4", 8, cpus=32)
ORDERS = (
    "fifo", "fifo-strict", "fifo-backfill", "edf", "weight-priority", "sjf", "srpt", "deadline-first",
    "random-order", "priority", "easy-backfill", "conservative-backfill", "consolidating", "fair-share",
    "drf", "capacity", "linear-score",
)  # fmt: skip


def mixed(*types: NodeType) -> Cluster:
    kinds = tuple(dict.fromkeys(types))
    return Cluster(kinds, len(types), node_type_of=tuple(kinds.index(t) for t in types))


def jobs(*asked: tuple[int, int, str], duration_s: float = 10, **columns: Any) -> Workload:
    """Jobs of so many GPUs on so many nodes of these types, all at once."""
    gpus, nodes, types = zip(*asked, strict=True)
    count = len(asked)
    return Workload(
        [chr(97 + k) for k in range(count)],
        np.zeros(count),
        FixedDuration(np.full(count, float(duration_s)), np.array(gpus)),
        num_nodes=np.array(nodes), gpu_types=types, due_s=np.full(count, 1e6),
        weight_per_s=np.ones(count), user=["u"] * count, vc=["v"] * count, **columns,
    )  # fmt: skip


def held(result: Result) -> dict[str, dict[int, float]]:
    table = result.schedule_table()
    found: dict[str, dict[int, float]] = {}
    for row in table.to_dict("records"):
        found.setdefault(row["job_id"], {})[int(row["node"])] = row["gpus"]
    return found


def run(work: Workload, cluster: Cluster, policy: str) -> Result:
    features = [tenants_of(work)] if policy in ("fair-share", "drf", "capacity") else []
    return simulate(work, cluster, make_policy(policy), features=features)


@pytest.mark.parametrize("policy", ORDERS)
def test_two_nodes_of_four_one_node_and_a_type(policy: str) -> None:
    """Three nodes of 8: T4, A100, A100. a: 2 x 4 on A100; b: 6 on one node of any type; d: 8 on T4s or H100s."""
    work = jobs((8, 2, "a100"), (6, 1, ""), (2, 1, "A100"), (8, 0, "T4|H100"))
    cluster = mixed(B, A, A)
    assert requirements_verdict(policy, work, cluster)[0] is None
    result = run(work, cluster, policy)
    where = held(result)
    assert where["a"] == {1: 4, 2: 4}
    assert list(where["b"].values()) == [6]
    assert where["d"] == {0: 8}
    assert set(where["c"]) <= {1, 2}
    # b and d cannot share the T4 node, and beside a half an A100 node is too small for b.
    assert sorted(result.first_start_s.tolist()) == [0, 0, 0, 10]


@pytest.mark.parametrize("policy", ["fifo-backfill", "easy-backfill", "conservative-backfill"])
def test_a_job_of_several_nodes_waits_for_as_many(policy: str) -> None:
    """Two nodes of 8, 5 held on the first: 8 GPUs as 2 x 4 wait, though 11 are free; 8 anywhere would not."""
    work = jobs((5, 1, ""), (8, 2, ""), (3, 1, ""))
    result = run(work, Cluster.of_nodes(A, 2), policy)
    assert result.first_start_s.tolist() == [0, 10, 0]
    anywhere = run(jobs((5, 1, ""), (8, 0, ""), (3, 1, "")), Cluster.of_nodes(A, 2), policy)
    assert anywhere.first_start_s.tolist() == [0, 0, 0]


def test_cpus_count_beside_places() -> None:
    """Of 32 CPUs a holds 30 with one GPU: no room for 2 x 1 GPU with 4 CPUs each on two nodes until it ends."""
    work = jobs((1, 0, ""), (2, 2, ""), num_cpus=np.array([30.0, 8.0]))
    for policy in ("fifo-backfill", "easy-backfill"):
        assert run(work, Cluster.of_nodes(A, 2), policy).first_start_s.tolist() == [0, 10]


def racks(*types: NodeType, size: int = 2, controllers: int = 1) -> Cluster:
    return replace(mixed(*types), nodes_per_rack=size, num_controllers=controllers)


@pytest.mark.parametrize("policy", ORDERS)
def test_a_job_lies_in_one_rack(policy: str) -> None:
    """b finds room on nodes 1, 2 and 3, and lies on 2 and 3; c waits for a, though d beside it leaves 16 GPUs free."""
    work = jobs((8, 0, ""), (16, 0, ""), (16, 0, ""), one_rack=np.array([False, True, True]))
    work = replace(work, submit_s=np.array([0.0, 1, 2]))
    found = run(work, racks(A, A, A, A), policy)
    (first,) = held(found)["a"]
    whole = {0, 1} if first > 1 else {2, 3}
    assert set(held(found)["b"]) == whole
    assert set(held(found)["c"]) == {0, 1, 2, 3} - whole
    assert found.first_start_s.tolist() == [0, 1, 10]


@pytest.mark.parametrize("policy", ["fifo", "easy-backfill", "conservative-backfill"])
def test_of_nodes_with_as_many_free_gpus_the_first_is_taken(policy: str) -> None:
    """Of nodes of 8 and 4 GPUs, a gets the smaller, b 4 of the larger; when a has ended c finds 4 free on both."""
    small = NodeType("small", "A100", 4, cpus=32)
    work = jobs((4, 1, ""), (4, 1, ""), (4, 1, ""))
    work = replace(
        work, submit_s=np.array([0.0, 1, 11]),
        performance=FixedDuration(np.array([10.0, 30, 10]), np.full(3, 4)),
    )  # fmt: skip
    found = held(run(work, mixed(A, small), policy))
    assert (found["a"], found["b"], found["c"]) == ({1: 4}, {0: 4}, {0: 4})


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_order_keeps_racks_nodes_and_types(data: st.DataObject) -> None:
    """Any jobs that fit one by one end once; the engine refuses what lies elsewhere than asked for."""
    cluster = racks(*data.draw(st.lists(st.sampled_from([A, B]), min_size=4, max_size=6)))
    asked = st.tuples(st.integers(1, 16), st.integers(0, 2), st.sampled_from(["", "A100", "T4"]))
    rows = data.draw(st.lists(st.tuples(asked, st.booleans()), min_size=1, max_size=8))
    rows = [((g - g % max(n, 1) or n, n, t), one) for (g, n, t), one in rows]
    work = jobs(*(row for row, _ in rows), one_rack=np.array([one for _, one in rows]))
    try:
        work = sized(work, cluster, "leave-out")
    except InputError:
        return
    found = run(work, cluster, data.draw(st.sampled_from(ORDERS)))
    assert np.isfinite(found.completion_s).all()
    for job, nodes in held(found).items():
        if work.one_rack[list(work.job_id).index(job)]:
            assert len({n // 2 for n in nodes}) == 1


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_one_rack_fits_as_by_enumeration(data: st.DataObject) -> None:
    """16 GPUs fit in one rack where for each controller two of its nodes of the type are in one."""
    controllers = data.draw(st.sampled_from([1, 2, 3]))
    types = data.draw(st.lists(st.sampled_from([A, B]), min_size=6, max_size=6))
    size = data.draw(st.integers(1, 6))
    cluster = racks(*types, size=size, controllers=controllers)
    nodes = data.draw(st.sampled_from([0, 2]))
    kind = data.draw(st.sampled_from(["", "A100"]))
    work = jobs((16, nodes, kind), one_rack=np.array([True]))
    expected = all(
        any(
            sum(not kind or types[n] is A for n in range(k, 6, controllers) if n // size == r) >= 2
            for r in range(6)
        )
        for k in range(controllers)
    )
    if expected:
        check_fits(work, cluster)
    else:
        with input_error("16 GPUs"):
            check_fits(work, cluster)


@pytest.mark.parametrize(
    "policy", ["srtf+proportional", "max-min-fairness", "greedy", "fifo-shared"]
)
def test_policies_that_place_anywhere_say_so(policy: str) -> None:
    line, _ = requirements_verdict(policy, jobs((8, 2, "")), Cluster.of_nodes(A, 2))
    assert line is not None
    assert "asks for" in line


def test_whatever_decides_is_checked() -> None:
    def first_node(view: View) -> Decision:
        return Decision([Placement(0, 0, view.workload.num_gpus_list[0])])

    for work, wrong in (
        (jobs((4, 2, "")), "job 'a' is on 1 nodes, expected 2 with equally many GPUs"),
        (jobs((4, 0, "T4")), "job 'a' is on node 0 with A100, of another type than it asks for"),
    ):
        with pytest.raises(InfeasibleDecision, match=wrong):
            simulate(work, mixed(A, B, B), first_node)


@pytest.mark.parametrize(
    ("asked", "fits"),
    [((16, 2, ""), True), ((16, 1, ""), False), ((32, 2, ""), False), ((16, 0, "T4"), False),
     ((8, 4, ""), False), ((8, 1, "T4|A100"), True), ((8, 1, "V100"), False)],
)  # fmt: skip
def test_places_that_there_are_not(asked: tuple[int, int, str], fits: bool) -> None:
    work, cluster = jobs(asked, (1, 0, "")), mixed(A, A, B)
    if fits:
        check_fits(work, cluster)
        return
    with input_error("job 'a': "):
        check_fits(work, cluster)
    assert sized(work, cluster, "leave-out").job_id == ("b",)


def test_types_that_leave_no_choice() -> None:
    work = jobs((1, 0, "T4"), (1, 0, "H100"), (1, 0, ""), (1, 0, "a100|x"))
    known = with_known_types(work, mixed(A, B))
    assert known.gpu_types == ("T4", "", "", "a100|x")
    assert known.notes == (
        "workload: 1 jobs ask for a type of GPU that no node has; here they may run on any type",
    )
    one = with_known_types(work, mixed(A))
    assert (one.gpu_types, one.notes[0][:16]) == (("",) * 4, "workload: 2 jobs")


def test_a_type_that_is_there_is_not_another_of_its_spellings() -> None:
    """Machines that are told apart as a100 and NVIDIA-A100 stay so; a third spelling will do on both."""
    asked = ["a100", "nvidia-a100", "Tesla A100"]
    have = Cluster(
        (NodeType("a", "a100", 8), NodeType("h", "NVIDIA-A100", 8)), 2, node_type_of=(0, 1)
    )
    known = with_known_types(jobs(*((1, 0, types) for types in asked)), have)
    assert known.gpu_types == ("a100", "nvidia-a100", "a100|nvidia-a100")


def written(folder: Path, *lines: str) -> Path:
    path = folder / "jobs.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_types_are_known_by_any_spelling() -> None:
    """The machines say H100 and A100; "nvidia_a100" and "a100-sxm4-80gb" are A100s, and tpu is neither."""
    asked = ["nvidia_a100", "A100|h100", "H100-SXM5-80GB", "tpu", "", "h100"]
    have = Cluster((NodeType("a", "A100", 8), NodeType("h", "H100", 8)), 2, node_type_of=(0, 1))
    known = with_known_types(jobs(*((1, 0, types) for types in asked)), have)
    assert known.gpu_types == ("a100", "A100|h100", "h100", "", "", "h100")
    assert [note for note in known.notes if "type of GPU" in note] == [
        "workload: 1 jobs ask for a type of GPU that no node has; here they may run on any type"
    ]


def test_columns_of_a_table(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "id,submit,run,gpus,nodes,gpus_per_node,gpu_type,cpus_per_gpu,memory_gb_per_gpu,account",
        "a,0,9,8,2,,A100,6,,x", "b,0,9,,2,4,,,,y", "c,0,9,6,,2,,,,", "d,0,9,,,3,,,,",
    )  # fmt: skip
    work = read_jobs(path)
    assert work.num_gpus.tolist() == [8, 8, 6, 3]
    assert work.num_nodes.tolist() == [2, 2, 3, 1]
    np.testing.assert_array_equal(work.num_cpus, [48, np.nan, np.nan, np.nan])
    assert (work.gpu_types, work.account) == (("A100", "", "", ""), ("x", "y", "", ""))
    head = "id,submit,run,gpus,nodes,gpus_per_node"
    for row, wrong in (
        ("a,0,9,8,3,", "num"),
        ("a,0,9,8,,3", "gpus_per"),
        ("a,0,9,8,2,2", "gpus_per"),
    ):
        with input_error("line 2: ", "expected a number that"):
            read_jobs(written(tmp_path, head, row))
        assert wrong
    gpus_a_node = read_jobs(written(tmp_path, "id,submit,run,nodes,gpus_per_node", "a,0,9,2,4"))
    assert (gpus_a_node.num_gpus[0], gpus_a_node.num_nodes[0]) == (8, 2)


def test_nodes_and_types_of_slurm(tmp_path: Path) -> None:
    at = "2026-03-01T10:00:00"
    row = f"{{}}|{at}|{at}|2026-03-01T11:00:00|{{}}|{{}}".format
    path = written(
        tmp_path, "JobID|Submit|Start|End|ReqTRES|Account",
        row(1, "cpu=8,gres/gpu=8,gres/gpu:a100=8,node=2", "x"), row(2, "gres/gpu=3,node=2", "y"),
    )  # fmt: skip
    work = read_jobs(path)
    assert (work.num_nodes.tolist(), work.gpu_types, work.account) == (
        [0, 0],
        ("a100", ""),
        ("x", "y"),
    )
    asked = SlurmJobs(path=str(path), nodes="as-asked").make(Setting())
    assert asked.num_nodes.tolist() == [2, 0]
    anywhere = SlurmJobs(path=str(path), nodes="as-asked", places="any").make(Setting())
    assert not anywhere.has_places
    tenants = tenants_of(work, by="account")
    assert (tenants.names, tenants.of.tolist()) == (("x", "y"), [0, 1])


def test_pods_on_the_models_that_they_ask_for(tmp_path: Path) -> None:
    """With one A10 node behind a T4 node, both free, the pod that asks for an A10 goes there."""
    (tmp_path / "nodes.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nm0,64000,262144,4,T4\nm1,64000,262144,4,A10\n"
    )
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time\n"
        "x,4000,1024,4,1000,A10|V100,0,100,0\ny,4000,1024,4,1000,A10,1,101,1\nz,4000,1024,1,500,,2,102,2\n"
        "w,4000,1024,1,1000,H800,2,102,2\n"
    )
    (tmp_path / "s.toml").write_text(
        'policy = "shared"\n[workload]\nkind = "openb"\npath = "pods.csv"\nnodes = "nodes.csv"\n'
    )
    for policy in ("shared", "fifo-backfill"):
        ran = done("run", "s.toml", "--policy", policy, "--out", policy, cwd=tmp_path)
        assert "1 pods ask for a GPU model; here they may run on any model" in ran.stderr
        jobs = pd.read_csv(tmp_path / policy / "jobs.csv").set_index("job_id")
        assert jobs["first_start_s"].to_dict() == {"x": 0, "y": 100, "z": 2, "w": 2}


def test_one_rack_by_a_column_and_by_a_key(tmp_path: Path) -> None:
    """24 GPUs are more than a rack of two nodes has; without racks all nodes are in one, which is told."""
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_time_s,duration_s,num_gpus,one_rack\na,0,9,8,\nb,0,9,16,1\nc,0,9,24,\n"
    )
    told = done("run", "jobs.csv", "--nodes", "4", "--gpus", "8", cwd=tmp_path).stderr
    assert "1 jobs ask for one rack, and all nodes are in one (key cluster.nodes_per_rack)" in told
    words = ("run", "jobs.csv", "--nodes", "4", "--gpus", "8", "--set", "cluster.nodes_per_rack=2")
    done(*words, "--out", "out", cwd=tmp_path)
    by_job = pd.read_csv(tmp_path / "out" / "schedule.csv").groupby("job_id")["node"].agg(set)
    assert by_job["b"] in ({0, 1}, {2, 3})
    told = refused(*words, "--set", "workload.one_rack=true", cwd=tmp_path)
    assert "job 'c': 24 GPUs do not fit on the nodes, the rack and the types of GPU" in told
    told = refused(*words, "--set", "policy=las+proportional", cwd=tmp_path)
    assert "job 'b' asks for a number of nodes, one rack or types of GPU" in told


KINDS = tuple(
    NodeType(name, gpu, count)
    for name, gpu, count in (("a", "A100", 2), ("v", "V100", 4), ("k", "K80", 8))
)


@pytest.mark.parametrize(
    ("asks", "pool", "gpus"),
    [
        (["", ""], [0, 0], [2 + 2 + 4 + 8]),
        (["A100", "V100", "@k"], [0, 1, 2], [4, 4, 8]),
        (["A100", "V100|A100", "K80"], [0, 0, 1], [8, 8]),
        (["@k|@v", "A100", "V100"], [1, 0, 1], [4, 12]),
        (["A100|V100", "V100|K80", "K80"], [0, 0, 0], [16]),  # one joins the others
        (["A100", ""], [0, 0], [16]),
        (["A100", "none"], [0, 0], [4, 4, 8]),  # that job may run nowhere
    ],
)
def test_pools(asks, pool, gpus):
    """Nodes a, a, v, k of 2, 2, 4 and 8 GPUs."""
    cluster = Cluster(KINDS, 4, node_type_of=(0, 0, 1, 2))
    jobs = fixed([0] * len(asks), [1] * len(asks), gpu_types=asks)
    found, of_each = pools_of(jobs, cluster)
    assert found.tolist() == pool
    assert of_each == gpus


@pytest.mark.parametrize(
    ("asks", "vc", "words"),
    [
        ("", "long", "GPUs"),
        ("A100", "long", "A100"),
        ("A100|H100", "", "A100 or H100"),
        ("@gpu|@gpu-2", "long", "GPUs of partition long"),
        ("@gpu|@gpu-2", "", "GPUs of gpu or gpu-2"),
    ],
)
def test_what_is_short_in_words(asks, vc, words):
    assert short_of(asks, vc) == words
