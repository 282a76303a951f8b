"""GPUs of several types: times, estimates, Sia's program, and what a policy that sees no types gives."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from experiments.scenario.build import build
from experiments.scenario.schema import read_scenario
from policies import make_policy
from policies.goodput.agents import TypedLearner
from policies.goodput.dividing import Candidate, NodeGroup, of_one_type
from policies.goodput.estimate import LEAST_SQUARES
from policies.goodput.sia import Sia, assign
from policies.registry.requirements import missing_of
from simulator import simulate
from simulator.errors import InputError
from simulator.model.cluster import Cluster, NodeType
from simulator.model.contract import Decision, Placement
from simulator.model.goodput import Application, BatchSize, Goodput
from simulator.model.workload import Workload
from simulator.workloads.pollux import speeds
from simulator.workloads.reshaping import of_demand
from tests.command import done, refused
from tests.goodput.applications import toy

EXAMPLE = Path(__file__).parents[2] / "examples" / "goodput"
SLOW_AND_FAST = Cluster((NodeType("s", "slow", 2), NodeType("f", "fast", 2)), 2, (0, 1))


def fast() -> Application:
    """Gradients twice as fast, synchronisation four times: a step of 20 samples on 2 GPUs takes 1 + 0.05 s."""
    return toy().on_gpus(2.0, 4.0)


def jobs(count: int = 1, batch: int = 40, gpus: int = 2) -> Workload:
    """Jobs that come at once."""
    model = Goodput(
        [toy()],
        np.zeros(count, int),
        np.full(count, batch),
        num_gpus=[gpus] * count,
        on_other_types=[[fast()]],
        node_type_of=(0, 1),
    )
    ids = [str(j) for j in range(count)]
    return Workload(ids, [0.0] * count, model)


def test_times_on_another_type() -> None:
    assert fast().step((2,), 20) == pytest.approx((1.05, 0.05))
    assert fast().step((1,), 10) == pytest.approx((0.5, 0.0))
    assert fast().spread.tolist() == [[4, 4, 10, 0.75, 0.25], [4, 4, 20, 1.25, 0.25]]


def test_a_jobs_rate_is_that_of_its_nodes_type() -> None:
    model = jobs().performance
    assert isinstance(model, Goodput)
    slow, quick = ([Placement(0, node, 2)] for node in (0, 1))
    assert model.rate(0, slow, None, 1.0) == pytest.approx(1.6 / 2.2 / 199)
    assert model.rate(0, quick, None, 1.0) == pytest.approx(1.6 / 1.05 / 199)
    assert model.rate(0, [Placement(0, 0, 1), Placement(0, 1, 1)], None, 1.0) == 0.0
    table = model.table_s(np.array([0]), SLOW_AND_FAST)[0]
    assert table[:, 2] == pytest.approx([model.whole_s(0, (2,)), model.whole_s(0, (2,), 1)])


def test_a_run_on_the_faster_type() -> None:
    """100 of progress at 1.6 a step of 1.05 s, then 99 at 16/7: 66 s and 45 s."""
    decision = Decision([Placement(0, 1, 2)])
    result = simulate(jobs(), SLOW_AND_FAST, lambda view: decision)
    assert result.jct_s.tolist() == [66.0 + 45.0]


def test_the_program_of_sia_over_types_is_solved_to_the_optimum() -> None:
    rng = np.random.default_rng(1)
    sizes, group_of, capacity = np.array([1, 2, 4, 1, 2]), np.array([0, 0, 0, 1, 1]), [4, 2]
    for _ in range(20):
        value = rng.random((4, 5))

        def worth(chosen: tuple[int, ...], value: np.ndarray = value) -> float:
            used = [0, 0]
            for c in chosen:
                used[group_of[c]] += sizes[c] if c >= 0 else 0
            fits = used[0] <= capacity[0] and used[1] <= capacity[1]
            return sum(value[j, c] + 1 for j, c in enumerate(chosen) if c >= 0) if fits else -1

        best = max(product(range(-1, 5), repeat=4), key=worth)
        found = assign(value, sizes, group_of, capacity, 1.0)
        assert worth(tuple(found)) == pytest.approx(worth(best))


def test_a_new_job_knows_one_gpu_of_each_type() -> None:
    """A batch of 10 takes 1 s, a larger one gains less than its time."""
    job = TypedLearner([toy(), fast()], 10, LEAST_SQUARES, (0, 1))
    slow, quick = (job.speedups(2, 4, v) for v in (0, 1))
    assert slow == pytest.approx([0, 1, 0, 0, 0]), "no more than one GPU at the start"
    assert quick == pytest.approx([0, 2, 0, 0, 0])


def test_what_a_job_has_measured_on_one_type_counts_in_proportion_on_the_others() -> None:
    job = TypedLearner([toy(), fast()], 10, LEAST_SQUARES, (0, 1))
    job.put(((0, 2),))
    before = job.speedups(2, 2, 1)[2]
    job.measure((2,), BatchSize(20), 0, 0)
    slow, quick = (job.speedups(2, 2, v) for v in (0, 1))
    assert quick[2] == pytest.approx(slow[2] * quick[1] / slow[1])
    assert quick[2] < before, "synchronisation was measured, though on the slow type"
    job.measure((2,), BatchSize(20), 0, 1)
    assert job.speedups(2, 2, 1)[2] > quick[2], "on the fast type it takes a quarter"


def test_sia_gives_the_fast_type_to_the_job_that_gains_most_from_it() -> None:
    """The second job is as fast on both types."""
    model = Goodput(
        [toy(), replace(toy(), name="alike")],
        np.array([1, 0]),
        np.array([10, 10]),
        on_other_types=[[fast(), replace(toy(), name="alike")]],
        node_type_of=(0, 1),
    )
    agents = [
        TypedLearner([model.application(j, v) for v in (0, 1)], 10, LEAST_SQUARES, (0, 1))
        for j in range(2)
    ]
    both = [Candidate(agent, 0, 0.0) for agent in agents]
    assert [g for g, _ in Sia().divide(both, [NodeGroup(0, 2, 1), NodeGroup(1, 2, 1)])] == [0, 1]


def test_pollux_takes_two_types_that_are_alike_for_one() -> None:
    alike = jobs(2)
    assert isinstance(alike.performance, Goodput)
    same = replace(alike.performance, on_other_types=[[toy()]])
    mixed = simulate(replace(alike, performance=same), SLOW_AND_FAST, make_policy("pollux"))
    one = replace(alike.performance, on_other_types=(), node_type_of=())
    cluster = Cluster.of_nodes(NodeType("s", "slow", 2), 2)
    plain = simulate(replace(alike, performance=one), cluster, make_policy("pollux"))
    assert mixed.jct_s.tolist() == plain.jct_s.tolist()


def test_a_job_has_gpus_of_one_type() -> None:
    assert of_one_type(((0, 1), (2, 4), (1, 1)), (0, 0, 1)) == ((2, 4),)
    assert of_one_type(((0, 1), (2, 2), (1, 1)), (0, 0, 1)) == ((0, 1), (1, 1))


@pytest.mark.parametrize("policy", ["sia", "pollux"])
def test_runs_on_two_types_end(policy: str) -> None:
    result = simulate(jobs(3), SLOW_AND_FAST, make_policy(policy))
    assert np.isfinite(result.jct_s).all()


def test_fixed_demands_have_the_times_of_each_type() -> None:
    made, _ = of_demand(jobs(), SLOW_AND_FAST, "stated", np.random.default_rng(0))
    slow, quick = (made.performance.time_s(0, v, 2, 0, 0) for v in (0, 1))
    assert slow == pytest.approx(100 / 1.6 * 2.2 + 99 / (16 / 7) * 2.2)
    assert quick == pytest.approx(slow * 1.05 / 2.2)
    assert np.isinf(made.performance.time_s(0, 0, 1, 0, 0))
    result = simulate(made, SLOW_AND_FAST, make_policy("max-throughput"))
    assert result.jct_s == pytest.approx([quick])


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (
            Cluster((*SLOW_AND_FAST.node_types, NodeType("h", "new", 2)), 3, (0, 1, 2)),
            "node type h has no tables of goodput, expected tables of each of the cluster's 3 node types, found 2",
        ),
        (
            Cluster(SLOW_AND_FAST.node_types, 2, (1, 0)),
            "the tables of goodput are of other nodes than the cluster's, expected node_type_of (1, 0), found (0, 1)",
        ),
    ],
)
def test_tables_of_another_cluster_are_one_line(cluster: Cluster, message: str) -> None:
    with pytest.raises(InputError) as refused:
        simulate(jobs(), cluster, make_policy("sia"))
    assert message in str(refused.value)
    with pytest.raises(InputError, match=re.escape(message)):
        of_demand(jobs(), cluster, "stated", np.random.default_rng(0))


def test_one_table_for_several_types_is_refused_by_sia() -> None:
    plain = Workload(["a"], [0.0], Goodput([toy()], np.array([0]), np.array([10])))
    (missing,) = missing_of(["types-known"], plain, SLOW_AND_FAST)
    assert "several types" in str(missing)
    assert not missing_of(["types-known"], jobs(), SLOW_AND_FAST)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"on_other_types": [[]]}, "node type 1 has the applications \\[\\], expected \\['toy'\\]"),
        ({"node_type_of": (0, 2)}, "node_type_of node 1 is 2, expected 0 to 1"),
    ],
)
def test_bad_types_are_one_line(changed: dict[str, object], message: str) -> None:
    model = jobs().performance
    assert isinstance(model, Goodput)
    with pytest.raises(InputError, match=message):
        replace(model, **changed)  # type: ignore[arg-type]


def test_an_application_without_times_on_one_gpu_is_one_line() -> None:
    model = jobs().performance
    assert isinstance(model, Goodput)
    bare = replace(fast(), by_ring={(2,): fast().by_ring[2,]})
    with pytest.raises(InputError, match="no times on one GPU of node type 1"):
        replace(model, on_other_types=[[bare]])


# -- servers of a scenario -----------------------------------------------------------------


def scenario(folder: Path, application: str, cluster: str) -> Path:
    """The example's workload, whose application has another name."""
    for path in EXAMPLE.iterdir():
        text = path.read_text().replace("vision", application)
        (folder / path.name.replace("vision", application)).write_text(text)
    words = 'policy = "sia"\n[workload]\nkind = "pollux"\npath = "workload.csv"\n[cluster]\n'
    (folder / "s.toml").write_text(f"{words}{cluster}\n[decisions]\nround_s = 60\n")
    return folder / "s.toml"


T4_AND_A100 = """kind = "mixed"
[cluster.groups.old]
num_nodes = 1
gpus_per_node = 4
gpu_type = "T4"
[cluster.groups.new]
num_nodes = 1
gpus_per_node = 2
gpu_type = "A100"
"""


def test_servers_that_name_their_gpus_have_tables_of_their_own(tmp_path: Path) -> None:
    """cifar10, two batch sizes: gradients 199 and 376 ms on T4, 45.3 and 68.4 on A100; exchange 24.9, 40.9, 1.08, 1.71."""
    gradient = (0.19904819 / 0.04528103 * 0.37583154 / 0.06841844) ** 0.5
    exchange = (0.02486252 / 0.00107878 * 0.04086446 / 0.00171334) ** 0.5
    assert speeds()["A100"]["cifar10"] == pytest.approx((gradient, exchange), rel=1e-6)
    assert speeds()["T4"]["cifar10"] == (1, 1)
    file = scenario(tmp_path, "cifar10", T4_AND_A100)
    plain, _ = build(read_scenario(scenario(tmp_path, "cifar10", 'kind = "nodes"\nnum_nodes = 1')))
    workload, cluster = build(read_scenario(scenario(tmp_path, "cifar10", T4_AND_A100)))
    times, own = workload.performance, plain.performance
    assert isinstance(times, Goodput)
    assert isinstance(own, Goodput)
    times.check_types(cluster)
    there = own.application(0).on_gpus(gradient, exchange)
    for ring, (_, table) in times.application(0, 1).by_ring.items():
        assert table == pytest.approx(there.by_ring[ring][1], rel=1e-6)
    done("run", file.name, "--out", "out", cwd=tmp_path)
    only, _ = build(
        read_scenario(
            scenario(tmp_path, "cifar10", 'kind = "nodes"\nnum_nodes = 1\ngpu_type = "a100"')
        )
    )
    assert isinstance(only.performance, Goodput)
    assert only.performance.types == 1
    ring = (1,)
    assert only.performance.application(0).by_ring[ring][1] == pytest.approx(
        there.by_ring[ring][1], rel=1e-6
    )


@pytest.mark.parametrize(
    ("application", "gpu_type", "line"),
    [
        ("cifar10", "H100", "cluster.groups.new.gpu_type: got 'H100', expected one of A100, RTX 2080 Ti, T4"),
        ("vision", "A100", "cluster.groups.old.gpu_type: no speed of vision is known, expected no gpu_type"),
    ],
)  # fmt: skip
def test_servers_without_speeds_are_one_line(
    tmp_path: Path, application: str, gpu_type: str, line: str
) -> None:
    scenario(tmp_path, application, T4_AND_A100.replace("A100", gpu_type))
    assert line in refused("run", "s.toml", cwd=tmp_path)
